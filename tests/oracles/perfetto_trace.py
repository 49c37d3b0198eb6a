"""Reads a trace with Perfetto's own protobuf definitions and prints what is in it, as JSON.

Usage: perfetto_trace.py FILE. Slices are paired on each track in the order of time, as Perfetto does.
"""

import collections
import json
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as definitions

trace = definitions.Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())

tracks = {}
events = collections.defaultdict(list)
switches = collections.defaultdict(list)
flows_out, flows_in = collections.Counter(), collections.Counter()
counts = collections.Counter()
for packet in trace.packet:
    if packet.HasField("track_descriptor"):
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor
    elif packet.HasField("track_event"):
        event = packet.track_event
        assert event.track_uuid in tracks, "an event of a track that was not described"
        events[event.track_uuid].append((packet.timestamp, event))
        flows_out.update(event.flow_ids)
        flows_in.update(event.terminating_flow_ids)
    elif packet.HasField("ftrace_events"):
        for event in packet.ftrace_events.event:
            kind = event.WhichOneof("event")
            counts[kind] += 1
            if kind == "sched_switch":
                switches[packet.ftrace_events.cpu].append((event.timestamp, event))
    elif packet.HasField("process_tree"):
        counts["threads"] += len(packet.process_tree.threads)

# Each processor's switches follow on each other.
for cpu, list_of_cpu in switches.items():
    list_of_cpu.sort(key=lambda pair: pair[0])
    for (_, one), (_, other) in zip(list_of_cpu, list_of_cpu[1:]):
        assert one.sched_switch.next_pid == other.sched_switch.prev_pid, (cpu, one, other)

requests = {}
states = collections.defaultdict(collections.Counter)
for track, list_of_track in events.items():
    open_slices = []
    for at, event in sorted(list_of_track, key=lambda pair: pair[0]):
        if event.type == event.TYPE_SLICE_BEGIN:
            counts["slices"] += 1
            open_slices.append((at, event))
        elif event.type == event.TYPE_SLICE_END:
            begin, begun = open_slices.pop()
            details = {d.name: d.string_value for d in begun.debug_annotations}
            if begun.categories[0] == "request":
                requests[details["span_id"]] = {"begin_ns": begin, "end_ns": at}
            else:
                span = next(
                    d.string_value
                    for d in open_slices[0][1].debug_annotations
                    if d.name == "span_id"
                )
                states[span][begun.categories[0]] += at - begin
        elif event.type == event.TYPE_COUNTER:
            counts["counter_values"] += 1
    assert not open_slices, "a slice does not end"

assert set(flows_in) <= set(flows_out), "an arrow from nowhere"
counts["flows"] = len(flows_in)
for span, request in requests.items():
    request["summary"] = dict(states[span])
print(json.dumps({"counts": counts, "requests": requests}))
