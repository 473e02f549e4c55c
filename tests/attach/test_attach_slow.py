#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_attach_slow.py - memtop attach when the process hardly runs, when a call in it takes long,
and when memtop is killed. In each case the process going on matters first, memtop's message second.
"""
import contextlib
import os
import signal
import subprocess
import sys

from attaching import FIRE, HELD, SEALED, attach, finish, let_go, ready, refused, root_only, state, statuses, totals, tracers
from harness import BUILD, LONG, MEMTOP, Skip, at_end, at_once, environment, main, mostly_waits, need, run, start, temporary_folder, test, wait_for
from servers import server_of


@test
def t_a_server_that_starts_late():
    """On a busy machine the agent's server may wait for a cpu longer than anybody thinks; a filter that holds one of its calls for 3 s stands for that."""
    process = ready([SEALED, "slow"])
    out, _ = attach(process.pid)
    assert HELD.fullmatch(out), out
    assert totals(process.pid)["live_blocks"] >= 0 and process.poll() is None


@test
def t_memtop_killed_half_way():
    """The process that traces goes on without memtop, to the end."""
    process = ready([FIRE, "2"])
    with start([MEMTOP, "attach", "--no-view", str(process.pid)], env=environment(), stdout=subprocess.DEVNULL) as killed:
        wait_for(lambda: "TracerPid:\t0\n" not in statuses(process.pid) or killed.poll() is not None, 10, "the tracing")
        killed.kill()
    wait_for(lambda: "TracerPid:\t0\n" * 3 == tracers(process.pid), 10, "the end of the tracing")
    finish(process)


@test
def t_the_group_of_memtop_killed():
    """A container's end or a time limit kills the group. The tracer is of another group, and ends by itself."""
    for _ in range(40 if LONG else 8):
        process = ready([FIRE, "2"])
        with start([MEMTOP, "attach", "--no-view", str(process.pid)], env=environment(), stdout=subprocess.DEVNULL, start_new_session=True) as killed:
            wait_for(lambda: "TracerPid:\t0\n" not in statuses(process.pid) or killed.poll() is not None, 10, "the tracing")
            with contextlib.suppress(ProcessLookupError):
                os.killpg(killed.pid, signal.SIGKILL)
        let_go(process)
        finish(process)


