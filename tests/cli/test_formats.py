#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_formats.py - reports for other tools: each is read back by its own tool, and its sums are
those of the JSON report, for what is live, allocated, and changed. An instant of the past is exact
at a mark. A report is there whole or not at all."""
import base64
import csv
import functools
import gzip
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile

import browser
from cli import FORMATS, compiled, memtop, one_line
from harness import (MEMTOP, TARGETS, Skip, Synthetic, at_end, environment, main, need, recorded, report, run,
                     temporary_folder, test, wait_for)
from protobuf import fields, varints

# Two threads, two marks between ticks, blocks that go before and after each mark.
PROGRAM = """
import ctypes, threading, time
mark = ctypes.CDLL(None).memtop_mark
keep = []
def grow(n):
    for i in range(n): keep.append(bytes(5000 + i % 300))
def churn():
    for i in range(3000): bytes(9000)
grow(200); churn(); time.sleep(0.25)
t = threading.Thread(target=grow, args=(100,)); t.start(); t.join()
mark(b"one")
grow(900); del keep[:300]
mark(b"two")
grow(500); time.sleep(0.2)
del keep[100:]
"""


@functools.cache
def session():
    """One recording for all tests; tests only read it."""
    folder = tempfile.mkdtemp(prefix="memtop-formats-")
    import atexit
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return recorded("/usr/bin/python3", "-c", PROGRAM, path=folder + "/a.mtop")


@functools.cache
def figures(*arguments):
    return report(session(), arguments=arguments)


def written(kind, *arguments):
    """The report as a file of its ending."""
    path = temporary_folder() + "/a" + FORMATS[kind]
    done = memtop("report", "-o", path, *arguments, session())
    assert done.returncode == 0 and not done.stdout, done
    return path


def text_of(kind, *arguments):
    with open(written(kind, *arguments), encoding="utf-8", newline="") as f:
        return f.read()


def net(r, unit="bytes"):
    return sum(s[f"net_{unit}"] for s in r["changes"])


VIEWS = ((), ("--at", "one"), ("--at", "m2"), ("--at", "peak"), ("--at", "0.3s"))
CHANGES = (("--since", "one"), ("--between", "one..two"), ("--between", "start..one"), ("--at", "two", "--since", "one"))


@test
def t_a_mark_is_exact():
    """The recorded instants lie beside it."""
    whole = figures()
    assert [m["name"] for m in whole["marks"]] == ["one", "two"], whole["marks"]
    for mark in whole["marks"]:
        r = figures("--at", mark["name"])
        for unit in ("bytes", "blocks"):
            assert mark[f"live_{unit}"] == r["totals"][f"live_{unit}"] == sum(s[f"live_{unit}"] for s in r["stacks"]), mark
        assert r["marks"][-1]["live_bytes"] == mark["live_bytes"] and r["program"]["duration_s"] == mark["time_s"]
        assert any(f"At the mark {mark['name']} the live figures are exact" in w for w in r["warnings"]), r["warnings"]
        # the same by another way: from the start to the mark
        born = {s["id"]: s["born_bytes"] for s in figures("--between", f"start..{mark['name']}")["changes"]}
        assert born == {s["id"]: s["live_bytes"] for s in r["stacks"] if s["live_bytes"]}
    assert figures("--at", "now")["totals"] == whole["totals"]
    peak = figures("--at", "peak")
    assert peak["totals"]["live_bytes"] > 2 * whole["totals"]["live_bytes"] and peak["program"]["state"] == "running"


MANY = """
#include <stdlib.h>
#include <unistd.h>
static void one(int steps, int way);
static void other(int steps, int way) { if (steps) (way & 1 ? one : other)(steps - 1, way / 2); else malloc(16 + (size_t)way); __asm__(""); }
static void one(int steps, int way) { if (steps) (way & 1 ? one : other)(steps - 1, way / 2); else malloc(100); __asm__(""); }
int main(void)
{
	for (int round = 0; round < 60; round++, usleep(50000))
		for (int way = 0; way < 8192; way++)
			one(13, way);
}
"""


@test
def t_a_mark_is_exact_where_much_changes():
    """Thousands of stacks change between the recorded instant and the mark."""
    path = recorded(compiled(MANY), arguments=["--mark-every", "1s"])
    marks = report(path)["marks"]
    assert len(marks) >= 2, marks
    for mark in marks:
        r = report(path, arguments=["--at", f"m{mark['id']}", "--stacks", "all"])
        assert len(r["stacks"]) >= 8192
        for unit in ("bytes", "blocks"):
            assert mark[f"live_{unit}"] == r["totals"][f"live_{unit}"] == sum(s[f"live_{unit}"] for s in r["stacks"]), (mark, r["totals"])


@test
def t_an_instant_that_is_not():
    one_line(memtop("report", "--at", "nowhere", session()), 2, "nowhere: no such instant")
    one_line(memtop("report", "--at", "one", "--since", "two", session()), 2, "two: no mark has this name")
    agent = Synthetic()
    one_line(memtop("report", "--at", "0.1s", agent.address), 3, "its past is in a session file: memtop open --list has")


@test
def t_folded_lines_add_up_to_the_totals():
    keys = {"live": "live_bytes", "blocks": "live_blocks", "allocated": "allocated_bytes",
            "allocations": "allocated_blocks", "temporary": "freed_bytes"}
    for arguments in VIEWS:
        for value, key in keys.items():
            lines = text_of("folded", "--value", value, *arguments).splitlines()
            figure = [int(line.rsplit(" ", 1)[1]) for line in lines]
            assert sum(figure) == figures(*arguments)["totals"][key], (arguments, value)
            assert all(re.fullmatch(r"\S.* [1-9]\d*", line) for line in lines)
    lines = text_of("folded").splitlines()
    assert any(re.search(r"^_start;.*Py_BytesMain;.* \d+$", line) for line in lines), lines[:3]
    assert text_of("folded") == text_of("folded", "--value", "live")


@test
def t_folded_of_a_change_has_both_ends():
    for arguments in CHANGES:
        r = figures(*arguments)
        for value, unit in (("growth", "bytes"), ("blocks", "blocks")):
            lines = [line.rsplit(" ", 2) for line in text_of("folded", "--value", value, *arguments).splitlines()]
            before, after = (sum(int(line[i]) for line in lines) for i in (1, 2))
            assert after - before == net(r, unit) and after > 0, (arguments, before, after)
    marks = figures()["marks"]
    lines = [line.split(" ")[-2:] for line in text_of("folded", "--between", "one..two").splitlines()]
    assert [sum(map(int, column)) for column in zip(*lines)] == [m["live_bytes"] for m in marks]
    one_line(memtop("report", "--format", "folded", "--value", "growth", session()), 2, "growth needs two instants")
    one_line(memtop("report", "--format", "folded", "--value", "allocated", "--since", "one", session()), 2, "only what was alive")
    one_line(memtop("report", "--format", "folded", "--value", "nothing", session()), 2, "live, blocks, allocated")
    for name in ("text", "dot", "massif"):  # dot and massif show bytes alone
        one_line(memtop("report", "--format", name, "--value", "blocks", session()), 2, f"works only with folded; {name} has no choice")


def profile_of(*arguments):
    """{type: sum}, strings, and what each sample, mapping and location holds."""
    with gzip.open(written("pprof", *arguments)) as f:
        top = list(fields(f.read()))
    strings = [v.decode() for k, v in top if k == 6]
    types = [strings[dict(fields(v))[1]] for k, v in top if k == 1]
    samples = [list(fields(v)) for k, v in top if k == 2]
    values = [[n for n, _ in varints(dict(s)[2])] for s in samples]
    assert strings[0] == "" and all(len(v) == len(types) for v in values)
    sums = [sum(column) for column in zip(*values)] or [0] * len(types)
    return {"sums": dict(zip(types, sums)), "strings": strings, "samples": samples, "values": values,
            "types": types, "mappings": [dict(fields(v)) for k, v in top if k == 3],
            "locations": [list(fields(v)) for k, v in top if k == 4], "functions": [dict(fields(v)) for k, v in top if k == 5]}


@test
def t_pprof():
    for arguments in VIEWS:
        t = figures(*arguments)["totals"]
        p = profile_of(*arguments)
        assert p["sums"] == {"alloc_objects": t["allocated_blocks"], "alloc_space": t["allocated_bytes"],
                             "inuse_objects": t["live_blocks"], "inuse_space": t["live_bytes"]}, (arguments, p["sums"], t)
    for arguments in CHANGES:
        assert profile_of(*arguments)["sums"] == {"growth_objects": net(figures(*arguments), "blocks"),
                                                  "growth_space": net(figures(*arguments))}, arguments


@test
def t_pprof_tables():
    """Every id names something; modules have their build-ids; who holds what is live is in the labels."""
    p, r = profile_of(), figures()
    functions, mappings = {f[1] for f in p["functions"]}, {m[1] for m in p["mappings"]}
    locations = {dict(x)[1]: x for x in p["locations"]}
    for table in ("mappings", "functions", "locations"):  # Parca refuses others
        assert [dict(x)[1] for x in p[table]] == list(range(1, len(p[table]) + 1)), (table, [dict(x)[1] for x in p[table]])
    for x in locations.values():
        lines = [dict(fields(v)) for k, v in x if k == 4]
        assert lines and all(line[1] in functions for line in lines) and dict(x).get(2, min(mappings)) in mappings
    for s in p["samples"]:
        assert all(n in locations for n, _ in varints(dict(s)[1]))
    ids = {m["path"]: m["build_id"] for m in r["modules"]}
    seen = {p["strings"][m[5]]: p["strings"][m.get(6, 0)] or None for m in p["mappings"] if 5 in m}
    assert seen == ids and p["strings"][p["mappings"][0][5]] == r["program"]["exe"]
    held = {}
    for s, v in zip(p["samples"], p["values"]):
        labels = {p["strings"][l[1]]: l.get(3, l.get(2)) for l in (dict(fields(x)) for k, x in s if k == 3)}
        assert labels["pid"] == r["program"]["pid"]
        held[labels.get("tid")] = held.get(labels.get("tid"), 0) + v[3]
    threads = {t["tid"]: t["live_bytes"] for t in r["threads"] if t["live_bytes"]}
    assert len(r["threads"]) == 2 and {k: v for k, v in held.items() if v} == threads, (held, threads)


@test
def t_pprof_inlined():
    """A location has a line for each function inlined there."""
    path = recorded(f"{TARGETS}/s_inline")
    out = path.replace(".mtop", ".pb.gz")
    assert memtop("report", "-o", out, path).returncode == 0
    with gzip.open(out) as f:
        locations = [list(fields(v)) for k, v in fields(f.read()) if k == 4]
    assert max(sum(k == 4 for k, _ in x) for x in locations) > 1


@test
def t_go_tool_pprof():
    need("go")
    env = {**environment(), "HOME": temporary_folder(), "PPROF_NO_BROWSER": "1"}
    path = written("pprof")

    def pprof(*arguments):
        done = run(["go", "tool", "pprof", *arguments, path], env=env)
        assert done.returncode == 0, done
        return done.stdout
    for kind, key in (("inuse_space", "live_bytes"), ("alloc_space", "allocated_bytes"), ("inuse_objects", "live_blocks")):
        out = pprof("-top", f"-sample_index={kind}", "-unit=B")
        total = re.search(r"of (\d+)B? total", out).group(1)
        assert int(total) == figures()["totals"][key], (kind, out[:500])
    assert re.search(r"Py_BytesMain", pprof("-peek", "Py_BytesMain"))
    assert "python3" in pprof("-tags", "-tagshow=thread")
    path = written("pprof", "--between", "one..two")
    out = pprof("-raw")
    figure = [int(n) for n in re.findall(r"^ +-?\d+ +(-?\d+):", out, re.M)]
    assert sum(figure) == net(figures("--between", "one..two")), out[:800]
    total = re.search(r"of (-?\d+)B? total", pprof("-top", "-sample_index=growth_space", "-unit=B")).group(1)
    assert int(total) == sum(abs(n) for n in figure), (total, sum(figure))  # pprof's total of a difference


def flame_graph(path, *arguments):
    """(bytes of the whole picture, the picture) as flamegraph.pl draws it; Devel::NYTProf brings it along."""
    tool = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
    if not os.path.exists(tool):
        raise Skip("flamegraph.pl is not installed: apt-get install libdevel-nytprof-perl")
    done = run(["perl", tool, "--countname=bytes", "--minwidth=0", *arguments, path])
    assert done.returncode == 0 and not done.stderr, done.stderr
    return int(re.search(r"<title>all \(([\d,]+) bytes, 100%\)</title>", done.stdout)[1].replace(",", "")), done.stdout


@test
def t_flamegraph():
    """Its root is the sum of what it was given."""
    for arguments in VIEWS:
        for value, key in (("live", "live_bytes"), ("allocated", "allocated_bytes")):
            if not figures(*arguments)["totals"][key]:
                continue  # a slow machine has not begun yet; flamegraph.pl takes no empty file
            total, picture = flame_graph(written("folded", "--value", value, *arguments))
            assert total == figures(*arguments)["totals"][key], (arguments, value, total)
    assert "Py_BytesMain" in picture
    for arguments in CHANGES:
        path = written("folded", *arguments)
        with open(path, encoding="utf-8") as f:
            before, after = (sum(column) for column in zip(*(map(int, line.split(" ")[-2:]) for line in f)))
        total, picture = flame_graph(path)
        assert total == after == before + net(figures(*arguments)), (arguments, total, before, after)
        assert re.search(r"bytes, [\d.]+%; [+-][\d.]+%\)", picture), "no frame changed"


@functools.cache
def speedscope_page():
    """The page of npm's package, which has the loader and its schema."""
    need("npm")
    folder = tempfile.mkdtemp(prefix="memtop-speedscope-")
    import atexit
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    done = run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, "speedscope"], seconds=300)
    page = folder + "/node_modules/speedscope/dist/release/index.html"
    if done.returncode or not os.path.exists(page):
        raise Skip(f"npm cannot install speedscope here: {done.stderr[-300:]}")
    return page


