"""Claims about a service whose orders write under one lock, some of them to the disk: for check.py of the
examples java-service and python-service, which wrote down who held the lock when.

Not about how fast anything is: on a busy machine the holder waits for processors as well as for the disk.
"""

import collections
import dataclasses

# Shorter times are not worth a claim: clocks are read just outside of what they measure.
LEAST_NS = 5_000_000
# Of so many a claim must hold: some virtual machines keep switches of threads out of the trace (then a wrong thread
# seems to wake another), and Python's interpreter has a lock of its own.
MOST = 0.9


@dataclasses.dataclass
class Order:
    """What the service knows of an order, and the request that slowpath found for it."""

    tids: list[int]
    asked: int
    locked: int
    unlocked: int
    wrote: bool
    request: dict | None = None


def orders(truth, requests):
    """The orders of the recording, each with its request: the one that its threads served then."""
    begin = min((one["begin_ns"] for one in requests), default=0)
    found = []
    for *tids, asked, locked, unlocked, wrote in truth:
        if asked < begin:
            continue
        fits = [one for one in requests
                if one["tids"] == tids and one["begin_ns"] <= asked and unlocked <= one["end_ns"]]
        found.append(Order(tids, asked, locked, unlocked, bool(wrote), fits[0] if len(fits) == 1 else None))
    return found


def key(request):
    """What names a request."""
    return request["trace_id"], request["span_id"]


def blocked_for(order, by):
    """How long the order's request is said to have been blocked by the other's."""
    named = (one["ns"] for one in order.request["blocked_by"] if key(one) == key(by.request))
    return sum(named)


def claims(all_orders, requests, findings, service, operation):
    """Pairs of a claim and whether it holds."""
    yield f"every order has its request: {len(requests)} for {len(all_orders)}", (
        len(requests) == len(all_orders) > 0
        and len({key(order.request) for order in all_orders if order.request}) == len(requests)
    )
    named = [one for one in requests if (one["service"], one["operation"]) == (service, operation)]
    yield f"each is named {service}: {operation}: {len(named)}", len(named) == len(requests)
    known = [order for order in all_orders if order.request]

    slowest = sorted(requests, key=lambda one: -one["duration_ns"])[:10]
    duration = sum(one["duration_ns"] for one in slowest)
    causes = collections.Counter()
    for one in slowest:
        causes.update(one["summary"])
    del causes["UNKNOWN"]
    words = ", ".join(f"{state} {ns / 1e6:.1f} ms" for state, ns in causes.most_common())
    yield f"the {len(slowest)} slowest ones' {duration / 1e6:.1f} ms are known: {words}", causes.total() > MOST * duration
    # Half: a virtual machine that stood still has hidden a fifth of a single one; where it is not found what a request
    # waited for most, more than half of it is unknown.
    worst = max((one["summary"].get("UNKNOWN", 0) / one["duration_ns"] for one in slowest), default=1)
    yield f"of none of them half is unknown: at most {worst:.0%}", worst < 0.5

    wrote = [order for order in known if order.wrote]
    on_disk = [order for order in wrote if order.request["summary"].get("BLOCK_DEVICE", 0)]
    yield f"those that wrote to the disk waited for it: {len(on_disk)} of {len(wrote)}", (
        wrote and len(on_disk) >= MOST * len(wrote)
    )
    held_up = [
        (order, by, min(order.locked, by.unlocked) - max(order.asked, by.locked))
        for order in known
        for by in wrote
        if order is not by
    ]
    held_up = [(order, by, length) for order, by, length in held_up if length >= LEAST_NS]
    # Shorter where the holder waited for threads of the kernel, which serve no request.
    right = [order for order, by, length in held_up if 0 < blocked_for(order, by) < length + 1_000_000]
    yield f"those that waited for the lock meanwhile name the request that had it: {len(right)} of {len(held_up)}", (
        held_up and len(right) >= MOST * len(held_up)
    )
    ids = {one["id"] for one in findings}
    wanted = {"lock-contention"}
    yield f"diagnose names the lock: {', '.join(sorted(ids))}", wanted <= ids
