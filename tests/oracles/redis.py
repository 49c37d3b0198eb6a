"""Totals of Redis commands as `slowpath redis --json` has them, from babeltrace2's text.

Reads events that tell many batches, and those of earlier agents that tell one.
One level of detail at a time: a trace of batches, or one of single events. Servers that follow each other under one
process number are told apart by clients that cannot be of one server. For traces without losses.
"""

import json

from babeltrace_text import Trace, paths_from_command_line

SECOND = 10**9
OF_COMMANDS = ("command", "start", "duration")
PARTS = ("reading_ns", "queueing_ns", "executing_ns", "waiting_ns", "writing_ns")


class OneBatch:
    """One of an event's batches, as if an event of its own had told it when it ended."""

    def __init__(self, event, position, first):
        told, number = event.fields, event.fields["commands"][position]
        columns = {name: value for name, value in told.items() if isinstance(value, list)}
        self.fields = {name: column[position] for name, column in columns.items() if name not in OF_COMMANDS}
        self.fields |= {name: told[name][first : first + number] for name in OF_COMMANDS}
        self.ns = event.ns - self.fields["age"] + self.fields["ended"] * self.fields["unit_ns"]
        self.context = {**event.context, "vtid": self.fields["write_thread"]}


def each(event, name):
    if name != "batches":
        return [(event, name)]
    numbers = event.fields["commands"]
    return [(OneBatch(event, i, sum(numbers[:i])), "batch") for i in range(len(numbers))]


class Server:
    def __init__(self, pid):
        self.pid, self.names, self.ports = pid, {0: "(unknown)"}, {}
        self.highest, self.batches, self.open, self.inside, self.stack = {}, [], {}, {}, []
        self.closed = set()


def parts_of(batch, start, length):
    executed = start + length
    answered = batch["written"] is not None
    end = max(batch["written"], executed) if answered else executed
    writing = min(max(batch["writing"], executed), end) if answered else end
    reading = min(batch["read"], start)
    cuts = (batch["begin"], reading, start, executed, writing, end)
    return [later - earlier for earlier, later in zip(cuts, cuts[1:])]


def lite(server, event):
    """Batches; those that others continue stay in `open`."""
    told, client = event.fields, event.fields["client_id"]
    unit = told["unit_ns"]
    begin = event.ns - told["ended"] * unit
    batch = {
        "client": client,
        "begin": begin,
        "read": begin + told["read_end"] * unit,
        "writing": begin + told["write_start"] * unit if told["bytes_written"] else None,
        "written": None,
        "last": event.ns,
        "in": told["bytes_read"],
        "out": told["bytes_written"],
        "commands": [
            (number, begin + start * unit, length * unit)
            for number, start, length in zip(told["command"], told["start"], told["duration"])
        ],
    }
    before = server.open.pop(client, None)
    if before and (before["told"] == 1 or not batch["commands"] and not batch["in"]):
        before["writing"] = before["writing"] or batch["writing"]
        before["in"] += batch["in"]
        before["out"] += batch["out"]
        before["commands"] += batch["commands"]
        before["last"] = batch["last"]
        batch = before
    elif before:
        server.batches.append(before)
    batch["told"] = told["ended_by"]
    if told["ended_by"] in (1, 2):
        server.open[client] = batch
        return
    if told["ended_by"] == 0 and batch["out"]:
        batch["written"] = event.ns
    server.batches.append(batch)