@test
def t_speedscope_loads_it():
    """Its own loader, in a browser: each profile is there, its heaviest row has the file's bytes, and their share of the sum."""
    page = speedscope_page()
    if not browser.chromium():
        raise Skip("chromium is not installed: apt-get install chromium")
    b, folder = browser.Browser(), temporary_folder()
    at_end(b.close)
    for arguments in ((), CHANGES[1]):
        text = text_of("speedscope", *arguments)
        b.call("Page.navigate", url="about:blank")
        with open(folder + "/a.js", "w", encoding="ascii") as f:  # as its command line does
            f.write(f"speedscope.loadFileFromBase64('a.speedscope.json', '{base64.b64encode(text.encode()).decode()}')")
        b.call("Page.navigate", url=f"file://{page}#localProfilePath={folder}/a.js")
        profiles = json.loads(text)["profiles"]
        for i, p in enumerate(profiles):
            b.wait(f"document.body?.innerText.includes({json.dumps(p['name'] + f' ({i + 1}/{len(profiles)})')})", p["name"])
            b.key("3")
            b.wait("[...document.querySelectorAll('tr')].filter((r) => r.innerText.includes('%)')).length > 3", "the table")
            cells = b.run("[...document.querySelectorAll('tr')].map((r) => r.querySelectorAll('td')[1]?.innerText || '')")
            found = [c for c in (re.search(r"([\d.,]+) ?([KMG]?B?) \([<>]?([\d.]+)%\)", text) for text in cells) if c]
            number, unit, share = found[0].groups()
            shown = float(number.replace(",", "")) * {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20}[unit]
            own = {}
            for stack, weight in zip(p["samples"], p["weights"]):
                own[stack[-1]] = own.get(stack[-1], 0) + weight
            assert abs(shown - max(own.values())) <= 0.006 * shown + 1, (p["name"], shown, max(own.values()))
            assert abs(float(share) - 100 * shown / p["endValue"]) <= 1, (p["name"], share, shown, p["endValue"])
            b.key("n")
    assert not [c for c in b.complaints if not c.startswith("rendering: ")], b.complaints


