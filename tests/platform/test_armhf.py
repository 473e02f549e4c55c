#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_armhf.py - the agent on 32-bit ARM, under qemu-user: totals, threads, marks, ends; stacks as far as its tables go."""

from elsewhere import Machine, tests_of_every_machine
from harness import emulator, main, test


def machine():
    return Machine("armhf", emulator("arm"), "arm-linux-gnueabihf")


tests_of_every_machine(machine, "arm", 32)


@test
def t_children_are_not_counted():
    machine().check_children()


@test
def t_thumb_and_arm_stacks_are_whole():
    """Thumb and ARM instructions, with and without a frame pointer."""
    m = machine()
    for flags in ("-O1", "-O2 -fno-omit-frame-pointer", "-marm -O2"):
        m.check_stacks(m.compile("s_stacks", "-funwind-tables", *flags.split()), "ehabi")


@test
def t_stacks_without_tables():
    """C without -funwind-tables: the function that asked for the block, and that the rest is missing."""
    machine().check_stacks("s_stacks", "ehabi", whole=False)


@test
def t_false_tables_are_not_followed():
    """Neither believed nor followed to where nothing is: the function alone, and why."""
    m = machine()
    r, _ = m.report_and_output(m.compile("ehabi", folder="tests/unwind"))
    found = {s["frames"][0]["function"]: (len(s["frames"]), s["truncated"], s["allocated_blocks"]) for s in r["stacks"]}
    assert len(found) == 10 and set(found.values()) == {(1, "an unwind rule led to a bad place", 3)}, found


@test
def t_unit_tests_pass_under_qemu():
    machine().check_units("cohorts", "conf", "history", "record", "stacks")


@test
def t_ehabi_is_the_default_engine():
    r, _ = machine().report_and_output("s_mark", options="unwind=auto")
    assert r["agent"]["unwind"] == "ehabi" and r["agent"]["unwind_why"].startswith("auto: "), r["agent"]
    r, _ = machine().report_and_output("s_mark", options="unwind=instrument", warning="not there")
    assert r["agent"]["unwind"] == "ehabi" and "not there" in r["agent"]["unwind_why"], r["agent"]


main()
