"""Sends the spans of a recording to Jaeger as their service sent them; asks Jaeger for the traces, and holds them
against the spans that slowpath exported. Not a reader of spans for anything else.

    compare.py send FOLDER OTLP_URL        FOLDER: the recording's spans/ (docs/formats/recording.md)
    compare.py compare EXPORTED QUERY_URL  EXPORTED: OTLP as JSON lines; status 1 where something is missing
"""

import json
import pathlib
import sys
import time
import urllib.error
import urllib.request


def batches(folder):
    """The OTLP messages of a recording: each has its length before it."""
    for file in sorted(pathlib.Path(folder).glob("otlp-*.pb")):
        content = file.read_bytes()
        while content:
            length = int.from_bytes(content[:4], "big")
            yield content[4 : 4 + length]
            content = content[4 + length :]


def send(folder, url):
    """Posts them; waits up to a minute for Jaeger to start."""
    for batch in batches(folder):
        head = {"content-type": "application/x-protobuf"}
        request = urllib.request.Request(f"{url}/v1/traces", batch, head)
        for attempt in range(120):
            try:
                urllib.request.urlopen(request, timeout=30).read()
                break
            except urllib.error.URLError:
                if attempt == 119:
                    raise
                time.sleep(0.5)


def exported(file):
    """Trace, span, parent, name, begin and end in microseconds of each exported span."""
    for line in pathlib.Path(file).read_text().splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    times = [int(span[key]) // 1000 for key in ("startTimeUnixNano", "endTimeUnixNano")]
                    yield span["traceId"], span["spanId"], span["parentSpanId"], span["name"], *times


def asked(trace, url):
    """The spans of a trace that Jaeger has, by id. It stores what it took a moment later."""
    for attempt in range(20):
        try:
            with urllib.request.urlopen(f"{url}/api/traces/{trace}", timeout=30) as answer:
                spans = json.load(answer)["data"][0]["spans"]
            return {span["spanID"]: span for span in spans}
        except urllib.error.HTTPError as cause:
            if cause.code != 404 or attempt == 19:
                raise
            time.sleep(0.5)


def compare(file, url):
    """Prints what is not as it should be, then how much is."""
    traces, wrong, right, parents = {}, [], 0, set()
    time.sleep(2)
    for trace, span, parent, name, begin, end in exported(file):
        if trace not in traces:
            traces[trace] = asked(trace, url)
        found = traces[trace].get(span)
        references = [(one["refType"], one["traceID"], one["spanID"]) for one in found["references"]] if found else []
        if found is None:
            wrong.append(f"{name} ({span}) of trace {trace} is missing")
        elif references != [("CHILD_OF", trace, parent)]:
            wrong.append(f"{name} ({span}) of trace {trace} is part of {references}, not of {parent}")
        elif found["operationName"] != name:
            wrong.append(f"{name} ({span}) of trace {trace} is called {found['operationName']}")
        elif abs(found["startTime"] - begin) > 1 or abs(found["startTime"] + found["duration"] - end) > 2:
            wrong.append(f"{name} ({span}) of trace {trace} has other times")
        elif parent not in traces[trace]:
            wrong.append(f"the request {parent} of trace {trace} is missing")
        else:
            right += 1
            parents.add((trace, parent))
    for line in wrong[:20]:
        print("FAILED  " + line)
    print(f"{right} states in their places, in {len(parents)} requests of {len(traces)} traces; {len(wrong)} are not")
    sys.exit(1 if wrong or not right else 0)


if __name__ == "__main__":
    {"send": send, "compare": compare}[sys.argv[1]](*sys.argv[2:])