@test
def t_speedscope_schema():
    """The schema that the package brings along."""
    page = speedscope_page()
    try:
        import jsonschema
    except ImportError:
        raise Skip("jsonschema is not installed: apt-get install python3-jsonschema") from None
    with open(os.path.dirname(page) + "/file-format-schema.json", encoding="utf-8") as f:
        schema = json.load(f)
    for arguments in VIEWS + CHANGES:
        jsonschema.validate(json.loads(text_of("speedscope", *arguments)), schema)


@test
def t_speedscope():
    """What its loader asks for; www.speedscope.app/file-format-schema.json."""
    for arguments in VIEWS + CHANGES:
        r, f = figures(*arguments), json.loads(text_of("speedscope", *arguments))
        assert f["$schema"] == "https://www.speedscope.app/file-format-schema.json"
        frames, profiles = f["shared"]["frames"], {p["name"]: p for p in f["profiles"]}
        assert all(isinstance(x["name"], str) for x in frames)
        for p in profiles.values():
            assert p["type"] == "sampled" and p["unit"] in ("bytes", "none") and p["startValue"] == 0
            assert len(p["samples"]) == len(p["weights"]) and sum(p["weights"]) == p["endValue"]
            assert all(0 <= i < len(frames) for s in p["samples"] for i in s) and all(p["samples"])
        sums = {name: p["endValue"] for name, p in profiles.items()}
        t = r["totals"]
        if "changes" in r and r["changes"]:
            assert sums["grown"] - sums["shrunk"] == sums["born"] - sums["gone"] == net(r), sums
        else:
            assert sums == {"live": t["live_bytes"], "blocks": t["live_blocks"], "allocated": t["allocated_bytes"],
                            "allocations": t["allocated_blocks"], "temporary": t["freed_bytes"]}, sums
    assert "_start" == frames[profiles["born"]["samples"][0][0]]["name"]


