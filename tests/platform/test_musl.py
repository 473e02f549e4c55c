#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_musl.py - the agent in programs of another libc: totals, threads, marks, the server, and stacks as far as tables go.

Its compiler requests no search table for .eh_frame, and musl itself is built without unwind tables.
The agent recognises musl's code that calls main or a thread's function; a stack ends at other musl
code, and the report says so.
"""
import json
import os
import shutil
import signal
import struct
import subprocess

from elsewhere import check_cut, shown, told
from harness import (BUILD, MEMTOP, Skip, at_end, check_invariants, environment, main, recorded, report, run, start,
                     temporary_folder, test, wait_for)

MUSL = os.path.join(BUILD, "tests", "musl")
AGENT = os.path.join(BUILD, "musl", "libmemtop-agent.so")
PROGRAMS = [["s_threads", "5"], ["s_sites"], ["s_filter"], ["s_mark"], ["s_named"], ["s_paths", "8"], ["s_phases"], ["s_small_stacks"]]


def by_its_agent(program, *arguments):
    """The session of one run, from its start to its end."""
    return recorded(program, *arguments, arguments=["--agent", AGENT])


def counted(command):
    """allocations, frees, bytes: by the plain counter."""
    folder = temporary_folder()
    os.link(MUSL + "/count_preload.so", folder + "/count.so")
    done = run(["/usr/bin/env", f"LD_PRELOAD={folder}/count.so", MUSL + "/" + command[0], *command[1:]], env=environment())
    assert done.returncode == 0, done.stderr
    with open(folder + "/counts", "rb") as f:
        return struct.unpack("=3Q", f.read(24))


@test
def t_totals_equal_the_counters():
    wrong = []
    for command in PROGRAMS:
        t, want = report(by_its_agent(f"{MUSL}/{command[0]}", *command[1:]))["totals"], counted(command)
        got = t["allocated_blocks"], t["freed_blocks"], t["allocated_bytes"]
        if got != want or not want[0]:
            wrong.append(f"{command[0]}: memtop {got}, counter {want}")
    assert not wrong, "; ".join(wrong)


def without_a_word(memtop, *arguments):
    """memtop, told nothing of agents."""
    env = environment()
    del env["MEMTOP_AGENT"]
    return run([memtop, *arguments], env=env)


@test
def t_its_agent_is_found():
    """It is never named: memtop reads the loader that the program, or a script's interpreter,
    requests."""
    folder = temporary_folder()
    with open(f"{folder}/script", "w", encoding="utf-8") as f:
        f.write(f"#!{MUSL}/s_mark\n")
    os.chmod(f"{folder}/script", 0o755)
    want = counted(["s_mark"])
    for program in (f"{MUSL}/s_mark", f"{folder}/script"):
        done = without_a_word(MEMTOP, "record", "-o", f"{folder}/a.mtop", "--", program)
        assert done.returncode == 0, done.stderr
        t = report(f"{folder}/a.mtop")["totals"]
        assert (t["allocated_blocks"], t["freed_blocks"], t["allocated_bytes"]) == want, (program, t, want)
    done = without_a_word(MEMTOP, "record", "-o", f"{folder}/a.mtop", "--", "/bin/true")
    assert done.returncode == 0, done.stderr


@test
def t_its_agent_where_it_is_installed():
    """Installed as make install does, and with none: one line that says how to get one."""
    folder = temporary_folder()
    for place in ("bin", "lib/memtop/musl"):
        os.makedirs(f"{folder}/{place}")
    shutil.copy(MEMTOP, f"{folder}/bin/memtop")
    command = ["record", "-o", f"{folder}/a.mtop", "--", f"{MUSL}/s_mark"]
    done = without_a_word(f"{folder}/bin/memtop", *command)
    assert done.returncode == 125 and done.stderr.count("\n") == 1 and "make musl" in done.stderr, done
    shutil.copy(AGENT, f"{folder}/lib/memtop/musl/")
    done = without_a_word(f"{folder}/bin/memtop", *command)
    assert done.returncode == 0, done.stderr
    assert report(f"{folder}/a.mtop")["totals"]["allocated_blocks"] > 0


@test
def t_stacks_name_every_frame_up_to_musl():
    r = report(by_its_agent(f"{MUSL}/s_paths", "3"))
    paths = set()
    for s in r["stacks"]:
        names = [f["function"] for f in s["frames"] if f.get("function")]
        if "leaf" in names:
            paths.add(tuple(names))
            assert names[0] == "leaf" and names[1] == "branch" and "main" in names, names
            assert all(n in ("branch", "left", "right") for n in names[1:names.index("main")]), names
            assert not s["truncated"], s
    assert len(paths) == 8, paths


@test
def t_stacks_as_the_program_tells_them():
    """Whole up to main or a thread's function; but where musl's own code stands between: it called back, or was interrupted."""
    session = by_its_agent(f"{MUSL}/s_stacks")
    want = told(session.stdout)
    got, reasons = shown(report(session), {name for stack in want for name in stack})
    check_cut(want, got, reasons)
    through = {"by_qsort", "by_raise", "by_other_stack"}
    assert len(want) > 40 and set(want) - set(got) == {k for k in want if through & set(k)}, set(want) ^ set(got)
    assert {k for k in got if reasons[k]} == set(got) - set(want), reasons


@test
def t_libraries_that_come_later():
    """This loader has no address look-up: the agent reads its list when it meets an unknown
    module."""
    program = start(["/bin/sh", "-c", 'LD_PRELOAD=$1 exec "$2" none', "sh", AGENT, MUSL + "/late"],
                    env=environment(MEMTOP_OPTIONS="listen=@memtop-test.%p"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for line in (f"l {MUSL}/liblate_now.so", "r 300"):
        program.stdin.write(line + "\n")
        program.stdin.flush()
        assert program.stdout.readline().startswith(("ok", "sums")), line
    r = report(f"@memtop-test.{program.pid}")
    made = [s for s in r["stacks"] for f in s["frames"] if f["function"] == "late_work" and f["module"] == "liblate_now.so"]
    assert made, [s["frames"] for s in r["stacks"]]
    nowhere = [s for s in r["stacks"] if any(not f["module"] for f in s["frames"])]
    assert not nowhere, nowhere[0]


# As musl has it from 1.2.5 on, which Alpine 3.20 brought.
CLONE = """#include <errno.h>
int clone(int (*run)(void *), void *stack, int flags, void *arg, ...)
{
	(void)run, (void)stack, (void)flags, (void)arg;
	errno = EINVAL;
	return -1;
}
"""


@test
def t_where_libc_refuses_threads_of_ones_own():
    """Its clone() takes no CLONE_SETTLS: the agent's server starts all the same, as a process of its own."""
    folder = temporary_folder()
    with open(f"{folder}/clone.c", "w", encoding="ascii") as f:
        f.write(CLONE)
    done = run(["musl-gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-fno-builtin", "-Iinclude", "-Itests", "-rdynamic", "-o",
                f"{folder}/s_mark", "tests/targets/s_mark.c", f"{folder}/clone.c"])
    assert done.returncode == 0, done.stderr
    session = by_its_agent(f"{folder}/s_mark")
    assert not session.stderr, session.stderr
    assert report(session)["totals"]["allocated_blocks"] > 0


