"""What the agent for Redis promises, each promise a test with a real server: its events are what the client did, it
tells no secret, and it goes where it is not wanted. Not here: test_replies.py and test_attach.py."""

import itertools
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
from collections import Counter

from load import Load
from redis_server import LAUNCH, LIBRARY, LIFECYCLE, LITE, Recording, Server, command, free_port, tls_files, until

# Of every kind; all replies are the same whenever and wherever they are executed.
COMMANDS = [
    ("SET", "string", "one"), ("GET", "string"), ("APPEND", "string", "two"), ("GETRANGE", "string", 0, -1),
    ("INCRBY", "number", 41), ("GET", "absent"), ("MSET", "a", 1, "b", 2), ("MGET", "a", "b", "c"),
    ("RPUSH", "list", 1, 2, 3), ("LRANGE", "list", 0, -1), ("LPOP", "list"), ("BLPOP", "list", 1),
    ("HSET", "hash", "field", "value", "other", "value"), ("HGET", "hash", "field"), ("HLEN", "hash"),
    ("SADD", "set", "member"), ("SMEMBERS", "set"), ("ZADD", "sorted", 1, "one"), ("ZRANGE", "sorted", 0, -1),
    ("XADD", "stream", "1-1", "field", "value"), ("XRANGE", "stream", "-", "+"),
    ("XGROUP", "CREATE", "stream", "group", "0"), ("XREADGROUP", "GROUP", "group", "me", "STREAMS", "stream", ">"),
    ("EVAL", "redis.call('set', KEYS[1], ARGV[1]); return redis.call('get', KEYS[1])", 1, "scripted", "value"),
    ("EVAL", "return redis.pcall('lpush', 'string', 'x')", 0),
    ("MULTI",), ("SET", "queued", 1), ("INCR", "queued"), ("EXEC",), ("MULTI",), ("DISCARD",),
    ("OBJECT", "ENCODING", "number"), ("NOSUCHCOMMAND", "argument"), ("GET",), ("LPUSH", "string", "wrong"),
    ("SUBSCRIBE", "channel"), ("PING",), ("UNSUBSCRIBE", "channel"), ("BLPOP", "nothing", "0.02"),
    ("DEL", "string", "number"), ("RENAME", "absent", "x"), ("EXPIRE", "list", 100), ("ECHO", "text"),
    ("SET", "big", "x" * 100_000), ("GET", "big"), ("RESET",), ("QUIT",),
]  # fmt: skip

BUSY_5_MS = """
local function now() local t = redis.call('TIME'); return t[1] * 1000 + t[2] / 1000 end
local begin = now()
repeat until now() - begin > 5
"""

BUSY_1500_MS = BUSY_5_MS.replace("> 5", "> 1500")


