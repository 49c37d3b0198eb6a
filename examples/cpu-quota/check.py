"""Holds what slowpath says about the recording of run.sh against what was set and what the clients saw.

Reads the files that run.sh leaves: truth.json, clients, diagnose.json, requests.json. Prints a line for
each claim; ends with status 1 when one does not hold. It does not judge how fast the machine is.
"""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import check

UNITS = {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1.0}
READY = ("PREEMPTED", "WAIT_CPU")


def length_after(words, text):
    """The length of time that stands behind the words, in nanoseconds."""
    found = re.search(re.escape(words) + r" ([\d.]+) (\S+?)\b", text)
    return float(found[1]) * UNITS[found[2]] if found else 0.0


def claims(folder, group):
    """Pairs of a claim and whether it holds."""
    truth = json.loads((folder / "truth.json").read_text())
    findings, requests = check.answers(folder)
    lines = (folder / "clients").read_text().split("\n")
    seen = [tuple(map(int, line.split())) for line in lines if line and line != "begun"]
    quota, period = truth["quota_ns"], truth["period_ns"]
    begin, end = truth["begin_ns"], truth["end_ns"]

    def in_phase(one):
        return one["begin_ns"] < end and one["end_ns"] > begin

    first = findings[0] if findings else {"id": "nothing", "title": "", "evidence": [], "share": 0}
    yield f"the first cause is the quota: {first['title'] or first['id']}", first["id"] == "cpu-quota"
    yield f"it takes most of the slow requests' time: {first['share']:.0%}", first["share"] > 0.5
    yield f"the control group is named: {group}", group in first["title"]
    regimes = [one for one in first["evidence"] if "has a quota of" in one["text"]]
    yield f"the quota had one value: {len(regimes)}", len(regimes) == 1
    for regime in regimes:
        found = length_after("in every", regime["text"])
        yield f"its period is {period / 1e6} ms: {found / 1e6} ms", found == period
        found = length_after("has a quota of", regime["text"])
        yield f"it is {quota / 1e6} ms: {found / 1e6} ms", found == quota
        late, early = (regime["begin_ns"] - begin) / 1e9, (end - regime["end_ns"]) / 1e9
        # The recorder looks at quotas about once a second.
        held = late > -1.5 and early > -1.5
        yield f"it held when it was set: from {late:.3f} s after to {early:.3f} s before the end", held
        yield "it held for most of that time", late + early < 0.3 * (end - begin) / 1e9
    others = [one for one in findings[1:] if one["id"] == "cpu-quota"]
    yield f"there is no other quota: {len(others)}", not others
    locks = [one["id"] for one in findings if one["id"] in ("lock-contention", "runtime-threads")]
    yield f"waits for threads that it held back are its own: {', '.join(locks) or 'nothing'} beside it", not locks
    shown = [one for one in first["evidence"] if "span_id" in one]
    yield f"requests that show it were held up in that time: {len(shown)}", shown and all(map(in_phase, shown))

    slow = [one for one in requests if one["duration_ns"] > 2 * period]
    inside = [one for one in slow if in_phase(one)]
    yield f"slow requests lie in that time: {len(inside)} of {len(slow)}", slow and len(inside) == len(slow)
    ready = sum(sum(one["summary"].get(state, 0) for state in READY) for one in slow)
    share = ready / max(1, sum(one["duration_ns"] for one in slow))
    yield f"they were ready, but did not run, for most of theirs: {share:.0%}", share > 0.8
    fast = sorted(one["duration_ns"] for one in requests if not in_phase(one))
    median = fast[len(fast) // 2] if fast else 0
    slowest = max((one["duration_ns"] for one in slow), default=0)
    yield (f"others are fast: median {median / 1e6:.1f} ms, the slowest of that time {slowest / 1e6:.0f} ms",
           fast and median * 20 < slowest)

    # The clients' measure includes the way to the server and back, and the wait before the span.
    around = 5_000_000
    for one in slow:
        one["asked"] = any(asked < one["begin_ns"] + around and answered > one["end_ns"] - around
                           for asked, answered in seen)
    yield f"clients saw each of the slow ones: {len(slow)}", slow and all(one["asked"] for one in slow)
    # A second may pass before LTTng reaches a program that runs already.
    told = min((one["begin_ns"] for one in requests), default=end)
    reads = sum(asked >= told for asked, _ in seen)
    yield f"since the first, every read has its request: {len(requests)} for {reads} reads", (
        len(requests) >= reads > 0 and told < begin
    )


if __name__ == "__main__":
    check.told(claims(pathlib.Path(sys.argv[1]), sys.argv[2]))
