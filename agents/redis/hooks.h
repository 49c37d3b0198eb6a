/* The hooks: what Redis's functions do besides while events are recorded. Which of them a recording needs
 * follows from its events alone. Not where the events are described (provider.h), nor where the batches
 * of level lite are put together (batch.h). */
#ifndef SLOWPATH_REDIS_HOOKS_H
#define SLOWPATH_REDIS_HOOKS_H

#include "detour.h"

/* Finds and checks everything that is to be hooked; changes nothing. */
reason hooks_prepare(void);

/* The detours that the events now recorded need; 0: none is recorded. */
uint32_t hooks_wanted(void);
/* Are batches recorded? */
int hooks_want_batches(void);
/* The one that learning needs. */
uint32_t hooks_for_learning(void);

/* Places these and no others. Only at a safe point. */
reason hooks_place(uint32_t wanted);

#endif
