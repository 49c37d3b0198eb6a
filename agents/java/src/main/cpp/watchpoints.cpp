// The native methods of slowpath.transfers.Watchpoints: fields of a few objects are watched by debug registers
// (registers.h). Here is what must be known at the instant of an access: whether it is the program that reads, for what,
// and where the object is after a collection has moved it. Which objects are watched and what becomes of them is decided
// in Java, which calls `arm` and `release` one at a time.
//
// A trap counts as a read by the program if none of the filters below says otherwise: collectors, moved objects, stores,
// threads in the middle of reads that are no use. Stacks say less than they seem to: of compiled code, HotSpot does not
// know for each instruction which of the inlined methods it belongs to, so that a read by the program looks like one by
// the code of a hook beside it. Nothing here throws; what runs in the signal handler takes no lock and no memory.
#include "access.h"
#include "budget.h"
#include "registers.h"

#include <jvmti.h>

#include <atomic>
#include <cstring>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

// HotSpot's; see its forte.cpp.
struct Frame {
    jint instruction;
    jmethodID method;
};
struct Trace {
    JNIEnv *environment;
    jint count;
    Frame *frames;
};
using AsyncGetCallTrace = void (*)(Trace *, jint depth, void *machine);

// As in Watchpoints: what was seen of an object, what came of `arm`, of which kind a thread's reads are.
enum Seen { USED = 1, PRINTED = 2, LOST = 4 };
enum Armed : jint { IS_ARMED = 0, NOT_ARMED = 1 };
enum Kind { OWN = 1, PRINTS = 2 };

// GONE: the object is dead.
enum State { IDLE, ARMED, READ, GONE };

struct Slot {
    std::atomic<int> state{IDLE};
    std::atomic<int> seen{0};
    // Increases with each aim, so that traps that come late are recognised.
    std::atomic<std::uint32_t> tag{0};
    std::uintptr_t address;
    std::uintptr_t offset;
    int bytes;
    // Where a collector may have a reference read before it is replaced, a read is one when no store of the same thread
    // follows: which thread has read, or 0, how often, and when.
    bool is_read_by_stores;
    std::atomic<std::int64_t> read_by;
    std::atomic<int> reads;
    std::atomic<std::uint64_t> read_at;
    std::uint64_t epoch;
    jweak object;
    // How many signal handlers look at it: until they are through, no other object has it.
    std::atomic<int> handlers{0};
};

// A signal handler that looks at a slot.
class Handler {
public:
    explicit Handler(Slot &slot) : slot(slot) { slot.handlers++; }
    Handler(const Handler &) = delete;
    Handler &operator=(const Handler &) = delete;
    ~Handler() { slot.handlers--; }

private:
    Slot &slot;
};

Slot slots[registers::COUNT];
// Held while registers are aimed and slots change hands; by nobody who waits for a collection.
pthread_mutex_t aiming = PTHREAD_MUTEX_INITIALIZER;
// Odd while a collection has the program stopped.
std::atomic<std::uint64_t> epoch{0};
// How often all that is watched was given up: in collections where there was no budget to follow what had moved, and where
// a virtual thread waited in the midst of reads that are no use, so that others ran on its thread of the system.
std::atomic<int> given_up{0};
JavaVM *machine_of_java;
jvmtiEnv *tools;
AsyncGetCallTrace call_trace;
// ZGC or Shenandoah: objects move while the program runs.
bool moves_always;
// G1, too: while it marks, who replaces a reference first reads it, for the collector.
bool stores_read;
std::uintptr_t jvm_begin;
std::uintptr_t jvm_end;

// Threads in the middle of reads that are no use, with their kind; more than this are not told apart from others.
constexpr int MOST_QUIET = 256;
constexpr int KIND_BITS = 2;
std::atomic<std::int64_t> quiet[MOST_QUIET];

// So often ZGC reads a reference at most that is about to be replaced.
constexpr int MOST_READS_OF_STORE = 3;

// Native methods of Unsafe through which the JVM reads fields for a program.
constexpr int MOST_READS = 256;
jmethodID unsafe_reads[MOST_READS];
int unsafe_reads_count;

bool aim(int which, const Slot &slot, std::uint32_t tag)
{
    const budget::Charge charge;
    return registers::aim(which, slot.address, slot.bytes, tag);
}

void disable(int which)
{
    const budget::Charge charge;
    registers::disable(which);
}

