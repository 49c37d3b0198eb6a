"""What the agent costs (README.md): a single response; a program that computes; then a real Spring Boot service: its start,
processor time per request, and latencies that clients see. Differences of a few percent are less than those between two JVMs that run the same
program, as each has compiled it in its own way, and than what a JVM gains in its first minute. So:
- each JVM is asked until its processor time per request stands still, before anything is measured;
- what the agent does is compared inside of a JVM: while it serves, the agent is switched (options that may change at run
  time) in blocks, forwards and backwards, so that what changes steadily cancels out; of several JVMs. Code that was
  compiled for the options before is compiled again: each block has a lead until that is over. Switched off, the agent does
  less than with `rate=0`, which counts responses still;
- what cannot be switched, as calls of hooks and the field that objects have more, is compared with JVMs without the agent,
  which take turns with the others. Pairs of JVMs differ by some 7 %: 35 of them would mostly tell of 3 %, which takes hours. Of
  fewer no verdict is given: where one JVM in six is a slow one, it would be wrong in a quarter of cases.
JVMs are those of a user: no options but a limit of the heap, no processors of their own (with one, a JVM is another one:
another collector, other compilers' threads). Each JVM (or pair) is one value, the mean of all its visits, as JVMs may differ
in what the agent changes: were visits taken for independent, "holds" would be wrong in up to a third of cases, where it may be
in one of twenty. Intervals are Student's, of 90 %, of logarithms of ratios: what is asked is whether a change is at most so
much, of which one is sure by 95 % where the upper end is not above it. By simulation that is so however much JVMs differ, if by
a normal distribution, and also where one block in ten has a pause that makes its p99 half as long again; where the agent costs
one JVM in six more, by three times what visits vary by, "holds" is wrong in a sixth of cases. With five JVMs the interval is a
seventh wider than visits of none in particular would make it, with three half as wide again: so there are more JVMs, each
visited less often.
Processor time is that of the service's process, which others on the machine hardly change; latencies they do. It is without
that of the JVM's compilers, which come back for minutes, for a block or two, and take what a hundred requests a second do.
Before its visits each JVM has a rehearsal, as options that are new to it make it compile code again.
An hour of all this tells of processor time, but hardly of p99, which rare pauses make: for that, `--only-default` asks for
nothing else, of one backend, with as many clients as are asked for. With `--rate 0` requests wait for each other all the
time, which p99 tells then. `--control` compares switched off with itself, too: what shows there is the bench's own. Where a
machine's speed changes from minute to minute, many short blocks tell more than few long ones (`--seconds 3 --lead 1 --turns 4`),
if there are requests enough for what is compiled again.
Ends with all bounds and whether they hold, and with status 1 where one does not."""
import argparse
import contextlib
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import corners

HERE = Path(__file__).resolve().parent
AGENT = HERE.parent / "target/slowpath-transfers.jar"
CLASSES = HERE.parent / "target/test-classes"
SERVICES = HERE / "services/target/services.jar"
STARTS = 5
# A JVM is warm when the medians of processor time per request of its last blocks, by thirds, differ by less than this, and
# its compilers have had no more than that of its processor time in them: while they are at work, it stands still for a
# time, at three times of what it comes to.
STEADY = 0.04
WARM_BLOCKS = 9
WARM_SECONDS = 4
LONGEST_WARM_SECONDS = 120
# The agent's options that change while a service runs, and what is compared with what.
EACH = "paths-per-second=1000000000"
OPTIONS = {"off": "counting=off", "default": "", "every response": "arms-per-second=1000000", "off again": "counting=off"}
COMPARED = [("default", "off", "the agent by default, against switched off"),
            ("every response", "off", "every response looked into, against switched off"),
            ("default", "no agent", "the agent by default, against JVMs without"),
            ("off again", "off", "switched off, against itself")]
MEASURES = [("processor time per request", "us", 1), ("latency p50", "ms", 1000), ("latency p99", "ms", 1000)]
# In percent: processor time and p99 of what `auto` takes by default, the mask; and, with so many clients, all that is measured
# of both backends. What more costs than `arms-per-second` allows by default is said, without a bound.
BOUND = 3
NEVER_ABOVE = 10
MANY_CLIENTS = 200
# Student's t for 90 %, by degrees of freedom; of more, nearly (not less than it is).
T = [6.31, 2.92, 2.35, 2.13, 2.02]
# Of JVMs with and without the agent: of fewer nothing is concluded.
LEAST_PAIRS = 35
# Of each bound: what is said of it, of what.
verdicts = []


