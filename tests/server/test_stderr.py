#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_stderr.py - the agent writes to the program's descriptor 2 while it starts, and never again.

A program may close it, and its next file, say a database, gets the number. memtop then reads the
agent's message from the process's memory and prints why there is no session.
"""
import resource
import subprocess

from cli import compiled
from client import run_watched
from harness import AGENT, MEMTOP, environment, main, report, run, start, temporary_folder, test, wait_for

DATA = "rows of a database\n"

# Its file has number 2. w: a worker without memory for a server; options: it attaches an agent with these; x: it works once for each byte.
PROGRAM = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(void)
{
	for (int i = 0; i < 64; i++) {
		void *volatile p = malloc(16);
		free(p);
	}
}

int main(int argc, char **argv)
{
	char c;
	close(2);
	if (open(argv[1], O_WRONLY | O_APPEND) != 2)
		return 1;
	work();
	pid_t pid = strcmp(argv[2], "w") ? getpid() : fork();
	if (!pid) {
		setrlimit(RLIMIT_AS, &(struct rlimit){ 1 << 20, 1 << 20 });
		for (;;) { /* the parent ends it */
			work();
			poll(NULL, 0, 10);
		}
	}
	if (strchr(argv[2], '=')) {
		void *agent = dlopen(argv[3], RTLD_NOW);
		int (*attach)(const char *) = agent ? (int (*)(const char *))dlsym(agent, "memtop_attach") : NULL;
		if (!attach || !attach(argv[2]))
			return 1;
	}
	printf("%d\n", (int)pid);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		work();
	if (pid != getpid()) {
		kill(pid, 9);
		waitpid(pid, NULL, 0);
	}
	return 0;
}
"""


def kept(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


class Program:
    def __init__(self, what, options="", watched=True):
        self.file = temporary_folder() + "/database"
        with open(self.file, "w", encoding="utf-8") as f:
            f.write(DATA)
        command = [compiled(PROGRAM, "-ldl"), self.file, what, AGENT]
        io = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = run_watched(command, options, **io) if watched else start(command, env=environment(), **io)
        self.pid = int(self.process.stdout.readline())

    def why(self):
        """What memtop says of it."""
        done = run([MEMTOP, "report", "-p", str(self.pid)], env=environment())
        assert done.returncode == 3 and not done.stdout, done
        return done.stderr

    def end(self):
        """What it wrote to its own stderr before that was another file."""
        said = self.process.communicate()[1]
        assert self.process.returncode == 0, self.process
        assert kept(self.file) == DATA, kept(self.file)
        return said


@test
def t_worker_without_a_server():
    """It wakes up two seconds after the fork, finds no memory for a server, and says so to memtop alone."""
    p = Program("w")
    said = []

    def tried():
        said[:] = [p.why()]
        return kept(p.file) != DATA or "no memory for the server" in said[0]
    wait_for(tried, 30, "the worker's attempt to start its server")
    assert kept(p.file) == DATA, kept(p.file)
    assert "has the agent, but no session: no memory for the server; nobody can watch this process" in said[0], said
    assert p.end() == ""


@test
def t_attach_that_fails():
    """The program attaches its agent by itself: memtop_attach() prints nothing, and returns a code alone."""
    for options, why in (("listen=tcp:9", "TCP needs a token"), ("listen=unix:relative", "not understood"),
                         ("nonsense=1", 'no option is called "nonsense=1"')):
        p = Program(options, watched=False)
        assert why in p.why(), (options, p.why())
        done = run([MEMTOP, "attach", "--no-view", str(p.pid)], env=environment())
        assert done.returncode == 0, done
        assert run([MEMTOP, "report", "-p", str(p.pid)], env=environment()).returncode == 0
        assert p.end() == ""


LIMITED = {resource.RLIMIT_AS: "VmSize:", resource.RLIMIT_DATA: "VmData:"}


def attached_within(mib, limit):
    """memtop attach of a program that may take so much more of what the limit counts: an agent that says it counts does."""
    p = Program("x", watched=False)
    with open(f"/proc/{p.pid}/status", encoding="utf-8") as f:
        used = next(int(line.split()[1]) for line in f if line.startswith(LIMITED[limit]))
    room = (used << 10) + (mib << 20)
    resource.prlimit(p.pid, limit, (room, room))
    done = run([MEMTOP, "attach", "--no-view", str(p.pid)], env=environment())
    assert done.returncode in (0, 3) and done.stderr.count("\n") == (done.returncode == 3), done
    if not done.returncode:
        p.process.stdin.write("w")
        p.process.stdin.flush()
        wait_for(lambda: report(str(p.pid), arguments=["-p"])["totals"]["allocated_blocks"] == 64, 20, f"its blocks, {mib} MiB")
    assert p.end() == ""
    return done.stderr


@test
def t_attach_that_says_why():
    """Either the agent has room for its server, too, and counts, or it does not begin, and the limit is named."""
    for limit in LIMITED:
        said = []
        for mib in range(48, 4, -1):
            said.append(attached_within(mib, limit))
            if said[-1]:
                break
        assert "no memory for the agent: the process has a limit (ulimit -d or -v, a" in said[-1], said
        assert len(said) > 1 and not any(said[:-1]), said


@test
def t_start_that_fails():
    """The agent says so at once, and again to each viewer that comes later."""
    for options, why in (("nonsense=1", 'no option is called "nonsense=1"'), ("listen=tcp:9", "TCP needs a token"),
                         ("unwind=nonsense", "unwind=nonsense")):
        p = Program("x", options)
        assert why in p.why(), (options, p.why())
        said = p.end()
        assert said.startswith("memtop: ") and why in said and said.count("\n") == 1, (options, said)


if __name__ == "__main__":
    main()