std::uintptr_t untagged(const void *reference)
{
    return *reinterpret_cast<const std::uintptr_t *>(reinterpret_cast<std::uintptr_t>(reference) & ~std::uintptr_t{7});
}

std::uintptr_t instruction(const void *machine)
{
#ifdef __x86_64__
    return static_cast<std::uintptr_t>(static_cast<const ucontext_t *>(machine)->uc_mcontext.gregs[REG_RIP]);
#else
    return reinterpret_cast<std::uintptr_t>(machine) & 0;
#endif
}

std::int64_t this_thread()
{
    return syscall(SYS_gettid);
}

// 0: what the thread reads, the program reads for its own sake.
int kind_of_reads(std::int64_t thread)
{
    for (const auto &place : quiet) {
        const std::int64_t there = place.load(std::memory_order_relaxed);
        if (there >> KIND_BITS == thread)
            return static_cast<int>(there & ((1 << KIND_BITS) - 1));
    }
    return 0;
}

// Whether code of the JVM itself reads because the program asks it to, not on behalf of a collector.
bool is_asked(JNIEnv *environment, void *machine)
{
    Frame top;
    Trace trace = {environment, 0, &top};
    call_trace(&trace, 1, machine);
    for (int read = 0; read < unsafe_reads_count && trace.count == 1; read++)
        if (unsafe_reads[read] == top.method)
            return true;
    return false;
}

std::uint64_t nanoseconds()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// What is seen by an access outside of collections, by a thread of Java; 0: nothing yet.
int seen_by(JNIEnv *environment, void *machine, Slot &slot)
{
    const std::int64_t thread = this_thread();
    if (only_stores(machine, slot.address))
        return slot.read_by == thread ? LOST : 0;
    const std::uintptr_t at = instruction(machine);
    if (moves_always && at >= jvm_begin && at < jvm_end && !is_asked(environment, machine))
        return 0;
    const int kind = kind_of_reads(thread);
    if (kind != 0)
        return kind == OWN ? 0 : PRINTED;
    std::int64_t reading = 0;
    if (!slot.is_read_by_stores || (!slot.read_by.compare_exchange_strong(reading, thread) && reading != thread) ||
        ++slot.reads > MOST_READS_OF_STORE)
        return USED;
    slot.read_at = nanoseconds();
    return 0;
}

void on_access(int which, std::uint32_t tag, void *machine)
{
    Slot &slot = slots[which];
    const Handler handler(slot);
    const std::uint64_t now = epoch;
    // In this order, the reverse of that in `arm`: what was armed meanwhile has another tag.
    if (slot.state != ARMED || slot.tag != tag || now & 1)
        return;
    // The collectors' threads have none.
    void *environment;
    if (machine_of_java->GetEnv(&environment, JNI_VERSION_10) != JNI_OK)
        return;
    int seen = LOST;
    if (machine && !(slot.seen & LOST) && (!moves_always || now == slot.epoch))
        seen = seen_by(static_cast<JNIEnv *>(environment), machine, slot);
    slot.seen |= seen;
    int armed = ARMED;
    if (seen & (USED | LOST) && slot.state.compare_exchange_strong(armed, READ))
        disable(which);
}

void JNICALL collection_begins(jvmtiEnv *)
{
    epoch++;
}

// The program is stopped, and what has moved is where it will be.
void JNICALL collection_ends(jvmtiEnv *)
{
    if (!moves_always) {
        // Objects that were read already are given up, too, so that this says nothing of what was read.
        const bool is_paid = budget::missing(0) <= 0;
        given_up += !is_paid;
        pthread_mutex_lock(&aiming);
        for (int which = 0; which < registers::COUNT; which++) {
            Slot &slot = slots[which];
            if (slot.state != ARMED)
                continue;
            const std::uintptr_t object = untagged(slot.object);
            if (!object) {
                disable(which);
                slot.state = GONE;
                continue;
            }
            if (object + slot.offset == slot.address || slot.seen & LOST)
                continue;
            slot.address = object + slot.offset;
            // What is given up stays aimed at where it was: whoever touches that disables the register.
            if (!is_paid || !aim(which, slot, ++slot.tag))
                slot.seen |= LOST;
        }
        pthread_mutex_unlock(&aiming);
    }
    epoch++;
}

