"""What the agent costs (README.md): a single response; then a real Spring Boot service: its start, processor time per
request, and latencies that clients see. Differences of a few percent are less than those between two JVMs that run the same
program, as each has compiled it in its own way, and than what a JVM gains in its first minute. So:
- each JVM is asked until its processor time per request stands still, before anything is measured;
- what the agent does is compared inside of a JVM: while it serves, the agent is switched (options that may change at run
  time) in blocks, forwards and backwards, so that what changes steadily cancels out; of several JVMs. Code that was
  compiled for the options before is compiled again: each block has a lead until that is over. Each visit of a JVM is one
  value, as if JVMs did not differ in it; whether they do, what each says by itself tells. Switched off, the agent does less
  than with `rate=0`, which counts responses still;
- what cannot be switched, as calls of hooks and the field that objects have more, is compared with JVMs without the agent,
  which take turns with the others. There each pair of JVMs is one value: the interval is as wide as JVMs differ.
JVMs are those of a user: no options but a limit of the heap, no processors of their own (with one, a JVM is another one:
another collector, other compilers' threads). Intervals are of 90 %, of logarithms of ratios: what is asked is whether a change
is at most so much, of which one is sure by 95 % where the upper end is not above it. One block in ten has a pause that makes
its p99 half as long again; so, of six values or more, intervals are by ranks (Hodges & Lehmann's estimate, with Wilcoxon's
test), which such blocks hardly move; of fewer, Student's t of the mean.
Processor time is that of the service's process, which others on the machine hardly change; latencies they do. It is without
that of the JVM's compilers, which come back for minutes, for a block or two, and take what a hundred requests a second do.
The first visit of each JVM is a rehearsal, as options that are new to it make it compile code again.
An hour of all this tells of processor time, but hardly of p99, which rare pauses make: for that, `--only-default` asks for
nothing else, of as many clients as are asked for."""
import argparse
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
# Until clients are connected, the agent has read changed options, and the JVM has compiled again what runs otherwise now.
LEAD_SECONDS = 3
# A JVM is warm when the medians of processor time per request of its last blocks, by thirds, differ by less than this, and
# its compilers have had no more than that of its processor time in them: while they are at work, it stands still for a
# time, at three times of what it comes to.
STEADY = 0.04
WARM_BLOCKS = 9
WARM_SECONDS = 4
LONGEST_WARM_SECONDS = 120
# The agent's options that change while a service runs, and what is compared with what.
EACH = "paths-per-second=1000000000"
OPTIONS = {"off": "counting=off", "default": "", "every response": "arms-per-second=1000000"}
COMPARED = [("default", "off", "the agent by default, against switched off"),
            ("every response", "off", "every response looked into, against switched off")]
MEASURES = [("processor time per request", "us", 1), ("latency p50", "ms", 1000), ("latency p99", "ms", 1000)]
# In percent, for processor time and p99, by default; where more than 20 responses a second are looked into, it costs more.
BOUND = 3
BOUND_OF_WATCHPOINTS = 10
# Student's t for 90 %, by degrees of freedom, for fewer values than ranks need.
T = [6.31, 2.92, 2.35, 2.13]
BY_RANKS = 6


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
            if re.match("C[12] Compiler", (thread / "comm").read_text()):
                seconds[thread.name] = int((thread / "schedstat").read_text().split()[0]) / 1e9
        return seconds

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


