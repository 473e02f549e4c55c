#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_states.py - an ended program, a lost link, a file: the screen names the state and keeps its
data."""
import json
import os
import re
import socket

from harness import MEMTOP, Synthetic, main, recorded, temporary_folder, test
from term import Terminal, view

SIZES = [(80, 24), (120, 36), (40, 10)]


@test
def t_target_gone_stays_to_be_explored():
    agent = Synthetic("--past", 60, "--exit-after", 2, "--exit-status", 3)
    with view(agent) as t:
        t.wait_for("EXITED 3", 15)
        t.keys("2")
        t.wait_for(re.compile(r" 0 [▼▶] main"), what="no calls per second of a program that ended")
        t.keys("1")
        t.wait_for("final")


@test
def t_cut_recording_says_what_its_heap_did():
    folder = temporary_folder()
    agent = Synthetic("--past", 60)
    with view(agent) as t:
        t.wait_for("new_vertex_array")
        t.prompt(f"{folder}/whole.mtop", "w", "C-u")
        t.wait_for("saved:")
    agent.stop()
    with open(f"{folder}/whole.mtop", "rb") as f:
        data = f.read()
    with open(f"{folder}/cut.mtop", "wb") as f:
        f.write(data[:-40])
    with Terminal([MEMTOP, "open", f"{folder}/cut.mtop"], 120, 36) as t:
        t.wait_for("CUT FILE")
        t.wait_for(re.compile(r"CUT OFF, GROWING \+[0-9.]+M/min for [0-9]+ s, steady\.  \d+ % of it: "),
                   without=lambda lines: "Alloc" in lines[2])


@test
def t_link_lost_is_said():
    agent = Synthetic("--past", 60)
    with view(agent) as t:
        t.wait_for("new_vertex_array")
        agent.kill()
        t.wait_for(re.compile("STALE|link"), 15)
        t.keys("2")
        t.wait_for("main")


@test
def t_nobody_there_is_all_that_is_said():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))  # and does not listen
        with Terminal([MEMTOP, f":{s.getsockname()[1]}"], 120, 36) as t:
            t.wait_for(re.compile("^ *:[0-9]+: .*", re.M))
            t.wait_for("WAITING", without=re.compile(r"LIVE 0|Live 0|loading|first allocation|\[0\]|0 sites"))
            path = temporary_folder() + "/a.txt"
            t.prompt(path, "w", "C-u")
            t.wait_for("the agent has not answered yet")
            assert not os.path.exists(path)


@test
def t_what_is_in_the_way_is_said_whole():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))  # and does not listen
        for width, height in SIZES[:2]:
            with Terminal([MEMTOP, f":{s.getsockname()[1]}"], width, height) as t:
                for view_key in "1234":
                    t.keys(view_key)
                    t.wait_for(re.compile(r"or\s+adb\s+forward\s+tcp:\d+\s+localabstract:memtop\.PID"))


@test
def t_empty_screen_says_why():
    agent = Synthetic("--empty", "--past", 1)
    with view(agent) as t:
        t.wait_for("waiting for the first allocation")


@test
def t_a_session_file_is_not_offered_marks():
    with Terminal([MEMTOP, "open", recorded("/bin/true")], 120, 36) as t:
        t.wait_for("EXITED")
        t.keys("d")
        t.wait_for("no mark to compare with in this session")
        t.keys("5")
        t.wait_for("[5 Marks]", without="s sets one")


@test
def t_memory_of_a_session_file():
    """The end has it, of a program that ran too short to be asked, too."""
    with Terminal([MEMTOP, "open", recorded("/bin/true")], 120, 36) as t:
        t.wait_for("EXITED")
        t.keys("7")
        t.wait_for(("mapped files (code, data)", re.compile(r"^ RSS \d[\d.]*M[.,]", re.M)))


@test
def t_save_by_ending():
    folder = temporary_folder()
    agent = Synthetic("--past", 60, "--still")
    with view(agent, 120, 36) as t:
        t.wait_for("[1 Overview]")
        for ending in ("json", "txt", "mtop"):
            t.keys("w")
            t.wait_for("Save as")
            t.prompt(f"{folder}/a.{ending}", "C-u")
            t.wait_for(f"saved: {folder}/a.{ending}", 20)
        t.prompt(f"{folder}/a.doc", "w", "C-u")
        t.wait_for("unknown format")
        t.prompt(f"{folder}/a.txt", "w", "C-u")
        t.wait_for("The file exists")
        t.keys("Escape")
        t.wait_for("not saved")
    with open(f"{folder}/a.json", encoding="utf-8") as f:
        assert json.load(f)["totals"]["live_bytes"] > 0
    assert os.path.getsize(f"{folder}/a.mtop") > 0


if __name__ == "__main__":
    main()
