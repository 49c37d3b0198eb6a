"""Measures what the agent costs a server: its processor time for each GET, by redis-benchmark, over that of a
stock server in the same round. The variants take turns, in another order and with new servers each round, as
one process is faster than the next for reasons of its own. Prints medians, and what the best rounds differ by,
which a busy machine disturbs least; no pass or fail.

ROUNDS and REQUESTS come from the environment."""

import os
import shutil
import statistics
import subprocess

from redis_server import LITE, Recording, Server

ROUNDS = int(os.environ.get("ROUNDS", "9"))
REQUESTS = int(os.environ.get("REQUESTS", "200000"))
DEPTHS = {1: REQUESTS, 16: 5 * REQUESTS}
LIFECYCLE = ("start_read_client_query", "end_read_client_query", "call_command_start", "call_command_end",
             "write_to_client_start", "write_to_client_end")  # fmt: skip
VARIANTS = {"stock": None, "loaded, not recorded": None, "lite": LITE, "life cycle": LIFECYCLE}


def processor_ns(pid):
    """Of all threads, those of LTTng among them."""
    tasks = f"/proc/{pid}/task"
    return sum(int(open(f"{tasks}/{task}/schedstat").read().split()[0]) for task in os.listdir(tasks))


def resident_kb(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def benchmark(server, depth, requests):
    """Nanoseconds of the server's processor time for each request."""
    begin = processor_ns(server.pid)
    subprocess.run(
        ["redis-benchmark", "-p", str(server.port), "-t", "get", "-c", "50", "-P", str(depth), "-n", str(requests),
         "-q"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return (processor_ns(server.pid) - begin) / requests


def measure(variant, depth):
    with Server(agent=variant != "stock") as server:
        if variant != "stock":
            server.settle()
        benchmark(server, depth, 5000)
        events = VARIANTS[variant]
        if not events:
            return benchmark(server, depth, DEPTHS[depth]), resident_kb(server.pid)
        recording = Recording(server, *events)
        recording.start()
        benchmark(server, depth, 5000)
        assert server.changed_code() > 0
        cost = benchmark(server, depth, DEPTHS[depth])
        recording.stop()
        shutil.rmtree(recording.folder)
        return cost, resident_kb(server.pid)


def main():
    costs = {(variant, depth): [] for variant in VARIANTS for depth in DEPTHS}
    memory = {variant: [] for variant in VARIANTS}
    for turn in range(ROUNDS):
        for depth in DEPTHS:
            order = list(VARIANTS)
            order = order[turn % len(order) :] + order[: turn % len(order)]
            for variant in order:
                cost, resident = measure(variant, depth)
                costs[variant, depth].append(cost)
                memory[variant].append(resident)
    print(f"{ROUNDS} rounds; processor load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for depth, requests in DEPTHS.items():
        stock = costs["stock", depth]
        print(f"depth {depth}, {requests} GETs, 50 connections: stock {statistics.median(stock):.0f} ns each")
        for variant in list(VARIANTS)[1:]:
            more = [cost - of_stock for cost, of_stock in zip(costs[variant, depth], stock)]
            percent = statistics.median(100 * m / s for m, s in zip(more, stock))
            quarter = statistics.quantiles(more, n=4)
            print(f"  {variant:22} {statistics.median(more):+6.0f} ns ({percent:+.1f} %), "
                  f"half of the rounds {quarter[0]:+.0f} to {quarter[2]:+.0f} ns, "
                  f"best rounds {min(costs[variant, depth]) - min(stock):+.0f} ns")  # fmt: skip
    for variant in list(VARIANTS)[1:]:
        more = statistics.median(memory[variant]) - statistics.median(memory["stock"])
        print(f"memory, {variant}: {more / 1024:+.1f} MB")


if __name__ == "__main__":
    main()
