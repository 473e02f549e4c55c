#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_torture.py - what an agent must survive: the program ends as it would alone, and every block
is counted.

s_torture frees all that it allocates; its source determines the amount. Threads leave one block
behind: the loader's table of their thread-local storage, which libc keeps with the stack for the
next thread.
"""
import glob
import os
import re
import signal
import subprocess

from harness import (AGENT, LONG, TARGETS, Skip, at_end, at_once, environment, main, need, recorded, report, run,
                     start, temporary_folder, test, wait_for)
from client import Client

TORTURE = os.path.join(TARGETS, "s_torture")
ALLOCATORS = ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2")


def alike(*command, preload="", options="", out=None):
    """Runs it plainly and under record; both must end with 0 and speak alike, and say `out`. Returns the report."""
    env = environment(**({"LD_PRELOAD": preload} if preload else {}))
    plain, session = run(command, env=env), recorded(*command, options=options, env=env)
    assert plain.returncode == 0, plain
    assert plain.stdout == session.stdout and out in (None, plain.stdout), (plain, session.stdout)
    return report(session)


def counted(mode, blocks):
    totals = alike(TORTURE, mode)["totals"]
    assert (totals["allocated_blocks"], totals["live_blocks"]) == (blocks, 0), totals


def only_tables_left(*mode):
    r = alike(TORTURE, *mode)
    stray = [s for s in r["stacks"] if s["live_blocks"] and "allocate_dtv" not in str(s["frames"])]
    assert r["totals"]["allocated_blocks"] and not stray, stray


@test
def t_handlers_that_allocate_and_that_jump_out():
    counted("handlers", 1 + 2000 * 2 + 2000 * 2 * 2)


@test
def t_timer_signals_that_allocate_anywhere():
    counted("timer", 400000 * 2)


@test
def t_coroutines_whose_stacks_go():
    counted("coroutines", 16 * 200 + 16 * 10 * 2)


@test
def t_every_exec_fails():
    counted("failing-exec", 3 * 20 * 2)


@test
def t_children_in_its_memory():
    counted("clone-vm", 100 * 30 * 2)


@test
def t_forks_while_threads_allocate():
    only_tables_left("storm")


@test
def t_key_destructors_of_the_last_round():
    only_tables_left("late-ends")


@test
def t_threads_that_come_and_go():
    only_tables_left("short", "3000")


@test
def t_a_crowd_of_threads():
    only_tables_left("crowd", "10000" if LONG else "1000")


def resting(count, **env):
    """Resident bytes of private memory of the program with so many sleeping threads, its server's tables included."""
    p = start([TORTURE, "resting", str(count)], env=environment(**env), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n", p.wait(60)
    if env:
        Client(f"@memtop.{p.pid}").until_complete()
    with open(f"/proc/{p.pid}/smaps_rollup", encoding="ascii") as f:
        kib = dict(re.findall(r"^(\w+): +(\d+) kB", f.read(), re.M))
    p.stdin.close()
    assert p.wait(60) == 0
    return int(kib["Anonymous"]) << 10


@test
def t_sleeping_threads_cost_64_kib():
    """Each of 200 that met six stacks, by the kernel's word."""
    few, many = 8, 208
    alone = (resting(many) - resting(few)) // (many - few)
    watched = {"LD_PRELOAD": AGENT, "MEMTOP_OPTIONS": "listen=@memtop.%p"}
    each = (resting(many, **watched) - resting(few, **watched)) // (many - few)
    print(f"  a thread more: {alone:,} bytes alone, {each:,} with the agent")
    assert 0 < each - alone <= 65536, (alone, each)


@test
def t_no_address_space_left():
    done = alike(TORTURE, "limits")
    assert done["totals"]["allocated_blocks"] > 2000, done["totals"]


@test
def t_filter_that_no_hook_saw():
    """Not even getpid may be called: by hooks, by fork, by _exit."""
    assert alike(TORTURE, "sealed")["totals"]["live_blocks"] == 0


@test
def t_other_allocators():
    found = [p for name in ALLOCATORS for p in glob.glob(f"/usr/lib/*-linux-gnu/{name}")]
    if not found:
        raise Skip("none of " + " ".join(ALLOCATORS) + " is installed")
    for library in found:
        for mode in ("storm", "handlers", "coroutines", "late-ends"):
            r = alike(TORTURE, mode, preload=library)
            own = [s for s in r["stacks"] if s["live_blocks"] and s["owner"] == "s_torture"
                   and "allocate_dtv" not in str(s["frames"])]
            assert not own, (library, mode, own)


def along(r, function):
    """(blocks allocated, blocks alive) of all paths through it, but for those of the loader: a first throw loads libgcc_s."""
    mine = [s for s in r["stacks"] if function in (names := [f["function"] for f in s["frames"]]) and "_dl_open" not in names]
    return sum(s["allocated_blocks"] for s in mine), sum(s["live_blocks"] for s in mine)


@test
def t_exceptions_through_frames_that_allocate():
    """Two blocks a frame, one for each exception that is not the same one thrown on."""
    blocks = 200 * sum(2 * (depth + 1) + 1 + depth - depth // 3 for depth in range(10)) + 100 * 4
    assert along(alike(f"{TARGETS}/s_torture_cxx", "exceptions"), "throws") == (blocks, 0)


@test
def t_coroutines_of_the_language():
    assert along(alike(f"{TARGETS}/s_torture_cxx", "coroutines"), "coroutines") == (250 * (6 + 10), 0)


@test
def t_thread_local_destructors():
    """Per thread two objects and a list entry of libc's for each; three blocks from destructors."""
    r = alike(f"{TARGETS}/s_torture_cxx", "threads")
    assert (along(r, "in_thread"), along(r, "start_thread")) == ((800, 0), (1400, 0)), r["totals"]


@test
def t_nobody_left_to_be():
    """Signals ignored, namespaces and root changed, all descriptors closed, rights dropped: counted to the end."""
    if os.geteuid():
        raise Skip("needs root")
    r = alike(TORTURE, "stripped")
    assert along(r, "churn") == (2000, 0) and r["program"]["state"] == "exited", r["totals"]


@test
def t_sockets_forbidden():
    """By a filter that was there before it: one line that says so, and the program runs as it would, wherever it is killed."""
    for how, why in (("error", "the system refuses a socket"), ("trap", "a filter of system calls would end the agent's server"),
                     ("kill", "a filter of system calls would end the agent's server")):
        line = f"memtop: {why}; nobody can watch this process\n"
        watched = ["/usr/bin/env", f"LD_PRELOAD={AGENT}", "MEMTOP_OPTIONS=listen=@memtop.%p wait=60000"]
        for mode in ("storm", "handlers"):
            done = run([TORTURE, "without-sockets", how, *watched, TORTURE, mode])
            assert (done.returncode, done.stdout, done.stderr) == (0, "", line), (how, mode, done)


@test
def t_little_memory():
    """The agent counts all blocks, or the report says that it missed some. The program lives."""
    def limited(kind, mib):
        command = ["prlimit", f"--{kind}={mib << 20}", TORTURE, "clone-vm"]
        plain, session = run(command), recorded(*command)
        assert (plain.returncode, plain.stdout, plain.stderr, session.stdout) == (0, "", "", ""), (plain, session.stdout)
        r, lines = report(session), session.stderr.splitlines()
        assert len(lines) <= 1 and all(line.startswith("memtop: ") for line in lines), (kind, mib, lines)
        whole = along(r, "churn") == (6000, 0)
        said = [w for w in r["warnings"] if "is not in this session" in w or "(no memory)" in w]
        assert whole != bool(said), (kind, mib, r["totals"], r["warnings"])
        return whole
    need("prlimit")
    sizes = (8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 160)
    found = at_once(limited, [(kind, mib) for kind in ("as", "data") for mib in sizes])
    assert True in found and False in found, found


PLUGIN = """
#include <stdlib.h>
static __attribute__((noinline)) void NAME(int n)
{
	void *volatile p = malloc(n);
	free(p);
}
void work(void) { for (int i = 1; i <= 10; i++) NAME(i * 10); }
"""


@test
def t_plugins_in_the_same_place():
    """Two libraries in turns at one address, threads allocating meanwhile: neither's stacks are taken for the other's."""
    need("gcc")
    folder = temporary_folder()
    with open(folder + "/plugin.c", "w", encoding="utf-8") as f:
        f.write(PLUGIN)
    for name in ("even", "oddy"):
        done = run(["gcc", "-g", "-O1", "-fno-builtin", "-shared", "-fPIC", f"-DNAME={name}_allocates", "-o", f"{folder}/{name}.so",
                    folder + "/plugin.c"])
        assert done.returncode == 0, done.stderr
    r = alike(TORTURE, "plugins", folder + "/even.so", folder + "/oddy.so", out="1\n")
    for name in ("even", "oddy"):
        assert along(r, name + "_allocates") == (1000, 0), (name, along(r, name + "_allocates"))
        mine = [s for s in r["stacks"] if name + "_allocates" in [f["function"] for f in s["frames"]]]
        assert {s["owner"] for s in mine} == {name + ".so"}, mine


FIRST_AND_LAST = """
#include <stdlib.h>
static void *volatile kept[8];
static void some(int count, int bytes) { for (int i = 0; i < count; i++) kept[i] = malloc(bytes); }
static void before_all(void) { some(5, 11); }
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = before_all;
void after_all(void)
{
	for (int i = 0; i < 3; i++)
		free(kept[i]);
	some(7, 17);
}
__attribute__((destructor)) static void last(void) { some(8, 19); free(kept[7]); }
int main(void) { return 0; }
"""
EARLY_LIBRARY = """
#include <stdlib.h>
void after_all(void);
__attribute__((constructor)) static void before_us(void)
{
	void *volatile p;
	for (int i = 0; i < 6; i++)
		p = malloc(13);
	free(p);
	atexit(after_all);
}
"""


@test
def t_before_and_after_ours():
    """From .preinit_array on, which is before any constructor, to a handler that was registered before ours: that
    one frees blocks of the program's destructors, which have run by then."""
    need("gcc")
    folder = temporary_folder()
    for name, text in (("early.c", EARLY_LIBRARY), ("main.c", FIRST_AND_LAST)):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    for command in ("gcc -g -fno-builtin -shared -fPIC -o libearly.so early.c",
                    "gcc -g -fno-builtin -rdynamic -o main main.c -Wl,--no-as-needed -L. -learly -Wl,-rpath,$ORIGIN"):
        done = run(command.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
    r = alike(folder + "/main")
    found = {name: along(r, name) for name in ("before_all", "before_us", "last", "after_all")}
    assert found == {"before_all": (5, 5), "before_us": (6, 5), "last": (8, 4), "after_all": (7, 7)}, found


EARLY = """
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
int opened, closed, named, forked;
static int told;
static void in_child(void) { told = 1; }
__attribute__((constructor)) static void begin(void)
{
	void *h = dlopen("libm.so.6", RTLD_NOW);
	int status = 0;
	opened = h != 0;
	closed = h && dlclose(h) == 0;
	named = pthread_setname_np(pthread_self(), "early") == 0;
	pthread_atfork(0, 0, in_child);
	pid_t pid = fork();
	if (pid == 0)
		_exit(told);
	waitpid(pid, &status, 0);
	forked = WEXITSTATUS(status);
}
"""
EARLY_MAIN = """
#include <stdio.h>
extern int opened, closed, named, forked;
int main(void) { return printf("%d %d %d %d\\n", opened, closed, named, forked) < 0; }
"""


@test
def t_constructor_before_ours():
    """Another library's constructor is first: nothing of the agent's has run, and its calls must work."""
    need("gcc")
    folder = temporary_folder()
    for name, text in (("early.c", EARLY), ("main.c", EARLY_MAIN)):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    for command in ("gcc -D_GNU_SOURCE -shared -fPIC -o libearly.so early.c",
                    "gcc -o early main.c -L. -learly -Wl,-rpath,$ORIGIN"):
        done = run(command.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
    for options in ("", "depht=3"):
        done = run(["./early"], cwd=folder, env=environment(LD_PRELOAD=AGENT, MEMTOP_OPTIONS=options))
        assert (done.returncode, done.stdout) == (0, "1 1 1 1\n"), (options, done)


@test
def t_the_program_behind_start_scripts_is_watched():
    """Whatever stands in front, the program at the end is the one that is watched."""
    folder = temporary_folder()
    script = folder + "/start"
    with open(script, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nX=1 exec env Y=2 {TORTURE} "$@"\n')
    os.chmod(script, 0o755)
    for front in (["sh", "-c", 'exec "$0" "$@"', TORTURE], ["env", "X=1", TORTURE], [script], ["nice", "-n", "1", TORTURE],
                  ["setpriv", "--no-new-privs", TORTURE], ["prlimit", "--as=400000000", TORTURE],
                  ["/usr/bin/python3", "-c", "import os, sys; os.execve(sys.argv[1], sys.argv[1:], {})", TORTURE],
                  ["perl", "-e", "exec @ARGV", TORTURE]):
        need(front[0])
        totals = alike(*front, "failing-exec")["totals"]
        assert (totals["allocated_blocks"], totals["live_blocks"]) == (120, 0), (front, totals)


@test
def t_peak_in_the_first_millisecond():
    """A clock that is behind puts no peak before the start, which every report here is checked for."""
    need("gcc")
    folder = temporary_folder()
    with open(folder + "/main.c", "w", encoding="utf-8") as f:
        f.write("#include <stdlib.h>\nint main(void) { void *volatile p = malloc(1 << 20); free(p); return 0; }\n")
    assert run(["gcc", "-fno-builtin", "-o", folder + "/main", folder + "/main.c"]).returncode == 0
    for _ in range(12):
        assert alike(folder + "/main")["totals"]["peak_bytes"] == 1 << 20


@test
def t_at_max_memory_stacks_are_cut_and_no_block_is_lost():
    """16,384 paths in 1 MiB: stacks are cut and said to be, no block is lost, the map stays in proportion."""
    depth, cap = (17, 6) if LONG else (14, 1)
    free = alike(f"{TARGETS}/s_paths", str(depth))
    capped = alike(f"{TARGETS}/s_paths", str(depth), options=f"max_memory={cap}M")
    assert free["totals"]["allocated_blocks"] == 2 ** depth + 1, free["totals"]
    same = ("allocated_blocks", "allocated_bytes", "live_blocks", "live_bytes")
    assert [free["totals"][k] for k in same] == [capped["totals"][k] for k in same], capped["totals"]
    assert free["agent"]["truncated_stacks"] == 0 < capped["agent"]["truncated_stacks"], capped["agent"]
    assert not capped["agent"]["lost"]["bytes"], capped["agent"]["lost"]
    most = (cap << 20) + capped["totals"]["peak_bytes"] // 2 + (1 << 20)
    assert capped["agent"]["memory_bytes"] < most < free["agent"]["memory_bytes"], (most, capped["agent"], free["agent"])
    reasons = {c["reason"] for c in capped["agent"]["stacks"]["truncated"]}
    assert reasons == {"the memory limit of the call tree"}, reasons


@test
def t_ten_thousand_threads_to_the_end():
    """The end comes under them: the last state is made before memtop's patience is over."""
    session = recorded(f"{TARGETS}/s_crowd", "10000", status=None)
    if session.status == 77:
        raise Skip("the system gives fewer threads")
    assert session.status == 0 and not session.stderr, (session.status, session.stderr)
    r = report(session)
    assert r["program"]["complete"] and r["totals"]["live_blocks"] >= 10000 * 200, r["totals"]
    assert sum(t["allocated_blocks"] for t in r["threads"]) == r["totals"]["allocated_blocks"], r["totals"]


@test
def t_daemon_that_only_waits():
    """Forked twice, it never allocates again, and is a session all the same."""
    path = temporary_folder() + "/pid"
    done = run([TORTURE, "daemon", path], env=environment(LD_PRELOAD=AGENT, MEMTOP_OPTIONS="listen=@memtop-idle.%p"))
    assert done.returncode == 0, done
    pid = int(wait_for(lambda: os.path.exists(path) and open(path, encoding="ascii").read(), what="its number"))
    fd = os.pidfd_open(pid)
    at_end(os.close, fd)
    at_end(signal.pidfd_send_signal, fd, signal.SIGKILL)
    Client(f"@memtop-idle.{pid}").until_complete()


if __name__ == "__main__":
    main()
