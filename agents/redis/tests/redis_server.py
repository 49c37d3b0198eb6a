"""A redis-server, a client that counts its bytes, and a recording, for test_agent.py. Not a Redis library:
the client knows just enough of the protocol to tell where a reply ends."""

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time

ATTACH = os.path.abspath("build/slowpath-redis-attach")
LIBRARY = os.path.abspath("build/libslowpath_redis.so")
# What loads it where that is wanted.
LAUNCH = os.path.abspath("build/libslowpath_redis_launch.so")


def until(condition, what, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {what}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Client:
    """A connection; `sent` and `received` are all its bytes."""

    def __init__(self, port, tls=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = self.socket.getsockname()[1]
        if tls:
            self.socket = tls.wrap_socket(self.socket)
        self.sent = self.received = 0
        self.buffer = self.taken = b""

    def send(self, data):
        self.socket.sendall(data)
        self.sent += len(data)

    def _fill(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError("the server closed the connection")
        self.received += len(data)
        self.buffer += data

    def _take(self, size):
        while len(self.buffer) < size:
            self._fill()
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        self.taken += data
        return data

    def _line(self):
        while b"\r\n" not in self.buffer:
            self._fill()
        return self._take(self.buffer.index(b"\r\n") + 2)[:-2]

    def reply(self):
        """A list, the bytes of a string, or the line of anything else."""
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind in b"$=!" and rest != b"-1":
            return self._take(int(rest) + 2)[:-2]
        if kind in b"*~>%" and rest != b"-1":
            return [self.reply() for _ in range(int(rest) * (2 if kind == b"%" else 1))]
        return line

    def raw_reply(self):
        """All its bytes; none where the server has closed the connection."""
        self.taken = b""
        try:
            self.reply()
        except EOFError:
            pass
        return self.taken

    def do(self, *words):
        self.send(command(*words))
        return self.reply()

    def close(self):
        self.socket.close()


def command(*words):
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


class Server:
    """A redis-server in a folder of its own, with the agent or without."""

    tls = None

    def __init__(self, *options, agent=True, blocking=True, program="redis-server", port_option="--port"):
        self.folder = tempfile.mkdtemp(prefix="slowpath-redis-")
        self.port = free_port()
        variables = dict(os.environ)
        if blocking:  # rather than lose events
            variables["LTTNG_UST_ALLOW_BLOCKING"] = "1"
        if agent:
            variables["LD_PRELOAD"] = LAUNCH
        self.said = open(os.path.join(self.folder, "stderr"), "w+")
        self.process = subprocess.Popen(
            [program, port_option, str(self.port), "--bind", "127.0.0.1", "--dir", self.folder, "--save", ""]
            + list(options),
            env=variables,
            stdout=subprocess.DEVNULL,
            stderr=self.said,
        )
        self.pid = self.process.pid
        until(self._listens, "redis-server accepts connections")

    def _listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def client(self):
        return Client(self.port, self.tls)

    def stderr(self):
        self.said.seek(0)
        return self.said.read()

    def changed_code(self):
        """How many pieces of its code are not the file's."""
        with open(f"/proc/{self.pid}/maps") as maps:
            return sum("slowpath-redis-code" in line for line in maps)

    def turn(self):
        """Has the event loop turn so often that the agent looks for recordings."""
        client = self.client()
        for _ in range(40):
            client.do("PING")
        client.close()

    def settle(self):
        """Waits until the agent has learned what it must."""
        self.turn()
        until(lambda: self.changed_code() == 0, "the agent has learned and left")
        return self

    def stop(self):
        """Ends it; its exit status, which for a healthy server is 0."""
        os.kill(self.pid, signal.SIGTERM)
        status = self.process.wait(20)
        self.said.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        status = self.stop()
        if kind is None and status:
            raise AssertionError(f"redis-server ended with {status}")


class Event:
    def __init__(self, time_ns, name, thread, fields):
        self.time_ns, self.name, self.thread, self.fields = time_ns, name, thread, fields

    def __getattr__(self, field):
        return self.fields[field]

    def __repr__(self):
        return f"{self.name}{self.fields}"


LITE = ("batches", "command_name", "client_address")
OF_COMMANDS = ("command", "start", "duration")
LIFECYCLE = (
    "start_read_client_query", "end_read_client_query", "call_command_start", "call_command_end",
    "write_to_client_start", "write_to_client_end",
)  # fmt: skip
LINE = re.compile(
    r"\[(\d+)\.(\d+)\].* slowpath_redis:(\w+): \{ cpu_id = \d+ \}, \{ vpid = (\d+), vtid = (\d+) \}, \{ (.*)\}$"
)
FIELD = re.compile(r'(\w+) = (\[(?: \[\d+\] = -?\d+,?)* \]|"(?:[^"\\]|\\.)*"|-?\d+)')


def value_of(text):
    if text.startswith('"'):
        return text[1:-1]
    if text.startswith("["):
        return [int(number) for number in re.findall(r"\] = (-?\d+)", text)]
    return int(text)


def single_batches(event):
    """An event `batches` as one event `batch` for each, at the time when that ended."""
    fields = {field: value for field, value in event.fields.items() if not field.startswith("_")}
    first = 0
    for position, commands in enumerate(fields["commands"]):
        own = {field: value[position] for field, value in fields.items() if field not in OF_COMMANDS}
        own |= {field: fields[field][first : first + commands] for field in OF_COMMANDS}
        ended = event.time_ns - own["age"] + own["ended"] * own["unit_ns"]
        assert ended <= event.time_ns, event
        yield Event(ended, "batch", own["write_thread"], own)
        first += commands
    assert first == len(fields["command"]), event


class Recording:
    """Records while it is entered; afterwards `events` are those of the server's process."""

    def __init__(self, server, *names):
        self.server = server
        self.names = names or ("*",)
        self.folder = os.path.join(tempfile.mkdtemp(prefix="slowpath-redis-trace-"), "trace")
        self.session = os.path.basename(os.path.dirname(self.folder))

    def _lttng(self, *words):
        subprocess.run(["lttng", *words], check=True, stdout=subprocess.DEVNULL)

    def start(self):
        of_session = ("--userspace", f"--session={self.session}")
        self._lttng("create", self.session, f"--output={self.folder}")
        self._lttng("enable-channel", *of_session, "--blocking-timeout=inf", "--subbuf-size=1M", "redis")
        events = ",".join(f"slowpath_redis:{name}" for name in self.names)
        self._lttng("enable-event", *of_session, "--channel=redis", events)
        self._lttng("add-context", *of_session, "--channel=redis", "--type=vpid", "--type=vtid")
        # Other servers beside it are not recorded.
        self._lttng("track", "--userspace", f"--session={self.session}", f"--vpid={self.server.pid}")
        self._lttng("start", self.session)

    def stop(self):
        self._lttng("stop", self.session)
        self._lttng("destroy", self.session)

    def __enter__(self):
        self.start()
        # LTTng switches the events on one by one, on a busy machine still after it has said so.
        time.sleep(0.1)
        self.server.turn()
        assert self.server.changed_code() > 0, "the agent has not noticed the recording"
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            # A client may have its reply before the server, where another runs in its place, has told of it.
            self.server.turn()
        self.stop()
        if kind is None:
            until(lambda: self.server.changed_code() == 0, "the agent notices that the recording has ended")
            self.events = self.read(self.server.pid)

    def read(self, pid):
        text = subprocess.run(
            ["babeltrace2", "--clock-seconds", self.folder], check=True, capture_output=True, text=True
        ).stdout
        events = []
        for line in text.splitlines():
            found = LINE.match(line)
            assert found, f"a line that is not understood: {line}"
            seconds, fraction, name, process, thread, fields = found.groups()
            if int(process) == pid:
                values = {field: value_of(text) for field, text in FIELD.findall(fields)}
                event = Event(int(seconds) * 10**9 + int(fraction), name, int(thread), values)
                events.extend(single_batches(event) if name == "batches" else [event])
        return events

    def named(self, *names):
        return [event for event in self.events if event.name in names]

    def of_connection(self, client, *names):
        """Events that name its descriptor, since it was opened."""
        opened = next(e for e in self.named("client_address") if e.peer_port == client.port)
        return [e for e in self.named(*names) if e.fd == opened.fd and e.time_ns >= opened.time_ns]

    def client_id(self, client):
        """Of the connection, by its port."""
        ids = {e.client_id for e in self.named("client_address") if e.peer_port == client.port}
        assert len(ids) == 1, f"clients at port {client.port}: {ids}"
        return ids.pop()

    def bytes_before(self, client):
        """Of the connection, as told first."""
        return next(e.bytes_before for e in self.named("client_address") if e.peer_port == client.port)

    def batches(self, client):
        """The client's, with the names of their commands."""
        names = {e.number: e.fields["command"] for e in self.named("command_name")}
        names[0] = "?"
        client_id = self.client_id(client)
        batches = [e for e in self.named("batch") if e.client_id == client_id]
        for batch in batches:
            batch.fields["names"] = [names[number] for number in batch.fields["command"]]
        return batches


def change_code(server, function, byte=b"\xcc"):
    """Puts a breakpoint behind the function, where it is never executed, as a debugger might; what was there."""
    program = shutil.which("redis-server")
    symbols = subprocess.run(["nm", "-D", "-S", program], check=True, capture_output=True, text=True).stdout
    address, size = re.search(rf"^(\w+) (\w+) T {function}$", symbols, re.MULTILINE).groups()
    with open(f"/proc/{server.pid}/maps") as maps:
        base = int(maps.readline().split("-")[0], 16)
    with open(f"/proc/{server.pid}/mem", "r+b", buffering=0) as memory:
        place = base + int(address, 16) + int(size, 16)
        memory.seek(place)
        before = memory.read(1)
        memory.seek(place)
        memory.write(byte)
        return before


def attach(server, *options):
    """What the program said, which it must say well; milliseconds that the server stood still."""
    run = subprocess.run([ATTACH, *options, str(server.pid)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return float(re.search(r"still for ([0-9.]+) ms", run.stdout).group(1))


def ask(server):
    """How far the agent is."""
    run = subprocess.run([ATTACH, "--status", str(server.pid)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def tls_files(folder):
    """A certificate for this test alone."""
    key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "certificate.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "1", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    options = ["--port", "0", "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file",
               certificate, "--tls-auth-clients", "no"]
    return context, options
