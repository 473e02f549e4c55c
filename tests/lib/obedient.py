# SPDX-License-Identifier: MIT
"""obedient.py - the target s_server, or another that does what it is told: see its head for the commands."""
import os
import subprocess

from client import Client, run_watched
from harness import TARGETS, start

PROGRAM = os.path.join(TARGETS, "s_server")


class Obedient:
    def __init__(self, options="", watched=True, environment=None, command=(), wait=True, program=PROGRAM, **named):
        options = options or "listen=@memtop-test.%p"
        argv = [*command, *([] if command and command[-1].endswith("s_server") else [program])]
        io = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **named}
        self.process = run_watched(argv, options, environment, **io) if watched else start(argv, **io)
        self.pid = self.process.pid
        self.name = f"@memtop-test.{self.pid}"
        if wait:
            line = self.answer()
            assert line == "ready", f"the target said {line!r}"

    def answer(self):
        return self.process.stdout.readline().decode().rstrip("\n")

    def tell(self, line):
        """Give a command that is not answered."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def do(self, line, expect="ok"):
        self.tell(line)
        got = self.answer()
        assert expect is None or got == expect, f"{line!r}: {got!r} instead of {expect!r}"
        return got

    def viewer(self, who="test", **named):
        return Client(self.name, who=who, **named)

    def end(self):
        self.process.stdin.close()
        return self.process.wait(10)
