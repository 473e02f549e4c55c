#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_address_space.py - where the agent's memory lies, and for what it counts.

The program must neither meet it past the ends of its blocks, nor have less room for it: under
limits, when it locks its memory, in its core files.
"""
import os

from harness import AGENT, TARGETS, environment, main, need, run, test


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


main()
