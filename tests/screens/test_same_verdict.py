#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_same_verdict.py - line 2 is the same everywhere: in a view from the start, in a late one, in
reports of the process as text and JSON, in a recorded file, and in one saved with w. The target is
a saw-tooth with marks in its own period.
"""
import json
import signal
import subprocess
import time

from harness import (AGENT, MEMTOP, TARGETS, at_end, environment, main, mostly_waits, recording, run, start,
                     temporary_folder, wait_for)
from term import Terminal

AGE = 42            # seconds: samples are 2.5 s apart from 40 s on, 5 s from 80 s on; all that is compared comes between two
PERIOD = 5


def verdict(target):
    """Of a process or a file; after the figures of one sample."""
    out = run([MEMTOP, "report", "--format", "json", *target], stdout=subprocess.PIPE).stdout
    return json.loads(out)["verdict"]


def in_text(target):
    out = run([MEMTOP, "report", "--full", *target], stdout=subprocess.PIPE, text=True).stdout
    return [shown(line) for line in out.splitlines() if "/min" in line or "verdict on growth needs" in line]


def shown(text):
    return " ".join(text.split())


def line_2(t):
    return shown(t.now()[1])


class Compared:
    def __init__(self, *arguments):
        self.folder = temporary_folder()
        # In a session of its own: a file also holds what else runs in it, and a report in text is of the heaviest.
        self.process = start([f"{TARGETS}/s_swings", *arguments], env=environment(LD_PRELOAD=AGENT),
                             start_new_session=True)
        self.born = time.monotonic()
        self.target = ["-p", str(self.process.pid)]
        wait_for(lambda: not run([MEMTOP, "report", *self.target], stdout=-3, stderr=-3).returncode, 20, "its server")
        self.first = self.viewer()
        self.recorder = recording(arguments=self.target, path=f"{self.folder}/recorded.mtop", stdout=-3, stderr=-3)
        self.marks = 0

    def viewer(self):
        t = Terminal([MEMTOP, *self.target], 160, 36)
        at_end(t.close)
        t.wait_for(lambda lines: "LIVE" in lines[0], 30)
        return t

    def mark(self):
        """In the program's own period."""
        if time.monotonic() - self.born > PERIOD * (self.marks + 1):
            self.marks += 1
            run([MEMTOP, "mark", *self.target], stdout=-3)

    def wait(self, seconds):
        def is_old():
            self.mark()
            return time.monotonic() - self.born > seconds
        wait_for(is_old, seconds + 60, "its age")

    def live(self, late):
        """All that look at the process, before the agent takes its next sample; None: it came between."""
        before = verdict(self.target)
        said = [line_2(self.first), line_2(late), *in_text(self.target)]
        after = verdict(self.target)
        if before["at_s"] != after["at_s"] or not before["at_s"]:
            return None
        assert before == after, (before, after)
        return before, said

    def judge(self, late, word):
        got = []

        def quiet():
            self.mark()
            got[:] = self.live(late) or []
            return got and all(shown(got[0]["text"]) in s for s in got[1])

        wait_for(quiet, 90, "the same words by everybody between two samples")
        assert got[0]["word"] == word, got
        assert len(got[1]) == 3, got
        return got[0]


def live_and_files(c, word):
    c.wait(AGE)
    late = c.viewer()
    first = c.judge(late, word)
    names = []

    def files():
        """Written between two samples, like what is compared with them."""
        before = verdict(c.target)
        saved = f"{c.folder}/saved-{len(names)}.mtop"
        names.append(saved)
        late.keys("w")
        late.wait_for("Save as")
        late.prompt(saved, "C-u")
        late.wait_for(f"saved: {saved}")
        return before if verdict([saved])["at_s"] == before["at_s"] == verdict(c.target)["at_s"] else None

    before = wait_for(files, 90, "a file of one sample")
    saved = names[-1]
    c.recorder.send_signal(signal.SIGINT)
    c.recorder.wait(60)
    assert verdict([saved]) == before, (verdict([saved]), before)
    assert in_text([saved]) == [shown(before["text"])]
    with Terminal([MEMTOP, "open", saved], 160, 36) as t:
        t.wait_for(lambda lines: shown(before["text"]) in shown(lines[1]), 20, before["text"])
    recorded = verdict([f"{c.folder}/recorded.mtop"])
    assert recorded["word"] == word == first["word"], (recorded, first)
    with Terminal([MEMTOP, "open", f"{c.folder}/recorded.mtop"], 160, 36) as t:
        t.wait_for(lambda lines: shown(recorded["text"]) in shown(lines[1]), 20, recorded["text"])
    assert c.marks >= 5


@mostly_waits
def t_of_a_saw_tooth_with_marks_in_its_period():
    live_and_files(Compared(str(PERIOD * 1000), "0"), "UP AND DOWN")


@mostly_waits
def t_of_a_leak_beneath_a_saw_tooth():
    live_and_files(Compared("2000", "4000"), "GROWING")


if __name__ == "__main__":
    main()
