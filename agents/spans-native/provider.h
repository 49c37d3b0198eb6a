/* The four events of provider slowpath_span, as LTTng-UST wants them described. LTTng's macros
 * include this file several times, hence the unusual guard. Not for agents: see slowpath_spans.h. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER slowpath_span

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider.h"

#if !defined(SLOWPATH_SPANS_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SLOWPATH_SPANS_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* Bytes in the trace: 8 each, without padding. Readers know the fields by these names. */
LTTNG_UST_TRACEPOINT_EVENT_CLASS(slowpath_span, span,
    LTTNG_UST_TP_ARGS(uint64_t, trace_id_high, uint64_t, trace_id_low, uint64_t, span_id),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer_hex(uint64_t, trace_id_high, trace_id_high)
        lttng_ust_field_integer_hex(uint64_t, trace_id_low, trace_id_low)
        lttng_ust_field_integer_hex(uint64_t, span_id, span_id)))

#define SLOWPATH_SPAN_EVENT(event) \
    LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(slowpath_span, span, slowpath_span, event, \
        LTTNG_UST_TP_ARGS(uint64_t, trace_id_high, uint64_t, trace_id_low, uint64_t, span_id))

SLOWPATH_SPAN_EVENT(start_span)
SLOWPATH_SPAN_EVENT(end_span)
SLOWPATH_SPAN_EVENT(attach)
SLOWPATH_SPAN_EVENT(detach)

#endif

#include <lttng/tracepoint-event.h>
