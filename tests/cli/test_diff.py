#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_diff.py - memtop diff on compiled programs: builds that differ by a known change, runs that
differ by chance, instants of one run."""
import json
import os
import re
import shutil

from cli import memtop, one_line
from diffs import PROGRAM, TEMPLATES, build, changed, one_session
from harness import environment, main, need, recorded, report, run, temporary_folder, test

AMOUNTS = ("live_bytes", "live_blocks", "allocated_bytes", "allocated_blocks")

def added(rows, side, amount):
    return [sum(values) for values in zip(*(row[side][amount] for row in rows))]


def check_sums(d):
    """Of each session and of the changes: by stack = by owner = by call site = totals."""
    stacks = d["stacks"] + [d["unchanged"]]
    for rows in (stacks, d["owners"], d["sites"]):
        for amount in AMOUNTS:
            for side in "ab":
                assert added(rows, side, amount) == d["totals"][side][amount], (side, amount)
            assert abs(sum(row["change"][amount] for row in rows) - d["totals"]["change"][amount]) < 0.01, amount
    for row in (*stacks, *d["owners"], *d["sites"], d["totals"]):
        for amount in AMOUNTS:
            a, b = row["a"][amount], row["b"][amount]
            assert abs(sum(b) / len(b) - sum(a) / len(a) - row["change"][amount]) < 1e-3, row
    assert sum(r["stacks"] for r in d["owners"]) == sum(r["stacks"] for r in d["sites"]) == sum(r["stacks"] for r in stacks)


def diff(*arguments):
    """The JSON diff, its sums checked; and the text, whose width is checked."""
    done = memtop("diff", "--format", "json", *arguments)
    assert done.returncode == 0 and done.stderr == "", done
    d = json.loads(done.stdout)
    check_sums(d)
    text = memtop("diff", *arguments)
    assert text.returncode == 0 and text.stderr == "", text
    assert max(map(len, text.stdout.splitlines())) <= 80, text.stdout
    return d


def no_change(d, joined_by=None):
    for rows in (d["owners"], d["sites"], d["stacks"], [d["totals"]]):
        assert changed(rows) == [], changed(rows)
    assert not [s for s in d["stacks"] if s["joined_by"] is None], d["stacks"]
    if joined_by:
        text = memtop("diff", d["a"][0]["target"], d["b"][0]["target"]).stdout
        count = sum(s["stacks"] for s in d["stacks"] + [d["unchanged"]])
        assert f"{count} by {joined_by}" in " ".join(text.split()), text


@test
def t_same_build_twice():
    """Other load addresses; and a copy of the file at another path."""
    prog = build("-O1")
    a, b = recorded(prog), recorded(prog)
    d = diff(a, b)
    no_change(d, "build-id and offset")
    assert d["stacks"] == [] and d["unchanged"]["stacks"] > 3, d
    text = memtop("diff", a, b).stdout  # some are alive in both, others were freed in both
    assert re.search(r"^ +0 +[1-9]\S+ +[1-9]\S+ +\d+ unchanged\n +0 +0 +0 +\d+ more without memory$", text, re.M), text
    bias = [[m["load_bias"] for m in report(s)["modules"] if m["name"] == "prog"] for s in (a, b)]
    assert bias[0] != bias[1], "both runs were loaded at one address: nothing was tested"
    copy = temporary_folder() + "/renamed"
    shutil.copy(prog, copy)
    no_change(diff(a, recorded(copy)), "build-id and offset")


def found_leak(d, blocks, function="leaky"):
    """The leak, and nothing else."""
    assert d["totals"]["change"]["live_bytes"] == 5000 * blocks, d["totals"]
    stacks = changed(d["stacks"])
    assert len(stacks) == 1 and stacks[0]["kind"] == "new" and stacks[0]["joined_by"] is None, stacks
    assert stacks[0]["change"] == {"live_bytes": 5000 * blocks, "live_blocks": blocks,
                                   "allocated_bytes": 5000 * blocks, "allocated_blocks": blocks}, stacks
    assert function in [f["function"] for f in stacks[0]["frames"]], stacks[0]["frames"]
    sites = changed(d["sites"])
    assert len(sites) == 1 and sites[0]["change"]["live_blocks"] == blocks, sites
    assert function in (sites[0]["function"], sites[0]["caller"]), sites
    assert [o["kind"] for o in changed(d["owners"])] == ["grown"], d["owners"]


@test
def t_a_leak_patched_in():
    a, b = one_session("-O1"), one_session("-O1", "-DLEAK=7")
    found_leak(diff(a, b), 7)
    text = memtop("diff", a, b).stdout
    assert "+34.2K" in text and "leaky" in text and "new, +7 blocks" in text, text
    back = diff(b, a)
    assert [s["kind"] for s in changed(back["stacks"])] == ["gone"], back["stacks"]
    assert back["totals"]["change"]["live_bytes"] == -35000


@test
def t_functions_that_moved():
    no_change(diff(one_session("-O1"), one_session("-O1", "-DMOVED")), "function names")
    found_leak(diff(one_session("-O1"), one_session("-O1", "-DMOVED", "-DLEAK=3")), 3)


@test
def t_inlining_that_changed():
    """-O0 calls make and fill, -O2 inlines them."""
    plain, fast = one_session("-O0"), one_session("-O2")
    inlined = [sum(f["inlined"] for s in report(x)["stacks"] for f in s["frames"] if f["module"] == "prog") for x in (plain, fast)]
    assert inlined[0] == 0 and inlined[1] > 0, f"nothing was inlined: {inlined}"
    no_change(diff(plain, fast), "function names")
    no_change(diff(fast, plain), "function names")
    found_leak(diff(plain, one_session("-O2", "-DLEAK=4")), 4)
    # without debug information nobody knows what was inlined
    bare = one_session("-O2", "-g0")
    no_change(diff(fast, bare), "function names")
    found_leak(diff(bare, one_session("-O2", "-DLEAK=4")), 4)


INLINED = r"""
#include <stdlib.h>
void *kept[100];
int count;
#define INLINE static inline __attribute__((always_inline))
#ifdef LEAK
INLINE void parseRow(void) { kept[count++] = malloc(100); }
INLINE void emplaceEntry(void) { kept[count++] = malloc(100); }
#else
INLINE void putEntry(void) { kept[count++] = malloc(100); }
#endif
__attribute__((noipa)) void parse(void)
{
#ifdef LEAK
	for (int i = 0; i < 10; i++)
		emplaceEntry();
	for (int i = 0; i < 50; i++)
		parseRow();
#else
	for (int i = 0; i < 10; i++)
		putEntry();
#endif
}
int main(void)
{
	parse();
	return 0;
}
"""


@test
def t_of_several_inlined_functions_the_leak_is_named():
    """They are joined with one of another name by what calls them: the row has the frames of the one that grew most."""
    a, b = one_session("-O1", source=INLINED), one_session("-O1", "-DLEAK", source=INLINED)
    stack, = changed(diff(a, b)["stacks"])
    line = INLINED[:INLINED.index("void parseRow")].count("\n") + 1
    assert (stack["frames"][0]["function"], stack["frames"][0]["line"], stack["among"]) == ("parseRow", line, 2), stack
    text = memtop("diff", a, b).stdout
    assert ", among 2 inlined\n" in text and "emplaceEntry" not in text, text


TAIL_CALLS = r"""
#include <stdlib.h>
void *kept[100];
int count;
__attribute__((noipa)) void *get(size_t n) { return malloc(n); }
__attribute__((noipa)) void *page(size_t n) { return get(n * 4096); }
__attribute__((noipa)) void table(void) { kept[count++] = page(2); kept[count++] = get(10); }
__attribute__((noipa)) void index_of(void) { table(); kept[count++] = page(3); }
int main(void)
{
	index_of();
#ifdef LEAK
	for (int i = 0; i < LEAK; i++)
		kept[count++] = get(5000);
#endif
	return count == 99;
}
"""


@test
def t_frames_that_the_optimiser_took_away():
    """Tail calls, and inlined functions that no debug information tells of."""
    for source, plain, fast in ((TAIL_CALLS, "-O0", "-O2"), (PROGRAM, "-O0", "-O2 -g0")):
        a, b = one_session(plain, source=source), one_session(*fast.split(), source=source)
        frames = [sum(len(s["frames"]) for s in report(x)["stacks"]) for x in (a, b)]
        assert frames[0] > frames[1], f"no frame went: {frames}"
        no_change(diff(a, b))
        no_change(diff(b, a))
    leak = one_session("-O2", "-DLEAK=6", source=TAIL_CALLS)
    d = diff(one_session("-O0", source=TAIL_CALLS), leak)
    assert [s["change"]["live_bytes"] for s in changed(d["stacks"])] == [30000], changed(d["stacks"])


@test
def t_another_build_of_the_program_is_no_change():
    """Another folder and another main program's name; position-independent or not."""
    a = one_session("-O1")
    no_change(diff(a, one_session("-O1", "-Wl,--build-id=uuid", name="renamed")), "function names")
    no_change(diff(a, one_session("-O1", "-no-pie")), "function names")
    no_change(diff(a, one_session("-O1", "-Wl,--build-id=none")), "function names")


