#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_attach_view.py - memtop attach opens the live view; :detach and --detach take the agent out of the program, which goes on."""
import os
import re
import signal
import subprocess

from harness import MEMTOP, TARGETS, main, start, temporary_folder, test, wait_for
from term import Terminal


def program():
    process = start([os.path.join(TARGETS, "s_attach"), "1", "2"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def listens(process):
    with open("/proc/net/unix") as f:
        return f"@memtop.{process.pid}\n" in f.read()


def goes_on(process):
    wait_for(lambda: not listens(process), 10, "the agent's end")
    process.send_signal(signal.SIGTERM)
    assert "checked" in process.communicate(timeout=60)[0] and process.returncode == 0


@test
def t_detach_by_command():
    process = program()
    with Terminal([MEMTOP, "attach", str(process.pid)], 120, 30, env={"XDG_STATE_HOME": temporary_folder()}) as t:
        t.wait_for(("[1 Over", "s_attach", re.compile(r"^ Live .* since the attach +RSS [0-9.]+[KM]  ", re.M)), without="live is")
        t.type(":detach")
        t.keys("Enter")
        t.wait_for("DETACHED")
        t.keys("Q")
        assert t.wait_exit() == 0
    goes_on(process)


@test
def t_offered_by_number():
    """-p of a process without the agent asks; no is no."""
    process = program()
    words, env = [MEMTOP, "-p", str(process.pid)], {"XDG_STATE_HOME": temporary_folder()}
    with Terminal(words, 120, 30, env=env) as t:
        t.wait_for("s_attach runs without the agent")
        t.wait_for("Attach now? [y/N]")
        t.keys("Enter")
        assert t.wait_exit() == 3
    assert not listens(process)
    with Terminal([*words, "--detach"], 120, 30, env=env) as t:
        t.wait_for("Attach now? [y/N]")
        t.type("y")
        t.keys("Enter")
        t.wait_for("[1 Over")
        assert listens(process)
        t.keys("Q")
        assert t.wait_exit() == 0
    wait_for(lambda: not listens(process), 10, "the agent's end")
    with Terminal(words, 120, 30, env=env) as t:  # after a detach, too
        t.wait_for("its agent was detached")
        t.wait_for("Attach now? [y/N]")
        t.keys("C-c")
        assert t.wait_exit() != 0
    goes_on(process)


@test
def t_detach_at_the_end():
    process = program()
    with Terminal([MEMTOP, "attach", "--detach", str(process.pid)], 120, 30, env={"XDG_STATE_HOME": temporary_folder()}) as t:
        t.wait_for("[1 Over")
        assert listens(process)
        t.keys("Q")
        assert t.wait_exit() == 0
    goes_on(process)


@test
def t_the_agent_stays_without_it():
    process = program()
    with Terminal([MEMTOP, "attach", str(process.pid)], 120, 30, env={"XDG_STATE_HOME": temporary_folder()}) as t:
        t.wait_for("[1 Over")
        t.keys("Q")
        assert t.wait_exit() == 0
    assert listens(process)


@test
def t_refused_without_a_screen():
    with Terminal([MEMTOP, "attach", "2147483646"], 100, 24) as t:
        assert t.wait_exit() == 3
        assert not t.alternate()


if __name__ == "__main__":
    main()