// Asking for its methods also makes the JVM give them ids, without which they would not be told in a signal handler.
void find_reads(JNIEnv *environment)
{
    jint count;
    jmethodID *methods;
    jclass unsafe = environment->FindClass("jdk/internal/misc/Unsafe");
    if (!unsafe || tools->GetClassMethods(unsafe, &count, &methods) != JVMTI_ERROR_NONE)
        return;
    for (jint index = 0; index < count && unsafe_reads_count < MOST_READS; index++) {
        char *name;
        if (tools->GetMethodName(methods[index], &name, nullptr, nullptr) != JVMTI_ERROR_NONE)
            continue;
        if (!strncmp(name, "get", 3))
            unsafe_reads[unsafe_reads_count++] = methods[index];
        tools->Deallocate(reinterpret_cast<unsigned char *>(name));
    }
    tools->Deallocate(reinterpret_cast<unsigned char *>(methods));
}

// That it is enabled makes HotSpot tell stacks in signal handlers.
void JNICALL class_loaded(jvmtiEnv *, JNIEnv *, jthread, jclass) {}

const char *listen(JNIEnv *environment)
{
    void *found;
    if (machine_of_java->GetEnv(&found, JVMTI_VERSION_11) != JNI_OK)
        return "the JVM has no tool interface";
    tools = static_cast<jvmtiEnv *>(found);
    jvmtiCapabilities capabilities = {};
    capabilities.can_generate_garbage_collection_events = 1;
    if (tools->AddCapabilities(&capabilities) != JVMTI_ERROR_NONE)
        return "the JVM does not tell of its collections";
    jvmtiEventCallbacks callbacks = {};
    callbacks.GarbageCollectionStart = collection_begins;
    callbacks.GarbageCollectionFinish = collection_ends;
    callbacks.ClassLoad = class_loaded;
    tools->SetEventCallbacks(&callbacks, sizeof callbacks);
    const jvmtiEvent events[] = {
        JVMTI_EVENT_GARBAGE_COLLECTION_START, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, JVMTI_EVENT_CLASS_LOAD};
    for (jvmtiEvent event : events)
        if (tools->SetEventNotificationMode(JVMTI_ENABLE, event, nullptr) != JVMTI_ERROR_NONE)
            return "the JVM does not tell of its collections";
    find_reads(environment);
    return nullptr;
}

int find_jvm(dl_phdr_info *object, std::size_t, void *)
{
    const auto inside = reinterpret_cast<std::uintptr_t>(call_trace);
    std::uintptr_t begin = ~std::uintptr_t{0};
    std::uintptr_t end = 0;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const auto &segment = object->dlpi_phdr[index];
        if (segment.p_type != PT_LOAD)
            continue;
        const std::uintptr_t first = object->dlpi_addr + segment.p_vaddr;
        begin = first < begin ? first : begin;
        end = first + segment.p_memsz > end ? first + segment.p_memsz : end;
    }
    if (inside < begin || inside >= end)
        return 0;
    jvm_begin = begin;
    jvm_end = end;
    return 1;
}

const char *find_call_trace()
{
    void *jvm = dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD);
    call_trace = jvm ? reinterpret_cast<AsyncGetCallTrace>(dlsym(jvm, "AsyncGetCallTrace")) : nullptr;
    dl_iterate_phdr(find_jvm, nullptr);
    return call_trace && jvm_end ? nullptr : "the JVM has no AsyncGetCallTrace";
}

// The object must not move between this and what is done with it: whoever calls compares epochs.
bool is_at(const Slot &slot, jobject object)
{
    return untagged(object) + slot.offset == slot.address;
}

// Takes a slot from signal handlers and from collections.
void take(int which)
{
    Slot &slot = slots[which];
    pthread_mutex_lock(&aiming);
    if (slot.state.exchange(IDLE) == ARMED)
        disable(which);
    pthread_mutex_unlock(&aiming);
    // Those that found it armed would take what they see for the next object's. They wait for nothing.
    while (slot.handlers)
        sched_yield();
}

} // namespace

// Null, or a sentence that says why nothing can be watched.
extern "C" JNIEXPORT jstring JNICALL Java_slowpath_transfers_Watchpoints_open(
    JNIEnv *environment, jclass, jboolean concurrent, jboolean barriers, jdouble share)
{
    budget::open(share);
    moves_always = concurrent;
    stores_read = barriers;
    const char *missing = environment->GetJavaVM(&machine_of_java) == JNI_OK ? find_call_trace() : "there is no JVM";
    if (!missing)
        missing = registers::open(on_access);
    if (!missing)
        missing = listen(environment);
    return missing ? environment->NewStringUTF(missing) : nullptr;
}