@test
def t_a_removed_allocation():
    d = diff(one_session("-O1"), one_session("-O1", "-DLESS"))
    assert d["totals"]["change"]["live_bytes"] == -9000, d["totals"]
    assert len(changed(d["stacks"])) == 1 and changed(d["stacks"])[0]["change"]["live_blocks"] == -3, changed(d["stacks"])
    assert changed(d["sites"])[0]["caller"] == "cache" or changed(d["sites"])[0]["function"] == "cache", changed(d["sites"])


@test
def t_stripped_of_the_same_build():
    need("strip")
    prog = build("-O1")
    bare = temporary_folder() + "/prog"
    assert run(["strip", "-o", bare, prog]).returncode == 0
    a, b = recorded(bare), recorded(prog)
    no_change(diff(a, b), "build-id and offset")
    no_change(diff(b, a), "build-id and offset")
    names = memtop("diff", "--format", "folded", a, b).stdout
    assert ";cache;make " in names and "0x" not in names, names


@test
def t_clones_of_the_compiler():
    """Real ones: a constant is propagated at -O3, a cold part split off; templates and lambdas."""
    need("g++", "nm")
    plain = build("-O0", source=TEMPLATES, compiler="g++")
    fast = build("-O3", source=TEMPLATES, compiler="g++")
    clones = run(["nm", fast]).stdout
    assert any(mark in clones for mark in (".constprop", ".isra", ".part", ".cold")), clones
    a, b = recorded(fast), one_session("-O3", "-DLEAK", source=TEMPLATES, compiler="g++")
    d = diff(a, b)
    assert {r["kind"] for r in changed(d["owners"])} == {"grown"}, d["owners"]
    d = diff(recorded(plain), a)
    assert d["totals"]["change"]["live_blocks"] == 0 and changed(d["owners"]) == [], d["owners"]
    assert changed(d["sites"]) == [], changed(d["sites"])


