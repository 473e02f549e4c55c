#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_filters.py - recording filters by size, sample, owner and depth, at start and at run time;
every view and report names them."""
import os
import re
import subprocess

from client import Client
from harness import (AGENT, LONG, MEMTOP, TARGETS, environment, main, recorded, recording, report, run, start,
                     temporary_folder, test, wait_for)
from term import Terminal

SITES = os.path.join(TARGETS, "s_sites")
FILTER = os.path.join(TARGETS, "s_filter")
OWNERS = os.path.join(TARGETS, "s_owners")
UNKNOWN_FREE = 2


class Watched:
    """s_filter with an agent that listens, and a client of it."""

    count = 0

    def __init__(self, options="", threads=4):
        Watched.count += 1
        self.name = f"@memtop-test-filter-{os.getpid()}-{Watched.count}"
        env = environment(LD_PRELOAD=AGENT, MEMTOP_OPTIONS=f"listen={self.name} tick_ms=10 {options}")
        self.process = start([FILTER, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        assert self.process.stdout.readline() == "ready 1000\n"
        self.client = Client(self.name, who="tester").until_complete()

    def rounds(self):
        """Its threads have been through everything since this call."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().startswith("rounds ")

    def set(self, name, value):
        """In force, and told."""
        c = self.client
        before = len(c.filters)
        c.send(69, name=name, value=value)
        c.until(lambda: len(c.filters) > before, f"{name}={value}")

    def end(self):
        self.process.stdin.close()
        assert self.process.stdout.readline() == "freed 0\n"
        self.client.until_final()
        assert self.process.wait(60) == 0
        return self.client

    def exact(self, key="allocated_blocks"):
        return sum(n[key] for s, n in self.client.counts.items() if s not in self.client.weighed)


def live_of(c, slots):
    return sum(c.slot_live(s)[0] for s in slots), sum(c.slot_live(s)[1] for s in slots)


@test
def t_every_block_without_a_filter():
    r = report(recorded(SITES))
    assert r["sampling"] == [] and r["filters"] == [] and r["totals"]["estimate"] is False
    assert not any(s["estimate"] for s in r["stacks"] + r["libraries"])
    assert not any("Recorded" in w for w in r["warnings"])


@test
def t_by_size():
    every = report(recorded(FILTER, "0", options="depth=2"))
    assert every["totals"]["allocated_blocks"] >= 1000
    for options, expect in (("min_size=100", 1000), ("min_size=101", 0), ("max_size=100", 1000), ("max_size=99", 0),
                            ("min_size=100 max_size=100", 1000), ("min_size=1k", 0)):
        r = report(recorded(FILTER, "0", options=options))
        mine = [s for s in r["stacks"] if any(f["function"] == "early" for f in s["frames"])]
        assert sum(s["allocated_blocks"] for s in mine) == expect, f"{options}: {mine}"
        assert sum(s["live_blocks"] for s in mine) == 0, options
        assert r["totals"]["estimate"] is False and r["sampling"] == []
        assert len(r["filters"]) == 1 and r["filters"][0]["set_by"] == "" and r["filters"][0]["from_s"] == 0
        assert r["agent"]["lost"]["events"] == 0
        assert not any("before the agent came" in w for w in r["warnings"]), r["warnings"]
    assert report(recorded(FILTER, "0", options="min_size=1k"))["agent"]["min_size"] == 1024


@test
def t_sampled_from_the_start():
    path = recorded(FILTER, "0", options="sample=1k")
    r = report(path)
    assert r["sampling"] == [{"from_s": 0, "bytes": 1024}] and r["totals"]["estimate"] is True
    mine = [s for s in r["stacks"] if any(f["function"] == "early" for f in s["frames"])]
    # 1000 blocks of 100 bytes, each hit with p = 1 - exp(-100/1024) = .093: sigma = sqrt(1000 * 9.8) = 99
    blocks = sum(s["allocated_blocks"] for s in mine)
    assert abs(blocks - 1000) < 7 * 99, blocks
    assert sum(s["allocated_bytes"] for s in mine) == 100 * blocks
    assert all(s["estimate"] for s in mine) and r["totals"]["live_bytes"] >= 0
    text = run([MEMTOP, "report", "--full", path], env=environment()).stdout
    assert re.search(r"^allocated +~", text, re.M) and "samples every 1.0K (numbers are estimates)" in text, text


