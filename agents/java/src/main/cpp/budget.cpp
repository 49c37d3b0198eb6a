// See budget.h. What is spent moves a mark on the axis of the program's processor time: up to where it is paid for.
#include "budget.h"

#include <atomic>

#include <time.h>

namespace budget {
namespace {

double nanoseconds_for_one;
std::atomic<std::int64_t> paid_until;

std::int64_t nanoseconds(clockid_t clock)
{
    timespec used{};
    clock_gettime(clock, &used);
    return used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec;
}

} // namespace

void open(double share)
{
    nanoseconds_for_one = 1 / share;
    paid_until = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - MOST_KEPT;
}

std::int64_t missing(std::int64_t reserve)
{
    return paid_until + reserve - nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
}

Charge::Charge() : begin(nanoseconds(CLOCK_THREAD_CPUTIME_ID)) {}

Charge::~Charge()
{
    const std::int64_t cost = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begin;
    const std::int64_t oldest = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - MOST_KEPT;
    std::int64_t before = paid_until;
    std::int64_t after;
    do
        after = (before > oldest ? before : oldest) + static_cast<std::int64_t>(static_cast<double>(cost) * nanoseconds_for_one);
    while (!paid_until.compare_exchange_weak(before, after));
}

} // namespace budget
