"""Bytes moved by system calls, per process and file, as `slowpath io --json` reports them, from
babeltrace2's text.

Definitions: docs/reference/definitions.md, "io". What a descriptor or a thread is called may be
said only later in the trace (a state dump), so calls are kept and named at the end.
"""

import bisect
import collections
import json

from babeltrace_text import Threads, Trace, paths_from_command_line, system_call

READS = "read pread64 readv preadv preadv2 recv recvfrom recvmsg recvmmsg".split()
WRITES = "write pwrite64 writev pwritev pwritev2 send sendto sendmsg sendmmsg vmsplice".split()
BOTH = "sendfile sendfile64 splice tee copy_file_range".split()
RETURN_IS_NO_BYTES = ("recvmmsg", "sendmmsg")
ONE_DESCRIPTOR = ("fd", "sockfd")
FROM_DESCRIPTOR = ("in_fd", "fd_in", "fdin")
TO_DESCRIPTOR = ("out_fd", "fd_out", "fdout")

OPENS = "open openat openat2 creat".split()
DUPS = {"dup": ("fildes", "oldfd"), "dup2": ("oldfd",), "dup3": ("oldfd",)}
F_DUPFD, F_DUPFD_CLOEXEC = 0, 1030
NAMED_BY_KIND = {
    "socket": "socket", "accept": "socket", "accept4": "socket",
    "eventfd": "eventfd", "eventfd2": "eventfd", "timerfd_create": "timerfd",
    "signalfd": "signalfd", "signalfd4": "signalfd",
    "inotify_init": "inotify", "inotify_init1": "inotify",
    "epoll_create": "epoll", "epoll_create1": "epoll", "memfd_create": "memfd",
}  # fmt: skip
PAIRS = {"pipe": "pipe", "pipe2": "pipe", "socketpair": "socket"}


def first(fields, names):
    return next((fields[name] for name in names if name in fields), None)


class Timed:
    """Statements about something, in time order: (order, ...) tuples."""

    def __init__(self):
        self.statements = collections.defaultdict(list)

    def add(self, key, order, *said):
        self.statements[key].append((order, *said))

    def before(self, key, order):
        """The latest statement before `order`."""
        said = self.statements.get(key, [])
        at = bisect.bisect_left(said, (order,))
        return said[at - 1] if at else None

    def after(self, key, order):
        """The earliest statement at or after `order`."""
        said = self.statements.get(key, [])
        at = bisect.bisect_left(said, (order,))
        return said[at] if at < len(said) else None


class Processes:
    """Which process a thread belongs to, by what is said nearest in time."""

    def __init__(self):
        self.said = Timed()

    def says(self, tid, order, pid):
        self.said.add(tid, order, pid)

    def of(self, tid, order):
        said = self.said.before(tid, order + 1) or self.said.after(tid, order)
        return said[1] if said else tid


class Files:
    """What descriptors are called. A name of None: closed, or not known."""

    def __init__(self, processes):
        self.processes = processes
        self.said = Timed()  # (pid, fd) -> (order, how, name or descriptor that it copies)
        self.births = Timed()  # pid -> (order, parent pid)

    def name(self, pid, fd, order):
        return self._name(pid, fd, order) or f"unknown (pid {pid}, fd {fd})"

    def _name(self, pid, fd, order):
        said = self.said.before((pid, fd), order)
        birth = self.births.before(pid, order)
        if said and (not birth or said[0] > birth[0]):
            return self._resolve(pid, said)
        if birth:
            inherited = self._name(birth[1], fd, birth[0])
            if inherited:
                return inherited
        said = self.said.after((pid, fd), order)
        if said and said[1] == "dumped":
            return said[2]
        return None

    def _resolve(self, pid, said):
        order, how, name = said
        return self._name(pid, name, order) if how == "copied" else name


