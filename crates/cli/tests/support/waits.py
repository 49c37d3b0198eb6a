"""Waits in calls that are known, some times each, one after the other: prints their names."""
import os
import select
import subprocess
import threading
import time

TIMES = 10
SECONDS = 0.004


def for_a_lock():
    lock = threading.Lock()
    for _ in range(TIMES):
        lock.acquire()
        threading.Timer(SECONDS, lock.release).start()
        with lock:
            pass
    return "futex"


def for_a_pipe(wait):
    reading, writing = os.pipe()
    for _ in range(TIMES):
        threading.Timer(SECONDS, os.write, (writing, b"x")).start()
        wait(reading)
    return reading


def for_an_answer():
    for_a_pipe(lambda reading: os.read(reading, 1))
    return "read"


def for_any_answer():
    def wait(reading):
        poll = select.poll()
        poll.register(reading, select.POLLIN)
        poll.poll()
        os.read(reading, 1)
    for_a_pipe(wait)
    return "poll"


def for_a_time():
    for _ in range(TIMES):
        time.sleep(SECONDS)
    return "clock_nanosleep"


def for_a_child():
    for _ in range(TIMES):
        subprocess.run(["sleep", str(SECONDS)], check=True)
    return "wait4"


print(for_a_lock(), for_an_answer(), for_any_answer(), for_a_time(), for_a_child())