@test
def t_by_owner():
    every = report(recorded(OWNERS))
    names = {o["name"] for o in every["libraries"] if o["allocated_blocks"]}
    assert len(names) > 2, names
    mine = "s_owners"
    only, rest, none, both = (report(recorded(OWNERS, options=options)) for options in (
        "libs=^s_owners$", "exclude=^s_owners$", "libs=^no_such_library", "libs=s_own|nothing exclude=owners"))
    assert only["totals"]["allocated_blocks"] and rest["totals"]["allocated_blocks"]
    for key in ("allocated_blocks", "allocated_bytes", "live_blocks", "live_bytes"):
        assert only["totals"][key] + rest["totals"][key] == every["totals"][key], key
    assert none["totals"]["allocated_blocks"] == both["totals"]["allocated_blocks"] == 0
    for s in rest["stacks"]:
        assert s["owner"] != mine, s
    assert rest["filters"][0]["exclude"] == "^s_owners$"
    assert any("do not match ^s_owners$" in w for w in rest["warnings"])


@test
def t_by_owner_as_it_was_called():
    """The program itself is known by its file's name and by the name that it was called by."""
    link = temporary_folder() + "/serverd"
    os.symlink(os.path.realpath(os.path.dirname(OWNERS) + "/s_named"), link)
    blocks = {options: report(recorded(link, options=options))["totals"]["allocated_blocks"]
              for options in ("", "libs=^s_named$", "libs=^serverd$", "exclude=^s_named$", "exclude=^serverd$")}
    assert blocks["libs=^serverd$"] == blocks["libs=^s_named$"] >= 20, blocks
    rest = blocks[""] - blocks["libs=^serverd$"]
    assert blocks["exclude=^serverd$"] == blocks["exclude=^s_named$"] == rest, blocks


@test
def t_by_depth():
    every, cut, merged = (report(recorded(SITES, options=o)) for o in ("", "depth=2", "merge=2"))
    deepest = max(len(s["frames"]) for s in every["stacks"])
    assert deepest > 3
    for key in ("allocated_blocks", "allocated_bytes", "live_blocks", "live_bytes"):
        assert every["totals"][key] == cut["totals"][key] == merged["totals"][key], key
    assert max(len({(f["module"], f["offset"]) for f in s["frames"]}) for s in cut["stacks"]) == 2
    assert all(s["truncated"] == "the depth limit" for s in cut["stacks"] if len(s["frames"]) == 2)

    def outermost(s):  # as physical frames: inlined ones share their offset
        return list(dict.fromkeys((f["module"], f["offset"]) for f in reversed(s["frames"])))[:2]
    assert {tuple(outermost(s)) for s in merged["stacks"]} == {tuple(outermost(s)) for s in every["stacks"]}
    for m in merged["stacks"]:
        whole = [s for s in every["stacks"] if outermost(s) == outermost(m)]
        assert sum(s["allocated_bytes"] for s in whole) == m["allocated_bytes"]
        assert not m["truncated"]


