"""A client of the cluster that run.sh starts, and what the nodes and the kernel counted meanwhile.

Writes down, besides what it did itself, CLUSTER INFO and the bytes of all connections between nodes (ss) before and
after it publishes. Not a Redis library: it knows just enough of the protocol.
"""

import json
import re
import socket
import subprocess
import sys
import time

# The bus is at the clients' port and this.
BUS = 10_000
SLOTS = 16_384
# What is published, in bytes, in turn.
PAYLOADS = (10, 10_240)
# So many messages are under way to the subscriber before the client waits for them.
AHEAD = 64


class Client:
    """A connection to a node."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lines = self.socket.makefile("rb")

    def send(self, *words):
        parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(one), one) for one in parts))

    def reply(self):
        line = self.lines.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-" or not line:
            sys.exit(f"a node answered {line!r}")
        if kind == b"$" and rest != b"-1":
            return self.lines.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest

    def do(self, *words):
        self.send(*words)
        return self.reply()


def expect(found, expected):
    if found != expected:
        sys.exit(f"a node answered {found!r}, not {expected!r}")


def slot(key):
    """Where a cluster keeps a key: CRC16 (XMODEM)."""
    crc = 0
    for byte in key.encode():
        crc ^= byte << 8
        for _ in range(8):
            crc = crc << 1 ^ (0x1021 if crc & 0x8000 else 0)
    return (crc & 0xFFFF) % SLOTS


def tags(client, ports):
    """For each node a word that it keeps."""
    ranges = [(first, last, master[1]) for first, last, master, *_ in client.do("CLUSTER", "SLOTS")]
    owners = {}
    number = 0
    while len(owners) < len(ports):
        word = f"t{number}"
        number += 1
        owners.setdefault(next(port for first, last, port in ranges if first <= slot(word) <= last), word)
    return [owners[port] for port in ports]


def counted(client):
    """What a node says that it sent and received over the bus, by type of message."""
    lines = client.do("CLUSTER", "INFO").decode().splitlines()
    found = (re.fullmatch(r"cluster_stats_messages_(\w+)_(sent|received):(\d+)", line) for line in lines)
    return {f"{one[1]}_{one[2]}": int(one[3]) for one in found if one}


def connections(ports, pids):
    """Bytes that the kernel has seen acknowledged over each connection of the bus, by process and both ends."""
    ends = " or ".join(f"sport = {port + BUS} or dport = {port + BUS}" for port in ports)
    told = subprocess.run(["ss", "-tinpHO", "state", "established", f"( {ends} )"], check=True, capture_output=True, text=True)
    found = {}
    for line in told.stdout.splitlines():
        pid = re.search(r"pid=(\d+)", line)
        if pid and int(pid[1]) in pids:
            acknowledged = re.search(r"bytes_acked:(\d+)", line)
            found[" ".join([pid[1], *line.split()[2:4]])] = int(acknowledged[1]) if acknowledged else 0
    return found


def quiet(ports, pids):
    """Waits until the bus carries no more than gossip."""
    before = None
    for _ in range(200):
        now = sum(connections(ports, pids).values())
        if before is not None and now - before < 20_000:
            return
        before = now
        time.sleep(0.05)
    sys.exit("the bus does not come to rest")


def snapshot(ports, pids, clients):
    quiet(ports, pids)
    return {
        "at_ns": time.time_ns(),
        "info": [counted(client) for client in clients],
        "connections": connections(ports, pids),
    }


def store_and_ask(clients, words, count):
    """As many of each, over all nodes."""
    for command in ("SET", "GET"):
        for begin in range(0, count, len(clients)):
            asked = range(begin, min(begin + len(clients), count))
            for number in asked:
                value = ["value"] if command == "SET" else []
                clients[number % len(clients)].send(command, f"{{{words[number % len(words)]}}}:{number % 1000}", *value)
            for number in asked:
                expect(clients[number % len(clients)].reply(), b"OK" if command == "SET" else b"value")


def publish(clients, command, channel_of, subscribers, count):
    """Publishes at all nodes in turn; subscribers must get all of it. `subscribers` has that of each node in turn."""
    waiting = []
    published = [{} for _ in clients]

    def receive():
        # Those of different nodes overtake each other.
        received = []
        for subscriber, *_ in waiting:
            _, channel, message = subscribers[subscriber].reply()
            received.append((subscriber, channel, len(message)))
        expect(sorted(received), sorted(waiting))
        waiting.clear()

    for number in range(count):
        size = PAYLOADS[number // len(clients) % len(PAYLOADS)]
        node = number % len(clients)
        clients[node].do(command, channel_of(number), b"x" * size)
        published[node][size] = published[node].get(size, 0) + 1
        waiting.append((number % len(subscribers), channel_of(number).encode(), size))
        if len(waiting) == AHEAD:
            receive()
    receive()
    return published


def main(first_port, pids, count, file):
    ports = [first_port + number for number in range(len(pids))]
    clients = [Client(port) for port in ports]
    words = tags(clients[0], ports)
    store_and_ask(clients, words, count)

    subscriber = Client(ports[1])
    for number in range(count):
        expect(subscriber.do("SUBSCRIBE", f"c{number}"), [b"subscribe", f"c{number}".encode(), number + 1])
    before = snapshot(ports, pids, clients)
    published = publish(clients, "PUBLISH", lambda number: f"c{number}", [subscriber], count)
    after = snapshot(ports, pids, clients)

    # The same, sharded: each node has channels of its own.
    sharded = [Client(port) for port in ports]
    for client, word in zip(sharded, words):
        client.do("SSUBSCRIBE", f"{{{word}}}")
    publish(clients, "SPUBLISH", lambda number: f"{{{words[number % len(words)]}}}", sharded, count)
    last = snapshot(ports, pids, clients)

    truth = {"ports": ports, "pids": pids, "published": published, "before": before, "after": after, "last": last}
    with open(file, "w") as out:
        json.dump(truth, out)


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(pid) for pid in sys.argv[2].split(",")], int(sys.argv[3]), sys.argv[4])
