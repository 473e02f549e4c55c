#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bench.py - memtop's cost compared with other tools: the tables of RESULTS.md.

    make bench [ROWS="clang++ trees"] [TOOLS="memtop heaptrack"] [QUICK=1] [PAIRS=n] [DURATION=s] [HOUR=1]

Each figure is a ratio or a difference of two runs of one round, plain and under a tool (turns.py): the median of 15
rounds with its 95 % interval. The interval is between order statistics of the rounds, which is right whatever the
distribution is; no run is dropped. A bound is met or missed when the whole interval lies on one side of it, else
undecided. What must be reached is in goals.py; a run ends with the list of rows that miss it.

ROWS and TOOLS choose. QUICK=1: 5 rounds; PAIRS=n: n. DURATION=s, HOUR=1: how long redis-server's memory is watched
(120 s). A run of at least 15 rounds with all rows and tools writes RESULTS.md and the figures of README.md from it; any
other only prints.
"""
import os
import shutil
import signal
import sys
import time

import captures
import detached
import goals
import million
import pairs
import readme
import redis
import screen
from runs import Programs
from setting import FOLDER, PAIRS, QUICK, Failed, machine
from tools import ALL
from workloads import everything

ENOUGH = 15
TOOLS = os.environ.get("TOOLS", "").replace(",", " ").split()
ROWS = [*os.environ.get("ROWS", "").replace(",", " ").split(), *sys.argv[1:]]
WHOLE = not ROWS and not TOOLS
SECONDS = 3600 if os.environ.get("HOUR") else int(os.environ.get("DURATION") or (20 if QUICK else 120))


def wanted(row):
    return not ROWS or row in ROWS or any(row.startswith(r + "-") for r in ROWS)


def chosen(*names):
    """In this order; all tools that are wanted."""
    return [ALL[n] for n in names if not TOOLS or n in TOOLS]


def programs():
    p = Programs()
    for workload in filter(lambda w: wanted(w.name), everything()):
        p.program(workload, chosen("memtop", *workload.tools, "heaptrack"))
    return [*p.table(), *p.together()] if p.rows else []


SECTIONS = [
    ("Programs", None, "programs that run to their end: time, cpu, peak memory", programs),
    ("A server", "redis", "redis-server under a pipelined load, under each tool", lambda: redis.load_rows(
        chosen("memtop", "memtop-sampled", "memtop-viewer", "forward", "capture", "heaptrack"))),
    ("A server with nothing to do", "idle", "redis-server at rest: cpu of it and of the agent's server", redis.idle_rows),
    ("Viewers", "viewers", "cpu of the agent's server with 0, 1 and 10 viewers", redis.viewer_rows),
    ("One pair", "pair", "ns that a malloc+free pair takes longer, depth 10 and 30, one and two threads", lambda: pairs.time_rows(
        chosen("memtop", "memtop-sampled", "memtop-caller", "forward", "heaptrack"))),
    ("After a detach", "detached", "the same before memtop attach, under it, and after memtop detach", detached.rows),
    ("Instructions of one pair", "instructions", "counted by callgrind, also with 3 new frames", pairs.instruction_rows),
    ("A million call paths", "million", "blocks that have no stack by default", million.rows),
    ("Captures", "unwind", "ns of a stack by each engine and by libunwind", captures.engine_rows),
    ("Start", "start", "ms that the start of a program takes longer", lambda: pairs.start_rows(
        chosen("memtop", "forward", "capture", "heaptrack"))),
    ("Short cuts of programs with one thread", "shortcuts", "of libc and libstdc++: still taken?", pairs.shortcut_rows),
    ("The screen", "screen", "key to answer, memory, first screen and cpu, with a million call paths", screen.rows),
    ("The agent's memory", "memory", "over time: many stacks, and redis-server", lambda: redis.memory_rows(SECONDS)),
]


def rows_there_are():
    """(name, what it is) of all that ROWS takes."""
    yield from ((w.name, w.what) for w in everything())
    yield from ((name, what) for _, name, what, _ in SECTIONS if name)


def usage():
    print(__doc__)
    print("Rows; the part before a - chooses all that begin so:\n")
    for name, what in rows_there_are():
        print(f"    {name:14} {what}")
    print("\nTools, each beside the plain program:\n")
    for tool in ALL.values():
        print(f"    {tool.name:18} {tool.what}")


def refuse_unknown():
    names = [name for name, _ in rows_there_are()]
    unknown = [t for t in TOOLS if t not in ALL] + [r for r in ROWS if not any(n == r or n.startswith(r + "-") for n in names)]
    if unknown:
        sys.exit(f"bench: no such row or tool: {', '.join(unknown)}; tools: {', '.join(ALL)}; rows: {', '.join(names)}")


def measure():
    """(lines of all sections, how long each took)"""
    lines, took = [], []
    for title, name, _, rows in SECTIONS:
        if name and not wanted(name):
            continue
        begin = time.monotonic()
        print(f"{title} ...", flush=True)
        try:
            found = rows()
        except (Failed, OSError) as error:
            found = [f"failed: {error}", ""]
        if found:
            lines += [f"## {title}", "", *found]
            took.append((title, (time.monotonic() - begin) / 60))
    return lines, took


def main():
    refuse_unknown()
    head = ["# What watching costs", "", "Written by `make bench`; never edited. Ratios to the plain run of the same round: median "
            f"[95 % interval] of {PAIRS} rounds{', too few for 95 %: the whole range' if PAIRS < 6 else ''}. "
            "A bound is met or missed when the whole interval says so, else undecided.", "", *machine(),
            *(f"- {t.name}: {t.what}" for t in ALL.values()), ""]
    lines, took = measure()
    chief, short = goals.chief(WHOLE), goals.short(WHOLE)
    if chief or short:
        head += ["## Figures to reach", "", *chief, *short]
    lines.append(f"Took {sum(m for _, m in took):.0f} minutes: " + ", ".join(f"{title} {m:.1f}" for title, m in took) + ".")
    text = "\n".join(head + lines) + "\n"
    print("\n" + text)
    if PAIRS >= ENOUGH and WHOLE:
        with open(readme.RESULTS, "w", encoding="utf-8") as f:
            f.write(text)
        readme.write()
        print("written: tests/bench/RESULTS.md, and README.md's figures from it\n")
    print("\n".join(short))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended from outside"))  # what it started and wrote goes, too
    try:
        if "--help" in sys.argv:
            usage()
        else:
            main()
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
