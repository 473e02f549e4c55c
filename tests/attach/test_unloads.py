#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_unloads.py - the program's dlclose while a server holds it up: one that died, was stopped,
or vanished in a fork.

The server holds unloads for about 100 microseconds a second, too short to hit by chance. So the
test writes the hold into the program's memory, as such a server would have left it.
"""
import os
import select
import signal
import subprocess
import sys

from cli import compiled
from client import Client, run_watched
from harness import AGENT, at_end, main, need, run, temporary_folder, test, wait_for

HELD = 1 << 31
ROUNDS = 20
LIMIT = 20  # seconds for all of them; without a mend each takes two and more

PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rounds(const char *path)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *p = dlopen(path, RTLD_NOW);
		if (!p || dlclose(p))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	char line[16];
	int status;

	while (read(0, line, 2) == 2) {
		int bad = 0;
		if (line[0] == 'f') {
			pid_t pid = fork();
			if (!pid)
				_exit(rounds(argv[1]));
			bad = waitpid(pid, &status, 0) != pid || status;
		} else if (line[0] == 'r') { /* libc's fork without a hook of the agent's */
			pid_t pid = _Fork();
			if (!pid)
				_exit(rounds(argv[1]));
			bad = waitpid(pid, &status, 0) != pid || status;
		} else {
			bad = rounds(argv[1]);
		}
		(void)!write(1, bad ? "bad\n" : "ok\n", 4 - !bad);
	}
	return 0;
}
"""


class Program:
    def __init__(self):
        need("gcc", "nm")
        folder = temporary_folder()
        done = run(["gcc", "-shared", "-o", folder + "/libcome.so", "-x", "c", "/dev/null"])
        assert done.returncode == 0, done
        self.process = run_watched([compiled(PROGRAM, f"-DROUNDS={ROUNDS}", "-ldl"), folder + "/libcome.so"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.client = Client(f"@memtop.{self.process.pid}").until_complete()
        self.server = next(int(p) for p in os.listdir("/proc") if p.isdigit() and self.serves(int(p)))
        at_end(self.wake)
        self.word = self.address("xunloads")

    def serves(self, pid):
        """Its maps are those of the program, its name is the server's."""
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as f:
                if f.read().strip() != "memtop-agent":
                    return False
            with open(f"/proc/{pid}/maps", "rb") as mine, open(f"/proc/{self.process.pid}/maps", "rb") as its:
                return mine.read() == its.read()
        except OSError:
            return False

    def wake(self):
        """A stopped server would stay behind for ever."""
        if self.serves(self.server):
            os.kill(self.server, signal.SIGCONT)

    def address(self, name):
        names = run(["nm", AGENT]).stdout.splitlines()
        offset = next(int(line.split()[0], 16) for line in names if line.split()[-1] == name)
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as f:
            return next(int(line.split("-")[0], 16) for line in f if line.rstrip().endswith("libmemtop-agent.so")) + offset

    def hold(self):
        with open(f"/proc/{self.process.pid}/mem", "r+b", buffering=0) as f:
            f.seek(self.word)
            f.write(HELD.to_bytes(4, sys.byteorder))

    def unloads(self, how="u"):
        """The rounds end, and nobody waits for the limit."""
        self.process.stdin.write(how + "\n")
        self.process.stdin.flush()
        os.set_blocking(self.process.stdout.fileno(), False)
        said = wait_for(lambda: os.read(self.process.stdout.fileno(), 16) if self.readable() else None, LIMIT,
                        f"the end of {ROUNDS} dlcloses")
        assert said == b"ok\n", said

    def stop_server(self):
        os.kill(self.server, signal.SIGSTOP)
        wait_for(self.is_stopped, what="a stopped server")

    def is_stopped(self):
        with open(f"/proc/{self.server}/stat", encoding="utf-8") as f:
            return f.read().split(") ")[1][0] == "T"

    def readable(self):
        return select.select([self.process.stdout], [], [], 0)[0]


@test
def t_server_was_killed():
    p = Program()
    os.kill(p.server, signal.SIGKILL)
    wait_for(lambda: not p.serves(p.server), what="the end of the server")
    p.hold()
    p.unloads()


@test
def t_server_is_stopped():
    """It lives: one dlclose waits for it, the others do not; it then goes on and serves."""
    p = Program()
    p.stop_server()
    p.hold()
    p.unloads()
    os.kill(p.server, signal.SIGCONT)
    before = p.client.ticks
    p.client.until(lambda: p.client.ticks > before + 1, "ticks of the server that goes on")


@test
def t_forked_while_they_are_held():
    """The child has no server, whatever its memory says."""
    for how in "fr":
        p = Program()
        p.stop_server()
        p.hold()
        p.unloads(how)


if __name__ == "__main__":
    main()
