#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_travel.py - time travel: views show an instant as they showed it then."""
import json
import os
import re
import signal
import time

from harness import BUILD, MEMTOP, main, mostly_waits, run, temporary_folder, test, wait_for
from term import Terminal, command, running

FIRST = r"(0|[\d.]+K|[1-6]\.\dM)"  # somewhere on the way to the first phase's end
PHASES = ["6.2M", "25.0M", "21.9M"]  # s_phases.c, in whole blocks


def kept_in(folder, program="tests/targets/s_phases wait", **env):
    return running(f"{BUILD}/{program}".split(), env={"XDG_STATE_HOME": folder, "HOME": folder, **env})


def live_is(t, text, state):
    t.wait_for(lambda lines: re.search(state, lines[0]) and re.match(f" Live {text} ", lines[2]), 15, f"{state} with {text} live")


def phases(t):
    """All three, with a mark in each."""
    live_is(t, PHASES[0], "LIVE")
    for i, live in enumerate(PHASES):
        if i:
            os.kill(t.child, signal.SIGUSR1)
            live_is(t, live, "LIVE")
        t.keys("s")
        t.keys("5")
        t.wait_for(re.compile(rf"^[ >].* m{i + 1} .* {re.escape(live)} ", re.M), 15)
        t.keys("1")


def held(t, name):
    """LIVE of the Tree's or of Sites' row of a function."""
    row = re.search(rf"^.\s*([\d.]+[KMG]?) .*{name}", t.text(), re.M)
    return row and row.group(1)


@test
def t_every_view_shows_the_instant():
    with kept_in(temporary_folder()) as t:
        phases(t)
        t.keys("2")
        t.wait_for(lambda lines: held(t, "later_phase") and held(t, "early_phase"))
        t.type("/early_phase")
        t.keys("Enter")
        t.wait_for(re.compile(r"^>.*early_phase", re.M))
        want = [("6.2M", None), ("6.2M", "18.8M"), ("3.1M", "18.8M")]
        for i in (2, 0, 1, 0, 2, 1):
            command(t, f"at m{i + 1}")
            live_is(t, PHASES[i], r"PAST 0:\d\d:\d\d(\.\d\d\d)?, \d+(\.\d\d\d)? s ago")
            t.wait_for((lambda lines, i=i: [held(t, n) for n in ("early_phase", "later_phase")] == list(want[i]),
                        re.compile(r"^>.*early_phase", re.M)), what=f"{want[i]} of the phases at m{i + 1}, the first selected")
        t.keys("3")
        t.wait_for(lambda lines: "[3 Sites]" in t.text() and held(t, "early_phase") == "6.2M")
        t.keys("4")
        t.wait_for(re.compile(r"25\.0M.*s_phases"))
        t.keys("5")  # marks: those that were set by then
        t.wait_for(re.compile(r"^.* m1  ", re.M), without=re.compile(r"^.* m3  | \d{4,}", re.M))
        t.keys("Escape", "Escape")  # the search, then the past
        live_is(t, PHASES[2], "LIVE")
        t.wait_for(re.compile(r"^.* m3  ", re.M))
        os.kill(t.child, signal.SIGUSR1)
        t.wait_for("EXITED 0")
        command(t, "at m1")  # of a program that ended, too
        live_is(t, PHASES[0], "PAST")
        command(t, "at now")
        t.wait_for("EXITED 0")


@test
def t_the_peak_has_a_key_and_no_rates():
    with kept_in(temporary_folder()) as t:
        phases(t)
        t.wait_for(lambda lines: re.search(r" Alloc [\d.]+\S*/s .* Free [\d.]+\S*/s", lines[2]))
        t.wait_for(re.compile(r"Peak 25\.0M (([3-9]|\d\d) s|\d+ min) ago"), 20)  # its call paths come once a second at most
        t.keys("H")
        live_is(t, r"(24\.[89]|25\.0)M .* Alloc - +Free -", "PAST peak")
        for view, row in (("2", r"^[> ].* - .*early_phase"), ("3", r"^[> ].* - .*early_phase"),
                          ("4", r"^[> ].* - .*s_phases")):
            t.keys(view)
            t.wait_for(re.compile(row, re.M))
        t.keys("H")
        live_is(t, PHASES[2] + r" .* Alloc \d.*", "LIVE")


def without_owner(lines):
    """[columns of the graph by owner library that belong to nobody known]; None: too few belong to the program."""
    row = next((re.search("([·░]*)A{5}", line) for line in lines[5:8] if "AAAAA" in line), None)
    return row and [len(row.group(1))]


@mostly_waits
def t_who_held_what_is_known_after_the_way_back():
    """The graph by owner library keeps its columns, and the next ones follow them."""
    with kept_in(temporary_folder()) as t:
        before = t.wait_for(without_owner, 30)
        t.keys("[")
        t.wait_for(lambda lines: "PAST" in lines[0])
        t.keys("Escape")
        live_is(t, PHASES[0], "LIVE")
        after = t.wait_for(without_owner, 30)
        assert after <= before, (before, after, t.text())