class Load:
    """Clients, in a process that lives on, so that it is warm; so many requests a second, in blocks of so many seconds."""

    def __init__(self, rate, seconds):
        self.rate, self.seconds = rate, seconds
        self.process = subprocess.Popen(["java", "-cp", CLASSES, "load.Load"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def run(self, service, clients, lead=LEAD_SECONDS, seconds=None):
        """Of the service: microseconds of processor per request, and of latency, p50 and p99; and those of compilers."""
        self.process.stdin.write(f"{service.port} {clients} {self.rate} {lead} {seconds or self.seconds} /one/{{}}\n")
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


def visit(load, agent, plain, clients, modes):
    """Each mode of a JVM, and one without the agent, forwards and backwards. By mode: means of both, by measure.
    Compilers' time, which may be none, has no part in them."""
    blocks = {}
    for mode in (*modes, *reversed(modes)):
        service, options = (plain, None) if mode == "no agent" else (agent, mode)
        blocks.setdefault(mode, []).append(service.block(load, clients, options)[:len(MEASURES)])
    return {mode: [math.exp(statistics.mean(math.log(value) for value in values)) for values in zip(*each)]
            for mode, each in blocks.items()}


def interval(logarithms):
    """Change in percent, and the interval in which it is; of one value, the change alone."""
    count = len(logarithms)
    if count >= BY_RANKS:
        pairs = sorted((one + other) / 2 for place, one in enumerate(logarithms) for other in logarithms[place:])
        # Of Wilcoxon's signed ranks, by its normal approximation.
        outside = count * (count + 1) / 4 - 1.645 * (count * (count + 1) * (2 * count + 1) / 24) ** 0.5
        first = max(0, math.floor(outside) - 1)
        values = (statistics.median(pairs), pairs[first], pairs[-1 - first])
    elif count > 1:
        mean, wide = statistics.mean(logarithms), T[count - 2] * statistics.stdev(logarithms) / count ** 0.5
        values = (mean, mean - wide, mean + wide)
    else:
        values = logarithms
    return [100 * (math.exp(value) - 1) for value in values]


def verdict(low, high, bound):
    if high <= bound:
        return f"at most {bound} %: holds"
    return f"at most {bound} %: {'DOES NOT HOLD' if low > bound else 'cannot be told'}"


def say(what, changes, bounds):
    """@param changes by measure: logarithms of ratios; bounds: by measure, in percent, or None"""
    print(f"  {what} ({len(changes[0])} values)")
    for (measure, _, _), logarithms, bound in zip(MEASURES, changes, bounds):
        change, *limits = interval(logarithms)
        line = f"    {measure:28} {change:+6.1f} %"
        if limits:
            line += f"   {limits[0]:+6.1f} to {limits[1]:+6.1f} %   {verdict(*limits, bound) if bound else ''}"
        print(line.rstrip())


def ratios(visits, one, other):
    """By measure: of each visit of both."""
    return [[math.log(each[one][measure] / each[other][measure]) for each in visits if one in each and other in each]
            for measure in range(len(MEASURES))]


def say_changes(of_jvms, compared, bound):
    """@param of_jvms visits by JVM; bound: of the agent by default"""
    every = [each for of_jvm in of_jvms for each in of_jvm]
    for one, other, what in compared:
        bounds = (None,) * len(MEASURES) if one == "every response" else (bound, None, bound)
        say(what, ratios(every, one, other), bounds)
    if "no agent" in every[-1]:
        by_jvm = [[statistics.mean(measure) for measure in ratios(of_jvm, "default", "no agent")] for of_jvm in of_jvms]
        say("the agent by default, against JVMs without", list(zip(*by_jvm)), (bound, None, bound))


def say_all(visits, compared, what, bound):
    """@param visits by clients: of each JVM"""
    for clients, of_jvms in visits.items():
        every = [each for of_jvm in of_jvms for each in of_jvm]
        print(f"\n{what}, {clients} clients")
        for mode in every[-1]:
            line = f"  {mode:15}"
            for index, (measure, unit, scale) in enumerate(MEASURES):
                median = statistics.median(each[mode][index] for each in every if mode in each)
                line += f"  {measure} {median / scale:.{0 if scale == 1 else 2}f} {unit}"
            print(line)
        say_changes(of_jvms, compared, bound)
        by_jvm = [interval(ratios(of_jvm, "default", "off")[0])[0] for of_jvm in of_jvms]
        print(f"    JVMs, default against off: {', '.join(f'{change:+.1f}' for change in by_jvm)} % of processor time")
        for mode in ("default", "no agent") if "no agent" in every[-1] else ():
            costs = [math.exp(statistics.mean(math.log(each[mode][0]) for each in of_jvm if "no agent" in each))
                     for of_jvm in of_jvms]
            print(f"    JVMs, {mode}: {', '.join(f'{cost:.0f}' for cost in costs)} us of processor per request")
    if len(visits) > 1:
        print(f"\n{what}, {' and '.join(str(clients) for clients in visits)} clients together")
        say_changes([sum(of_jvm, []) for of_jvm in zip(*visits.values())], compared, bound)


def measure(asked, load, agents, plains, watchpoints):
    """@param plains JVMs without the agent, each with one of `agents`; watchpoints: a JVM; None for both: only the default"""
    visits = {clients: [[] for _ in agents] for clients in asked.clients}
    aimed = {clients: [[]] for clients in asked.clients}
    for number in range(1 + asked.visits):
        # What is on by default is what the hour is to tell of; the rest is rehearsed and then measured in a third of visits.
        is_whole = plains[0] and (number == 0 or (asked.visits - number) % 3 == 0)
        modes = ["no agent", *OPTIONS] if is_whole else ["off", "default"]
        if number % 2:
            modes.reverse()
        for jvm, (agent, plain) in enumerate(zip(agents, plains)):
            for clients in asked.clients:
                visits[clients][jvm].append(visit(load, agent, plain, clients, modes))
        if watchpoints and (asked.visits - number) % 2 == 0:
            for clients in asked.clients:
                aimed[clients][0].append(visit(load, watchpoints, None, clients, ["off", "default"]))
        if number == 0:
            for of_jvms in (*visits.values(), *aimed.values()):
                for of_jvm in of_jvms:
                    of_jvm.clear()
    say_all(visits, COMPARED if plains[0] else COMPARED[:1], "field mask", BOUND)
    if watchpoints:
        say_all(aimed, COMPARED[:1], "watchpoints", BOUND_OF_WATCHPOINTS)


def given():
    parser = argparse.ArgumentParser(description="What the agent for Java costs a service.")
    parser.add_argument("--jvms", type=int, default=3, help="JVMs of each kind")
    parser.add_argument("--visits", type=int, default=6, help="of each JVM")
    parser.add_argument("--seconds", type=int, default=8, help="of a block")
    parser.add_argument("--rate", type=int, default=1200, help="requests per second")
    parser.add_argument("--clients", type=int, nargs="+", default=[16, 200])
    parser.add_argument("--only-default", action="store_true",
                        help="only the agent by default against switched off, by the field mask")
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
            starts(folder, tickets)
        load = run(Load(asked.rate, asked.seconds))
        numbers = range(1, asked.jvms + 1)
        agents = [run(Planner(folder, f"agent-{number}", tickets, "mask")) for number in numbers]
        plains, watchpoints = [None for _ in numbers], None
        if not asked.only_default:
            plains = [run(Planner(folder, f"none-{number}", tickets)) for number in numbers]
            if corners.has_registers():
                watchpoints = run(Planner(folder, "watchpoints", tickets, "watchpoints"))
        for service in filter(None, [*agents, *plains, watchpoints]):
            service.warm(load, asked.clients)
        print(f"{asked.rate} requests a second, in blocks of {asked.seconds} s")
        measure(asked, load, agents, plains, watchpoints)
        print(f"\n{(time.monotonic() - began) / 60:.0f} minutes; load average {os.getloadavg()[1]:.1f} on {os.cpu_count()} "
              "processors (more than 2 means that others disturbed it: latencies say less then)")
    finally:
        for service in running:
            service.process.kill()
            service.process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
