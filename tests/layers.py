#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""layers.py BUILD [--graph] - checks the dependencies between parts, folders and files, from the
objects' symbols and the includes.

layers.txt gives the order. No part uses a forbidden one; no folder uses one above it; no files of a
folder form a cycle, except those that layers.txt lists with a reason; only one folder knows a
library. --graph prints which folder uses which, and how many of its symbols."""
import collections
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = {"agent": (), "backend": (), "tui": ("backend",)}  # and include/: what each may use besides itself
LIBRARIES = {  # header: where it may be included
    r"<(ncurses|curses|ncursesw/)": "tui/", r"<elfutils/libdw": "backend/symbols/", r"<event2/": "backend/(base/loop|link/conn|serve/(http|head))",
    r"<jansson": "backend/(report/json|diff/formats/json|check/formats/json|serve/json|mcp/)", r"<zstd": "backend/session/", r"<zlib": "backend/report/"}


def read_order(path):
    """({part: [folder, ...]}, {folder: {file, ...} of its listed cycles})."""
    orders, cycles = {}, collections.defaultdict(set)
    with open(path, encoding="utf-8") as f:
        for line in f:
            words = line.split("#")[0].split()
            if not words:
                continue
            if words[0] == "cycle":
                cycles[words[1].rstrip(":")].update(words[2:])
            else:
                orders[words[0].rstrip(":")] = words[1:]
    return orders, cycles


def symbols(path):
    """(defined, used) global names of an object."""
    defined, used = set(), set()
    for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines():
        kind, name = line.split()[-2:]
        if kind in "Uw":
            used.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, used


def objects(build, part):
    """{source without its extension: object}, without objects linked only into something else."""
    found = glob.glob(f"{build}/{part}/**/*.o", recursive=True)
    names = {os.path.relpath(o, build)[:-2]: o for o in found}
    return {n: o for n, o in names.items() if os.path.exists(n + ".c") and not n.startswith(("agent/linked/", "agent/loaded/"))}


def symbol_graph(build, part):
    """{file: {file: {symbol}}} within a part. A hook has a libc function's name, so a call of that
    name is no use of the hook."""
    owner, used = {}, {}
    for name, path in objects(build, part).items():
        defined, used[name] = symbols(path)
        owner.update({s: name for s in defined if part != "agent" or not name.startswith(("agent/hooks/", "agent/process/")) or s.startswith("mt_")})
    graph = {name: collections.defaultdict(set) for name in used}
    for name, wanted in used.items():
        for s in wanted & owner.keys():
            if owner[s] != name:
                graph[name][owner[s]].add(s)
    return graph


def includes(part):
    """[(file, included, its part)]; headers of the system are not among them."""
    found = []
    for path in sorted(glob.glob(f"{part}/**/*.[ch]", recursive=True)):
        with open(path, encoding="utf-8") as f:
            for name in re.findall(r'#include "([^"]+)"', f.read()):
                of = next((p for p in (part, *[p for p in PARTS if p != part]) if os.path.exists(f"{p}/{name}")), None)
                if of:
                    found.append((path, f"{of}/{name}", of))
    return found


def folder(path):
    return "/".join(path.split("/")[1:-1])


def components(nodes, edges):
    """Sets of more than one node that reach each other (Tarjan 1972)."""
    index, low, stack, out = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in edges.get(v, ()):
            if w in nodes and w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            cut = stack.index(v)
            if len(stack) - cut > 1:
                out.append(set(stack[cut:]))
            del stack[cut:]

    sys.setrecursionlimit(10000)
    for v in sorted(nodes):
        if v not in index:
            visit(v)
    return out


def check_part(build, part, orders, cycles):
    order, wrong = {f: rank for rank, f in enumerate(orders[part])}, []
    graph = symbol_graph(build, part)
    if not graph:
        return [f"no objects in {build}/{part}; build first"], graph
    wrong += [f"{f}: its folder stands not in tests/layers.txt" for f in sorted(graph) if folder(f + ".o") not in order]
    arrows = [(a, b, " ".join(sorted(s))) for a in graph for b, s in graph[a].items()]
    arrows += [(p[:-2], i[:-2], "#include") for p, i, of in includes(part) if of == part]
    for a, b, why in sorted(arrows):
        at, to = folder(a + ".o"), folder(b + ".o")
        if at in order and to in order and order[to] > order[at]:
            wrong.append(f"{a} uses {b}, which is above it: {why}")
    for at in order:
        inside = {f for f in graph if folder(f + ".o") == at}
        for found in components(inside, graph):
            names = {os.path.basename(f) for f in found}
            if not names <= cycles.get(f"{part}/{at}", set()):
                wrong.append(f"{part}/{at}: a cycle: {' '.join(sorted(names))}")
    for path, name, of in includes(part):
        if of != part and of not in PARTS[part]:
            wrong.append(f"{path} includes {name} of another part")
    return wrong, graph


def check_libraries():
    wrong = []
    for part in PARTS:
        for path in glob.glob(f"{part}/**/*.[ch]", recursive=True):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            wrong += [f"{path}: #include {pattern} belongs to {where}" for pattern, where in LIBRARIES.items()
                      if re.search("#include " + pattern, text) and not re.match(where, path)]
    return wrong


def print_graph(part, order, graph):
    sums = collections.Counter()
    for a in graph:
        for b, s in graph[a].items():
            sums[folder(a + ".o"), folder(b + ".o")] += len(s)
    for at in order:
        uses = " ".join(f"{to}({sums[at, to]})" for to in order if to != at and sums[at, to])
        print(f"  {part}/{at:<16} {sum(folder(f + '.o') == at for f in graph):3} files -> {uses}")


def main():
    os.chdir(os.path.join(HERE, ".."))
    build, graphs = sys.argv[1], "--graph" in sys.argv
    orders, cycles = read_order("tests/layers.txt")
    failed = False
    for part in PARTS:
        wrong, graph = check_part(build, part, orders, cycles)
        if graphs:
            print_graph(part, orders[part], graph)
        for line in wrong:
            print(f"FAIL layers {part}: {line}")
        failed |= bool(wrong)
        if not wrong:
            print(f"PASS layers {part}")
    wrong = check_libraries()
    for line in wrong:
        print(f"FAIL layers libraries: {line}")
    if not wrong:
        print("PASS layers libraries")
    sys.exit(failed or bool(wrong))


main()
