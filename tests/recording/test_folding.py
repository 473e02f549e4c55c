#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_folding.py - more call paths than the agent has memory for: stacks get shorter, and nothing else is lost.

Each case is compared with the same program under a limit that it does not reach. LONG=1: a million paths."""
import collections

from harness import LONG, MEMTOP, TARGETS, environment, main, report, run, temporary_folder, test

CUT = "the memory limit of the call tree"


def recorded(*command, options=""):
    path = temporary_folder() + "/t.mtop"
    done = run([MEMTOP, "record", "-o", path, *(["--options", options] if options else []), "--", *command], 120, env=environment())
    assert done.returncode == 0, done
    return report(path)


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


def agree(whole, folded, owners=True):
    """The same totals and call sites; said how."""
    same = ("allocated_blocks", "allocated_bytes", "live_blocks", "live_bytes", "freed_blocks")
    assert [whole["totals"][k] for k in same] == [folded["totals"][k] for k in same], (whole["totals"], folded["totals"])
    assert not whole["agent"]["truncated_stacks"] and folded["agent"]["truncated_stacks"], folded["agent"]
    assert by(whole, call_site) == by(folded, call_site)
    if owners:
        assert by(whole, lambda s: s["owner"]) == by(folded, lambda s: s["owner"])
    assert None not in by(folded, call_site)
    assert not folded["agent"]["lost"]["events"], folded["agent"]["lost"]
    assert {c["reason"] for c in folded["agent"]["stacks"]["truncated"]} == {CUT}, folded["agent"]["stacks"]


def lengths(r):
    return collections.Counter(len(s["frames"]) for s in r["stacks"] if s["truncated"])


@test
def t_call_sites_and_owners_stay_exact():
    for engine in ("cfi", "fp", "libunwind"):
        whole, folded = (recorded(f"{TARGETS}/s_levels", "15", options=f"unwind={engine} max_memory={limit}M") for limit in (256, 2))
        agree(whole, folded)
        least = min(len(s["frames"]) for s in whole["stacks"])
        assert least > 16, least
        assert 16 in lengths(folded), lengths(folded)


@test
def t_counters_of_many_threads():
    """Their counters alone pass the limit: what cannot be counted by stack is counted by call site."""
    whole, folded = (recorded(f"{TARGETS}/s_levels", "10", "16", options=f"max_memory={limit}M") for limit in (256, 1))
    agree(whole, folded, owners=False)
    assert 1 in lengths(folded), lengths(folded)


@test
def t_recursion_goes_first():
    """Half of the limit: recursion is folded, which the options and a warning say. No stack is cut."""
    r = recorded(f"{TARGETS}/s_paths", "16", options="max_memory=12M")
    assert r["totals"]["allocated_blocks"] == 2 ** 16 + 1, r["totals"]
    assert any("fold_recursion=on" in w for w in r["warnings"]), r["warnings"]


@test
def t_a_million_paths_by_default():
    depth = "20" if LONG else "17"
    r = recorded(f"{TARGETS}/s_levels", depth)
    assert r["totals"]["allocated_blocks"] >= 2 ** int(depth), r["totals"]
    assert not r["agent"]["truncated_stacks"] and not r["agent"]["lost"]["events"], r["agent"]


if __name__ == "__main__":
    main()
