// What aiming registers may cost: a share of the processor time that the program uses, over time. Whoever aims or disables
// says what that has cost, and asks before. Signal-safe; knows nothing of registers.
#pragma once
#include <cstdint>

namespace budget {

// Of how much processor time, which the program has used, the share is kept for later at most.
constexpr std::int64_t MOST_KEPT = 1'000'000'000;
// Half of that only those may spend who go on with what has begun.
constexpr std::int64_t RESERVE = MOST_KEPT / 2;

// To be called once, before the others. In the beginning as much is left as ever may be.
void open(double share);

// How many nanoseconds of processor time the program has to use until the share of so many is left; 0 or less: it is.
std::int64_t missing(std::int64_t reserve);

// From its begin to its end the calling thread's processor time is charged.
class Charge {
public:
    Charge();
    ~Charge();
    Charge(const Charge &) = delete;
    Charge &operator=(const Charge &) = delete;

private:
    std::int64_t begin;
};

} // namespace budget
