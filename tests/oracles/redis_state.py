"""What Redis servers were doing at some hundred times, as `slowpath state --json` has it, from babeltrace2's text.

Plain on purpose: everything that was ever so is in one list, and each time looks through all of it. Arguments: what
`redis-cli --json command` printed, how many times, the trace. For traces without losses.
"""

import itertools
import json
import random
import sys

from redis import replay

MILLISECOND = 10**6
LIFE_CYCLE = ("start_read_client_query", "end_read_client_query", "call_command_start", "call_command_end",
              "write_to_client_start", "write_to_client_end")  # fmt: skip


class Facts:
    """Of one server: (entity, what, begin, end, value), and what is open."""

    def __init__(self, pid):
        self.pid, self.all, self.connections, self.by_descriptor = pid, [], {}, {}
        self.first = self.last = None
        self.reads, self.writes, self.calls, self.sent, self.broadcast = {}, {}, [], [], None
        self.busy, self.links, self.outgoing = [], {}, set()

    def did(self, thread, operation, client, begin, end):
        self.all.append((("thread", thread), "operation", begin, end, operation))
        self.all.append((("thread", thread), "request", begin, end, client))
        if thread == self.pid:
            self.all.append((("event_loop",), "operation", begin, end, operation))
            self.busy.append((begin, end))


def note(facts, name, event):
    told, now, thread = event.fields, event.ns, event.context["vtid"]
    first = now
    client, fd = told.get("client_id", 0), told.get("fd", -1)
    if name == "batch":
        unit = told["unit_ns"]
        first = now - told["ended"] * unit
        if told["bytes_read"]:
            facts.did(told["read_thread"], "reading", client, first, first + told["read_end"] * unit)
        for start, length in zip(told["start"], told["duration"]):
            begin = first + start * unit
            facts.did(facts.pid, "executing", client, begin, begin + length * unit)
        if told["ended_by"] == 0 and 0 < told["bytes_written"] <= 65536:
            facts.did(thread, "writing", client, first + told["write_start"] * unit, now)
    elif name in LIFE_CYCLE:
        operation(facts, name, told, now, thread)
    elif name == "broadcast_start":
        facts.broadcast = told["type"]
    elif name == "broadcast_end":
        facts.broadcast = None
    elif name == "bus_address":
        ends = [told[of + what] for of in ("peer_", "own_") for what in ("address", "port")]
        lives = facts.links.setdefault(fd, [])
        if not lives or lives[-1]["end"] or lives[-1]["ends"] != ends:
            lives.append({"ends": ends, "begin": now, "end": None})
    elif name == "client_address" and told.get("outgoing"):
        facts.outgoing.add(client)
    elif name == "cluster_send":
        facts.sent.append((now, told["type"], told["type"] == facts.broadcast, told["bytes"]))
    facts.first = first if facts.first is None else min(facts.first, first)
    facts.last = now if facts.last is None else max(facts.last, now)
    if fd < 0 or not client:
        return
    # A client has the descriptor of what was a link to another node.
    if facts.links.get(fd):
        facts.links[fd][-1]["end"] = facts.links[fd][-1]["end"] or now
    before = facts.by_descriptor.get(fd)
    if before not in (None, client):
        facts.connections[before].setdefault("end", now)
    facts.by_descriptor[fd] = client
    connection = facts.connections.setdefault(client, {"begin": first, "fd": fd, "memory": []})
    connection["begin"] = min(connection["begin"], first)
    if name == "end_read_client_query":
        connection["memory"].append((now, told["memory"]))
        if told["bytes"] == 0:
            connection.setdefault("end", now)


def operation(facts, name, told, now, thread):
    client = told["client_id"]
    if name == "start_read_client_query":
        facts.reads[client] = now
    elif name == "end_read_client_query":
        begin = facts.reads.pop(client, None)
        if begin is not None and told["bytes"] > 0:
            facts.did(thread, "reading", client, begin, now)
    elif name == "call_command_start":
        if not facts.calls and client in facts.reads:
            facts.did(thread, "reading", client, facts.reads.pop(client), now)
        facts.calls.append(now)
    elif name == "call_command_end":
        begin = facts.calls.pop()
        if not facts.calls:
            facts.did(thread, "executing", client, begin, now)
    elif name == "write_to_client_start":
        facts.writes[client] = now
    elif client in facts.writes:
        facts.did(thread, "writing", client, facts.writes.pop(client), now)


def settle(facts, server, types):
    """Adds what batches and connections tell."""
    replicas = set(facts.outgoing)
    for batch in server.batches:
        if any(name_of(server, command[0]) in ("psync", "sync", "replconf") for command in batch["commands"]):
            replicas.add(batch["client"])
    for client, connection in facts.connections.items():
        of, end = ("connection", client), connection.get("end", facts.last)
        kind = "replica-link" if client in replicas else "client"
        facts.all.append((of, "type", connection["begin"], end, kind))
        told = connection["memory"] + [(end, 0)]
        for (begin, memory), (until, _) in zip(told, told[1:]):
            if memory:
                facts.all.append((of, "memory", begin, until, memory))
    for fd, lives in facts.links.items():
        for life, following in zip(lives, [life["begin"] for life in lives[1:]] + [facts.last]):
            facts.all.append((("link", fd), "type", life["begin"], life["end"] or following, "internal-link"))
    served = [batch for batch in server.batches if batch["client"] in replicas - facts.outgoing and batch["out"]]
    written = [batch["begin"] if batch["writing"] is None else batch["writing"] for batch in served]
    facts.to_others = sorted([(sent[0], "node-to-node") for sent in facts.sent]
                             + [(at, "primary-to-replica") for at in written])  # fmt: skip
    # Of level lite they may overlap.
    facts.busy.sort()
    latest = itertools.accumulate((end for _, end in facts.busy), max, initial=facts.first)
    facts.busy = [(max(begin, before), end) for (begin, end), before in zip(facts.busy, latest)]
    # A batch is over when the client's next begins.
    of_client = {}
    for batch in sorted(server.batches, key=lambda batch: batch["begin"]):
        of_client.setdefault(batch["client"], []).append(batch)
    for batches in of_client.values():
        for batch, following in zip(batches, batches[1:] + [None]):
            told = len(facts.all)
            commands(facts, server, batch, types)
            if following:
                facts.all[told:] = [(*what, min(end, following["begin"]), value) for *what, end, value in facts.all[told:]]


