/* Detours: a function of the program begins with a jump to one of ours, which may call the original. The
 * code itself is never made writable: a changed copy of its page is mapped over it, and to take the
 * detours away, the page of the file again. Not for code that other threads may be just beginning to
 * execute: place and remove only at a safe point (agent.c says which). */
#ifndef SLOWPATH_REDIS_DETOUR_H
#define SLOWPATH_REDIS_DETOUR_H

#include "image.h"

#define JUMP_BYTES 5
/* In masks of 32 bits, bit i stands for the i-th. */
#define MOST_DETOURS 32

struct detour {
    const char *function;
    /* Ours: the same arguments and result. */
    void *hook;
    /* Set by detours_prepare: calls the function as if there were no detour. Valid for ever after. */
    void **original;
    /* What follows is detours_prepare's. */
    uint8_t *target;
    uint8_t jump[JUMP_BYTES];
};

/* Looks whether all the detours can be placed, and makes ready for it; changes no code. All or none: a
 * reason is given for the first that cannot. */
reason detours_prepare(struct detour *detours, int count);

/* Places exactly those of the mask and removes the others. After a failure none is placed. */
reason detours_place(uint32_t wanted);

#endif
