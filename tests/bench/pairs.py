# SPDX-License-Identifier: MIT
"""pairs.py - what one pair of malloc and free costs, in ns and instructions; the start of a program; short cuts."""
import figures
import goals
import instructions
import tools
from setting import BUILD, Failed, built, output
from tools import ALL
from turns import in_turns

DEPTHS = (10, 30)


def nanoseconds(tool, words):
    said = output(["/usr/bin/env", *(f"{k}={v}" for k, v in tool.environment.items()), *words]) if not tool.prefix else \
        output(tool.prefix + words)
    tools.remove_heaptrack_files()
    return float(next(line for line in said.splitlines() if line.startswith("ns ")).split()[1])


def row(tool, depth, pairs):
    """pairs: those of one thread and of two, (plain, under the tool)."""
    one, two = ([b[k] - a[k] for a, b in pairs] for k in (0, 1))
    plus, ratio = figures.interval(one), figures.interval([b[1] / b[0] for _, b in pairs])
    name = f"pair, depth {depth}"
    judged = tool.name == "memtop"
    return (f"{tool.name}, depth {depth}", f"{figures.interval([b[0] for _, b in pairs]).median:.1f}", figures.text(plus, 1),
            goals.judge(f"{name}: added ns", plus, 1) if judged else "", figures.text(figures.interval(two), 1),
            figures.text(ratio), goals.judge(f"{name}: two threads to one", ratio) if judged else "")


def time_rows(chosen):
    """ns that a pair of malloc and free takes each thread, on one repeated stack."""
    rows = []
    able = [t for t in chosen if not t.missing()]
    slow = [t for t in able if t.name == "heaptrack"]
    for some, count in (([t for t in able if t not in slow], 10000000), (slow, 2000000)):
        for depth in DEPTHS:
            found, failed = in_turns(some, lambda tool, n=count, d=depth: tuple(
                nanoseconds(tool, [built("pairs"), str(n), str(d), "0", str(threads)]) for threads in (1, 2)))
            rows += [row(t, depth, found[t.name]) if t.name in found else (f"{t.name}, depth {depth}", "failed: " + failed[t.name])
                     for t in some]
            for r in rows[-len(some):] if some else ():
                print(f"  pair {r}", flush=True)
    return figures.table(["ns per malloc+free pair", "one thread", "added", "target", "added, two threads",
                          "two threads: each to one alone", "target"], rows)


def instruction_rows():
    values = instructions.added(BUILD)
    judged = [f"{shape}: {words}" for shape in instructions.SHAPES
              if (words := goals.judge(f"instructions of a pair, {shape}", figures.exact(values["cfi", shape]), 0))]
    return [*figures.table(["instructions per malloc+free pair (callgrind)", *instructions.SHAPES], instructions.rows(values)),
            f"Engine cfi: {', '.join(judged)}.", ""]


def start_rows(chosen):
    """ms that the start of /bin/true takes longer."""
    def milliseconds(tool):
        return tools.run(tool, ["/bin/true"], 3 if tool.name == "heaptrack" else 40).wall * 1000

    found, _ = in_turns([t for t in chosen if not t.missing()], milliseconds)
    rows = []
    for name, pairs in found.items():
        added = figures.interval([b - a for a, b in pairs])
        rows.append((name, figures.text(added), goals.judge("start: added ms", added) if name == "memtop" else ""))
        print(f"  start {rows[-1]}", flush=True)
    return figures.table(["start of /bin/true", "added, ms", "target"], rows)


def shortcut_rows():
    """What libc and libstdc++ do faster with one thread: still so under the agent?"""
    def timed(tool):
        text = output(["/usr/bin/env", *(f"{k}={v}" for k, v in tool.environment.items()), built("shortcuts")])
        return {what: float(value) for what, value in map(str.split, text.splitlines())}

    found, failed = in_turns([ALL["memtop"]], timed)
    if failed:
        raise Failed(failed["memtop"])
    rows, pairs = [], found["memtop"]
    for what in pairs[0][0]:
        if what != "single_threaded":
            columns = zip(*((a[what], b[what], b[what] / a[what]) for a, b in pairs))
            rows.append((what, *(figures.text(figures.interval(c), digits) for c, digits in zip(columns, (1, 1, 2)))))
    single = all(b["single_threaded"] == 1 for _, b in pairs)
    return [*figures.table(["ns each, one thread", "plain", "memtop", "ratio"], rows),
            f"`__libc_single_threaded` under the agent: {'true in every run' if single else 'FALSE'}", ""]
