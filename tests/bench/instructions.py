#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""instructions.py - counts, with callgrind, the instructions that the agent adds to a
malloc+free pair.

The count is the same on a busy machine, so it can be compared with a committed one. A pair's cost
is the difference of two runs of different length, which removes start-up; the same difference
without the agent is subtracted, which removes libc's version. valgrind fixes the addresses, the
environment is fixed and the program's name has a fixed length, so that caches indexed by address
behave alike.

"instrument" is a pair in functions that are noted when they are entered and left, above the same
program without the agent.

"cfi sampled" is a pair that sampling leaves out: the mean distance between samples is so long that
no run has one.

    instructions.py              prints the table, those of the tree beside the committed ones
    instructions.py --write      writes instructions.txt
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COMMITTED = os.path.join(HERE, "instructions.txt")
FEW, MANY = 10000, 30000
SHAPES = {"depth 10": (10, 0), "depth 30": (30, 0), "depth 10, 3 new frames": (10, 3), "depth 30, 3 new frames": (30, 3)}
OPTIONS = {"cfi": "unwind=cfi", "caller": "unwind=caller", "cfi sampled": "unwind=cfi sample=1000g", "instrument": "unwind=instrument"}
# The program without the agent that an engine's counts are above: NOTED is built with -finstrument-functions.
NOTED = "instrumented"
PLAIN = {"instrument": NOTED}
ROWS = [(e, s) for e in (None, "cfi", "caller") for s in SHAPES] + [("cfi sampled", "depth 10")] + [
    (e, s) for e in (NOTED, "instrument") for s in ("depth 10", "depth 30", "depth 10, 3 new frames")]
LOADER = "/lib64/ld-linux-x86-64.so.2"


def total(folder, engine, pairs, shape):
    """Instructions of a whole run; engine None or NOTED: without the agent."""
    # The loader takes the agent: by LD_PRELOAD valgrind's own launcher would have it, and its tool is static.
    environment = {"PATH": "/usr/bin:/bin", **({"MEMTOP_OPTIONS": f"listen=none {OPTIONS[engine]}"} if engine in OPTIONS else {})}
    words = ["/usr/bin/valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", LOADER,
             *(["--preload", "./agent.so"] if engine in OPTIONS else []),
             "./noted" if NOTED in (engine, PLAIN.get(engine)) else "./pairs", str(pairs), *map(str, shape)]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    found = [line.split()[-1] for line in done.stderr.splitlines() if "Collected : " in line]
    if done.returncode or not found:
        raise RuntimeError(f"callgrind: status {done.returncode}: {done.stderr[-300:]}")
    return int(found[-1])


def added(build):
    """{(engine, shape): instructions added to a pair}; the plain ones under (None, shape), (NOTED, shape)."""
    folder = tempfile.mkdtemp(prefix="memtop-instr-")  # names of one length each time
    try:
        shutil.copy(os.path.join(build, "bench/pairs"), os.path.join(folder, "pairs"))
        shutil.copy(os.path.join(build, "bench/pairs-instrumented"), os.path.join(folder, "noted"))
        shutil.copy(os.path.join(build, "libmemtop-agent.so"), os.path.join(folder, "agent.so"))
        runs = [(*row, n) for row in ROWS for n in (FEW, MANY)]
        with ThreadPoolExecutor(2) as pool:
            totals = dict(zip(runs, pool.map(lambda r: total(folder, r[0], r[2], SHAPES[r[1]]), runs)))
    finally:
        shutil.rmtree(folder)
    per = {(e, s): (totals[e, s, MANY] - totals[e, s, FEW]) / (MANY - FEW) for e, s in ROWS}
    return {(e, s): v - per[PLAIN.get(e), s] if e in OPTIONS else v for (e, s), v in per.items()}


def compiler_of(build):
    """Of the agent's code: "gcc 12", say; "" where it does not tell."""
    text = subprocess.run(["readelf", "-p", ".comment", os.path.join(build, "libmemtop-agent.so")], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(clang) version (\d+)|GCC: \(.*\) (\d+)\.", text)
    return f"{found[1] or 'gcc'} {found[2] or found[3]}" if found else ""


def counted_by():
    """The compiler of the committed counts."""
    with open(COMMITTED, encoding="ascii") as f:
        return re.search(r"\bby (\w+ \d+):", f.read())[1]


def committed():
    """{(engine, shape): instructions}"""
    found = {}
    with open(COMMITTED, encoding="ascii") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                engine, shape, value = (w.strip() for w in line.split("|"))
                found[engine, shape] = float(value)
    return found


def write(values, compiler):
    with open(COMMITTED, "w", encoding="ascii") as f:
        f.write("# Instructions that the agent adds to a malloc+free pair (tests/bench/instructions.py --write).\n"
                f"# Counted by {compiler}: make check fails when one grows by more than 5 %, with another compiler 15 %.\n")
        for (engine, shape), value in values.items():
            if engine in OPTIONS:
                f.write(f"{engine} | {shape} | {value:.1f}\n")


def rows(values):
    """(engine, figure of each shape) for a table."""
    engines = dict.fromkeys(e for e, _ in values)
    names = {None: "the program without the agent", NOTED: "built with -finstrument-functions, without the agent"}
    return [(names.get(e, e), *(f"{'+' if e in OPTIONS else ''}{values[e, s]:.0f}" if (e, s) in values else "-" for s in SHAPES))
            for e in engines]


def main():
    build = os.path.join(ROOT, os.environ.get("BUILD") or "build/release")
    values = added(build)
    if "--write" in sys.argv[1:]:
        write(values, compiler_of(build))
    old = committed() if os.path.exists(COMMITTED) else {}
    for (engine, shape), value in values.items():
        print(f"{engine or 'plain':12} {shape:24} {value:8.1f}  committed {old.get((engine, shape), '-')}")


if __name__ == "__main__":
    main()
