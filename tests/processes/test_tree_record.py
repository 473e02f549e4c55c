#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_tree_record.py - recording a tree of processes: one file, a line for each process, all
figures of those that matter."""
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import time

import mtop
import wire
from cli import memtop, one_line, compiled
from client import Client, preload, run_watched
from harness import (AGENT, BUILD, MEMTOP, Skip, at_end, at_once, check_invariants, environment, kill, main, mostly_waits,
                     need, read_report, recorded, recording, run, start, temporary_folder, test, wait_for)
from nobody import within_reach
from servers import server_of

# holds BYTES, in blocks of 1000, then waits SECONDS, then exits with STATUS
HOLDS = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *kept[100000];
int main(int argc, char **argv)
{
	long n = atol(argv[1]) / 1000;
	for (long i = 0; i < n; i++)
		memset(kept[i] = malloc(1000), 1, 1000);
	usleep((useconds_t)(atof(argv[2]) * 1e6));
	return argc > 3 ? atoi(argv[3]) : 0;
}
"""

# 10,000,000 before two forks, 1,000,000 in each; the second child frees the inherited ones
INHERITS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) void *early(void) { return malloc(10000000); }
__attribute__((noinline)) void *late(void) { return malloc(1000000); }
static void *volatile kept[2];
int main(void)
{
	kept[0] = early();
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			kept[1] = late();
			if (i)
				free(kept[0]);
			printf("%d\n", getpid());
			fflush(stdout);
			sleep(WAIT);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return 0;
}
"""

# writes into free records of its board what CASE says, about process PID of no tree; SOCKET is an agent of none of its processes
SCRIBBLES = r"""
#include <memtop/board.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static struct board_head *board(void)
{
	char line[4200];
	void *at = NULL;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && !at && fgets(line, sizeof line, f))
		if (strstr(line, "memtop-board"))
			sscanf(line, "%p", &at);
	if (f)
		fclose(f);
	return at;
}
static void say(struct board_record *r, unsigned state, unsigned pid, const char *socket, unsigned long stamp)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	r->pid = pid;
	r->parent = BOARD_NONE;
	r->begin_ns = now.tv_sec * 1000000000ul + now.tv_nsec;
	r->xstamp_ns = stamp;
	snprintf(r->socket, sizeof r->socket, "%s", socket);
	strcpy(r->name, "invented");
	r->xserial++;
	r->xstate = state;
}
static void garbage(struct board_record *r, size_t bytes, unsigned seed)
{
	srand(seed);
	for (size_t i = 0; i < bytes; i++)
		((unsigned char *)r)[i] = rand();
	for (size_t i = 0; i < bytes / sizeof *r; i++)
		r[i].xstate = rand() % 6;
}
int main(int argc, char **argv)
{
	const char *how = argv[1], *socket = argv[3];
	unsigned pid = atoi(argv[2]);
	struct board_head *b = board();
	if (!b)
		return 9;
	struct board_record *free_one = (struct board_record *)(b + 1) + 100;
	if (!strcmp(how, "running"))
		say(free_one, BOARD_RUNNING, pid, "", 0);
	else if (!strcmp(how, "linked"))
		say(free_one, BOARD_RUNNING, pid, socket, 0);
	else if (!strcmp(how, "memtop"))
		say(free_one, BOARD_RUNNING, getppid(), "", 0);
	else if (!strcmp(how, "later"))
		say(free_one, BOARD_RUNNING, 0x7ffffffe, "", -1ul >> 1);
	else if (!strcmp(how, "executing"))
		say(free_one, BOARD_EXECING, pid, "", 0);
	else if (!strcmp(how, "exchanged")) {
		say(free_one, BOARD_RUNNING, getpid(), "", 0);
		sleep(3);
		free_one->pid = pid;
	} else if (!strcmp(how, "chain")) {
		struct board_record *own = (struct board_record *)(b + 1);
		if (!fork()) /* a tree has two processes */
			_exit(0);
		wait(NULL);
		while (own->xstate != BOARD_RUNNING || own->pid != (unsigned)getpid())
			own++;
		say(free_one, BOARD_EXECING, getpid(), "", 0);
		free_one->parent_serial = own->xserial;
		free_one->parent = own - (struct board_record *)(b + 1);
		say(free_one + 1, BOARD_RUNNING, getpid(), "", 0);
		free_one[1].parent_serial = free_one->xserial;
		free_one[1].parent = free_one - (struct board_record *)(b + 1);
		own->end = BOARD_EXEC;
		own->xstate = BOARD_ENDED;
		b->xserial++;
		sleep(2);
		free_one->end = BOARD_EXEC;
		free_one->xstate = BOARD_ENDED;
		b->xserial++;
	} else
		garbage(free_one, 1000 * sizeof *free_one, atoi(how));
	sleep(1);
	return 3;
}
"""


def processes(session, *arguments):
    done = memtop("report", "--format", "json", "--stacks", "all", *arguments, session)
    assert done.returncode == 0, done
    return read_report(done.stdout)


def named(r, name):
    found = [p for p in r["processes"] if p["name"] == name]
    assert len(found) == 1, (name, r["processes"])
    return found[0]


def the_first(r):
    return next(p for p in r["processes"] if p["id"] == 1)


@test
def t_a_wrapper_is_not_the_program():
    """sh -c './svc; true': what ./svc held is in the report, with its stacks."""
    svc = compiled(HOLDS)
    session = recorded("sh", "-c", f"{svc} 20000000 0; exit 7", status=7)
    assert session.stderr == "", session.stderr
    name = os.path.basename(svc)
    r = processes(session)
    assert r["program"]["args"][0] == svc and the_first(r)["name"] == "sh", r["program"]
    p = named(r, name)
    assert p["state"] == "exited" and p["status"] == 0 and p["exact"] and p["recorded"], p
    assert p["live_bytes"] >= 20000000 and p["live_blocks"] >= 20000, p
    assert r["tree"]["processes"] == 2 and r["tree"]["live_bytes"] >= 20000000 and r["tree"]["missed"] == 0, r["tree"]
    one = processes(session, "--process", name)
    assert one["program"]["pid"] == p["pid"] and one["totals"]["live_bytes"] == p["live_bytes"], one["totals"]
    assert one["totals"]["peak_bytes"] == p["peak_bytes"]
    check_invariants(one)
    by_pid = processes(session, "--process", str(p["pid"]))
    assert by_pid["totals"] == one["totals"]
    text = memtop("report", "--full", session).stdout
    assert re.match(r"2 processes: ", text) and re.search(rf"\n\* .* exited 0 +{name} \[{p['pid']}\]  \(below\)", text), text
    assert f"\n{name} [{p['pid']}]  exited with status 0" in text, text


@test
def t_inherited_blocks_count_once_by_their_epoch():
    """Of each child it is known which blocks are its parent's, by stack; live and recorded."""
    program = run_watched([compiled(INHERITS, "-DWAIT=60")], "listen=@memtop-test.%p", stdout=subprocess.PIPE)
    for i, inherited in enumerate((10000000, 0)):
        pid = int(program.stdout.readline())
        c = Client(f"@memtop-test.{pid}").until_complete()
        assert c.hello["before"]["allocated_bytes"] >= 10000000 and c.hello["first_epoch"] == 1, c.hello
        c.until(lambda: c.live_of(c.inherited()) // 1000000 == inherited // 1000000, "the free of an inherited block")
        old = {s["id"] for s in c.slots.values() if s["epoch"] < 1}
        sizes = {c.counts[s]["allocated_bytes"]: s in old for s in c.counts if c.counts[s]["allocated_bytes"] >= 1000000}
        assert sizes == {10000000: True, 1000000: False}, (i, sizes)
    session = recorded(compiled(INHERITS, "-DWAIT=2"))
    r = processes(session)
    tree = r["tree"]
    assert len([p for p in r["processes"] if p["recorded"]]) == 3, r["processes"]
    assert 12000000 <= tree["live_bytes"] == tree["live_bytes_most"] < 12100000, tree
    held = sorted((p["live_bytes"] // 1000000, p["inherited_live_bytes"] // 1000000) for p in r["processes"])
    assert held == [(1, 0), (10, 0), (11, 10)], r["processes"]
    assert "a range" not in memtop("report", session).stdout


@test
def t_symbols_are_read_once():
    """Three programs at once, then three more: their debug file is opened once."""
    svc = compiled(HOLDS, "-g")
    opens = temporary_folder() + "/opens"
    for words in (["objcopy", "--only-keep-debug", svc, svc + ".debug"], ["strip", svc],
                  ["objcopy", "--add-gnu-debuglink=" + svc + ".debug", svc]):
        assert run(words).returncode == 0, words
    three = " & ".join([f"{svc} 20000000 1"] * 3) + " & wait; "
    env = environment(LD_PRELOAD=os.path.join(BUILD, "tests", "lib", "count_opens.so"), COUNT_OPENS=opens)
    session = recorded("sh", "-c", three * 2 + "exit 7", status=7, env=env)
    name = os.path.basename(svc)
    recorded_ones = [p for p in processes(session)["processes"] if p["name"] == name and p["recorded"]]
    assert len(recorded_ones) == 6, recorded_ones
    for p in recorded_ones:
        r = processes(session, "--process", str(p["pid"]))
        assert any(f["file"] and f["file"].endswith("prog.c") for f in r["frames"]), r["frames"]
    with open(opens, encoding="utf-8") as f:
        opened = [p for p in f.read().split("\n") if p.endswith("/prog.debug")]
    assert len(opened) == 1, opened


@test
def t_ticks_of_a_child_come_by_its_cpu_time():
    """One that waits has two a second, so that the file of a build is as large on a busy machine. Those of its first state
    and its end come as they do."""
    svc = compiled(HOLDS)
    session = recorded("sh", "-c", f"{svc} 20000000 5; exit 7", status=7)
    times = set()
    with open(session, "rb") as f:
        for head, frames in mtop.blocks(f.read()):
            if head[:4] == b"BLK2" and int.from_bytes(head[28:32], "little") == 1:
                for payload in (payload for kind, payload, _ in frames if kind == wire.TICK):
                    cur = wire.Cursor(payload)
                    cur.varint()  # its number
                    times.add(cur.varint() / 1e9)  # what did not fit comes with one of the same time
    gaps = [b - a for a, b in zip(sorted(times), sorted(times)[1:])]
    assert sum(gap > 0.45 for gap in gaps) >= 4 and sum(gap < 0.45 for gap in gaps) <= 4, gaps
    r = processes(session, "--process", os.path.basename(svc))
    assert r["totals"]["live_bytes"] == sum(s["live_bytes"] for s in (*r["stacks"], r["omitted"])) >= 20000000, r["totals"]


@test
def t_short_ones_are_lines():
    """Processes of a millisecond: their figures, one row in the text, and no frames."""
    quick = compiled(HOLDS)
    name = os.path.basename(quick)
    session = recorded("sh", "-c", f"i=0; while [ $i -lt 30 ]; do {quick} 5000 0; i=$((i+1)); done")
    r = processes(session)
    lines = [p for p in r["processes"] if p["name"] == name]
    assert len(lines) == 30, len(lines)
    assert all(p["exact"] and not p["recorded"] and p["live_blocks"] == 5 and p["state"] == "exited" for p in lines), lines
    text = memtop("report", "--full", session).stdout
    assert re.search(rf"exited 0 +{name}  30 processes\n", text), text
    assert "\nA row of several processes shows sums; its PEAK is the largest one's.\n\n" in text, text
    one_line(memtop("report", "--process", name, session), 3, name, "only its totals were recorded")
    one_line(memtop("report", "--process", "nobody", session), 2, "nobody", "no process has this name")


# argv[1] exec: its child executes it again; fork: its child only waits. When the child runs, "here" is printed, and both
# live until stdin ends
STARTS_ONE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int up[2], down[2];
	char c;
	if (argc > 2) {
		char *kept = malloc(1000);
		return write(1, "x", !!kept) + read(0, &c, 1) - 1;
	}
	if (pipe(up) || pipe(down))
		return 1;
	pid_t child = fork();
	if (!child) {
		close(down[1]);
		if (!strcmp(argv[1], "fork"))
			return (int)(write(up[1], "x", 1) + read(down[0], &c, 1)) - 1;
		dup2(down[0], 0);
		dup2(up[1], 1);
		execl(argv[0], argv[0], "exec", "again", NULL);
	}
	if (read(up[0], &c, 1) != 1)
		return 2;
	printf("here: %d, %d\n", (int)getpid(), (int)child);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	close(down[1]);
	return waitpid(child, NULL, 0) != child;
}
"""


def marked(how):
    """A recording of it, begun; the session, and the pids of both processes."""
    p = recording(compiled(STARTS_ONE), how, arguments=["--mark-on", "here"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pids = p.stdout.readline().decode().removeprefix("here: ").split(", ")
    return p, p.session, *map(int, pids)


def marks_of(session, pid):
    done = memtop("report", "--format", "json", "--process", str(pid), session)
    return [m["name"] for m in json.loads(done.stdout)["marks"]] if done.returncode == 0 else []


@test
def t_each_process_has_the_mark():
    """Also one that has lived for some milliseconds, and has no more than a kilobyte."""
    p, session, _, child = marked("exec")
    wait_for(lambda: marks_of(session, child), 20, "the child's mark")
    p.stdin.close()
    assert p.wait(60) == 0
    r = processes(session)
    assert len(r["processes"]) == 2 and all(x["recorded"] for x in r["processes"]), r["processes"]
    assert [marks_of(session, x["pid"]) for x in r["processes"]] == [["here"]] * 2
    assert not any("lacks" in w for w in r["warnings"]), r["warnings"]


@test
def t_a_process_without_the_mark_is_named():
    """A fork that waits in one call has no session, and so no mark."""
    p, session, parent, child = marked("fork")
    wait_for(lambda: marks_of(session, parent), 20, "the parent's mark")
    p.stdin.close()
    assert p.wait(60) == 0
    warnings = processes(session)["warnings"]
    assert any("Marks that are not in every process" in w and f"[{child}] lacks here" in w for w in warnings), warnings


# a worker with a title of its own, as setproctitle writes it, 1.2 s after its parent began
TITLED = r"""
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char *kept[3];
int main(int argc, char **argv)
{
	kept[0] = malloc(3000000);
	usleep(1200000);
	if (!fork()) {
		size_t size = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);
		memset(argv[0], 0, size);
		memcpy(argv[0], "w: 1", 4);
		kept[1] = malloc(4000000);
		for (int i = 0; i < 30; i++)
			poll(NULL, 0, 100);
		return 0;
	}
	return wait(NULL) < 0;
}
"""


@mostly_waits
def t_a_fork_in_words():
    """When it ended, on the clock that it has from its parent, and how long it lived; its title; nothing counts twice."""
    session = recorded(compiled(TITLED), "an", "argument or two", "more")
    text = memtop("report", "--full", session).stdout
    assert re.match(r"2 processes: .* live at their ends; blocks that a fork inherits count once\n", text), text
    at, lived = map(float, re.search(r"exited with status 0 at ([\d.]+) s, ([\d.]+) s after its fork\n", text).groups())
    assert lived >= 2.4 and at - lived >= 1.1, (at, lived)
    assert "\ncommand: 'w: 1'\n" in text, text
    r = processes(session)
    fork = next(p for p in r["processes"] if p["forked"])
    assert fork["allocated_bytes"] == 4000000 and r["tree"]["allocated_bytes"] == 7000000, r
    parent = memtop("report", "--process", str(the_first(r)["pid"]), session).stdout
    assert re.search(r"exited with status 0 after [\d.]+ s\ncommand: \S+ an 'argument or two' more\n", parent), parent


# inherits 8 MB and frees them; 1.5 MB of its own are left
FREES = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static char *kept[8], *own[3];
int main(void)
{
	for (int i = 0; i < 8; i++)
		kept[i] = malloc(1000000);
	if (!fork()) {
		for (int i = 0; i < 3; i++)
			own[i] = malloc(500000);
		for (int i = 0; i < 8; i++)
			free(kept[i]);
		return 0;
	}
	return wait(NULL) < 0;
}
"""


@test
def t_a_fork_that_frees():
    """Nobody knows whether it freed what it had from its parent, or its own: what is live of its own is between two bounds."""
    session = recorded(compiled(FREES))
    r = processes(session)
    fork = next(p for p in r["processes"] if p["forked"])
    assert fork["live_bytes"] == 1500000 and fork["inherited_bytes"] == 8000000, fork
    assert r["tree"]["live_bytes"] == 8000000 and r["tree"]["live_bytes_most"] == 9500000, r["tree"]
    assert (r["tree"]["live_blocks"], r["tree"]["live_blocks_most"]) == (8, 11), r["tree"]
    text = memtop("report", "--full", session).stdout
    assert "allocated, 7.6M to 9.1M live at their ends; blocks that a fork inherits count once (a range: a fork may free inherited or own blocks)\n" in text, text


# allocates and frees argv[1] times 1000 bytes
CHURNS = r"""
#include <stdlib.h>
int main(int argc, char **argv)
{
	for (long i = 0; i < atol(argv[1]); i++)
		free(malloc(1000));
	return argc != 2;
}
"""


@test
@mostly_waits
def t_who_allocated_much_is_recorded_and_comes_first():
    """A peak of a kilobyte, a life of some milliseconds: its stacks are there. What the shell starts holds far more than
    the shell, so every way to look begins with all of them."""
    churns, holds = compiled(CHURNS), compiled(HOLDS)
    path = os.path.join(os.path.dirname(churns), "churns")
    os.rename(churns, path)
    session = recorded("sh", "-c", f"{path} 60000; {path} 80000; {holds} 5000000 1.2")
    r = processes(session)
    less, more = sorted((p for p in r["processes"] if p["name"] == "churns"), key=lambda p: p["id"])
    long = less["end_s"] - less["begin_s"] >= 1  # on a busy machine: then it is recorded for that
    assert (long or not less["recorded"]) and more["recorded"], (less, more)
    assert named(r, os.path.basename(holds))["recorded"] and more["peak_bytes"] < 1000000, r["processes"]
    assert r["program"]["args"] == ["sh"] and r["totals"]["allocated_blocks"] > 140000, r["program"]
    r = processes(session, "--process", str(more["pid"]))
    assert r["program"]["pid"] == more["pid"] and r["totals"]["allocated_blocks"] == 80000, r["program"]
    assert any(f["function"] == "main" for s in r["stacks"] for f in s["frames"]), r["stacks"]
    text = memtop("report", "--full", "--process", str(more["pid"]), session).stdout
    assert "\n* marks a process with all figures (it lived 1 s, held 16.0M or allocated 64.0M): " in text, text
    assert re.search(rf"\n\* .* churns \[{more['pid']}\]  \(below\)", text), text


FORK_CHURNS = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	if (fork())
		return wait(NULL) < 0;
	for (int i = 0; i < 300000; i++)
		free(malloc(1000));
	return 0;
}
"""


@test
def t_a_fork_that_allocated_much_is_recorded():
    session = recorded(compiled(FORK_CHURNS))
    fork = next(p for p in processes(session)["processes"] if p["forked"])
    assert fork["recorded"] and fork["allocated_blocks"] == 300000 and fork["peak_bytes"] < 16000000, fork
    assert processes(session)["program"]["pid"] == fork["pid"]


FORKS = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void wait_as(const char *how, double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9) };
	if (!strcmp(how, "usleep"))
		usleep((useconds_t)(seconds * 1e6));
	else /* as a lock waits */
		syscall(SYS_nanosleep, &t, NULL);
}
int main(int argc, char **argv)
{
	if (!fork()) {
		malloc(1000);
		wait_as(argv[1], atof(argv[2]));
		_exit(0);
	}
	wait(NULL);
	return 0;
}
"""


