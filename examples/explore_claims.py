"""What the checks of explorations have in common: claims that hold, are wrong, or are not shown.

An exploration says how sure it is of every mean. A claim on means holds where their intervals say so, and is not shown
where noise leaves it open: that is no failure, and no success either. Not a program.
"""

import math
import sys


def group(results, metric, is_of):
    """The mean of the means of all configurations for which `is_of` holds, and half the width of its interval."""
    rows = [row["metrics"][metric] for row in results["configurations"] if is_of(row["configuration"]) and metric in row["metrics"]]
    if not rows or any(row["half_width"] is None for row in rows):
        return (math.nan, math.nan)
    return (
        sum(row["mean"] for row in rows) / len(rows),
        math.sqrt(sum(row["half_width"] ** 2 for row in rows)) / len(rows),
    )


def is_less(one, other, factor=1.0):
    """Whether one group's mean is less than `factor` times another's; None where their intervals do not say."""
    difference = factor * other[0] - one[0]
    half = math.hypot(one[1], factor * other[1])
    return None if not abs(difference) > half else difference > 0


def is_best(results, is_of):
    """Whether `is_of` holds of the best configuration; None where one with which it is otherwise cannot be told from it."""
    rows = results["configurations"]
    known = {is_of(row["configuration"]) for row in rows if row["standing"] in ("best", "not-told-apart", "no-interval")}
    return known.pop() if len(known) == 1 else None


def tell(claims):
    """Prints every claim; ends with status 1 where one is wrong."""
    words = {True: "holds", False: "WRONG", None: "not shown"}
    for claim, verdict in claims:
        print(f"{words[verdict]}: {claim}")
    sys.exit(any(verdict is False for _, verdict in claims))