class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().settle()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stderr() == "", cls.server.stderr()
        assert cls.server.stop() == 0

    def test_lite_tells_what_the_client_did(self):
        early = self.server.client()
        early.do("PING")
        before = early.sent, early.received
        with Recording(self.server, *LITE) as recording:
            client = self.server.client()
            did = Counter()
            for words in COMMANDS[:-1]:
                client.do(*words)
                name = words[0].lower()
                name += "|" + words[1].lower() if name in ("object", "xgroup") else ""
                did["?" if name == "nosuchcommand" else name] += 1
            early.do("GET", "a")
        batches = recording.batches(client)
        self.assertEqual(did, Counter(name for batch in batches for name in batch.names))
        self.assertEqual(client.sent, sum(batch.bytes_read for batch in batches))
        self.assertEqual(client.received, sum(batch.bytes_written for batch in batches))
        for batch in batches:
            self.assertEqual((batch.ended_by, batch.unit_ns), (0, 1), batch)
            self.assertEqual(batch.read_thread, self.server.pid)
            self.assertLessEqual(batch.read_end, batch.start[0])
            self.assertLessEqual(batch.start[0] + batch.duration[0], batch.write_start)
            self.assertLessEqual(batch.write_start, batch.ended)
        # A connection that was there before the recording.
        (batch,) = recording.batches(early)
        self.assertEqual(batch.names, ["get"])
        self.assertEqual(
            (batch.bytes_read, batch.bytes_written), (early.sent - before[0], early.received - before[1])
        )
        self.assertEqual(recording.bytes_before(client), 0)
        self.assertEqual(recording.bytes_before(early), before[0])

    def test_lite_shows_pipelines_split_values_and_waiting(self):
        with Recording(self.server, *LITE) as recording:
            clients = [self.server.client() for _ in range(6)]
            piped, long_piped, split, short_wait, long_wait, silent = clients
            piped.send(command("SET", "p", 1) + command("INCR", "p") * 15)
            long_piped.send(command("PING") * 70)
            for count, client in ((16, piped), (70, long_piped)):
                [client.reply() for _ in range(count)]
            big = command("SET", "big", "x" * 300_000)
            split.send(big[:100_000])
            time.sleep(0.1)
            split.send(big[100_000:])
            split.reply()
            self.assertEqual(short_wait.do("BLPOP", "nothing", "0.3"), b"*-1")
            silent.send(command("CLIENT", "REPLY", "OFF"))
            silent.send(command("SET", "silent", 1))
            long_wait.send(command("BLPOP", "there", 10))
            time.sleep(1.6)
            piped.do("RPUSH", "there", "value")
            self.assertEqual(long_wait.reply(), [b"there", b"value"])
        batches = recording.batches(piped)
        self.assertEqual([batch.names for batch in batches], [["set"] + ["incr"] * 15, ["rpush"]])
        batch = batches[0]
        for i in range(15):
            self.assertEqual(batch.start[i] + batch.duration[i], batch.start[i + 1])
        batches = recording.batches(long_piped)
        self.assertEqual([len(batch.names) for batch in batches], [32, 32, 6])
        self.assertEqual([batch.ended_by for batch in batches], [1, 1, 0])
        self.assertEqual(sum(batch.bytes_read for batch in batches), long_piped.sent)
        self.assertEqual([batch.bytes_written for batch in batches], [0, 0, long_piped.received])
        (batch,) = recording.batches(split)
        self.assertEqual((batch.names, batch.bytes_read), (["set"], len(big)))
        self.assertGreater(batch.start[0], 90_000_000)
        (batch,) = recording.batches(short_wait)
        self.assertEqual(batch.names, ["blpop"])
        self.assertLess(batch.start[0] + batch.duration[0], 200_000_000)
        self.assertGreater(batch.write_start, 290_000_000)
        waiting, served = recording.batches(long_wait)
        self.assertEqual((waiting.names, waiting.ended_by, waiting.bytes_written), (["blpop"], 2, 0))
        self.assertEqual((served.names, served.ended_by, served.bytes_read), ([], 0, 0))
        self.assertEqual((served.read_thread, served.bytes_written), (0, long_wait.received))
        self.assertGreater(served.time_ns - waiting.time_ns + waiting.ended, 1_500_000_000)
        batches = recording.batches(silent)
        self.assertEqual([name for batch in batches for name in batch.names], ["client|reply", "set"])
        self.assertEqual(sum(batch.bytes_read for batch in batches), silent.sent)

    def test_commands_that_are_put_off_are_told_once(self):
        with Recording(self.server, *LITE) as recording:
            alone, piped, leaving, pausing = (self.server.client() for _ in range(4))
            pausing.do("CLIENT", "PAUSE", 1300, "WRITE")
            alone.send(command("SET", "put", "off"))
            piped.send(command("GET", "put") + command("SET", "put", "off") * 2)
            self.assertEqual(piped.reply(), b"$-1")
            leaving.send(command("SET", "put", "never"))
            time.sleep(0.1)
            leaving.close()
            self.assertEqual([alone.reply(), piped.reply(), piped.reply()], [b"+OK"] * 3)
            pausing.do("DEL", "put")
        (batch,) = recording.batches(alone)
        self.assertEqual((batch.names, batch.ended_by, batch.bytes_read), (["set"], 0, alone.sent))
        self.assertEqual(batch.bytes_written, alone.received)
        self.assertGreater(batch.start[0], 1_000_000_000)
        self.assertLess(batch.duration[0], 300_000_000)
        batches = recording.batches(piped)
        self.assertEqual([batch.names for batch in batches], [["get"], ["set", "set"]])
        self.assertEqual([batch.ended_by for batch in batches], [0, 0])
        self.assertEqual(sum(batch.bytes_read for batch in batches), piped.sent)
        self.assertEqual(sum(batch.bytes_written for batch in batches), piped.received)
        self.assertGreater(batches[1].start[0], 1_000_000_000)
        (batch,) = recording.batches(leaving)
        self.assertEqual((batch.names, batch.ended_by, batch.bytes_read), ([], 3, leaving.sent))

    def test_a_script_during_which_others_are_served_is_told(self):
        self.server.client().do("CONFIG", "SET", "busy-reply-threshold", "50")
        with Recording(self.server, *LITE) as recording:
            alone, piped, other = (self.server.client() for _ in range(3))
            # Longer than the agent waits for replies.
            for busy, before in (alone, b""), (piped, command("SET", "a", 1)):
                busy.send(before + command("EVAL", BUSY_1500_MS, 0))
                time.sleep(0.2)
                self.assertTrue(other.do("GET", "a").startswith(b"-BUSY"))
                self.assertEqual([busy.reply() for _ in range(2 if before else 1)][-1], b"$-1")
        self.server.client().do("CONFIG", "SET", "busy-reply-threshold", "5000")
        self.assertEqual([batch.names for batch in recording.batches(other)], [["get"]] * 2)
        for busy, names in (alone, ["eval"]), (piped, ["set", "eval"]):
            (batch,) = recording.batches(busy)
            self.assertEqual((batch.names, batch.ended_by, batch.bytes_read), (names, 0, busy.sent))
            self.assertEqual(batch.bytes_written, busy.received)
            self.assertGreater(batch.duration[-1], 1_400_000_000)

    def test_the_life_cycle_agrees_with_the_client(self):
        with Recording(self.server, *LIFECYCLE, "client_address") as recording:
            client = self.server.client()
            for words in COMMANDS[:-2]:
                client.do(*words)
        client_id = recording.client_id(client)
        mine = [e for e in recording.named(*LIFECYCLE) if e.client_id == client_id]
        self.assertEqual(sum(max(e.bytes, 0) for e in mine if e.name == "end_read_client_query"), client.sent)
        self.assertEqual(sum(e.bytes for e in mine if e.name == "write_to_client_end"), client.received)
        open_pairs = []
        for event in mine:
            if "start" in event.name:
                open_pairs.append(event.name.replace("start", "end"))
            else:
                self.assertEqual(event.name, open_pairs.pop())
        self.assertEqual(open_pairs, [])
        called = Counter(e.fields["command"] for e in mine if e.name == "call_command_start")
        self.assertEqual((called["set"], called["blpop"], called["eval"], called["exec"]), (3, 2, 2, 1))
        # What scripts call, their client without a connection does.
        scripted = [e for e in recording.named("call_command_start") if e.fd == -1]
        self.assertEqual([e.fields["command"] for e in scripted], ["set", "get", "lpush"])
        memory = [e.memory for e in mine if e.name == "end_read_client_query" and e.bytes > 0]
        self.assertTrue(all(1000 < bytes_used < 10_000_000 for bytes_used in memory), memory)

    def test_full_tells_the_event_loop_and_freed_clients(self):
        with Recording(self.server) as recording:
            client = self.server.client()
            client.do("PING")
            client.close()
            until(lambda: self.server.client().do("CLIENT", "LIST").count(b"\n") <= 2, "the client is gone")
            time.sleep(0.1)
        number = recording.client_id(client)
        of_client = [e.name for e in recording.events if e.fields.get("client_id") == number]
        # Told when the wait for the client's next request was long, or when it was freed.
        of_client.remove("batch")
        # Told first, and again now and then.
        self.assertEqual(of_client[0], "client_address")
        of_client[1:] = [name for name in of_client[1:] if name != "client_address"]
        self.assertEqual(
            of_client,
            ["client_address", "start_read_client_query", "start_process_command", "call_command_start",
             "insert_clientwrite_queue", "call_command_end", "end_process_command", "end_read_client_query",
             "write_to_client_start", "write_to_client_end", "start_read_client_query", "free_client",
             "end_read_client_query"],
        )  # fmt: skip
        self.assertEqual(recording.of_connection(client, "delete_file_event")[0].mask, 3)
        self.assertIn(1, {e.mask for e in recording.named("add_file_event")})
        for before, after in (("before_sleep_start", "before_sleep_end"),
                              ("handleClientsWithPendingReadsUsingThreads_start",
                               "handleClientsWithPendingReadsUsingThreads_end")):  # fmt: skip
            names = [e.name for e in recording.named(before, after)][:2]
            self.assertEqual(names, [before, after])

    def test_a_session_that_comes_while_another_goes_on_is_told_names_and_addresses(self):
        client = self.server.client()
        with Recording(self.server, *LITE):
            client.do("GET", "a")
            second = Recording(self.server, *LITE)
            second.start()
            self.server.turn()
            client.do("GET", "a")
            self.server.turn()
            second.stop()
        second.events = second.read(self.server.pid)
        (batch,) = second.batches(client)
        self.assertEqual(batch.names, ["get"])

    def test_names_and_addresses_are_told_again_soon_as_the_first_may_reach_nobody(self):
        client = self.server.client()
        with Recording(self.server, *LITE) as recording:
            for _ in range(20):
                client.do("GET", "a")
                time.sleep(0.05)
        addresses = [e for e in recording.named("client_address") if e.peer_port == client.port]
        names = [e for e in recording.named("command_name") if e.fields["command"] == "get"]
        for told in (addresses, names):
            self.assertGreaterEqual(len(told), 2)
            self.assertLess(len(told), 8)

    def test_switched_on_and_off_under_load(self):
        with Load(self.server) as load:
            for turn in range(6):
                with Recording(self.server, *(LITE if turn % 2 else ("*",))) as recording:
                    load.goes_on(20)
                self.assertGreater(len(recording.batches(load.client)), 20, f"turn {turn}")

    def test_saving_and_rewriting_succeed_while_recorded(self):
        client = self.server.client()
        self.assertEqual(client.do("CONFIG", "SET", "appendonly", "yes"), b"+OK")
        with Recording(self.server), Load(self.server):
            until(lambda: b"aof_rewrite_in_progress:0" in client.do("INFO", "persistence"), "the first rewrite")
            for start, field in (("BGSAVE", b"rdb_bgsave_in_progress:0"),
                                 ("BGREWRITEAOF", b"aof_rewrite_in_progress:0")):  # fmt: skip
                self.assertTrue(client.do(start).startswith(b"+Background"))
                until(lambda: field in client.do("INFO", "persistence"), start)
            said = client.do("INFO", "persistence")
        self.assertIn(b"rdb_last_bgsave_status:ok", said)
        self.assertIn(b"aof_last_bgrewrite_status:ok", said)
        checked = subprocess.run(
            ["redis-check-rdb", os.path.join(self.server.folder, "dump.rdb")], capture_output=True, text=True
        )
        self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_no_secret_is_in_the_trace(self):
        with Recording(self.server) as recording:
            client = self.server.client()
            for i in range(3):
                client.do("SET", "SECRET-key", "SECRET-value" * 100)
                client.do("HSET", "SECRET-hash", "SECRET-field", "SECRET-value")
                client.do("SECRET-command", "SECRET-argument")
                client.do("AUTH", "SECRET-user", "SECRET-password")
                client.do("CONFIG", "GET", "SECRET-setting")
                client.do("EVAL", "return 'SECRET-script'", 0)
                client.do("PUBLISH", "SECRET-channel", "SECRET-message")
                client.do("CLIENT", "SETNAME", "SECRET-name")
        self.assertGreater(len(recording.events), 50)
        found = subprocess.run(["grep", "-rlia", "SECRET", recording.folder], capture_output=True, text=True)
        self.assertEqual(found.stdout, "")