@mostly_waits
def t_a_fork_that_only_waits():
    """By usleep() it is recorded; in a wait that is no call of the libc's there are totals only, and the line says why."""
    forks = compiled(FORKS)

    def fork(how, seconds):
        session = recorded(forks, how, str(seconds))
        assert session.stderr == "", session.stderr
        found = [p for p in processes(session)["processes"] if p["forked"]]
        assert len(found) == 1 and found[0]["state"] == "exited" and found[0]["allocated_blocks"] == 1, found
        return found[0]
    slept, locked, short = at_once(fork, [("usleep", 3), ("lock", 3), ("lock", 0)])
    assert slept["recorded"] and slept["why"] is None, slept
    assert not locked["recorded"] and "only its totals are known" in (locked["why"] or ""), locked
    assert not short["recorded"] and short["why"] is None, short


@mostly_waits
def t_a_program_behind_many_execs():
    """sh executes env, that env another one, that one what lives on: its figures are its own line's, and no other's."""
    svc = compiled(HOLDS)
    name = os.path.basename(svc)
    session = recorded("sh", "-c", f"/bin/true; exec env env env env {svc} 3000000 1.5")
    assert session.stderr == "", session.stderr
    r = processes(session)
    p = named(r, name)
    assert p["recorded"] and p["exact"] and p["live_bytes"] >= 3000000 and p["state"] == "exited", p
    before = [q for q in r["processes"] if q["pid"] == p["pid"] and q["id"] != p["id"]]
    assert [q["name"] for q in sorted(before, key=lambda q: q["id"])] == ["sh"] + 4 * ["env"], before
    assert all(q["state"] == "execed" and q["live_bytes"] < 1000000 for q in before), before
    assert r["tree"]["allocated_bytes"] == sum(q["allocated_bytes"] for q in r["processes"]), r["tree"]