def name_of(server, number):
    return number if isinstance(number, str) else server.names.get(number, f"command {number}")


def commands(facts, server, batch, types):
    request, connection = ("request", batch["client"]), ("connection", batch["client"])
    since, answered = batch["begin"], batch["written"] is not None
    for position, (number, begin, length) in enumerate(batch["commands"]):
        # Single events tell the names themselves.
        name = name_of(server, number)
        end = begin + length
        until = max(end, batch["last"]) if answered and position + 1 == len(batch["commands"]) else end
        lies_in = (("query-buffer", since, begin), ("arguments", begin, end), ("reply-buffer", end, until))
        for structure, *range_ in lies_in:
            facts.all.append((request, "data_structure", *range_, structure))
        facts.all.append((request, "command", since, until, name))
        facts.all.append((request, "type", since, until, types.get(name, "other")))
        facts.all.append((request, "connection", since, until, facts.connections[batch["client"]]["fd"]))
        since = end
    if not batch["commands"]:
        writing = batch["last"] if batch["writing"] is None else batch["writing"]
        since = writing if batch["in"] else batch["begin"]
    facts.all.append((connection, "data_structure", batch["begin"], since, "query-buffer"))
    if answered:
        facts.all.append((connection, "data_structure", since, batch["last"], "reply-buffer"))


NAMES = "ping pong meet fail publish auth-req auth-ack update mfstart module publishshard".split()


def state(facts, server, number, at):
    # What begins later ends what is so still, be it over before that.
    latest = {}
    for of, what, begin, end, value in facts.all:
        if begin <= at and begin < end:
            latest[of, what] = max(latest.get((of, what), (begin, end, value)), (begin, end, value))
    parts = ("event_loop", "bus", "clients", "threads", "connections", "links", "requests")
    row = {"server": number, **{part: {} for part in parts}}
    for (of, what), (_, end, value) in latest.items():
        if at >= end:
            continue
        rows = row[of[0] if of[0] == "event_loop" else of[0] + "s"]
        (rows if len(of) == 1 else rows.setdefault(of[1], {}))[what] = value
    if facts.first <= at < facts.last:
        row["process"] = facts.pid
    asking = (b for b in server.batches if b["commands"] and b["begin"] <= at < b["last"])
    if waiting := sum(1 for _ in asking):
        row["event_loop"]["waiting"] = waiting
    begin = at // MILLISECOND * MILLISECOND
    if busy := sum(max(0, min(end, begin + MILLISECOND) - max(since, begin)) for since, end in facts.busy):
        row["event_loop"]["busy"] = busy
    for what, amount, when in (("read", "in", "begin"), ("written", "out", "last")):
        if volume := sum(b[amount] for b in server.batches if b[when] // MILLISECOND == at // MILLISECOND):
            row["clients"][what] = volume
    if volume := sum(bytes_ for when, *_, bytes_ in facts.sent if when // MILLISECOND == at // MILLISECOND):
        row["bus"]["volume"] = volume
    before = [sent for sent in facts.sent if sent[0] <= at < facts.last]
    if before:
        _, kind, broadcast, _ = before[-1]
        row["bus"]["message"] = NAMES[kind] + (" broadcast" if broadcast else "")
    if between := [kind for when, kind in facts.to_others if when <= at < facts.last]:
        row["bus"]["type"] = between[-1]
    told = any(row[part] for part in parts)
    for key, name in (("threads", "tid"), ("connections", "client"), ("links", "fd"), ("requests", "client")):
        row[key] = [{name: of, **rest} for of, rest in sorted(row[key].items())]
    # Only a cluster has them.
    if not row["links"]:
        del row["links"]
    return row if told or "process" in row else None


def types_of(commands):
    types = {"publish": "write", "spublish": "write"}
    for name, _, flags, *rest in commands:
        if "write" in flags or "readonly" in flags:
            types[name] = "write" if "write" in flags else "read"
        types.update(types_of(rest[6]) if len(rest) > 6 else {})
    return types


def main(commands_file, count, *paths):
    with open(commands_file) as file:
        types = types_of(json.load(file))
    known = {}
    servers = replay(paths, lambda server, name, event: note(known.setdefault(server, Facts(server.pid)), name, event))
    chance, moments = random.Random(7), []
    for server in servers:
        settle(known[server], server, types)
        moments += [moment for fact in known[server].all for moment in fact[2:4]]
    begin, end = min(moments), max(moments)
    # Half of them anywhere, half where something begins or ends, or just beside.
    times = [chance.randrange(begin, end) for _ in range(int(count) // 2)]
    times += [chance.choice(moments) + chance.choice((-1, 0, 1)) for _ in range(int(count) // 2)]
    answers = []
    for at in (at for at in times if begin <= at < end):
        rows = [state(known[server], server, number, at) for number, server in enumerate(servers, 1)]
        answers.append({"at_ns": at, "stores": [row for row in rows if row]})
    print(json.dumps(answers, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
