#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_instants.py - a short session, step by step: each recorded instant, to the byte, against the frames of its file."""
import re

import mtop
import wire
from cli import compiled
from harness import MEMTOP, main, recorded, temporary_folder, test
from term import Terminal, command, running

PHASES = """
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	static void *kept[20];
	for (int i = 0; i < 20; i++) {
		kept[i] = malloc(1000 * (i + 1) + 7);
		if (i % 3 == 2)
			free(kept[i - 1]);
		usleep(40000);
	}
	return kept[19] == NULL;
}
"""
FIRST, FINAL = 1, 2


def instants(path):
    """Of each instant that was recorded: time, live bytes and blocks, RSS; and what was known by the last looks before it."""
    now, out = {"memory": None, "threads": None, "cohorts": None, "aged": False}, []
    for kind, v in mtop.decoded(path):
        if kind == wire.TOTALS:
            now["live"] = v["allocated_bytes"] - v["freed_bytes"]
        elif kind == wire.PROCESS:
            now["rss"] = v["rss_bytes"]
        elif kind == wire.SCAN_MEMORY:
            now["memory"] = sum(p["bytes"] for p in v["parts"] if not p["name"]), sum(p["bytes"] for p in v["parts"])
        elif kind == wire.SCAN_THREADS:
            now["threads"] = sum(t["bytes"] for t in v["threads"])
        elif kind == wire.SCAN_COHORTS:
            now["cohorts"], now["aged"] = v["time_ns"], bool(v["cohorts"])
        elif kind == wire.TICK and v["flags"] & 1:
            if out and out[-1]["time"] == v["time_ns"]:
                if not v["flags"] & FINAL:
                    continue
                out.pop()
            out.append({"time": v["time_ns"], **now})
    return out


def clock(ns):
    ms = ns // 1000000
    return f"{ms // 3600000}:{ms // 60000 % 60:02}:{ms // 1000 % 60:02}.{ms % 1000:03}"


def shows(t, i):
    known = rf"RSS {i['rss']:,} " if i["rss"] else "^((?!RSS).)*$"  # the agent had not asked the kernel by this instant
    t.wait_for(lambda lines: f"PAST {clock(i['time'])}," in lines[0] and re.match(rf" Live {i['live']:,} ", lines[2])
               and re.search(known, lines[2]), what=f"the instant {clock(i['time'])}: {i}")


def memory(t, i):
    if i["memory"] is None:
        t.wait_for("The resident memory by part is not known: the agent had not scanned the heap by then.")
    else:
        t.wait_for(re.compile(rf"^.\s+{i['memory'][1]:,} .* RSS, total", re.M))


def threads(t, i):
    if i["threads"] is None:
        t.wait_for("LIVE of each thread is not known: the agent had not scanned the heap by then.")
    else:
        t.wait_for(re.compile(rf"^>\s+{i['threads']:,} ", re.M), what=f"{i} held by the thread")


def ages(i):
    """What the caption says of the look that the ages of an instant are from: nothing, when it is of the tick before."""
    ago = i["time"] - i["cohorts"]
    return f"ages as of {ago / 1e9:.3f} s ago" if ago > 20000000 else re.compile(r"^(?!.*ages as of).*filter: age<50s", re.M | re.S)


def walk(t, list_, views):
    command(t, "units bytes")
    t.wait_for(lambda lines: re.match(r" Live [\d,]+  ", lines[2]))
    for n, i in enumerate(reversed(list_[:-1])):
        t.keys("[")
        shows(t, i)
        view, check = views[n % len(views)]
        t.keys(view)
        check(t, i)
    t.keys("[", "[")
    shows(t, list_[0])  # nothing before has call paths; the graph may have points, where the cursor is then
    command(t, f"at {clock(list_[0]['time'])}")
    shows(t, list_[0])
    for i in list_[1:-1]:
        t.keys("]")
        shows(t, i)
    t.keys("]")
    t.wait_for(f"EXITED 0 at {clock(list_[-1]['time'])}")


VIEWS = [("7", memory), ("6", threads), ("1", lambda t, i: None)]


@test
def t_every_recorded_instant_of_a_file():
    path = recorded(compiled(PHASES))
    list_ = instants(path)
    assert len(list_) >= 4 and list_[-1]["time"] < 60e9, list_
    assert list_[0]["memory"] is None and list_[-1]["memory"], "the first instant is before any look, the last has one"
    with Terminal([MEMTOP, "open", path], 120, 36) as t:
        t.wait_for("EXITED 0")
        walk(t, list_, VIEWS)
        for i in (list_[0], list_[-2], list_[1]):
            command(t, f"at {clock(i['time'])}")
            shows(t, i)


@test
def t_of_a_live_view_and_its_spool():
    folder = temporary_folder()
    with running([compiled(PHASES)], env={"XDG_STATE_HOME": folder, "HOME": folder}) as t:
        t.wait_for("EXITED 0", 30)
        t.type(f"w{folder}/a.mtop")
        t.keys("Enter")
        t.wait_for("saved:")
        list_ = instants(f"{folder}/a.mtop")
        walk(t, list_, VIEWS)
        t.keys("Q")
        t.wait_exit()
    with Terminal([MEMTOP, "open", "--last"], 120, 36, env={"XDG_STATE_HOME": folder, "HOME": folder}) as t:
        t.wait_for("EXITED 0")
        walk(t, list_, VIEWS)


@test
def t_ages_of_the_past_are_of_a_look_before():
    """A filter by age finds blocks at an instant, or says why there are none."""
    path = recorded(compiled(PHASES))
    list_ = instants(path)
    with Terminal([MEMTOP, "open", path], 120, 36) as t:
        t.wait_for("EXITED 0")
        t.prompt("age<50s", "3", "\\")
        t.wait_for(re.compile(r"^> .* main", re.M))
        for i in (list_[0], next(x for x in list_ if x["aged"])):
            command(t, f"at {clock(i['time'])}")
            t.wait_for(lambda lines, i=i: f"PAST {clock(i['time'])}," in lines[0])
            if i["cohorts"] is None:
                t.wait_for("age and thread of blocks is not known: the agent had not scanned the heap by then.")
            else:
                t.wait_for(ages(i), without="not known")
        t.keys("v")  # of one call path, of that instant; and of the end
        ago = f"{(i['time'] - i['cohorts']) / 1e9:.3f}"
        t.wait_for(re.compile(rf"From the agent's last scan, {ago} s before(.*\n)+.*Ages of live blocks: median \d+ s(.*\n)+.*Allocated by"))
        t.keys("q")
        command(t, "at now")
        t.wait_for("EXITED 0")
        t.keys("v")
        t.wait_for(re.compile(r"Ages of live blocks(.*\n)+.*Allocated by(.*\n)+ +prog \d+ +149\.\dK "))


if __name__ == "__main__":
    main()