@test
def t_one_process_stays_as_it_was():
    """No other process: the file is of version 1, also behind an exec, and --process has nothing to choose from."""
    alone = compiled(HOLDS)
    for program in ([alone, "5000", "0"], ["sh", "-c", f"exec {alone} 5000 0"]):
        session = recorded(*program)
        with open(session, "rb") as f:
            assert struct.unpack_from("<H", f.read(16), 8) == (1,)
        r = processes(session)
        assert len(r["processes"]) == 1 and r["processes"][0]["live_bytes"] == r["totals"]["live_bytes"], r["processes"]
        one_line(memtop("report", "--process", "x", session), 2, "one process")


@test
def t_a_tree_is_of_another_version():
    """Which an older memtop says it does not read."""
    session = recorded("sh", "-c", "/bin/true; /bin/true")
    with open(session, "r+b") as f:
        head = f.read(16)
        assert struct.unpack_from("<H", head, 8) == (2,), head
        f.seek(8)
        f.write(struct.pack("<H", 3))
    one_line(memtop("report", session), 3, "written by a newer memtop: format 3")


@mostly_waits
def t_a_daemon_is_recorded_to_its_end():
    """The program ends at once and its children run on: the recording continues, and its status is
    the program's."""
    holds = compiled(HOLDS)
    session = recorded("sh", "-c", f"{holds} 3000000 1.5 & exit 5", status=5)
    assert session.stderr == "", session.stderr
    p = named(processes(session), os.path.basename(holds))
    assert p["state"] == "exited" and p["recorded"] and p["live_bytes"] >= 3000000, p


