"""Requests of a process in a control group with a CPU quota, beside one in a group without: run by
record_quotas.rs, which makes the groups.

    quotas.py LIMITED FREE    the files `cgroup.procs` of the two groups

Both have one processor. Every loop is bounded; requests take a second. Spans are sent as OTLP JSON to where
the environment says.
"""

import json
import os
import sys
import time
import urllib.request

ROUNDS = 6


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def serve(name, group, seconds, pause):
    """Requests one after the other in a process of that name; sends their spans at the end."""
    with open(group, "w") as procs:
        procs.write(str(os.getpid()))
    with open("/proc/self/comm", "w") as comm:
        comm.write(name)
    spans = []
    for number in range(ROUNDS):
        started = time.time_ns()
        work(seconds)
        spans.append({
            "traceId": f"{os.getpid():016x}{number + 1:016x}", "spanId": f"{number + 1:016x}",
            "name": name, "kind": 2,
            "startTimeUnixNano": str(started), "endTimeUnixNano": str(time.time_ns()),
            "attributes": [{"key": "thread.id", "value": {"intValue": str(os.getpid())}}],
        })
        time.sleep(pause)
    resource = [{"key": "service.name", "value": {"stringValue": name}},
                {"key": "process.pid", "value": {"intValue": str(os.getpid())}},
                {"key": "host.name", "value": {"stringValue": os.uname().nodename}}]
    document = {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"spans": spans}]}]}
    request = urllib.request.Request(
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces",
        json.dumps(document).encode(), {"content-type": "application/json"})
    urllib.request.urlopen(request, timeout=20).read()


def main():
    """Ends when both have sent their spans. They stay until they are killed, for 5 s at most: the recorder
    sees at its end in which groups they are, also on a machine so busy that it could not look before."""
    os.sched_setaffinity(0, {0})
    done = []
    for arguments in [("limited", sys.argv[1], 0.006, 0.002), ("free", sys.argv[2], 0.010, 0.040)]:
        reads, writes = os.pipe()
        if os.fork() == 0:
            try:
                serve(*arguments)
                os.write(writes, b"1")
                # Nobody is to wait for the end of what this one could still say.
                for output in (1, 2):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), output)
                time.sleep(5)
            finally:
                os._exit(0)
        os.close(writes)
        done.append(reads)
    sys.exit(0 if all(os.read(reads, 1) == b"1" for reads in done) else 1)


main()