# Becomes itself COUNT times, from one thread or the other, while another allocates.
EXECS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int left;
static void *fire(void *arg) { for (;;) { char *p = malloc(2048 + rand() % 60000); memset(p, 1, 2048); free(p); } return arg; }
static void *next(void *arg)
{
	char number[16];
	usleep(5000 + rand() % 30000);
	snprintf(number, sizeof number, "%d", left - 1);
	execl("/proc/self/exe", "execs", number, NULL);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t id;
	left = argc > 1 ? atoi(argv[1]) : 0;
	srand(getpid() + left);
	puts(left ? "ready" : "done");
	fflush(stdout);
	if (left)
		pthread_create(&id, NULL, left % 2 ? next : fire, NULL);
	return left ? (left % 2 ? fire(NULL) : next(NULL)) != NULL : 0;
}
"""


@test
def t_exec_at_any_instant():
    """Nothing is done to the program that it became, by what was read of the former one; and no wait for a thread that is not there."""
    need("gcc")
    folder = temporary_folder()
    with open(folder + "/execs.c", "w") as f:
        f.write(EXECS)
    done = run(["gcc", "-o", folder + "/execs", folder + "/execs.c", "-lpthread"])
    assert done.returncode == 0, done.stderr
    for earlier in range(80 if LONG else 20):
        process = ready([folder + "/execs", "30"])
        for _ in range(earlier % 10):
            process.stdout.readline()
        done = run([MEMTOP, "attach", "--no-view", str(process.pid)], env=environment())
        assert done.returncode == 0 or "ended during" in done.stderr or "executes programs faster" in done.stderr, done.stderr
        out = process.communicate(timeout=120)[0]
        assert process.returncode == 0 and out.endswith("done\n"), (process.returncode, out, done.stderr)


@mostly_waits
def t_a_thread_that_cannot_stop():
    """Memtop says so and ends; what traces waits for that thread, and loses none of its signals."""
    process = ready([FIRE, "0"], env=environment(LD_PRELOAD=f"{BUILD}/tests/lib/late_preload.so"))
    memtop = start([MEMTOP, "attach", "--no-view", str(process.pid)], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: state(process.pid) == "D", 10, "a wait that nothing interrupts")
    process.send_signal(signal.SIGUSR1)
    err = memtop.communicate(timeout=120)[1]
    assert memtop.returncode == 3 and ("no safe point" in err or "ended during the attach" in err) and err.count("\n") == 1, err
    let_go(process)
    out = process.communicate(timeout=120)[0]
    assert process.returncode == 0 and out == "seen 1\n", (process.returncode, out)


@mostly_waits
def t_the_tracer_killed_while_it_searches():
    """Somebody kills the tracer: the kernel lets the thread go, and the thread goes on."""
    process = ready([FIRE, "0"], env=environment(LD_PRELOAD=f"{BUILD}/tests/lib/late_preload.so"))
    memtop = start([MEMTOP, "attach", "--no-view", str(process.pid)], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: tracers(process.pid) not in ("", "TracerPid:\t0\n"), 10, "the tracing")
    os.kill(int(tracers(process.pid).split()[1]), signal.SIGKILL)
    assert "ended early" in memtop.communicate(timeout=60)[1] and memtop.returncode == 3
    out = process.communicate(timeout=120)[0]
    assert process.returncode == 0 and out == "seen 0\n", (process.returncode, out)


def cpu_group(name):
    """A new cgroup whose cpu time can be limited; and a function that limits it to so many us of each second, -1 = all."""
    v1, v2, name = "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cgroup.subtree_control", f"memtop-test-{os.getpid()}-{name}"
    if os.path.exists(f"{v1}/cpu.cfs_quota_us"):
        folder = f"{v1}/{name}"
    elif os.path.exists(v2) and "cpu" in open(v2).read().split():
        folder = f"/sys/fs/cgroup/{name}"
    else:
        raise Skip("there is no cgroup with a cpu controller here")
    try:
        os.mkdir(folder)
    except OSError as why:
        raise Skip(f"no cgroup can be made here: {why}")
    at_end(os.rmdir, folder)

    def put(file, text):
        with open(f"{folder}/{file}", "w") as f:
            f.write(text)

    def limit(us):
        if folder.startswith(v1):
            put("cpu.cfs_period_us", "1000000")
            put("cpu.cfs_quota_us", str(us))
        else:
            put("cpu.max", f"{us if us > 0 else 'max'} 1000000")
    return put, limit


def starving(limit, delay, seconds, *words):
    """What that memtop says while its process gets 0.1 % of a cpu, from `delay` seconds on and for longer than
    memtop waits for one that stands still."""
    memtop = start([MEMTOP, *words], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for pause, us in (delay, 1000), (seconds, -1):
        with contextlib.suppress(subprocess.TimeoutExpired):
            memtop.wait(pause)
        limit(us)
    out, err = memtop.communicate(timeout=120)
    return out or err


def starved(delay):
    put, limit = cpu_group(delay)
    process = ready([FIRE, "13"])
    put("cgroup.procs", str(process.pid))
    out = starving(limit, delay % 10 * 0.003, 15, "attach", "--no-view", str(process.pid))
    # where others want the cpu, too, it may get none for ten seconds
    assert HELD.fullmatch(out) or "hardly get" in out, out
    if not HELD.fullmatch(out):
        wait_for(lambda: HELD.fullmatch(run([MEMTOP, "attach", "--no-view", str(process.pid)], env=environment()).stdout) or
                 run([MEMTOP, "report", "-p", str(process.pid)], env=environment()).returncode == 0, 60, "its agent, late")
    limit(1000)
    out = starving(limit, 0.1, 10, "detach", str(process.pid))
    assert out.endswith("the agent is out of s_attach\n") or "hardly get" in out, out
    let_go(process)
    finish(process, 120)


@mostly_waits
def t_a_starved_process():
    """As in a throttled container: 14 threads share 0.1 % of a cpu, from somewhere in the attach on. memtop waits while they get on."""
    root_only()
    at_once(starved, [(delay,) for delay in range(25 if LONG else 4)])


@mostly_waits
def t_an_agent_that_is_stopped():
    """Whoever waits for it is told of that, and not of somebody else who listens there."""
    process = ready([FIRE, "1"])
    attach(process.pid)
    server = server_of(process.pid)
    os.kill(server, signal.SIGSTOP)
    answer = run([MEMTOP, "detach", str(process.pid)])
    os.kill(server, signal.SIGCONT)
    assert f"its agent is stopped (SIGSTOP or a debugger); continue it: kill -CONT {server}" in answer.stderr, answer.stderr
    finish(process, 30)


# Its main thread waits, and another loads and unloads a library, again and again.
LOADS = ("import ctypes, _ctypes, sys, threading, time\n"
         "def beat():\n"
         "    while True:\n"
         "        _ctypes.dlclose(ctypes.CDLL('libm.so.6')._handle)\n"
         "        print('.', end='', flush=True)\n"
         "        time.sleep(0.05)\n"
         "threading.Thread(target=beat, daemon=True).start()\n"
         "print('ready', flush=True)\n"
         "sys.stdin.readline()\n")


def loads(how, *words):
    """A library that is no agent is attached; the process still loads libraries, and its main
    thread still waits for its line."""
    process = ready([sys.executable, "-c", LOADS], stdin=subprocess.PIPE, env=environment(SLOW_AGENT=how))
    wait_for(lambda: state(process.pid) == "S", 10, "the wait")
    refused(process.pid, *words, env=environment(MEMTOP_AGENT=f"{BUILD}/tests/lib/slow_agent.so"))
    goes_on(process)


def goes_on(process):
    """One of LOADS, when nobody traces it any more."""
    let_go(process)
    os.set_blocking(process.stdout.fileno(), False)
    with contextlib.suppress(BlockingIOError):
        while os.read(process.stdout.fileno(), 65536):
            pass
    wait_for(lambda: process.stdout.buffer.raw.read(1), 20, "another library that it loads")
    assert process.poll() is None
    process.stdin.write("\n")
    process.stdin.close()
    assert process.wait(60) == 0


@mostly_waits
def t_a_call_that_takes_long():
    """The tracer waits for the call however long it takes: half way it would leave the loader locked."""
    loads("5000", "not an agent that can be attached")
    loads("12000", "dlopen takes more than 10 s")


@mostly_waits
def t_memtop_killed_while_a_call_takes_long():
    """The tracer has nobody left to tell, and waits for the call all the same."""
    process = ready([sys.executable, "-c", LOADS], stdin=subprocess.PIPE, env=environment(SLOW_AGENT="12000"))
    wait_for(lambda: state(process.pid) == "S", 10, "the wait")
    memtop = start([MEMTOP, "attach", "--no-view", str(process.pid)], env=environment(MEMTOP_AGENT=f"{BUILD}/tests/lib/slow_agent.so"))
    wait_for(lambda: "slow_agent.so" in open(f"/proc/{process.pid}/maps").read(), 10, "the call")
    memtop.kill()
    memtop.wait()
    goes_on(process)


@mostly_waits
def t_a_call_that_hangs():
    """The call waits for a lock that no thread holds: the thread resumes its earlier work."""
    process = ready([sys.executable, "-c", LOADS.replace("threading.Thread(target=beat, daemon=True).start()", "")], stdin=subprocess.PIPE,
                    env=environment(SLOW_AGENT="hang"))
    wait_for(lambda: state(process.pid) == "S", 10, "the wait")
    refused(process.pid, "dlopen hangs in a lock", env=environment(MEMTOP_AGENT=f"{BUILD}/tests/lib/slow_agent.so"))
    assert process.communicate("\n", timeout=60)[0] == "" and process.returncode == 0


if __name__ == "__main__":
    main()