@mostly_waits
def t_the_recording_of_a_daemon_can_be_ended():
    """SIGTERM and, once the program has ended, SIGINT end the recording; the daemon goes on."""
    holds = compiled(HOLDS)
    for number in (signal.SIGTERM, signal.SIGINT):
        folder = temporary_folder()
        recorder = recording("sh", "-c", f"{holds} 3000000 60 & echo $! >{folder}/pid; exit 3", path=folder + "/a.mtop")
        wait_for(lambda: os.path.exists(folder + "/pid") and open(folder + "/pid").read().strip(), what="the daemon's pid")
        pid = int(open(folder + "/pid").read())
        at_end(kill, pid)
        wait_for(lambda: [p for p in processes_of(folder) if p["recorded"] and p["pid"] == pid], seconds=20, what="frames of it")
        recorder.send_signal(number)
        assert recorder.wait(60) == 3, recorder.returncode
        p = [p for p in processes(folder + "/a.mtop")["processes"] if p["pid"] == pid][0]
        assert p["state"] == "running" and p["live_bytes"] >= 3000000, p
        os.kill(pid, 0)


def on_a_terminal(arguments, act=None):
    """memtop record on a pseudo-terminal: all that it wrote there, its status. act(fd, so_far) may type something."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(MEMTOP, [MEMTOP, "record", *arguments], environment())
    text, acted = "", False
    while True:
        try:
            more = os.read(fd, 4096)
        except OSError:  # nobody has the other end any more
            break
        if not more:
            break
        text += more.decode()
        acted = acted or (act is not None and act(fd, text))
    os.close(fd)
    return text, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# sh's fork may not have executed the program yet: then there are two for a moment
ON = re.compile(r"memtop: sh: ended with status 5; (?:sh|prog) \[\d+\](?: runs on: recording until it ends| and 1 more run on: recording until they end); "
                r"\^C ends the recording, --first-only does not wait for (?:it|them)")


# ends once its file is there
ENDS = r"""
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
int main(int argc, char **argv)
{
	kept = malloc(5000);
	while (access(argv[1], F_OK))
		usleep(10000);
	return argc < 0;
}
"""


@mostly_waits
def t_who_ends_during_the_last_looks_has_ended():
    """The end of a recording asks each agent once more, and a stopped one keeps it waiting: whoever ends meanwhile has
    ended in the file, too."""
    go = temporary_folder() + "/go"
    programs = compiled(ENDS), compiled(HOLDS)
    ends, holds = (os.path.dirname(x) for x in programs)
    r = recording("/bin/sh", "-c", f"{programs[0]} {go} & {programs[1]} 2000000 60 &", stderr=subprocess.DEVNULL)

    def both_recorded():
        done = memtop("report", "--format", "json", "--process", "all", r.session)
        found = json.loads(done.stdout)["processes"] if done.returncode == 0 else []
        found = {os.path.dirname(p["exe"]): p["pid"] for p in found if p["recorded"]}
        return found if {ends, holds} <= found.keys() else None

    pids = wait_for(both_recorded, 30, "call paths of both")
    at_end(kill, pids[holds])
    server = server_of(pids[holds])
    os.kill(server, signal.SIGSTOP)
    r.send_signal(signal.SIGTERM)
    time.sleep(0.3)  # less than the last looks take, and more than the last look at the board does
    with open(go, "w", encoding="ascii"):
        pass
    assert r.wait(30) in (0, 143), r.returncode
    os.kill(server, signal.SIGCONT)
    done = memtop("report", "--format", "json", "--process", "all", r.session)
    states = {p["pid"]: p["state"] for p in json.loads(done.stdout)["processes"]}
    assert (states[pids[ends]], states[pids[holds]]) == ("exited", "running"), states


@mostly_waits
def t_that_a_daemon_runs_on_is_said_to_a_person():
    """On a terminal, once, and what ^C does then; without one, where memtop chose the file's name. Else stderr is the program's."""
    holds, session = compiled(HOLDS), temporary_folder() + "/a.mtop"
    daemon = ["sh", "-c", f"{holds} 3000000 60 >/dev/null </dev/null 2>&1 & echo daemon $!; exit 5"]

    def interrupt(fd, text):
        return ON.search(text) and os.write(fd, b"\x03")
    text, status = on_a_terminal(["-o", session, "--", *daemon], interrupt)
    pid = int(re.search(r"daemon (\d+)", text)[1])
    at_end(kill, pid)
    assert status == 5 and len(ON.findall(text)) == 1 and f"memtop: {session}: 2 processes" in text, text
    os.kill(pid, 0)
    done = run([MEMTOP, "record", "--", "sh", "-c", f"{holds} 3000 1.5 >/dev/null 2>&1 & exit 5"], env=environment(), cwd=temporary_folder())
    assert done.returncode == 5 and ON.match(done.stderr), done


def processes_of(folder):
    """While it is written, a reader sees the complete part."""
    done = memtop("report", "--format", "json", folder + "/a.mtop")
    return json.loads(done.stdout)["processes"] if done.returncode == 0 else []


@mostly_waits
def t_a_board_that_was_scribbled_on_ends_with_its_program():
    """Records of processes that are none of the tree's: the recording waits for nobody else's end."""
    scribbles = compiled(SCRIBBLES, "-Iinclude")
    other = start(["sleep", "600"], env=preload("listen=@memtop-other.%p"))
    wait_for(lambda: f"@memtop-other.{other.pid}\n" in open("/proc/net/unix", encoding="utf-8").read(), what="the other's agent")

    def ends(case):
        session = recorded(scribbles, case, str(other.pid), f"memtop-other.{other.pid}", status=3, seconds=90)
        assert named(processes(session), os.path.basename(scribbles))["status"] == 3 or case.isdigit(), case
    at_once(ends, [(case,) for case in ("running", "linked", "memtop", "later", "executing", "exchanged", "1", "2", "3")])
    assert other.poll() is None


@mostly_waits
def t_the_watch_goes_past_a_program_that_was_never_seen_to_run():
    """It was executed, and executed the next one, between two looks, and its server was slow to say that it had ended.
    Both are invented: the frames are the first one's."""
    session = recorded(compiled(SCRIBBLES, "-Iinclude"), "chain", "0", "", status=3)
    first, between, last = sorted((p for p in processes(session)["processes"] if not p["forked"]), key=lambda p: p["id"])
    assert (first["state"], between["state"]) == ("execed", "execed"), (first, between)
    assert (first["recorded"], between["recorded"], last["recorded"]) == (True, False, False), (first, between, last)
    assert (last["state"], last["status"]) == ("exited", 3), last


