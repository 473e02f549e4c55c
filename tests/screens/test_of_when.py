#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_of_when.py - adjacent figures refer to the same time and the same thing, or name their
own."""
import os
import re
import signal

from harness import BUILD, Synthetic, main, mostly_waits, report, temporary_folder, test
from term import command, running, selected, view


def phases():
    folder = temporary_folder()
    t = running([f"{BUILD}/tests/targets/s_phases", "wait"], env={"XDG_STATE_HOME": folder, "HOME": folder})
    t.wait_for(lambda lines: lines[2].startswith(" Live 6.2M "), 15)
    return t


@mostly_waits
def t_what_threads_hold_is_of_the_last_look():
    with phases() as t:
        t.keys("6")
        t.wait_for(re.compile(r"^>.* 6\.2M .*s_phases", re.M))
        t.wait_for(re.compile(r"LIVE as of [1-9] s ago"))  # asked again after two at the soonest
        t.keys("1")
        os.kill(t.child, signal.SIGUSR1)
        then = t.wait_for(lambda lines: lines[2].startswith(" Live 25.0M ") and re.search(r"LIVE (\S+)", lines[0]), 15)[1]
        t.wait_for(lambda lines: (now := re.search(r"LIVE (\S+)", lines[0])) and now[1] > then)  # also a while ago
        command(t, "at -0.1s")
        t.wait_for(lambda lines: "PAST" in lines[0] and lines[2].startswith(" Live 25.0M "), 15)
        t.keys("6")
        # of before, which is said, unless the session's own look came just then
        t.wait_for(re.compile(r"LIVE from a scan [\d.]+ s before: [\d.]+M of 25\.0M|^>.* 25\.0M +100 ", re.M))


def rate(pattern, lines):
    """A figure of the screen as printed; None while it is unknown or nothing."""
    found = re.search(pattern, "\n".join(lines), re.M)
    return found and found[1] if found and found[1] not in ("0", "-") else None


def clock(lines):
    """Seconds since the start, of a program that runs."""
    found = re.search(r"LIVE ([\d:]+)", lines[0])
    return sum(60 ** i * int(part) for i, part in enumerate(reversed(found[1].split(":")))) if found else 0


ALLOC = r" Alloc (\S+)/s "
# In each view, with keys that show it: the row's figure that the header has, too; all is one thread's, site's, library's.
RATES = [
    (["6"], r"^> .* ([\d.]+k?) +[\d.]+M +\S+ +\d+ +s_phases", ALLOC),                 # CALLS/s
    (["4"], r"^> .* ([\d.]+[KM]) .*s_phases", r" Alloc \S+/s (\S+)/s "),              # BYTES/s
    (["3"], r"^. +[\d.]+M +\d+ +([\d.]+k?) .*later_phase", ALLOC),                    # CALLS/s
    (["3", "T"], r"^. +[\d.]+M +\d+ +([\d.]+k?) .*later_phase", ALLOC),
    (["2"], r"^. .* ([\d.]+k?) +▼ .*main", ALLOC),
]


@mostly_waits
def t_all_rates_are_of_one_window():
    """Also when the load has ended, and in views that nobody looked at meanwhile. An instant of the past stays."""
    with phases() as t:
        t.wait_for(lambda lines: re.search(r" Alloc 0/s ", lines[2]), 30)
        t.resize(140, 36)
        os.kill(t.child, signal.SIGUSR1)
        t.wait_for(lambda lines: lines[2].startswith(" Live 25.0M "), 15)
        # a rate fades in ten seconds: seconds may pass before the screen shows it, or takes the command
        then = report(f"-p{t.child}")["totals"]["peak_time_s"] + 5
        t.wait_for(lambda lines: clock(lines) > then)
        command(t, f"at {then:.3f}s")
        t.wait_for(lambda lines: "PAST" in lines[0] and rate(ALLOC, lines), 15)
        for keys, row, header in RATES:
            for key in keys:
                t.keys(key)
            t.wait_for(lambda lines: rate(row, lines) and rate(row, lines) == rate(header, lines), 9, f"{keys}: the header's rate in a row")


@mostly_waits
def t_memory_that_nobody_asked_for():
    with phases() as t:
        t.keys("7")
        t.wait_for("live blocks, resident")
        command(t, "at 0:00")
        t.wait_for((lambda lines: "PAST" in lines[0], "is not known: the agent had not scanned the heap by then"), without="smaps")


@mostly_waits
def t_a_peak_of_now_is_where_live_is():
    with phases() as t:
        for line in (r" Live 25\.0M ", r" Live 21\.9M .*Peak 25\.0M \d+ (s|min) ago"):
            os.kill(t.child, signal.SIGUSR1)
            t.wait_for(lambda lines, line=line: re.match(line, lines[2]), 15, line)


@test
def t_of_a_thread_only_what_is_known_of_it():
    """Rates and totals since the start count all threads, so they are not shown for one."""
    agent = Synthetic("--past", 60)
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        t.keys("2")
        t.wait_for(re.compile(r"^.\s+\S+\s+[\d,]+\s+\S+\s+[\d.]+k? ▼ ", re.M))  # LIVE, BLOCKS, SELF, CALLS/s
        t.keys("6")
        t.wait_for(re.compile(r"^>.* \d+ +\S+$", re.M))
        t.wait_gone("LIVE is loading")
        t.keys("Enter")
        t.wait_for(re.compile(r"filter: thread:\d+"))
        t.wait_for(re.compile(r"^.\s+\S+\s+[\d,]+\s+\S+\s{5,}▼ ", re.M))
        t.wait_for(re.compile(r"in all, by all threads\."))


@test
def t_a_row_of_several_has_no_detail():
    """It has no call path of its own: not that of the whole program either."""
    agent = Synthetic("--past", 60, "--still", "--wide", 2000)
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        t.keys("2")
        t.wait_for("main")
        t.wait_gone("symbols ", 20)
        t.wait_for(re.compile(r" \.\.\. [\d,]+ more"))  # the heaviest path is open
        t.keys("G", "Up", "Up")
        t.wait_for(lambda lines: re.search(r" \.\.\. [\d,]+ more", selected(lines) or ""))
        for key in ("v", "z", "+"):
            t.keys(key)
            t.wait_for("this row folds several")
            t.keys("Escape")
            t.wait_for("[2 Tree]", without=lambda lines: "Detail" in lines[3] or any("this row folds several" in x for x in lines))


@mostly_waits
def t_a_leaf_says_that_it_opens_nothing():
    agent = Synthetic("--past", 60, "--still")
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        t.keys("2", "/")
        t.type("png_read")
        t.wait_for(re.compile("[1-9][0-9]* hits?"))
        t.keys("Enter")
        t.wait_for(re.compile("^>.*png_read_row", re.M))
        for key in ("z", "+", "*"):
            t.keys(key)
            t.wait_for("no row below")


@mostly_waits
def t_what_is_said_is_over_with_what_ended_it():
    agent = Synthetic("--past", 60)
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        t.keys("p")
        t.wait_for("display paused")
        t.keys("p")
        t.wait_for("display resumed")
        t.wait_for(lambda lines: "PAUSED" not in lines[0])


main()