class OtherServers(unittest.TestCase):
    def test_io_threads_are_told(self):
        with Server("--io-threads", "3", "--io-threads-do-reads", "yes") as server:
            server.settle()
            with Recording(server, *LITE, "read_postponed") as recording:
                clients, busy = [server.client() for _ in range(8)], server.client()
                bursts = 0

                def burst():
                    """Requests in one turn set the threads to work, values that come in parts keep them."""
                    nonlocal bursts
                    bursts += 1
                    busy.send(command("EVAL", BUSY_5_MS, 0))
                    big = [command("SET", client.port, "x" * 100_000) for client in clients]
                    for client in clients:
                        client.send(command("GET", client.port))
                    replies = [client.reply() for client in clients]
                    self.assertTrue(all(reply in (b"$-1", b"x" * 100_000) for reply in replies))
                    for part in (slice(0, 50_000), slice(50_000, None)):
                        for client, words in zip(clients, big):
                            client.send(words[part])
                    self.assertEqual([client.reply() for client in clients], [b"+OK"] * len(clients))
                    busy.reply()
                    return re.search(rb"io_threaded_reads_processed:\d{3}", busy.do("INFO", "stats"))

                until(burst, "I/O threads have read")
            readers, writers = set(), set()
            for client in clients:
                batches = recording.batches(client)
                self.assertEqual(sum(batch.bytes_read for batch in batches), client.sent)
                self.assertEqual(sum(batch.bytes_written for batch in batches), client.received)
                self.assertEqual(sum(len(batch.names) for batch in batches), 2 * bursts)
                self.assertEqual(batches, sorted(batches, key=lambda batch: batch.time_ns))
                readers |= {batch.read_thread for batch in batches}
                writers |= {batch.write_thread for batch in batches}
            self.assertGreater(len(readers), 1, "I/O threads have read")
            self.assertGreater(len(writers), 1, "I/O threads have written")
            self.assertTrue(recording.named("read_postponed"))

    @unittest.skipUnless(shutil.which("openssl"), "openssl is missing")
    def test_bytes_of_tls_connections_are_those_of_the_client(self):
        with tempfile.TemporaryDirectory() as folder:
            context, options = tls_files(folder)
            with Server(*options, "--io-threads", "3", "--io-threads-do-reads", "yes",
                        port_option="--tls-port") as server:  # fmt: skip
                server.tls = context
                server.settle()
                early = server.client()
                early.do("PING")
                with Recording(server) as recording:
                    client = server.client()
                    for size in (1, 1000, 200_000):
                        client.do("SET", "key", "x" * size)
                        self.assertEqual(len(client.do("GET", "key")), size)
                    early.do("PING")
                self.assertEqual(recording.bytes_before(client), 0)
                self.assertEqual(recording.bytes_before(early), -1, "the kernel counts what is encrypted")
                batches = recording.batches(client)
                self.assertEqual(sum(batch.bytes_read for batch in batches), client.sent)
                self.assertEqual(sum(batch.bytes_written for batch in batches), client.received)
                reads = recording.of_connection(client, "ssl_read")
                self.assertEqual(sum(max(e.got, 0) for e in reads), client.sent)
                self.assertTrue(all(e.asked >= e.got for e in reads))

    def test_messages_of_a_cluster_are_told(self):
        cluster = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port")
        ports = free_port(), free_port()
        with Server(*cluster, str(ports[0])) as one, Server(*cluster, str(ports[1])) as two:
            one.settle()
            with Recording(one) as recording:
                client = one.client()
                client.do("CLUSTER", "MEET", "127.0.0.1", two.port, ports[1])
                until(lambda: b"cluster_known_nodes:2" in client.do("CLUSTER", "INFO"), "the nodes have met")
                until(lambda: len(one.client().do("CLUSTER", "LINKS")) == 2, "both links")
                before = client.do("CLUSTER", "INFO")
                for _ in range(5):
                    client.do("PUBLISH", "channel", "x" * 10_000)
                time.sleep(0.2)
            self.assertIn(b"known_nodes:2", before)
            published = [e for e in recording.named("broadcast_start") if e.type == 4]
            self.assertEqual(len(published), 5)
            sent = [e for e in recording.named("cluster_send") if e.type == 4]
            self.assertEqual([e.bytes for e in sent], [e.bytes for e in published])
            self.assertTrue(all(e.bytes > 10_000 and e.fd >= 0 for e in sent), sent)
            self.assertEqual({e.payload for e in published + sent}, {10_000})
            self.assertEqual({e.payload for e in recording.named("cluster_send") if e.type < 2}, {-1})
            received = recording.named("cluster_process_packet")
            self.assertTrue({0, 1} & {e.type for e in received}, received)
            read = sum(max(e.bytes, 0) for e in recording.named("cluster_read"))
            self.assertLessEqual(sum(e.bytes for e in received), read)
            # Every link that carried a message: one end is this node's, of one of the two that connect both.
            links = {e.fd: (e.peer_address, e.peer_port, e.own_port) for e in recording.named("bus_address")}
            self.assertEqual({e.fd for e in received} | {e.fd for e in sent} - {-1}, set(links))
            self.assertEqual({address for address, _, _ in links.values()}, {"127.0.0.1"})
            self.assertTrue(all(ports[1] == peer or ports[0] == own for _, peer, own in links.values()), links)

    def test_what_a_primary_sends_is_told_at_once_and_wants_no_reply(self):
        with Server(agent=False) as primary, Server() as replica:
            replica.settle()
            client = replica.client()
            client.do("REPLICAOF", "127.0.0.1", primary.port)
            is_up = lambda: b"master_link_status:up" in client.do("INFO", "replication")
            until(is_up, "the replica follows")
            writer = primary.client()
            with Recording(replica, *LITE) as recording:
                for number in range(50):
                    writer.do("SET", "key", number)
                until(lambda: client.do("GET", "key") == b"49", "all has come")
                # Whatever has not been told by then is lost: no second passes.
                replica.turn()
                recording.stop()
                recording.stop = lambda: None
            links = {e.client_id for e in recording.named("client_address") if e.outgoing}
            clients = {e.own_port for e in recording.named("client_address") if not e.outgoing}
            self.assertEqual((len(links), clients), (1, {replica.port}))
            names = {e.number: e.fields["command"] for e in recording.named("command_name")}
            batches = [e for e in recording.named("batch") if e.client_id in links and e.fields["command"]]
            told = Counter(names[number] for batch in batches for number in batch.fields["command"])
            self.assertEqual(told["set"], 50)
            for batch in batches:
                # Where the replica had to wait for a processor, so much has come at once that a batch is full,
                # of which the next command tells, if there is one.
                is_full = len(batch.fields["command"]) == 32
                self.assertIn(batch.ended_by, (1, 4) if is_full else (4,), batch)
                self.assertEqual(batch.bytes_written, 0, batch)
                self.assertLess(batch.ended, 500_000_000)
            # The link comes again, as the client that it was.
            replicas = lambda: re.findall(rb"\bid=(\d+)", writer.do("CLIENT", "LIST", "TYPE", "REPLICA"))
            lost = replicas()
            writer.do("CLIENT", "KILL", "TYPE", "REPLICA")
            until(lambda: replicas() not in (lost, []) and is_up(), "the link is lost and comes again")
            with Recording(replica, "*") as recording:
                writer.do("SET", "key", "again")
                until(lambda: client.do("GET", "key") == b"again", "it has come")
            again = {e.client_id for e in recording.named("client_address") if e.outgoing}
            self.assertEqual(again, links)

    def test_what_a_replica_acknowledges_has_no_reply(self):
        """Neither of one that was there before, nor of one that comes meanwhile, whose handshake is answered."""
        with Server("--repl-diskless-sync-delay", "0") as primary, Server(agent=False) as earlier, \
                Server(agent=False) as second, Server(agent=False) as third:  # fmt: skip
            primary.settle()

            def follow(replica):
                client = replica.client()
                client.do("REPLICAOF", "127.0.0.1", primary.port)
                until(lambda: b"master_link_status:up" in client.do("INFO", "replication"), "the replica follows")

            follow(earlier)
            writer = primary.client()
            with Recording(primary, *LITE) as recording:
                # They are ready, and acknowledge within a second that nothing has come.
                follow(second)
                time.sleep(1.2)
                follow(third)
                time.sleep(1.2)
                for number in range(8):
                    writer.do("SET", "key", number)
                    time.sleep(0.4)
            names = {e.number: e.fields["command"] for e in recording.named("command_name")}
            told = {}
            for batch in recording.named("batch"):
                for number in batch.fields["command"]:
                    told.setdefault(batch.client_id, []).append((names[number], batch))
            acknowledged = []
            for of_client in told.values():
                commands = [name for name, _ in of_client]
                handshake = commands.index("psync") if "psync" in commands else 0
                if "replconf" in commands:
                    acknowledged += [batch for _, batch in of_client[handshake:]]
                    answered = [batch.ended_by for _, batch in of_client[:handshake]]
                    self.assertEqual(set(answered), {0} if handshake else set(), of_client)
            self.assertGreater(len({batch.client_id for batch in acknowledged}), 1)
            for batch in acknowledged:
                self.assertEqual((batch.ended_by, batch.bytes_written), (4, 0), batch)
                self.assertLess(batch.ended, 200_000_000)

    def test_who_only_began_like_a_replica_is_answered(self):
        """A client that says REPLCONF, or whose PSYNC is refused, and then asks as any other."""
        with Server() as server:
            server.settle()
            with Recording(server, *LITE) as recording:
                for begin in ("REPLCONF", "listening-port", "1"), ("PSYNC", "?"):
                    client = server.client()
                    client.do(*begin)
                    for number in range(3):
                        self.assertEqual(client.do("SET", "key", number), b"+OK")
        names = {e.number: e.fields["command"] for e in recording.named("command_name")}
        told = [batch for batch in recording.named("batch") if "set" in (names[one] for one in batch.fields["command"])]
        self.assertEqual([(batch.ended_by, batch.bytes_written) for batch in told], [(0, len("+OK\r\n"))] * 6)

    def test_a_daemon_is_recorded_too(self):
        folder = tempfile.mkdtemp(prefix="slowpath-redis-")
        port, pidfile = free_port(), os.path.join(folder, "pid")
        subprocess.run(
            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "",
             "--daemonize", "yes", "--pidfile", pidfile],
            env=dict(os.environ, LD_PRELOAD=LAUNCH, LTTNG_UST_ALLOW_BLOCKING="1"), check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        server = Server.__new__(Server)
        server.port = port
        server.pid = int(until(lambda: os.path.exists(pidfile) and open(pidfile).read(), "the daemon runs"))
        try:
            until(server._listens, "the daemon accepts connections")
            server.settle()
            with Recording(server, *LITE) as recording:
                client = server.client()
                client.do("PING")
            self.assertEqual([batch.names for batch in recording.batches(client)], [["ping"]])
        finally:
            os.kill(server.pid, 15)
            until(lambda: not os.path.exists(pidfile), "the daemon ends")

    def test_a_password_does_not_keep_the_agent_from_learning(self):
        with Server("--requirepass", "secret") as server:
            server.settle()
            with Recording(server, *LITE) as recording:
                client = server.client()
                client.do("AUTH", "secret")
            self.assertEqual([batch.names for batch in recording.batches(client)], [["auth"]])


