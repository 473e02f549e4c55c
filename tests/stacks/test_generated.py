#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_generated.py - names of code generated at run time: in live reports, in session files and
their reports, for programs in a container, and for those of other machines.

The target makes its code itself, and writes /tmp/perf-PID.map as node --perf-basic-prof does. This
test checks only the innermost frame; others check whether stacks continue below it.
"""
import os
import re
import shutil
import subprocess
import tempfile

from elsewhere import listening
from harness import (AGENT, MEMTOP, ROOT, TARGETS, Skip, Synthetic, at_end, environment, main, need, recorded,
                     recording, report, run, temporary_folder, test, wait_for, wait_for_session)
from obedient import Obedient

GENERATED = "[generated code]"
PC = 0x7f00_dead_beef  # of the synthetic agent's frame
PROGRAM = f"{TARGETS}/s_generated"
SCRIPT = ["n 0 alpha", "a 0 1000 3", "n 2 alpha", "a 2 100 1", "n 3 LazyCompile:*draw /srv/app/draw.js:12:5", "a 3 77 1",
          "a 1 500 2"]
# size of its blocks -> function, file, line
NAMES = {1000: ("alpha", None, None), 100: ("alpha", None, None), 77: ("draw", "/srv/app/draw.js", 12), 500: (None, None, None)}


def forget(path):
    if os.path.lexists(path):
        os.remove(path)


def program(commands=()):
    p = Obedient(program=PROGRAM, wait=False)
    at_end(forget, f"/tmp/perf-{p.pid}.map")
    wait_for(lambda: listening(f"memtop-test.{p.pid}"), 60, "its agent")
    for c in commands:
        p.do(c)
    return p


def session_of(commands):
    """Its session; its map goes with the test."""
    with tempfile.TemporaryFile() as f:
        f.write("".join(c + "\n" for c in commands).encode("utf-8", "surrogateescape"))
        f.seek(0)
        session = recorded(PROGRAM, stdin=f)
    assert session.stdout == "ok\n" * len(commands), (session.stdout, session.stderr)
    forget(map_of(session))
    return session


def map_of(session):
    return f"/tmp/perf-{report(session)['program']['pid']}.map"


def innermost(r):
    """{size of its blocks: the frame that called malloc}"""
    frames = {}
    for s in r["stacks"]:
        if s["owner"] != GENERATED:
            continue
        f = s["frames"][0]
        assert f["module"] == GENERATED and f["offset"] is None and f["address"] > 4096 and not f["inlined"], f
        frames[s["allocated_bytes"] // s["allocated_blocks"]] = f
    return frames


def names(r):
    return {size: (f["function"], f["file"], f["line"]) for size, f in innermost(r).items()}


def text(target, *arguments):
    done = run([MEMTOP, "report", "--full", *arguments, target], env=environment())
    assert done.returncode == 0, done
    return done.stdout


@test
def t_a_live_report_names_generated_code():
    p = program(SCRIPT)
    r = report(p.name)
    assert names(r) == NAMES, names(r)
    owner, = [o for o in r["libraries"] if o["name"] == GENERATED]
    assert (owner["live_bytes"], owner["live_blocks"], owner["build_id"]) == (4177, 7, None), owner
    assert not [w for w in r["warnings"] if "perf-" in w], r["warnings"]


@test
def t_recorded_file_has_the_names():
    """Also when neither the program nor its map is there any more."""
    session = session_of(SCRIPT)
    r = report(session)
    assert names(r) == NAMES, (names(r), r["program"], r["totals"], r["warnings"], [x["owner"] for x in r["stacks"]])
    page = text(session)
    assert re.search(r"\n +3\.0K +4 +3\.0K +alpha <", page), page  # two pieces of one name are one call site
    assert re.search(r"alpha +\[generated code\]", page) and re.search(r"draw +draw.js:12 +\[generated code\]", page), page
    assert re.search(r"0x[0-9a-f]+ +\[generated code\]", page), page


@test
def t_live_equals_recorded():
    live, kept = names(report(program(SCRIPT).name)), names(report(session_of(SCRIPT)))
    assert live == kept == NAMES, (live, kept)


@test
def t_map_that_comes_later():
    """Whoever watches sees names that are written after the blocks were; so has the file."""
    p = program(["a 0 1000 3", "a 1 500 2"])
    r = recording(arguments=[p.name], stdout=subprocess.DEVNULL)
    wait_for_session(r.session)
    assert names(report(p.name)) == {1000: (None, None, None), 500: (None, None, None)}
    p.do("n 0 late")
    p.do("p 123")
    assert names(report(p.name))[1000][0] == "late"
    p.do("t")
    p.do("n 1 later")
    assert names(report(p.name)) == {1000: (None, None, None), 500: ("later", None, None)}
    p.do("n 0 late")
    p.end()
    assert r.wait(60) == 0
    assert names(report(r.session)) == {1000: ("late", None, None), 500: ("later", None, None)}


@test
def t_hostile_names():
    commands = ["n 0 a\x1b[31mred\x07", "a 0 1000 1", "n 1 b\udcff\udcfec", "a 1 500 1", "n 2 " + "x" * 900, "a 2 200 1",
                "p garbage", "n 3 swallowed", "r 1 2 3", "a 3 300 1", "n 4 d\u202eright\u2066", "a 4 400 1"]
    session = session_of(commands)
    got = names(report(session))
    assert got[200][0] == "x" * 900 and got[300][0] is None, got
    shown = text(session)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e\u2066]", shown), repr(shown)
    assert "  a?[31mred  [generated code]" in shown, shown


@test
def t_another_users_map_is_not_read():
    """memtop does not read a file that another user put there, and says so."""
    if os.geteuid():
        raise Skip("only root gives a file away")
    p = program(["n 0 alpha", "a 0 1000 1"])
    os.chown(f"/tmp/perf-{p.pid}.map", 54321, 54321)
    r = report(p.name)
    assert names(r) == {1000: (None, None, None)}, names(r)
    assert [w for w in r["warnings"] if f"/tmp/perf-{p.pid}.map" in w and "user 54321's" in w], r["warnings"]


@test
def t_a_fifo_in_the_maps_place_does_not_block():
    p = program(["a 0 1000 1"])
    os.mkfifo(f"/tmp/perf-{p.pid}.map")
    r = report(p.name, seconds=30)
    assert names(r) == {1000: (None, None, None)}, names(r)
    assert [w for w in r["warnings"] if "not a regular file" in w], r["warnings"]


@test
def t_sysroot_and_symbols():
    """A session of another machine: its map from where the user says."""
    folder = temporary_folder()
    p = program(["a 0 1000 1"])
    r = recording(arguments=[p.name], stdout=subprocess.DEVNULL)
    session = r.session
    wait_for_session(session)
    p.end()
    assert r.wait(60) == 0
    got = report(session)
    assert names(got) == {1000: (None, None, None)}, names(got)
    address = innermost(got)[1000]["address"]
    os.makedirs(folder + "/root/tmp")
    with open(f"{folder}/root/tmp/perf-{p.pid}.map", "w", encoding="utf-8") as f:
        f.write(f"{address - 16:x} 20 given\n")
    assert names(report(session, arguments=("--sysroot", folder + "/root")))[1000][0] == "given"
    assert names(report(session, arguments=("--symbols", folder + "/root/tmp")))[1000][0] == "given"
    assert names(report(session, arguments=("--symbols", folder)))[1000][0] is None


@test
def t_a_map_inside_a_container_is_found():
    """In pid and mount namespaces of its own: the map is called by the pid there, and lies in the /tmp there."""
    need("unshare")
    if run(["unshare", "-p", "-m", "-f", "--mount-proc", "true"]).returncode:
        raise Skip("no namespace may be made here")
    if ROOT.startswith("/tmp/"):
        raise Skip("the agent would lie in the /tmp that is hidden")
    name = f"@memtop-test-generated-{os.getpid()}"
    inner = ["unshare", "-p", "-m", "-f", "--mount-proc", "sh", "-c",
             f"mount -t tmpfs none /tmp && LD_PRELOAD={AGENT} MEMTOP_OPTIONS=listen={name} $0; true"]
    p = Obedient(watched=False, wait=False, program=PROGRAM, command=inner)
    for c in SCRIPT:
        p.do(c)
    wait_for(lambda: listening(name[1:]), 60, "its agent")
    r = report(name)
    assert names(r) == NAMES, names(r)
    outside = f"/tmp/perf-{r['program']['pid']}.map"
    if not os.path.lexists(outside):
        at_end(forget, outside)
        with open(outside, "w", encoding="ascii") as f:
            f.writelines(f"{frame['address'] - 16:x} 20 wrong\n" for frame in innermost(r).values())
        assert names(report(name)) == NAMES
    p.end()


@test
def t_pid_of_somebody_else():
    """Over a forwarded port the pid means nothing here: a process of that number has another program's map."""
    p = program(["a 0 1000 1", f"r {PC - 256:x} 200 wrong"])
    agent = Synthetic("--pid", p.pid)
    r = report(agent.address)
    assert r["program"]["pid"] == p.pid, r["program"]
    frames = [f for s in r["stacks"] for f in s["frames"] if f["module"] == GENERATED]
    assert frames and {f["function"] for f in frames} == {None}, frames
    folder = temporary_folder()
    shutil.copy(f"/tmp/perf-{p.pid}.map", folder)
    given = report(agent.address, arguments=("--symbols", folder))
    assert {f["function"] for s in given["stacks"] for f in s["frames"] if f["module"] == GENERATED} == {"wrong"}


if __name__ == "__main__":
    main()
