#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_agent.py - memtop's cost and the quality of its stacks on the screen, equal to the
report's."""
import json
import platform
import re

from harness import MEMTOP, TARGETS, Skip, Synthetic, main, recorded, report, run, test
from term import Terminal, selected


def share(percent):
    """A share as the page shows it: cut off, never rounded up."""
    return "100" if percent == 100 else f"{int(percent * 10) / 10:.1f}"


def size(n):
    return f"{n / 1024:.1f}K" if n < 1 << 20 else f"{n / (1 << 20):.1f}M"


def percent(value, known, unknown):
    """null: a program that hardly ran."""
    return unknown if value is None else known.format(value)


def words_fit(lines):
    return not any(line.endswith(("…", "~")) for line in lines[4:])


@test
def t_line_3_has_the_agents_share_by_width():
    """80 columns have the share of whole stacks when some are not; 120 have the cost; 200 have all."""
    for options in ("depth=4", ""):
        path = recorded(f"{TARGETS}/s_sites", options=options)
        agent = report(path)["agent"]
        whole = f"stacks {share(agent['stacks']['whole_percent'])}%"
        assert (whole == "stacks 100%") == (not options), agent
        cost = f"agent {size(agent['memory_bytes'])}" + \
            percent(agent["overhead_percent"], " ~{:.1f}%", percent(agent["cpu"]["percent_of_core"], " ~{:.1f}% of a core", ""))
        for width, height in ((80, 24), (120, 36), (200, 60)):
            with Terminal([MEMTOP, "open", path], width, height) as t:
                t.wait_for(("0 lost", *([cost] if width > 80 else []), *([whole] if width > 80 or options else []),
                            *([f"cached {share(agent['stacks']['remembered_percent'])}%"] if width == 200 else [])))


@test
def t_the_agents_page_has_the_reports_figures():
    path = recorded(f"{TARGETS}/s_sites", options="depth=4")
    agent = report(path)["agent"]
    stacks, cpu = agent["stacks"], agent["cpu"]
    assert stacks["truncated"]
    for width, height, *more in ((80, 24), (80, 24, "--ascii"), (120, 36, "--theme", "mono"), (200, 60)):
        with Terminal([MEMTOP, "open", *more, path], width, height) as t:
            t.wait_for("0 lost")
            t.keys("A")
            page = [rf"whole +{share(stacks['whole_percent'])} % ",
                    rf"remembered +{share(stacks['remembered_percent'])} % ",
                    rf"frames walked +{stacks['frames_per_capture']:.1f} ",
                    rf"rules at hand +{share(stacks['pc_hit_percent'])} % ",
                    rf"steps at hand +{share(stacks['edge_hit_percent'])} % ",
                    r"both +" + percent(cpu["percent_of_program"], "~{:.1f} % ",
                                        percent(cpu["percent_of_core"], "~{:.1f} %  of one core", "- ")),
                    *(rf"^ +{c['blocks']:,} +{re.escape(c['module'])} +{c['reason']}$" for c in stacks["truncated"])]
            t.wait_for(("Lost: nothing", words_fit, *(re.compile(line, re.M) for line in page)))
            t.keys("q")
            t.wait_gone("Lost: nothing")
            t.type(":agent")
            t.keys("Enter")
            t.wait_for("Lost: nothing")


@test
def t_memory_by_part():
    """The agent's parts, by its names, sum to the header's figure."""
    agent = Synthetic("--past", 60)
    said = json.loads(run([MEMTOP, "report", "--format", "json", agent.address]).stdout)["agent"]
    assert [p["part"] for p in said["memory"]] == ["live map", "stacks"], said
    assert sum(p["bytes"] for p in said["memory"]) == said["memory_bytes"] > 0, said
    sizes = [size(p["bytes"]) for p in said["memory"]]
    assert f"of it {sizes[0]} live map, {sizes[1]} stacks\n" in run([MEMTOP, "report", "--full", agent.address]).stdout
    with Terminal([MEMTOP, agent.address], 120, 36) as t:
        t.wait_for("0 lost")
        t.keys("A")
        t.wait_for(re.compile(rf"Its memory\n +{sizes[0]}  live map\n +{sizes[1]}  stacks\n"))


@test
def t_the_page_counts_frames_by_pointer():
    """Code without unwind tables: how many stacks it is in, and which frames of one."""
    if platform.machine() != "x86_64":
        raise Skip("frame pointers that prove themselves are x86-64's")
    path = recorded(f"{TARGETS}/s_no_tables")
    found = report(path)["agent"]["stacks"]["by_fp_percent"]
    for width, height in ((80, 24), (120, 36)):
        with Terminal([MEMTOP, "open", path], width, height) as t:
            t.wait_for("0 lost")
            t.keys("A")
            t.wait_for((re.compile(rf"by pointer +{share(found)} % "), words_fit))
            t.keys("q")
            t.wait_gone("by pointer")
            t.keys("2", "/")
            t.type("asm_keeps")
            t.keys("Enter")
            t.wait_for(lambda lines: "asm_keeps" in (selected(lines) or ""))
            t.keys("v")
            t.wait_for(("Stack, innermost first", "main (fp)"))


if __name__ == "__main__":
    main()
