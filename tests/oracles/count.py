"""Counts events as `slowpath count --json` does, from babeltrace2's text.

Packets and streams are not visible in the text and left out.
"""

import collections
import json

from babeltrace_text import Trace, paths_from_command_line


def count(paths, by):
    trace = Trace(paths)
    found = collections.Counter()
    events = 0
    for event in trace:
        events += 1
        if by == "event":
            found[event.name] += 1
        elif by == "cpu" and event.cpu is not None:
            found[str(event.cpu)] += 1
    rows = sorted(found.items(), key=lambda row: (-row[1], row[0]))
    return {
        "events": events,
        "lost": trace.lost,
        "begin_ns": trace.begin_ns,
        "end_ns": trace.end_ns,
        "by": dict(rows),
    }


if __name__ == "__main__":
    arguments = paths_from_command_line("[--by event|cpu|none] TRACE...")
    by = "event"
    if arguments[0] == "--by":
        by, arguments = arguments[1], arguments[2:]
    print(json.dumps(count(arguments, by), indent=1))
