"""What slowpath-redis-attach promises: a server under load loses no reply when the agent comes and goes, also while
it is recorded, nor when the recorder dies; and what cannot be attached to is left alone."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

from load import EVERY_KIND, Load
from redis_server import ATTACH, LITE, Recording, Server, ask, attach, change_code, until

# Traces a process, without stopping it, until its own input ends.
DEBUGGER = """import ctypes, sys
print(ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None), flush=True)
sys.stdin.read()"""
IO_THREADS = ("--io-threads", "2", "--io-threads-do-reads", "yes")


class Attaching(unittest.TestCase):
    def come_and_go(self, server, load, rounds, is_recorded):
        """Milliseconds that the server stood still for each."""
        stalls = []
        for _ in range(rounds):
            stalls.append(attach(server))
            if is_recorded:
                until(lambda: server.changed_code() > 0, "the agent has noticed the recording")
            load.goes_on()
            stalls.append(attach(server, "--detach"))
            self.assertEqual(server.changed_code(), 0)
            load.goes_on()
        return stalls

    def come_and_go_while_recorded(self, server, load, rounds, *events):
        recording = Recording(server, *events)
        recording.start()
        stalls = self.come_and_go(server, load, rounds, is_recorded=True)
        recording.stop()
        recording.events = recording.read(server.pid)
        self.assertGreater(len(recording.batches(load.client)), rounds)
        return stalls

    def under_load(self, rounds, *options):
        """A third of the rounds without a recording, and with one of level lite, of level full."""
        with Server(*options, agent=False, blocking=False) as server, Load(server, *EVERY_KIND) as load:
            stalls = self.come_and_go(server, load, rounds - 2 * (rounds // 3), is_recorded=False)
            for events in (LITE, ("*",)):
                stalls += self.come_and_go_while_recorded(server, load, rounds // 3, *events)
            self.assertEqual(server.stderr(), "")
        self.assertEqual(len(stalls), 2 * rounds)
        print(f"stood still for at most {max(stalls):.1f} ms, clients waited for at most {load.longest_ms:.1f} ms ",
              end="", flush=True)  # fmt: skip

    def test_a_running_server_is_attached_to_and_left_a_hundred_times_under_load(self):
        self.under_load(100)

    def test_a_running_server_with_io_threads_is_attached_to_and_left_under_load(self):
        self.under_load(15, *IO_THREADS)

    def test_a_server_whose_code_was_changed_is_left_alone(self):
        with Server(agent=False) as server:
            change_code(server, "postponeClientRead")
            said = subprocess.run([ATTACH, str(server.pid)], capture_output=True, text=True)
            self.assertEqual(said.returncode, 1)
            self.assertIn("is not what the program's file says", said.stderr)
            self.assertEqual(server.client().do("PING"), b"+PONG")

    def test_who_attaches_is_told_whether_somebody_else_has(self):
        with Server(agent=False) as server:
            for _ in range(2):
                attach(server)
                again = subprocess.run([ATTACH, str(server.pid)], capture_output=True, text=True, check=True)
                self.assertEqual(again.stdout, f"the agent is in process {server.pid} already\n")
                attach(server, "--detach")

    def test_it_leaves_when_nobody_records_the_server_any_more(self):
        with Server(agent=False) as server:
            attach(server)
            until(lambda: ask(server) == "idle", "the agent has learned")
            with Recording(server, *LITE) as recording:
                self.assertEqual(ask(server), "recorded")
                said = subprocess.run([ATTACH, "--detach-when-idle", str(server.pid)], capture_output=True, text=True,
                                      check=True)  # fmt: skip
                self.assertIn("leaves it when no session records it any more", said.stdout)
                client = server.client()
                client.do("GET", "key")
                client.close()
            self.assertIn("get", [name for batch in recording.batches(client) for name in batch.names])
            until(lambda: ask(server) == "away", "it has left")

            # Who comes meanwhile keeps it.
            attach(server)
            with Recording(server, *LITE):
                subprocess.run([ATTACH, "--detach-when-idle", str(server.pid)], capture_output=True, check=True)
                subprocess.run([ATTACH, str(server.pid)], capture_output=True, check=True)
            until(lambda: ask(server) == "idle", "it stays")
            attach(server, "--detach-when-idle")
            self.assertEqual(ask(server), "away")

    def test_several_recordings_ask_for_one_server_at_once(self):
        with Server(agent=False) as server:
            attach(server)
            question = [ATTACH, "--status", str(server.pid)]
            for _ in range(50):
                askers = [subprocess.Popen(question, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                          for _ in range(4)]  # fmt: skip
                for asker in askers:
                    said, complaint = asker.communicate()
                    self.assertIn(said, ("learning\n", "idle\n"), complaint)

    def test_whom_a_debugger_holds_is_told(self):
        with Server(agent=False) as server:
            with subprocess.Popen([sys.executable, "-c", DEBUGGER, str(server.pid)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE) as debugger:  # fmt: skip
                self.assertEqual(debugger.stdout.readline(), b"0\n")
                said = subprocess.run([ATTACH, "--status", str(server.pid)], capture_output=True, text=True)
            self.assertIn(f"process {server.pid} is traced by process {debugger.pid}\n", said.stderr)
            attach(server)

    def test_a_server_is_recorded_by_a_session_daemon_that_is_slow(self):
        with Server(agent=False) as server:
            attach(server)
            until(lambda: ask(server) == "idle", "the agent has learned")
            until(lambda: f"PID: {server.pid} " in known_processes(), "LTTng knows the server")
            recording = Recording(server, "*")
            with slow_session_daemon():
                recording.start()
            server.turn()
            recording.stop()
            self.assertTrue(recording.read(server.pid))

    def test_what_somebody_else_changes_is_refused_as_long_as_it_lasts(self):
        with Server(agent=False) as server:
            before = change_code(server, "readQueryFromClient")
            said = subprocess.run([ATTACH, str(server.pid)], capture_output=True, text=True)
            self.assertEqual(said.returncode, 1)
            self.assertIn("another tracer has changed it", said.stderr)
            change_code(server, "readQueryFromClient", before)
            attach(server)
            until(lambda: ask(server) == "idle", "it has learned")
            self.assertEqual(server.client().do("PING"), b"+PONG")

    def test_what_cannot_be_attached_to_goes_on(self):
        with Server("--rename-command", "CLIENT", "KUNDE", agent=False) as server:
            attach(server)
            until(server.stderr, "the reason")
            said = subprocess.run([ATTACH, str(server.pid)], capture_output=True, text=True)
            self.assertEqual(said.returncode, 1)
            self.assertIn("is CLIENT renamed?", said.stderr)
            self.assertRegex(ask(server), "^refused: .*is CLIENT renamed?")
            self.assertEqual(server.client().do("PING"), b"+PONG")
        sleeper = subprocess.Popen(["sleep", "60"])
        said = subprocess.run([ATTACH, "--detach", str(sleeper.pid)], capture_output=True, text=True)
        self.assertEqual(said.returncode, 1)
        self.assertIn("is no redis-server", said.stderr)
        self.assertIsNone(sleeper.poll())
        sleeper.terminate()
        sleeper.wait(20)


def known_processes():
    """What the session daemon says of who could be recorded."""
    return subprocess.run(["lttng", "list", "--userspace"], check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def slow_session_daemon():
    """It stands still for 30 ms again and again, as on a busy machine."""
    daemon = int(open(os.path.join(os.environ["LTTNG_HOME"], "pid")).read())
    ended = threading.Event()

    def hinder():
        while not ended.wait(0.003):
            os.kill(daemon, signal.SIGSTOP)
            time.sleep(0.03)
            os.kill(daemon, signal.SIGCONT)

    hindrance = threading.Thread(target=hinder)
    hindrance.start()
    try:
        yield
    finally:
        ended.set()
        hindrance.join()


class Deaths(unittest.TestCase):
    """The last of this file, as it ends the session daemon of all."""

    def test_a_server_goes_on_when_the_session_daemon_is_killed_and_is_recorded_by_the_next(self):
        pidfile = os.path.join(os.environ["LTTNG_HOME"], "pid")
        with Server(blocking=False) as server, Load(server, *EVERY_KIND) as load:
            server.settle()
            Recording(server).__enter__()
            load.goes_on(10)
            os.kill(int(open(pidfile).read()), signal.SIGKILL)
            until(lambda: server.changed_code() == 0, "the agent notices that nobody records any more")
            load.goes_on(10)
            subprocess.run(["lttng-sessiond", "--no-kernel", "--daemonize", f"--pidfile={pidfile}"], check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
            until(lambda: f"PID: {server.pid} " in known_processes(), "the server finds the new daemon", 30)
            with Recording(server, *LITE) as recording:
                load.goes_on(10)
            self.assertGreater(len(recording.batches(load.client)), 5)
            self.assertEqual(server.stderr(), "")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
