"""Events of a trace, read from what babeltrace2 prints, and the thread behind each.

The oracles' only source: nothing here or in the scripts that use it knows CTF, so an error that
slowpath makes in reading is not repeated. Slow and plain on purpose. Not for traces with lost
events: what follows a gap is taken at its word.
"""

import re
import subprocess
import sys
import tempfile

HEADER = re.compile(
    r"(?:timestamp = (?P<seconds>-?\d+)\.(?P<nanoseconds>\d{9}), )?"
    r"(?:trace:hostname = (?P<host>.*?), )?(?:trace:procname = .*?, )?(?:trace:vpid = \(\d+\), )?"
    r"name = (?P<name>.*?)(?:, (?=(?:stream\.(?:packet|event)\.context|event\.(?:context|fields)) = )|,? ?$)"
)
CPU = re.compile(r"stream\.packet\.context = \{[^}]*?\bcpu_id = (\d+)")
DISCARDED = re.compile(r"^WARNING: Tracer discarded (\d+) events? ")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\](),=]|[^\s{}\[\](),="]+')


class Event:
    """One line. `scope("event.fields")` parses only when asked."""

    __slots__ = ("ns", "host", "name", "text", "_cpu", "_scopes")

    def __init__(self, ns, host, name, text):
        self.ns, self.host, self.name, self.text = ns, host, name, text
        self._cpu = self._scopes = None

    @property
    def cpu(self):
        """Processor, or None where the packet context names none."""
        if self._cpu is None:
            match = CPU.match(self.text)
            self._cpu = int(match[1]) if match else -1
        return None if self._cpu < 0 else self._cpu

    @property
    def fields(self):
        return self._scope("event.fields")

    @property
    def context(self):
        """The stream's and the event's own context fields together."""
        return {**self._scope("stream.event.context"), **self._scope("event.context")}

    def _scope(self, name):
        if self._scopes is None:
            self._scopes = dict(members(TOKEN.findall(self.text), 0, None)[0])
        return self._scopes.get(name, {})


def value(tokens, at):
    """Parses one value; returns it and the index behind it. Enumerations become their number."""
    token = tokens[at]
    if token == "{":
        if tokens[at + 1] == "}":
            return {}, at + 2
        if tokens[at + 2] == "=":
            pairs, at = members(tokens, at + 1, "}")
            return dict(pairs), at + 1
        inner, at = value(tokens, at + 1)  # a variant: its selected option without a name
        return inner, at + 1
    if token == "[":
        items, at = [], at + 1
        while tokens[at] != "]":
            if tokens[at] == ",":
                at += 1
            item, at = value(tokens, at + 4)  # "[", index, "]", "="
            items.append(item)
        return items, at + 1
    if token == "(":
        while tokens[at] != "container":
            at += 1
        number, at = value(tokens, at + 2)
        return number, at + 1
    if token[0] == '"':
        return unescape(token[1:-1]), at + 1
    return number_of(token), at + 1


def members(tokens, at, closing):
    """Parses `name = value, ...` up to `closing` (or the end)."""
    pairs = []
    while at < len(tokens) and tokens[at] != closing:
        if tokens[at] == ",":
            at += 1
            continue
        name = tokens[at]
        item, at = value(tokens, at + 2)
        pairs.append((name, item))
    return pairs, at


def number_of(token):
    if token[:2] == "0x":
        return int(token, 16)
    if token[:2] == "0b":
        return int(token, 2)
    if len(token) > 1 and token[0] == "0" and token.isdigit():
        return int(token, 8)
    try:
        return int(token)
    except ValueError:
        return token


ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def unescape(text):
    if "\\" not in text:
        return text
    return re.sub(
        r"\\(x[0-9a-f]{2}|.)",
        lambda match: chr(int(match[1][1:], 16)) if len(match[1]) > 1 else ESCAPES.get(match[1], match[1]),
        text,
    )


class Trace:
    """Iterating gives the events in babeltrace2's order; `lost` is known at the end."""

    def __init__(self, paths):
        self.paths = paths
        self.lost = 0
        self.begin_ns = self.end_ns = None

    def __iter__(self):
        command = ["babeltrace2", "--clock-seconds", "--no-delta", "--names=all", *self.paths]
        with tempfile.TemporaryFile("w+", errors="replace") as talk:
            reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=talk, text=True, errors="replace")
            for line in reader.stdout:
                header = HEADER.match(line.rstrip("\n"))
                if not header:
                    raise SystemExit(f"not a line of babeltrace2's text: {line!r}")
                ns = None
                if header["seconds"] is not None:
                    sign = -1 if header["seconds"].startswith("-") else 1
                    ns = int(header["seconds"]) * 1_000_000_000 + sign * int(header["nanoseconds"])
                    if self.begin_ns is None:
                        self.begin_ns = ns
                    self.end_ns = ns
                yield Event(ns, header["host"], header["name"], line[header.end() :])
            status = reader.wait()
            talk.seek(0)
            talk_lines = talk.readlines()
            self.lost = sum(int(match[1]) for match in map(DISCARDED.match, talk_lines) if match)
            if status:
                raise SystemExit("".join(talk_lines[-20:]) + f"babeltrace2 ended with status {status}")


