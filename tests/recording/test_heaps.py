#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_heaps.py - named heaps: blocks that a program reports from its own allocators are counted to
the byte, and only once."""
import json
import os
import subprocess

import manual
from harness import (BUILD, MEMTOP, TARGETS, environment, main, recorded, report, run, start, temporary_folder, test,
                     wait_for)

HEAPS = os.path.join(TARGETS, "s_heaps")
# allocated blocks and bytes, live blocks and bytes: the table in s_heaps.c
WANT = {
    "arena": (1010, 101000, 10, 1000), "stack": (10, 1000, 5, 500), "slab": (100, 2400, 50, 1200),
    "handles": (6, 6 << 32, 3, 3 << 32), "realloc": (11, 660, 1, 110), "outer": (2, 8192, 0, 0), "inner": (5, 80, 4, 64),
    "wrong": (2, 30, 1, 20), "threads": (8100, 259200, 100, 3200), "forks": (20, 200, 20, 200), "marks": (8, 64, 6, 48),
    "many": (20000, 1280000, 10000, 640000)}
PARTS = ["arena", "stack", "slab", "handles", "realloc", "nested", "threads", "forks", "marks", "many"]
FIELDS = ("allocated_blocks", "allocated_bytes", "live_blocks", "live_bytes")


def reported(*parts, options="", program=HEAPS, arguments=()):
    """The report of these parts of it, which says nothing by itself."""
    session = recorded(program, *parts, options=options)
    assert (session.stdout, session.stderr) == ("", ""), (session.stdout, session.stderr)
    return report(session, arguments=arguments)


def heaps(r):
    """Name -> figures, of the libraries that are heaps."""
    return {row["name"].removeprefix("heap:"): tuple(row[f] for f in FIELDS) for row in r["libraries"]
            if row["name"].startswith("heap:")}


def check_all(r):
    found = heaps(r)
    assert found == WANT, {k: (found.get(k), WANT.get(k)) for k in found.keys() | WANT.keys() if found.get(k) != WANT.get(k)}


@test
def t_without_an_agent():
    done = run([HEAPS, "all"], env=environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done


@test
def t_as_the_manual_says():
    """Its lines compile, as C and as C++, without a word."""
    lines = manual.examples("memtop-agent.7", "HEAPS OF YOUR OWN")[0].splitlines()
    head = [line for line in lines if line.startswith(("#", "static"))]
    text = "\n".join(["#include <stdlib.h>", *head, "int main(void) {", "void *chunk, *p = &chunk, *q = &p; size_t size = 16;",
                      *[line for line in lines if line not in head], "return 0; }", ""])
    folder = temporary_folder()
    for compiler, language in (("gcc", "c"), ("g++", "c++"), ("clang", "c")):
        with open(folder + "/snippet", "w", encoding="utf-8") as f:
            f.write(text)
        done = run([compiler, "-Iinclude", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O0", "-o", folder + "/a", "-x", language,
                    folder + "/snippet"])
        assert (done.returncode, done.stderr) == (0, ""), done


@test
def t_every_heap_to_the_byte():
    r = reported("all")
    check_all(r)
    # the pools that they were cut from: allocated, and not counted as alive beside their parts
    pools = [s for s in r["stacks"] if "pool_take" in [f["function"] for f in s["frames"]] and s["owner"] == "s_heaps"]
    assert [sum(s[f] for s in pools) for f in FIELDS] == [4, 400000, 0, 0], pools
    moved = [s for s in r["stacks"] if s["frames"][0]["function"] == "stack"]
    assert [sum(s[f] for s in moved) for f in FIELDS] == [1, 200000, 0, 0], moved
    # of "wrong", and of nothing else
    assert r["agent"]["lost"]["events"] <= 2 and len([w for w in r["warnings"] if "freed" in w]) == 2, (r["agent"], r["warnings"])


@test
def t_no_word_where_nothing_is_wrong():
    r = reported(*PARTS)
    assert not r["agent"]["lost"]["events"] and not r["warnings"], (r["agent"]["lost"], r["warnings"])


@test
def t_a_block_that_is_too_large_is_lost():
    """It counts nowhere, or the figures of its free would not be those of its allocation."""
    r = reported("huge")
    assert heaps(r)["huge"] == (1, (1 << 48) - 1, 0, 0), heaps(r)
    assert (r["agent"]["lost"]["events"], r["agent"]["lost"]["bytes"]) == (1, 1 << 48), r["agent"]["lost"]


@test
def t_stacks_say_heap_and_caller():
    r = reported("slab")
    mine = [s for s in r["stacks"] if s["owner"] == "heap:slab"]
    assert len(mine) == 1, r["stacks"]
    frames = [(f["function"], f["module"]) for f in mine[0]["frames"]]
    assert frames[0] == ("heap:slab", "heap:slab"), frames
    assert [name for name, _ in frames[1:4]] == ["cut", "slab", "main"] and not mine[0]["truncated"], frames


@test
def t_threads_of_blocks():
    r = reported("threads", "many")
    assert sum(t["live_bytes"] for t in r["threads"]) == r["totals"]["live_bytes"], r["threads"]
    assert len([t for t in r["threads"] if t["allocated_blocks"] == 1000]) == 8, r["threads"]


@test
def t_reports_from_signal_handlers():
    """In the middle of other reports: nothing is lost, and nothing stays."""
    r = reported("signals")
    assert heaps(r)["signals"][2:] == (10, 320), heaps(r)
    assert not r["agent"]["lost"]["events"] and not [w for w in r["warnings"] if "freed" in w], r["warnings"]


@test
def t_heaps_change_between_marks():
    r = reported("marks", "many", arguments=["--since", "between"])
    changes = [c for c in r["changes"] if c["owner"] == "heap:marks"]
    assert [sum(c[k] for c in changes) for k in ("born_blocks", "born_bytes", "gone_blocks", "gone_bytes")] == [3, 24, 2, 16], changes


@test
def t_filters_go_by_heap():
    assert heaps(reported("all", options="libs=heap:arena")) == {"arena": WANT["arena"]}
    assert not heaps(reported("slab", "arena", options="exclude=heap:.*"))
    assert heaps(reported("inner", "nested", "slab", "arena", options="min_size=25")).keys() == {"arena", "outer"}


@test
def t_heaps_are_estimated_under_a_sample():
    """Estimates of live memory; memory that is freed completely counts as zero, whatever the
    sample."""
    r = reported("many", "arena", options="sample=1k")
    blocks, size, live_blocks, live = heaps(r)["many"]
    assert abs(live - 640000) < 160000 and abs(size - 1280000) < 250000 and live_blocks and blocks, heaps(r)
    assert r["totals"]["estimate"], r["totals"]
    assert heaps(reported("nested", options="sample=16")).get("outer", (0, 0, 0, 0))[2:] == (0, 0)


@test
def t_heaps_of_a_program_that_was_attached():
    """The program's weak symbols are given to it then; the free of an earlier block is one of before; and once more after a detach."""
    p = start([HEAPS, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
    assert p.stdout.readline() == b"ready\n"

    def go_on():
        p.stdin.write(b"x")
        p.stdin.flush()
        assert p.stdout.readline() == b"done\n"

    def live():
        done = run([MEMTOP, "report", "--format", "json", "-p", str(p.pid)], env=environment())
        r = json.loads(done.stdout) if done.returncode == 0 else None
        return r and heaps(r).get("late") == (7, 490, 7, 490) and r

    for _ in range(2):
        done = run([MEMTOP, "attach", "--no-view", str(p.pid)], env=environment())
        assert done.returncode == 0, done
        go_on()
        r = wait_for(live, 30, "the late heap")
        assert [w for w in r["warnings"] if "1 of them were freed since" in w], r["warnings"]
        done = run([MEMTOP, "detach", str(p.pid)], env=environment())
        assert done.returncode == 0, done
        go_on()
    p.stdin.close()
    assert p.wait(60) == 0


@test
def t_heaps_of_a_static_program():
    """The same of a static program that has the agent linked in."""
    program = temporary_folder() + "/s_heaps"
    done = run(["gcc", "-O1", "-g", "-fno-builtin", "-D_GNU_SOURCE", "-Iinclude", "-Itests", "-static", "-o", program,
                "tests/targets/s_heaps.c", f"@{BUILD}/wrap.flags", f"{BUILD}/libmemtop-wrap.a"])
    assert done.returncode == 0, done.stderr
    check_all(reported("all", program=program))


main()
