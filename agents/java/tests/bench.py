"""What the agent costs (README.md): a single response; then a real Spring Boot service: its start, processor time per
request by /proc, and latencies that clients see, without the agent, with it, where its options change while the service
runs, and with watchpoints. Modes take turns, forwards and backwards; ratios compare with `no agent` of the same round.
The last mode is that once more: what differs there is noise. Eleven minutes.
    bench.py [ROUNDS [SECONDS_OF_A_RUN [REQUESTS_PER_SECOND]]]"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
AGENT = HERE.parent / "target/slowpath-transfers.jar"
CLASSES = HERE.parent / "target/test-classes"
SERVICES = HERE / "services/target/services.jar"
GIVEN = [int(given) for given in sys.argv[1:]]
ROUNDS, SECONDS, RATE = GIVEN + [8, 5, 400][len(GIVEN):]
STARTS = 5
CLIENTS = (16, 200)
# Which service is asked, and the agent's options there that change while it runs.
MODES = {
    "no agent": ("plain", None),
    "counts only": ("mask", "rate=0"),
    "default: 20 looks a second": ("mask", ""),
    "a look at every response": ("mask", "arms-per-second=1000000"),
    "watchpoints, default": ("watchpoints", ""),
    "no agent again": ("plain", None),
}


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

    def processor_seconds(self):
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


class Load:
    """Clients, in a process that lives on, so that it is warm."""

    def __init__(self):
        self.process = subprocess.Popen(["java", "-cp", CLASSES, "load.Load"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def run(self, service, clients, seconds=SECONDS):
        """Of the service: microseconds of processor per request, and latency, p50 and p99."""
        before = service.processor_seconds()
        self.process.stdin.write(f"{service.port} {clients} {RATE} {seconds} /one/{{}}\n")
        self.process.stdin.flush()
        requests, failures, p50, p99 = (int(word) for word in self.process.stdout.readline().split())
        if failures:
            raise SystemExit(f"{failures} of {clients} clients failed")
        return 1e6 * (service.processor_seconds() - before) / requests, p50, p99


def agent_of(folder, backend):
    options = (f"config={folder}/options-{backend},report={folder}/report-{backend}.jsonl,report-every=0.5,"
               f"samples=1000000,backend={backend}")
    return [f"-javaagent:{AGENT}={options}"]


def singles(folder):
    """What one response costs, with thirty frames between servlet and client, and nothing else done for the request."""
    for name, options in (("nothing is counted", None), ("counted, path by Java", "rate=0,call-paths=java"),
                          ("counted", "rate=0"), ("counted and looked into", "arms-per-second=1000000")):
        agent = [] if options is None else [
            f"-javaagent:{AGENT}=report={folder}/single.jsonl,samples=1000000,remote=load.Single#fetch,{options}"]
        # Collections so often that objects are not too many to be watched.
        ran = subprocess.run(["java", "-XX:+UseSerialGC", "-Xmx256m", "-Xmn4m", *agent, "-cp", CLASSES, "load.Single",
                              "100000"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        print(f"a request with one response, {name}: {int(ran.stdout) / 1000:.1f} us")


def starts(folder, arguments):
    seconds = {"no agent": [], "agent": []}
    for _ in range(STARTS):
        for name, agent in (("no agent", ()), ("agent", agent_of(folder, "mask"))):
            service = Service(folder, "planner", *arguments, agent=agent)
            seconds[name].append(service.start_seconds)
            service.stop()
    for name, each in seconds.items():
        print(f"start, {name}: median {statistics.median(each):.2f} s, {min(each):.2f} to {max(each):.2f} s")


def measure(folder, load, services):
    """By number of clients and mode: what each round gave."""
    def set_options(mode):
        name, options = MODES[mode]
        if options is not None:
            (folder / f"options-{name}").write_text(options)
            time.sleep(1.2)  # until the agent has read them
        return services[name]

    for mode in [*MODES, *MODES]:
        load.run(set_options(mode), 16, seconds=5)  # compilers
    results = {(clients, mode): [] for clients in CLIENTS for mode in MODES}
    for number in range(ROUNDS):
        for mode in (list(MODES) if number % 2 == 0 else list(reversed(MODES))):
            service = set_options(mode)
            for clients in CLIENTS:
                results[clients, mode].append(load.run(service, clients))
    return results


def mean(ratios):
    """'+1.2 ± 0.4 %': mean and standard error of ratios."""
    error = statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else float("nan")
    return f"{100 * (statistics.mean(ratios) - 1):+6.1f} ± {100 * error:.1f} %"


def say(results):
    for clients in CLIENTS:
        print(f"\n{clients} clients, {RATE} requests/s, {ROUNDS} runs of {SECONDS} s each\n"
              f"{'':28} {'CPU/request':>12} {'':>16} {'p50':>9} {'':>16} {'p99':>9}")
        for mode in MODES:
            line = f"{mode:28}"
            for value, unit, scale in ((0, "us", 1), (1, "ms", 1000), (2, "ms", 1000)):
                own = [run[value] for run in results[clients, mode]]
                plain = [run[value] for run in results[clients, "no agent"]]
                ratio = mean([one / other for one, other in zip(own, plain)]) if mode != "no agent" else ""
                line += f" {statistics.median(own) / scale:8.{0 if scale == 1 else 2}f} {unit} {ratio:>16}"
            print(line)


def main():
    folder = Path(tempfile.mkdtemp())
    running = []
    try:
        singles(folder)
        tickets = Service(folder, "tickets")
        running.append(tickets)
        arguments = [f"--tickets=http://localhost:{tickets.port}"]
        for backend in ("mask", "watchpoints"):
            (folder / f"options-{backend}").write_text("")
        starts(folder, arguments)
        services = {}
        for name in ("plain", "mask", "watchpoints"):
            agent = () if name == "plain" else agent_of(folder, name)
            services[name] = Service(folder, f"planner-{name}", *arguments, agent=agent)
            running.append(services[name])
            if "slowpath:" in services[name].log.read_text():
                print(f"{name}: {services[name].log.read_text()}")
        load = Load()
        running.append(load)
        say(measure(folder, load, services))
        print(f"\nload average {os.getloadavg()[1]:.1f} on {os.cpu_count()} processors: "
              "more than this benchmark means that others disturbed it")
    finally:
        for process in running:
            process.process.kill()
            process.process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
