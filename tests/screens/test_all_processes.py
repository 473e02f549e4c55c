#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_all_processes.py - All, the processes of a tree as one heap, in the views: of a tree that runs, of one that
changes under it, and of a session."""
import os
import re
import time

from cli import compiled, memtop
from harness import MEMTOP, main, mostly_waits, read_report, recorded, temporary_folder
from term import Terminal

# 10 MB, two forks with 1 MB each. A line of standard input: the first fork ends; a second one: the parent; a third: all.
FORKS = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void *early(void) { return malloc(10000000); }
__attribute__((noinline)) void *late(void) { return malloc(1000000); }
static void *volatile kept[2];
static void wait_for(const char *folder, const char *name)
{
	char path[500];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	while (access(path, F_OK))
		usleep(20000);
}
int main(int argc, char **argv)
{
	const char *ends[] = { "first", "second" };
	kept[0] = early();
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			kept[1] = late();
			wait_for(argv[1], ends[i]);
			_exit(0);
		}
	wait_for(argv[1], "parent");
	return argc < 0;
}
"""


def show_all(t):
    t.wait_for(re.compile(r"\+2: P"))
    t.keys("P")
    t.wait_for(re.compile(r"^.* All$", re.M))
    t.keys("Home", "Enter")
    t.wait_for(re.compile(r" memtop  All of \S+ \[\d+\]"))


@mostly_waits
def t_all_of_a_tree_that_runs():
    """Inherited memory once, also when the process that had it first ends; what a process that ended held is gone."""
    folder = temporary_folder()

    def end(name):
        with open(os.path.join(folder, name), "w", encoding="ascii"):
            pass
    with Terminal([MEMTOP, "run", compiled(FORKS), folder], 100, 24) as t:
        show_all(t)
        t.wait_for(re.compile(r" 9\.5M .*early < main.*\n.* 1\.9M .*late < main"))
        t.wait_for(re.compile(r"a verdict on growth needs \d+ s more"))
        end("first")
        t.wait_for(re.compile(r" 9\.5M .*early < main.*\n.* 976\.\dK .*late < main"))
        end("parent")
        t.keys("P")
        t.wait_for(re.compile(r"^>? +10\.5M .* running +All  \(shown\)$(.|\n)* exited 0 +prog\b", re.M))
        t.keys("P")
        t.wait_for(re.compile(r" 9\.5M .*early < main.*\n.* 976\.\dK .*late < main"))
        end("second")
        t.wait_for(re.compile(r"EXITED \(status 0\), 11\.4M alive at the end in 3 blocks"))
        at = t.wait_for(re.compile(r"EXITED 0 at ([\d:.]+)")).group(1)
        t.keys("2")
        t.wait_for(re.compile(r"\[2 Tree\]"))
        t.keys("Right")
        t.wait_for(re.compile(r" 9\.5M +1 .* early(.|\n)* 1\.9M +2 .* late"))
        time.sleep(2.5)  # it is not made again, each second, when nothing runs: rows stay open
        t.keys("P")
        t.wait_for("All  (shown)")
        t.keys("P")
        t.wait_for(f"EXITED 0 at {at}")
        t.wait_for(re.compile(r" 9\.5M +1 .* early(.|\n)* 1\.9M +2 .* late"))


