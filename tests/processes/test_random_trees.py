#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_random_trees.py - random trees of processes (targets/s_random_tree.c): each row of a recording that promises all
figures has them. SEEDS="7 8" in the environment runs these alone; LONG=1 runs 500."""
import os
import random

from cli import compiled, memtop
from harness import LONG, TARGETS, at_once, main, mostly_waits, read_report, recorded, say

TREE = os.path.join(TARGETS, "s_random_tree")
AT_ONCE = 6
DEPTH, MS = 3, 5000
SEEDS = [int(s) for s in os.environ.get("SEEDS", "").split()]


def read(session, *arguments):
    """(report, None) or (None, the reason why there is none)"""
    done = memtop("report", "--format", "json", *arguments, session)
    return (read_report(done.stdout), None) if done.returncode == 0 and not done.stderr else (None, done.stderr)


def wrong_with(process, rows, session):
    """None, or what is wrong with the report on a process, whose programs with all figures are `rows`."""
    r, why = read(session, "--process", str(process))
    if not r:
        return why
    ran = r["program"]
    # of a process that was killed at once nobody has read the arguments
    fits = [p for p in rows if not ran["args"] or p["name"] == os.path.basename(ran["args"][0])]
    if ran["pid"] != process or not fits:
        return f"the report has {ran}, the rows have {rows}"
    own = [p["allocated_bytes"] for p in fits if p["exact"] and not p["forked"] and p["state"] != "running"]
    if own and r["totals"]["allocated_bytes"] not in own:
        return f"the report has {r['totals']}, the rows have {fits}"
    return None


def wrong_with_all(r, session):
    """None, or how the report on all processes together, and so the sum of their call paths, differs from the table's sums."""
    if len(r["processes"]) < 2:
        return None
    a, why = read(session, "--process", "all")
    if not a:
        return why
    t, tree = a["totals"], a["tree"]
    fits = (tree["live_bytes"] <= t["live_bytes"] <= tree["live_bytes_most"]
            and tree["live_blocks"] <= t["live_blocks"] <= tree["live_blocks_most"]
            and t["allocated_bytes"] == tree["allocated_bytes"] and t["allocated_blocks"] == tree["allocated_blocks"])
    # figures that are not exact may be older than the frames
    return None if fits or not all(p["exact"] for p in r["processes"] if p["recorded"]) else f"all have {t}, the table {tree}"


def findings(seed):
    """(rows with all figures, what is wrong) of one tree"""
    # what shells say of signals is of no interest
    session = recorded(TREE, str(seed), str(DEPTH), str(MS), status=None, seconds=120)
    r, why = read(session)
    if not r:
        return 0, [f"status {session.status}: {why}"]
    starred = [p for p in r["processes"] if p["recorded"]]
    by_pid = {p["pid"]: [q for q in starred if q["pid"] == p["pid"]] for p in starred}
    wrong = {pid: wrong_with(pid, rows, session) for pid, rows in by_pid.items()}
    wrong["all"] = wrong_with_all(r, session)
    return len(starred), [f"{pid}: {why}" for pid, why in wrong.items() if why]


@mostly_waits
def t_each_row_with_a_star_can_be_read():
    seeds = SEEDS or random.sample(range(1 << 30), 500 if LONG else 20)
    say(f"seeds: {' '.join(map(str, seeds))}")
    found = [f for at in range(0, len(seeds), AT_ONCE)
             for f in at_once(findings, [(s,) for s in seeds[at:at + AT_ONCE]])]
    bad = {seed: wrong for seed, (_, wrong) in zip(seeds, found) if wrong}
    rows = sum(n for n, _ in found)
    say(f"{len(seeds)} trees, {rows} rows with all figures, {len(bad)} trees with a row that is not as it should be")
    assert not bad, bad
    assert rows >= len(seeds), f"only {rows} rows: nothing was tried"


# its child executes argv[1] 2.5 s after the fork; that holds a block for a while
LATE = r"""
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (argc == 1)
		return poll(NULL, 0, malloc(5000000) ? 1500 : 0);
	if (fork())
		return wait(NULL) < 0;
	for (int i = 0; i < 25; i++) {
		free(malloc(100));
		poll(NULL, 0, 100);
	}
	execl(argv[1], "holds", (char *)0);
	return 126;
}
"""


@mostly_waits
def t_a_fork_that_executes_late_keeps_its_recording():
    """Its watch, and so its stream of the file, goes on with the new program."""
    late = compiled(LATE)
    r, why = read(recorded(late, late))
    assert r, why
    p = next(p for p in r["processes"] if p["name"] == "holds")
    assert p["recorded"] and r["program"]["pid"] == p["pid"], (p, r["program"])
    assert r["totals"]["live_bytes"] == p["live_bytes"] == 5000000, (p, r["totals"])


@mostly_waits
def t_a_program_of_a_millisecond_takes_nothing_from_the_one_before():
    """sh waits, then executes it: the report is on one of those whose rows promise all figures. Mostly that is one: the watch
    met the other too late, or the old server waited for a watch of its own."""
    session = recorded("sh", "-c", "sleep 1.5; exec sleep 0")
    rows = {p["name"]: p for p in read(session)[0]["processes"] if p["name"] == "sh" or p["begin_s"] > 1}
    shown = [p for p in rows.values() if p["recorded"]]
    assert rows["sh"]["state"] == "execed" and shown, rows
    wrong = wrong_with(rows["sh"]["pid"], shown, session)
    assert not wrong, (wrong, rows)


if __name__ == "__main__":
    main()
