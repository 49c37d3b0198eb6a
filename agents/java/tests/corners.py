"""Corners (src/test/java/corners) under the agent until there are samples enough, and what its report must say: its every
read is known; and what else tests have in common. For test_transfers.py, test_options.py and matrix.py."""
import contextlib
import ctypes
import json
import os
import platform
import signal
import struct
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
AGENT = HERE.parent / "target/slowpath-transfers.jar"
CLASSES = HERE.parent / "target/test-classes"
USED = ["inherited", "always", "printedAndUsed", "onOtherThread", "byReflection", "byHandle", "inLambda",
        "afterException", "byEnhanced"]
PRINTED = ["printed", "compared"]
NEVER = ["inheritedNever", "never", "stored", "storedAgain", "storedText", "storedByReflection", "storedByReflectionInt",
         "byHibernate", "enhanced"]


def javas():
    """The runtimes to test with."""
    return ["java", *filter(None, os.environ.get("JAVAS", "").split(":"))]


def version(java):
    """That of Java, 17 for instance."""
    said = subprocess.run([java, "-version"], capture_output=True, text=True).stderr.split('"')[1]
    return int(said.split(".")[0].partition("-")[0])


def until(said, seconds=60):
    """Waits until a function returns something true, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = said()
        if answer:
            return answer
        time.sleep(0.1)
    raise AssertionError(f"waited {seconds} s in vain for {said}")


def read_report(path):
    head, *contexts = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return head, contexts


def take_register(thread, processor, flags):
    """Asks the kernel for a debug register; a file, or None where it refuses."""
    attributes = bytearray(128)
    # Breakpoint (5) of this size, period 1; each access (3) to 8 bytes.
    struct.pack_into("<IIQQQQQ", attributes, 0, 5, len(attributes), 0, 1, 0, 0, flags)
    struct.pack_into("<IQQ", attributes, 52, 3, 4096, 8)
    event = ctypes.CDLL(None).syscall(298, ctypes.byref(ctypes.c_char.from_buffer(attributes)), thread, processor, -1, 8)
    return event if event >= 0 else None


def has_registers():
    """Whether the agent gets any: with signals, for threads to come; the flags are those of registers.cpp."""
    if platform.machine() != "x86_64":
        return False
    event = take_register(0, -1, 1 | 1 << 1 | 1 << 5 | 1 << 6 | 1 << 35 | 1 << 36 | 1 << 37)
    if event is not None:
        os.close(event)
    return event is not None


@contextlib.contextmanager
def no_registers_left():
    """Takes all of them, on each processor; False where that is not allowed."""
    events = [take_register(-1, processor, 1 << 5 | 1 << 6)
              for processor in os.sched_getaffinity(0) for _ in range(4)]
    try:
        yield None not in events
    finally:
        for event in filter(None, events):
            os.close(event)


def refuse_registers():
    """From now on the kernel refuses this process perf_event_open, as in many containers: a seccomp filter."""
    load, jump_if_equal, answer = 0x20, 0x15, 0x06
    refused, allowed = 0x00050000 | 1, 0x7fff0000
    code = b"".join(struct.pack("<HBBI", *instruction) for instruction in (
        (load, 0, 0, 0), (jump_if_equal, 0, 1, 298), (answer, 0, 0, refused), (answer, 0, 0, allowed)))
    instructions = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("<HxxxxxxQ", 4, ctypes.addressof(instructions))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(38, 1, 0, 0, 0) or library.prctl(22, 2, ctypes.c_char_p(program), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


# So many samples of a field tell of it alone: of fewer, one or two that were missed for once are half a percent.
ENOUGH = 1000


class Samples:
    """What a report says of Item and Copied."""

    def __init__(self, report):
        self.head, contexts = read_report(report)
        self.rows = {row["class"].partition("$")[2]: row for context in contexts for row in context["classes"]}
        self.item = {field["name"]: field for field in self.rows.get("Item", {"fields": []})["fields"]}

    def sum(self, fields, *kinds):
        """How many samples of these fields are of these kinds."""
        return sum(self.item[name][kind] for name in fields for kind in kinds) if self.item else 0

    def least(self):
        return min(self.sum(fields, "used", "printed", "unused") for fields in (USED, NEVER))

    def check(self, test):
        for fields, kind, share in ((USED, "used", 0.995), (PRINTED, "printed", 0.995), (NEVER, "unused", 1)):
            decided = self.sum(fields, "used", "printed", "unused")
            of_fields = [self.item[name] for name in fields]
            test.assertGreaterEqual(self.sum(fields, kind), share * decided, of_fields)
            # A way of reading that is not seen would miss one of them, altogether or now and then.
            for field in of_fields:
                decided = self.sum([field["name"]], "used", "printed", "unused")
                test.assertGreaterEqual(field[kind], (share if decided >= ENOUGH else 0.5) * decided, field)
        if "Copied" in self.rows:
            read, read_of_copy = self.rows["Copied"]["fields"]
            test.assertEqual((read["unused"], read_of_copy["used"], read_of_copy["unused"]), (0, 0, 0))
        for key in ("failures", "classes_not_rewritten"):
            test.assertEqual(self.head[key], 0, key)


def attach(process, options):
    """Brings the agent into a process that runs; exit status and what is said."""
    ran = subprocess.run(["java", "-jar", AGENT, str(process), options], capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stderr


def run(java, options, backend, folder, least, seconds=60, attached=None, fetch=("fetch", "fetchCopied")):
    """Runs until `least` samples are decided of fields always read and of those never read, and returns them all. Where
    `attached` is given, the program runs a while before the agent comes; it is called with the process and what was said
    then."""
    report = folder / "report.jsonl"
    agent = (f"report={report},report-every=0.5,samples=1000000,arms-per-second=1000000,aiming-share=0.5,"
             f"backend={backend},remote={','.join(f'corners.Corners#{method}' for method in fetch)}")
    with open(folder / "said", "w+") as said:
        program = subprocess.Popen([java, "-Xmx256m", *options, *([] if attached else [f"-javaagent:{AGENT}={agent}"]),
                                    "-cp", CLASSES, "corners.Corners", "1000000000", "requests"],
                                   stdout=said, stderr=subprocess.STDOUT)
        try:
            if attached:
                time.sleep(2)  # So that its methods are compiled.
                attached(program.pid, attach(program.pid, agent))
            end = time.monotonic() + seconds
            while not report.exists() or Samples(report).least() < least:
                if program.poll() is not None or time.monotonic() > end:
                    said.seek(0)
                    raise AssertionError(f"{said.read()}\nin vain for {seconds} s: "
                                         f"{report.exists() and report.read_text()}")
                time.sleep(0.2)
            program.send_signal(signal.SIGTERM)
            program.wait(30)
        finally:
            program.kill()
            program.wait()
        said.seek(0)
        text = said.read()
        if "slowpath:" in text:
            raise AssertionError(text)
    return Samples(report)