@test
def t_threads_and_their_blocks():
    r = report(by_its_agent(f"{MUSL}/s_threads", "2"))
    assert len(r["threads"]) > 8, r["threads"]
    assert sum(t["allocated_bytes"] for t in r["threads"]) == r["totals"]["allocated_bytes"]


@test
def t_marks_from_within():
    marks = {m["name"]: m for m in report(by_its_agent(f"{MUSL}/s_mark"))["marks"]}
    assert marks["first"]["live_blocks"] == 10 and marks["first"]["live_bytes"] == 1000, marks


def bound_to_itself(libc, loader):
    """A copy of musl as before 1.1.20: its calls of malloc and others lead to its own, whatever comes before. Each slot
    asks for a name that nobody uses, and that is where the real one is."""
    with open(libc, "rb") as f:
        image = bytearray(f.read())
    sections = {}
    at, size, count, names = struct.unpack_from("<Q10xHHH", image, 40)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, at + i * size) for i in range(count)]
    for h in headers:
        name = headers[names][4] + h[0]
        sections[bytes(image[name:image.index(0, name)])] = h
    strings, symbols = sections[b".dynstr"][4], sections[b".dynsym"]

    def name_of(i):
        begin = strings + struct.unpack_from("<I", image, symbols[4] + i * 24)[0]
        return bytes(image[begin:image.index(0, begin)]).decode()
    number = {name_of(i): i for i in range(symbols[5] // 24)}
    stand_ins = dict(zip(("malloc", "calloc", "realloc", "memalign", "aligned_alloc", "free"),
                         ("wcsnrtombs", "lcong48", "tcsendbreak", "ntohs", "ether_line", "hcreate")))
    for real, stand_in in stand_ins.items():
        value = image[symbols[4] + number[real] * 24 + 8:][:8]
        image[symbols[4] + number[stand_in] * 24 + 8:symbols[4] + number[stand_in] * 24 + 16] = value
    changed = 0
    for part in (b".rela.plt", b".rela.dyn"):
        for entry in range(sections[part][4], sections[part][4] + sections[part][5], 24):
            info = struct.unpack_from("<Q", image, entry + 8)[0]
            name = name_of(info >> 32)
            if info & 0xffffffff in (6, 7) and name in stand_ins:
                struct.pack_into("<Q", image, entry + 8, number[stand_ins[name]] << 32 | info & 0xffffffff)
                changed += 1
    assert changed >= len(stand_ins), changed
    with open(loader, "wb") as f:
        f.write(image)
    os.chmod(loader, 0o755)


@test
def t_a_libc_that_binds_itself():
    """What libc allocates for the program is not seen there, and the report says so."""
    if os.uname().machine != "x86_64":
        raise Skip("the copy is made for x86-64")
    folder = temporary_folder()
    loader = "/tmp/ld-musl-%08d.so" % os.getpid()  # as long as the path that it replaces
    at_end(lambda: os.path.exists(loader) and os.unlink(loader))
    bound_to_itself("/lib/ld-musl-x86_64.so.1", loader)
    with open(MUSL + "/s_named", "rb") as f:
        image = f.read()
    assert image.count(b"/lib/ld-musl-x86_64.so.1\0") == 1 and len(loader) == 24
    with open(folder + "/s_named", "wb") as f:
        f.write(image.replace(b"/lib/ld-musl-x86_64.so.1", loader.encode()))
    os.chmod(folder + "/s_named", 0o755)
    said = []
    for program in (MUSL + "/s_named", folder + "/s_named"):
        said.append([w for w in report(by_its_agent(program))["warnings"] if "does not see its allocations" in w])
    assert said[0] == [] and len(said[1]) == 1 and "own allocator" in said[1][0], said


@test
def t_live_while_it_runs():
    """Its server answers, takes a mark from outside, and sees the end."""
    folder, env = temporary_folder(), environment(LD_PRELOAD=AGENT)
    program = start(["/usr/bin/env", "-u", "LD_PRELOAD", "/bin/sh", "-c", 'LD_PRELOAD=$1 exec "$2" wait', "sh", AGENT,
                     MUSL + "/s_phases"], env={k: v for k, v in env.items() if k != "LD_PRELOAD"}, cwd=folder)
    at_end(program.kill)
    target = f"@memtop.{program.pid}"

    def live():
        done = run([MEMTOP, "report", "--format", "json", target], env=environment())
        if done.returncode:
            return None
        value = json.loads(done.stdout)
        check_invariants(value)
        return value

    r = wait_for(lambda: (x := live()) and x["totals"]["live_blocks"] == 100 and x, what="the first phase")
    assert r["totals"]["live_bytes"] == 100 * 65536, r["totals"]
    done = run([MEMTOP, "mark", target, "outside"], env=environment())
    assert done.returncode == 0, done.stderr
    os.kill(program.pid, signal.SIGUSR1)
    r = wait_for(lambda: (x := live()) and x["totals"]["live_blocks"] == 400 and x, what="the second phase")
    assert [m["live_blocks"] for m in r["marks"] if m["name"] == "outside"] == [100], r["marks"]
    os.kill(program.pid, signal.SIGUSR1)
    wait_for(lambda: (x := live()) and x["totals"]["live_blocks"] == 350, what="the third phase")
    os.kill(program.pid, signal.SIGUSR1)
    assert program.wait(60) == 0


main()
