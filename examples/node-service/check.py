"""Holds what slowpath says about the recording of run.sh against what the shop wrote down itself: when
it worked on reports, and let everybody else wait. Not about how fast anything is.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import check

# Shorter waits for a report are not worth a claim.
LEAST_NS = 50_000_000


def key(request):
    """What names a request."""
    return request["trace_id"], request["span_id"]


def shared(request, begin, end):
    """How much of the time from begin to end lies in the request."""
    return min(request["end_ns"], end) - max(request["begin_ns"], begin)


def blocked_for(request, by):
    """How long the request is said to have been blocked by the other."""
    return sum(one["ns"] for one in request["blocked_by"] if key(one) == key(by))


def claims(folder):
    """Pairs of a claim and whether it holds."""
    findings, requests = check.answers(folder, "shop")
    lines = check.truth(folder)
    (orders,) = next(line for line in lines if len(line) == 1)
    reports = [line for line in lines if len(line) == 2]
    named = [one for one in requests if (one["service"], one["operation"]) == ("shop", "GET")]
    yield f"every order and report has its request, by name: {len(named)} of {orders}", len(named) == orders > 0
    threads = {tid for one in requests for tid in one["tids"]}
    yield f"all are served by one thread: {len(threads)}", len(threads) == 1

    own, waited, right = [], 0, 0
    for begin, end in reports:
        inside = [one for one in requests if one["begin_ns"] <= begin and end <= one["end_ns"]]
        # The report's own request did not wait for its thread; whoever was there before did.
        mine = [one for one in inside if one["summary"].get("BLOCKED_BY_REQUEST", 0) < 0.5 * (end - begin)]
        if len(mine) != 1:
            continue
        own.append(mine[0])
        for one in requests:
            length = shared(one, begin, end)
            if one is not mine[0] and length >= LEAST_NS:
                waited += 1
                right += abs(blocked_for(one, mine[0]) - length) < 0.2 * length
    yield f"every report has its request: {len(own)} of {len(reports)}", len(own) == len(reports) > 0
    yield f"who waited for a report names it, and how long: {right} of {waited}", right == waited > 0
    slowest = max(requests, key=lambda one: one["duration_ns"])
    share = 1 - slowest["summary"].get("UNKNOWN", 0) / slowest["duration_ns"]
    words = ", ".join(f"{state} {ns / 1e6:.1f} ms" for state, ns in slowest["summary"].items())
    yield f"the slowest one's {slowest['duration_ns'] / 1e6:.1f} ms are known: {words}", share > 0.95
    first = findings[0]["id"] if findings else "nothing"
    yield f"diagnose names the thread that serves others first: {first}", first == "blocked-by-request"


if __name__ == "__main__":
    check.told(claims(sys.argv[1]))