@mostly_waits
def t_first_only_and_no_follow():
    holds = compiled(HOLDS)
    for option in ("--first-only", "--no-follow"):
        folder = temporary_folder()
        began = time.monotonic()
        session = recorded("sh", "-c", f"{holds} 3000000 60 >/dev/null 2>&1 & echo $! >{folder}/pid; exit 4", arguments=[option], status=4)
        at_end(kill, int(open(folder + "/pid").read()))
        assert time.monotonic() - began < 50, session.stderr
        names = {p["name"] for p in processes(session)["processes"]}
        assert "sh" in names and (option == "--first-only" or len(names) == 1), names


@test
def t_who_cannot_be_followed():
    """A static program is named with its reason; it has no figures, and no recording waits for it."""
    source = temporary_folder() + "/s.c"
    with open(source, "w", encoding="utf-8") as f:
        f.write("int main(void) { return 0; }\n")
    static = temporary_folder() + "/static-prog"
    if run(["gcc", "-static", "-o", static, source]).returncode:
        raise Skip("no static libc")
    session = recorded("sh", "-c", f"{static}; exit 0")
    r = processes(session)
    p = named(r, "static-prog")
    assert p["state"] == "not_followed" and "static" in p["why"] and p["live_bytes"] == 0, p
    assert r["tree"]["not_followed"] == 1, r["tree"]
    assert re.search(r"not followed +static-prog .*static", memtop("report", "--full", session).stdout)


