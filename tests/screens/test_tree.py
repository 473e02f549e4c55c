#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_tree.py - the call tree: rows opened, zoomed, filtered, sorted, copied, edited."""
import os
import re

from harness import BUILD, Synthetic, main, temporary_folder, test, wait_for
from term import command, select_by_search, selected, view, running


@test
def t_tree_opens_closes_and_inverts():
    agent = Synthetic("--past", 120, "--still")
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        t.keys("2")
        t.wait_for("main")
        t.keys("g", "*")
        t.wait_for("new_vertex_array")
        select_by_search(t, "new_vertex_array")
        t.keys("Escape", "C")  # all, wherever the cursor is
        t.wait_for(lambda lines: "▶ main" in (selected(lines) or "") and not any("▼" in line[30:] for line in lines[5:]))
        t.keys("Right")
        t.keys("*")
        t.wait_for("new_vertex_array")
        t.keys("i")
        t.wait_for("inverted")
        t.keys("i")
        t.wait_gone("inverted")


@test
def t_zoom_in_and_out():
    agent = Synthetic("--past", 120, "--still")
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        t.keys("4")
        t.wait_for(re.compile(r"C libtile.so.2|B libtile.so.2|A libtile.so.2"))
        t.keys("/")
        t.type("libtile")
        t.wait_for("1 hit")
        t.keys("Enter", "Enter")
        t.wait_for("in libtile.so.2")
        t.wait_for(lambda lines: any("new_vertex_array" in line for line in lines[5:]))
        t.wait_for(lambda lines: not any("tile_cache_put" in line for line in lines[5:]), 10, "nothing of mapd")  # but in line 2
        select_by_search(t, "tile_decode")
        t.keys("o")
        t.wait_for("in libtile.so.2 > tile_decode")
        # another library: instead of the first, and all of it
        t.keys("4")
        select_by_search(t, "mapd")
        t.keys("Enter")
        t.wait_for(re.compile(r" in mapd$", re.M))
        t.wait_for("load_config")
        t.keys("BSpace")
        t.wait_gone(" in mapd")
        t.wait_for("new_vertex_array")
        t.keys("BSpace")
        t.wait_for("new_vertex_array")


@test
def t_inlined_functions_are_merged():
    """I keeps open and selected rows that still exist; a zoom into an inlined row ends."""
    with running([BUILD + "/demo/mapd", "60"]) as t:
        t.wait_for("new_vertex_array", 15)
        t.keys("2")
        t.wait_for(re.compile("FUNCTION.*\\n.* serve_tile "))  # the heaviest by now: rows keep their order from the first key on
        seen = [None]

        def opened(lines):  # names that come late make more to open
            text = "\n".join(lines)
            if lines != seen[0]:
                seen[0] = lines
                t.keys("g", "*")
            return "read_ring inlined" in text and "draw_tile inlined" in text and "new_vertex_array" in text

        t.wait_for(opened, 20)
        select_by_search(t, "tile_decode")
        t.keys("Escape")
        t.keys("I")
        t.wait_for("inlined functions: merged")
        t.wait_for((re.compile(r"^>.*▼ tile_decode .*\n(.*\n){1,3}.* new_vertex_array ", re.M), lambda lines: "inlined left out" in lines[4]),
                   without=lambda lines: any(" inlined " in line or "read_ring" in line for line in lines[5:-1]))
        t.keys("I")
        t.wait_for("inlined functions: separate rows")
        t.wait_gone("inlined left out")
        t.wait_for(lambda lines: "tile_decode" in (selected(lines) or "") and any("read_ring inlined" in line for line in lines))
        # one that goes: then what it is part of
        select_by_search(t, "draw_tile")
        t.keys("Escape", "I")
        t.wait_for(lambda lines: "start_thread > work" in (selected(lines) or ""))  # serve_tile is inlined there, too
        t.keys("I")
        t.wait_for("draw_tile inlined")
        select_by_search(t, "read_feature")
        t.keys("Escape", "o")
        t.wait_for("in read_feature")
        t.keys("3")
        t.wait_for("[3 Sites]")
        command(t, "inlined off")
        t.wait_for("inlined functions: merged")
        t.keys("2")
        t.wait_for(lambda lines: "in read_feature" not in lines[4] and any("start_thread > work" in line for line in lines[6:-5]))
        # turned over, too: the allocation is in the function that has its code
        t.keys("i")
        t.wait_for("inverted")
        t.wait_for(lambda lines: not any(" inlined " in line for line in lines[5:-1]) and any("new_vertex_array" in line for line in lines))
        t.keys("I")
        t.wait_for("inlined functions: separate rows")
        t.keys("Q")


@test
def t_a_threads_tree_and_what_is_called_most():
    agent = Synthetic("--past", 60, "--still")
    with view(agent, 120, 36) as t:
        t.wait_for("new_vertex_array")
        t.keys("6")
        t.wait_for(re.compile(r"\n> +.*(?:mapd|logger)"))
        t.keys("Enter")
        t.wait_for("[2 Tree]")
        t.wait_for(re.compile(r"filter: thread:\d+"))
        t.keys("Escape", "T")
        t.wait_for(re.compile(r"\[3 Sites\](.*\n)+.*CALLS/s▼"))
        t.keys("1", "T")
        t.wait_for(re.compile(r"\[3 Sites\](.*\n)+.*CALLS/s▼"))
        t.keys("T")
        t.wait_for(re.compile(r"LIVE▼"))


@test
def t_filter_and_escape():
    agent = Synthetic("--past", 120, "--still")
    with view(agent) as t:
        t.wait_for("new_vertex_array")
        t.keys("3")
        t.wait_for("logger_run")
        t.prompt("vertex", "\\")
        t.wait_for("filter: vertex")
        t.wait_gone("log_line")
        t.prompt("no such thing", "\\", "C-u")
        t.wait_for("nothing matches the filter")
        t.keys("Escape")
        t.wait_gone("filter:")
        t.wait_for("new_vertex_array")