@test
def t_marks_of_one_session():
    """As report --between says; amounts at a mark are exact."""
    path = one_session("-O1", "-DLEAK=5")
    d = diff(path + "@cached", path + "@end-of-work")
    assert (d["a"][0]["mark"], d["b"][0]["mark"]) == ("cached", "end-of-work"), d["a"]
    done = memtop("report", "--format", "json", "--between", "cached..end-of-work", path)
    r = json.loads(done.stdout)
    marks = {m["name"]: m for m in r["marks"]}
    for side, name in (("a", "cached"), ("b", "end-of-work")):
        assert d["totals"][side]["live_bytes"] == [marks[name]["live_bytes"]], d["totals"]
        assert d["totals"][side]["live_blocks"] == [marks[name]["live_blocks"]], d["totals"]
    between = sorted((c["net_bytes"], c["net_blocks"]) for c in r["changes"] if c["net_blocks"])
    ours = sorted((s["change"]["live_bytes"], s["change"]["live_blocks"]) for s in d["stacks"] if s["change"]["live_blocks"])
    assert between == ours and len(ours) == 2, (between, ours)
    assert all(s["joined_by"] in ("run", None) for s in d["stacks"])
    assert d["totals"]["change"]["allocated_blocks"] == 6, d["totals"]
    back = diff(path + "@m2", path + "@m1")
    assert back["totals"]["change"]["live_bytes"] == -25777, back["totals"]
    whole = diff(path + "@end-of-work", path)
    assert changed(whole["stacks"]) == [], whole["stacks"]
    for instant in ("peak", "now", "-1ms"):
        diff(path + "@" + instant, path)