@test
def t_cut_stacks_are_said_everywhere():
    """Their share, and by reason and module, in both reports and on the screen; the same of the agent's own time."""
    path = recorded(SITES, options="depth=3")
    r = report(path)
    a, cut = r["agent"], r["agent"]["stacks"]["truncated"]
    blocks, every = sum(c["blocks"] for c in cut), r["totals"]["allocated_blocks"]
    assert 0 < blocks and a["stacks"]["whole_percent"] == 100 * (every - blocks) / every, a
    assert cut == sorted(cut, key=lambda c: -c["blocks"]) and {c["reason"] for c in cut} == {"the depth limit"}, cut
    assert all(0 <= a["stacks"][k] <= 100 for k in a["stacks"] if k.endswith("_percent")), a
    assert a["stacks"]["frames_per_capture"] == a["stacks"]["frames_walked"] / a["stacks"]["captures"], a
    assert len(a["memory"]) > 2 and sum(p["bytes"] for p in a["memory"]) == a["memory_bytes"] > 0, a
    cpu = a["cpu"]
    assert cpu["hooks_estimate"] is True, cpu
    if cpu["percent_of_program"] is not None:  # of a program that was idle nothing can be said
        assert abs(100 * (min(cpu["hooks_s"], cpu["program_s"]) + cpu["server_s"]) / (cpu["program_s"] + cpu["server_s"])
                   - cpu["percent_of_program"]) < .01, cpu
    assert a["overhead_percent"] == cpu["percent_of_program"], a
    whole = f"{int(a['stacks']['whole_percent'] * 10) / 10:.1f}"
    text = run([MEMTOP, "report", "--full", path], env=environment()).stdout
    assert re.search(rf"^stacks +{whole} % whole, [0-9.]+ % remembered, else [0-9.]+ frames walked$", text, re.M), text
    # not of a program of milliseconds; of one that was idle, it is a share of a core
    cost = ("" if cpu["percent_of_core"] is None else r", ~[0-9.]+ % of one core" if cpu["percent_of_program"] is None
            else r", ~[0-9.]+( \+- [0-9.]+)? % of the cpu time")
    assert re.search(rf"^agent +[0-9.]+[KM]{cost}$", text, re.M), text
    for c in cut:
        assert re.search(rf"^ +{c['blocks']:,} +{c['stacks']:,} +{re.escape(c['module'])}: the depth limit$", text,
                         re.M), (c, text)


@test
def t_a_bad_value_leaves_the_program_alone():
    for options in ("min_size=many", "sample=-1", "sample=64q", "max_size=", "libs=a(", "exclude=[x", "merge=x",
                    "min_size=2k max_size=1k", "sampel=64k"):
        env = environment(LD_PRELOAD=AGENT, MEMTOP_OPTIONS=options)
        done = run([FILTER, "1"], env=env)
        assert done.returncode == 0 and done.stdout == "ready 1000\nfreed 0\n", done
        assert done.stderr.count("\n") == 1 and "MEMTOP_OPTIONS" in done.stderr and "unprofiled" in done.stderr, \
            done.stderr
    for arguments in (["--max-overhead", "x"], ["--max-overhead=0"], ["--max-overhead", "-3"]):
        for verb in ("record", "run"):
            done = run([MEMTOP, verb, *arguments, "--", "/bin/true"], env=environment())
            assert done.returncode == 2 and done.stderr.count("\n") == 1, done


@test
def t_a_bad_value_while_it_runs():
    w = Watched("min_size=10", threads=1)
    c = w.client
    for name, value in (("sample", "often"), ("libs", "a("), ("max_size", "5"), ("unwind", "fp"), ("what", "1")):
        said = len(c.notices)
        c.send(69, name=name, value=value)
        c.until(lambda: len(c.notices) > said, f"an answer to {name}={value}")
        assert "was not set" in c.notices[-1] and name in c.notices[-1], c.notices
    w.rounds()
    assert len(c.filters) == 1 and c.options["min_size"]["value"] == "10" and "max_size" not in \
        {n for n, o in c.options.items() if o["who"]}
    w.end()


@test
def t_a_switch_is_told_to_all():
    w = Watched()
    other = Client(w.name, who="other").until_complete()
    assert other.filters == [] and not w.client.filters
    w.set("sample", "64k")
    other.until(lambda: len(other.filters) == 1, "the filter")
    other.until(lambda: any("tester set sample=64k" in n for n in other.notices), "the notice")
    assert other.filters[0]["sample"] == 65536 and other.filters[0]["who"] == "tester"
    assert other.options["sample"]["value"] == "64k" and other.options["sample"]["who"] == "tester"
    w.set("libs", "^s_")
    late = Client(w.name, who="late").until_complete()
    assert [f["sample"] for f in late.filters] == [65536, 65536] and late.filters[1]["libs"] == "^s_"
    w.set("sample", "0")
    w.set("libs", "")
    json = report(w.name)
    assert [s["bytes"] for s in json["sampling"]] == [65536, 0]
    assert json["sampling"][0]["from_s"] > 0
    assert [f["libs"] for f in json["filters"]] == ["", "^s_", "^s_", ""]
    assert {f["set_by"] for f in json["filters"]} == {"tester"}
    w.end()


