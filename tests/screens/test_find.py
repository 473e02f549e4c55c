#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_find.py - the search, while the user types and while matching rows
arrive."""
import os
import re
import signal

from harness import BUILD, MEMTOP, Synthetic, main, temporary_folder, test
from term import Terminal, running, selected


def waiting():
    """The tree of s_phases, which goes on at SIGUSR1."""
    folder = temporary_folder()
    t = running([BUILD + "/tests/targets/s_phases", "wait"], env={"XDG_STATE_HOME": folder, "HOME": folder})
    t.keys("2")
    t.wait_for("early_phase")
    return t


@test
def t_search_goes_to_the_hit():
    agent = Synthetic("--past", 120, "--still")
    with Terminal([MEMTOP, agent.address], 120, 36) as t:
        t.wait_for("[1 Overview]")
        t.keys("2")
        t.wait_for("main")
        t.wait_gone("symbols ")
        t.keys("/")
        t.type("png_read")
        t.wait_for(re.compile("[1-9][0-9]* hits?"))
        t.keys("Enter")
        t.wait_for(re.compile("^>.*png_read_row", re.M))


@test
def t_what_comes_while_it_is_typed_is_found():
    with waiting() as t:
        t.type("/later_phase")
        t.wait_for(re.compile(r"^ /later_phase +0 hits", re.M))
        os.kill(t.child, signal.SIGUSR1)
        t.wait_for(re.compile(r"^>.*later_phase", re.M))
        t.wait_for(re.compile(r"^ /later_phase +1 hit\b", re.M))
        t.keys("Enter", "g", "n")
        t.wait_for(re.compile(r"^>.*later_phase", re.M))


@test
def t_what_comes_after_enter_waits_for_n():
    with waiting() as t:
        t.type("/later_phase")
        t.keys("Enter")
        t.wait_for("0 hits; n next")
        t.keys("g")
        os.kill(t.child, signal.SIGUSR1)
        t.wait_for("later_phase")
        t.keys("p")  # whole seconds later it is still so
        t.wait_for(("PAUSED", "later_phase", selected), without=re.compile(r"^>.*later_phase", re.M))
        t.keys("p", "n")
        t.wait_for(re.compile(r"^>.*later_phase", re.M))


main()