class SlowClient:
    """Sends one value over five seconds, beside the other tests (setUpModule)."""

    def __init__(self):
        self.server = Server().settle()
        self.recording = Recording(self.server, *LITE).__enter__()
        self.client = self.server.client()
        self.thread = threading.Thread(target=self._send)
        self.thread.start()

    def _send(self):
        words = command("SET", "slow", "x" * 10_000)
        for part in range(11):
            self.client.send(words[part * 1000 : (part + 1) * 1000])
            time.sleep(0.48 if part < 10 else 0)
        self.client.reply()


def setUpModule():
    global slow_client
    slow_client = SlowClient()


def tearDownModule():
    assert slow_client.server.stop() == 0


class SlowBatches(unittest.TestCase):
    def test_a_batch_of_more_than_four_seconds_has_a_coarser_unit(self):
        slow_client.thread.join()
        slow_client.recording.__exit__(None, None, None)
        (batch,) = slow_client.recording.batches(slow_client.client)
        self.assertEqual((batch.names, batch.unit_ns, batch.ended_by), (["set"], 1000, 0))
        self.assertEqual(batch.bytes_read, slow_client.client.sent)
        self.assertGreater(batch.start[0], 4_700_000)
        self.assertLess(batch.start[0] + batch.duration[0], 60_000_000)


