// The processor's four debug registers, as Linux lends them (perf_event_open): each watches one field's memory in every
// thread of the process, and a thread that touches it gets a signal there and then. Knows nothing of Java.
#pragma once
#include <cstdint>

namespace registers {

constexpr int COUNT = 4;

// What a thread did: which register it met, aimed how (`tag` of `aim`), and the machine's state just behind the access,
// which is null where the signal came late, so that it says nothing of the access. Runs in a signal handler.
using OnAccess = void (*)(int which, std::uint32_t tag, void *machine);

// To be called once, before the others. Null, or a sentence that says why there are none.
const char *open(OnAccess on_access);

// Whether accesses are told still: the program may have taken their signal, SIGTRAP, for itself.
bool are_told();

// Watches 1, 2, 4 or 8 bytes at an address that is a multiple of that. Costs a few microseconds for each thread. May be
// called in a signal handler, as may the next.
bool aim(int which, std::uintptr_t address, int bytes, std::uint32_t tag);

void disable(int which);

} // namespace registers
