// The C++ wrapper, and the C macros in C++: scopes that end by return and by exception, probes as members, in templates and in
// inline functions of two threads. Reads its own records.
#include "slowpath_probes.hpp"
#include "unit.h"

#include <stdexcept>
#include <thread>

static slowpath::probe query{7, slowpath::LAT, 1, "query"};
static slowpath::probe count{8, slowpath::CNT, 2, "count"};
static slowpath::probe depths{9, slowpath::SNAPSHOT};

static int left_by_return(bool early)
{
    slowpath::scope measured{query};
    if (early)
        return 1;
    return 2;
}

static void left_by_exception()
{
    slowpath::scope measured{query}, counted{count};
    throw std::runtime_error("on purpose");
}

template <int Id> inline void in_a_template()
{
    CNT_PROBE_BEGIN(Id, 1);
    CNT_PROBE_END(Id);
    SNAPSHOT_PROBE(Id, 1, Id, -1, 2.5);
}

int main()
{
    open_own();
    switched("all", 0);
    left_by_return(true);
    depths.snapshot(1);
    CHECK(read_all() == 0 && !query.is_on());

    switched("LAT,CNT", UINT32_MAX);
    CHECK(query.is_on() && !depths.is_on());
    left_by_return(true);
    left_by_return(false);
    for (int turn = 0; turn < 2; turn++)
        try {
            left_by_exception();
        } catch (const std::runtime_error &) {
        }
    CHECK(read_all() == 5);
    std::size_t latencies = 0;
    for (std::size_t record = 0; record < 5; record++) {
        latencies += records[record].type == SLOWPATH_LAT;
        CHECK(records[record].type == SLOWPATH_LAT || records[record].fields[0] == 2);
    }
    CHECK(latencies == 4);

    switched("all", UINT32_MAX);
    depths.snapshot(1, 2u, -1L, 'a');
    in_a_template<11>();
    std::thread([] { in_a_template<12>(); }).join();
    CHECK(read_all() == 5);
    bool seen = false, values = false;
    for (std::size_t record = 0; record < 5; record++) {
        seen |= records[record].probe == 12 && records[record].thread != static_cast<std::uint32_t>(getpid());
        values |= records[record].probe == 9 && records[record].field_count == 4 && records[record].fields[2] == UINT64_MAX;
    }
    CHECK(seen && values);
    std::printf("probes in C++: 1 passed, 0 failed\n");
}