@test
def t_instants_as_options():
    """As FILE@INSTANT; one that the session does not reach is an error, as everywhere."""
    path, other = one_session("-O1", "-DLEAK=5"), one_session("-O1")
    for options, operands in ((("--since", "cached", path), (path + "@cached", path)),
                              (("--since", "m1", "--at", "m2", path), (path + "@m1", path + "@m2")),
                              (("--between", "cached..end-of-work", path), (path + "@cached", path + "@end-of-work")),
                              (("--at", "peak", path, other), (path + "@peak", other + "@peak")),
                              (("--at", "cached", path + "@now", "--", other, other), (path + "@now", "--", other + "@cached", other + "@cached"))):
        assert diff(*options) == diff(*operands), options
    for options, why in ((("--since", "cached", path, other), "--since: compares two instants of one session"),
                         (("--since", "cached", path + "@m2"), "--since: compares two instants of one session"),
                         (("--since", "cached", "--between", "m1..m2", path), "--between: not with --since"),
                         (("--at", "m2", "--between", "m1..m2", path), "--at: not with --between"),
                         (("--since", "none", path), "none: no such instant"),
                         (("--between", "m1..", path), "--between"),
                         (("--at", "1h", path, other), "1h: lies outside of the session"),
                         (("--since", "-1h", path), "-1h: lies outside of the session"),
                         ((path + "@0:59:00", other), "0:59:00: lies outside of the session")):
        one_line(memtop("diff", *options), 2, why)
    one_line(memtop("report", "--at", "0:59:00", path), 2, "0:59:00: lies outside of the session")


PEAK = r"""
#include <stdlib.h>
#define APART __attribute__((noinline, noclone, noipa))
APART static void *first(size_t n) { return malloc(n); }
APART static void *last(size_t n) { return malloc(n); }
int main(int argc, char **argv)
{
	void *a = first(atoi(argv[1])), *b = last(atoi(argv[2]));
	free(b);
	free(a);
	return argc - 3;
}
"""


@test
def t_what_call_paths_lack_of_a_peak_is_no_change():
    """A thread holds back up to 64K: the second block is in the figure, and in no call path."""
    prog = build("-O1", source=PEAK)
    a, b, more = (recorded(prog, *sizes) for sizes in (("20000000", "60000"), ("20040000", "20000"), ("20500000", "20000")))
    assert [p["totals"]["peak_bytes"] for p in (report(a), report(b))] == [20060000] * 2
    for value in ("live", "blocks"):
        d = diff("--value", value, a + "@peak", b + "@peak")
        for rows in (d["owners"], d["sites"], d["stacks"], [d["totals"]]):
            assert rows and changed(rows) == [], rows
    assert diff(a + "@peak", b + "@peak")["totals"]["change"]["live_bytes"] == 40000
    assert [s["change"]["live_bytes"] for s in changed(diff(a + "@peak", more + "@peak")["stacks"])] == [500000]
    text = memtop("diff", a + "@peak", b + "@peak").stdout
    assert "At peaks, call paths lack up to 58.6K of a peak" in " ".join(text.split()), text
    assert "58.6K below its peak of 19.1M (known to within" in " ".join(text.split()), text


def sessions_by_chance(prog, seeds):
    return [recorded(prog, str(seed)) for seed in seeds]


@test
def t_noise_of_three_runs():
    """Random sizes: no false alarm; and a leak smaller than the noise of the totals is found."""
    base = build("-O1")
    a, b = sessions_by_chance(base, (1, 2, 3)), sessions_by_chance(base, (4, 5, 6))
    d = diff(*a, "--", *b)
    assert [len(x) for x in (d["a"], d["b"])] == [3, 3] and d["noise_rule"], d["a"]
    for rows in (d["owners"], d["sites"], d["stacks"], [d["totals"]]):
        assert changed(rows) == [], changed(rows)
    assert any(s["noise"] for s in d["stacks"]), "no noise: nothing was tested"
    leak = sessions_by_chance(build("-O1", "-DLEAK=9"), (7, 8, 9))
    d = diff(*a, "--", *leak)
    spread = max(d["totals"]["a"]["live_bytes"]) - min(d["totals"]["a"]["live_bytes"])
    assert spread > 45000, "the noise is smaller than the leak: nothing was tested"
    assert d["totals"]["noise"], d["totals"]
    stacks = changed(d["stacks"])
    assert [s["change"]["live_bytes"] for s in stacks] == [45000], stacks
    assert "leaky" in [f["function"] for f in stacks[0]["frames"]], stacks
    text = memtop("diff", *a, "--", *leak).stdout
    assert "within the noise" in text and "leaky" in text and "A (mean)" in text, text
    # one session a side: nothing is said about noise
    d = diff(a[0], b[0])
    assert d["noise_rule"] is None and all(s["noise"] is None for s in d["stacks"])
    assert "Noise is not judged" in memtop("diff", a[0], b[0]).stdout