@test
def t_who_has_another_proc():
    """Process 1 of a container with a /proc of its own: its agent does not find the board. It is named with that reason."""
    alone = ["unshare", "--fork", "--pid", "--mount-proc", "--"]
    if run([*alone, "/bin/true"]).returncode:
        raise Skip("no namespace may be made here")
    p = recording(*alone, "/bin/cat", stdin=subprocess.PIPE)

    def unfollowed():
        done = memtop("report", "--format", "json", p.session) if os.path.exists(p.session) else None
        cat = named(json.loads(done.stdout), "cat") if done and not done.returncode and '"cat"' in done.stdout else {}
        return cat if cat.get("state") == "not_followed" else None

    cat = wait_for(unfollowed, 30, "its line")
    assert cat["why"] == "it has a /proc of its own, as in a container, where its agent does not find memtop; run memtop inside it", cat
    assert cat["pid"] == 1, cat
    p.stdin.close()
    assert p.wait(60) == 0


@test
def t_who_has_other_pids_and_another_network():
    """With memtop's /proc its agent finds the board: memtop finds it by the pid that it has here."""
    alone = ["unshare", "--fork", "--pid", "--net", "--"]
    if run([*alone, "/bin/true"]).returncode:
        raise Skip("no namespace may be made here")
    holds = compiled(HOLDS)
    session = recorded(*alone, "sh", "-c", f"{holds} 30000000 2; exit 0")
    p = named(processes(session), os.path.basename(holds))
    assert p["recorded"] and p["exact"] and p["peak_bytes"] >= 30000000 and p["pid"] < 10, p


