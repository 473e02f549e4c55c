#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_views.py - every view at three sizes, dark and light: keys in, screen out.

The screens of a stopped program are golden files in tests/screens/golden; GENERATE=1 rewrites them
for review. For running programs (a redis-server under load, one in C++) this file lists the text
that each screen must have.
"""
import os
import re

from harness import AGENT, BUILD, MEMTOP, Synthetic, at_end, environment, kill, main, need, start, test
from redis_server import Redis
from term import Terminal

SCREENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
SIZES = [(80, 24), (120, 36), (200, 60)]
THEMES = ("dark", "light")

# name, keys from the Overview on, what has come when the screen is whole
STEPS = [
    ("overview", ["1"], "[1 Over"),
    ("overview-instant", ["1", "Tab", "Home"], re.compile("Live by owner library at|known since")),
    ("tree", ["2"], "[2 Tree]"),
    ("tree-diff", ["2", "d"], "since m3"),
    ("tree-inverted", ["2", "i"], "tile.c"),
    ("tree-zoomed", ["2", "O"], "mapd"),
    ("sites", ["3"], "[3 Sites]"),
    ("sites-churn", ["3", "T"], "CALLS/s"),
    ("libs", ["4"], "[4 Libs]"),
    ("libs-by-caller", ["4", "L"], "DIRECT CALLER"),
    ("marks", ["5"], "[5 Marks]"),
    ("threads", ["6"], "[6 Thr"),
    ("memory", ["7"], "[7 Mem"),
    ("columns", ["2", "c"], "Columns of Tree"),
    ("agent", ["A"], "Cost, since"),
    ("help", ["?"], "Does it grow?"),
    ("filtered", ["3", "\\", *"new_vertex", "Enter"], "filter: new_vertex"),
    ("searched", ["2", "/", *"cache", "Enter"], re.compile(r"\d+ hits?")),
    ("exact-bytes", ["3", "u", "u"], re.compile(r"\d,\d{3},\d{3}")),
    ("percent", ["3", "%"], "%"),
    ("asked", ["q"], "Quit memtop?"),
]


def masked(lines):
    """Without what differs between machines and runs: the port, and lines with a path of the build."""
    out = []
    for line in lines:
        line = re.sub(r"via :\d{5}", "via :99999", line)
        if "/synthetic/" in line:
            line = re.sub(r"\S*/synthetic/\S*", "(a path)", line)
        out.append(line)
    return out


def go(t, keys, until):
    t.keys("Escape", "Escape", "Escape", "1")
    for key in keys:
        t.keys(*([key] if len(key) > 1 else ["-l", key]))
    t.wait_for(until)


def compare(name, t, wrong):
    path = os.path.join(SCREENS, name)
    if os.environ.get("GENERATE"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(masked(t.settle())) + "\n")
        return
    with open(path, encoding="utf-8") as f:
        expected = f.read().rstrip("\n")
    try:
        t.wait_for(lambda lines: "\n".join(masked(lines)).rstrip("\n") == expected)
    except AssertionError:
        lines, expected = "\n".join(masked(t.lines())).rstrip("\n").split("\n"), expected.split("\n")
        at = next((i for i, (a, b) in enumerate(zip(lines, expected)) if a != b), min(len(lines), len(expected)))
        wrong.append(f"{name}, line {at + 1}\n  is       {lines[at:at + 1]}\n  expected {expected[at:at + 1]}")


def still(width, height):
    agent = Synthetic("--ended", "--past", 700, "--past-marks", 3, "--pid", 812)
    wrong = []
    with Terminal([MEMTOP, "--theme", "dark", agent.address], width, height) as t:
        t.wait_for("final")
        t.wait_for("new_vertex_array")
        t.wait_for(lambda now: now if not re.search(r"mapd(\+0x|…)", "\n".join(now)) else None, 20, "the names of its functions")
        for name, keys, until in STEPS:
            go(t, keys, until)
            compare(f"{width}x{height}/{name}.txt", t, wrong)
            if name == "libs-by-caller":
                t.keys("L")
            if name == "tree-diff":
                t.keys("d")
            if name == "tree-inverted":
                t.keys("i")
            if name == "sites-churn":
                t.keys("T")
            if name == "percent":
                t.keys("%")
            if name == "exact-bytes":
                t.keys("u")
            if name == "overview-instant":
                t.keys("End", "Tab")
        go(t, ["3", "v"], "Stack, innermost first")  # has paths and times of files in it: test_source.py looks closer
    assert not wrong, f"{len(wrong)} screens:\n" + "\n".join(wrong)


@test
def t_a_program_that_stands_still_80x24():
    still(80, 24)


@test
def t_a_program_that_stands_still_120x36():
    still(120, 36)


@test
def t_a_program_that_stands_still_200x60():
    still(200, 60)


# Of each view: its tab, heads of columns that are there at 80 columns, a row.
VIEWS = [
    ("1", "[1 Over", ("SHAPE", "LIVE", "CALL SITE < CALLER", "OWNER"), r"^[> ].*\d.* < "),
    ("2", "[2 Tree]", ("LIVE", "BLOCKS", "CALLS/s", "FUNCTION", "AT"), r"^[> ] *[\d.,]+[KMG]? +[\d,.kM]+ .*[▼▶]"),
    ("3", "[3 Sites]", ("LIVE", "BLOCKS", "CALLS/s", "CALL SITE < CALLER", "OWNER"), r"^[> ] *[\d.]+[KMG] .* < "),
    ("4", "[4 Libs]", ("LIVE", "%", "BLOCKS", "BYTES/s", "OWNER LIBRARY"), r"^[> ] *[\d.]+[KMG] .* A "),
    ("5", "[5 Marks]", ("PICK", "MARK", "NAME", "TIME", "LIVE", "NET"), r"^[> ] +B +now "),
    ("6", "[6 Thr", ("LIVE", "%", "BLOCKS", "TID", "THREAD"), r"^[> ] .*\d+ +[a-z]"),
    ("7", "[7 Mem", ("RESIDENT", "%", "NET", "OF WHAT"), r"live blocks, resident"),
]


def whole(lines, tab, heads, row):
    """The screen, when all of it is this view's: while it is drawn, a part is of the one before."""
    text = "\n".join(lines)
    there = (tab in text and any(all(h in line for h in heads) for line in lines) and re.search(row, text, re.M) and
             "Help" in lines[-1] and "RSS" in lines[2] and "Live" in lines[2])
    return lines if there else None


