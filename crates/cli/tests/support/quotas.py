"""Requests of a process in a control group with a CPU quota, beside one in a group without: run by
record_quotas.rs, which makes the groups.

    quotas.py LIMITED FREE    the files `cgroup.procs` of the two groups

Both have one processor. Every loop is bounded; the whole takes a second. Spans are sent as OTLP JSON to where
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
    os.sched_setaffinity(0, {0})
    children = []
    for arguments in [("limited", sys.argv[1], 0.006, 0.002), ("free", sys.argv[2], 0.010, 0.040)]:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                serve(*arguments)
                status = 0
            finally:
                os._exit(status)
        children.append(pid)
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))


main()
