/* The events of provider slowpath_probe, as LTTng-UST wants them described: one for each type of probe, with what its
 * record has. LTTng's macros include this file several times, hence the unusual guard. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER slowpath_probe

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider.h"

#if !defined(SLOWPATH_PROBES_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SLOWPATH_PROBES_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

#define SLOWPATH_PROBE_ARGUMENTS \
    LTTNG_UST_TP_ARGS(uint16_t, id, const char *, name, const uint64_t *, values, unsigned, count)
#define SLOWPATH_PROBE_FIELDS \
    lttng_ust_field_integer(uint16_t, probe, id) \
    lttng_ust_field_string(name, name)

LTTNG_UST_TRACEPOINT_EVENT(slowpath_probe, cnt, SLOWPATH_PROBE_ARGUMENTS,
    LTTNG_UST_TP_FIELDS(SLOWPATH_PROBE_FIELDS
        lttng_ust_field_integer(uint64_t, executions, values[0])
        lttng_ust_field_integer(uint64_t, all_executions, values[1])))

LTTNG_UST_TRACEPOINT_EVENT(slowpath_probe, lat, SLOWPATH_PROBE_ARGUMENTS,
    LTTNG_UST_TP_FIELDS(SLOWPATH_PROBE_FIELDS
        lttng_ust_field_integer(uint64_t, duration_ns, values[0])))

LTTNG_UST_TRACEPOINT_EVENT(slowpath_probe, tpt, SLOWPATH_PROBE_ARGUMENTS,
    LTTNG_UST_TP_FIELDS(SLOWPATH_PROBE_FIELDS
        lttng_ust_field_integer(uint64_t, executions, values[0])
        lttng_ust_field_integer(uint64_t, duration_ns, values[1])
        lttng_ust_field_integer(uint64_t, all_executions, values[2])
        lttng_ust_field_integer(uint64_t, all_duration_ns, values[3])))

LTTNG_UST_TRACEPOINT_EVENT(slowpath_probe, llc, SLOWPATH_PROBE_ARGUMENTS,
    LTTNG_UST_TP_FIELDS(SLOWPATH_PROBE_FIELDS
        lttng_ust_field_integer(uint64_t, references, values[0])
        lttng_ust_field_integer(uint64_t, misses, values[1])))

LTTNG_UST_TRACEPOINT_EVENT(slowpath_probe, flt, SLOWPATH_PROBE_ARGUMENTS,
    LTTNG_UST_TP_FIELDS(SLOWPATH_PROBE_FIELDS
        lttng_ust_field_integer(uint64_t, minor, values[0])
        lttng_ust_field_integer(uint64_t, major, values[1])))

LTTNG_UST_TRACEPOINT_EVENT(slowpath_probe, ctxsw, SLOWPATH_PROBE_ARGUMENTS,
    LTTNG_UST_TP_FIELDS(SLOWPATH_PROBE_FIELDS
        lttng_ust_field_integer(uint64_t, voluntary, values[0])
        lttng_ust_field_integer(uint64_t, involuntary, values[1])))

LTTNG_UST_TRACEPOINT_EVENT(slowpath_probe, perfcntr, SLOWPATH_PROBE_ARGUMENTS,
    LTTNG_UST_TP_FIELDS(SLOWPATH_PROBE_FIELDS
        lttng_ust_field_integer(uint64_t, counter, values[0])
        lttng_ust_field_integer(uint64_t, value, values[1])))

LTTNG_UST_TRACEPOINT_EVENT(slowpath_probe, snapshot, SLOWPATH_PROBE_ARGUMENTS,
    LTTNG_UST_TP_FIELDS(SLOWPATH_PROBE_FIELDS
        lttng_ust_field_sequence(uint64_t, values, values, unsigned, count)))

#endif

#include <lttng/tracepoint-event.h>