@test
def t_csv():
    for arguments in VIEWS + CHANGES:
        r = figures(*arguments)
        rows = list(csv.DictReader(text_of("csv", *arguments).splitlines()))
        stacks = {s["id"]: s for s in (r["changes"] if "--since" in arguments or "--between" in arguments else r["stacks"])}
        assert len(rows) == len(stacks)
        for row in rows:
            s = stacks[int(row["stack_id"])]
            for key in ("live_bytes", "live_blocks", "allocated_bytes", "allocated_blocks", "net_bytes", "born_blocks"):
                assert key not in s or int(row[key]) == s[key], (row, s)
            assert row["owner"] == s["owner"] and None not in row
            assert row["stack"].split(";")[-1] in (s["frames"][0]["function"], f"{s['frames'][0]['module']}+0x{s['frames'][0]['offset'] or 0:x}")
        # fewer rows have the same sums
        numbers = [name for name in rows[0] if name.endswith(("_bytes", "_blocks"))] if rows else []
        for which in ("2", "live"):
            few = list(csv.DictReader(text_of("csv", "--stacks", which, *arguments).splitlines()))
            rest = [row for row in few if not row["stack_id"]]
            listed = [row for row in few if row["stack_id"]]
            assert len(rest) == (len(listed) < len(rows)) and all(row in rows for row in listed), (which, few)
            assert not rest or few[-1] == rest[0] and rest[0]["stack"] == f"[{len(rows) - len(listed)} more stack{'s' * (len(rows) - len(listed) != 1)}]", few
            for name in numbers:
                assert sum(int(row[name]) for row in few) == sum(int(row[name]) for row in rows), (which, name)
            key = "net_bytes" if "net_bytes" in numbers else "live_bytes"
            if which == "2" and rows:
                sizes = [abs(int(row[key])) for row in rows]
                assert [abs(int(row[key])) for row in listed] == sorted(sizes, reverse=True)[:2], arguments
            else:
                assert len(listed) == len([row for row in rows if int(row["live_blocks"])])


