#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""An agent's places: 16 for viewers, 8 more for commands; who reads nothing loses its place, once it is needed."""
import os
import re
import signal
import subprocess
import threading

import wire
from harness import MEMTOP, environment, main, mostly_waits, recording, run, start, temporary_folder, test, wait_for
from obedient import Obedient

VIEWERS, COMMANDS = 16, 8


def viewers_of(p):
    """As the list counts them."""
    rows = [line.split() for line in run([MEMTOP, "list"], env=environment()).stdout.splitlines()]
    return next((row[2] for row in rows if row[0] == str(p.pid)), None)


def filled(p, n=VIEWERS, features=wire.CLIENT_PROMPT):
    return [p.viewer(who=f"v{i}", features=features).until_complete() for i in range(n)]


class Reading:
    """Reads from several clients while it is entered."""
    def __init__(self, *clients):
        self.clients, self.over = clients, threading.Event()
        self.thread = threading.Thread(target=self.read)

    def read(self):
        while not self.over.is_set():
            for c in self.clients:
                c.pump(0.01)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def enters(p, **named):
    """A viewer that got a place, or None."""
    c = p.viewer(**named)
    c.until(lambda: c.hello or c.ended, "an answer")
    if not c.hello:
        c.sock.close()  # it is asked for often
    return c if c.hello else None


@test
def t_commands_have_room():
    p = Obedient()
    viewers = filled(p)
    with Reading(*viewers):
        assert viewers_of(p) == str(VIEWERS)
        assert not enters(p), "a 17th viewer"
        for command in (["mark", p.name, "here"], ["report", p.name], ["check", p.name, "--max-live", "1G"]):
            done = run([MEMTOP, *command], env=environment())
            assert done.returncode == 0, (command, done)
        done = run([MEMTOP, "detach", p.name], env=environment())
        assert done.returncode == 3 and "the agent stays" in done.stderr, done
    assert not any(c.ended for c in viewers)


@test
def t_commands_wait_for_each_other():
    """All places are taken: a command asks again until one is free."""
    p = Obedient()
    viewers = filled(p, VIEWERS) + filled(p, COMMANDS, wire.CLIENT_PROMPT | wire.CLIENT_COMMAND)
    log = os.path.join(temporary_folder(), "log")
    with Reading(*viewers[1:]):
        mark = start([MEMTOP, "mark", p.name, "late"], env=environment(MEMTOP_DEBUG="conn:1", MEMTOP_DEBUG_FILE=log),
                     stdout=subprocess.PIPE)
        wait_for(lambda: os.path.exists(log) and "no place" in open(log, encoding="utf-8").read(), 20, "it is refused")
        viewers[0].send(wire.DETACH)
        assert mark.stdout.read() == b"m1 late\n" and mark.wait(60) == 0
    assert not any(c.ended for c in viewers[1:])


@mostly_waits
def t_silent_viewers_make_room():
    """Those that promise to acknowledge at once, and older ones, which have read less than they were sent. One leaves
    for each that comes, the others are left alone."""
    for features in (wire.CLIENT_PROMPT, 0):
        p = Obedient()
        silent = filled(p, VIEWERS - 1, features)
        reading = p.viewer(features=features).until_complete()
        with Reading(reading):
            if not features:
                p.do("s 4000")  # as many call paths: more bytes than may stay unacknowledged
            come = wait_for(lambda: enters(p, features=wire.CLIENT_PROMPT), 30, "room")
            for c in silent:
                c.pump(0)
            gone = [c for c in silent if c.errors]
            assert len(gone) == 1 and gone[0].errors[0]["code"] == wire.E_BUSY, [c.errors for c in silent]
            assert "read nothing" in gone[0].errors[0]["text"], gone[0].errors
        for c in (reading, come):
            c.until_complete()


@mostly_waits
def t_stopped_recordings_make_room():
    """Real ones. Continued, each looks for its place again, where one is free."""
    p = Obedient()
    recordings = [recording(arguments=[p.name], stderr=subprocess.DEVNULL) for _ in range(VIEWERS)]
    wait_for(lambda: viewers_of(p) == str(VIEWERS), 30, "all record")
    for r in recordings:
        r.send_signal(signal.SIGSTOP)
    first = wait_for(lambda: enters(p, features=wire.CLIENT_PROMPT), 30, "room")
    second = enters(p, features=wire.CLIENT_PROMPT)
    assert second, "the others are as silent"
    with Reading(first, second):
        for r in recordings:
            r.send_signal(signal.SIGCONT)
        assert viewers_of(p) is not None
    for c in (first, second):
        c.send(wire.DETACH)
    wait_for(lambda: viewers_of(p) == str(VIEWERS), 30, "all record again")
    assert p.end() == 0
    for r in recordings:
        assert r.wait(60) == 0


@test
def t_older_viewers_count_too():
    """The list counts them as well, and an agent's own figures go on."""
    p = Obedient()
    old = filled(p, 3, 0)
    assert viewers_of(p) == "3"
    p.do("a 3 10")
    for c in old:
        c.until_complete()
    assert re.match(r"m1 ", run([MEMTOP, "mark", p.name, "x"], env=environment()).stdout)
    for c in old:
        c.until(lambda c=c: 1 in c.marks, "the mark")


main()
