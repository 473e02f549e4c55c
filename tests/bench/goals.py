# SPDX-License-Identifier: MIT
"""goals.py - what memtop's figures must be, the table of the chief ones, and the list of rows that miss theirs.

A row that has a bound calls judge() with its name in MUST. chief() makes the table, short() the list.
"""
from collections import namedtuple

import figures

SIX = ("sqlite", "python", "cc1", "lua", "perl", "jq")
AT_LEAST = ("captures, ", "screen: ticks ")  # names that begin so have a lower bound, all others an upper one

MUST = {
    **{f"{p}: time": 1.15 for p in SIX},
    **{f"{p}: peak": 1.15 for p in (*SIX, "many-live")},
    **{f"{p}, sampled: time": 1.03 for p in SIX},
    "six programs: geometric mean of time": 1.08,
    "six programs: added cpu as a part of heaptrack's": 0.083,
    "clang++: cpu": 1.25,
    "clang++: peak": 1.20,
    "trees: cpu": 2.0,
    "many-live: time": 1.18,
    "redis-server: cpu": 1.10,
    "redis-server, sampled: cpu": 1.03,
    "redis-server, 1 viewer: % of a core": 1.0,
    "redis-server, 10 viewers: % of a core": 3.0,
    "million: % of blocks without a stack": 0,
    "pair, depth 10: added ns": 6,
    "pair, depth 30: added ns": 12,
    "pair, depth 10: two threads to one": 1.2,
    "pair, depth 30: two threads to one": 1.2,
    "pair after a detach: ns to before": 1.02,
    "instructions of a pair, depth 10": 140,
    "instructions of a pair, depth 30": 220,
    "instructions of a pair, depth 10, 3 new frames": 700,
    "captures, same stack, as malloc has it: times unw_step": 500,
    "captures, same stack: times unw_step": 500,
    "captures, 3 new frames, as malloc has it: times unw_step": 200,
    "captures, 3 new frames: times unw_step": 200,
    "start: added ms": 1.0,
    **{f"screen: key to screen, {state}: {name}, ms": bound for state in ("names known", "symbolizer busy")
       for name, bound in (("p50", 8.0), ("p99", 16.0), ("slowest", 33.0))},
    "screen: key to whole answer, names known: p99, ms": 100.0,
    "screen: key to whole answer, symbolizer busy: p99, ms": 100.0,
    **{f"screen: until a {what} is whole, {when}, s": bound for what in ("diff", "filter", "search")
       for when, bound in (("at rest", 0.15), ("under load", 0.4))},
    "screen: bytes per call path": 160.0,
    "screen: bytes per call path, with a mark": 200.0,
    "screen: ticks a second": 10.0,
    "screen: ticks a second with new nodes": 6.0,
    "screen: first full screen, s": 0.3,
    "screen: whole model, s": 1.5,
    "screen: cpu at rest, % of a core": 2.0,
    "screen: cpu a minute after the last key, % of a core": 5.0,
    "memory of 131,071 stacks: bytes above 64 MiB + 0.25 x live": 0,
    "memory of redis-server: bytes above 64 MiB + 0.25 x live": 0,
}

# The chief figures: a line, and its rows. A tuple of rows: the one of them that is highest.
CHIEF = (
    ("clang++ -O1, 30 headers: cpu; peak", "clang++: cpu", "clang++: peak"),
    ("recursive C++ trees: cpu", "trees: cpu"),
    ("six programs: geometric mean of time; worst", "six programs: geometric mean of time", tuple(f"{p}: time" for p in SIX)),
    ("redis-server: cpu", "redis-server: cpu"),
    ("five million live blocks: time", "many-live: time"),
    ("peak memory, worst of the six and five million live blocks", tuple(f"{p}: peak" for p in (*SIX, "many-live"))),
    ("added ns per pair: depth 10; 30", "pair, depth 10: added ns", "pair, depth 30: added ns"),
    ("added instructions per pair: depth 10; 30", "instructions of a pair, depth 10", "instructions of a pair, depth 30"),
    ("added instructions per pair with 3 new frames: depth 10", "instructions of a pair, depth 10, 3 new frames"),
    ("sampled 1 in 64 KiB, worst of the six's time and redis-server's cpu",
     (*(f"{p}, sampled: time" for p in SIX), "redis-server, sampled: cpu")),
    ("1,000,000 call paths: % of blocks without a stack, by default", "million: % of blocks without a stack"),
)

Record = namedtuple("Record", "reached digits verdict")
records = {}


def must(name):
    return f"{MUST[name]:g}"


def judge(name, reached, digits=2):
    """Keeps the figure for the table and the list; the words for its row: "" where no bound is set."""
    if name not in MUST:
        return ""
    found = figures.verdict(reached, MUST[name], name.startswith(AT_LEAST))
    records[name] = Record(reached, digits, found)
    return f"{found} ({must(name)})"


def part(row):
    """(reached, must, verdict) of a row, or of the highest of some; None when nothing was measured."""
    names = row if isinstance(row, tuple) else (row,)
    found = [n for n in names if n in records]
    if not found:
        return None
    name = max(found, key=lambda n: records[n].reached.median)
    r = records[name]
    said, found_all = figures.text(r.reached, r.digits), len(found) == len(names)
    if len(names) > 1:
        said += f" ({name.split(':')[0].split(',')[0]}{'' if found_all else f', of {len(found)} measured'})"
    return said, must(name), r.verdict if found_all or r.verdict == "missed" else "undecided"


def bound(row):
    return must(row[0] if isinstance(row, tuple) else row)


def chief(whole=True):
    """The table of the chief figures; without `whole`, only lines of which something was measured."""
    lines = []
    for title, *rows in CHIEF:
        parts = [part(r) for r in rows]
        if whole or any(parts):
            parts = [p or ("not measured", bound(r), "missed") for p, r in zip(parts, rows)]
            lines.append((title, *("; ".join(column) for column in zip(*parts))))
    return figures.table(["figure", "reached", "must be", ""], lines) if lines else []


def sentence(name):
    way = "at least" if name.startswith(AT_LEAST) else "at most"
    if name not in records:
        return f"- {name}: not measured; must be {way} {must(name)}"
    r = records[name]
    return f"- {name}: {figures.text(r.reached, r.digits)}, must be {way} {must(name)}: {r.verdict}"


def short(whole=True):
    """The list of rows that miss their figure, or that did not decide; with `whole`, also of those without one."""
    asked = [n for n in MUST if whole or n in records]
    names = [n for n in asked if n not in records or records[n].verdict != "met"]
    if not names:
        return [f"All rows with a bound reach it: {len(asked)}.", ""] if asked else []
    return [f"Rows that miss their figure, or whose interval does not decide: {len(names)} of {len(asked)}.", "",
            *map(sentence, names), ""]
