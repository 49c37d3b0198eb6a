/* This process's shared memory, and the spare nodes of its threads (memory.c). Inside the library only. */
#ifndef SLOWPATH_PROBES_MEMORY_H
#define SLOWPATH_PROBES_MEMORY_H

#include "view.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define NO_SPARE UINT32_MAX

/* The memory, made on the first call. Never NULL: where none can be shared, it is private, and all is off. It stays
 * where it is, also in a forked child, which gets its own at the same place. */
HIDDEN struct slowpath_probes_header *memory_of_this_process(void);

/* A node for the calling thread to own, or NO_SPARE. */
HIDDEN uint32_t memory_take_spare(void);
HIDDEN void memory_give_spare(uint32_t node);

/* Called in the forked child once it has its own memory (probes.c). */
HIDDEN void probes_forget_parent(void);

/* Says something on stderr, if the user asked for it. */
HIDDEN __attribute__((format(printf, 1, 2))) void memory_say(const char *format, ...);

#endif
