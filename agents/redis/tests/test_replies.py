"""The agent changes nothing that clients can see: what commands.txt says, sent to a stock server and to servers with
the agent at each level, is replied to byte by byte alike, and leaves the same data and the same counts."""

import os
import re
import shlex
import unittest
from contextlib import ExitStack

from redis_server import LIFECYCLE, LITE, Recording, Server, command, free_port, until

LEVELS = {"loaded, not recorded": None, "lite": LITE, "life cycle": LIFECYCLE, "full": ("*",)}
LINE = re.compile(r"(?:([abcx])([:!<~=.]) ?)?(.*)")
DEBUG = ("--enable-debug-command", "yes")
# Counted in another number each time: what the agent asks, and what this test asks until something has happened.
NOT_COMPARED = {"client|id", "ping", "info", "cluster|info", "cluster|meet"}


def lines_of(file):
    """Client, sign, words."""
    with open(os.path.join(os.path.dirname(__file__), file)) as text:
        for line in text:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                client, sign, words = LINE.fullmatch(line).groups()
                yield client or "a", sign or ":", words


class Clients:
    """Those of one server, by name."""

    def __init__(self, server, other=None):
        self.server, self.other, self.all = server, other, {}
        self.watcher = server.client()

    def of(self, name):
        if name not in self.all:
            self.all[name] = (self.other if name == "x" else self.server).client()
        return self.all[name]

    def blocked(self):
        return int(re.search(rb"blocked_clients:(\d+)", self.watcher.do("INFO", "clients")).group(1))

    def reply(self, name):
        """As it came, but for the port of a node to which it may refer."""
        return re.sub(rb"127\.0\.0\.1:\d+", b"NODE", self.of(name).raw_reply())

    def turn(self, name, sign, words):
        """The reply, where there is one to compare."""
        client = self.of(name)
        if sign == ".":
            del self.all[name]
            client.close()
            return None
        if sign == "=":
            client.send(words.strip('"').encode().decode("unicode_escape").encode())
        elif sign != "<":
            before = self.blocked() if sign == "!" else 0
            client.send(command(*(word.replace("\\n", "\n") for word in shlex.split(words))))
            if sign == "!":
                until(lambda: self.blocked() == before + 1, f"{words} blocks")
                return None
        reply = self.reply(name)
        return None if sign == "~" else reply

    def replies(self, file):
        """With the lines that they answer."""
        return [(line, self.turn(*line)) for line in lines_of(file)]


def left_behind(server):
    """A digest of all data; how often each command was called, refused and failed; and the errors."""
    client = server.client()
    said = [client.do("INFO", section).decode() for section in ("commandstats", "errorstats")]
    counts = re.findall(r"cmdstat_(\S+):calls=(\d+).*rejected_calls=(\d+),failed_calls=(\d+)", said[0])
    commands = {name: numbers for name, *numbers in counts if name not in NOT_COMPARED}
    return client.do("DEBUG", "DIGEST"), commands, said[1]


def emptied(server):
    client = server.client()
    for words in (("FLUSHALL",), ("SCRIPT", "FLUSH"), ("CONFIG", "RESETSTAT")):
        assert client.do(*words) == b"+OK", words
    client.close()
    return server


def at_level(events, server, ask):
    """What is answered while these are recorded."""
    server.settle()
    emptied(server)
    if events is None:
        return ask()
    with Recording(server, *events):
        return ask()


class SameReplies(unittest.TestCase):
    maxDiff = None

    def compare(self, expected, got):
        for one, other in zip(expected[0], got[0]):
            self.assertEqual(one, other)
        self.assertEqual(expected, got)

    def test_replies_data_and_counts_are_those_of_a_stock_server(self):
        def of_server(server):
            return Clients(server).replies("commands.txt"), *left_behind(server)

        with Server(*DEBUG, agent=False) as stock:
            expected = of_server(emptied(stock))
        print(f"{len(expected[0])} lines, {len(expected[2])} commands ", end="", flush=True)
        for level, events in LEVELS.items():
            with self.subTest(level), Server(*DEBUG) as server:
                self.compare(expected, at_level(events, server, lambda: of_server(server)))

    def test_replies_of_a_cluster_are_those_of_stock_servers(self):
        def of_cluster(server, other):
            emptied(other)
            return Clients(server, other).replies("commands-of-a-cluster.txt"), *left_behind(server)

        with ExitStack() as stack:
            # Together, as each cluster waits for two seconds before it answers.
            stock, hooked = [begin_cluster(stack, agent) for agent in (False, True)]
            expected = of_cluster(emptied(whole(stock)[0]), stock[1])
            print(f"{len(expected[0])} lines ", end="", flush=True)
            for level, events in LEVELS.items():
                with self.subTest(level):
                    got = at_level(events, whole(hooked)[0], lambda: of_cluster(*hooked))
                    self.compare(expected, got)


def begin_cluster(stack, agent):
    """Two nodes: the first has the upper half of the slots, the second never the agent."""
    ports = free_port(), free_port()
    nodes = [
        stack.enter_context(
            Server("--cluster-enabled", "yes", "--cluster-port", str(port), *DEBUG, agent=agent and port == ports[0])
        )
        for port in ports
    ]
    for node, slots in zip(nodes, ((8192, 16383), (0, 8191))):
        node.client().do("CLUSTER", "ADDSLOTSRANGE", *slots)
    nodes[0].client().do("CLUSTER", "MEET", "127.0.0.1", nodes[1].port, ports[1])
    return nodes


def whole(nodes):
    """The nodes, once they answer."""
    for node in nodes:
        is_whole = b"cluster_state:ok\r\ncluster_slots_assigned:16384"
        until(lambda: is_whole in node.client().do("CLUSTER", "INFO"), "the cluster is whole")
    return nodes


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
