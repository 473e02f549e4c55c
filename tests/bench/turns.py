# SPDX-License-Identifier: MIT
"""turns.py - the pairing: plain and under each tool, in turns."""
from setting import PAIRS, Failed
from tools import PLAIN_TOOL


def in_turns(tools, measure, rounds=PAIRS):
    """({tool's name: [(plain, under the tool) of each round]}, {name of a tool that failed: why}).

    A round measures the plain program once and each tool once; the first two tools come right before and after the
    plain program. Every other round goes backwards, so that a machine that gets slower or faster favours nobody. A
    tool that fails takes part no more; when the plain program does, all ends.
    """
    order = [*tools[1:2], PLAIN_TOOL, *tools[:1], *tools[2:]]
    pairs, failed = {t.name: [] for t in tools}, {}
    for k in range(rounds):
        found = {}
        for tool in order if k % 2 == 0 else order[::-1]:
            if tool.name in failed:
                continue
            try:
                found[tool.name] = measure(tool)
            except Failed as error:
                if tool is PLAIN_TOOL:
                    raise
                failed[tool.name] = str(error)
                del pairs[tool.name]
        for name, taken in pairs.items():
            taken.append((found[PLAIN_TOOL.name], found[name]))
    return pairs, failed


def ratios(pairs):
    """Of each pair, what was measured under the tool to the same of the plain run."""
    return [[b / max(a, 1e-6) for a, b in zip(*pair)] for pair in pairs]
