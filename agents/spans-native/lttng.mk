# Says whether liblttng-ust-dev is here, without which the agents can neither be built nor tested.
# Included by their Makefiles. HAVE_LTTNG_UST is empty where it is missing.
HAVE_LTTNG_UST := $(shell $(CC) -E -include lttng/tracepoint.h -x c /dev/null >/dev/null 2>&1 && echo yes)
