/* The native methods of slowpath.spans.NativeSpans: each hands its arguments to libslowpath_spans.
 * No state, no Java calls back, nothing that throws. Not the events themselves: see
 * ../../../../spans-native. */
#include "slowpath_spans.h"

#include <jni.h>

/* Java's longs are the same 64 bits; the conversions below change no bit. */
#define SPAN_METHOD(method, call) \
    JNIEXPORT void JNICALL Java_slowpath_spans_NativeSpans_##method( \
        JNIEnv *environment, jclass class, jlong trace_id_high, jlong trace_id_low, jlong span_id) \
    { \
        (void)environment, (void)class; \
        call((uint64_t)trace_id_high, (uint64_t)trace_id_low, (uint64_t)span_id); \
    }

SPAN_METHOD(start, slowpath_span_start)
SPAN_METHOD(end, slowpath_span_end)
SPAN_METHOD(attach, slowpath_span_attach)
SPAN_METHOD(detach, slowpath_span_detach)

/* The four bytes of an event's switch, for Java to read without a call; null if there is none. */
JNIEXPORT jobject JNICALL Java_slowpath_spans_NativeSpans_switchOf(JNIEnv *environment, jclass class, jint event)
{
    (void)class;
    const volatile int *on = slowpath_span_switch(event);
    return on ? (*environment)->NewDirectByteBuffer(environment, (void *)on, sizeof *on) : NULL;
}
