"""A shop on Flask, one thread for each request: orders write a journal under one lock; every 25th makes the journal
safe on the disk while it holds the lock, and the others wait for it. Knows nothing of tracing.

    shop.py serve ORDERS JOURNAL | shop.py order ORDERS

Ends with a line for each order: its thread, when it asked for the lock, got it and gave it back (nanoseconds
since the epoch), and 1 where it wrote to the disk.
"""

import itertools
import os
import sys
import threading
import time
import urllib.error
import urllib.request

PORT = int(os.environ.get("PORT", "18290"))
MEGABYTE = b"-" * (1 << 20)


def serve(orders, journal_path):
    from flask import Flask
    from werkzeug.serving import make_server

    shop = Flask("shop")
    journal = open(journal_path, "wb")
    journal_lock = threading.Lock()
    served = itertools.count(1)
    closing = threading.Event()
    done = []

    @shop.get("/order/<int:number>")
    def order(number):
        safe = number % 25 == 24
        asked = time.time_ns()
        with journal_lock:
            locked = time.time_ns()
            journal.write(b"order %d\n" % number)
            if safe:
                checkpoint()
            done.append((threading.get_native_id(), asked, locked, time.time_ns(), int(safe)))
        if next(served) == orders:
            closing.set()
        return "done"

    def checkpoint():
        for _ in range(16):
            journal.write(MEGABYTE)
        journal.flush()
        os.fsync(journal.fileno())

    server = make_server("127.0.0.1", PORT, shop, threaded=True)
    server.daemon_threads = False
    threading.Thread(target=server.serve_forever).start()
    closing.wait()
    server.shutdown()
    server.server_close()
    for order in done:
        print(*order)


def order_all(orders):
    numbers = iter(range(orders))
    taking = threading.Lock()

    def customer():
        while True:
            with taking:
                number = next(numbers, None)
            if number is None:
                return
            for tries in itertools.count():
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{PORT}/order/{number}", timeout=60).read()
                    break
                except urllib.error.URLError as cause:  # the shop may not have opened yet
                    if not isinstance(cause.reason, ConnectionRefusedError) or tries == 300:
                        raise
                    time.sleep(0.1)

    customers = [threading.Thread(target=customer) for _ in range(6)]
    for thread in customers:
        thread.start()
    for thread in customers:
        thread.join()


if sys.argv[1] == "serve":
    serve(int(sys.argv[2]), sys.argv[3])
else:
    order_all(int(sys.argv[2]))
