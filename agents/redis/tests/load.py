"""Clients that keep a server busy and check every reply, while the tests do something to that server. Not a
benchmark: they pause after each round, not to fill the disk with events."""

import threading
import time

from redis_server import command, until


class Pipelines:
    """Writes a value and reads it three times, all sent at once."""

    def __init__(self, server):
        self.client = server.client()

    def round(self, number):
        value = b"%d" % number
        self.client.send(command("SET", "load", value) + command("GET", "load") * 3)
        replies = [self.client.reply() for _ in range(4)]
        assert replies == [b"+OK", value, value, value], replies


class BigValues:
    """Values larger than what the kernel takes at once, each of other bytes, sent in two parts."""

    def __init__(self, server):
        self.client = server.client()

    def round(self, number):
        value = (b"%d," % number) * 20_000
        words = command("SET", "big", value)
        for part in (slice(0, 30_000), slice(30_000, None)):
            self.client.send(words[part])
        assert self.client.reply() == b"+OK"
        assert self.client.do("GET", "big") == value


class Queue:
    """A client blocks until another pushes: each number once, in order."""

    def __init__(self, server):
        self.waiting, self.pushing = server.client(), server.client()

    def round(self, number):
        self.waiting.send(command("BLPOP", "queue", 0))
        assert self.pushing.do("RPUSH", "queue", number) == b":1"
        assert self.waiting.reply() == [b"queue", b"%d" % number]


class Channel:
    """A subscriber gets what another client publishes."""

    def __init__(self, server):
        self.subscriber, self.publisher = server.client(), server.client()
        self.subscriber.do("SUBSCRIBE", "news")

    def round(self, number):
        assert self.publisher.do("PUBLISH", "news", number) == b":1"
        assert self.subscriber.reply() == [b"message", b"news", b"%d" % number]


class Transactions:
    """A new connection each time, for a transaction and a script."""

    def __init__(self, server):
        self.server = server

    def round(self, number):
        client = self.server.client()
        script = ("EVAL", "return redis.call('INCRBY', KEYS[1], ARGV[1])", 1, "scripted", 2)
        for words in (("MULTI",), ("INCR", "counted"), script):
            client.send(command(*words))
        replies = [client.reply() for _ in range(3)] + [client.do("EXEC")]
        expected = [b"+OK", b"+QUEUED", b"+QUEUED", [b":%d" % number, b":%d" % (2 * number)]]
        assert replies == expected, replies
        client.close()


EVERY_KIND = (Pipelines, BigValues, Queue, Channel, Transactions)


class Worker:
    """One kind of rounds, in a thread of its own."""

    def __init__(self, kind, server):
        self.kind = kind(server)
        self.rounds, self.longest, self.error, self.on = 0, 0.0, None, True
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            while self.on:
                begin = time.monotonic()
                self.kind.round(self.rounds + 1)
                self.longest = max(self.longest, time.monotonic() - begin)
                self.rounds += 1
                time.sleep(0.001)
        except Exception as error:  # told by the test's own thread
            self.error = error

    def end(self):
        self.on = False
        self.thread.join(20)
        name = type(self.kind).__name__
        assert self.error is None, f"{name} after {self.rounds} rounds: {self.error!r}"
        assert self.rounds > 0 and not self.thread.is_alive(), f"{name} stands still"


class Load:
    """Runs while it is entered; leaving it fails where any reply was missing or wrong."""

    def __init__(self, server, *kinds):
        self.workers = [Worker(kind, server) for kind in kinds or (Pipelines,)]

    @property
    def client(self):
        """That of the first kind."""
        return self.workers[0].kind.client

    @property
    def rounds(self):
        """Those of the slowest."""
        return min(worker.rounds for worker in self.workers)

    def goes_on(self, rounds=1):
        """Waits until every client has done that many rounds more."""
        begin = self.rounds
        until(lambda: self.rounds >= begin + rounds, "the load goes on")

    @property
    def longest_ms(self):
        return 1000 * max(worker.longest for worker in self.workers)

    def __enter__(self):
        for worker in self.workers:
            worker.thread.start()
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            worker.on = False
        for worker in self.workers:
            worker.end()
