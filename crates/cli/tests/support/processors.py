"""Requests whose thread waits for a processor, for a known reason: run by record_processors.rs.

    processors.py preferred    others of better priority take the thread's processor now and then
    processors.py moved        the thread is moved to a processor that another one keeps, and back

Every loop is bounded; the whole takes a second or two. Spans are sent as OTLP JSON to where the
environment says. Ends with status 77 where the rights for real-time priorities are missing.
"""

import json
import os
import sys
import time
import urllib.request

ROUNDS = 15
ROUND = 0.060
# In `moved` the thread works on the first at first; some tracers miss switches on the second.
OTHER, BUSY = 1, 0


def call_me(name):
    with open("/proc/self/comm", "w") as comm:
        comm.write(name)


def until(moment):
    time.sleep(max(0.0, moment - time.monotonic()))


def spin_until(moment):
    while time.monotonic() < moment:
        pass


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def real_time():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))


def child(name, run):
    """Starts a process that does `run` and ends; its id."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            call_me(name)
            run()
            status = 0
        except PermissionError:
            status = 77
        finally:
            os._exit(status)
    return pid


def serve(operation, begin, seconds, rounds):
    """Requests one after the other, one per round, in this thread; sends their spans at the end."""
    spans = []
    for number in range(rounds):
        until(begin + number * ROUND)
        started = time.time_ns()
        work(seconds)
        spans.append({
            "traceId": f"{number + 1:032x}", "spanId": f"{number + 1:016x}", "name": operation, "kind": 2,
            "startTimeUnixNano": str(started), "endTimeUnixNano": str(time.time_ns()),
            "attributes": [{"key": "thread.id", "value": {"intValue": str(os.getpid())}}],
        })
    resource = [{"key": "service.name", "value": {"stringValue": "shop"}},
                {"key": "process.pid", "value": {"intValue": str(os.getpid())}},
                {"key": "host.name", "value": {"stringValue": os.uname().nodename}}]
    document = {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"spans": spans}]}]}
    request = urllib.request.Request(
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces",
        json.dumps(document).encode(), {"content-type": "application/json"})
    urllib.request.urlopen(request, timeout=20).read()


def preferred(begin):
    """Two others take half of every round: one of real-time priority, one that is nicer to itself."""

    def takes(offset, become):
        def run():
            become()
            for number in range(ROUNDS):
                until(begin + number * ROUND + offset)
                spin_until(begin + number * ROUND + offset + 0.015)
        return run

    os.sched_setaffinity(0, {BUSY})
    children = [child("urgent", takes(0.002, real_time)),
                child("favoured", takes(0.020, lambda: os.setpriority(os.PRIO_PROCESS, 0, -20)))]

    def shop():
        # Better than whatever else the machine does.
        os.setpriority(os.PRIO_PROCESS, 0, -5)
        serve("GET /preferred", begin, 0.020, ROUNDS)

    return children + [child("shop", shop)]


def moved(begin):
    def keeper():
        os.sched_setaffinity(0, {BUSY})
        real_time()
        for number in range(ROUNDS):
            until(begin + number * ROUND + 0.002)
            spin_until(begin + number * ROUND + 0.027)

    def shop():
        os.sched_setaffinity(0, {OTHER})
        serve("GET /moved", begin, 0.010, ROUNDS)

    shop = child("shop", shop)

    def mover():
        os.sched_setaffinity(0, {OTHER})
        real_time()
        for number in range(ROUNDS):
            for offset, processor in [(0.005, BUSY), (0.045, OTHER)]:
                until(begin + number * ROUND + offset)
                try:
                    os.sched_setaffinity(shop, {processor})
                except ProcessLookupError:
                    return

    return [shop, child("keeper", keeper), child("mover", mover)]


def main():
    what = {"preferred": preferred, "moved": moved}[sys.argv[1]]
    children = what(time.monotonic() + 0.3)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    sys.exit(max(statuses, key=abs))


main()
