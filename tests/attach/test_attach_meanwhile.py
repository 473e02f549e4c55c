#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_attach_meanwhile.py - memtop attach while the process ends, executes another program, loses its first thread, or is
attached to by others: what memtop says is what happened.
"""
import os
import signal
import subprocess
import sys
import time

from attaching import FIRE, HELD, attached, detached, finish, ready, refused, report_of, state
from cli import compiled, memtop, one_line
from harness import LONG, MEMTOP, at_once, environment, main, need, start, test, wait_for

ENDED = ("ended during the attach", "has ended", "no such process", "is ending", "the process ended")
NUMBER = 100 if LONG else 25


def begun(pid):
    return start([MEMTOP, "attach", "--no-view", str(pid)], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(attach):
    """What it printed: its success, or its one line."""
    out, err = attach.communicate(timeout=120)
    assert (attach.returncode, bool(HELD.fullmatch(out)), err.count("\n")) in ((0, True, 0), (3, False, 1)), (attach.returncode, out, err)
    return out + err


@test
def t_many_at_once():
    """One loads the agent, and all others say that it is there; also where each may take another thread."""
    for program in ([FIRE, "0", "0", "1"], [FIRE, "2", "4"]):
        process = ready(program)
        said = [ended(attach) for attach in [begun(process.pid) for _ in range(NUMBER)]]
        wrong = [words for words in said if "has an agent already; use memtop -p" not in words]
        assert len(wrong) == 1 and HELD.fullmatch(wrong[0]), wrong
        finish(process)


TRACER = """
import sys, threading
open("/proc/self/comm", "w").write(sys.argv[2])
from tracing import held
def trace():
    open(f"/proc/self/task/{threading.get_native_id()}/comm", "w").write("worker" if sys.argv[3:] else sys.argv[2])
    held(int(sys.argv[1]))
    print("held", flush=True)
    sys.stdin.read()
if sys.argv[3:]:
    thread = threading.Thread(target=trace)
    thread.start()
    thread.join()
else:
    trace()
"""


def tracer_of(pid, name, *thread):
    """The process of that name, once it traces: its first thread does, or another one."""
    return ready([sys.executable, "-c", TRACER, str(pid), name, *thread], stdin=subprocess.PIPE, env=environment(PYTHONPATH="tests/lib"))


@test
def t_a_tracer_is_named_by_its_process():
    """TracerPid is a thread's number, and that has a name of its own."""
    process = ready([FIRE, "0", "0", "1"])
    tracer = tracer_of(process.pid, "debugger", "another")
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as f:
        assert f"TracerPid:\t{tracer.pid}\n" not in f.read()
    refused(process.pid, f"already traced by {tracer.pid} (debugger)", "end that tracer first")
    tracer.communicate("")


@test
def t_another_attach_is_waited_for():
    """Any other tracer is named at once; a thread that both want counts as much as the first one."""
    process = ready([FIRE, "0", "0", "1"])
    tracer = tracer_of(process.pid, "debugger")
    refused(process.pid, f"already traced by {tracer.pid} (debugger)", "end that tracer first")
    tracer.communicate("")
    tracer = tracer_of(process.pid, "memtop-attach")
    attach = begun(process.pid)
    try:
        words = attach.communicate(timeout=1)
        raise AssertionError(f"did not wait: {words}")
    except subprocess.TimeoutExpired:
        pass
    tracer.communicate("")
    assert HELD.fullmatch(ended(attach))
    finish(process)


@test
def t_an_end_at_any_instant():
    """Nothing else is said of a process that ends, however far the attach has come."""
    def one(ms):
        process = ready([FIRE, "2", "2"])
        attach = begun(process.pid)
        time.sleep(ms / 1000)
        process.kill()
        said = ended(attach)
        process.wait()
        assert HELD.fullmatch(said) or any(word in said for word in ENDED), said
    for ms in range(0, 2 * NUMBER, 2):
        one(ms)


# Executes itself COUNT times, each time right away.
EXECS = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char number[16];
	int left = atoi(argv[1]);
	if (argc == 3)
		puts("ready"), fflush(stdout);
	snprintf(number, sizeof number, "%d", left - 1);
	if (left)
		execl("/proc/self/exe", argv[0], number, (char *)0);
	pause();
	return 0;
}
"""


@test
def t_an_exec_at_any_instant():
    """The program that it became is attached to."""
    need("gcc")
    program = compiled(EXECS)
    for execs in range(0, 10 * NUMBER, 10):
        process = ready([program, str(execs), "first"])
        attached(process.pid)
        process.kill()


HEADLESS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *works(void *arg)
{
	for (;;) {
		*(void *volatile *)arg = malloc(12345);
		usleep(1000);
	}
	return arg;
}
int main(void)
{
	static void *last;
	pthread_t t;
	pthread_create(&t, NULL, works, &last);
	puts("ready");
	fflush(stdout);
	pthread_exit(NULL);
}
"""


@test
def t_its_first_thread_has_ended():
    """Another thread is borrowed, and the process is listed, watched and left as any other."""
    process = ready([compiled(HEADLESS, "-pthread")])
    wait_for(lambda: state(process.pid) == "Z", 20, "its first thread's end")
    one_line(memtop("report", "-p", str(process.pid)), 3, "runs without the agent")
    for _ in range(2):
        attached(process.pid)
        assert any(line.split()[0] == str(process.pid) for line in memtop("list").stdout.splitlines()), memtop("list")
        refused(process.pid, "has an agent already")
        r = wait_for(lambda: (r := report_of(f"@memtop.{process.pid}"))["totals"]["live_blocks"] > 3 and r, 20, "some blocks")
        assert r["program"]["args"] == process.args and r["timeline"][-1]["rss_bytes"] > 100000, r["program"]
        assert any(f["function"] == "works" for s in r["stacks"] for f in s["frames"]), r["stacks"]
        assert memtop("mark", "-p", str(process.pid)).returncode == 0
        detached(process.pid)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == -signal.SIGTERM


if __name__ == "__main__":
    main()
