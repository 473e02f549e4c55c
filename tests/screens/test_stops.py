#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_stops.py - a program that is stopped: by a signal, by a debugger, by the freezer of cgroups; and a viewer that is
stopped. The header says it and why. Growth is judged by running time: a steady leak is one before, meanwhile and after,
in a view from the start, in a late one, in reports and in the file. All that is said holds at any speed of the machine.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from harness import (AGENT, MEMTOP, TARGETS, Skip, at_end, environment, main, mostly_waits, recording, run, start,
                     temporary_folder, wait_for)
from served import Server, value
from servers import server_of
from term import Terminal

STOPPED = 8  # seconds: more than half of the 15 that a verdict is judged by at first


def report(*target):
    return json.loads(run([MEMTOP, "report", "--format", "json", *target], stdout=subprocess.PIPE).stdout)


def long_stopped(why):
    """For STOPPED seconds or more: a busy machine shows no second for sure."""
    return re.compile(rf"STOPPED ([{STOPPED}9]|\d\d+) s{re.escape(why)}|STOPPED \d+ min{re.escape(why)}")


def lasted(stop):
    assert abs(stop["to_s"] - stop["from_s"] - stop["stopped_s"]) < 1e-6, stop
    return stop["stopped_s"]


class Leak:
    """2,000 bytes each 10 ms: a program with a viewer and a recorder."""

    def __init__(self, group=None):
        def enter():
            if group:
                with open(f"{group}/cgroup.procs", "w", encoding="ascii") as f:
                    f.write(str(os.getpid()))

        self.folder = temporary_folder()
        self.process = start([f"{TARGETS}/s_swings", "1000000000", "2000"], env=environment(LD_PRELOAD=AGENT),
                             preexec_fn=enter, start_new_session=True)
        self.target = ["-p", str(self.process.pid)]
        wait_for(lambda: not run([MEMTOP, "report", *self.target], stdout=-3, stderr=-3).returncode, 20, "its server")
        self.file = f"{self.folder}/recorded.mtop"
        self.recorder = recording(arguments=self.target, path=self.file, stdout=-3, stderr=-3)
        self.view = self.viewer()

    def viewer(self):
        t = Terminal([MEMTOP, *self.target], 160, 36)
        at_end(t.close)
        t.wait_for(lambda lines: "LIVE" in lines[0], 30)
        return t

    def grows(self):
        self.view.wait_for(("GROWING", "steady", lambda lines: "LIVE" in lines[0]), 60)

    def is_growing(self, *said):
        """Each of these texts, and a report."""
        verdict = report(*self.target)["verdict"]
        for text in (verdict["text"], *said):
            assert "GROWING" in text and "steady" in text, (text, said)
        return verdict

    def end(self):
        """The file."""
        self.recorder.send_signal(signal.SIGINT)
        self.recorder.wait(60)
        r = report(self.file)
        assert r["verdict"]["word"] == "GROWING", r["verdict"]
        return r

    def after(self, samples=4):
        """The words from the first moment on, until so many samples were taken since: none of them says that it slows."""
        seen = set()

        def enough():
            lines = self.view.now()
            assert "GROWING" in lines[1] and "steady" in lines[1], lines[:2]
            seen.add(report(*self.target)["verdict"]["at_s"])
            return len(seen) > samples

        wait_for(enough, 120, "samples after it continued")


class Others:
    """What is said of the program without a view: memtop list, and memtop serve, which was there before it stopped."""

    def __init__(self, leak):
        self.pid = leak.process.pid
        self.server = Server("-p", str(self.pid))
        wait_for(lambda: self.server.up(self.pid), 30, "its figures")

    def say(self, why):
        """why: the end of its line in the list; None: it runs."""
        rows = run([MEMTOP, "list"], stdout=subprocess.PIPE, text=True).stdout.splitlines()
        row, = (line for line in rows if line.split()[0] == str(self.pid))
        assert row.endswith(f"@memtop.{self.pid}" + ("" if why is None else f"  STOPPED{why}")), row
        wait_for(lambda: value(self.server.metrics(), "memtop_stopped", self.pid) == (why is not None), 30, "the same of memtop serve")


def header(t, word):
    return t.wait_for(lambda lines: word in lines[0], 30)


@mostly_waits
def t_stopped_by_a_signal():
    leak = Leak()
    leak.grows()
    others = Others(leak)
    others.say(None)
    os.kill(leak.process.pid, signal.SIGSTOP)
    header(leak.view, "STOPPED")
    others.say(" by a signal")
    assert "by a signal" in leak.view.lines()[0] and "LIVE" not in leak.view.lines()[0], leak.view.lines()[0]
    leak.view.wait_for(long_stopped(" by a signal"), 60)
    before = leak.is_growing(leak.view.lines()[1])
    late = Terminal([MEMTOP, *leak.target], 160, 36)
    header(late, "STOPPED")
    late.wait_for("GROWING", 30)
    leak.is_growing(late.lines()[1])
    text = run([MEMTOP, "report", *leak.target], stdout=subprocess.PIPE, text=True).stdout
    assert re.search(r"\]  stopped for \d+ s by a signal, after", text), text
    assert "The program was stopped by a signal for" in text, text
    r = report(*leak.target)
    stop, = r["program"]["stops"]
    assert stop["why"] == "signal" and stop["to_s"] is None and stop["stopped_s"] >= STOPPED, stop
    os.kill(leak.process.pid, signal.SIGCONT)
    header(leak.view, "LIVE")
    others.say(None)
    leak.after()
    assert report(*leak.target)["verdict"]["at_s"] > before["at_s"]
    stop, = leak.end()["program"]["stops"]
    assert lasted(stop) >= STOPPED, stop
    page = run([MEMTOP, "report", "--format", "html", leak.file], stdout=subprocess.PIPE, text=True).stdout
    assert "The program was stopped by a signal for" in page