@test
def t_a_program_that_goes_into_another_network():
    """It waits for memtop before main(), and memtop comes as the process that it waits for."""
    alone = ["unshare", "--net", "--"]
    if run([*alone, "/bin/true"]).returncode:
        raise Skip("no namespace may be made here")
    session = recorded(*alone, compiled(HOLDS), "3000000", "0", options="wait=600000")
    assert processes(session)["totals"]["live_bytes"] >= 3000000, session.stderr


@test
def t_who_is_another_user():
    """It may not open the board: named with that reason."""
    if os.geteuid():
        raise Skip("needs root")
    need("setpriv")
    holds = temporary_folder()
    os.chmod(holds, 0o755)
    shutil.copy(compiled(HOLDS), f"{holds}/holds")
    p = recording("sh", "-c", f"setpriv --reuid=1234 {holds}/holds 1000 60; true", arguments=["--agent", within_reach(AGENT)])

    def unfollowed():
        done = memtop("report", "--format", "json", p.session) if os.path.exists(p.session) else None
        line = named(json.loads(done.stdout), "holds") if done and not done.returncode and '"holds"' in done.stdout else {}
        return line if line.get("state") == "not_followed" else None

    line = wait_for(unfollowed, 30, "its line")
    os.kill(line["pid"], signal.SIGKILL)
    assert line["why"].startswith("another user, or in a user namespace of its own"), line
    assert p.wait(60) == 0


