"""Holds what slowpath says about the recording of run.sh against what the customers wrote down (which order went over
which connection as which) and what Redis said that it was asked (MONITOR). The users' names are in Redis's keys and
in nothing that is recorded. Not about how fast anything is.
"""

import collections
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import check

# What services send to Redis of their own: when they connect.
OWN = {"info", "client", "hello"}
# Redis's clock for MONITOR against the recording's.
CLOCKS_US = 2_000


def commands(request):
    """All commands to Redis below a request."""
    for called in request["called"]:
        if called["kind"] == "command":
            yield called
        elif called["request"]:
            yield from commands(called["request"])


def depth(request):
    """How many services it went through."""
    below = [called["request"] for called in request["called"] if called["kind"] == "request" and called["request"]]
    return 1 + max(map(depth, below), default=0)


def services(request):
    """All that took part."""
    below = [called["request"] for called in request["called"] if called["kind"] == "request" and called["request"]]
    return {request["service"]}.union(*map(services, below))


def claims(folder, orders):
    """Pairs of a claim and whether it holds."""
    told = json.loads((folder / "calls.json").read_text())
    truth = json.loads((folder / "truth.json").read_text())
    joins = {row["of"]: row for row in told["joins"]}

    named = [(one, truth["sent"].get(f"{one['port']}:{one['number']}")) for one in told["requests"]]
    users = [user for _, user in named if user]
    yield f"every order has its request: {len(set(users))} of {orders}", len(set(users)) == len(users) == orders
    yield f"nothing else came from outside: {len(named) - len(users)}", len(named) == len(users)
    everywhere = sum(len(services(one)) == 5 and depth(one) == 3 for one, _ in named)
    yield f"orders went through all five services: {everywhere} of {orders}", everywhere == orders
    calls = joins["calls"]
    yield f"requests between services joined: {calls['joined']} of {calls['count']}", calls["joined"] == calls["count"] > 0

    # By connection, in the order in which Redis executed them.
    asked = collections.defaultdict(list)
    for one in truth["executed"]:
        asked[one["port"]].append(one)
    found = collections.defaultdict(list)
    for request, user in named:
        for command in commands(request):
            found[command["own_port"]].append((command["number"], command, user))
    total = sum(one["name"] not in OWN for ones in asked.values() for one in ones)
    right = wrong = executed = in_time = 0
    for port, ones in found.items():
        ones.sort(key=lambda one: one[0])
        expected = [one for one in asked[port] if one["name"] not in OWN]
        for (_, command, user), one in zip(ones, expected):
            is_right = command["command"] == one["name"] and one["key"].endswith(f":{user}")
            right += is_right
            wrong += not is_right
            execution = command["execution"]
            if execution:
                executed += 1
                late_us = one["at_us"] - execution["start_ns"] / 1000
                in_time += -CLOCKS_US <= late_us <= execution["executed_ns"] / 1000 + CLOCKS_US
    yield f"every Redis command belongs to the order that caused it: {right} of {total}", right == total > 0
    yield f"none to another one: {wrong}", wrong == 0
    yield f"every one is joined to its execution in Redis: {executed} of {total}", executed == total
    yield f"and was executed when Redis said: {in_time} of {total}", in_time == total
    yield f"no events were lost: {told['lost']}", told["lost"] == 0


if __name__ == "__main__":
    check.told(claims(pathlib.Path(sys.argv[1]), int(sys.argv[2])))
