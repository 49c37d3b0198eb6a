/* The native methods of slowpath.probes.Probe: each hands its arguments to libslowpath_probes. No state, nothing that throws. A
 * Java long carries a probe's address or what `enter` returned, bit by bit. */
#include "slowpath_probes.h"

#include <jni.h>
#include <stddef.h>

#define METHOD(type, name) JNIEXPORT type JNICALL Java_slowpath_probes_Probe_##name
#define UNUSED (void)environment, (void)class

static struct slowpath_probe *at(jlong address)
{
    return (struct slowpath_probe *)(intptr_t)address;
}

METHOD(jlong, create)(JNIEnv *environment, jclass class, jint id, jint type, jint sub_sampling, jint counter, jstring name)
{
    UNUSED;
    const char *text = name ? (*environment)->GetStringUTFChars(environment, name, NULL) : NULL;
    struct slowpath_probe *probe =
        slowpath_probe_new((uint16_t)id, (uint32_t)type, (uint32_t)sub_sampling, (uint8_t)counter, text);
    if (text)
        (*environment)->ReleaseStringUTFChars(environment, name, text);
    return (jlong)(intptr_t)probe;
}

METHOD(jobject, switchOf)(JNIEnv *environment, jclass class, jlong probe)
{
    UNUSED;
    return (*environment)->NewDirectByteBuffer(environment, (void *)slowpath_probe_switch(at(probe)), sizeof(uint32_t));
}

METHOD(jlong, enter)(JNIEnv *environment, jclass class, jlong probe)
{
    UNUSED;
    return (jlong)slowpath_probe_enter(at(probe));
}

METHOD(void, leave)(JNIEnv *environment, jclass class, jlong probe, jlong entered)
{
    UNUSED;
    slowpath_probe_leave(at(probe), (uint64_t)entered);
}

METHOD(void, snapshot)(JNIEnv *environment, jclass class, jlong probe, jlongArray values)
{
    UNUSED;
    jlong copied[6];
    jsize count = (*environment)->GetArrayLength(environment, values);
    count = count < 6 ? count : 6;
    (*environment)->GetLongArrayRegion(environment, values, 0, count, copied);
    slowpath_probe_snapshot(at(probe), (const uint64_t *)copied, (unsigned)count);
}

METHOD(jint, setPerfcntr)(JNIEnv *environment, jclass class, jint counter, jlong config)
{
    UNUSED;
    return slowpath_set_perfcntr((unsigned)counter, 4, (uint64_t)config);
}
