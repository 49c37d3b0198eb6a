/* Probes found and switched in the shared memory (view.h). Any process may do so at any time, lock-free: an entry is
 * claimed by one compare-and-swap of its key, a switch is one store. Nothing here looks at records. */
#include "view.h"

#include <stdlib.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN const char *const slowpath_type_names[SLOWPATH_PROBES_TYPES] = {
    "CNT", "LAT", "TPT", "LLC", "FLT", "CTXSW", "PERFCNTR", "SNAPSHOT"};

HIDDEN struct slowpath_probes_entry *view_entry(struct slowpath_probes_header *header, unsigned type, uint16_t id)
{
    uint32_t key = 1u << 31 | type << 16 | id;
    struct slowpath_probes_entry *entries = view_entries(header);
    for (uint32_t index = 0; index < header->capacity; index++) {
        uint32_t there = __atomic_load_n(&entries[index].key, __ATOMIC_ACQUIRE);
        if (there == 0 && __atomic_compare_exchange_n(&entries[index].key, &there, key, 0, __ATOMIC_ACQ_REL,
                                                      __ATOMIC_ACQUIRE)) {
            /* It starts as its type is switched, also if that changes right now: who switches a type writes
             * its switch first, then those of all entries. */
            uint32_t set = 0, every;
            while ((every = __atomic_load_n(&header->switches[type], __ATOMIC_SEQ_CST)) != set) {
                __atomic_compare_exchange_n(&entries[index].every, &set, every, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
                set = every;
            }
            return &entries[index];
        }
        if (there == key)
            return &entries[index];
    }
    return NULL;
}

static void switch_type(struct slowpath_probes_header *header, unsigned type, uint32_t every)
{
    struct slowpath_probes_entry *entries = view_entries(header);
    __atomic_store_n(&header->switches[type], every, __ATOMIC_SEQ_CST);
    for (uint32_t index = 0; index < header->capacity; index++) {
        uint32_t key = __atomic_load_n(&entries[index].key, __ATOMIC_SEQ_CST);
        if (key == 0)
            return;
        if ((key >> 16 & 0xff) == type)
            __atomic_store_n(&entries[index].every, every, __ATOMIC_SEQ_CST);
    }
}

/* One number up to `most` at *text, which is left behind it. */
static int number(const char **text, unsigned long most, unsigned long *value)
{
    char *end;
    if (**text < '0' || **text > '9')
        return 0;
    *value = strtoul(*text, &end, 10);
    *text = end;
    return *value <= most;
}

HIDDEN const char *view_switch(struct slowpath_probes_header *header, const char *selection, uint32_t every)
{
    /* First as a rehearsal, so that a selection with a mistake switches nothing. */
    for (int rehearsal = 1; rehearsal >= 0; rehearsal--) {
        const char *at = selection;
        do {
            size_t length = strcspn(at, ",:/");
            unsigned first = SLOWPATH_PROBES_TYPES, last = 0;
            for (unsigned type = 0; type < SLOWPATH_PROBES_TYPES; type++)
                if ((length == 3 && strncmp(at, "all", 3) == 0) ||
                    (strlen(slowpath_type_names[type]) == length && strncmp(at, slowpath_type_names[type], length) == 0)) {
                    first = first < type ? first : type;
                    last = type;
                }
            if (first == SLOWPATH_PROBES_TYPES)
                return "a type is one of all, CNT, LAT, TPT, LLC, FLT, CTXSW, PERFCNTR, SNAPSHOT";
            at += length;
            unsigned long id = 0, chosen = every;
            int one_probe = *at == ':';
            if (one_probe && (at++, first != last || !number(&at, 65535, &id)))
                return "an id is a number from 0 to 65535, after the type of the probe";
            if (*at == '/' && (at++, !number(&at, SLOWPATH_PROBES_AS_WRITTEN - 1, &chosen) || chosen == 0))
                return "after / stands how many executions make one record, at least 1";
            if (*at != 0 && *at != ',')
                return "probes are named TYPE, TYPE:ID, TYPE/N or TYPE:ID/N, separated by commas";
            if (rehearsal)
                continue;
            if (one_probe) {
                struct slowpath_probes_entry *entry = view_entry(header, first, (uint16_t)id);
                if (!entry)
                    return "the table of probes is full";
                __atomic_store_n(&entry->every, (uint32_t)chosen, __ATOMIC_SEQ_CST);
            } else {
                for (unsigned type = first; type <= last; type++)
                    switch_type(header, type, (uint32_t)chosen);
            }
        } while (*at++ == ',');
    }
    return NULL;
}
