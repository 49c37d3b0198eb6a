// Whether the instruction that has just touched memory only stored. A debug register of x86-64 cannot tell.
#pragma once
#include <cstdint>

// `machine` is the ucontext_t of a thread that has touched memory at the address. False where the
// instruction cannot be told. Signal-safe.
bool only_stores(const void *machine, std::uintptr_t address);
