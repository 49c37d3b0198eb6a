/* The native methods of slowpath.transfers.NativeEvents: each fires one LTTng-UST event on the calling thread where a
 * session records it. No state, nothing that throws. */
#include <jni.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "provider.h"

JNIEXPORT void JNICALL Java_slowpath_transfers_NativeEvents_received(JNIEnv *environment, jclass class, jint context)
{
    (void)environment, (void)class;
    lttng_ust_tracepoint(slowpath_transfers, received, (uint32_t)context);
}

/* Modified UTF-8 differs from UTF-8 in characters beyond the basic plane only. */
JNIEXPORT void JNICALL Java_slowpath_transfers_NativeEvents_context(
    JNIEnv *environment, jclass class, jint context, jobjectArray texts)
{
    (void)class;
    enum { TEXTS = 4 };
    jstring strings[TEXTS];
    const char *bytes[TEXTS];
    int taken = 0;
    while (taken < TEXTS) {
        strings[taken] = (*environment)->GetObjectArrayElement(environment, texts, taken);
        bytes[taken] = (*environment)->GetStringUTFChars(environment, strings[taken], NULL);
        if (!bytes[taken])
            break; /* no memory: Java throws OutOfMemoryError when we return */
        taken++;
    }
    if (taken == TEXTS)
        lttng_ust_tracepoint(slowpath_transfers, context, (uint32_t)context, bytes[0], bytes[1], bytes[2], bytes[3]);
    while (taken-- > 0)
        (*environment)->ReleaseStringUTFChars(environment, strings[taken], bytes[taken]);
}

/* The four bytes that are nonzero while a session records `received`, for Java to read without a call. LTTng
 * changes them at any time, from a thread of its own. */
JNIEXPORT jobject JNICALL Java_slowpath_transfers_NativeEvents_receivedSwitch(JNIEnv *environment, jclass class)
{
    (void)class;
    return (*environment)->NewDirectByteBuffer(
        environment, (void *)&lttng_ust_tracepoint_slowpath_transfers___received.state,
        sizeof lttng_ust_tracepoint_slowpath_transfers___received.state);
}