@test
def t_switching_under_load():
    w = Watched()
    c = w.client
    early = [s for s in c.slots if c.slot_live(s) == (1000, 100000)]
    assert len(early) == 1, "the blocks from before"
    changes = (("sample", "4k"), ("min_size", "512"), ("sample", "1m"), ("max_size", "1k"), ("min_size", "0"),
               ("sample", "0"), ("merge", "1"), ("sample", "16k"), ("max_size", "0"), ("exclude", "libnothing"),
               ("merge", "0"), ("exclude", ""), ("libs", "s_filter"), ("sample", "0"), ("libs", ""))
    for i in range(20 if LONG else 4):
        for name, value in changes:
            w.set(name, value)
            w.rounds()
            assert c.slot_live(early[0]) == (1000, 100000), (name, value)
        c.until_complete()
    assert not c.filters[-1]["sample"] and c.weighed
    exact = w.exact()
    w.rounds()
    c.until(lambda: w.exact() > exact, "every block is counted again")
    w.end()
    # Everything was freed, under other filters than it was born under: to the block and the byte.
    assert live_of(c, c.weighed) == (0, 0), live_of(c, c.weighed)
    assert sum(c.counts[s]["allocated_blocks"] for s in c.weighed if s in c.counts) > 10000
    assert c.slot_live(early[0]) == (0, 0)
    for s in c.slots:
        frames = c.frames_of(c.slots[s]["node"])
        if frames and frames[0][0] == "s_filter":
            assert c.slot_live(s) == (0, 0), (frames, c.counts[s])
    # What the C library and the loader keep for themselves (thread descriptors) may be left, as ever.
    assert c.live()[0] < 50, c.live()
    assert not any(loss["events"] for loss in c.losses.values()), c.losses


@test
def t_from_samples_to_all_under_load():
    """A program that was sampled from its start knows where no recorded block lies, until it is not sampled."""
    for turn in range(20 if LONG else 4):
        w = Watched("sample=4k")
        c = w.client
        w.rounds()
        assert not w.exact(), "all is sampled"
        w.set("sample", "0")
        w.rounds()
        if turn % 2:
            w.set("sample", "16k")
            w.rounds()
            w.set("sample", "0")
            w.rounds()
        c.until(w.exact, "blocks that are not sampled")
        w.end()
        for s in c.slots:
            frames = c.frames_of(c.slots[s]["node"])
            if frames and frames[0][0] == "s_filter":
                assert c.slot_live(s) == (0, 0), (frames, c.counts[s])
        assert live_of(c, set(c.slots) - set(c.weighed))[0] < 50, c.live()
        assert not any(loss["events"] for loss in c.losses.values()), c.losses


