"""Holds what slowpath says about the recording of run.sh against what the shop wrote down itself.

Claims of requests that are known by name and thread, of the lock and of the disk; not of how fast
anything is. What it shares with the Java service's is in examples/locked.py.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import check
import locked


def claims(folder):
    """Pairs of a claim and whether it holds."""
    findings, requests = check.answers(folder, "shop")
    orders = locked.orders(check.truth(folder), requests)
    yield from locked.claims(orders, requests, findings, "shop", "GET /order/<int:number>")
    alone = [order for order in orders if order.request and len(order.tids) == 1]
    yield f"each is served by the thread that the shop names, alone: {len(alone)}", len(alone) == len(orders) > 0


if __name__ == "__main__":
    check.told(claims(sys.argv[1]))
