# SPDX-License-Identifier: MIT
"""java.py - OpenJDK programs (tests/targets/java) with a debug port, for tests that attach through
it."""
import os
import queue
import re
import subprocess
import threading

from harness import BUILD, Skip, at_end, environment, start, wait_for

CLASSES = os.path.join(BUILD, "tests", "java")
LIGHT = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]  # starts sooner
END_S = 60


class Java:
    """A class of tests/targets/java that has said "ready PID ...": .port of its debug port, .pid, .words after that; .listens: how often the port was free."""

    def __init__(self, name, *arguments, jvm=(), wrap=(), suspended=False, env=None):
        if not os.path.exists(os.path.join(CLASSES, name + ".class")):
            raise Skip(f"{CLASSES}/{name}.class is not built: make test-programs")
        agent = f"-agentlib:jdwp=transport=dt_socket,server=y,suspend={'y' if suspended else 'n'},address=127.0.0.1:0"
        self.process = start([*wrap, "java", agent, *LIGHT, *jvm, "-cp", CLASSES, name, *map(str, arguments)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env or environment())
        self.said, self.listens = queue.Queue(), 0
        thread = threading.Thread(target=self.read, daemon=True)
        thread.start()
        at_end(thread.join, 5)  # before its stream is closed
        self.await_listening(0)
        self.pid, self.words = None, []
        if not suspended:
            self.begin()

    def read(self):
        """Lines of the program; those that the machine says of its debug port, at the start and after each debugger, are its own."""
        for line in self.process.stdout:
            match = re.fullmatch(r"Listening for transport dt_socket at address: (\d+)\n", line)
            if match:
                self.port = int(match[1])
                self.listens += 1
            else:
                self.said.put(line.rstrip("\n"))
        self.said.put(None)

    def await_listening(self, before):
        """The debug port is free, after `before` times that it was so."""
        wait_for(lambda: self.listens > before, END_S, "the debug port")

    def line(self):
        """The program's next line; None at its end."""
        return self.said.get(timeout=END_S)

    def begin(self):
        ready, pid, *self.words = (self.line() or "ended").split()
        assert ready == "ready", ready
        self.pid = int(pid)  # as it sees itself
        return self

    def ask(self, text):
        """A line to its stdin; the line that it answers."""
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.line()

    def end(self):
        """Runs it to its normal end: its results must be right."""
        self.process.stdin.close()
        line = self.line()
        assert line == "end well", f"it said {line!r}"
        assert self.process.wait(END_S) == 0, self.process.returncode