extern "C" JNIEXPORT jint JNICALL Java_slowpath_transfers_Watchpoints_arm(
    JNIEnv *environment, jclass, jint which, jobject object, jlong offset, jint bytes, jboolean is_reference)
{
    Slot &slot = slots[which];
    const std::uint64_t before = epoch;
    if (before & 1)
        return NOT_ARMED;
    slot.object = environment->NewWeakGlobalRef(object);
    if (!slot.object) {
        environment->ExceptionClear();
        return NOT_ARMED;
    }
    slot.seen = 0;
    slot.epoch = before;
    slot.offset = static_cast<std::uintptr_t>(offset);
    slot.bytes = bytes;
    slot.is_read_by_stores = stores_read && is_reference;
    slot.read_by = 0;
    slot.reads = 0;
    pthread_mutex_lock(&aiming);
    slot.address = untagged(object) + slot.offset;
    const bool is_aimed = aim(which, slot, ++slot.tag);
    slot.state = ARMED;
    pthread_mutex_unlock(&aiming);
    // A collection does not wait for this thread: it may have come in between.
    if (is_aimed && epoch == before && is_at(slot, object) && epoch == before)
        return IS_ARMED;
    take(which);
    environment->DeleteWeakGlobalRef(slot.object);
    return NOT_ARMED;
}

extern "C" JNIEXPORT jlong JNICALL Java_slowpath_transfers_Watchpoints_missingNanos(JNIEnv *, jclass)
{
    return budget::missing(budget::RESERVE);
}

extern "C" JNIEXPORT jboolean JNICALL Java_slowpath_transfers_Watchpoints_areTold(JNIEnv *, jclass)
{
    return registers::are_told();
}

extern "C" JNIEXPORT jint JNICALL Java_slowpath_transfers_Watchpoints_givenUp(JNIEnv *, jclass)
{
    return given_up;
}

// Whether a register is done with, which the next object may have. Where each collection makes objects lost, those that
// were read must run the same risk as the others: as long as they would be watched unread.
extern "C" JNIEXPORT jboolean JNICALL Java_slowpath_transfers_Watchpoints_isDone(JNIEnv *, jclass, jint which)
{
    // So long nobody is kept from a store that he has begun.
    constexpr std::uint64_t LONGEST_STORE = 20'000'000;
    const Slot &slot = slots[which];
    const int state = slot.state;
    return !moves_always &&
           (state == READ || state == GONE || slot.seen & LOST || (slot.read_by && nanoseconds() - slot.read_at > LONGEST_STORE));
}

// Watches no longer; what was seen.
extern "C" JNIEXPORT jint JNICALL Java_slowpath_transfers_Watchpoints_release(
    JNIEnv *environment, jclass, jint which)
{
    Slot &slot = slots[which];
    const std::uint64_t now = epoch;
    take(which);
    if (!registers::are_told())
        slot.seen |= LOST;
    if (slot.read_by)
        slot.seen |= USED;
    if (moves_always) {
        jobject object = environment->NewLocalRef(slot.object);
        if (now != slot.epoch || !object || !is_at(slot, object) || epoch != now)
            slot.seen |= LOST;
        environment->DeleteLocalRef(object);
    }
    environment->DeleteWeakGlobalRef(slot.object);
    return slot.seen;
}

// What this thread reads is of this kind from now on; where that is remembered, or -1.
extern "C" JNIEXPORT jint JNICALL Java_slowpath_transfers_Watchpoints_beginQuiet(JNIEnv *, jclass, jint kind)
{
    const std::int64_t entry = this_thread() << KIND_BITS | kind;
    for (int place = 0; place < MOST_QUIET; place++) {
        std::int64_t free = 0;
        if (quiet[place].compare_exchange_strong(free, entry))
            return place;
    }
    return -1;
}

extern "C" JNIEXPORT void JNICALL Java_slowpath_transfers_Watchpoints_endQuiet(JNIEnv *, jclass, jint place)
{
    if (place < 0)
        return;
    given_up += quiet[place] >> KIND_BITS != this_thread();
    quiet[place] = 0;
}
