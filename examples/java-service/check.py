"""Holds what slowpath says about the recording of run.sh against what the service wrote down itself.

Claims of requests that are known by name and thread, of the lock and of the disk; not of how fast
anything is. examples/locked.py has those that the Python service shares.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import check
import locked


def claims(folder):
    """Pairs of a claim and whether it holds."""
    findings, requests = check.answers(folder, "orders")
    orders = locked.orders(check.truth(folder), requests)
    yield from locked.claims(orders, requests, findings, "orders", "GET /order")
    handed = [order for order in orders if order.request and len(order.tids) == 2]
    yield f"each is followed from the receiver to the worker that the service names: {len(handed)}", (
        len(handed) == len(orders) > 0
    )


if __name__ == "__main__":
    check.told(claims(sys.argv[1]))
