#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_open_diff.py - memtop open --diff A B: the tree, the call sites and the libraries of the change, with the amounts
of the JSON diff; the lines above say which session is A and which is B; and what a diff lacks is said."""
import json
import os
import re

from cli import memtop, one_line
from diffs import build, one_session
from harness import MEMTOP, main, recorded, temporary_folder, test
from term import Terminal, select_by_search, selected


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
    head, name = next(((i, m.start(1)) for i, m in enumerate(re.search(r" A +B +NET.*(FUNCTION|CALL SITE|OWNER LIBRARY)", x) for x in lines) if m), (0, 0))
    return [(*line[1:name].split()[:3], line[name:].strip()) for line in lines[head + 1:] if re.match(r"[> ] +\S+ +\S+ +[-+]?\d", line)]


def judged_rows(lines):
    """[(A, B, NET, KIND)] of the list."""
    head, at = next(((i, m.start(1)) for i, m in enumerate(re.search(r" A +B +NET.*(KIND)", x) for x in lines) if m), (0, 0))
    return [(*line[1:at].split()[:3], line[at:at + 6].strip()) for line in lines[head + 1:] if re.match(r"[> ] +\S+ +\S+ +[-+]?\d", line)]


def judged(row):
    return (*wanted(row), "noise" if row["noise"] else row["kind"])


def noisy():
    """Three sessions of a build, `--`, and three of one that leaks; all with noise."""
    base, leak = build("-O1"), build("-O1", "-DLEAK=9")
    return [*(recorded(base, str(i)) for i in (1, 2, 3)), "--", *(recorded(leak, str(i)) for i in (7, 8, 9))]


def kind_of(lines, name):
    """KIND in the first row of that function."""
    row = next((line for line in lines if re.search(rf"\b{name}\b", line) and re.match(r"[> ] +\S+ +\S+ +[-+]?\d", line)), "")
    return (re.findall(r" (new|grown|shrunk|gone|same|noise) ", row) or [None])[0]


def two():
    return one_session("-O1"), one_session("-O2", "-DLEAK=7", "-DLESS")


@test
def t_the_rows_have_the_amounts_of_the_json_diff():
    a, b = two()
    d = json_of(a, b)
    with opened(a, b) as t:
        leak = next(s for s in d["stacks"] if s["kind"] == "new")
        assert wanted(leak) == ("0", "34.2K", "+34.2K"), leak

        def both(lines):
            rows = {re.split(r" > | \(|  ", r[3].lstrip("▶▼ "))[0]: r[:3] for r in rows_of(lines)}
            return rows.get("leaky") == wanted(leak) and rows.get("cache", "  ?")[2] == "-8.8K"
        t.wait_for(("from A to B", both))
        for key, title, part in (("3", "[3 Sites]", "sites"), ("4", "[4 Libs]", "owners")):
            t.keys(key)
            t.wait_for((title, lambda lines, part=part: sorted(r[:3] for r in rows_of(lines)) == sorted(map(wanted, d[part]))), what=d[part])


@test
def t_a_library_of_two_names():
    """Python twice: every call site and library, with names of symbol tables, and without names."""
    a, b = (recorded("/usr/bin/python3", "-c", f"import json, os; keep = [bytearray(1) * 3000 for _ in range({n})]; os._exit(0)") for n in (5, 300))
    d = json_of(a, b)
    with opened(a, b, height=60) as t:
        t.wait_for("PyByteArray_From")
        changed = {o["owner"]: wanted(o) for o in d["owners"] if o["change"]["live_bytes"]}
        assert changed, d["owners"]
        t.keys("4")
        t.wait_for(("[4 Libs]", lambda lines: changed.items() <= {r[3][2:]: r[:3] for r in rows_of(lines)}.items()), what=changed)
        t.keys("3")
        most = d["sites"][0]
        t.wait_for(("[3 Sites]", lambda lines: [r[:3] for r in rows_of(lines)[:1] if r[3].startswith(most["function"][:12])] == [wanted(most)]), what=most)


@test
def t_the_lines_above_are_true():
    a, b = two()
    with opened(a, b, width=200) as t:
        t.wait_for((lambda lines: lines[0].endswith(f"memtop diff  A: {a}  B: {b}"),
                    lambda lines: re.search(r"GREW: B holds 25\.4K more than A \(A 19\.3K, B 44\.7K\)\..*Changed most: ", lines[1]),
                    lambda lines: re.search(r"Live A 19\.3K  B 44\.7K  \+25\.4K.*Blocks A 14  B 18  \+4.*Allocated A ", lines[2])), what="the lines above")
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
    sessions = noisy()
    with opened(*sessions, width=160) as t:
        t.wait_for("A, mean of 3: ")
        t.wait_for("B, mean of 3: ")
        t.wait_for("within the noise of the totals")
        t.wait_for(re.compile(r" 0 +43.9K +\+43.9K +.*leaky"))
        totals = json_of(*sessions)["totals"]
        t.wait_for(f"Live A {bytes_text(mean(totals['a']['live_bytes']))}  B {bytes_text(mean(totals['b']['live_bytes']))}  ")
        t.wait_for(re.compile(r"Live A .* \(noise\) +Blocks "))


@test
def t_noise_is_judged_as_the_diff_judges():
    sessions = noisy()
    d = json_of(*sessions)
    cache = next(s for s in d["stacks"] if any(f["function"] == "cache" for f in s["frames"]))
    low_high = [" to ".join(dict.fromkeys(bytes_text(f(cache[side]["live_bytes"])) for f in (min, max))) for side in "ab"]
    with opened(*sessions, width=160, height=60) as t:
        t.wait_for(lambda lines: [kind_of(lines, name) for name in ("leaky", "cache", "main")] == ["new", "noise", "noise"])
        select_by_search(t, "cache")
        t.wait_for(f" Noise: A's 3 sessions hold {low_high[0]}, B's 3 hold {low_high[1]}.")
        t.keys("i")
        t.wait_for("inverted")
        t.wait_for(lambda lines: kind_of(lines, "leaky") == "new" and kind_of(lines, "cache") == "noise")
        t.keys("i", "\\")
        t.type("leaky")
        t.keys("Enter")
        t.wait_for(lambda lines: kind_of(lines, "main") == kind_of(lines, "leaky") == "new")  # of what passes the filter
        t.keys("v")
        t.wait_for(" A change: A's 3 sessions hold 0, B's 3 hold 43.9K.", without=re.compile("Survival|age"))
        t.keys("q", "Escape", "Escape", "3")  # the search, then the filter
        t.wait_for("[3 Sites]")
        t.wait_for(lambda lines: sorted(judged_rows(lines)) == sorted(judged(s) for s in d["sites"]), what=d["sites"])
        t.keys("4")
        t.wait_for("[4 Libs]")
        t.wait_for(lambda lines: sorted(judged_rows(lines)) == sorted(judged(o) for o in d["owners"]), what=d["owners"])
    with opened(sessions[0], sessions[4], width=160) as t:  # one session a side: a kind, and no judgement
        t.wait_for(lambda lines: kind_of(lines, "leaky") == "new" and kind_of(lines, "cache") in ("grown", "shrunk"),
                   without=re.compile("sessions hold|oise"))


def help_of(t):
    """{section: [(keys, what)]} of the help page."""
    t.keys("?")
    t.wait_for("─ Help ")
    sections, lines = {}, t.settle(quiet=1)
    for line in lines[next(i for i, x in enumerate(lines) if "─ Help " in x) + 1:-1]:
        if re.match(r" \S", line):
            section = sections.setdefault(line.strip(), [])
        elif re.match(r"  \S", line):
            section.append((line[2:25].strip(), line[25:].strip()))
    t.keys("q")
    t.wait_for(re.compile(r"\[\d "))
    return sections


@test
def t_help_lists_what_works():
    """Every key of the list does something, and no other does."""
    names = {"Esc": "Escape", "Backspace": "BSpace", "S-Tab": "BTab"}
    own = re.findall(r"^  (.{18}) :(\S+)", memtop("--keys").stdout.split("In a list")[0], re.M)  # of every view
    a, b = two()
    with opened(a, b, height=150) as t:
        t.wait_for("leaky")
        listed = help_of(t)
        assert set(listed) >= {"Everywhere", "In a list", "In the tree", "In Libs"} and not set(listed) & {"In Marks", "In a graph", "What line 2 says"}, listed
        everywhere = {keys for keys, _ in listed["Everywhere"]}
        assert {"2 F6", "/", "L", "w", "? F1"} <= everywhere and len(everywhere) > 20, everywhere
        here = {key for keys, _ in listed["In a list"] + listed["In the tree"] for key in keys.split()}
        for keys, name in own:
            keys = keys.strip()
            first = keys.split()[0] if keys else None
            if not first or first in ("q", "Q", "^Z", "e", "M"):
                assert not first or keys in everywhere, (keys, everywhere)
            elif keys in everywhere:
                t.keys(names.get(first, first.replace("^", "C-")))
                t.settle()
                assert "not in a diff" not in t.text(), (keys, t.text())
                t.keys("Escape", "2")
                t.wait_for("[2 Tree]")
            else:
                assert first not in here
                t.keys(names.get(first, first))
                t.wait_for(f"{name}: not in a diff of two sessions")
                t.keys("Escape")
        t.keys(":")
        t.keys("Tab")
        t.wait_for(lambda lines: ":filter" in lines[-1])  # neither :set nor :every
        t.keys("Escape", "\\")
        t.type("age>5s")
        t.keys("Enter")
        t.wait_for(("age and thread: not in a diff of two sessions", "leaky"))


@test
def t_a_diff_fits_every_size():
    a, b = two()
    with opened(a, b) as t:
        t.wait_for("leaky")
        for width, height in ((80, 24), (200, 60), (40, 10), (60, 15)):
            t.resize(width, height)
            t.wait_for(("+34.2K", lambda lines, width=width: all(len(line) <= width for line in lines) and re.search("A: .*B: ", lines[0])),
                       what=f"{width}x{height}")


@test
def t_what_a_diff_lacks():
    a, b = two()
    with opened(a, b) as t:
        t.wait_for(("leaky", lambda lines: "Help" in lines[-1]), without=re.compile(r" s Mark|1 Over|Diff.*\Z"))
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


LINES = """#include <stdlib.h>
#include <unistd.h>