@test
def t_a_diff_comes_along_as_far_as_its_marks_do():
    with kept_in(temporary_folder()) as t:
        phases(t)
        t.keys("5", "g", "Down", "Space", "G", "Space", "Enter")
        t.wait_for(("[2 Tree]", "since m1"))
        for _ in range(2):
            command(t, "at m2")
            t.wait_for(re.compile(r"since m1(.*\n)+.*\+18\.8M .*later_phase"))
            command(t, "at 0:00")  # there was no m1
            t.wait_for(lambda lines: "PAST" in lines[0], without="since m1")
        t.keys("Escape")
        live_is(t, PHASES[2], "LIVE")
        t.wait_for(re.compile(r"since m1(.*\n)+.*-3\.1M .*early_phase"))


@test
def t_by_the_cursor_and_back():
    with kept_in(temporary_folder()) as t:
        phases(t)
        t.keys("3", "[")
        t.wait_for("PAST")
        t.keys(*["["] * 70)  # to the begin of the graph: the first thing that is known
        live_is(t, FIRST, "PAST 0:00:00")
        t.keys(*["]"] * 90)
        live_is(t, PHASES[2], "LIVE")
        t.keys("1", "Tab", "Home")  # the graph's own keys do the same
        live_is(t, FIRST, "PAST 0:00:00")
        t.keys("End")
        live_is(t, PHASES[2], "LIVE")
        for wrong in ("", "m9", "yesterday", "1:2:3:4", "-", "-5x", "90"):
            command(t, f"at {wrong}")
            t.wait_for("at: write a mark, peak, now, 0:12:09 since the start, or -2m before the end")
            t.keys("Escape")
        t.wait_for(re.compile(r"LIVE 0:(?!00:0[01])"))  # a younger session has no such instant
        command(t, "at -1s")
        t.wait_for(re.compile(r"PAST 0:\d\d:\d\d(\.\d\d\d)?, [1-9]\d*(\.\d\d\d)? (s|min) ago"))
        t.keys("p")  # paused, it stays
        t.wait_for("PAUSED")
        t.keys("p", "Escape")
        live_is(t, PHASES[2], "LIVE")


@test
def t_a_session_that_became_thinner_has_its_past():
    """Its file gives way to a thinner one while it is watched, and while an instant is shown."""
    folder = temporary_folder()
    with kept_in(folder, MEMTOP_TEST_THIN_BYTES="2000", MEMTOP_TEST_THIN_AGES="100", MEMTOP_TEST_KEY_BYTES="3000") as t:
        def inode():
            if not os.path.isdir(f"{folder}/memtop"):
                return None
            return next((os.stat(f"{folder}/memtop/{n}").st_ino for n in os.listdir(f"{folder}/memtop") if n.endswith(".mtop")), None)

        def thinned():
            was = inode()
            t.wait_for(lambda lines: inode() != was, 60, "a thinner file")

        first = wait_for(inode, 20, "the session")
        phases(t)
        t.wait_for(lambda lines: inode() != first, 60, "a thinner file")
        for i in (0, 2, 1):
            command(t, f"at m{i + 1}")
            live_is(t, PHASES[i], "PAST")
        thinned()
        live_is(t, PHASES[1], "PAST")
        command(t, "at m3")  # on from there
        live_is(t, PHASES[2], "PAST")
        command(t, "at m1")
        live_is(t, PHASES[0], "PAST")
        t.keys("Escape")
        live_is(t, PHASES[2], "LIVE")
        command(t, f"w {folder}/copy.mtop")
        t.wait_for("copy.mtop", 20)
        wait_for(lambda: os.path.exists(f"{folder}/copy.mtop"), 20)
        for i, live in enumerate((6.2, 25.0, 21.9)):
            done = run([MEMTOP, "report", "--format", "json", "--at", f"m{i + 1}", f"{folder}/copy.mtop"])
            assert abs(json.loads(done.stdout)["totals"]["live_bytes"] / 2**20 - live) < 0.1, done


@test
def t_a_file_has_its_past():
    folder = temporary_folder()
    with kept_in(folder) as t:
        phases(t)
        os.kill(t.child, signal.SIGUSR1)
        t.wait_for("EXITED 0")
        t.keys("Q")
        t.wait_exit()
    name = next(f for f in os.listdir(f"{folder}/memtop") if f.endswith(".mtop"))
    with Terminal([MEMTOP, "open", f"{folder}/memtop/{name}"], 120, 36) as t:
        t.wait_for("EXITED 0")
        for i in (1, 0, 2):
            command(t, f"at m{i + 1}")
            live_is(t, PHASES[i], "PAST")
        t.keys("Escape")
        t.wait_for("EXITED 0")


