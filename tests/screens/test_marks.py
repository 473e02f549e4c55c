#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_marks.py - marks, and growth since one or between two."""
import re
import subprocess

from cli import compiled
from harness import MEMTOP, Synthetic, main, read_report, recorded, run, test
from term import Terminal, selected, view


FREED_BEFORE = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void *freed_before(int n) { void *p = malloc(n); return p; }
__attribute__((noinline)) void *came_later(int n) { void *p = malloc(n + 1); return p; }
__attribute__((noinline)) void *stayed(int n) { void *p = malloc(n + 2); return p; }
int main(void)
{
	free(freed_before(5000));
	void *a = stayed(7000);
	puts("ready");
	fflush(stdout);
	usleep(800000);
	void *b = came_later(9000);
	usleep(200000);
	return a == b;
}
"""


@test
def t_what_held_nothing_since_the_mark_is_one_line():
    path = recorded(compiled(FREED_BEFORE), arguments=("--mark-on", "ready"))
    with Terminal([MEMTOP, "open", path], 100, 24) as t:
        t.wait_for("EXITED 0")
        t.keys("3")
        t.wait_for(("came_later", "stayed", "freed_before"))
        t.keys("d")
        t.wait_for(re.compile(r"came_later(.*\n)+  \.\.\. 1 more without memory *$", re.M), without="freed_before")
        t.keys("d")
        t.wait_for("freed_before")
    text = run([MEMTOP, "report", path], stdout=subprocess.PIPE, text=True).stdout
    assert "freed_before" in text and "without memory" not in text, text
    text = run([MEMTOP, "report", "--since", "ready", path], stdout=subprocess.PIPE, text=True).stdout
    assert "freed_before" not in text and re.search(r"^Call sites, (.+\n)+ +0 +1 more without memory\n\n", text, re.M), text
    assert re.search(r"^Changes from ready to now\n(.+\n)+ +0 +0 +0 +2 unchanged\n +0 +0 +0 +1 more without memory\n\n", text, re.M), text


@test
def t_mark_and_diff():
    agent = Synthetic("--past", 60)
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        t.keys("d")
        t.wait_for("no mark to compare with")
        t.keys("2", "s")
        t.wait_for("setting a mark")
        t.keys("5")
        t.wait_for(re.compile(r"^[> ] +(A +)?m1 ", re.M))
        t.keys("2", "d")
        t.wait_for(re.compile(r"BORN +GONE +NET"))
        t.wait_for("since m1")
        t.keys("d")
        t.wait_gone("since m1")
        t.keys("S")
        t.type("after ü")
        t.keys("Enter", "5")
        t.wait_for("after ü")


def signed(n):
    """A difference of bytes as the screen writes it."""
    v, units = float(abs(n)), iter(" KMGT")
    unit = next(units)
    while v >= 1023.95:
        v, unit = v / 1024, next(units)
    return "0" if n == 0 else ("-" if n < 0 else "+") + (f"{v:.0f}" if unit == " " else f"{v:.1f}{unit}")


def tops(lines):
    """{function: (BORN, GONE, NET)} of the top rows, which are not indented, of a tree with a diff."""
    found, head = {}, next((i for i, line in enumerate(lines) if re.search(r"BORN +GONE +NET.*FUNCTION", line)), None)
    if head is None:
        return found
    column = lines[head].index("FUNCTION") + 2
    for line in lines[head + 1:]:
        row = re.match(r"[> ] +(\S+) +(\S+) +(\S+) ", line)
        if row and len(line) > column and line[column] != " " and line[column - 1] == " ":
            found[re.split(r" [<>] | \(", line[column:])[0].split("  ")[0]] = row.groups()
    return found


def pick_two(t, first, second):
    """Picks two rows of the Marks view by their labels and shows the change between them as a tree."""
    t.keys("D")
    t.wait_for("Space picks A")
    for label in (first, second):
        t.keys("Home")
        at = t.wait_for(lambda lines: " start " in (selected(lines) or "") and selected(lines))
        while f" {label} " not in at:
            t.keys("Down")
            at = t.wait_for(lambda lines, at=at: (selected(lines) or at) != at and selected(lines))
        t.keys("Space")
        t.wait_for(lambda lines: re.search(rf"> [AB] +{label} ", selected(lines) or ""))
    t.keys("Enter")
    t.wait_for("[2 Tree]")


@test
def t_tree_between_two_marks_says_what_the_report_says():
    agent = Synthetic("--past", 600, "--past-marks", 3)
    def reported(key):
        """NET by the outermost (-1) or innermost (0) function, as memtop report --between has it."""
        out = run([MEMTOP, "report", "--format", "json", "--between", "m1..m2", agent.address]).stdout
        report = read_report(out)
        sums = {}
        for s in report["changes"]:
            name = s["frames"][key]["function"] if s["frames"] else None
            sums[name] = [a + b for a, b in zip(sums.get(name, [0, 0]), (s["born_bytes"], s["gone_bytes"]))]
        marks = {m["id"]: m["live_bytes"] for m in report["marks"]}
        assert sum(born - gone for born, gone in sums.values()) == marks[2] - marks[1]
        return {name: (signed(b)[b > 0:], signed(g)[g > 0:], signed(b - g)) for name, (b, g) in sums.items() if name}

    with view(agent, 120, 36) as t:
        t.wait_for("new_vertex_array")
        t.keys("2")
        t.wait_gone("symbols ")
        pick_two(t, "m1", "m2")
        t.wait_for(re.compile(r"^.*\[2 Tree\].* m1 \.\. m2$", re.M))
        t.keys("Home", "C")
        outer, inner = reported(-1), reported(0)
        t.wait_for(lambda lines: all(tops(lines).get(name) == outer[name] for name in ("main", "start_thread")), what=f"{outer}")
        t.keys("i")

        def as_reported(lines):
            seen = tops(lines)
            both = set(inner) & set(seen)
            return len(both) > 3 and all(inner[name] == seen[name] for name in both)
        t.wait_for((re.compile("inverted.* m1 .. m2"), as_reported), what=f"{inner}")
        # what moves on does not move the past
        before, live = tops(t.lines()), t.lines()[2]
        t.wait_for(lambda lines: lines[2] != live and tops(lines) == before)
        # every view of it says so, or that it shows now
        for key, words in (("3", ("LIVE NOW", "m1 .. m2")), ("4", ("LIVE NOW", "m1 .. m2")), ("1", ("up to now",)),
                           ("2", ("m1 .. m2",))):
            t.keys(key)
            for word in words:
                t.wait_for(word)
        t.wait_for("d Back to now", 15)
        t.keys("d")
        t.wait_gone("m1 .. m2")
        t.wait_for(re.compile("LIVE.? +BLOCKS +SELF"))
    with view(agent, 40, 10) as t:
        t.wait_for("new_vertex_array")
        pick_two(t, "m2", "m3")
        t.wait_for(re.compile(r"\[2 Tree\].* m2 \.\. m3"))
        t.wait_for("d Back to now", 15)


@test
def t_marks_set_themselves():
    agent = Synthetic("--past", 60)
    with view(agent, 120, 36) as t:
        t.wait_for("new_vertex_array")
        t.prompt(":every 1", "5")
        t.wait_for(re.compile(r"every 1 s, next in \d s"))
        t.wait_for(re.compile(r"^. +m3 ", re.M), 10)
        t.type(":every off")
        t.keys("Enter")
        t.wait_for(lambda lines: "every 1 s" not in "".join(lines))
        t.type(":every +200K")  # the story grows faster than that
        t.keys("Enter")
        t.wait_for(re.compile(r"every \+200\.0K, next at [\d.]+M"))
        had = max(map(int, re.findall(r"^. +m(\d+) ", t.text(), re.M)))
        t.wait_for(re.compile(rf"^. +m{had + 2} ", re.M), 20)
        for wrong in ("", "0", "x", "+", "5y", "0.1"):
            t.type(f":every {wrong}")
            t.keys("Enter")
            t.wait_for("every: write 60, 5m, 1h, +10M")
            t.keys("Escape")


@test
def t_window_sets_a_pair_of_marks():
    """:window sets a pair of marks; another view's marks and keys stay as they are."""
    agent = Synthetic("--past", 60)
    with view(agent, 120, 36) as t:
        t.wait_for("new_vertex_array")
        t.prompt(":window load", "5")
        t.wait_for("window load begins; :window ends it")
        t.wait_for(re.compile(r"m1 +load", re.M))
        t.prompt(":window")
        t.wait_for("window load has ended; D compares load and load.end")
        t.wait_for(re.compile(r"m2 +load\.end"))
        t.prompt(":window")
        t.wait_for("window window begins")


if __name__ == "__main__":
    main()