def io(paths):
    trace = Trace(paths)
    threads = Threads()
    processes = Processes()
    files = Files(processes)
    calls = []  # (order, thread, reads?, writes?, bytes, descriptor read, descriptor written)
    statements = []  # (order, thread, descriptor, how, name): the thread's process comes later
    tables = collections.defaultdict(set)  # file table address -> pids
    table_dumps = []

    def on_entry(thread, name, event):
        if name == "close":
            statements.append((order, thread, event.fields["fd"], "closed", None))

    for order, event in enumerate(trace):
        if event.name == "sched_switch":
            threads.switch(event)
        elif event.name == "sched_process_fork":
            fork = event.fields
            threads.other_names[fork["child_tid"]] = fork["child_comm"]
            child_pid = fork.get("child_pid", fork["child_tid"])
            processes.says(fork["child_tid"], order, child_pid)
            parent_pid = fork.get("parent_pid", fork["parent_tid"])
            if child_pid != parent_pid:
                files.births.add(child_pid, order, parent_pid)
        elif event.name == "lttng_statedump_process_state":
            dump = event.fields
            threads.other_names[dump["tid"]] = dump["name"]
            processes.says(dump["tid"], order, dump["pid"])
            if "file_table_address" in dump:
                tables[dump["file_table_address"]].add(dump["pid"])
        elif event.name == "lttng_statedump_file_descriptor":
            dump = event.fields
            if "pid" in dump:
                files.said.add((dump["pid"], dump["fd"]), order, "dumped", dump["filename"])
            else:
                table_dumps.append((order, dump["file_table_address"], dump["fd"], dump["filename"]))
        else:
            call = system_call(threads, event, on_entry)
            if call and call.name is not None:
                returned(order, call, calls, statements)
        pid = event.context.get("pid") if "event.context = {" in event.text else None
        if pid is not None:
            thread = threads.of(event)
            if thread.number is not None:
                processes.says(thread.number, order, pid)

    for order, thread, descriptor, how, name in statements:
        pid = processes.of(thread.number, order)
        files.said.add((pid, descriptor), order, how, name)
    for order, address, descriptor, name in table_dumps:
        for pid in tables.get(address, ()):
            files.said.add((pid, descriptor), order, "dumped", name)
    for said in files.said.statements.values():
        said.sort(key=lambda statement: statement[0])
    return report(calls, threads, processes, files)


def returned(order, call, calls, statements):
    """Takes what a returned system call tells."""
    name = call.name.removeprefix("compat_")
    result = call.exit.fields["ret"]
    if result < 0:
        return
    entry = call.entry.fields if call.entry else None
    if name in READS or name in WRITES:
        moved = 0 if name in RETURN_IS_NO_BYTES else result
        descriptor = first(entry, ONE_DESCRIPTOR) if entry else None
        if name in READS:
            calls.append((order, call.thread, moved, None, descriptor, None))
        else:
            calls.append((order, call.thread, None, moved, None, descriptor))
    elif name in BOTH:
        source = first(entry, FROM_DESCRIPTOR) if entry else None
        target = first(entry, TO_DESCRIPTOR) if entry else None
        calls.append((order, call.thread, result, result, source, target))
    elif name in NAMED_BY_KIND:
        statements.append((order, call.thread, result, "named", NAMED_BY_KIND[name]))
    elif name in PAIRS:
        ends = next((field for field in call.exit.fields.values() if isinstance(field, list)), [])
        for descriptor in ends:
            statements.append((order, call.thread, descriptor, "named", PAIRS[name]))
    elif entry is None:
        return
    elif name in OPENS:
        statements.append((order, call.thread, result, "named", first(entry, ("filename", "pathname"))))
    elif name in DUPS:
        old = first(entry, DUPS[name])
        if old != result:
            statements.append((order, call.thread, result, "copied", old))
    elif name in ("fcntl", "fcntl64") and entry.get("cmd") in (F_DUPFD, F_DUPFD_CLOEXEC):
        statements.append((order, call.thread, result, "copied", entry["fd"]))


def report(calls, threads, processes, files):
    by_process = collections.defaultdict(lambda: collections.Counter())
    by_file = collections.defaultdict(lambda: collections.Counter())
    members = collections.defaultdict(set)
    for order, thread, read, written, source, target in calls:
        pid = processes.of(thread.number, order)
        members[pid].add(thread.number)
        for moved, bytes_key, calls_key, descriptor in (
            (read, "read_bytes", "reads", source),
            (written, "write_bytes", "writes", target),
        ):
            if moved is None:
                continue
            if descriptor is None:
                path = f"unknown (pid {pid})"
            else:
                path = files.name(pid, descriptor, order)
            by_process[pid][bytes_key] += moved
            by_process[pid][calls_key] += 1
            by_file[path][bytes_key] += moved
    amounts = lambda found, keys: {key: found[key] for key in keys}
    size = lambda row: -(row["read_bytes"] + row["write_bytes"])
    process_rows = [
        {"pid": pid, "comm": threads.name(pid) or threads.name(min(members[pid]))}
        | amounts(found, ("read_bytes", "write_bytes", "reads", "writes"))
        for pid, found in by_process.items()
    ]
    file_rows = [{"path": path} | amounts(found, ("read_bytes", "write_bytes")) for path, found in by_file.items()]
    return {
        "processes": sorted(process_rows, key=lambda row: (size(row), row["pid"])),
        "files": sorted(file_rows, key=lambda row: (size(row), row["path"])),
    }


if __name__ == "__main__":
    print(json.dumps(io(paths_from_command_line("TRACE...")), indent=1))
