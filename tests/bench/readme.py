#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""readme.py - README.md's figures, made from RESULTS.md (make bench-readme; a whole run of make bench does it too)."""
import os
import re
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "RESULTS.md")
README = os.path.join(os.path.dirname(os.path.dirname(HERE)), "README.md")
BEGIN, END = "<!-- made by make bench-readme, from tests/bench/RESULTS.md -->", "<!-- made so far -->"

PROGRAMS = [("sqlite", "sqlite3, a script in memory"), ("python", "python3, PYTHONMALLOC=malloc"), ("cc1", "gcc's cc1"),
            ("clang++", "clang++ -O1, 30 standard headers"), ("lua", "lua5.4, tables and strings"), ("jq", "jq, 13 MB of JSON"), ("ripgrep", "ripgrep, in Rust"),
            ("node", "node, JSON and deflate"), ("git-blame", "git blame, 500 commits"),
            ("trees", "C++, trees built by recursion, 131,071 paths"),
            ("many-live", "5,000,000 live blocks, freed at random")]
SERVER = "redis-server under pipelined load: the server"


class Missing(Exception):
    """RESULTS.md does not have it."""


class Results:
    """The cells of RESULTS.md: (section, first cell of a row) to the others."""

    def __init__(self, text):
        self.text, self.cells, section = text, {}, ""
        for line in text.splitlines():
            if line.startswith("## "):
                section = line[3:]
            elif line.startswith("| "):
                first, *others = (cell.strip() for cell in line.strip("| ").split(" | "))
                self.cells[section, first] = others

    def said(self, pattern):
        found = re.search(pattern, self.text, re.M)
        if not found:
            raise Missing(f"RESULTS.md has no line like {pattern}")
        return found.groups()

    def number(self, section, row, column):
        """The median in a cell; None where nothing was measured."""
        cells = self.cells.get((section, row), [])
        found = re.match(r"-?\d+(\.\d+)?", cells[column]) if column < len(cells) else None
        return float(found.group()) if found else None

    def need(self, section, row, column):
        found = self.number(section, row, column)
        if found is None:
            raise Missing(f"RESULTS.md has no figure in {section}, {row}")
        return found


def rows(r):
    """(title, time, cpu, peak, heaptrack's cpu) of what was measured."""
    for name, title in PROGRAMS:
        mine = [r.number("Programs", f"{name}: memtop", k) for k in (1, 2, 3)]
        if None not in mine:
            yield (title, *mine, r.number("Programs", f"{name}: heaptrack", 2))
    yield (SERVER, *(r.need("A server", "memtop", k) for k in (0, 1, 2)), r.number("A server", "heaptrack", 1))


def sentences(r, found):
    date, cpus, linux, commit = r.said(r"^(\d{4}-\d\d-\d\d), (\d+ cpus \(.*?\)), .*Linux (\d+\.\d+).*; memtop (\S+)$")
    rounds, = r.said(r"interval\] of (\d+) ")
    worst = max((row[2] - 1) / (row[4] - 1) for row in found if row[4] and row[4] > 1)
    viewers = [next((n for n in (r.number("Viewers", f"{k} viewer{s}", 1) for s in ("", "s")) if n is not None), None) for k in (1, 10)]
    if None in viewers:
        raise Missing("RESULTS.md has no viewers")
    yield f"These are medians of {rounds} rounds: {date}, {cpus}, Linux {linux}, memtop {commit}."
    yield f"memtop adds at most {100 * worst:.0f} % of the cpu that heaptrack adds."
    yield (f"The agent's server takes {viewers[0]:.1f} % of one core on that redis with one viewer at ten ticks a second, and "
           f"{viewers[1]:.1f} % with ten viewers.")
    yield f"A program starts {r.need('Start', 'memtop', 0):.1f} ms later."
    yield ("Extreme programs cost more: one that only allocates, each time from a new call path, takes "
           f"{r.need('Programs', 'paths: memtop', 1):.0f} times as long.")


def block(results):
    """The lines between BEGIN and END."""
    r = Results(results)
    found = list(rows(r))
    lines = ["| program | time | cpu | peak memory | cpu, heaptrack |", "|---|---:|---:|---:|---:|"]
    lines += ["| " + " | ".join((title, *("-" if n is None else f"{n:.2f}" for n in figures))) + " |" for title, *figures in found]
    return "\n".join([*lines, "", *textwrap.wrap(" ".join(sentences(r, found)), 118, break_on_hyphens=False)]) + "\n"


def made(readme, results):
    """What README.md must be."""
    before, rest = readme.split(BEGIN + "\n", 1)
    _, after = rest.split(END + "\n", 1)
    return before + BEGIN + "\n" + block(results) + END + "\n" + after


def write():
    with open(RESULTS, encoding="utf-8") as f:
        results = f.read()
    with open(README, encoding="utf-8") as f:
        was = f.read()
    with open(README, "w", encoding="utf-8") as f:
        f.write(made(was, results))


if __name__ == "__main__":
    write()
