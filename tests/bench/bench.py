#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bench.py - memtop's cost compared with other tools: the tables of RESULTS.md.

Each figure is the ratio of two consecutive runs, plain and under a tool (A B A B ...), so that a
change of the machine's speed affects both. The script prints the median of the pairs and its 95 %
interval (order statistics) and drops no run. A target is met or missed when the whole interval lies
on one side of it, else undecided. Failed runs are reported.

    make bench [QUICK=1] [PAIRS=n] [ROWS=lua,perl,...] [TOOLS=memtop,...] [DURATION=s] [HOUR=1]

A run of at least 15 pairs with all rows and tools writes RESULTS.md; any other only prints.
"""
import os
import shutil
import sys
import time

import captures
import detached
import figures
import instructions
import redis
import screen
import tools
from setting import BUILD, FOLDER, HERE, PAIRS, QUICK, Failed, agent_environment, built, machine, output
from tools import ALL, PLAIN_TOOL
from workloads import SLOW, everything

RESULTS = os.path.join(HERE, "RESULTS.md")
ENOUGH = 15
TOOLS = [t for t in os.environ.get("TOOLS", "").split(",") if t]
ROWS = [*[r for r in os.environ.get("ROWS", "").split(",") if r], *sys.argv[1:]]
SECONDS = 3600 if os.environ.get("HOUR") else int(os.environ.get("DURATION") or (20 if QUICK else 120))


def wanted(row):
    return not ROWS or row in ROWS or any(row.startswith(r + "-") for r in ROWS)


def chosen(names):
    return [ALL[n] for n in ALL if n in names and (not TOOLS or n in TOOLS)]


class Programs:
    """The rows of programs that run to their end. pairs[row, tool] = a list of (time, cpu, peak) ratios."""

    def __init__(self):
        self.pairs, self.rows, self.real = {}, [], []

    def judge(self, workload, tool, columns):
        said = []
        for column, what in zip(columns, ("time", "cpu", "peak")):
            bound = getattr(workload, what)
            if tool.name == "memtop" and bound:
                said.append(f"{what} {figures.verdict(column, bound)} ({bound})")
        if tool.name == "memtop-sampled":
            said.append(f"time {figures.verdict(columns[0], 1.03)} (1.03)")
        return ", ".join(said)

    def one(self, workload, tool):
        """The table row of a program under a tool."""
        why = tool.missing()
        if why:
            return (workload.name, tool.name, "not in this build", "", "", "", "")
        command = workload.small if workload.small and tool.name in SLOW else workload.command
        pairs, plain, note = [], [], ""
        try:
            if tool.name == "heaptrack":
                note = self.heaptrack(command)
            for _ in range(PAIRS):
                a, b = tools.run(PLAIN_TOOL, command), tools.run(tool, command)
                plain.append(a.cpu)
                pairs.append([y / max(x, 1e-6) for x, y in zip(a, b)])
        except Failed as error:
            return (workload.name, tool.name, "failed: " + " ".join(str(error).split())[-120:].replace("|", "/"), "", "", "", "")
        self.pairs[workload.name, tool.name] = pairs
        columns = [figures.interval(c) for c in zip(*pairs)]
        judged = "; ".join(filter(None, (self.judge(workload, tool, columns), note)))
        return (workload.name, tool.name, f"{figures.interval(plain).median:.2f}", *map(figures.text, columns), judged)

    def heaptrack(self, command):
        """That it saw the program; and the peak of the target, which the column does not show."""
        blocks = tools.blocks_by_memtop(command)
        seen, own_kib = tools.heaptrack_saw(command)
        if seen < blocks * 0.9:
            raise Failed(f"heaptrack saw {seen} of {blocks} blocks: its figures say nothing")
        plain = tools.run(PLAIN_TOOL, command).peak
        return f"saw {seen} of {blocks} blocks; the target's own peak {own_kib / plain:.2f}"

    def run(self):
        for workload in everything():
            if not wanted(workload.name):
                continue
            if workload.real:
                self.real.append(workload.name)
            for tool in chosen(("memtop", "heaptrack", *workload.tools)):
                self.rows.append(self.one(workload, tool))
                print("  " + " | ".join(map(str, self.rows[-1])), flush=True)

    def together(self):
        """Sentences over the six real programs."""
        lines, six = [], [n for n in self.real if (n, "memtop") in self.pairs]
        if len(six) == 6:
            means = [figures.geometric_mean([self.pairs[n, "memtop"][k][0] for n in six]) for k in range(PAIRS)]
            i = figures.interval(means)
            lines.append(f"- six real programs, geometric mean of time: {figures.text(i)}; target 1.12: {figures.verdict(i, 1.12)}")
        both = [n for n in six if (n, "heaptrack") in self.pairs]
        if len(both) == 6:
            parts = []
            for k in range(PAIRS):
                mine = [self.pairs[n, "memtop"][k][1] - 1 for n in both]
                theirs = [self.pairs[n, "heaptrack"][k][1] - 1 for n in both]
                parts.append(figures.interval([m / t for m, t in zip(mine, theirs)]).median)
            i = figures.interval(parts)
            lines.append(f"- added cpu as a part of heaptrack's, median of the six: {figures.text(i, 3)}; target 1/12 = 0.083: "
                         f"{figures.verdict(i, 1 / 12)}")
        return [*lines, ""] if lines else []

    def table(self):
        head = ["program: tool", "plain cpu, s", "time", "cpu of all processes", "peak memory, largest process", "target"]
        return figures.table(head, [(f"{r[0]}: {r[1]}", *r[2:]) for r in self.rows])


def programs():
    p = Programs()
    p.run()
    return [*p.table(), *p.together()] if p.rows else []


def pair_rows():
    """ns that a pair of malloc and free takes each thread, on one repeated stack."""
    chosen_tools = [t for t in chosen(("forward", "memtop", "memtop-sampled", "memtop-caller", "heaptrack")) if not t.missing()]
    rows = []
    for tool in chosen_tools:
        cells, added = {}, {}
        for depth in (10, 30):
            for _ in range(PAIRS):
                for threads in (1, 2):
                    count = 2000000 if tool.name == "heaptrack" else 10000000
                    words = [built("pairs"), str(count), str(depth), "0", str(threads)]
                    a, b = (nanoseconds(t, words) for t in (PLAIN_TOOL, tool))
                    cells.setdefault((depth, threads), []).append(b)
                    added.setdefault((depth, threads), []).append(b - a)
        for depth, target in ((10, 8), (30, 15)):
            plus = figures.interval(added[depth, 1])
            two = figures.interval([y / x for x, y in zip(cells[depth, 1], cells[depth, 2])])
            judged = tool.name == "memtop"
            rows.append((f"{tool.name}, depth {depth}", f"{figures.interval(cells[depth, 1]).median:.1f}",
                         figures.text(plus, 1), f"{figures.verdict(plus, target)} ({target})" if judged else "",
                         figures.text(figures.interval(added[depth, 2]), 1), figures.text(two),
                         f"{figures.verdict(two, 1.2)} (1.2)" if judged else ""))
            print(f"  pair {rows[-1]}", flush=True)
    return figures.table(["ns per malloc+free pair", "one thread", "added", "target", "added, two threads",
                          "two threads: each to one alone", "target"], rows)


def nanoseconds(tool, words):
    said = output(["/usr/bin/env", *(f"{k}={v}" for k, v in tool.environment.items()), *words]) if not tool.prefix else \
        output(tool.prefix + words)
    tools.remove_heaptrack_files()
    return float(next(line for line in said.splitlines() if line.startswith("ns ")).split()[1])


def start_rows():
    """ms that the start of /bin/true takes longer."""
    rows = []
    for tool in chosen(("forward", "memtop", "capture", "heaptrack")):
        times, added = 3 if tool.name == "heaptrack" else 40, []
        for _ in range(PAIRS):
            a, b = (tools.run(t, ["/bin/true"], times).wall * 1000 for t in (PLAIN_TOOL, tool))
            added.append(b - a)
        i = figures.interval(added)
        rows.append((tool.name, figures.text(i), f"{figures.verdict(i, 1.0)} (1)" if tool.name == "memtop" else ""))
        print(f"  start {rows[-1]}", flush=True)
    return figures.table(["start of /bin/true", "added, ms", "target"], rows)


def shortcut_rows():
    """What libc and libstdc++ do faster with one thread: still so under the agent?"""
    said = {}
    for _ in range(PAIRS):
        for name, environment in (("plain", {}), ("memtop", agent_environment())):
            text = output(["/usr/bin/env", *(f"{k}={v}" for k, v in environment.items()), built("shortcuts")])
            for line in text.splitlines():
                what, value = line.split()
                said.setdefault(what, {}).setdefault(name, []).append(float(value))
    rows = []
    for what, by in said.items():
        if what == "single_threaded":
            continue
        ratio = figures.interval([b / a for a, b in zip(by["plain"], by["memtop"])])
        rows.append((what, *(figures.text(figures.interval(by[n]), 1) for n in ("plain", "memtop")), figures.text(ratio)))
    single = all(v == 1 for v in said["single_threaded"]["memtop"])
    return [*figures.table(["ns each, one thread", "plain", "memtop", "ratio"], rows),
            f"`__libc_single_threaded` under the agent: {'true in every run' if single else 'FALSE'}", ""]


def redis_rows():
    """The server's cpu under a pipelined load."""
    return redis.load_rows(chosen(("forward", "memtop", "memtop-viewer", "memtop-sampled", "capture", "heaptrack")))[0]