# 10 MB, two forks with 1 MB each. "grow": 2 MB in the first, 3 MB in the parent, and the second frees its 1 MB.
GROWS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void *early(void) { return malloc(10000000); }
__attribute__((noinline)) void *late(void) { return malloc(1000000); }
__attribute__((noinline)) void *after(size_t n) { return malloc(n); }
static void *volatile kept[3];
static void wait_for(const char *folder, const char *name)
{
	char path[500];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	while (access(path, F_OK)) {
		free(malloc(16)); /* a fork's agent begins with what the fork does */
		usleep(20000);
	}
}
int main(int argc, char **argv)
{
	int fork_number = 0;
	kept[0] = early();
	for (int i = 1; i < 3 && !fork_number; i++)
		if (!fork()) {
			kept[1] = late();
			fork_number = i;
		}
	wait_for(argv[1], "grow");
	if (fork_number < 2)
		kept[2] = after(fork_number ? 2000000 : 3000000);
	else
		free(kept[1]);
	wait_for(argv[1], "end");
	return argc < 0;
}
"""


@mostly_waits
def t_marks_of_all():
    """s sets one in each process, d and the Marks view count in all since then; a mark is renamed and deleted in each;
    and the interval stays when inherited memory finds another owner."""
    folder = temporary_folder()

    def tell(name):
        with open(os.path.join(folder, name), "w", encoding="ascii"):
            pass
    with Terminal([MEMTOP, "run", compiled(GROWS), folder], 100, 24) as t:
        show_all(t)
        t.wait_for(re.compile(r"1\.9M .*late < main"))
        time.sleep(1.5)  # each process has lived for a second: it has a session
        t.keys("d")
        t.wait_for("no mark to compare with yet; s sets one")
        t.keys("5")
        t.wait_for("no marks yet: s sets one")
        t.keys("s")
        t.wait_for("setting a mark in 3 processes; d compares with it")
        t.wait_for(re.compile(r"m1 +\d\d:\d\d:\d\d .* 11\.4M"))
        t.prompt("base", "Home", "Down", "R", "C-u")
        t.wait_for(re.compile(r"m1 +base .* 11\.4M"))
        t.wait_for("m1 in 3 processes")
        tell("grow")
        t.keys("2", "d")
        t.wait_for(re.compile(r"BORN, GONE, NET since m1 base"))
        t.wait_for(re.compile(r" 4\.8M   976\.6K     \+3\.8M .* main"))
        t.keys("Right")
        t.wait_for((re.compile(r" 4\.8M +0 +\+4\.8M .* after"), re.compile(r" 0   976\.6K   -976\.6K .* late")))
        tell("end")
        t.wait_for((re.compile(r"EXITED 0"), re.compile(r" 4\.8M +0 +\+4\.8M .* after"),
                    re.compile(r" 0   976\.6K   -976\.6K .* late")))
        time.sleep(2.5)  # last words of processes that ended begin All anew, and end a journey
        t.prompt("at base", ":")
        t.wait_for(re.compile(r"Live 11\.4M"))


@mostly_waits
def t_where_the_program_only_starts_others_all_are_shown():
    """A shell that waits: all processes, with the one that holds most. Not for who has pressed a key."""
    def run(folder):
        return Terminal([MEMTOP, "run", "sh", "-c", f"{compiled(GROWS)} {folder}; true"], 100, 24)

    folder = temporary_folder()
    with run(folder) as t:
        t.wait_for((re.compile(r"^ memtop  All of sh \[\d+\]"), re.compile(r" 9\.5M .*early < main"),
                    "sh only starts others: this is all of them.  P lists each"))
        t.wait_for(re.compile(r"prog \[\d+\] holds most: 9\.5M; P$", re.M))
        t.keys("P")
        t.wait_for(re.compile(r"^> +9\.5M .* prog\b", re.M))
        for name in ("grow", "end"):
            with open(os.path.join(folder, name), "w", encoding="ascii"):
                pass
    with run(temporary_folder()) as t:
        t.wait_for(re.compile(r"^ memtop  sh \[\d+\]"))
        t.keys("Home")
        t.wait_for("holds more: ")
        time.sleep(2.5)
        t.keys("2")
        t.wait_for((re.compile(r"^ memtop  sh \[\d+\]"), "[2 Tree]"))


# the second fork leaks 10 kB each 20 ms, 30 MB a minute
LEAKS = r"""
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void *leak(void) { return malloc(10000); }
static void *volatile kept;
int main(void)
{
	int fork_number = 0;
	for (int i = 1; i < 3 && !fork_number; i++)
		if (!fork())
			fork_number = i;
	for (int i = 0; i < 1500; i++) {
		if (fork_number == 2)
			kept = leak();
		else
			free(malloc(100));
		usleep(20000);
	}
	return kept && fork_number < 0;
}
"""


@mostly_waits
def t_processes_are_told_apart():
    """By their command lines in the list; and the page of a row says which of them hold it, and how much."""
    folder = temporary_folder()
    with Terminal([MEMTOP, "run", "sh", "-c", f"{compiled(GROWS)} {folder} one two; sleep 99; true"], 180, 30) as t:
        t.wait_for((re.compile(r"^ memtop  All of sh \[\d+\]"), re.compile(r" 1\.9M .*late < main")))
        t.keys("P")
        t.wait_for((re.compile(rf" running .* prog +{folder} one two$", re.M),
                    re.compile(rf" running .* prog  \(fork\) +{folder} one two$", re.M)))
        t.wait_for(re.compile(rf"─ prog {folder} one two  running \(waits in \w+\) ─"))
        t.keys("P", "2", "Home", "v")
        t.wait_for(re.compile(r"^ Held by 1 process$", re.M))
        t.keys("q")
        t.prompt("late", "/")
        t.keys("v")
        t.wait_for(re.compile(rf"^ Held by 2 processes\n +> +976\.6K in 1 block +\d+  prog {folder} one two\n"
                              rf" +976\.6K in 1 block +\d+  prog {folder} one two$", re.M))
        t.keys("q", "1")
        t.wait_for(re.compile(r" 1\.9M .* 2 .*[ *]late < main"))
        t.keys("3")
        t.wait_for((re.compile(r"LIVE. +BLOCKS PROCS"), re.compile(r" 9\.5M +1 +1 .* early < main"), re.compile(r" 1\.9M +2 +2 .*[ *]late < main")))
        t.keys("2")
        t.wait_for((re.compile(r"LIVE. +BLOCKS PROCS"), re.compile(r"^> +1\.9M +2 +2 .*[ *]late", re.M)))
        t.keys("v")
        t.wait_for("Held by 2 processes")
        t.keys("Tab")
        second = t.wait_for(re.compile(r"^ Held by 2 processes\n +976.+\n +> +976\.6K in 1 block +(\d+)  prog", re.M)).group(1)
        t.keys("Enter")
        t.wait_for((re.compile(rf" memtop  prog \[{second}\]"), re.compile(r"^> +976\.6K +1 .* late", re.M)), without="PROCS")
        t.keys("P")
        t.wait_for(re.compile(r"^.* All$", re.M))
        t.keys("Home", "Enter")
        t.wait_for(re.compile(r" memtop  All of sh"))
        for name in ("grow", "end"):
            with open(os.path.join(folder, name), "w", encoding="ascii"):
                pass
        t.keys("P")
        t.wait_for(re.compile(r" running .* sleep +99$", re.M))


@mostly_waits
def t_a_verdict_on_all():
    """The sum of what each process grew by, the one that grew most, and where; in the view, the report and after the end."""
    wanted = (r"GROWING \+2\d\.\dM/min for \d+ s, (?:mostly )?steady, most in prog \[(\d+)\]\.  100 % of it: leak")
    with Terminal([MEMTOP, "run", compiled(LEAKS)], 140, 24) as t:
        show_all(t)
        t.wait_for(re.compile(r"a verdict on growth needs \d+ s more"))
        t.wait_for(re.compile(wanted), 30)
        t.wait_for(re.compile("EXITED, " + wanted), 30)
    session = recorded(compiled(LEAKS))
    growth = read_report(memtop("report", "--format", "json", "--process", "all", session).stdout)["verdict"]["growth"]
    grew = re.match(wanted, growth["text"])
    assert grew and growth["word"] == "GROWING", growth
    one = read_report(memtop("report", "--format", "json", "--process", grew[1], session).stdout)["verdict"]["growth"]
    assert abs(one["per_minute"] - growth["per_minute"]) < growth["per_minute"] / 50, (one, growth)


@mostly_waits
def t_all_of_a_session():
    folder = temporary_folder()
    for name in ("first", "second", "parent"):
        with open(os.path.join(folder, name), "w", encoding="ascii"):
            pass
    session = recorded("/bin/sh", "-c", f"sleep 1.2; {compiled(FORKS)} {folder}; sleep 0.1; sleep 0.1")
    with Terminal([MEMTOP, "open", session], 100, 24) as t:
        t.wait_for(re.compile(r"ended: P"))
        t.keys("P")
        t.wait_for(re.compile(r"^>? +[\d.]+M .* All$", re.M))
        t.keys("Home", "Enter")
        t.wait_for(re.compile(r" memtop  All of sh \[\d+\]  EXITED 0"))
        t.keys("2")
        t.wait_for(re.compile(r"\[no stacks: \d+ processes\]"))
        t.keys("7")
        t.wait_for("All has no such figures: each process has its own; P lists them")
    with Terminal([MEMTOP, "open", "--process", "all", session], 100, 24) as t:
        t.wait_for(re.compile(r" memtop  All of sh \[\d+\]  EXITED 0"))


if __name__ == "__main__":
    main()