class Service:
    """A Java process that serves HTTP on a port of its own."""

    def __init__(self, folder, name, *arguments, agent=()):
        self.log = folder / f"{name}.log"
        began = time.monotonic()
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                ["java", "-Xmx512m", *agent, "-jar", SERVICES, name.split("-")[0], "--server.port=0",
                 "--server.tomcat.threads.max=250", "--server.tomcat.max-keep-alive-requests=-1", *arguments],
                stdout=log, stderr=subprocess.STDOUT)
        while not (listening := re.search(r"^listening on (\d+)$", self.log.read_text(), re.M)):
            if self.process.poll() is not None:
                raise SystemExit(self.log.read_text())
            time.sleep(0.02)
        self.port = int(listening.group(1))
        self.start_seconds = time.monotonic() - began

    def used(self):
        """Processor time: of all, by the clock that the kernel numbers after the process (clock_getcpuclockid), and of
        each of the JVM's compilers."""
        return time.clock_gettime(~self.process.pid << 3 | 2), self.compiler_seconds()

    def used_since(self, before):
        """Seconds of processor since `before`, what `used` gave: of all but compilers, and of compilers."""
        (all_before, compilers_before), (all_now, compilers_now) = before, self.used()
        # Threads that are new or have ended have done little.
        compilers = sum(now - compilers_before.get(thread, now) for thread, now in compilers_now.items())
        return all_now - all_before - compilers, compilers

    def compiler_seconds(self):
        seconds = {}
        for thread in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):  # It has just ended.
                if re.match("C[12] Compiler", (thread / "comm").read_text()):
                    seconds[thread.name] = int((thread / "schedstat").read_text().split()[0]) / 1e9
        return seconds

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


