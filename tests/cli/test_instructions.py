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

ALLOWED = 1.05


@harness.test
def t_instructions_of_a_pair():
    harness.need("valgrind")
    if os.path.basename(harness.BUILD).startswith("debug") or harness.BUILD.endswith("-asan"):
        raise harness.Skip("not an optimised build")
    was = instructions.committed()
    now = instructions.added(harness.BUILD)
    assert was and set(was) == {k for k in now if k[0]}, f"instructions.txt has other rows: {sorted(was)}"
    none = [f"{engine}, {shape}" for engine, shape in was if now[engine, shape] < 20]
    assert not none, f"the agent was not there: {none}"
    longer = [f"{engine}, {shape}: {now[engine, shape]:.1f}, was {value:.1f}" for (engine, shape), value in was.items()
              if now[engine, shape] > value * ALLOWED]
    assert not longer, "more instructions for a malloc+free pair\n" + "\n".join(longer)


harness.main()