@test
def t_massif():
    need("ms_print")
    for arguments in VIEWS:
        t = figures(*arguments)["totals"]
        done = run(["ms_print", "--threshold=0", written("massif", *arguments)])
        assert done.returncode == 0 and not done.stderr, done
        if t["live_bytes"]:
            last = re.findall(r"^ +\d+ +[\d,]+ +([\d,]+) .*\n(?:100.00% \(([\d,]+)B\).*\n)?", done.stdout, re.M)[-1]
            assert last[0] == last[1] == f"{t['live_bytes']:,}", (arguments, last, t)
        assert f"{t['peak_bytes']:,}" in done.stdout and "(peak)" in done.stdout
    for arguments in CHANGES:
        grown = sum(max(0, s["net_bytes"]) for s in figures(*arguments)["changes"])
        out = run(["ms_print", "--threshold=0", written("massif", *arguments)]).stdout
        assert f"% ({grown:,}B) (heap allocation functions)" in out, out


@test
def t_massif_tree_adds_up():
    """Children and what is below the threshold are their parent's sum, as far down as the tree goes."""
    lines = [re.match(r"( *)n(\d+): (\d+) (.*)", line) for line in text_of("massif").splitlines()]
    lines = [(len(m[1]), int(m[2]), int(m[3])) for m in lines if m and "stacks of the peak" not in m[4]]
    for i, (depth, children, size) in enumerate(lines):
        below = []
        for d, _, n in lines[i + 1:]:
            if d <= depth:
                break
            if d == depth + 1:
                below.append(n)
        assert len(below) == children and (not children or sum(below) == size), (i, lines[i], below)