@mostly_waits
def t_its_agent_alone_is_stopped():
    process = start([f"{TARGETS}/s_phases", "wait"], env=environment(LD_PRELOAD=AGENT))
    server = server_of(process.pid)
    os.kill(server, signal.SIGSTOP)
    at_end(os.kill, server, signal.SIGCONT)

    def row():
        rows = run([MEMTOP, "list"], stdout=subprocess.PIPE, text=True).stdout.splitlines()
        return next((line for line in rows if line.split()[0] == str(process.pid)), "")
    wait_for(lambda: row().endswith(f"@memtop.{process.pid}  agent STOPPED by a signal"), 30, "what stopped")
    os.kill(server, signal.SIGCONT)
    wait_for(lambda: row().endswith(f"@memtop.{process.pid}"), 30, "that it runs")


@mostly_waits
def t_a_session_that_ends_stopped():
    leak = Leak()
    leak.grows()
    os.kill(leak.process.pid, signal.SIGSTOP)
    leak.view.wait_for(long_stopped(" by a signal"), 60)
    r = leak.end()
    assert r["program"]["stops"][0]["to_s"] is None, r["program"]
    text = run([MEMTOP, "report", leak.file], stdout=subprocess.PIPE, text=True).stdout
    assert re.search(r"\]  stopped for \d+ s by a signal, after", text), text
    with Terminal([MEMTOP, "open", leak.file], 160, 36) as t:
        t.wait_for((lambda lines: "STOPPED" in lines[0], lambda lines: "GROWING" in lines[1]), 30)


@mostly_waits
def t_stopped_by_a_debugger():
    if not shutil.which("gdb"):
        raise Skip("no gdb here")
    leak = Leak()
    leak.grows()
    gdb = start(["gdb", "-nx", "-q", "-p", str(leak.process.pid)], stdin=subprocess.PIPE, stdout=-3, stderr=-3)
    header(leak.view, "STOPPED")
    assert f", traced by gdb [{gdb.pid}]" in leak.view.lines()[0], leak.view.lines()[0]
    Others(leak).say(f", traced by gdb [{gdb.pid}]")
    leak.view.wait_for(long_stopped(f", traced by gdb [{gdb.pid}]"), 60)
    leak.is_growing(leak.view.lines()[1])
    gdb.stdin.write(b"detach\nquit\n")
    gdb.stdin.close()
    gdb.wait(60)
    header(leak.view, "LIVE")
    leak.after()
    stop = leak.end()["program"]["stops"][0]
    assert (stop["why"], stop["tracer"], stop["tracer_pid"]) == ("traced", "gdb", gdb.pid), stop


def freezer(*ways):
    """A new cgroup, and a function that freezes it or lets it go."""
    name = f"memtop-test-{os.getpid()}"
    for root, file, words in ways:
        folder = f"{root}/{name}"
        try:
            os.mkdir(folder)
        except OSError:
            continue
        at_end(os.rmdir, folder)
        if os.path.exists(f"{folder}/{file}"):
            break
    else:
        raise Skip("no cgroup of this version can be frozen here")

    def freeze(on):
        with open(f"{folder}/{file}", "w", encoding="ascii") as f:
            f.write(words[on])

    at_end(freeze, 0)
    return folder, freeze


@mostly_waits
def t_frozen_with_the_agent():
    frozen_with_the_agent(("/sys/fs/cgroup/freezer", "freezer.state", ("THAWED", "FROZEN")))


@mostly_waits
def t_frozen_with_the_agent_by_version_2():
    frozen_with_the_agent(("/sys/fs/cgroup", "cgroup.freeze", "01"), ("/sys/fs/cgroup/unified", "cgroup.freeze", "01"))


def frozen_with_the_agent(*ways):
    folder, freeze = freezer(*ways)
    leak = Leak(folder)
    leak.grows()
    others = Others(leak)
    freeze(1)
    leak.view.wait_for(long_stopped(", frozen"), 60)
    others.say(", frozen")
    done = run([MEMTOP, "report", *leak.target], stdout=-3, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and "its agent is frozen (docker pause, the freezer of cgroups); thaw it" in done.stderr, done
    freeze(0)
    header(leak.view, "LIVE")
    others.say(None)
    wait_for(lambda: report(*leak.target)["program"]["stops"], 30, "what the agent measured")
    leak.after()
    stop, = leak.end()["program"]["stops"]
    assert stop["why"] == "frozen", stop
    assert lasted(stop) > STOPPED - 3, stop
    leak.process.kill()
    leak.process.wait()
    wait_for(lambda: not open(f"{folder}/cgroup.procs", encoding="ascii").read(), 30, "the end of its server")


@mostly_waits
def t_a_viewer_that_was_stopped():
    leak = Leak()
    leak.grows()
    # Below a shell: tmux lets its own child go on at once.
    view = leak.view = Terminal(["sh", "-c", f"{MEMTOP} -p {leak.process.pid}; true"], 160, 36)
    leak.grows()
    with open(f"/proc/{view.pid()}/task/{view.pid()}/children", encoding="ascii") as f:
        pid = int(f.read())
    os.kill(pid, signal.SIGSTOP)
    begin = time.monotonic()
    wait_for(lambda: time.monotonic() - begin > STOPPED, 60, "its time")
    shown = leak.view.now()[0]
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        assert "(memtop) T" in f.read()
    os.kill(pid, signal.SIGCONT)
    leak.view.wait_for(lambda lines: "LIVE" in lines[0] and lines[0] != shown, 30)
    leak.after()
    assert leak.end()["program"]["stops"] == []


if __name__ == "__main__":
    main()