@test
def t_a_child_that_uses_up_its_address_space():
    """It ends at its limit, with all figures: the agent's server has a limit of its own."""
    hungry = compiled("#include <stdlib.h>\nint main(void) { while (malloc(100000)) ; while (malloc(100)) ; return 3; }\n")
    session = recorded("sh", "-c", f"ulimit -S -v 400000; {hungry}; exit 0")
    p = named(processes(session), os.path.basename(hungry))
    assert p["recorded"] and p["live_bytes"] > 200 << 20, p


@mostly_waits
def t_memtop_is_killed():
    """Killed in the middle: the programs go on, and the file opens to the last second of each."""
    holds = compiled(HOLDS)
    folder = temporary_folder()
    recorder = recording("sh", "-c", f"{holds} 3000000 60 & echo $! >{folder}/pid; wait", path=folder + "/a.mtop")
    wait_for(lambda: os.path.exists(folder + "/pid") and open(folder + "/pid").read().strip(), what="the pid")
    pid = int(open(folder + "/pid").read())
    at_end(kill, pid)
    wait_for(lambda: [p for p in processes_of(folder) if p["recorded"] and p["pid"] == pid and p["live_bytes"]], seconds=20)
    recorder.kill()
    recorder.wait()
    os.kill(pid, 0)
    done = memtop("report", "--format", "json", "--process", str(pid), folder + "/a.mtop")
    assert done.returncode == 0 and "cut" in done.stderr, done
    assert json.loads(done.stdout)["totals"]["live_bytes"] >= 3000000


@mostly_waits
def t_a_disk_that_fills():
    """memtop says so once. The tree runs to its end, memtop passes its status on, and the file opens."""
    folder = temporary_folder()
    if run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", folder]).returncode:
        raise Skip("mounting a tmpfs needs rights")
    at_end(run, ["umount", "-l", folder])
    holds = compiled(HOLDS)
    script = "; ".join(f"{holds} 17000000 0.3" for _ in range(6)) + "; sleep 1.2"
    session = recorded("sh", "-c", script, path=folder + "/a.mtop", status=125)
    assert re.fullmatch(r"memtop: [^\n]+No space left[^\n]+saved[^\n]+\n", session.stderr), session.stderr
    after = memtop("report", "--format", "json", session)
    assert after.returncode == 0, after


@test
def t_marks_and_pipes():
    """Both sides of a pipe have a line; a crash in the tree is told by its signal."""
    holds = compiled(HOLDS)
    session = recorded("sh", "-c", f"{holds} 20000 0 | {holds} 30000 0; sh -c 'kill -SEGV $$'; exit 0")
    r = processes(session)
    name = os.path.basename(holds)
    blocks = sorted(p["live_blocks"] for p in r["processes"] if p["name"] == name)
    assert blocks == [20, 30], r["processes"]
    crashed = [p for p in r["processes"] if p["state"] == "signalled"]
    assert [p["signal"] for p in crashed] == [signal.SIGSEGV], r["processes"]


if __name__ == "__main__":
    main()
