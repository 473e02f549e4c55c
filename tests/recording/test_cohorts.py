#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_cohorts.py - live blocks by stack, thread and age: against a program's own account, against
the counters, and at the program's end."""
import re
import subprocess
import time

import wire
from client import Client, run_watched
from harness import BUILD, MEMTOP, main, mostly_waits, need, recording, test
from term import Terminal


class Target:
    def __init__(self, options=""):
        self.process = run_watched([f"{BUILD}/tests/targets/s_cohorts"], f"listen=@memtop-test.%p {options}",
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"
        self.name = f"@memtop-test.{self.process.pid}"
        self.requests = 0

    def does(self, command):
        self.process.stdin.write(command.encode())
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"done\n"

    def client(self, **named):
        return Client(self.name, **named).until_complete()

    def scan(self, c, slots=()):
        self.requests += 1
        request = self.requests
        c.send(wire.SCAN, request=request, kind=3, slots=list(slots))
        c.until(lambda: request in c.scans, "the cohorts")
        return c.scans[request]


def by_slot(scan):
    out = {}
    for x in scan["cohorts"]:
        blocks, size = out.get(x["slot"], (0, 0))
        out[x["slot"]] = (blocks + x["blocks"], size + x["bytes"])
    return out


def live(c):
    return {s: c.slot_live(s) for s in c.counts if c.slot_live(s)[0]}


def of(c, scan, blocks, size):
    """The cohorts of the slot that holds exactly this."""
    slots = [s for s, held in live(c).items() if held == (blocks, size)]
    assert len(slots) == 1, (slots, live(c))
    return [x for x in scan["cohorts"] if x["slot"] == slots[0]]


@mostly_waits
def t_who_holds_what_since_when():
    p = Target()
    p.does("e")
    time.sleep(4)  # an age
    p.does("w")
    c = p.client()
    scan = p.scan(c)
    c.until_complete()
    assert (scan["blocks"], scan["bytes"]) == (0, 0), "all is in some cohort"
    assert by_slot(scan) == live(c), "what the counters say, slot by slot"
    early, late = of(c, scan, 100, 100000), of(c, scan, 50, 10000)
    assert len(early) == 1 and early[0]["age_s"] in (2, 3, 4), early
    assert c.threads[early[0]["thread"]]["tid"] == p.process.pid, early
    assert all(x["age_s"] in (0, 1) and c.threads[x["thread"]]["name"] == "io-7" for x in late), (late, c.threads)
    p.does("f")
    c.until_complete()
    only = p.scan(c, [early[0]["slot"]])
    assert by_slot(only) == {early[0]["slot"]: (50, 50000)}, only


@test
def t_many_come_in_parts():
    """The agent sends parts in each of six scans: on a fast link the window outgrows the buffer of a part."""
    p = Target()
    p.does("m")
    c = p.client()
    for _ in range(6):
        scan = p.scan(c)
        assert by_slot(scan) == live(c) and len(live(c)) > 65000 and not scan["blocks"]
        assert scan["parts"] > 3, "half of the window at a time"


@mostly_waits
def t_one_that_takes_nothing_does_not_keep_the_others_waiting():
    p = Target()
    p.does("m")
    stuck, c = p.client(), p.client()
    stuck.ack = False
    stuck.send(wire.SCAN, request=900, kind=3, slots=[])
    time.sleep(0.5)  # by then the server is at what nobody takes, which no figure tells
    c.send(wire.SCAN, request=901, kind=0, slots=[])
    c.until(lambda: 901 in c.scans, "the threads, asked by another one", seconds=20)


@test
def t_the_end_has_them():
    p = Target()
    p.does("e")
    p.does("w")
    c = p.client()
    p.process.stdin.close()
    c.until_final()
    assert by_slot(c.scans[0]) == live(c) and c.scans[0]["flags"] & wire.PART_LAST
    assert of(c, c.scans[0], 100, 100000) and of(c, c.scans[0], 50, 10000)


@mostly_waits
def t_a_session_has_those_of_its_end():
    """A session has the blocks that came after the agent's last tick. Rows that move take their ages along."""
    need("tmux")
    p = recording(f"{BUILD}/tests/targets/s_cohorts", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n"
    p.stdin.write(b"e")
    p.stdin.flush()
    assert p.stdout.readline() == b"done\n"
    time.sleep(4)  # an age
    p.stdin.write(b"w")
    p.stdin.close()
    assert p.wait(60) == 0
    with Terminal([MEMTOP, "open", p.session], 140, 30) as t:
        t.keys("3")
        t.wait_for(re.compile(r"97\.7K .* [3-6] s +[3-6] s .*early"))
        t.wait_for(re.compile(r"9\.8K .* [012] s +[012] s .*late"))
        t.keys("2")
        for key in ("Home", "C", "Right", "*", "Left", "Right"):
            t.keys(key)
        t.settle()
        t.keys("Home", "*")
        t.wait_for(re.compile(r"early.* [3-6] s +[3-6] s$", re.M))
        t.wait_for(re.compile(r"late.* [012] s +[012] s$", re.M))
        t.prompt("\\thread:io-7", "3")
        t.wait_gone("early")
        t.wait_for(re.compile(r"9\.8K .* [012] s +[012] s .*late"))
        t.type("a1h")
        t.keys("Enter")
        t.wait_for('nothing matches the filter "thread:io-7 age>1h"')
        t.type("a2 m")
        t.keys("Enter")
        t.wait_for("an age is one word")
        t.wait_for('nothing matches the filter "thread:io-7 age>1h"')
        t.keys("Q")


if __name__ == "__main__":
    main()
