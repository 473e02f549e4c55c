#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_address_space.py - where the agent's memory lies, and for what it counts.

The program must neither meet it past the ends of its blocks, nor have less room for it: under
limits, when it locks its memory, in its core files.
"""
import os

from harness import AGENT, MEMTOP, TARGETS, Skip, environment, main, need, recorded, run, temporary_folder, test


def both(command, **variables):
    """The output of a command alone, and with the agent."""
    alone = environment()
    outputs = []
    for env in (alone, {**alone, "LD_PRELOAD": AGENT, "MEMTOP_OPTIONS": "listen=@memtop.%p", **variables}):
        p = run(command, 60, env=env)
        assert p.returncode == 0, f"{command}: {p.returncode}: {p.stderr[-300:]}"
        outputs.append(p.stdout)
    return outputs


def distances(output):
    return [(line.rsplit(" ", 2)[0], *map(int, line.rsplit(" ", 2)[1:])) for line in output.splitlines()]


@test
def t_errors_past_a_block_fault_as_alone():
    need("setarch")
    alone, watched = map(distances, both(["setarch", "-R", os.path.join(TARGETS, "s_apart")]))
    assert len(alone) == len(watched) == 16, (alone, watched)
    for (what, up, down), (_, up_watched, down_watched) in zip(alone, watched):
        assert up_watched <= up, f"{what}: writes past the end reach {up_watched} KiB, alone {up}"
        assert down_watched <= down, f"{what}: writes before the start reach {down_watched} KiB, alone {down}"


AGENTS_KIB = 16 << 10  # what the agent maps for a program of a few MiB, and some more


@test
def t_locked_memory_is_what_is_used():
    alone, watched = both([os.path.join(TARGETS, "s_room"), "lock", "4000"])
    if "refused" in alone:
        raise Skip("this user may not lock memory")
    for what, kib, kib_watched in zip(("locked", "resident"), map(int, alone.split()), map(int, watched.split())):
        assert kib_watched - kib < AGENTS_KIB, f"{kib_watched} KiB {what}, alone {kib}"


@test
def t_a_data_limit_leaves_room_for_threads():
    need("prlimit")
    for mib in (48, 78, 120):
        alone, watched = map(int, both(["prlimit", f"--data={mib << 20}", os.path.join(TARGETS, "s_room"), "threads"]))
        assert 4 <= alone < 64 and watched >= alone - 2, f"{mib} MiB: {watched} threads, alone {alone}"


@test
def t_a_program_runs_with_little_data():
    """As much as the manual says: there is no room to count."""
    need("prlimit")
    alone, watched = both(["prlimit", f"--data={2 << 20}", os.path.join(TARGETS, "s_paths"), "8"])
    assert watched == alone


@test
def t_a_limit_of_files_is_told():
    """memtop does not die of SIGXFSZ: one line says what lacks. The program keeps its own disposition."""
    need("prlimit")
    path = os.path.join(temporary_folder(), "t.mtop")
    own = ["grep", "SigIgn", "/proc/self/status"]
    for limit, follow, status in ((100000, [], 0), (100000, ["--no-follow"], 0), (2000, [], 125), (512, ["--no-follow"], 125)):
        p = run(["prlimit", f"--fsize={limit}", MEMTOP, "record", *follow, "-o", path, "--", *own], 60, env=environment())
        assert p.returncode == status, (limit, follow, p)
        assert status == 0 or p.stderr.count("\n") == 1 and "File too large" in p.stderr, (limit, p.stderr)
        assert not p.stdout or p.stdout == run(own).stdout, p.stdout


@test
def t_a_small_stack_is_the_programs_alone():
    """memtop works on a stack of its own, as do its threads, and the program finds both limits as they were."""
    need("prlimit")
    for soft, hard in ((102400, 102400), (102400, 8 << 20), (65536, 65536)):
        def limited(*command):
            return run(["prlimit", f"--stack={soft}:{hard}", *command], 60, env=environment())
        own = ["grep", "Max stack", "/proc/self/limits"]
        path = recorded(*own, before=["prlimit", f"--stack={soft}:{hard}"])
        assert path.stdout == limited(*own).stdout, (soft, hard, path.stdout)
        p = limited(MEMTOP, "report", path)
        assert p.returncode == 0 and p.stdout == run([MEMTOP, "report", path], env=environment()).stdout, (soft, hard, p)
        for verb in (["diff", path, path], ["check", "--max-peak", "1G", path], ["report", "--format", "html", "-o", path + ".html", path]):
            p = limited(MEMTOP, *verb)
            assert p.returncode == 0, (soft, hard, verb, p)


main()
