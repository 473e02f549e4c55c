#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""session.py - what a long session costs to read: reports, the first screen, the history behind it.

programs/session.c writes the session: PATHS call paths (131,000), CHANGED of which change per tick (1,000: 20,000
events a second), for SECONDS (600). REFERENCE=PATH names another memtop to measure beside this build's, in turns.
The figures are seconds: the best of RUNS (5), since anything else on the machine only adds to them; `cpu` is what the
process itself used. What takes longest, the JSON report and the history behind the first screen, runs once. The file is
in the page cache.
"""
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import figures
from setting import BUILD, FOLDER, ROOT, Failed, built, output

sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import keytime  # noqa: E402

RUNS = int(os.environ.get("RUNS") or 5)
PATHS, CHANGED, SECONDS = (os.environ.get(name) or default for name, default in
                           (("PATHS", "131000"), ("CHANGED", "1000"), ("SECONDS", "600")))
GOALS = {"text report": 1.0, "open: first screen": 0.5}
ENV = {**os.environ, "XDG_STATE_HOME": FOLDER, "XDG_CONFIG_HOME": FOLDER}


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(run):
    """(seconds, seconds of cpu) of a process that run() starts and awaits."""
    begin, cpu = time.monotonic(), children()
    run()
    return time.monotonic() - begin, children() - cpu


def report(memtop, session, kind):
    path = os.path.join(FOLDER, "report." + kind)
    with open(path, "wb") as out:
        subprocess.run([memtop, "report", "-f", kind, session], stdout=out, env=ENV, check=True)
    return path


def shown(lines):
    """The last state stands on the screen: its time in the header, and what is live."""
    return "EXITED 0 at" in lines[0] and any(re.match(r" Live \d", line) for line in lines)


def used(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        ticks = f.read().rsplit(")", 1)[1].split()
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


def view(memtop, session, behind):
    """[(seconds, seconds of cpu)]: the first screen and, if wanted, the history that is read behind it."""
    begin = time.monotonic()
    driven = keytime.Driven([memtop, "open", session], 120, 36)
    found = []
    try:
        for test in (shown, lambda lines: "reading" not in lines[0])[:1 + behind]:
            if driven.wait(test, 300) is None:
                raise Failed("memtop open:\n" + "\n".join(driven.screen.lines()))
            found.append((time.monotonic() - begin, used(driven.pid)))
            driven.think(0.5 if behind else 0)
    finally:
        os.kill(driven.pid, signal.SIGKILL)
        os.waitpid(driven.pid, 0)
        os.close(driven.fd)
    return found


def measure(memtops, session):
    """{row: [figure of each memtop]}"""
    rows = {}

    def best(row, at, value):
        list_ = rows.setdefault(row, [None] * len(memtops))
        list_[at] = value if list_[at] is None else min(list_[at], value)

    for run in range(RUNS):
        for at, memtop in enumerate(memtops):
            whole, cpu = timed(lambda m=memtop: report(m, session, "text"))
            best("text report", at, whole)
            best("text report, cpu", at, cpu)
            for row, (whole, cpu) in zip(("open: first screen", "open: history behind it"), view(memtop, session, not run)):
                best(row, at, whole)
                best(row + ", cpu", at, cpu)
            if not run:
                whole, _ = timed(lambda m=memtop: report(m, session, "json"))
                best("json report", at, whole)
                best("json report, MB", at, os.path.getsize(os.path.join(FOLDER, "report.json")) / 1e6)
    return rows


def main():
    session = os.path.join(FOLDER, "bench.mtop")
    said = output([built("session"), session, PATHS, CHANGED, SECONDS]).strip()
    memtops = [os.path.join(BUILD, "memtop"), *filter(None, [os.environ.get("REFERENCE")])]
    print(f"{said}; {os.path.getsize(session) / 1e6:.1f} MB with its index; load before {os.getloadavg()[0]:.1f}\n")
    rows = measure(memtops, session)
    head = ["seconds, best of " + str(RUNS), "this build", *["reference"][:len(memtops) - 1], "goal"]
    print("\n".join(figures.table(head, [(row, *(f"{v:.2f}" for v in found), f"{GOALS[row]:.1f}" if row in GOALS else "")
                                         for row, found in rows.items()])))


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