class Load:
    """Clients, in a process that lives on, so that it is warm; so many requests a second (0: each client asks as soon as it is
    answered), in blocks of so many seconds."""

    def __init__(self, rate, seconds, lead):
        """@param lead: so many seconds of each block are not measured: until clients are connected, the agent has read changed
        options, and the JVM has compiled again what runs otherwise now"""
        self.rate, self.seconds, self.lead = rate, seconds, lead
        self.process = subprocess.Popen(["java", "-cp", CLASSES, "load.Load"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def run(self, service, clients, lead=None, seconds=None):
        """Of the service: microseconds of processor per request, and of latency, p50 and p99; and those of compilers."""
        self.process.stdin.write(f"{service.port} {clients} {self.rate} {lead or self.lead} {seconds or self.seconds} "
                                 "/one/{}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()
        before = service.used()
        requests, failures, p50, p99 = (int(word) for word in self.process.stdout.readline().split())
        if failures:
            raise SystemExit(f"{failures} of {clients} clients failed")
        used, compiled = (1e6 * seconds / requests for seconds in service.used_since(before))
        return used, p50, p99, compiled


class Planner(Service):
    """The service that is measured, of the agent or without."""

    def __init__(self, folder, name, tickets, backend=None):
        self.name = name
        self.options = folder / f"options-{name}"
        self.options.write_text("")
        agent = [f"-javaagent:{AGENT}=config={self.options},report={folder}/report-{name}.jsonl,report-every=0.5,"
                 f"samples=1000000,backend={backend}"] if backend else []
        super().__init__(folder, f"planner-{name}", f"--tickets=http://localhost:{tickets.port}", agent=agent)
        if "slowpath:" in self.log.read_text():
            print(self.log.read_text())

    def block(self, load, clients, mode=None):
        if mode is not None:
            self.options.write_text(OPTIONS[mode])
        return load.run(self, clients)

    def warm(self, load, clients):
        """Says how long that took and where it ended."""
        began = time.monotonic()
        costs, shares = [], []
        thirds = []
        is_steady = False
        while not is_steady and time.monotonic() < began + LONGEST_WARM_SECONDS:
            cost, _, _, compiled = load.run(self, clients[len(costs) % len(clients)], lead=0.1, seconds=WARM_SECONDS)
            costs.append(cost + compiled)
            shares.append(compiled / costs[-1])
            if len(costs) >= WARM_BLOCKS:
                last, third = costs[-WARM_BLOCKS:], WARM_BLOCKS // 3
                thirds = [statistics.median(last[begin:begin + third]) for begin in range(0, WARM_BLOCKS, third)]
                is_steady = (max(thirds) < (1 + STEADY) * min(thirds)
                             and statistics.mean(shares[-WARM_BLOCKS:]) < STEADY)
        print(f"{self.name}: {'steady' if is_steady else 'NOT STEADY'} after {time.monotonic() - began:.0f} s: at first "
              f"{costs[0]:.0f} us per request, then {', '.join(f'{cost:.0f}' for cost in thirds)}; compilers had "
              f"{100 * statistics.mean(shares[-WARM_BLOCKS:]):.1f} % of it", flush=True)


def singles(folder):
    """What one response costs, with thirty frames between servlet and client, and nothing else done for the request."""
    for name, options in (("without the agent", None), ("with it, switched off", "counting=off"),
                          ("counted, its call path walked by Java", "rate=0,call-paths=java," + EACH),
                          ("counted, its call path walked by the JVM's tool interface", "rate=0," + EACH),
                          ("counted, mostly with others", "rate=0"),
                          ("counted and looked into", "arms-per-second=1000000")):
        agent = [] if options is None else [
            f"-javaagent:{AGENT}=report={folder}/single.jsonl,samples=1000000,remote=load.Single#fetch,{options}"]
        # Collections so often that objects are not too many to be watched.
        ran = subprocess.run(["java", "-XX:+UseSerialGC", "-Xmx256m", "-Xmn4m", *agent, "-cp", CLASSES, "load.Single",
                              "100000"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        print(f"a request with one response, {name}: {int(ran.stdout) / 1000:.2f} us")


def computing(folder):
    """What a program costs that mostly reads fields of its own objects."""
    for name, agent in (("without the agent", []), ("with it", [f"-javaagent:{AGENT}=report={folder}/bodies.jsonl"])) * 3:
        ran = subprocess.run(["java", *agent, "-cp", CLASSES, "load.Bodies", "1000000"], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        print(f"a step of five bodies that attract each other, {name}: {int(ran.stdout)} ns")


def starts(folder, tickets):
    seconds = {"without the agent": [], "with it": []}
    for number in range(STARTS):
        for name, backend in (("without the agent", None), ("with it", "mask")):
            service = Planner(folder, f"start-{number}-{backend}", tickets, backend)
            seconds[name].append(service.start_seconds)
            service.stop()
    for name, each in seconds.items():
        print(f"start, {name}: median {statistics.median(each):.2f} s, {min(each):.2f} to {max(each):.2f} s")
    later = [one - other for one, other in zip(seconds["with it"], seconds["without the agent"])]
    print(f"start, later by: median {statistics.median(later):.2f} s, {min(later):.2f} to {max(later):.2f} s", flush=True)


def blocks(load, agent, plain, clients, modes):
    """Of each mode in turn, of a JVM and of one without the agent, the mode and what was measured."""
    for mode in modes:
        service, options = (plain, None) if mode == "no agent" else (agent, mode)
        yield mode, service.block(load, clients, options)


def visit(load, agent, plain, clients, modes, turns):
    """So many times forwards and backwards. By mode: means of all, by measure. Compilers' time, which may be none, has no part in
    them."""
    measured = {}
    for mode, block in blocks(load, agent, plain, clients, (*modes, *reversed(modes)) * turns):
        measured.setdefault(mode, []).append(block[:len(MEASURES)])
    return {mode: [math.exp(statistics.mean(math.log(value) for value in values)) for values in zip(*each)]
            for mode, each in measured.items()}


def bounds(backend, clients):
    """By measure: of how many percent a change has to be at most."""
    by_default = [BOUND] if backend == "mask" else []
    never_above = [NEVER_ABOVE] if min(clients) >= MANY_CLIENTS else []
    return by_default + never_above, never_above, by_default + never_above


def interval(logarithms):
    """Of a value of each JVM, their mean, and the interval in which it is; of one value, anything."""
    mean, freedom = statistics.mean(logarithms), len(logarithms) - 1
    if not freedom:
        return mean, -math.inf, math.inf
    student = T[freedom - 1] if freedom <= len(T) else 1.645 + 1.8 / freedom
    wide = student * statistics.stdev(logarithms) / len(logarithms) ** 0.5
    return mean, mean - wide, mean + wide


def percent(logarithm):
    return 100 * (math.exp(logarithm) - 1)


def verdict(logarithms, bound, least=2):
    """@param least: of fewer values nothing is concluded"""
    _, low, high = interval(logarithms)
    is_above = percent(low) > bound
    if len(logarithms) < least:
        return f"cannot be told by {len(logarithms)} of {least} JVMs{', but looks as if it did not hold' if is_above else ''}"
    if percent(high) <= bound:
        return "holds"
    if is_above:
        return "DOES NOT HOLD"
    # Of a normal distribution: 5 % that it is wrong, 20 % that it is not seen.
    would_tell = math.ceil((2.49 * statistics.stdev(logarithms) / math.log(1 + bound / 100)) ** 2)
    return (f"cannot be told by {len(logarithms)} JVMs (if it cost nothing, some {max(would_tell, len(logarithms) + 1)} "
            "would mostly tell)")


def say(where, what, changes, bounds_by_measure, least):
    """@param changes by measure: of each JVM, the logarithm of a ratio"""
    print(f"  {what} ({len(changes[0])} values)")
    for (measure, _, _), logarithms, of_measure in zip(MEASURES, changes, bounds_by_measure):
        change, low, high = interval(logarithms)
        between = f"   {percent(low):+6.1f} to {percent(high):+6.1f} %" if low > -math.inf else ""
        print(f"    {measure:28} {percent(change):+6.1f} %{between}")
        for bound in of_measure:
            said = verdict(logarithms, bound, least)
            verdicts.append((said, f"{where}, {what}: {measure} at most {bound} %"))
            print(f"      at most {bound} %: {said}")


def changes(of_jvms, one, other):
    """By measure: of each JVM, the mean of its visits in which both are."""
    return [[statistics.mean(math.log(each[one][measure] / each[other][measure]) for each in of_jvm
                             if one in each and other in each) for of_jvm in of_jvms]
            for measure in range(len(MEASURES))]


def say_changes(backend, clients, of_jvms):
    """@param of_jvms visits by JVM; all that was compared in them"""
    where = f"{backend}, {' and '.join(str(each) for each in clients)} clients"
    for one, other, what in COMPARED:
        if any(one in each and other in each for each in of_jvms[0]):
            say(where, what, changes(of_jvms, one, other), bounds(backend, clients) if one == "default" else [[]] * 3,
                LEAST_PAIRS if other == "no agent" else 2)


def say_all(backend, visits):
    """@param visits by clients: of each JVM"""
    for clients, of_jvms in visits.items():
        every = [each for of_jvm in of_jvms for each in of_jvm]
        print(f"\n{backend}, {clients} clients")
        for mode in every[-1]:
            line = f"  {mode:15}"
            for index, (measure, unit, scale) in enumerate(MEASURES):
                median = statistics.median(each[mode][index] for each in every if mode in each)
                line += f"  {measure} {median / scale:.{0 if scale == 1 else 2}f} {unit}"
            print(line)
        say_changes(backend, [clients], of_jvms)
        by_jvm = changes(of_jvms, "default", "off")[0]
        print(f"    JVMs, default against off: {', '.join(f'{percent(one):+.1f}' for one in by_jvm)} % of processor time")
        for mode in ("default", "no agent") if "no agent" in every[-1] else ():
            costs = [math.exp(statistics.mean(math.log(each[mode][0]) for each in of_jvm if "no agent" in each))
                     for of_jvm in of_jvms]
            print(f"    JVMs, {mode}: {', '.join(f'{cost:.0f}' for cost in costs)} us of processor per request")
    if len(visits) > 1:
        print(f"\n{backend}, {' and '.join(str(clients) for clients in visits)} clients together")
        say_changes(backend, list(visits), [sum(of_jvm, []) for of_jvm in zip(*visits.values())])


def say_verdicts():
    """True where no bound is known not to hold."""
    print()
    for kind in ("holds", "cannot be told", "DOES NOT HOLD"):
        for said, what in verdicts:
            if said.startswith(kind):
                print(f"{kind}: {what}")
    return not any(said == "DOES NOT HOLD" for said, _ in verdicts)


def measure(asked, load, kinds):
    """@param kinds by backend: JVMs with it, and for each one without the agent, or None"""
    visits = {backend: {clients: [[] for _ in pairs] for clients in asked.clients} for backend, pairs in kinds.items()}

    def modes(backend, is_whole):
        control = ["off again"] if asked.control else []
        if asked.only_default or not is_whole or backend == "watchpoints":
            return ["off", "default", *control]
        return ["no agent", "off", "default", "every response", *control]
    for backend, pairs in kinds.items():
        for agent, plain in pairs:
            for _ in blocks(load, agent, plain, max(asked.clients), modes(backend, True) * asked.turns):
                pass
    for number in range(asked.visits):
        # What is on by default is what the hour is to tell of; the rest is measured in a third of visits.
        is_whole = (asked.visits - 1 - number) % 3 == 0
        for backend, pairs in kinds.items():
            if backend == "watchpoints" and not (is_whole or asked.only_default):
                continue
            ordered = modes(backend, is_whole)
            if number % 2:
                ordered.reverse()
            for jvm, (agent, plain) in enumerate(pairs):
                for clients in asked.clients:
                    visits[backend][clients][jvm].append(visit(load, agent, plain, clients, ordered, asked.turns))
    for backend, of_backend in visits.items():
        say_all(backend, of_backend)


def given():
    parser = argparse.ArgumentParser(description="What the agent for Java costs a service.")
    parser.add_argument("--jvms", type=int, default=5, help="JVMs of each kind")
    parser.add_argument("--visits", type=int, default=3, help="of each JVM")
    parser.add_argument("--seconds", type=int, default=6, help="of a block")
    parser.add_argument("--lead", type=float, default=3, help="seconds before each block that are not measured")
    parser.add_argument("--turns", type=int, default=1, help="forwards and backwards so many times a visit")
    parser.add_argument("--rate", type=int, default=1200,
                        help="requests per second; 0: each client asks as soon as it is answered")
    parser.add_argument("--clients", type=int, nargs="+", default=[16, 200])
    parser.add_argument("--only-default", nargs="?", const="mask", choices=["mask", "watchpoints"],
                        help="only the agent by default against switched off, by this backend (the mask)")
    parser.add_argument("--control", action="store_true", help="switched off is compared with itself, too")
    return parser.parse_args()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that services end, too.
    asked = given()
    folder = Path(tempfile.mkdtemp())
    running = []

    def run(service):
        running.append(service)
        return service
    try:
        began = time.monotonic()
        tickets = run(Service(folder, "tickets"))
        if not asked.only_default:
            singles(folder)
            computing(folder)
            starts(folder, tickets)
        load = run(Load(asked.rate, asked.seconds, asked.lead))
        kinds = {}
        for backend in [asked.only_default] if asked.only_default else ["mask", "watchpoints"]:
            if backend == "watchpoints" and not corners.has_registers():
                print("SKIPPED: watchpoints, as debug registers cannot be had here")
                continue
            is_paired = backend == "mask" and not asked.only_default
            kinds[backend] = [(run(Planner(folder, f"{backend}-{number}", tickets, backend)),
                               run(Planner(folder, f"none-{number}", tickets)) if is_paired else None)
                              for number in range(1, asked.jvms + 1)]
        for pair in sum(kinds.values(), []):
            for service in filter(None, pair):
                service.warm(load, asked.clients)
        asked_for = f"{asked.rate} requests a second" if asked.rate else "each client asks as soon as it is answered"
        print(f"{asked_for}, in blocks of {asked.seconds} s")
        measure(asked, load, kinds)
        print(f"\n{(time.monotonic() - began) / 60:.0f} minutes; load average {os.getloadavg()[1]:.1f} on {os.cpu_count()} "
              "processors (more than 2 means that others disturbed it: latencies say less then)")
        sys.exit(0 if say_verdicts() else 1)
    finally:
        for service in running:
            service.process.kill()
            service.process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
