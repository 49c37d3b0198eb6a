// Probes for C++ (11 and later): a probe is an object, and a scope ends it whichever way the block is left. Header only, over
// slowpath_probes.h, whose macros work in C++ as well.
//
//     static slowpath::probe query{7, slowpath::LAT, 1, "query"};
//     slowpath::scope measured{query};        // until the end of the block
//
//     static slowpath::probe depths{8, slowpath::SNAPSHOT};
//     depths.snapshot(waiting, running);
#ifndef SLOWPATH_PROBES_HPP
#define SLOWPATH_PROBES_HPP

#include "slowpath_probes.h"

#include <cstdint>

namespace slowpath {

constexpr slowpath_probe_type CNT = SLOWPATH_CNT, LAT = SLOWPATH_LAT, TPT = SLOWPATH_TPT, LLC = SLOWPATH_LLC,
                              FLT = SLOWPATH_FLT, CTXSW = SLOWPATH_CTXSW, PERFCNTR = SLOWPATH_PERFCNTR,
                              SNAPSHOT = SLOWPATH_SNAPSHOT;

// Must live as long as the program runs: make it static, or a member of something that is. The name is not copied.
class probe {
public:
    constexpr probe(std::uint16_t id, slowpath_probe_type type, std::uint32_t sub_sampling = 1, const char *name = "",
                    std::uint8_t counter = 0)
        : site{&site.unregistered, 1, static_cast<std::uint32_t>(type), sub_sampling, id, counter, name, 0}
    {
    }
    probe(const probe &) = delete;
    probe &operator=(const probe &) = delete;

    bool is_on() const { return SLOWPATH_IS_ON(site); }

    // Of a probe of type SNAPSHOT: one to six values.
    template <typename... Values> void snapshot(Values... values)
    {
        static_assert(sizeof...(Values) >= 1 && sizeof...(Values) <= 6, "a snapshot has one to six values");
        if (is_on()) {
            const std::uint64_t all[] = {static_cast<std::uint64_t>(values)...};
            slowpath_probe_snapshot(&site, all, sizeof...(Values));
        }
    }

private:
    friend class scope;
    slowpath_probe site;
};

// One execution of the code from here to the end of the block, on one thread.
class scope {
public:
    explicit scope(probe &probe) : site(probe.site), on(SLOWPATH_IS_ON(probe.site) && slowpath_probe_begin(&site, &begun)) {}
    ~scope()
    {
        if (__builtin_expect(on, 0))
            slowpath_probe_end(&site, &begun);
    }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

private:
    slowpath_probe &site;
    slowpath_begun begun; // only if on
    bool on;
};

} // namespace slowpath

#endif
