#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_bench.py - what make bench says of its own figures: README.md has those of RESULTS.md, rows that miss theirs are listed,
a choice of rows is what was asked for, tools take turns, and a program that is not there does not count as measured.
"""
import contextlib
import io
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import harness
from harness import BUILD, environment, main, recorded, run, temporary_folder, test

import figures
import goals
import readme
import runs
import screen
import setting
import turns
import workloads
from tools import ALL, PLAIN_TOOL

BENCH = "tests/bench/bench.py"
RESULTS = """# What watching costs

Written by `make bench`; never edited. Ratios to the plain run of the same round: median [95 % interval] of 15 rounds.

2026-01-02, 2 cpus (Some CPU), 23 GiB, Linux 6.1.2, load before 0.1; memtop abc1234

## Programs

| program: tool | plain cpu, s | time | cpu of all processes | peak memory, largest process | target |
|---|---:|---:|---:|---:|---:|
| sqlite: memtop | 0.42 | 1.06 [1.03 1.07] | 1.07 [1.04 1.09] | 1.08 | time met (1.15) |
| sqlite: heaptrack | 0.42 | 2.89 [2.76 3.02] | 2.40 [2.30 2.50] | 5.40 [5.39 5.41] | saw 10 of 10 blocks |
| trees: memtop | 0.42 | 1.90 [1.80 1.95] | 2.01 [1.99 2.20] | 1.08 [1.07 1.09] | cpu undecided (2) |
| trees: heaptrack | failed: status 141 |  |  |  |  |
| ripgrep: all | not installed: ripgrep |  |  |  |  |
| paths: memtop | 0.05 | 9.0 [8.0 10.0] | 9.61 [9.0 10.0] | 1.0 [1.0 1.0] |  |

## A server

| redis-server | time of the driver | cpu of the server | its peak memory | agent's own server, of one core | cpu: target |
|---|---:|---:|---:|---:|---:|
| memtop | 1.12 [1.10 1.16] | 1.13 [1.11 1.15] | 1.18 [1.18 1.18] | 0.19 % | missed (1.1) |
| heaptrack | 2.35 [2.28 2.40] | 2.14 [2.09 2.23] | 1.04 [1.04 1.04] |  |  |

## Viewers

| redis under load | ticks a second | cpu of the agent's server, % of one core | target |
|---|---:|---:|---:|
| 1 viewer | 11.0 | 0.30 [0.29 0.31] | met (1) |
| 10 viewers | 11.0 | 0.40 [0.39 0.44] | met (3) |

## Start

