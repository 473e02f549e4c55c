#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_ebb.py - a heap that grows and shrinks: the agent gives back its own memory for it and loses
no block."""
import os
import subprocess

import forward
import harness
from harness import TARGETS, report, test, wait_for

MIB = 1 << 20
BLOCKS = 1600000


class Ebb:
    """s_ebb under the agent; tell() sends a command and compares its answer with the agent's
    figures."""

    def __init__(self):
        self.process = forward.watched(os.path.join(TARGETS, "s_ebb"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True, bufsize=1)
        self.target = f"@memtop.{self.process.pid}"
        wait_for(self.listens, 10, "the agent's socket")

    def listens(self):
        with open("/proc/net/unix", encoding="utf-8", errors="replace") as f:
            return any(line.endswith(f"{self.target}\n") for line in f)

    def obey(self, letter):
        self.process.stdin.write(letter + "\n")
        return [int(word) for word in self.process.stdout.readline().split()]

    def tell(self, letter):
        said = self.obey(letter)
        assert self.blocks() == said, f"after {letter!r} it had allocated, kept, bytes {said}, the agent says {self.blocks()}"

    def blocks(self):
        """Allocated, alive, bytes: of its own two functions, not of what libc needs for a thread."""
        sums = [0, 0, 0]
        for stack in report(self.target)["stacks"]:
            if {"fill", "work"} & {frame["function"] for frame in stack["frames"]}:
                sums = [a + stack[b] for a, b in zip(sums, ("allocated_blocks", "live_blocks", "live_bytes"))]
        return sums

    def memory(self):
        """Resident bytes of the agent's own mappings: alone they are kept both out of core files and from huge pages."""
        total, rss = 0, 0
        with open(f"/proc/{self.process.pid}/smaps", encoding="utf-8") as f:
            for line in f:
                if line.startswith("Rss:"):
                    rss = int(line.split()[1])
                elif line.startswith("VmFlags:") and {"dd", "nh"} <= set(line.split()):
                    total += rss
        return total * 1024

    def map_by_its_own_word(self):
        return sum(part["bytes"] for part in report(self.target)["agent"]["memory"] if part["part"] == "live map")

    def ebbs(self, limit):
        """Until the agent has given so much back that it has less than `limit`."""
        wait_for(lambda: self.memory() < limit, 20, f"the agent's memory, {self.memory() / MIB:.1f} MiB, to be less than "
                                                    f"{limit / MIB:.1f} MiB")

    def lost(self):
        lost = report(self.target)["agent"]["lost"]
        assert not lost["events"], f"lost: {lost}"


@test
def t_memory_for_blocks_that_are_gone_is_given_back():
    ebb = Ebb()
    empty = ebb.memory()
    ebb.tell("f")
    full = ebb.memory()
    assert full > empty + 20 * MIB, f"{BLOCKS} blocks took {(full - empty) / MIB:.1f} MiB"
    wait_for(lambda: ebb.map_by_its_own_word() > 20 * MIB, 20, "the agent to say so, too")
    ebb.tell("d")
    ebb.ebbs(empty + 4 * MIB)
    wait_for(lambda: ebb.map_by_its_own_word() < 4 * MIB, 20, "the agent to say so, too")
    ebb.tell("f")
    ebb.tell("d")
    ebb.lost()


@test
def t_blocks_that_come_meanwhile_are_not_lost():
    ebb = Ebb()
    empty = ebb.memory()
    ebb.obey("f")
    ebb.obey("s")
    ebb.obey("d")
    ebb.ebbs(empty + 10 * MIB)
    ebb.tell("e")
    ebb.tell("f")
    ebb.tell("d")
    ebb.lost()


harness.main()
