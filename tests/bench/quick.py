#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""quick.py - what watching costs: four programs, plain and under each tool, in turns.

Each round runs plain and then every tool once, in an order that turns from round to round; a tool's
ratio is taken against the plain run of its own round, so that a machine that changes its speed
changes both. Printed: the median of the rounds and its 95 % interval (order statistics of the
binomial), no run dropped. cpu = user + system of all processes; peak = the largest single process.
The agent's server listens, nobody is connected.

    quick.sh [ROUNDS]
"""
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from math import comb

BUILD = os.environ["BUILD"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LUA = ("local t = {} for i = 1, 450000 do t[i % 50000 + 1] = {i, {n = 'k' .. i}, tostring(i * 7)} end"
       " print(#t)")
PERL = "my %h; for my $i (1..900000) { push @{$h{$i % 30011}}, 'v' . $i; $h{'n' . $i % 9973} = [$i] } print scalar(keys %h), qq(\\n)"


def programs(folder):
    data = os.path.join(folder, "data.json")
    with open(data, "w", encoding="ascii") as f:
        for i in range(180000):  # piece by piece: a child's peak starts with ours
            f.write('%s{"id":%d,"name":"item %d","tags":["a%d","b","c"],"at":{"x":%d,"y":%d.5}}'
                    % ("," if i else "[", i, i, i % 97, i % 1000, i % 777))
        f.write("]")
    return [("lua", ["lua5.4", "-e", LUA]),
            ("perl", ["perl", "-e", PERL]),
            ("jq", ["jq", "-c", "map(.at.x + .id) | add", data]),
            ("many-live", [os.path.abspath(os.path.join(BUILD, "bench/many_live"))])]


def tools(folder):
    plain = {"PATH": "/usr/bin:/bin", "HOME": folder, "LC_ALL": "C", "PERL_HASH_SEED": "0"}
    agent = os.path.abspath(os.path.join(BUILD, "libmemtop-agent.so"))
    forward = os.path.abspath(os.path.join(BUILD, "bench/forward.so"))
    found = [("plain", [], plain), ("forward", [], {**plain, "LD_PRELOAD": forward}),
             ("memtop", [], {**plain, "LD_PRELOAD": agent})]
    if shutil.which("heaptrack"):
        found.append(("heaptrack", ["heaptrack", "-o", os.path.join(folder, "h")], plain))
    return found


def measure(command, env, folder):
    """(wall s, cpu s, peak KiB)"""
    begin = time.monotonic()
    process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    if status:
        sys.exit(f"quick: {command[0]} ended with {status}: {said[-300:]!r}")
    for name in os.listdir(folder):
        if name.startswith("h.") or name == "h":
            os.unlink(os.path.join(folder, name))
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def interval(values):
    """Median and the order statistics that enclose it with 95 %."""
    v, n = sorted(values), len(values)
    below = 0
    while below + 1 < n / 2 and sum(comb(n, i) for i in range(below + 1)) / 2 ** n <= 0.025:
        below += 1
    low = max(0, below - 1)
    return statistics.median(v), v[low], v[n - 1 - low]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory(prefix="memtop-bench-") as folder:
        print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cpus, {platform.machine()}, Linux {platform.release()}, "
              f"{rounds} rounds; median ratio to the plain run [95 % interval]\n")
        print("| program (plain cpu) | tool | time | cpu | peak memory |\n|---|---|---:|---:|---:|")
        added = {}
        for name, command in programs(folder):
            variants, ratios, plain_cpu = tools(folder), {}, []
            for r in range(rounds + 1):
                seen = {}
                for i in range(len(variants)):
                    tool, prefix, env = variants[(i + r) % len(variants)]
                    seen[tool] = measure(prefix + command, env, folder)
                if r == 0:
                    continue  # fills the page cache
                plain_cpu.append(seen["plain"][1])
                for tool in seen.keys() - {"plain"}:
                    ratios.setdefault(tool, []).append([a / b for a, b in zip(seen[tool], seen["plain"])])
            for tool, _, _ in variants[1:]:
                columns = [interval([row[k] for row in ratios[tool]]) for k in range(3)]
                added[name, tool] = columns[1][0] - 1
                print(f"| {name} ({statistics.median(plain_cpu):.2f} s) | {tool} | " +
                      " | ".join(f"{m:.2f} [{lo:.2f} {hi:.2f}]" for m, lo, hi in columns) + " |", flush=True)
        for name, _ in programs(folder):
            if (name, "heaptrack") in added:
                print(f"\n{name}: added cpu is {added[name, 'memtop'] / added[name, 'heaptrack']:.2f} of heaptrack's", end="")
        print()


if __name__ == "__main__":
    main()
