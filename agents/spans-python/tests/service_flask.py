"""A Flask application that sets up no SDK: `opentelemetry-instrument` does, and instruments Flask and threads.

One thread for each request, a thread pool behind them. Serves until its input ends.
"""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from flask import Flask
from opentelemetry import trace
from werkzeug.serving import make_server

from work import work, write_truth

app = Flask("shop")
tracer = trace.get_tracer("shop")
pool = ThreadPoolExecutor(3)
stock = threading.Lock()


def price(parent):
    work(parent)
    with tracer.start_as_current_span("price") as span:
        work(span)
        time.sleep(0.001)
        work(span)
    work(parent)


@app.get("/")
def order():
    span = trace.get_current_span()
    work(span)
    with tracer.start_as_current_span("reserve") as reserve, stock:
        work(reserve)
        with tracer.start_as_current_span("write") as write:
            work(write)
        work(reserve)
    work(span)
    answers = [pool.submit(price, span) for _ in range(2)]
    for answer in answers:
        answer.result()
    work(span)
    return "done"


server = make_server("127.0.0.1", 0, app, threaded=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.port, file=open(__import__("os").environ["PORT"], "w"), flush=True)
sys.stdin.read()
server.shutdown()
write_truth()
