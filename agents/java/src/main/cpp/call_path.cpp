// The native methods of slowpath.transfers.CallPaths: which instructions called each other on the calling thread, as a
// number. Methods are told apart by the JVM's ids, which are compared only, never used: a class may be unloaded, but
// its ids are not given to others. No names here; Java finds them, once for each path. Nothing that throws.
#include <jvmti.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace {

// Deeper than this nobody looks, as in CallPath.
constexpr jint MOST_FRAMES = 512;
// What is asked for first on a thread. From a client down to the servlet that serves the request there are some thirty
// frames, and a frame costs the JVM up to half a microsecond; so later it is what has sufficed lately.
constexpr jint FIRST_FRAMES = 48;
// CallPaths.number, CallPaths.here and Transfers.caller.
constexpr jint OWN_FRAMES = 3;

thread_local jint enough_frames = FIRST_FRAMES;

std::atomic<jvmtiEnv *> tools{nullptr};

// Methods at which requests begin: a set that only grows, without a lock. Full only after hundreds of redeployments;
// then paths are followed further down than they need be.
class Methods {
public:
    bool contain(jmethodID method) const
    {
        for (std::size_t place = begin(method);; place = (place + 1) % PLACES) {
            const jmethodID there = methods[place].load(std::memory_order_relaxed);
            if (there == method)
                return true;
            if (!there)
                return false;
        }
    }

    void add(jmethodID method)
    {
        if (contain(method) || count.fetch_add(1) >= PLACES / 2)
            return;
        std::size_t place = begin(method);
        jmethodID there = nullptr;
        while (!methods[place].compare_exchange_strong(there, method) && there != method) {
            there = nullptr;
            place = (place + 1) % PLACES;
        }
    }

private:
    static constexpr std::size_t PLACES = 1024;

    static std::size_t begin(jmethodID method)
    {
        return (reinterpret_cast<std::uintptr_t>(method) * 0x9e3779b97f4a7c15u) >> 54;
    }

    std::atomic<jmethodID> methods[PLACES]{};
    std::atomic<std::size_t> count{0};
};

Methods begins;

// Both steps of MurmurHash3's finalizer, so that each bit of a frame changes half of all bits.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value)
{
    hash = (hash ^ value) * 0xff51afd7ed558ccdu;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 33;
}

} // namespace

extern "C" JNIEXPORT jboolean JNICALL Java_slowpath_transfers_CallPaths_begin(JNIEnv *environment, jclass)
{
    JavaVM *machine;
    void *found;
    if (environment->GetJavaVM(&machine) != JNI_OK || machine->GetEnv(&found, JVMTI_VERSION_11) != JNI_OK)
        return JNI_FALSE;
    tools = static_cast<jvmtiEnv *>(found);
    return JNI_TRUE;
}

// The calls that led here, down to where a request begins; 0: the JVM does not tell. Two paths that are not the same
// have the same number with a probability of 2^-64.
extern "C" JNIEXPORT jlong JNICALL Java_slowpath_transfers_CallPaths_number(JNIEnv *, jclass, jthread current)
{
    jvmtiFrameInfo frames[MOST_FRAMES];
    std::uint64_t hash = 0;
    jint count = 0;
    for (jint asked = 0, from = 0; count == asked && asked < MOST_FRAMES; from = count) {
        jint more;
        asked = from == 0 ? enough_frames : from < FIRST_FRAMES ? FIRST_FRAMES : MOST_FRAMES;
        // Newer JVMs look at all threads where none is named.
        if (tools.load()->GetStackTrace(current, OWN_FRAMES + from, asked - from, frames + from, &more) != JVMTI_ERROR_NONE)
            return from ? static_cast<jlong>(hash) : 0;
        count += more;
        for (jint frame = from; frame < count; frame++) {
            hash = mix(hash, reinterpret_cast<std::uintptr_t>(frames[frame].method));
            hash = mix(hash, static_cast<std::uint64_t>(frames[frame].location));
            if (begins.contain(frames[frame].method)) {
                // One less each time, for where paths of several lengths take turns.
                enough_frames = std::max(frame + 1, enough_frames - 1);
                return static_cast<jlong>(hash);
            }
        }
    }
    return static_cast<jlong>(hash);
}

// From now on paths end at the innermost method of this class that is on the stack.
extern "C" JNIEXPORT void JNICALL Java_slowpath_transfers_CallPaths_endAt(
    JNIEnv *environment, jclass, jthread current, jclass type)
{
    jvmtiFrameInfo frames[MOST_FRAMES];
    jint count;
    if (tools.load()->GetStackTrace(current, 0, MOST_FRAMES, frames, &count) != JVMTI_ERROR_NONE)
        return;
    for (jint frame = 0; frame < count; frame++) {
        jclass declaring;
        if (tools.load()->GetMethodDeclaringClass(frames[frame].method, &declaring) != JVMTI_ERROR_NONE)
            continue;
        const bool is_begin = environment->IsSameObject(declaring, type);
        environment->DeleteLocalRef(declaring);
        if (is_begin) {
            begins.add(frames[frame].method);
            return;
        }
    }
}