class Thread:
    """A thread. `number` is None while only its processor is known: it ran there before the
    first switch, which will tell."""

    def __init__(self, number=None):
        self.number = number
        self.open_call = None  # (call name, fields of the entry, ns of the entry)


class Threads:
    """Who is current on each processor, and what threads are called."""

    def __init__(self):
        self.current = {}
        self.by_number = {}
        self.names = {}  # seen in switches
        self.other_names = {}  # seen elsewhere

    def thread(self, number):
        return self.by_number.setdefault(number, Thread(number))

    def of(self, event):
        """The thread in whose context an event happened."""
        if "stream.event.context" in event.text or "event.context = {" in event.text:
            number = event.context.get("tid")
            if number is not None:
                return self.thread(number)
        return self.current.setdefault(event.cpu, Thread())

    def switch(self, event):
        """Takes note of a sched_switch; returns its fields."""
        fields = event.fields
        before = self.current.setdefault(event.cpu, Thread())
        if before.number is None:
            before.number = fields["prev_tid"]
            known = self.by_number.setdefault(before.number, before)
            if known is not before and known.open_call is None:
                known.open_call = before.open_call
        self.current[event.cpu] = self.thread(fields["next_tid"])
        self.names[fields["prev_tid"]] = fields["prev_comm"]
        self.names[fields["next_tid"]] = fields["next_comm"]
        return fields

    def name(self, number):
        return self.names.get(number, self.other_names.get(number, ""))


# Linux numbers its calls by architecture; the traces that name none ("unknown") are of x86-64.
NUMBERS_HEADER = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"


def call_names():
    """Names by number, from the kernel's own header where it is installed."""
    try:
        with open(NUMBERS_HEADER) as file:
            found = re.findall(r"#define __NR_(\w+) (\d+)", file.read())
    except OSError as error:
        raise SystemExit(f"{error}: needed to name system calls by their number")
    return {int(number): name for name, number in found}


CALL_NAMES = {}


def call_name(name, event):
    """LTTng writes `unknown` and the number where its tables are older than the kernel."""
    if name != "unknown" or "id" not in event.fields:
        return name
    if not CALL_NAMES:
        CALL_NAMES.update(call_names())
    return CALL_NAMES.get(event.fields["id"], name)


ENTRY = re.compile(r"(compat_)?(?:syscall_entry_|sys_)(.*)")
EXIT = re.compile(r"(compat_)?syscall_exit_(.*)|exit_syscall$")


class Call:
    """A system call that has returned. Without its entry, `entry` and `begin_ns` are None; the
    name is None too if the exit carries none."""

    __slots__ = ("thread", "name", "entry", "exit", "begin_ns", "end_ns")

    def __init__(self, thread, name, entry, exit, begin_ns, end_ns):
        self.thread, self.name, self.entry, self.exit = thread, name, entry, exit
        self.begin_ns, self.end_ns = begin_ns, end_ns


def system_call(threads, event, on_entry=None):
    """Feeds an event; returns a Call when one has returned, else None."""
    match = ENTRY.match(event.name)
    if match:
        thread = threads.of(event)
        thread.open_call = ((match[1] or "") + call_name(match[2], event), event, event.ns)
        if on_entry:
            on_entry(thread, match[2], event)
        return None
    match = EXIT.match(event.name)
    if not match:
        return None
    thread = threads.of(event)
    opened, thread.open_call = thread.open_call, None
    if match[2] is not None:
        name = (match[1] or "") + call_name(match[2], event)
    else:
        name = opened and opened[0]
    if opened and opened[0] == name:
        return Call(thread, name, opened[1], event, opened[2], event.ns)
    return Call(thread, name, None, event, None, event.ns)


def paths_from_command_line(usage):
    if len(sys.argv) < 2:
        raise SystemExit(f"usage: {sys.argv[0]} {usage}")
    return sys.argv[1:]
