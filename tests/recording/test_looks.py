#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_looks.py - threads, memory and ages are the same live, recorded and reopened, with the same
words where they are unknown."""
import json
import os
import re
import subprocess

import mtop
import wire
from cli import memtop
from client import run_watched
from harness import BUILD, MEMTOP, main, mostly_waits, recorded, recording, temporary_folder, test, wait_for
from term import Terminal

MOVING = ("memtop agent", "mapped files (code, data)")  # each viewer costs the agent some; pages of files come and go
SLOW = "import time; x = [(time.sleep(.05), bytearray(9000)) for _ in range(70)]"


class Target:
    """Two threads, whose blocks are known: 100 of 1000 bytes by the main one, 50 of 200 by another."""

    def __init__(self):
        self.process = run_watched([f"{BUILD}/tests/targets/s_cohorts"], "listen=@memtop-test.%p",
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"
        self.name = f"@memtop-test.{self.process.pid}"

    def does(self, command):
        self.process.stdin.write(command.encode())
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"done\n"


def report(*target):
    done = memtop("report", "--format", "json", *target)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def figures(r):
    """What does not move while the program stands still."""
    assert not r["not_known"], r["not_known"]
    threads = {t["name"]: (t["live_bytes"], t["live_blocks"], t["allocated_bytes"]) for t in r["threads"]}
    parts = {p["part"]: p["bytes"] for p in r["resident"]["parts"] if p["name"] is None and p["part"] not in MOVING}
    ages = [sum(a[k] for a in r["ages"]["live"]) + r["ages"]["unknown_" + k] for k in ("blocks", "bytes")]
    totals = {k: v for k, v in r["totals"].items() if not k.startswith("peak")}
    assert sum(p["bytes"] for p in r["resident"]["parts"] if p["name"] is None) == r["resident"]["rss_bytes"], r["resident"]
    assert sum(t[0] for t in threads.values()) == r["totals"]["live_bytes"] == ages[1], (threads, ages, r["totals"])
    return threads, parts, ages, totals, r["agent"]["stacks"]["whole_percent"]


def rows(t, view, pattern):
    """Both rows of this kind."""
    t.keys(view)
    return t.wait_for(lambda lines: len(found := re.findall(pattern, "\n".join(lines), re.M)) == 2 and sorted(found), what=pattern)


def screens(t):
    """LIVE, BLOCKS and names of Threads; the parts of Memory."""
    return (rows(t, "6", r"^.\s+([\d.]+K?)\s+\d+\s+(\d+) .* (s_cohorts|io-7)"),
            rows(t, "7", r"^.\s+([\d.]+[KM]?)\s+<?\d+ .* (live blocks, resident|thread stacks)"))


@test
def t_live_recorded_and_reopened():
    p, folder = Target(), temporary_folder()
    recorder = recording(arguments=[p.name])
    p.does("e")
    p.does("w")
    with Terminal([MEMTOP, p.name], 120, 36, env={"XDG_STATE_HOME": folder, "HOME": folder}) as t:
        t.wait_for("Live 107.7K")
        seen = screens(t)
        live = report(p.name)
        t.type(f"w{folder}/saved.mtop")
        t.keys("Enter")
        t.wait_for("saved:")
    recorder.terminate()
    assert recorder.wait(60) == 0
    assert figures(live)[0]["io-7"][:2] == (10000, 50), live["threads"]
    for kept in (recorder.session, folder + "/saved.mtop"):
        file = report(kept)
        for name, a, b in zip(("threads", "memory", "ages", "totals", "stacks"), figures(live), figures(file)):
            assert a == b, f"{kept}: {name}: live {a}, in the file {b}"
        with Terminal([MEMTOP, "open", kept], 120, 36) as t:
            t.wait_for("Live 107.7K")
            assert screens(t) == seen, f"{kept}\n{seen}\n{t.text()}"  # of a file: all was known before it was drawn


@test
def t_a_program_of_milliseconds_has_all_at_its_end():
    for program in (["sqlite3", ":memory:", "select 1;"], ["/bin/true"]):
        r = report(recorded(*program))
        figures(r)
        assert r["resident"]["rss_bytes"] > 1 << 20 and r["agent"]["attached"] is False, r["resident"]


@mostly_waits
def t_a_cut_file_opens_and_says_what_it_does_not_know():
    folder = temporary_folder()
    whole = open(recorded("python3", "-c", SLOW), "rb").read()  # blocks are closed once a second
    unknown, known = set(), 0
    for i in range(1, 24):
        path = folder + "/cut.mtop"
        with open(path, "wb") as f:
            f.write(whole[:len(whole) * i // 24])
        done = memtop("report", "--format", "json", path)
        if done.returncode:
            assert re.search(r"cut before its first block|holds no session", done.stderr), done.stderr
            continue
        r = json.loads(done.stdout)
        known += 1
        for key, word in (("resident", "resident memory"), ("ages", "age and thread of blocks")):
            said = [s for s in r["not_known"] if word in s]
            assert (r[key] is None) == bool(said), (key, r[key], r["not_known"])
            unknown.update(said)
        text = memtop("report", "--full", path).stdout
        assert all(s in text for s in r["not_known"] if "thread" not in s), (r["not_known"], text)
    assert known, "no cut of the file could be read"


@test
def t_not_asked_is_null_and_not_nothing():
    """A session that ended before any look: null, and the same sentence on the screen, in the report and in JSON."""
    p, folder = Target(), temporary_folder()
    p.does("e")
    recorder = recording(arguments=[p.name])
    session = recorder.session
    wait_for(lambda: os.path.exists(session) and os.path.getsize(session) > 300, 10, "a block")
    recorder.kill()
    recorder.wait()
    # its frames but the answers: as of an agent that was never asked
    without = folder + "/b.mtop"
    mtop.without(session, without, (wire.SCAN_THREADS, wire.SCAN_MEMORY, wire.SCAN_COHORTS))
    r = report(without)
    assert r["resident"] is None and r["ages"] is None, r
    assert [t["live_bytes"] for t in r["threads"]] == [None] * len(r["threads"]), r["threads"]
    assert len(r["not_known"]) == 3 and all(re.search(" is not known: the session was cut", s) for s in r["not_known"]), r["not_known"]
    text = memtop("report", "--full", without).stdout
    with Terminal([MEMTOP, "open", without], 160, 36) as t:
        t.keys("7")
        words = next(s for s in r["not_known"] if "resident memory" in s)
        t.wait_for(lambda lines: words[:100] in t.text())
        assert words in text, (words, text)
        t.keys("6")
        t.wait_for("LIVE of each thread is not known")


def crowd(rounds, threads):
    """The report of that many threads, once the sums over its rows are the totals."""
    r = report(recorded(f"{BUILD}/tests/targets/s_generations", str(rounds), str(threads)))
    for figure in ("live_bytes", "live_blocks", "allocated_bytes", "allocated_blocks"):
        assert sum(t[figure] for t in r["threads"]) == r["totals"][figure], (figure, r["totals"], r["threads"][:5])
    return r


@test
def t_rows_of_five_thousand_threads_are_the_totals():
    """Each has a row of its own."""
    r = crowd(1, 5000)
    own = [t for t in r["threads"] if (t["live_bytes"], t["allocated_bytes"]) == (100, 160)]
    assert len(own) == 5000, (len(own), r["threads"][:5])


@test
def t_threads_beyond_the_last_number_are_in_one_row():
    r = crowd(5, 4000)
    assert len(r["threads"]) == 16384 and r["totals"]["allocated_bytes"] >= 5 * 4000 * 160, (len(r["threads"]), r["totals"])
    others = [t for t in r["threads"] if not t["tid"]]
    assert len(others) == 1 and others[0]["allocated_bytes"] >= (5 * 4000 - 16383) * 160, others


if __name__ == "__main__":
    main()
