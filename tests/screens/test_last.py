#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_last.py - sessions that a view leaves behind: open --last after a kill takes the one written
last; ^Z and fg."""
import json
import os
import re
import signal
import subprocess

from harness import AGENT, MEMTOP, environment, main, run, start, temporary_folder, test, wait_for
from term import Terminal


def target():
    """A program with the agent that waits for the test's end."""
    folder = temporary_folder()
    os.mkfifo(folder + "/go")
    p = start(["/bin/cat", folder + "/go"], env={**environment(), "LD_PRELOAD": AGENT}, stdout=subprocess.DEVNULL)
    wait_for(lambda: f"@memtop.{p.pid}\n" in run([MEMTOP, "list"]).stdout, 20, "the agent in the list")
    return p


def session_of(state, pid, but=None):
    """The spool of a view of `pid` (another than `but`), once it has a block."""
    def found():
        names = [n for n in os.listdir(state + "/memtop") if f"-{pid}-" in n] if os.path.isdir(state + "/memtop") else []
        paths = [f"{state}/memtop/{n}" for n in names if os.path.getsize(f"{state}/memtop/{n}") > 100]
        return next((p for p in paths if p != but), None)
    return wait_for(found, 20, f"the session of {pid}")


def shown_by_last(env):
    with Terminal([MEMTOP, "open", "--last"], 100, 24, env=env) as t:
        line = t.wait_for(re.compile(r"\[(\d+)\]"))
        return int(line.group(1))


@test
def t_last_is_the_newest_last_write():
    """Neither the newest name nor the one that ended well: the session that got its last block last."""
    env = {"XDG_STATE_HOME": temporary_folder()}
    state = env["XDG_STATE_HOME"]
    first, second = target(), target()
    with Terminal([MEMTOP, f"@memtop.{first.pid}"], 100, 24, env=env) as a:
        older = session_of(state, first.pid)
        with Terminal([MEMTOP, f"@memtop.{second.pid}"], 100, 24, env=env) as b:
            newer = session_of(state, second.pid)
            b.keys("Q")
            assert b.wait_exit() == 0
        wait_for(lambda: os.stat(older).st_mtime_ns > os.stat(newer).st_mtime_ns, 20, "another block of the first")
        os.kill(a.pid(), signal.SIGKILL)
        assert a.wait_exit() == 128 + signal.SIGKILL
    assert shown_by_last(env) == first.pid, "the one that was killed got its last block last"
    done = run([MEMTOP, "report", "--last", "--format", "json"], env={**environment(), **env})
    assert json.loads(done.stdout)["program"]["pid"] == first.pid, done

    with Terminal([MEMTOP, f"@memtop.{second.pid}"], 100, 24, env=env) as b:
        session_of(state, second.pid, but=newer)
        b.keys("Q")
        assert b.wait_exit() == 0
    assert shown_by_last(env) == second.pid, "a later session that ended well"


def renamed():
    """cat by another name, as redis-server is redis-check-rdb's in packages."""
    folder = temporary_folder()
    os.symlink("/bin/cat", folder + "/called-so")
    os.mkfifo(folder + "/go")
    p = start([folder + "/called-so", folder + "/go"], env={**environment(), "LD_PRELOAD": AGENT}, stdout=subprocess.DEVNULL)
    wait_for(lambda: f"@memtop.{p.pid}\n" in run([MEMTOP, "list"]).stdout, 20, "the agent in the list")
    return p


@test
def t_last_while_it_is_written():
    """It is not cut: its writer is still at it. When that was killed, it is. Its name is the program's, as it was called."""
    env = {"XDG_STATE_HOME": temporary_folder()}
    p = renamed()

    def reported():
        done = run([MEMTOP, "report", "--last", "--format", "json"], env={**environment(), **env})
        r = json.loads(done.stdout)
        return r["program"]["state"], [w for w in r["warnings"] if "missing" in w or "written" in w], done.stderr

    with Terminal([MEMTOP, f"@memtop.{p.pid}"], 100, 24, env=env) as a:
        path = session_of(env["XDG_STATE_HOME"], p.pid)
        assert os.path.basename(path).startswith(f"called-so-{p.pid}-"), path
        state, warnings, said = reported()
        assert state == "running" and len(warnings) == 1 and "still being written" in warnings[0] and not said, (state, warnings, said)
        with Terminal([MEMTOP, "open", "--last"], 100, 24, env=env) as b:
            b.wait_for(re.compile(r"called-so +\[\d+\].*FILE [0-9:.]+, still being written"), without="CUT")
        os.kill(a.pid(), signal.SIGKILL)
        a.wait_exit()
    state, warnings, said = reported()
    assert state == "cut" and len(warnings) == 1 and "the end is missing" in warnings[0] and "missing" in said, (state, warnings, said)


@test
def t_suspended_and_resumed():
    """^Z gives the terminal back, fg takes it again; keys typed in between go to the shell, none is lost after."""
    p = target()
    with Terminal(["bash", "--norc", "-i"], 100, 24, env={"PS1": "shell> "}) as t:
        t.wait_for("shell>")
        t.type(f"{MEMTOP} @memtop.{p.pid}")
        t.keys("Enter")
        t.wait_for("[1 Over")
        assert t.alternate()
        for view, name in (("3", "[3 Sites"), ("5", "[5 Marks"), ("2", "[2 Tree")):
            t.keys("C-z")
            t.wait_for("Stopped")
            assert not t.alternate(), "the screen was not given back"
            t.type("echo in-$((40 + 2))")
            t.keys("Enter")
            t.wait_for("in-42")
            t.type("clear; fg")
            t.keys("Enter")
            t.wait_for(f"[{p.pid}]")
            t.keys(view)
            t.wait_for(name)
        t.keys("Q")
        t.wait_for("shell>")
        assert not t.alternate()
        t.type("stty -a | grep -c ' icanon.* echo '")
        t.keys("Enter")
        t.wait_for(re.compile(r"^1$", re.M), what="a terminal that edits lines and echoes")


if __name__ == "__main__":
    main()
