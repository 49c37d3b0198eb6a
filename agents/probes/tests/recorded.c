/* A program whose probes are recorded by a real recording, for tests/test.sh: one record of each type that every machine has,
 * known values where values can be known. With an argument, it says before that it is ready, and waits until its input ends. */
#include "slowpath_probes.h"

#include <stdio.h>
#include <unistd.h>

int main(int count, char **words)
{
    (void)words;
    if (count > 1) {
        SNAPSHOT_PROBE(6, 1, 0);
        puts("ready");
        fflush(stdout);
        while (getchar() != EOF)
            ;
    }
    CNT_PROBE_BEGIN(1, 1);
    LAT_PROBE_BEGIN(2, 1);
    TPT_PROBE_BEGIN(3, 1);
    FLT_PROBE_BEGIN(4, 1);
    CTXSW_PROBE_BEGIN(5, 1);
    usleep(2000);
    CTXSW_PROBE_END(5);
    FLT_PROBE_END(4);
    TPT_PROBE_END(3);
    LAT_PROBE_END(2);
    CNT_PROBE_END(1);
    SNAPSHOT_PROBE(6, 1, 42, 43);
    puts("done");
    return 0;
}
