#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_thin.py - a recording that thins out while it grows: what is live, its marks and its peak are those of a
recording that does not, and a kill at any moment leaves a whole session.

The rule's ages are divided (MEMTOP_TEST_THIN_AGES), and the file is thinned early
(MEMTOP_TEST_THIN_BYTES), so that seconds are enough. How many depends on the Python: the program runs until its file is gone.
"""
import glob
import json
import os
import random
import signal
import subprocess
import sys
import time

import mtop
import wire
from harness import MEMTOP, environment, main, recording, temporary_folder, test, wait_for

PROGRAM = """
import itertools, os, sys, time
kept = []
for i in itertools.takewhile(lambda _: os.path.exists(sys.argv[1]), itertools.count()):
    kept.append([bytearray(100 + 7 * (i % 90)) for _ in range(60)])
    if len(kept) > 80:
        del kept[:40]
    time.sleep(0.03)
"""
OMITTED = 142
ENV = {"PYTHONMALLOC": "malloc", "MEMTOP_TEST_KEY_BYTES": "9000"}
THIN = {"MEMTOP_TEST_THIN_BYTES": "300000", "MEMTOP_TEST_THIN_AGES": "100"}


def begun(path, **more):
    """Records while PATH.run exists."""
    with open(path + ".run", "wb"):
        pass
    return recording(sys.executable, "-c", PROGRAM, path + ".run", arguments=["--mark-every", "1s"], path=path, env=environment(**ENV, **more),
                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def report(path, *words):
    done = subprocess.run([MEMTOP, "report", "-f", "json", "--stacks", "all", *words, path], capture_output=True, text=True,
                          env=environment(), check=True, timeout=60)
    return json.loads(done.stdout)


def ticks(path):
    """Times of the ticks, in seconds, and how many were left out."""
    times, omitted = [], 0
    with open(path, "rb") as f:
        data = f.read()
    for head, frames in mtop.blocks(data):
        if int.from_bytes(head[28:32], "little"):
            continue
        for kind, payload, _ in frames:
            cur = wire.Cursor(payload)
            if kind == wire.TICK:
                cur.varint()
                times.append(cur.varint() / 1e9)
            elif kind == OMITTED:
                omitted += cur.varint()
    return times, omitted


def inode(path):
    return os.stat(path).st_ino if os.path.exists(path) else 0


def counters(found):
    """What was counted, of the whole heap and of each stack."""
    keys = ("live_bytes", "live_blocks", "allocated_bytes", "allocated_blocks")
    return {k: found["totals"][k] for k in keys}, sorted(tuple(s[k] for k in keys) for s in found["stacks"])


@test
def marks_and_the_peak_stay_and_ticks_go():
    folder = temporary_folder()
    path, before = os.path.join(folder, "a.mtop"), os.path.join(folder, "before.mtop")
    child = begun(path, **THIN)
    old = wait_for(lambda: inode(path), 20)
    with open(path, "rb") as held:  # as a reader that has it open: it sees all of the old file
        wait_for(lambda: inode(path) != old, 120, "a thinner file")
        wait_for(lambda: ticks(path)[1] > 20, 120, "ticks are left out")
        os.unlink(path + ".run")
        assert child.wait(60) == 0, child.stderr.read()
        with open(before, "wb") as out:
            out.write(held.read())
    assert ticks(before)[1] == 0 and ticks(path)[1] > 20, ticks(path)[1]
    assert ticks(path)[0] == sorted(ticks(path)[0])
    end_of_before = ticks(before)[0][-1]  # the file may end in the middle of a mark's own state
    marks = [f"m{m['id']}" for m in report(before)["marks"] if m["time_s"] < end_of_before]
    assert marks
    for mark in marks:
        assert counters(report(before, "--at", mark)) == counters(report(path, "--at", mark)), mark
    end = report(path)
    total, stacks = counters(end)
    assert [sum(s[i] for s in stacks) for i in range(4)] == list(total.values())
    peak = counters(report(path, "--at", "peak"))
    assert [sum(s[i] for s in peak[1]) for i in range(4)] == list(peak[0].values())
    error = end["totals"]["peak_bytes"] // 100 + end["totals"]["peak_error_bytes"]
    assert end["totals"]["peak_bytes"] - peak[0]["live_bytes"] <= error, (peak[0], end["totals"])
    # the last key frame's instants are those of the file: an instant in a gap is the one before
    plain = os.path.join(folder, "plain.mtop")
    with open(path, "rb") as f:
        data = f.read()
    at, whole = mtop.HEAD, data[:mtop.HEAD]
    for head, _ in mtop.blocks(data):
        end_of = at + len(head) + int.from_bytes(head[4:8], "little")
        if not int.from_bytes(head[28:32], "little"):
            whole += data[at:end_of]
        at = end_of
    with open(plain, "wb") as f:
        f.write(whole)
    assert counters(report(plain, "--at", "peak")) == peak
    for second in range(1, 1 + min(8, int(end["program"]["duration_s"] - 0.05))):
        when = f"0:{second:02}.050"
        assert counters(report(path, "--at", when)) == counters(report(plain, "--at", when)), when
    assert not glob.glob(path + ".*"), glob.glob(path + ".*")


@test
def a_kill_leaves_a_whole_session():
    dice = random.Random(3)
    folder = temporary_folder()
    for turn in range(6):
        path = os.path.join(folder, f"k{turn}.mtop")
        child = begun(path, **{**THIN, "MEMTOP_TEST_THIN_BYTES": "3000"})
        wait_for(lambda p=path: os.path.exists(p + ".thin") or inode(p) and os.path.getsize(p) > 9000, 20)
        time.sleep(dice.random() * 1.5)
        child.send_signal(signal.SIGKILL)
        child.wait()
        os.unlink(path + ".run")
        found = report(path)
        assert any("cut" in w for w in found["warnings"]), found["warnings"]
        assert found["totals"]["live_bytes"] == sum(s["live_bytes"] for s in found["stacks"])
        assert found["totals"]["live_bytes"] > 0


if __name__ == "__main__":
    main()
