#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_debuginfod.py - lines and inlined frames from debuginfod servers (tests/lib/debuginfod.py):
correct, slow, dead or absent ones."""
import os
import re

from cli import memtop
from debuginfod import Program, Server
from harness import MEMTOP, children, environment, main, mostly_waits, recorded, report, wait_for
from term import Terminal

NEVER = "Debug files from servers (debuginfod): off, DEBUGINFOD_URLS is not set"
INLINED, CALLER = ("inlined_part", "libwork0.so.c", 3, True), ("library_work0", "libwork0.so.c", 6, False)


def frames(r, function="library_work0"):
    """(function, file, line, inlined) of the frames of the library in the one stack through it."""
    stack = next(s for s in r["stacks"] if any(f["function"] == function for f in s["frames"]))
    return [(f["function"], f["file"] and os.path.basename(f["file"]), f["line"], f["inlined"]) for f in stack["frames"] if f["module"].startswith("libwork")]


class View(Terminal):
    """memtop run of a Program that stays, its call sites on the screen."""

    def __init__(self, program, env):
        super().__init__([MEMTOP, "run", program.path], 120, 40, env={**env, "STAY": "1"})
        self.wait_for("[1 Over", 30)
        self.pid = int(self.tmux("display", "-p", "#{pane_pid}"))
        self.keys("3")

    def asked(self, server, count):
        wait_for(lambda: len(server.asked) >= count, 30, f"{count} questions")

    def agent(self, want):
        """The line of the Agent view that has this."""
        self.keys("A")
        line = self.wait_for(want, 30)
        self.keys("Escape")
        return line

    def leave(self):
        """The program is stopped; memtop ends, and whatever it started."""
        self.keys("1", "q")
        self.wait_for("s: stop it", 20)
        self.keys("s")
        self.wait_exit(30)


@mostly_waits
def t_lines_of_a_library_with_dynamic_symbols():
    """In a recording and its report: each file asked for once."""
    program = Program()
    server = Server(program.files)
    env = server.environment()
    path = recorded(program.path, env=env)
    assert frames(report(path)) == [INLINED, CALLER], frames(report(path))
    assert sorted(server.asked) == sorted(program.files), server.asked
    assert not memtop("report", path, env=env).stderr


@mostly_waits
def t_a_session_that_was_recorded_without():
    """Its report requests debug files for lines missing in the file, like a report of a live
    program."""
    program = Program()
    server = Server(program.files)
    path = recorded(program.path)
    assert frames(report(path)) == [("library_work0", None, None, False)]
    assert frames(report(path, env=server.environment())) == [INLINED, CALLER]


@mostly_waits
def t_names_do_not_wait():
    """A download that stands still holds up no name, of its module and of others; the lines come when it goes on."""
    program = Program(2)
    server = Server(program.files, "slow")
    view = View(program, server.environment())
    view.wait_for(lambda lines: all(any(f"library_work{i}" in line for line in lines) for i in (0, 1)), 30, "both names")
    view.asked(server, 3)
    view.agent(re.compile(r"libwork0\.so +(asked|downloading, [\d.]+K of [\d.]+K)"))
    view.agent(re.compile(r"libwork1\.so +(asked|downloading)"))
    view.wait_for("library_work0", without="inlined_part")
    server.go.set()
    view.wait_for("inlined_part", 30)
    view.agent(re.compile(r"libwork0\.so +got, [\d.]+K"))
    assert sorted(server.asked) == sorted(program.files), server.asked
    view.leave()


def leaves_nobody_behind(how, state):
    """Names are there, memtop ends without an answer and leaves nobody behind."""
    program = Program()
    server = Server(program.files, how)
    view = View(program, server.environment())
    view.wait_for("library_work0", 30)
    view.asked(server, 2)
    view.agent(re.compile(r"libwork0\.so +" + state))
    started = wait_for(lambda: len(found := children(view.pid)) >= 3 and found, what="the program, and two questions")
    view.leave()
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in started), 20, "the end of all")


@mostly_waits
def t_a_dead_server():
    """It takes the question and is silent."""
    leaves_nobody_behind("dead", "asked")


@mostly_waits
def t_a_server_that_drips():
    """It goes on for hours, and who waits for it, or for its silence, does not end."""
    leaves_nobody_behind("drips", "downloading")


@mostly_waits
def t_a_dead_server_and_a_report():
    """It waits ten seconds for a byte, and says so."""
    program = Program()
    path = recorded(program.path)
    done = memtop("report", path, env=Server(program.files, "dead").environment())
    assert done.returncode == 0 and "library_work0" in done.stdout, done
    assert re.search(r"^! \S+: lines unknown: debuginfod: no answer in time; check that DEBUGINFOD_URLS", done.stdout, re.M), done.stdout


@mostly_waits
def t_a_server_without_the_file():
    """Asked once in a session, however often it is drawn."""
    program = Program()
    server = Server(program.files, "none")
    view = View(program, server.environment())
    view.asked(server, 2)
    view.agent(re.compile(r"libwork0\.so +not on the server"))
    for _ in range(3):
        view.keys("1", "3")
        view.wait_for("library_work0", 30)
    assert sorted(server.asked) == sorted(program.files), server.asked
    view.leave()
    path = recorded(program.path)
    assert "debuginfod" not in memtop("report", path, env=server.environment()).stdout


@mostly_waits
def t_a_server_that_is_gone_is_asked_once():
    """Said once; no further file is asked for."""
    program = Program(6)
    server = Server(program.files)
    path = recorded(program.path)
    env = server.environment()
    server.end()
    done = memtop("report", path, env=env)
    assert done.returncode == 0 and done.stdout.count("lines unknown: debuginfod: Connection refused; ") == 1 == done.stdout.count("debuginfod"), done
    view = View(program, env)
    view.wait_for("library_work0", 30)
    view.agent(re.compile(r"failed: Connection refused"))
    view.leave()


@mostly_waits
def t_no_servers_named():
    """Nobody is asked, which the view says, at every size."""
    program = Program()
    for urls in ({}, {"DEBUGINFOD_URLS": ""}):
        view = View(program, environment(**urls))
        view.wait_for("library_work0", 30)
        view.agent(NEVER)
        view.resize(80, 24)
        view.keys("A", "G")
        view.wait_for(NEVER)
        view.keys("Escape")
        view.leave()


main()