@test
def t_noise_is_judged_in_every_value():
    prog = build("-O1")
    a, b = sessions_by_chance(prog, (1, 2, 3)), sessions_by_chance(prog, (4, 5, 6))
    for value in ("live", "blocks", "allocated"):
        d = diff("--value", value, *a, "--", *b)
        assert d["value"] == value and changed(d["stacks"]) == [], changed(d["stacks"])
    d = diff("--value", "blocks", *a, "--", *sessions_by_chance(build("-O1", "-DLEAK=1"), (7, 8, 9)))
    assert [s["change"]["live_blocks"] for s in changed(d["stacks"])] == [1], changed(d["stacks"])


@test
def t_a_folded_diff_adds_up_to_the_json_one():
    a, b = one_session("-O1"), one_session("-O1", "-DLEAK=7")
    path = temporary_folder() + "/d.folded"
    assert memtop("diff", "-o", path, a, b).returncode == 0
    with open(path, encoding="utf-8") as f:
        lines = [line.rsplit(" ", 2) for line in f.read().splitlines()]
    d = diff(a, b)
    for at, side in ((1, "a"), (2, "b")):
        assert sum(int(line[at]) for line in lines) == d["totals"][side]["live_bytes"][0], lines
    assert [line[1:] for line in lines if ";leaky;" in line[0]] == [["0", "35000"]], lines
    if shutil.which("flamegraph.pl"):
        done = run(["flamegraph.pl", path])
        assert done.returncode == 0 and "leaky" in done.stdout, done.stderr


@test
def t_wrong_command_lines_of_diff():
    a = one_session("-O1")
    one_line(memtop("diff"), 2, "two sessions are needed")
    one_line(memtop("diff", a), 2, "two sessions are needed")
    one_line(memtop("diff", a, a, a), 2, "more than two sessions", "write -- between")
    one_line(memtop("diff", a, a, "--"), 2, "a session is missing")
    one_line(memtop("diff", a, a + "@nowhere"), 2, "nowhere: no such instant", "a mark, peak, now")
    one_line(memtop("diff", a, a + "@"), 2, "no instant follows the @")
    one_line(memtop("diff", a, "/nonexistent.mtop"), 3, "/nonexistent.mtop")
    one_line(memtop("diff", "--value", "rss", a, a), 2, "live, blocks or allocated")
    one_line(memtop("diff", "--format", "pdf", a, a), 2, "text, json, folded or html")
    one_line(memtop("diff", "-o", "/tmp/d.pdf", a, a), 2, "the ending chooses no format")
    one_line(memtop("diff", "--format", "text", "-o", a, a, a), 2, "is a session")
    one_line(memtop("diff", "-o", "/nonexistent/d.txt", a, a), 3, "cannot be written")
    one_line(memtop("diff", *[a] * 40, "--", a), 2, "too many")
    one_line(memtop("diff", "-o", a, a), 2, "is a session")
    assert memtop("diff", "--format", "text", "-o", "/dev/null", a, a).returncode == 0
    named = os.path.join(temporary_folder(), "odd@name.mtop")
    shutil.copy(a, named)
    assert memtop("diff", named, a).returncode == 0


@test
def t_a_diff_onto_a_full_disk_leaves_no_part():
    """One clear line, and nothing half-written under the name."""
    a = one_session("-O1")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = memtop("diff", a, a, stdout=full)
    assert done.returncode == 3 and done.stderr.count("\n") == 1, done
    path = temporary_folder() + "/d.json"
    done = run(["bash", "-c", f"ulimit -f 0; trap '' XFSZ; exec {memtop.__globals__['MEMTOP']} diff -o {path} {a} {a}"], env=environment())
    assert done.returncode == 3 and not os.path.exists(path) and os.listdir(os.path.dirname(path)) == [], done


main()