void *kept[3];

__attribute__((noinline)) static void work(int n)
{
	kept[0] = malloc(1024000 * n);
	kept[1] = malloc(204800);
	kept[2] = malloc(10240 * n);
}

int main(int argc, char **argv)
{
	(void)argc;
	work(atoi(argv[1]));
	_exit(0);
}
"""


@test
def t_each_source_line_has_what_b_holds():
    """Of one build, and of two that differ in code: joined stacks then differ by line."""
    first, other = build("-O0", source=LINES), build("-O1", source=LINES)
    for program in (first, other):
        with opened(recorded(first, "1"), recorded(program, "2"), height=50) as t:
            t.wait_for("main > work")
            if program == first:
                t.wait_for(re.compile(r"A: 1\.2M in 3 blocks\.  B: 2\.2M in 3\."))
            t.keys("3")
            t.wait_for(re.compile(r"\n> .*work < main"))
            t.keys("v")
            t.wait_for("The file's total: 2.2M on 3 lines.")
            for line, held in ((8, "2.0M"), (9, "200.0K"), (10, "20.0K")):
                t.wait_for(re.compile(rf"\n [> ] +{line} +kept.*  {held}  1 block\n"))
            t.wait_for(re.compile(r"\n > +8 "))
            if program == first:
                t.wait_for("This row sums 3 stacks. The one that holds most:")
                t.wait_for("A: 1.0M in 1 block.")


@test
def t_wrong_command_lines_of_open_diff():
    a = one_session("-O1")
    one_line(memtop("open", "--diff", a), 2, "two sessions are needed; write memtop open --diff A.mtop B.mtop")
    one_line(memtop("open", "--diff", "--last"), 2, "--last: not with --diff")
    one_line(memtop("open", "--diff", a, a, a), 2, "more than two sessions")
    one_line(memtop("open", "--diff", a, a), 2, "not a terminal; use memtop diff A B")
    with opened(a, "/nonexistent.mtop") as t:
        assert t.wait_exit() == 3


main()