@test
def t_dot():
    need("dot")
    for arguments in ((), CHANGES[1]):
        path = written("dot", *arguments)
        done = run(["dot", "-Tsvg", path])
        assert done.returncode == 0 and not done.stderr and done.stdout.count('class="node"') > 5, done.stderr
        with open(path, encoding="utf-8") as f:
            assert re.search(r'label="all that (grew|is live)\\n[\d.]+[KM] \(100\.0 %\)"', f.read())


@test
def t_heaptrack():
    need("heaptrack_print")
    for arguments in VIEWS + CHANGES:
        r, sizes, blocks, total = figures(*arguments), [], 0, 0
        change = "--since" in arguments or "--between" in arguments
        path = written("heaptrack", *arguments)
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.startswith("a "):
                    sizes.append(int(line.split()[1], 16))
                elif line.startswith("+ "):
                    blocks += 1
                    total += sizes[int(line.split()[1], 16)]
        want = [sum(s[f"born_{u}"] for s in r["changes"]) for u in ("blocks", "bytes")] if change else \
            [r["totals"]["live_blocks"], r["totals"]["live_bytes"]]
        assert [blocks, total] == want, (arguments, blocks, total, want)
        done = run(["heaptrack_print", "--disable-builtin-suppressions", path])
        assert done.returncode == 0, done
        if blocks:
            assert f"calls to allocation functions: {blocks} " in done.stdout, done.stdout[-600:]
            leaked, unit = re.search(r"total memory leaked: ([\d.]+)([BKM])", done.stdout).groups()
            assert abs(float(leaked) * {"B": 1, "K": 1e3, "M": 1e6}[unit] - total) <= total * 0.01 + 1


@test
def t_text_has_eighty_columns():
    for arguments in VIEWS + CHANGES:
        for line in text_of("text", *arguments).splitlines():
            assert len(line) <= 80, line
    assert max(map(len, text_of("text", "--full").splitlines())) > 80
    text = text_of("text")
    assert re.search(r"^ +[\d.]+M +[\d,]+ +[\d.]+ s   m1 one  by the program$", text, re.M), text
    order = [text.index(title) for title in ("\nlive ", "\nResident memory by part", "\nMemory by owner", "\nCall sites",
                                             "\nThe stacks that hold most", "\nThreads", "\nMarks")]
    assert order == sorted(order)


@test
def t_text_folds_a_library():
    """A run of std:: frames is one line, unless all are asked for; long names lose what is in brackets."""
    path = recorded(f"{TARGETS}/s_owners")
    brief, full = (memtop("report", *more, path).stdout for more in ((), ("--full",)))
    assert max(map(len, brief.splitlines())) <= 80
    assert re.search(r"^ {13}\S.*  \(\+\d+ of std\)$", brief, re.M), brief
    assert "of std)" not in full and len(re.findall(r"^ {13}\S", full, re.M)) > len(re.findall(r"^ {13}\S", brief, re.M))


@test
def t_the_files_ending_chooses_the_format():
    """The longest one decides; what does not exist is answered with what does."""
    folder = temporary_folder()
    listed = memtop("report", "--format", "help")
    assert listed.returncode == 0 and not listed.stderr
    assert dict(line.split()[:2] for line in listed.stdout.splitlines()) == FORMATS
    assert all(len(line) <= 80 for line in listed.stdout.splitlines())
    for arguments, word in ((("--format", "xml"), "xml: no such format"), (("-o", folder + "/a.xml"), "no format ends in .xml")):
        done = memtop("report", *arguments, session())
        first, rest = done.stderr.split("\n", 1)
        assert done.returncode == 2 and word in first and rest == listed.stdout and not done.stdout, done
    assert not os.listdir(folder)
    for kind in FORMATS:
        by_ending, by_name = written(kind), memtop("report", "--format", kind, session(), text=False).stdout
        with open(by_ending, "rb") as f:
            assert f.read() == by_name, kind
    one_line(memtop("report", "-o", folder + "/a.csv", "--full", session()), 2, "--full: only text")


def limited():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


