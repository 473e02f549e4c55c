# SPDX-License-Identifier: MIT
"""obedient.py - drives the target s_server, or another that takes commands; its head lists them."""
import itertools
import os
import subprocess

import container
from client import Client, run_watched
from harness import AGENT, TARGETS, start
from nobody import NOBODY, within_reach

PROGRAM = os.path.join(TARGETS, "s_server")
_number = itertools.count(1)


class Obedient:
    def __init__(self, options="", watched=True, environment=None, command=(), wait=True, program=PROGRAM, **named):
        options = options or "listen=@memtop-test.%p"
        if list(command[:len(NOBODY)]) == NOBODY:
            program, command = within_reach(program), [c if c != PROGRAM else within_reach(c) for c in command]
            environment = {"LD_PRELOAD": within_reach(AGENT), **(environment or {})}
        argv = container.contained([*command, *([] if command and command[-1].endswith("s_server") else [program])])
        own = f"{os.getpid()}-{next(_number)}"
        if container.OWN_PIDS:  # many are process 1 at the same time
            options = options.replace("memtop-test.%p", f"memtop-test.{own}")
        io = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **named}
        self.process = run_watched(argv, options, environment, **io) if watched else start(argv, **io)
        if wait:
            line = self.answer()
            assert line == "ready", f"the target said {line!r}"
        self.pid = container.target_of(self.process.pid)
        self.inner = container.inner_pid(self.pid)  # as it sees itself
        self.name = f"@memtop-test.{own if container.OWN_PIDS else self.pid}"

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
        return self.process.wait(60)
