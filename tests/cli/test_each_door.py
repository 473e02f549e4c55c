#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_each_door.py - an instant of a session is the same wherever it is asked for: reports as text
and JSON, mcp, diff, check, and the screen."""
import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import tempfile

from cli import compiled, memtop
from harness import MEMTOP, PATIENCE, at_end, environment, main, recorded, report, test
from term import Terminal, command

PROGRAM = """
#include <memtop/memtop.h>
#include <stdlib.h>
#include <unistd.h>
static void *kept[4000];
static int count;
__attribute__((noinline)) void keeps(int n) { while (n--) kept[count++] = malloc(5000); }
__attribute__((noinline)) void drops(int n) { while (n--) free(kept[--count]); }
__attribute__((noinline)) void uses(int n) { while (n--) { void *p = malloc(7000); __asm__("" :: "r"(p)); free(p); } }
int main(void)
{
	keeps(300), uses(3000), usleep(250000);
	uses(2000), keeps(100);
	memtop_mark("one");
	uses(500), keeps(1500), drops(400);
	memtop_mark("two");
	keeps(900), usleep(200000);
	drops(2300), uses(10), usleep(150000);
}
"""
INSTANTS = ("one", "m2", "peak", "0.2s", "end")


@functools.cache
def session():
    """One recording for all tests; tests only read it."""
    folder = tempfile.mkdtemp(prefix="memtop-doors-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    include = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include")
    return recorded(compiled(PROGRAM, "-g", f"-I{include}"), path=folder + "/a.mtop")


@functools.cache
def figures(at):
    return report(session(), arguments=("--at", at, "--stacks", "all"))


@functools.cache
def text(at):
    return memtop("report", "--at", at, session()).stdout


def plain(s):
    return " ".join(s.split())


def total(at, name):
    return figures(at)["totals"][name]


def line(at, name):
    """The amounts of a line of the text report: "5.5M", "1,480"."""
    found = re.search(rf"^{name} +(\S+) in (\S+) blocks$", text(at), re.M)
    return found.groups()


def top_site(at):
    return re.search(r"most live memory first\n.*\n +(\S+) +(\S+) +(\S+) +(\w+)", text(at)).groups()


@test
def t_stacks_add_up_to_the_totals():
    assert total("one", "allocated_blocks") - total("0.2s", "allocated_blocks") >= 2100, "the churn before the mark is in it"
    for at in INSTANTS:
        for name in ("live_bytes", "live_blocks", "allocated_bytes", "allocated_blocks"):
            assert sum(s[name] for s in figures(at)["stacks"]) == total(at, name), (at, name)


@test
def t_a_mark_has_what_was_allocated_by_then():
    """Exactly, and not as of the recorded instant before it."""
    for at, others in (("one", 400), ("two", 1900)):
        blocks = {"keeps": 0, "uses": 0}
        for s in figures(at)["stacks"]:
            for name in blocks:
                if any(f["function"] == name for f in s["frames"]):
                    blocks[name] += s["allocated_blocks"]
        assert blocks == {"keeps": others, "uses": 5000 if at == "one" else 5500}, (at, blocks)


def mcp(tool, at, **more):
    """The lines of a tool's answer."""
    ask = (("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
           ("tools/call", {"name": tool, "arguments": {"target": session(), "at": at, **more}}))
    lines = [json.dumps({"jsonrpc": "2.0", "id": i, "method": m, "params": p}) for i, (m, p) in enumerate(ask)]
    done = subprocess.run([MEMTOP, "mcp"], input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True, env=environment(),
                          timeout=60 * PATIENCE, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["result"]["content"][0]["text"].splitlines()


@test
def t_mcp():
    for at in INSTANTS:
        said = mcp("verdict", at)
        assert plain(said[1]) == plain(figures(at)["verdict"]["text"]), (at, said, figures(at)["verdict"])
        for text_of, name in ((said[2], "live"), (said[3], "allocated")):
            short, blocks = line(at, name)
            assert text_of == f"{name} {short} ({total(at, name + '_bytes')} bytes) in {blocks} blocks", (at, said)
        site = mcp("call_sites", at)[1].split()
        assert [*site[:3], site[site.index("<") - 1]] == [x.replace(",", "") for x in top_site(at)], (at, site, top_site(at))


@test
def t_diff():
    for at in INSTANTS:
        d = json.loads(memtop("diff", "--format", "json", f"{session()}@{at}", session()).stdout)
        assert (d["a"][0]["time_s"], d["a"][0]["estimate"]) == (figures(at)["program"]["duration_s"], False), (at, d["a"])
        for name in ("live_bytes", "live_blocks", "allocated_bytes", "allocated_blocks"):
            assert d["totals"]["a"][name] == [total(at, name)], (at, name, d["totals"])
            assert d["totals"]["b"][name] == [total("end", name)], (at, name, d["totals"])


def changes(*arguments):
    return report(session(), arguments=(*arguments, "--stacks", "all"))["changes"]


@test
def t_a_change_has_any_two_instants():
    """The net of all stacks is what is live at its end less what is live at its beginning; a stack's born and gone are
    those of a diff of the two. A mark at the end of an interval says the same as its instant."""
    for a, b in (("0.2s", "two"), ("one", "peak"), ("0.2s", "peak"), ("peak", "end"), ("start", "0.2s"), ("one", "two")):
        list_ = changes("--between", f"{a}..{b}")
        for name in ("bytes", "blocks"):
            before = 0 if a == "start" else total(a, "live_" + name)
            assert sum(c["net_" + name] for c in list_) == total(b, "live_" + name) - before, (a, b, list_)
        assert len(list_) == sum(1 for c in list_ if c["born_blocks"] or c["gone_blocks"]) > 0, (a, b, list_)
    assert changes("--since", "0.2s") == changes("--between", "0.2s..end") == changes("--between", "0.2s..now")
    at_two = changes("--since", "0.2s", "--at", "two")
    assert sum(c["net_bytes"] for c in at_two) == total("two", "live_bytes") - total("0.2s", "live_bytes"), at_two
    said = memtop("report", "--since", "0.2s", session()).stdout
    assert "Changes from 0.2s to now" in said, said
    grown = total("peak", "live_bytes") - total("0.2s", "live_bytes")
    for limit, status in ((grown, 0), (grown - 1, 1)):
        done = memtop("check", "--max-growth", str(limit), "--between", "0.2s..peak", session())
        assert done.returncode == status, (grown, done.stdout, done.stderr)
    site = mcp("diff_marks", "end", **{"from": "0.2s", "to": "peak"})[1].split()
    assert "keeps" in site, site


@test
def t_an_end_outside_of_the_session_is_an_error():
    for words in (("report", "--since", "2h"), ("report", "--between", "0.2s..2h"), ("report", "--between", "-2h..end"),
                  ("check", "--max-growth", "1G", "--between", "0.2s..2h"), ("diff", "--since", "2h"), ("report", "--at", "2h")):
        done = memtop(*words, session())
        assert done.returncode in (2, 3) and "lies outside of the session" in done.stderr, (words, done)
    done = memtop("report", "--at", "0.1s", "--since", "0.6s", session())
    assert done.returncode == 2 and "0.6s: lies after the instant that is shown" in done.stderr, done
    done = memtop("report", "--since", "0.2s", "--format", "html", session())
    assert done.returncode == 2 and "stacks of its marks" in done.stderr, done


@test
def t_check_judges_the_end():
    most = total("end", "live_bytes")
    for bytes_, status in ((most, 0), (most - 1, 1)):
        done = memtop("check", "--max-live", str(bytes_), session())
        assert done.returncode == status, (most, bytes_, done.stdout)


@test
def t_the_screen():
    t = Terminal([MEMTOP, "open", session()], 160, 36)
    at_end(t.close)
    t.wait_for(lambda lines: lines[2].startswith(" Live"), 30)
    for at in INSTANTS:
        command(t, f"at {at}")
        shown = f" Live {line(at, 'live')[0]}  {line(at, 'live')[1]} blocks"
        t.wait_for(lambda lines: lines[2].startswith(shown + " "), 20, f"{shown!r} at {at}")
        assert plain(t.now()[1])[2:].startswith(plain(figures(at)["verdict"]["text"])), (at, t.now()[1])
        live, _, _, site = top_site(at)
        t.wait_for(lambda lines: any(re.search(rf"too soon +{re.escape(live)} .* {site} <", x) for x in lines), 20, (at, live, site))


if __name__ == "__main__":
    main()
