# SPDX-License-Identifier: MIT
"""runs.py - the rows of programs that run to their end, and sentences over six of them."""
import figures
import goals
import tools
from setting import PAIRS, Failed
from tools import PLAIN_TOOL
from turns import in_turns, ratios
from workloads import SLOW

HEAD = ["program: tool", "plain cpu, s", "time", "cpu of all processes", "peak memory, largest process", "target"]
WHAT = ("time", "cpu", "peak")
JUDGED = {"memtop": "", "memtop-sampled": ", sampled"}


def one_line(error):
    return " ".join(str(error).split())[-120:].replace("|", "/")


class Programs:
    """pairs[program, tool]: a list of (time, cpu, peak) ratios; rows: those of the table."""

    def __init__(self):
        self.pairs, self.rows = {}, []

    def row(self, *cells):
        self.rows.append((*cells, *[""] * (len(HEAD) + 1 - len(cells))))
        print("  " + " | ".join(map(str, cells)), flush=True)

    def judge(self, program, tool, columns):
        if tool.name not in JUDGED:
            return ""
        said = ((what, goals.judge(f"{program}{JUDGED[tool.name]}: {what}", column)) for what, column in zip(WHAT, columns))
        return ", ".join(f"{what} {words}" for what, words in said if words)

    def measured(self, workload, tool, pairs, note):
        self.pairs[workload.name, tool.name] = ratios(pairs)
        columns = [figures.interval(c) for c in zip(*self.pairs[workload.name, tool.name])]
        plain = figures.interval([a.cpu for a, _ in pairs]).median
        judged = "; ".join(filter(None, (self.judge(workload.name, tool, columns), note)))
        self.row(workload.name, tool.name, f"{plain:.2f}", *map(figures.text, columns), judged)

    def turns(self, workload, chosen, command):
        """All these tools in turns, on the same command."""
        notes, able = {}, []
        for tool in chosen:
            try:
                if tool.missing():
                    self.row(workload.name, tool.name, tool.missing())
                    continue
                if tool.name == "heaptrack":
                    notes[tool.name] = heaptrack(command)
                able.append(tool)
            except Failed as error:
                self.row(workload.name, tool.name, f"failed: {one_line(error)}")
        if not able:
            return
        pairs, failed = in_turns(able, lambda tool: tools.run(tool, command))
        for tool in able:
            if tool.name in failed:
                self.row(workload.name, tool.name, f"failed: {one_line(failed[tool.name])}")
            else:
                self.measured(workload, tool, pairs[tool.name], notes.get(tool.name))

    def program(self, workload, chosen):
        if workload.missing():
            self.row(workload.name, "all", workload.missing())
            return
        try:
            tools.same_output(workload.small)
            slow = [t for t in chosen if t.name in SLOW and workload.small != workload.command]
            self.turns(workload, [t for t in chosen if t not in slow], workload.command)
            self.turns(workload, slow, workload.small)
        except Failed as error:
            self.row(workload.name, "all", f"failed: {one_line(error)}")

    def table(self):
        return figures.table(HEAD, [(f"{r[0]}: {r[1]}", *r[2:]) for r in self.rows])

    def together(self):
        """Sentences over the six."""
        def all_six(tool):
            return all((n, tool) in self.pairs for n in goals.SIX)

        lines = []
        if all_six("memtop"):
            means = figures.interval([figures.geometric_mean([self.pairs[n, "memtop"][k][0] for n in goals.SIX])
                                      for k in range(PAIRS)])
            lines.append(f"- six programs, geometric mean of time: {figures.text(means)}; "
                         f"{goals.judge('six programs: geometric mean of time', means)}")
        if all_six("memtop") and all_six("heaptrack"):
            parts = figures.interval([figures.interval([self.part(n, k) for n in goals.SIX]).median for k in range(PAIRS)])
            lines.append(f"- added cpu as a part of heaptrack's, median of the six: {figures.text(parts, 3)}; "
                         f"""{goals.judge("six programs: added cpu as a part of heaptrack's", parts, 3)}""")
        return [*lines, ""] if lines else []

    def part(self, name, k):
        """Of what heaptrack adds to a program's cpu in a round, what memtop adds."""
        mine, theirs = (self.pairs[name, tool][k][1] - 1 for tool in ("memtop", "heaptrack"))
        return mine / theirs


def heaptrack(command):
    """That it saw the program; and the peak of the target, which the column does not show."""
    blocks = tools.blocks_by_memtop(command)
    seen, own_kib = tools.heaptrack_saw(command)
    if seen < blocks * 0.9:
        raise Failed(f"heaptrack saw {seen} of {blocks} blocks: its figures say nothing")
    plain = tools.run(PLAIN_TOOL, command).peak
    return f"saw {seen} of {blocks} blocks; the target's own peak {own_kib / plain:.2f}"
