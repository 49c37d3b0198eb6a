"""Holds what slowpath says about the recording of run.sh against what the clients saw and what is known of
HotROD: all of its delays are sleeps, and one request after the other has the connection to its database.

Go moves requests between threads unseen (README.md): nobody may be said to have blocked another.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import check

SERVICES = {"frontend", "customer", "driver", "route", "mysql", "redis-manual"}


def claims(folder, asked):
    """Pairs of a claim and whether it holds."""
    _, requests = check.answers(folder, "frontend")
    said = re.search(r"load: (\d+) answered, (\d+) failed; .* slowest ([\d.]+)(m?s)", (pathlib.Path(folder) / "said").read_text())
    yield f"all {asked} rides were answered: {said[0] if said else 'no'}", said and (int(said[1]), int(said[2])) == (asked, 0)
    if not said:
        return
    rides = [one for one in requests if (one["service"], one["operation"]) == ("frontend", "/dispatch")]
    yield f"each has its request, by name: {len(rides)}", len(rides) == asked
    named = {one["service"] for one in requests}
    yield f"those of the services behind it are named: {', '.join(sorted(named))}", SERVICES <= named
    whole = [one for one in requests if one["shown"] == "whole" and one["operation"]]
    yield f"all are whole: {len(whole)} of {len(requests)}", len(whole) == len(requests)

    slowest = max(rides, key=lambda one: one["duration_ns"])
    seen = float(said[3]) * (1e6 if said[4] == "ms" else 1e9)
    lasted = slowest["duration_ns"]
    yield f"the slowest took as long as its client saw: {lasted / 1e9:.3f} s of {said[3]} {said[4]}", 0 <= seen - lasted < 0.05 * seen
    parts = [one for one in requests if one["trace_id"] == slowest["trace_id"] and one is not slowest]
    query = max((one["duration_ns"] for one in parts if one["operation"] == "SQL SELECT"), default=0)
    yield f"most of it was for the database's one connection: {query / lasted:.0%}", query > 0.5 * lasted
    queries = [one for one in requests if one["operation"] == "SQL SELECT"]
    in_turn = sorted(one["end_ns"] for one in queries)
    apart = min((later - end for end, later in zip(in_turn, in_turn[1:])), default=0)
    yield f"queries end one after the other: {apart / 1e6:.0f} ms apart at least", apart > 100e6
    known = {state: ns for state, ns in slowest["summary"].items() if state != "UNKNOWN"}
    words = ", ".join(f"{state} {ns / 1e6:.0f} ms" for state, ns in sorted(known.items(), key=lambda one: -one[1]))
    # A busy machine has every thread wait for a processor, for as long as it likes.
    but_processors = {state: ns for state, ns in known.items() if state not in ("WAIT_CPU", "PREEMPTED", "INTERRUPTED")}
    yield f"its kernel cause, but for processors, is mostly a time to come: {words}", (
        sum(known.values()) > 0.95 * lasted and max(but_processors, key=but_processors.get) == "TIMER"
    )
    blocked = sum(1 for one in requests if one["blocked_by"])
    yield f"none is said to be blocked by another: {blocked}", blocked == 0


if __name__ == "__main__":
    check.told(claims(sys.argv[1], int(sys.argv[2])))