@test
def t_a_file_of_a_leak_gets_its_verdict():
    """Growth is that of the whole time of the file, not of the moment at which it is opened."""
    folder = temporary_folder()
    with kept_in(folder, "demo/mapd") as t:
        t.wait_for(re.compile(r"GROWING .* for ((2[5-9]|[3-9]\d) s|\d+ min), steady.*new_vertex_array"), 90)
        t.keys("Q")
        t.wait_exit()
    name = next(f for f in os.listdir(f"{folder}/memtop") if f.endswith(".mtop"))
    with Terminal([MEMTOP, "open", f"{folder}/memtop/{name}"], 120, 36) as t:
        t.wait_for(re.compile(r"GROWING .*steady.*new_vertex_array"))
        t.wait_for(re.compile(r"^>.*steady.*new_vertex_array", re.M))
        # figures from samples were taken on the way to the file's end
        t.resize(200, 50)
        t.keys("3")
        t.wait_for(re.compile(r" [\d.]+K +<? ?[\d.]+ (us|ms|s) .*log_line ", re.M), 20)


@test
def t_the_past_does_not_wait_until_a_file_is_read():
    folder = temporary_folder()
    many = f"exec {BUILD}/tests/targets/s_paths 17 hold < <(exec sleep 60)"  # so many paths that a stop takes long
    with running(["bash", "-c", many], env={"XDG_STATE_HOME": folder, "HOME": folder}) as t:
        t.wait_for(re.compile(r"s_paths.*LIVE 0:(00:0[6-9]|00:[1-5]|0[1-9])"), 30)
        t.keys("Q")
        t.wait_exit()
    name = next(f for f in os.listdir(f"{folder}/memtop") if f.endswith(".mtop"))
    with Terminal([MEMTOP, "open", f"{folder}/memtop/{name}"], 120, 36) as t:
        t.wait_for("reading")
        t.keys("[")
        t.wait_for(lambda lines: re.search(r"PAST 0:", lines[0]) and "reading" not in lines[0], 30)
        t.keys("Escape")
        t.wait_for("reading", 30)  # from its start again: what it had is not lost
        t.wait_for(lambda lines: "reading" not in lines[0] and "PAST" not in lines[0], 60)


@test
def t_the_header_of_a_file_that_is_read_is_of_its_end():
    """Other views come to the front meanwhile, and each asks for figures."""
    folder = temporary_folder()
    with kept_in(folder, "tests/targets/s_paths 17 150") as t:
        t.wait_for("EXITED 0", 150)
        t.keys("Q")
        t.wait_exit()
    name = next(f for f in os.listdir(f"{folder}/memtop") if f.endswith(".mtop"))
    with Terminal([MEMTOP, "open", f"{folder}/memtop/{name}"], 120, 36) as t:
        t.wait_for((lambda lines: "reading" in lines[0] and "EXITED 0 at " in lines[0], re.compile(r"^ Live \S+ +\S+ blocks", re.M)))
        end = re.search(r"EXITED 0 at [\d:.]+", t.lines()[0]).group(), re.match(r" Live \S+ +\S+ blocks", t.lines()[2]).group()
        views = 0
        while "reading" in t.lines()[0]:
            key, title = (("2", "[2 Tree]"), ("3", "[3 Sites]"), ("6", "[6 Threads]"))[views % 3]
            t.keys(key)
            t.wait_for(title)
            assert end[0] in t.lines()[0] and end[1] in t.lines()[2], f"not {end}\n" + t.text()
            views += 1
        assert views, "it was read before any key"
        t.wait_for(lambda lines: end[0] in lines[0] and end[1] in lines[2])


@test
def t_keys_on_the_way_back_are_answered_and_do_not_end_it():
    folder = temporary_folder()
    many = f"exec {BUILD}/tests/targets/s_paths 17 hold < <(exec sleep 150)"  # so many paths that keys come in between
    with running(["bash", "-c", many], env={"XDG_STATE_HOME": folder, "HOME": folder, "MEMTOP_TEST_KEY_BYTES": "20000"}) as t:
        t.wait_for(re.compile(r"s_paths.*LIVE 0:(00:0[6-9]|00:[1-5]|0[1-9])"), 30)
        t.keys("2")
        for _ in range(3):
            t.keys("[")
            for i in range(30):  # one meets each part of the way
                t.keys("Up" if i % 2 else "Down")
                time.sleep(0.03)
            t.wait_for(lambda lines: "PAST" in lines[0] and "going to" not in lines[0], 30, "the earlier instant")
            t.keys("[", "3")  # the way may be over before one sees it
            t.wait_for("[3 Sites]", 10)
            t.keys("Escape")  # the way ends
            t.wait_for(lambda lines: "LIVE" in lines[0] and "going to" not in lines[0], 10, "the present")
            t.keys("2")


@test
def t_without_a_session_there_is_no_way_back():
    with kept_in("/proc/none") as t:
        t.wait_for(lambda lines: lines[2].startswith(" Live 6.2M "), 15)
        t.keys("[")
        t.wait_for("no session of this program is saved")
        assert "PAST" not in t.lines()[0]


main()
