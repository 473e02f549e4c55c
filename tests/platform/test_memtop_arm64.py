#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_memtop_arm64.py - memtop itself on AArch64: it builds without a warning, and reports a
session like the native one. LONG=1."""
import json
import os

from harness import BUILD, MEMTOP, ROOT, TARGETS, Skip, emulator, environment, main, need, recorded, run, test


def built():
    """The command that runs it; Debian's libraries are fetched first."""
    need(emulator("aarch64"), "aarch64-linux-gnu-gcc", "apt-get")
    if not os.environ.get("LONG"):
        raise Skip("LONG=1 only")
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD")}
    done = run(["make", "--no-print-directory", "-j2", f"B={BUILD}", "WERROR=1", "arm64-memtop"], 500, env=env, cwd=ROOT)
    if "packages cannot be had" in done.stderr:
        raise Skip("no archive of Debian's arm64 packages can be reached")
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return [emulator("aarch64"), "-L", f"{BUILD}/arm64-root", f"{BUILD}/arm64-memtop/memtop"]


@test
def t_same_words_as_here():
    there = built()
    for program in (["s_paths", "7"], ["s_threads", "1"], ["s_cxx"]):
        session = recorded(f"{TARGETS}/{program[0]}", *program[1:])
        for command in (["--version"], ["report", session], ["report", "--format", "json", session]):
            here, elsewhere = run([MEMTOP, *command], env=environment()), run([*there, *command], 60, env=environment())
            assert elsewhere.returncode == here.returncode == 0, elsewhere.stderr
            assert elsewhere.stdout == here.stdout, (command, elsewhere.stdout[:500], here.stdout[:500])
        assert json.loads(elsewhere.stdout)["totals"]["allocated_blocks"] > 0


main()
