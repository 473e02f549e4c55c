# SPDX-License-Identifier: MIT
"""detached.py - the cost of malloc and free in one process: before `memtop attach`, under it, and
after `memtop detach`."""
import os
import subprocess

import figures
import goals
from setting import BUILD, FOLDER, PAIRS, PLAIN, Failed, built, output

MEMTOP = os.path.join(BUILD, "memtop")
COUNT = 5000000


def stage(process):
    process.stdin.write("\n")
    process.stdin.flush()
    words = process.stdout.readline().split()
    if len(words) != 2 or words[0] != "ns":
        raise Failed(f"stages ended in the middle: {words}")
    return float(words[1])


def rows():
    stages = {"before": [], "attached": [], "detached": []}
    for _ in range(PAIRS):
        with subprocess.Popen([built("stages"), str(COUNT)], env=PLAIN, cwd=FOLDER, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            try:
                stage(process)
                stages["before"].append(stage(process))
                output([MEMTOP, "attach", str(process.pid), "--no-view"])
                stages["attached"].append(stage(process))
                output([MEMTOP, "detach", str(process.pid)])
                stages["detached"].append(stage(process))
            finally:
                process.stdin.close()
    ratio = figures.interval([b / a for a, b in zip(stages["before"], stages["detached"])])
    judged = {"detached": (figures.text(ratio), goals.judge("pair after a detach: ns to before", ratio))}
    return figures.table(["ns per malloc+free pair, one process", "each", "to before", "target"],
                         [(name, figures.text(figures.interval(ns), 1), *judged.get(name, ("", "")))
                          for name, ns in stages.items()])