@test
def t_whole_or_not_at_all():
    """A disk that is full (or a limit): one line, and what was there before stays."""
    folder = temporary_folder()
    for kind, ending in FORMATS.items():
        path = f"{folder}/a{ending}"
        with open(path, "w", encoding="ascii") as f:
            f.write("before")
        done = subprocess.run([MEMTOP, "report", "-o", path, session()], preexec_fn=limited, capture_output=True, text=True,
                              env=environment(), check=False)
        one_line(done, 3, "File too large")
        with open(path, encoding="ascii") as f:
            assert f.read() == "before", kind
        with open("/dev/full", "w", encoding="ascii") as full:
            done = memtop("report", "--format", kind, session(), stdout=full)
        assert done.returncode == 3 and re.fullmatch(r"memtop: [^\n]+No space left[^\n]+\n", done.stderr), (kind, done)
        one_line(memtop("report", "--format", kind, "-o", "/dev/full", session()), 3, "No space left")
    assert sorted(os.listdir(folder)) == sorted("a" + e for e in FORMATS.values())


@test
def t_minus_is_the_output():
    folder = temporary_folder()
    for verb in (("report", "--format", "csv", session()), ("diff", "--format", "json", session(), session())):
        plain, minus = memtop(*verb), memtop(*verb, "-o", "-", cwd=folder)
        assert minus.returncode == 0 and minus.stdout == plain.stdout, (verb, minus)
    assert not os.listdir(folder), os.listdir(folder)


@test
def t_no_cell_is_a_formula():
    """Names are the program's: a spreadsheet runs what begins with one of these."""
    folder = temporary_folder()
    source, program = f"{folder}/evil.c", f"{folder}/=1+2"
    with open(source, "w", encoding="utf-8") as f:
        f.write('#include <stdlib.h>\nint main(void) { return !malloc(1000); }\n')
    assert run(["gcc", "-O0", "-rdynamic", "-o", program, source]).returncode == 0
    rows = list(csv.DictReader(io.StringIO(memtop("report", "--format", "csv", recorded(program)).stdout)))
    (row,) = [r for r in rows if "1000" in (r["live_bytes"], r["allocated_bytes"])]
    assert row["owner"] == "'=1+2", row
    assert not [v for r in rows for v in r.values() if v[:1] in tuple("=+-@\t\r") and v], "a formula"


@test
def t_a_format_onto_a_full_disk_leaves_no_part():
    if os.geteuid() or run(["mount", "-t", "tmpfs", "-o", "size=8k", "memtop", folder := temporary_folder()]).returncode:
        raise Skip("mounting a tmpfs needs rights")
    at_end(run, ["umount", folder])
    for kind, ending in FORMATS.items():
        room = 4096 if os.path.getsize(written(kind)) > 4096 else 0  # a packed file may be smaller than a page
        with open(folder + "/filler", "wb") as f:
            f.write(bytes(8192 - room))
        one_line(memtop("report", "-o", f"{folder}/a{ending}", session()), 3, "No space left")
        assert os.listdir(folder) == ["filler"], kind


@test
def t_killed_writer():
    """Under the final name there is nothing, or all of it."""
    for kind, ending in FORMATS.items():
        folder = temporary_folder()
        with subprocess.Popen([MEMTOP, "report", "-o", f"{folder}/a{ending}", session()], env=environment()) as p:
            wait_for(lambda: os.listdir(folder) or p.poll() is not None, 30, "the part")
            p.kill()
        with open(written(kind), "rb") as f:
            whole = f.read()
        if os.path.exists(f"{folder}/a{ending}"):
            with open(f"{folder}/a{ending}", "rb") as f:
                assert f.read() == whole, kind


@test
def t_a_cut_session_is_whole_in_each_format():
    """What a cut file still holds is reported whole, by every writer."""
    folder = temporary_folder()
    with open(session(), "rb") as f:
        data = f.read()
    for size in (len(data) // 2, len(data) - 2000, len(data) - 10):
        path = f"{folder}/cut.mtop"
        with open(path, "wb") as f:
            f.write(data[:size])
        for kind, ending in FORMATS.items():
            out = f"{folder}/a{ending}"
            done = memtop("report", "-o", out, path)
            assert done.returncode in (0, 3) and done.stderr.count("\n") <= 1, (kind, done)
            assert os.path.exists(out) == (done.returncode == 0), (kind, done)
    assert len(os.listdir(folder)) == 1 + len(FORMATS)


if __name__ == "__main__":
    main()
