#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_no_search_table.py - files without .eh_frame_hdr: the agent builds its own index of
.eh_frame.

Programs of musl are in t_musl; here those of glibc whose linker was told to leave it out, or was not told to make it.
"""
import os
import subprocess

from elsewhere import shown, told
from harness import AGENT, BUILD, environment, main, recorded, report, run, start, temporary_folder, test

FLAGS = "-std=c11 -D_GNU_SOURCE -O1 -g -fno-builtin -Iinclude -Itests".split()


def built(source, *flags):
    """Has an .eh_frame, and no table to search it by."""
    program = f"{temporary_folder()}/{os.path.basename(source)[:-2]}"
    done = run(["gcc", *FLAGS, "-o", program, source, *flags, "-lpthread", "-ldl"])
    assert done.returncode == 0, done.stderr
    said = run(["readelf", "-lSW", program]).stdout
    assert " .eh_frame " in said and "GNU_EH_FRAME" not in said, said
    return program


def report_and_output(*command):
    session = recorded(*command)
    assert not session.stderr, session.stderr
    return report(session), session.stdout


def check_whole(r, said):
    want = told(said)
    got, reasons = shown(r, {name for stack in want for name in stack})
    assert len(want) > 40 and got == want, f"missing {want - got}, not told {got - want}"
    assert not any(reasons.values()), {k: v for k, v in reasons.items() if v}
    assert r["agent"]["stacks"]["whole_percent"] == 100, r["agent"]


@test
def t_stacks_of_a_program_without_a_search_table():
    check_whole(*report_and_output(built("tests/targets/s_stacks.c", "-Wl,--no-eh-frame-hdr")))


@test
def t_without_section_headers():
    """Nothing in the file names .eh_frame either: the headers of its sections are gone."""
    program = built("tests/targets/s_stacks.c", "-Wl,--no-eh-frame-hdr")
    with open(program, "r+b") as f:
        f.seek(40)
        f.write(bytes(8))  # e_shoff
        f.seek(58)
        f.write(bytes(6))  # e_shentsize, e_shnum, e_shstrndx
    r, said = report_and_output(program)
    assert r["agent"]["stacks"]["whole_percent"] == 100, r["agent"]
    assert r["totals"]["allocated_blocks"] >= len(said.splitlines()) > 40, r["totals"]


@test
def t_a_static_program():
    """The linker makes no such table for these unless it is told to."""
    with open(f"{BUILD}/wrap.flags", encoding="ascii") as f:
        flags = [flag for flag in f.read().split() if flag != "-Wl,--eh-frame-hdr"]
    program = built("tests/targets/s_stacks.c", "-static", *flags, f"{BUILD}/libmemtop-wrap.a")
    check_whole(*report_and_output(program))


@test
def t_a_library_after_an_attach():
    """Loaded into a process that runs, by dlopen, after the agent."""
    library = built("tests/targets/latelibs/plain.c", "-fPIC", "-shared", "-Wl,--no-eh-frame-hdr")
    p = start([f"{BUILD}/tests/late/late", AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
              env=environment(MEMTOP_OPTIONS="listen=@memtop-test.%p"))

    def say(line):
        p.stdin.write(line + "\n")
        p.stdin.flush()
        return p.stdout.readline().strip()

    assert say("a listen=@memtop-test.%p") == "0"
    assert say(f"l {library}") == "ok"
    assert say("r 300").startswith("sums")
    r = report(f"@memtop-test.{p.pid}")
    through = [s for s in r["stacks"] if any(f["module"] == "plain" for f in s["frames"])]
    assert through and not any(s["truncated"] for s in through), through
    assert all("late" in {f["module"] for f in s["frames"]} for s in through), through[0]["frames"]


main()