class Refusals(unittest.TestCase):
    def refused(self, server, why):
        said = server.stderr()
        self.assertEqual(said.count("is not traced"), 1, said)
        self.assertIn(why, said)
        self.assertIn("hint:", said)
        self.assertEqual(server.client().do("SET", "key", "value"), b"+OK")
        self.assertEqual(server.changed_code(), 0)

    def test_a_program_that_is_no_redis_runs_as_ever(self):
        for library, name in itertools.product((LIBRARY, LAUNCH), ("sh", "redis-server")):
            says_why = name == "redis-server"
            run = subprocess.run(
                [name, "-c", "echo works"], executable="/bin/sh", env=dict(os.environ, LD_PRELOAD=library),
                capture_output=True, text=True,
            )
            self.assertEqual((run.returncode, run.stdout), (0, "works\n"))
            why = "is not traced: the program exports no function readQueryFromClient"
            self.assertEqual(why in run.stderr, says_why, run.stderr)
            self.assertEqual(run.stderr != "", says_why)

    def test_an_agent_that_cannot_be_loaded_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(LAUNCH, folder)
            run = subprocess.run(
                ["redis-server", "--version"], env=dict(os.environ, LD_PRELOAD=alone), capture_output=True, text=True
            )
            self.assertEqual(run.returncode, 0)
            self.assertIn("is not traced: " + os.path.join(folder, os.path.basename(LIBRARY)), run.stderr)
    def test_a_shell_outlives_sessions_that_begin_meanwhile(self):
        # It closes ends of pipes twice, which LTTng's descriptors in the same process would not survive.
        pipelines = "while [ ! -e end ]; do echo x | cat | cat >/dev/null; done; grep lttng /proc/$$/maps"
        with tempfile.TemporaryDirectory() as folder, Server() as server:
            server.settle()
            shell = subprocess.Popen(
                ["bash", "-c", pipelines], cwd=folder, env=dict(os.environ, LD_PRELOAD=LAUNCH),
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            for _ in range(3):
                with Recording(server, *LITE):
                    pass
            open(os.path.join(folder, "end"), "w").close()
            said, _ = shell.communicate(timeout=20)
            self.assertEqual((shell.returncode, said), (1, ""))

    def test_a_build_without_one_of_the_functions_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            changed = os.path.join(folder, "redis-server")
            program = open(shutil.which("redis-server"), "rb").read()
            with open(changed, "wb") as file:
                file.write(program.replace(b"\0postponeClientRead\0", b"\0postponedClientRea\0"))
            os.chmod(changed, 0o755)
            with Server(program=changed) as server:
                self.refused(server, "exports no function postponeClientRead")

    def test_a_server_that_does_not_answer_as_expected_is_left_alone(self):
        with Server("--rename-command", "CLIENT", "KUNDE") as server:
            until(server.stderr, "the reason")
            self.refused(server, "the command of a client was not found")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
