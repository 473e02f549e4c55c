# SPDX-License-Identifier: MIT
"""figures.py - statistics of a list of measurements (median, interval, verdict), and
tables."""
import math
import statistics
from collections import namedtuple

Interval = namedtuple("Interval", "median low high")


def interval(values):
    """The median, and the order statistics that enclose it with 95 % whatever the distribution is.

    With fewer than six values no two of them do: the whole range is returned (five: 94 %).
    """
    v, n, below, tail = sorted(values), len(values), 0, 0.0
    while below + 1 <= n // 2:
        tail += math.comb(n, below) / 2 ** n
        if tail > 0.025:
            break
        below += 1
    edge = max(below - 1, 0)
    return Interval(statistics.median(v), v[edge], v[n - 1 - edge])


def verdict(i, target, at_least=False):
    """Against a target that is an upper bound (or a lower one): only a whole interval decides."""
    low, high = (-i.high, -i.low) if at_least else (i.low, i.high)
    bound = -target if at_least else target
    return "met" if high <= bound else "missed" if low > bound else "undecided"


def exact(value):
    """Of a count that is the same each time."""
    return Interval(value, value, value)


def text(i, digits=2):
    if i.low == i.high:
        return f"{i.median:.{digits}f}"
    return f"{i.median:.{digits}f} [{i.low:.{digits}f} {i.high:.{digits}f}]"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def table(head, rows):
    """Lines of a markdown table; the first column is text, the others are figures."""
    rule = "|---|" + "---:|" * (len(head) - 1)
    return ["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(map(str, r)) + " |" for r in rows), ""]


def plot(title, points, unit, height=10, width=72):
    """Values over time as lines of text: columns are the means of equal parts of the time."""
    begin, end = points[0][0], points[-1][0]
    parts = [[] for _ in range(min(width, len(points)))]
    for at, value in points:
        parts[min(int((at - begin) / (end - begin or 1) * len(parts)), len(parts) - 1)].append(value)
    shown, last = [], 0.0
    for part in parts:
        last = sum(part) / len(part) if part else last
        shown.append(last)
    top = max(shown) or 1
    lines = [f"{title} (highest {top:.1f} {unit}, {end - begin:.0f} s)"]
    for row in range(height, 0, -1):
        label = f"{top * row / height:8.1f} |"
        lines.append(label + "".join("#" if v >= top * (row - 0.5) / height else " " for v in shown).rstrip())
    return ["```", *lines, "         +" + "-" * len(shown), "```", ""]