@test
def t_only_what_was_sampled_is_an_estimate():
    """In every report and view a sampled row carries its sign, an exact one does not."""
    w = Watched(threads=1)
    w.rounds()
    run([MEMTOP, "mark", w.name, "exact"], env=environment())
    w.set("sample", "1k")
    w.rounds()
    run([MEMTOP, "mark", w.name, "sampled"], env=environment())
    w.set("sample", "0")
    w.rounds()
    r = report(w.name)
    assert r["totals"]["estimate"] and [m["estimate"] for m in r["marks"]] == [False, True], r["marks"]
    for s in r["stacks"]:
        churn = any(f["function"] == "churn" for f in s["frames"])
        assert not s["estimate"] or churn, s
    assert any(s["estimate"] for s in r["stacks"]) and not all(s["estimate"] for s in r["stacks"])
    for o in r["libraries"]:
        assert o["estimate"] == any(s["estimate"] for s in r["stacks"] if s["owner"] == o["name"]), o
    text = run([MEMTOP, "report", "--full", w.name], env=environment()).stdout
    assert re.search(r"^ +97\.7K +1,000 +97\.7K +early < main", text, re.M), text
    assert re.search(r"^ +~\S+ +~\S+ +~\S+ +churn < ", text, re.M), text
    assert re.search(r"^ +[^ ~]\S+ .* m1 exact ", text, re.M) and re.search(r"^ +~\S+ .* m2 sampled ", text, re.M), text
    with Terminal([MEMTOP, w.name], 120, 40) as t:
        for keys, exact, sampled in (("3", r"97\.7K +1,000 .* early", "~.* churn"),
                                     ("2/early\r", r"97\.7K +1,000 .* early", "~.* churn"),
                                     ("4", "BYTES/s", "~.* s_filter"),
                                     ("5", r"m1 +exact .*:\d\d +[^ ~]\S+ ", r"m2 +sampled .*:\d\d +~\S+ ")):
            t.type(keys)
            t.wait_for(re.compile(rf"(?m)^[ >AB]+{sampled}"))
            t.wait_for(re.compile(r"(?m)^ Live ~\S+  ~\S+ blocks .* Alloc ~\S+/s ~\S+/s"))
            t.wait_for(re.compile(rf"(?m)^[ >AB]+{exact}" if keys != "4" else exact))
    w.end()


@test
def t_ages_and_threads_are_weighed():
    w = Watched("sample=2k", threads=0)
    c = w.client
    for kind in (0, 1):
        c.send(70, request=7 + kind, kind=kind, slots=[])
        c.until(lambda: 7 + kind in c.scans, "the scan")
    c.until_complete()
    assert c.live()[0] > 0
    threads = c.scans[7]["threads"]
    assert (sum(t["blocks"] for t in threads), sum(t["bytes"] for t in threads)) == c.live()
    assert (c.scans[8]["blocks"], c.scans[8]["bytes"]) == c.live()
    w.end()


@test
def t_set_on_the_screen():
    w = Watched(threads=2)
    with Terminal([MEMTOP, w.name], 140, 30) as t:
        t.wait_for("every block")
        t.type(":set sample=64k")
        t.keys("Enter")
        t.wait_for(re.compile(r"~1 in 64"))
        t.wait_for("Live ~")
        t.type(":set min_size=1k")
        t.keys("Enter")
        t.wait_for(re.compile(r"~1 in 64.*>=1"))
        t.type(":set sample=lots")
        t.keys("Enter")
        t.wait_for("sample=lots was not set")
        w.set("sample", "1m")
        t.wait_for("tester set sample=1m")
        w.set("sample", "0")
        w.set("min_size", "0")
        t.wait_for("~ partly sampled")
    w.end()


@test
def t_a_budget_without_a_person():
    """Spinning in malloc, the agent takes more than a thousandth of the time; only with leave is it made less."""
    for allowed in (False, True):
        p = recording(FILTER, "1", arguments=["--max-overhead", "0.1", *(["--allow-sampling"] if allowed else [])],
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert p.stdout.readline() == "ready 1000\n"
        line = p.stderr.readline()
        assert "--max-overhead is 0.1" in line, line
        assert ("it samples every 64.0K from now on" in line) == allowed, line
        if allowed:
            wait_for(lambda p=p: os.path.getsize(p.session) > 0)
        p.stdin.close()
        assert p.stdout.readline() == "freed 0\n"
        assert p.wait(60) == 0
        r = report(p.session)
        assert bool(r["sampling"]) == allowed, r["sampling"]
        assert not any(s["live_blocks"] for s in r["stacks"] if any(f["function"] == "churn" for f in s["frames"]))


@test
def t_a_budget_on_the_screen():
    w = Watched(threads=1)
    with Terminal([MEMTOP, "--max-overhead", "0.1", w.name], 120, 30) as t:
        t.wait_for(re.compile(r"The agent takes .* y: sample every 64"), seconds=20)
        t.keys("y")
        t.wait_for(re.compile(r"~1 in 64"))
    w.client.until(lambda: w.client.filters, "the filter")
    assert w.client.filters[0]["sample"] == 65536
    w.end()


if __name__ == "__main__":
    main()
