# SPDX-License-Identifier: MIT
"""captures.py - ns of one capture of the whole stack, by each engine and by libunwind, beside each other.

The cell "none" of the same shape is subtracted, so a figure excludes the calls around the capture.
Each round measures every engine once, so that a change of the machine's speed affects all of them.
"""
import statistics
import subprocess

import figures
import goals
from setting import PAIRS, PLAIN, QUICK, Failed, built

LEAST_NS = 1.0  # what is less is within the noise of the calls around it
NO_ENGINE = 4  # exit status of programs/unwind.c
DEPTHS, THREADS = (10, 20, 40), (1, 2, 10)
# name, program, what, engine, captures of a thread
WAYS = [
    ("none", "plain", "none", None, 400000),
    ("cfi, as malloc has it", "plain", "recent", "cfi", 400000),
    ("cfi", "plain", "agent", "cfi", 400000),
    ("fp", "fp", "agent", "fp", 300000),
    ("instrument", "instrument", "agent", "instrument", 300000),
    ("instrument: none", "instrument", "none", "instrument", 300000),
    ("caller", "plain", "agent", "caller", 400000),
    ("libunwind", "plain", "agent", "libunwind", 2000),
    ("unw_backtrace", "plain", "unw_backtrace", None, 100000),
    ("unw_step", "plain", "unw_step", None, 2000),
]
FRESH = {0: "same stack", 3: "3 new frames"}


def one(way, depth, fresh, threads):
    """(ns, frames) or None when the agent does not have the engine."""
    _, program, what, engine, count = way
    environment = {**PLAIN, "MEMTOP_OPTIONS": "listen=none" + (f" unwind={engine}" if engine else "")}
    words = [built(f"unwind-{program}"), what, str(depth), str(fresh), str(threads), str(count // (4 if threads > 2 else 1))]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == NO_ENGINE:
        return None
    if done.returncode:
        raise Failed(f"{' '.join(words)}: status {done.returncode}: {done.stderr[-300:]}")
    return float(done.stdout.split()[1]), int(done.stdout.split()[3])


def shape(depth, fresh, threads, rounds):
    """{way: [ns of each round]}, without the cost of the calls; None for a missing engine."""
    found = {}
    for _ in range(rounds):
        taken = {way[0]: one(way, depth, fresh, threads) for way in WAYS}
        for name, value in taken.items():
            if name == "none" or name.endswith(": none"):
                continue
            empty = taken.get(f"{name}: none") or taken["none"]
            found.setdefault(name, []).append(max(value[0] - empty[0], LEAST_NS) if value else None)
    return {name: None if values[0] is None else values for name, values in found.items()}


def engine_rows():
    rounds = min(PAIRS, 3 if QUICK else 7)
    lines, best = [], {}
    for fresh, title in FRESH.items():
        cells, names = {}, []
        for threads in THREADS:
            for depth in DEPTHS:
                for name, values in shape(depth, fresh, threads, rounds).items():
                    cells[name, depth, threads] = values
                    names.append(name)
            print(f"  captures: {title}, {threads} threads done", flush=True)
        names = list(dict.fromkeys(names))
        head = [f"{title}: ns of a cpu", *(f"d{d} {t}T" for t in THREADS for d in DEPTHS)]
        rows = [(n, *("not in this build" if cells[n, d, t] is None else f"{statistics.median(cells[n, d, t]):.0f}"
                      for t in THREADS for d in DEPTHS)) for n in names]
        lines += figures.table(head, rows)
        best[fresh] = cells
        rows = []
        for n in names:
            row = [n]
            for d in DEPTHS:
                for reference in ("unw_step", "unw_backtrace"):
                    mine = cells[n, d, 1]
                    row.append("" if mine is None else figures.text(figures.interval(
                        [theirs / ours for theirs, ours in zip(cells[reference, d, 1], mine)]), 1))
            rows.append(row)
        lines += figures.table([f"{title}, one thread: times as many captures a second as", *(
            f"{r} d{d}" for d in DEPTHS for r in ("unw_step", "unw_backtrace"))], rows)
    for fresh, title in FRESH.items():
        for engine, how in (("cfi, as malloc has it", ", as malloc has it"), ("cfi", "")):
            i = figures.interval([theirs / ours for theirs, ours in zip(best[fresh]["unw_step", 20, 1], best[fresh][engine, 20, 1])])
            lines.append(f"- {engine}, {title}, depth 20: {figures.text(i, 0)} times unw_step; "
                         f"{goals.judge(f'captures, {title}{how}: times unw_step', i, 0)}")
    return [*lines, ""]