| start of /bin/true | added, ms | target |
|---|---:|---:|
| memtop | 0.46 [0.41 0.58] | met (1) |
"""
TABLE = ["| sqlite3, a script in memory | 1.06 | 1.07 | 1.08 | 2.40 |", "| C++, trees built by recursion, 131,071 paths | 1.90 | 2.01 | 1.08 | - |",
         "| redis-server under pipelined load: the server | 1.12 | 1.13 | 1.18 | 2.14 |"]


def bench(*arguments, **variables):
    return run([BENCH, *arguments], env={**environment(), "BUILD": os.path.relpath(BUILD), **variables})


@test
def t_readme_has_the_figures_of_the_results():
    with open(readme.RESULTS, encoding="utf-8") as f, open(readme.README, encoding="utf-8") as g:
        results, text = f.read(), g.read()
    assert readme.made(text, results) == text, "README.md has other figures than tests/bench/RESULTS.md: make bench-readme"


@test
def t_an_answer_that_never_is_whole_misses_its_figure():
    class Stuck:
        keys = temporary_folder() + "/keys"

        def think(self, seconds):
            pass

        def read(self, seconds):
            pass

    goals.records.clear()
    hand = screen.Hand(Stuck())
    hand.think = lambda: None
    hand.times.append(("diff", "d", 100, 0.01, False))
    limit, screen.WHOLE_S = screen.WHOLE_S, 0.05
    try:
        for log, found in (("100 110\nwhole 99\n", float("inf")), ("100 110\nwhole 99\nwhole 300000100\n", 0.3)):
            with open(Stuck.keys, "w", encoding="ascii") as f:
                f.write(log)
            hand.later.clear()
            hand.whole("diff")
            assert hand.later == {"diff": [found]}, (log, hand.later)
            said = [row[1:] for row in screen.whole_rows(hand.later, "at rest")][0]
            assert said == (("not within 0.05 s", "missed (0.15)") if found > 1 else ("0.30 s", "missed (0.15)")), said
    finally:
        screen.WHOLE_S = limit
        goals.records.clear()


@test
def t_readme_is_made_of_what_was_measured():
    made = readme.made(f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n", RESULTS)
    lines = made.splitlines()
    assert [line for line in lines if line.startswith("| ")][1:] == TABLE, made
    said = " ".join(lines)
    for words in ("medians of 15 rounds: 2026-01-02, 2 cpus (Some CPU), Linux 6.1, memtop abc1234.", "at most 11 % of the cpu",
                  "0.3 % of one core", "0.4 % with ten viewers", "starts 0.5 ms later", "takes 9 times as long"):
        assert words in said, (words, made)
    assert made.startswith("before\n") and made.endswith("\nafter\n") and "old" not in made, made
    assert readme.made(made, RESULTS) == made
    without = RESULTS.replace("| memtop | 0.46", "| another | 0.46")
    with contextlib.suppress(readme.Missing):
        raise AssertionError("a missing figure was made up: " + readme.made(made, without))


@test
def t_rows_that_miss_their_figure_are_listed():
    goals.records.clear()
    assert goals.judge("clang++: cpu", figures.Interval(1.3, 1.26, 1.4)) == "missed (1.25)"
    assert goals.judge("clang++: peak", figures.Interval(1.1, 1.0, 1.2)) == "met (1.2)"
    assert goals.judge("lua: time", figures.Interval(1.1, 1.0, 1.2)) == "undecided (1.15)"
    assert goals.judge("perl: time", figures.Interval(1.01, 1.0, 1.02)) == "met (1.15)"
    assert goals.judge("captures, same stack: times unw_step", figures.Interval(600, 450, 700), 0) == "undecided (500)"
    assert goals.judge("gawk: time", figures.Interval(9, 9, 9)) == "", "there is no bound"
    chief, short = goals.chief(False), goals.short(False)
    assert "| clang++ -O1, 30 headers: cpu; peak | 1.30 [1.26 1.40]; 1.10 [1.00 1.20] | 1.25; 1.2 | missed; met |" in chief, chief
    worst = next(line for line in chief if line.startswith("| six programs"))
    assert "not measured; 1.10 [1.00 1.20] (lua, of 2 measured) | 1.08; 1.15 |" in worst, worst
    assert len(chief) == 2 + 2 + 1, chief
    goals.judge("lua: peak", figures.Interval(1.1, 1.0, 1.12))
    assert "| 1.15 | undecided |" in next(line for line in goals.chief(False) if line.startswith("| peak memory")), "six are not measured"
    del goals.records["lua: peak"]
    assert short[0].endswith(": 3 of 5.") and len(short) == 2 + 3 + 1, short
    assert "- clang++: cpu: 1.30 [1.26 1.40], must be at most 1.25: missed" in short, short
    assert any(line.endswith("must be at least 500: undecided") for line in short), short
    whole = goals.short()
    assert len(goals.chief()) == 2 + len(goals.CHIEF) + 1 and len(whole) == 2 + len(goals.MUST) - 2 + 1, whole
    assert "- trees: cpu: not measured; must be at most 2" in whole, whole
    named = {n for _, *rows in goals.CHIEF for row in rows for n in (row if isinstance(row, tuple) else (row,))}
    assert named <= set(goals.MUST), named - set(goals.MUST)


@test
def t_tools_take_turns_beside_the_plain_program():
    order, tools = [], [ALL[n] for n in ("memtop", "forward", "heaptrack", "capture")]

    def measure(tool):
        order.append(tool.name)
        if tool.name == "heaptrack" and len(order) > 5:
            raise setting.Failed("no room")
        return len(order)

    pairs, failed = turns.in_turns(tools, measure, 3)
    assert order == ["forward", "plain", "memtop", "heaptrack", "capture", "capture", "heaptrack", "memtop", "plain", "forward",
                     "forward", "plain", "memtop", "capture"], order
    assert failed == {"heaptrack": "no room"}, failed
    assert pairs == {"memtop": [(2, 3), (9, 8), (12, 13)], "forward": [(2, 1), (9, 10), (12, 11)],
                     "capture": [(2, 5), (9, 6), (12, 14)]}, pairs

    def no_plain(tool):
        if tool is PLAIN_TOOL:
            raise setting.Failed("nothing to compare with")
        return 1

    with contextlib.suppress(setting.Failed):
        raise AssertionError(turns.in_turns(tools, no_plain, 1))


@test
def t_a_program_that_is_not_there_says_so():
    p = runs.Programs()
    absent = workloads.packaged("absent", "absent-package", "nothing", lambda: [], program="absent-program")
    with contextlib.redirect_stdout(io.StringIO()):
        p.program(absent, [ALL["memtop"]])
    assert p.rows[0][:3] == ("absent", "all", "not installed: absent-package") and not p.pairs, p.rows


@test
def t_a_program_that_does_something_else_is_not_measured():
    differs = temporary_folder() + "/differs"
    with open(differs, "w", encoding="ascii") as f:
        f.write('#!/bin/sh\nwhile read -r line; do case $line in *libmemtop*) echo there;; esac; done </proc/self/maps\n')
    os.chmod(differs, 0o755)
    p = runs.Programs()
    with contextlib.redirect_stdout(io.StringIO()):
        p.program(workloads.Workload("differs", "", lambda: [differs]), [ALL["memtop"]])
    assert p.rows[0][:3] == ("differs", "all", "failed: it says something else under memtop") and not p.pairs, p.rows


@test
def t_help_and_a_choice():
    done = bench("--help")
    assert done.returncode == 0, done
    for word in ("clang++", "ripgrep", "git-blame", "million", "instructions", "heaptrack", 'ROWS="clang++ trees"'):
        assert word in done.stdout, f"{word} is not in the help:\n{done.stdout}"
    for rows in ("clang++ tree nosuch", "clang++,tree,nosuch"):
        done = bench(ROWS=rows, TOOLS="memtop alsonot")
        assert done.returncode == 1 and "no such row or tool: alsonot, nosuch;" in done.stderr, done
    done = bench(ROWS="million shortcuts", PAIRS="1")
    assert done.returncode == 0, done
    assert [line for line in done.stdout.splitlines() if line.startswith("## ")] == [
        "## Figures to reach", "## A million call paths", "## Short cuts of programs with one thread"], done.stdout
    assert done.stdout.rstrip().endswith("All rows with a bound reach it: 1."), done.stdout


@test
def t_blocks_without_a_stack_are_counted():
    session = recorded(f"{BUILD}/bench/million", options="max_memory=16M", seconds=120)
    words = run([f"{BUILD}/bench/endings", session]).stdout.split()
    said = dict(zip(words[::2], map(int, words[1::2])))
    assert said["blocks"] >= 2 ** 20 - 1 and said["without"] + said["shorter"] > 2 ** 19, said


harness.at_end(lambda: shutil.rmtree(setting.FOLDER, ignore_errors=True))
main()