def life_cycle(server, event, name):
    told, now = event.fields, event.ns
    client = told["client_id"]
    batch = server.open.get(client)
    if name == "start_read_client_query" and batch:
        if batch["out"] or now - batch["last"] > SECOND:
            server.batches.append(server.open.pop(client))
            batch = None
    if batch is None and name in ("start_read_client_query", "write_to_client_start") or (
        batch is None and name == "call_command_start" and not server.stack
    ):
        batch = server.open[client] = {
            "client": client, "begin": now, "read": None, "writing": None, "written": None,
            "in": 0, "out": 0, "commands": [], "last": now,
        }  # fmt: skip
    if name == "call_command_start":
        if not server.stack and batch["read"] is None:
            batch["read"] = now
        server.stack.append((told["command"], now))
    elif name == "call_command_end":
        command, begin = server.stack.pop()
        assert command == told["command"]
        if server.stack:
            server.inside[command] = server.inside.get(command, 0) + 1
        else:
            batch["commands"].append((command, begin, now - begin))
            batch["last"] = now
    elif name == "end_read_client_query" and batch:
        if told["bytes"] > 0:
            batch["in"] += told["bytes"]
            batch["last"] = now
            if batch["read"] is None:
                batch["read"] = now
        elif told["bytes"] == 0 or not (batch["in"] or batch["out"] or batch["commands"]):
            server.batches.append(server.open.pop(client))
    elif name == "write_to_client_start" and batch["writing"] is None:
        batch["writing"] = now
    elif name == "write_to_client_end" and batch:
        batch["out"] += told["bytes"]
        batch["last"] = now
        if told["bytes"]:
            batch["written"] = now
            if told["bytes"] < 65536:
                server.batches.append(server.open.pop(client))
        elif not (batch["in"] or batch["out"] or batch["commands"]):
            server.open.pop(client)


def is_another(server, name, fd, client, told):
    if fd >= 0 and server.highest.get(fd, 0) > client:
        return True
    if name == "client_address":
        return told["peer_port"] and server.ports.get(client, told["peer_port"]) != told["peer_port"]
    return name == "start_read_client_query" and client in server.closed


def store_events(paths):
    for event in Trace(paths):
        provider, _, name = event.name.partition(":")
        if provider == "slowpath_redis":
            yield from each(event, name)


def replay(paths, also=lambda server, name, event: None):
    """Servers with all their batches; `also` is called with each event."""
    servers, current = [], {}
    for event, name in store_events(paths):
        pid, told = event.context["vpid"], event.fields
        server, fd, client = current.get(pid), told.get("fd", -1), told.get("client_id", 0)
        if server is None or is_another(server, name, fd, client, told):
            names = server.names if server else {0: "(unknown)"}
            server = current[pid] = Server(pid)
            server.names = dict(names)
            servers.append(server)
        if fd >= 0:
            server.highest[fd] = client
        if name == "end_read_client_query" and told["bytes"] == 0:
            server.closed.add(client)
        also(server, name, event)
        if name == "command_name":
            server.names[told["number"]] = told["command"]
        elif name == "client_address":
            if told["peer_port"]:
                server.ports[client] = told["peer_port"]
        elif name == "batch":
            lite(server, event)
        elif "client_id" in told:
            life_cycle(server, event, name)
    for server in servers:
        server.batches += server.open.values()
    return servers


def read(paths):
    return [totals(server) for server in replay(paths)]


def totals(server):
    commands, clients = {}, {}
    for batch in server.batches:
        if not (batch["in"] or batch["out"] or batch["commands"]):
            continue
        if batch["read"] is None:
            batch["read"] = batch["begin"]
        client = clients.setdefault(
            batch["client"],
            {"port": server.ports.get(batch["client"], 0), "count": 0, "unanswered": 0, "bytes_read": 0,
             "bytes_written": 0, "total_ns": 0},
        )  # fmt: skip
        client["bytes_read"] += batch["in"]
        client["bytes_written"] += batch["out"]
        for command, start, length in batch["commands"]:
            name = server.names.get(command, command)
            row = commands.setdefault(name, {"latencies": [], "unanswered": 0, **dict.fromkeys(PARTS, 0)})
            parts = parts_of(batch, start, length)
            for part, value in zip(PARTS, parts):
                row[part] += value
            row["latencies"].append(sum(parts))
            unanswered = int(batch["written"] is None)
            row["unanswered"] += unanswered
            client["count"] += 1
            client["unanswered"] += unanswered
            client["total_ns"] += sum(parts)
    for row in commands.values():
        ordered = sorted(row.pop("latencies"))
        row["count"], row["total_ns"], row["max_ns"] = len(ordered), sum(ordered), ordered[-1]
        row["mean_ns"] = row["total_ns"] // row["count"]
        for percent in (50, 99):
            row[f"p{percent}_ns"] = ordered[-(-len(ordered) * percent // 100) - 1]
    return {"pid": server.pid, "commands": commands, "clients": clients, "inside": server.inside}


if __name__ == "__main__":
    print(json.dumps(read(paths_from_command_line("TRACE...")), indent=1))