@test
def t_a_filter_is_completed():
    agent = Synthetic("--past", 60, "--still")
    with view(agent, 120, 36) as t:
        t.wait_for("new_vertex_array")
        for key in ("1", "3"):
            t.keys(key, "\\")
            t.wait_for("Filter (Tab completes):")
            t.type("li")
            t.keys("Tab")
            t.wait_for("Filter (Tab completes): lib:")
            t.type("til")
            t.keys("Tab")
            t.wait_for(re.compile(r"Filter \(Tab completes\): lib:libtile\S*"))
            t.type(" thr")
            t.keys("Tab")
            t.type("log")
            t.keys("Tab")
            t.wait_for(re.compile(r"lib:libtile\S* thread:logger"))
            t.keys("Tab")  # there is no other one: as it was typed
            t.wait_for(re.compile(r"lib:libtile\S* thread:log$", re.M))
            t.keys("Tab", "Enter")
            t.wait_for("filter: lib:libtile")
            t.keys("Escape")
            t.wait_gone("filter: ")


def ages_of(lines, title, mark="▼"):
    """Seconds in the column of ages that is sorted by, of the rows that have one; None: nothing is sorted by it so."""
    head = next((i for i, line in enumerate(lines) if re.search(title + mark, line)), None)
    if head is None:
        return None
    end = lines[head].index(mark) + 1
    found = [re.search(r"([\d.]+) (s|min|h)$", line[:end]) for line in lines[head + 1:-5]]
    return [float(m[1]) * {"s": 1, "min": 60, "h": 3600}[m[2]] for m in found if m]


@test
def t_sorted_by_age():
    """All sites, also those that were never on the screen: the oldest first, or the youngest."""
    agent = Synthetic("--past", 120, "--paths", 300)

    def first(lines, title, down):
        ages = ages_of(lines, title, "▼" if down else "▲")
        return ages[0] if ages and len(ages) > 3 and ages == sorted(ages, reverse=down) else None

    with view(agent, 160, 16) as t:
        t.wait_for("[1 Overview]")
        t.keys("3")
        t.wait_for("[3 Sites]")
        for title in ("AGE", "OLDEST"):
            head = t.wait_for("▼")
            while f"{title}▼" not in head:
                t.keys(">")
                head = t.wait_for(lambda lines, was=head: next((x for x in lines if "▼" in x and x != was), None))
            oldest = t.wait_for(lambda lines: first(lines, title, True), 15)
            t.keys("r")
            t.wait_for(lambda lines: (first(lines, title, False) or oldest) < oldest, 15)
            t.keys("r")
            t.wait_for(lambda lines: first(lines, title, True) == oldest, 15)
        t.keys("2", "g", "*", *[">"] * 6)
        t.wait_for(lambda lines: ages_of(lines, "OLDEST"))


@test
def t_a_stack_is_copied():
    agent = Synthetic("--past", 60)
    with view(agent, 120, 36) as t:
        t.wait_for("new_vertex_array")
        t.tmux("set", "-s", "set-clipboard", "on")
        for key in ("1", "2", "3"):
            t.keys(key)
            select_by_search(t, "new_vertex_array")
            t.tmux("set-buffer", "empty")
            t.keys("y")
            said = t.wait_for(re.compile(r"(\d+) frames copied .*saved in (/\S*)"))
            with open(said[2], encoding="utf-8") as f:
                text = f.read()
            assert len(text.splitlines()) == int(said[1]) > 2, text
            assert re.match(r"#0 +new_vertex_array at /\S+\.c:\d+ in \S+\+0x[0-9a-f]+\n#1 ", text), text
            wait_for(lambda want=text: t.tmux("show-buffer") == want, 5, "the clipboard")
        t.keys("4", "y")
        t.wait_for("no call path selected")


@test
def t_the_editor_opens_at_the_row():
    """A row in the middle of the tree opens its own line, not the innermost callee's."""
    folder = temporary_folder()
    with open(folder + "/editor", "w", encoding="ascii") as f:
        f.write(f'#!/bin/sh\ntrap "" INT\necho "$@" >{folder}/asking; mv {folder}/asking {folder}/asked\nprintf "EDITING"\nread line\n')
    os.chmod(folder + "/editor", 0o755)
    agent = Synthetic("--past", 60)
    with view(agent, 120, 36, env={"EDITOR": folder + "/editor", "VISUAL": ""}) as t:
        for name in ("new_vertex_array", "tile_decode"):
            t.wait_for("new_vertex_array")
            t.keys("2")
            t.wait_for("[2 Tree]")
            select_by_search(t, name)
            t.keys("e")
            wait_for(lambda: os.path.exists(folder + "/asked"), 20, "the editor")  # the screen may have the last one's word
            t.wait_for("EDITING")
            t.keys("C-c")  # is not ours
            t.keys("Enter")
            t.wait_for("[2 Tree]")
            with open(folder + "/asked", encoding="utf-8") as f:
                line, path = re.match(r"\+(\d+) (/\S+)$", f.read()).groups()
            os.unlink(folder + "/asked")
            with open(path, encoding="utf-8") as f:
                above = f.read().splitlines()[:int(line)]
            assert any(re.search(rf"\b{name}\b", x) for x in above[-8:]), (name, path, line, above[-8:])
    with view(agent, 120, 36, env={"EDITOR": "no-such-editor", "VISUAL": ""}) as t:
        t.wait_for("new_vertex_array")
        t.keys("e")
        t.wait_for("no-such-editor: cannot be run")


if __name__ == "__main__":
    main()
