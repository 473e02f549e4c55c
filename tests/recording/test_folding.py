#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_folding.py - more call paths than the agent has memory for: stacks get shorter, and nothing else is lost.

Each case is compared with the same program under a limit that it does not reach. LONG=1: a million paths."""
import collections

from harness import LONG, TARGETS, main, need, recorded, report, run, temporary_folder, test

CUT = "the memory limit of the call tree"


def by(r, what):
    """Live and allocated blocks and bytes of all stacks, by `what` of a stack."""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for s in r["stacks"]:
        for i, key in enumerate(("live_blocks", "live_bytes", "allocated_blocks", "allocated_bytes")):
            sums[what(s)][i] += s[key]
    return {k: v for k, v in sums.items() if any(v)}


def call_site(s):
    """The innermost frame; None where there is none."""
    frame = s["frames"][0] if s["frames"] else None
    return frame and (frame["module"], frame["offset"])


def agree(whole, folded, cut=True):
    """The same totals and call sites, and owners while 4 frames are kept; `cut`: it is said that stacks are."""
    same = ("allocated_blocks", "allocated_bytes", "live_blocks", "live_bytes", "freed_blocks")
    assert [whole["totals"][k] for k in same] == [folded["totals"][k] for k in same], (whole["totals"], folded["totals"])
    assert not whole["agent"]["truncated_stacks"], whole["agent"]
    assert by(whole, call_site) == by(folded, call_site)
    if min(lengths(folded), default=4) >= 4:
        assert by(whole, lambda s: s["owner"]) == by(folded, lambda s: s["owner"])
    assert None not in by(folded, call_site)
    assert not folded["agent"]["lost"]["events"], folded["agent"]["lost"]
    if cut:
        assert {c["reason"] for c in folded["agent"]["stacks"]["truncated"]} == {CUT}, folded["agent"]["stacks"]


def lengths(r):
    return collections.Counter(len(s["frames"]) for s in r["stacks"] if s["truncated"])


def folded_by(engine, program):
    whole, folded = (report(recorded(program, "15", options=f"unwind={engine} max_memory={limit}M")) for limit in (256, 2))
    agree(whole, folded)
    assert sum(len(s["frames"]) > 16 for s in whole["stacks"]) > 30000
    assert 16 in lengths(folded), lengths(folded)


@test
def t_call_sites_and_owners_stay_exact():
    for engine in ("cfi", "libunwind"):
        folded_by(engine, f"{TARGETS}/s_levels")


@test
def t_call_sites_stay_exact_with_instrumentation():
    need("gcc")
    program = temporary_folder() + "/s_levels"
    done = run(["gcc", "-O1", "-g", "-fno-builtin", "-finstrument-functions", "-Itests", "-o", program, "tests/targets/s_levels.c", "-lpthread"])
    assert done.returncode == 0, done
    folded_by("instrument", program)


def many_threads(*more, options=""):
    """Whole, and where the counters of the threads alone pass the limit."""
    return [report(recorded(f"{TARGETS}/s_levels", "12", "48", *more, options=f"{options}max_memory={limit}M")) for limit in (256, 3)]


@test
def t_counters_of_many_threads():
    """What a thread has no memory to count is counted for all threads together."""
    agree(*many_threads(), cut=False)


@test
def t_a_thread_that_begins_at_the_limit_has_stacks():
    """A thread that begins when the limit is taken, while all others live, has a state of its own: its blocks have stacks."""
    for options in ("", "sample=1 "):
        for r in many_threads("late", options=options):
            assert None not in by(r, call_site), r["agent"]["stacks"]
            assert not r["agent"]["lost"]["events"], r["agent"]["lost"]


@test
def t_freed_by_another_thread():
    whole, folded = many_threads("free")
    agree(whole, folded, cut=False)
    assert folded["totals"]["live_blocks"] < 200, folded["totals"]  # those of the threads themselves


@test
def t_estimates_stay_near_under_the_limit():
    """At a rate below the sizes nearly all blocks are samples, so the estimates are near, too."""
    whole, folded = many_threads(options="sample=1 ")
    one, other = by(whole, call_site), by(folded, call_site)
    assert one.keys() == other.keys(), (one, other)
    for site, sums in one.items():
        assert abs(sums[0] - other[site][0]) <= sums[0] // 20, (site, sums, other[site])
    assert not folded["agent"]["lost"]["events"], folded["agent"]


@test
def t_recursion_goes_first():
    """Half of the limit: recursion is folded from then on, as a warning says. No stack is cut."""
    r = report(recorded(f"{TARGETS}/s_paths", "16", "40", options="max_memory=8M tick_ms=20"))
    assert r["totals"]["allocated_blocks"] == 2 ** 16 + 1, r["totals"]
    assert 2000 < len(r["stacks"]) < 2 ** 16, len(r["stacks"])
    assert any("recursion was folded" in w for w in r["warnings"]), r["warnings"]
    assert not r["agent"]["truncated_stacks"], r["agent"]


@test
def t_a_million_paths_by_default():
    depth = "20" if LONG else "17"
    r = report(recorded(f"{TARGETS}/s_levels", depth, seconds=120))
    assert r["totals"]["allocated_blocks"] >= 2 ** int(depth), r["totals"]
    assert not r["agent"]["truncated_stacks"] and not r["agent"]["lost"]["events"], r["agent"]


if __name__ == "__main__":
    main()