def live(command, width, height, theme):
    """All views of a program that runs; returns the colours that came."""
    colours = set()
    with Terminal([MEMTOP, "--theme", theme, *command], width, height, env=environment()) as t:
        t.wait_for(re.compile(r"LIVE \d:\d\d:\d\d"), 20)
        for key, tab, heads, row in VIEWS:
            t.keys(key)
            lines = t.wait_for(lambda now: whole(now, tab, heads, row), 20, f"{key}: {heads}, and a row")
            assert "\ufffd" not in "\n".join(lines), "\n".join(lines)
            colours |= set(re.findall(r"\x1b\[[\d;]*m", "\n".join(t.now(attributes=True))))
        t.keys("Q")
        t.wait_exit()
    return colours


def at_all_sizes(command):
    dark = [live(command, width, height, "dark") for width, height in SIZES]
    light = live(command, 120, 36, "light")
    assert len(light) > 3 and len(dark[1]) > 3 and light != dark[1], (light, dark[1])


@test
def t_redis_under_load():
    need("redis-server", "redis-benchmark")
    redis = Redis()
    redis.start()
    load = redis.load(requests=20_000_000, clients=4)
    at_all_sizes([redis.target])
    assert load.running()
    load.stop()


@test
def t_a_program_in_cxx():
    shop = start([f"{BUILD}/tests/targets/s_shop", "stay"], env=environment(LD_PRELOAD=AGENT))
    at_end(kill, shop.pid)
    at_all_sizes(["-p", str(shop.pid)])


if __name__ == "__main__":
    main()
