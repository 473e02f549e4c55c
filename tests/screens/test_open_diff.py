#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_open_diff.py - memtop open --diff A B: the tree, the call sites and the libraries of the change, with the amounts
of the JSON diff; the lines above say which session is A and which is B; and what a diff lacks is said."""
import json
import os
import re

from cli import memtop, one_line
from diffs import build, one_session, recorded
from harness import MEMTOP, main, temporary_folder, test
from term import Terminal, selected


def bytes_text(n):
    """An amount as the screen writes it."""
    v, units = float(abs(n)), iter(" KMGT")
    unit = next(units)
    while v >= 1023.95 or (unit == " " and v >= 1024):
        v, unit = v / 1024, next(units)
    return f"{v:.0f}" if unit == " " else f"{v:.1f}{unit}"


def net_text(n):
    return "0" if not n else ("-" if n < 0 else "+") + bytes_text(n)


def opened(*arguments, width=120, height=36):
    return Terminal([MEMTOP, "open", "--diff", *arguments], width, height)


def json_of(*arguments):
    return json.loads(memtop("diff", "--format", "json", *arguments).stdout)


def mean(values):
    return sum(values) / len(values)


def wanted(row):
    a, b = (round(mean(row[side]["live_bytes"])) for side in "ab")
    return bytes_text(a), bytes_text(b), net_text(b - a)


def rows_of(lines):
    """[(A, B, NET, name)] of the list."""
    head = next(i for i, line in enumerate(lines) if re.search(r" A +B +NET", line))
    name = re.search(r"FUNCTION|CALL SITE|OWNER LIBRARY", lines[head]).start()
    return [(*line[1:name].split()[:3], line[name:].strip()) for line in lines[head + 1:] if re.match(r"[> ] +\S+ +\S+ +[-+]?\d", line)]


def two():
    return one_session("-O1"), one_session("-O2", "-DLEAK=7", "-DLESS")


@test
def t_the_rows_have_the_amounts_of_the_json_diff():
    a, b = two()
    d = json_of(a, b)
    with opened(a, b) as t:
        t.wait_for("leaky")
        t.wait_for("from A to B")
        rows = {re.split(r" > | \(|  ", r[3].lstrip("▶▼ "))[0]: r[:3] for r in rows_of(t.lines())}
        leak = next(s for s in d["stacks"] if s["kind"] == "new")
        assert rows["leaky"] == ("0", "34.2K", "+34.2K") == wanted(leak), (rows, leak)
        assert rows["cache"][2] == "-8.8K", rows
        t.keys("3")
        t.wait_for("[3 Sites]")
        assert sorted(r[:3] for r in rows_of(t.lines())) == sorted(wanted(s) for s in d["sites"]), (t.text(), d["sites"])
        t.keys("4")
        t.wait_for("[4 Libs]")
        assert sorted(r[:3] for r in rows_of(t.lines())) == sorted(wanted(o) for o in d["owners"]), (t.text(), d["owners"])


@test
def t_a_library_of_two_names():
    """Python twice: every call site and library, with names of symbol tables, and without names."""
    a, b = (recorded("/usr/bin/python3", "-c", f"import json, os; keep = [bytearray(3000) for _ in range({n})]; os._exit(0)") for n in (5, 300))
    d = json_of(a, b)
    with opened(a, b, height=60) as t:
        t.wait_for("PyByteArray_Resize")
        t.keys("4")
        t.wait_for("[4 Libs]")
        changed = [o for o in d["owners"] if o["change"]["live_bytes"]]
        shown = {r[3][2:]: r[:3] for r in rows_of(t.lines())}
        assert changed and all(shown[o["owner"]] == wanted(o) for o in changed), (shown, changed)
        t.keys("3")
        t.wait_for("[3 Sites]")
        most = d["sites"][0]
        first = rows_of(t.lines())[0]
        assert first[:3] == wanted(most) and first[3].startswith(most["function"][:12]), (first, most)


@test
def t_the_lines_above_are_true():
    a, b = two()
    with opened(a, b, width=200) as t:
        t.wait_for("leaky")
        head, verdict, totals = t.lines()[:3]
        assert re.search(rf"memtop diff  A: {re.escape(a)}  B: {re.escape(b)}$", head.rstrip()), head
        assert "GREW: B holds 25.4K more than A (A 19.3K, B 44.7K)." in verdict and "Changed most: " in verdict, verdict
        assert "Live A 19.3K  B 44.7K  +25.4K" in totals and "Blocks A 14  B 18  +4" in totals and "Allocated A " in totals, totals
    with opened(b, a) as t:
        t.wait_for("SHRANK: B holds 25.4K less than A (A 44.7K, B 19.3K).")
        t.wait_for(re.compile(r"34.2K +0 +-34.2K"))
    with opened(a, a) as t:
        t.wait_for("SAME: A and B: 19.3K.")
    with opened(a + "@cached", a) as t:
        t.wait_for(re.compile(r"A: \S*@cached  B: "))
        t.wait_for("+777")


@test
def t_several_sessions_a_side():
    base, leak = build("-O1"), build("-O1", "-DLEAK=9")
    a, b = [recorded(base, str(i)) for i in (1, 2, 3)], [recorded(leak, str(i)) for i in (7, 8, 9)]
    with opened(*a, "--", *b, width=160) as t:
        t.wait_for("A, mean of 3: ")
        t.wait_for("B, mean of 3: ")
        t.wait_for("within the noise of the totals")
        t.wait_for(re.compile(r" 0 +43.9K +\+43.9K +.*leaky"))
        totals = json_of(*a, "--", *b)["totals"]
        t.wait_for(f"Live A {bytes_text(mean(totals['a']['live_bytes']))}  B {bytes_text(mean(totals['b']['live_bytes']))}  ")


@test
def t_every_size():
    a, b = two()
    with opened(a, b) as t:
        t.wait_for("leaky")
        for width, height in ((80, 24), (200, 60), (40, 10), (60, 15)):
            t.resize(width, height)
            t.wait_for(lambda lines: len(lines) <= height and any("+34.2K" in line for line in lines))
            assert all(len(line) <= width for line in t.lines()) and "A: " in t.lines()[0] and "B: " in t.lines()[0], t.text()


@test
def t_what_a_diff_lacks():
    a, b = two()
    with opened(a, b) as t:
        t.wait_for("leaky")
        assert " s Mark" not in t.text() and "1 Over" not in t.text() and "Diff" not in t.lines()[-1], t.text()
        for key, name in (("s", "mark"), ("d", "diff"), ("7", "memory"), ("1", "overview"), ("P", "processes")):
            t.keys(key)
            t.wait_for(f"{name}: not in a diff of two sessions")
        for command in ("at peak", "every 5", "mark x", "set sample=64k"):
            t.prompt(":" + command)
            t.wait_for(f"{command.split()[0]}: not in a diff of two sessions")
        t.keys("i")
        t.wait_for("inverted")
        t.keys("i", "v")
        t.wait_for(re.compile(r"Detail"))
        t.wait_for(re.compile(r"^ B: .* NET ", re.M))
        t.keys("q")
        t.wait_for("[2 Tree]")
        t.keys("3", "q")
        t.wait_for("[2 Tree]")
        t.keys("/")
        t.type("leaky")
        t.keys("Enter")
        t.wait_for(lambda lines: "leaky" in (selected(lines) or ""))
        t.keys("Escape", "q")
        t.wait_for("Quit memtop?")
        t.keys("y")
        assert t.wait_exit() == 0


@test
def t_it_is_saved_as_a_diff():
    a, b = two()
    folder = temporary_folder()
    with opened(a, b) as t:
        t.wait_for("leaky")
        for name in ("d.json", "d.html", "d.txt", "d.folded"):
            t.prompt(f":w {folder}/{name}")
            t.wait_for(f"saved: {folder}/{name}")
        t.prompt(f":w {folder}/d.mtop")
        t.wait_for("unknown format; end the name in .txt, .json, .folded or .html")
        t.keys("w")
        t.wait_for("Save the diff as")
        t.keys("Escape")
    with open(folder + "/d.json", encoding="utf-8") as f:
        assert json.load(f)["totals"] == json_of(a, b)["totals"]
    for name in ("d.html", "d.txt", "d.folded"):
        out = f"{folder}/again-{name}"
        assert memtop("diff", "-o", out, a, b).returncode == 0
        with open(f"{folder}/{name}", "rb") as ours, open(out, "rb") as theirs:
            assert ours.read() == theirs.read(), name
    assert sorted(os.listdir(folder)) == sorted(["d.json", "d.html", "d.txt", "d.folded", "again-d.html", "again-d.txt", "again-d.folded"])


@test
def t_wrong_words():
    a = one_session("-O1")
    one_line(memtop("open", "--diff", a), 2, "two sessions are needed; write memtop open --diff A.mtop B.mtop")
    one_line(memtop("open", "--diff", "--last"), 2, "--last: not with --diff")
    one_line(memtop("open", "--diff", a, a, a), 2, "more than two sessions")
    one_line(memtop("open", "--diff", a, a), 2, "not a terminal; use memtop diff A B")
    with opened(a, "/nonexistent.mtop") as t:
        assert t.wait_exit() == 3


main()
