#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_instructions.py - no path of malloc and free got longer: callgrind counts,
tests/bench/instructions.txt has the committed counts.

A lower count passes, but should be committed: make bench-instructions. Counts are meaningless with
a sanitizer or without optimisation.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import harness
import instructions

ALLOWED, ALLOWED_ELSEWHERE = 1.05, 1.15  # by the compiler of those counts; by another one


@harness.test
def t_instructions_of_a_pair():
    harness.need("valgrind")
    if os.path.basename(harness.BUILD).startswith("debug") or harness.BUILD.endswith("-asan"):
        raise harness.Skip("not an optimised build")
    was = instructions.committed()
    allowed = ALLOWED if instructions.compiler_of(harness.BUILD) == instructions.counted_by() else ALLOWED_ELSEWHERE
    now = instructions.added(harness.BUILD)
    assert was and set(was) == {k for k in now if k[0] in instructions.OPTIONS}, f"instructions.txt has other rows: {sorted(was)}"
    none = [f"{engine}, {shape}" for engine, shape in was if now[engine, shape] < 20]
    assert not none, f"the agent was not there: {none}"
    longer = [f"{engine}, {shape}: {now[engine, shape]:.1f}, was {value:.1f}" for (engine, shape), value in was.items()
              if now[engine, shape] > value * allowed]
    assert not longer, "more instructions for a malloc+free pair\n" + "\n".join(longer)


harness.main()
