"""Holds what slowpath says about the recordings of run.sh against what the client did (load.py), what the nodes counted
(CLUSTER INFO) and what the kernel did (bytes of the connections between nodes). Not about how fast anything is.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import check

# Of figures that are counted at other moments, or by others: gossip goes on meanwhile.
CLOSE = 0.01
ASKED = ("set", "get", "subscribe", "publish", "spublish")


def near(one, other):
    return abs(one - other) <= CLOSE * other


def difference(after, before):
    """What was counted in between; what was not there before counts as none."""
    return {key: count - before.get(key, 0) for key, count in after.items()}


def by_port(told, rows):
    """The rows of each server, by its port: a list for each."""
    ports = {server["server"]: server["port"] for server in told["servers"]}
    found = {port: [] for port in ports.values()}
    for row in told[rows]:
        found[ports[row["server"]]].append(row)
    return found


def cycles(told):
    """By port and command: how many, how many without an answer, and bytes read and written."""
    return {
        (port, row["command"]): (row["count"], row["unanswered"], row["bytes_read"], row["bytes_written"])
        for port, rows in by_port(told, "commands").items()
        for row in rows
        if row["command"] in ASKED
    }


def of_size(nodes, told, truth, count):
    """Pairs of a claim and whether it holds, of one cluster; leaves factors by length in truth."""
    lite, life_cycle = told["lite"], told["life-cycle"]
    yield f"{nodes} nodes: no events were lost: {lite['lost']}", lite["lost"] == 0
    found = cycles(lite)
    for command in ASKED:
        rows = [row for (_, name), row in found.items() if name == command]
        whole = sum(all_of_it - unanswered for all_of_it, unanswered, *_ in rows)
        yield f"every {command} has its whole life: {whole} of {count}", whole == count
    same = sum(cycles(life_cycle).get(key) == row for key, row in found.items())
    yield f"batches and single events say the same, by node and command: {same} of {len(found)}", (
        same == len(found) == len(cycles(life_cycle))
    )

    findings = by_port(lite, "findings")
    amplified = {port: [one for one in findings.get(port, []) if one["kind"] == "publish-amplification"] for port in truth["ports"]}
    told_once = sum(len(ones) == 1 for ones in amplified.values())
    yield f"publish amplification is found at every node: {told_once} of {nodes}", told_once == nodes
    if told_once != nodes:
        return
    bus = by_port(lite, "bus")
    in_all = {"told": 0, "counted": 0, "payload": 0}
    for number, port in enumerate(truth["ports"]):
        one = amplified[port][0]
        published = truth["published"][number]
        expected = sorted((int(size), messages) for size, messages in published.items())
        by_length = [(row["most_bytes"], row["messages"]) for row in one["payloads"]]
        payload = sum(size * messages for size, messages in expected)
        info = difference(truth["after"]["info"][number], truth["before"]["info"][number])
        messages = sum(messages for _, messages in expected)
        yield f"port {port}: what was published is told by length: {by_length}", (
            by_length == expected and one["payload_bytes"] == payload
        )
        yield f"port {port}: each went to {one['copies'] / messages:.3f} nodes, by CLUSTER INFO {info['publish_sent'] / messages:.3f}", (
            near(one["copies"], info["publish_sent"]) and near(one["copies"], messages * (nodes - 1))
        )
        # What the kernel saw, less the gossip, of which the nodes say how much there was.
        pid = str(truth["pids"][number])
        sent = difference(truth["last"]["connections"], truth["before"]["connections"])
        sent = sum(count for key, count in sent.items() if key.split()[0] == pid)
        last = difference(truth["last"]["info"][number], truth["before"]["info"][number])
        gossip = sum(
            row["sent_bytes"] / row["sent"] * last.get(f"{row['type']}_sent", 0)
            for row in bus[port]
            if row["sent"] and row["type"] != "publish"
        )
        factor = (sent - gossip) / payload
        yield f"port {port}: {one['factor']:.4f} times as much on the bus, by the sockets {factor:.4f}", near(one["factor"], factor)
        in_all["told"] += one["bus_bytes"]
        in_all["counted"] += sent - gossip
        in_all["payload"] += payload
        for row in one["payloads"]:
            truth.setdefault("factors", {}).setdefault(row["most_bytes"], []).append(row["factor"])
    yield f"all nodes: {in_all['told'] / in_all['payload']:.4f} times, by the sockets {in_all['counted'] / in_all['payload']:.4f}", (
        near(in_all["told"], in_all["counted"])
    )
    copies = {way: sum(row[way] for rows in bus.values() for row in rows if row["type"] == "publish") for way in ("sent", "received")}
    yield f"what went out came in: {copies['received']} of {copies['sent']}", copies["received"] == copies["sent"]
    sharded = sum(row["sent"] for rows in bus.values() for row in rows if row["type"] == "publishshard")
    yield f"the same messages, sharded, on the bus: {sharded}", sharded == 0


def claims(folder, count, sizes):
    """Pairs of a claim and whether it holds."""
    for_each = {}
    for nodes in sizes:
        told = {level: json.loads((folder / f"{level}-{nodes}.json").read_text()) for level in ("lite", "life-cycle")}
        truth = json.loads((folder / f"truth-{nodes}.json").read_text())
        yield from of_size(nodes, told, truth, count)
        for length, factors in truth.get("factors", {}).items():
            for_each.setdefault(length, {})[nodes] = sum(factors) / len(factors)
    if len(sizes) < 2:
        return
    for length, factors in for_each.items():
        one = {nodes: factor / (nodes - 1) for nodes, factor in factors.items()}
        words = ", ".join(f"{nodes} nodes {factors[nodes]:.2f}" for nodes in factors)
        yield f"messages of {length} bytes: the factor grows with the other nodes: {words}", (
            len(one) == len(sizes) and near(min(one.values()), max(one.values()))
        )


if __name__ == "__main__":
    check.told(claims(pathlib.Path(sys.argv[1]), int(sys.argv[2]), [int(nodes) for nodes in sys.argv[3:]]))