def instruction_rows():
    return figures.table(["instructions per malloc+free pair (callgrind)", *instructions.SHAPES],
                         instructions.rows(instructions.added(BUILD)))


SECTIONS = [
    ("Programs", None, programs),
    ("A server", "redis", redis_rows),
    ("A server with nothing to do", "idle", redis.idle_rows),
    ("Viewers", "viewers", redis.viewer_rows),
    ("One pair", "pair", pair_rows),
    ("After a detach", "detached", detached.rows),
    ("Instructions of one pair", "instructions", instruction_rows),
    ("Captures", "unwind", captures.engine_rows),
    ("Start", "start", start_rows),
    ("Short cuts of programs with one thread", "shortcuts", shortcut_rows),
    ("The screen", "screen", screen.rows),
    ("The agent's memory", "memory", lambda: redis.memory_rows(SECONDS)),
]


def main():
    begin = time.monotonic()
    unknown = [t for t in TOOLS if t not in ALL]
    names = [n for _, n, _ in SECTIONS if n] + [w.name for w in everything()]
    unknown += [r for r in ROWS if not any(n == r or n.startswith(r + "-") for n in names)]
    if unknown:
        sys.exit(f"bench: no such row or tool: {', '.join(unknown)}; tools: {', '.join(ALL)}; rows: {', '.join(names)}")
    lines = ["# What watching costs", "", "Written by `make bench`; never edited. Ratios to the plain run beside each run: median "
             f"[95 % interval] of {PAIRS} pairs{', too few for 95 %: the whole range' if PAIRS < 6 else ''}. "
             "Target: met or missed when the whole interval says so, else undecided.", "", *machine()]
    lines += [f"- {t.name}: {t.what}" for t in ALL.values()] + [""]
    for title, name, rows in SECTIONS:
        if name and not wanted(name):
            continue
        print(f"{title} ...", flush=True)
        try:
            found = rows()
        except (Failed, OSError) as error:
            found = [f"failed: {error}", ""]
        if found:
            lines += [f"## {title}", "", *found]
    lines.append(f"Took {(time.monotonic() - begin) / 60:.0f} minutes.")
    text = "\n".join(lines) + "\n"
    print("\n" + text)
    if PAIRS >= ENOUGH and not ROWS and not TOOLS:
        with open(RESULTS, "w", encoding="utf-8") as f:
            f.write(text)
        print(f"written to {os.path.relpath(RESULTS)}")


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
