#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_screen.py - the live view in a real terminal on a synthetic agent: keys in, screen out."""
import os
import re
import signal

from harness import BUILD, MEMTOP, Synthetic, child_of, main, read_report, temporary_folder, test, wait_for
from term import Terminal, selected, view, running

SIZES = [(80, 24), (120, 36), (40, 10)]


def in_shell(agent, width=80, height=24, term="tmux-256color", before=""):
    """The same below a shell that says how it ended and keeps the screen."""
    return Terminal(["sh", "-c", f"{before} {MEMTOP} {agent.address}; echo status=$?; exec sleep 60"], width, height,
                    term=term)


def wait_until_acted_on(t, log):
    """All keys that were sent: of a view with MEMTOP_KEYLOG."""
    wait_for(lambda: len(logged(log)) == t.sent, 10, "all keys in the log")


def logged(log, whole=False):
    """[when it was read, when it was answered] of each key; or [when all rows were drawn]."""
    if not os.path.exists(log):
        return []
    with open(log, encoding="ascii") as f:
        lines = [line.split() for line in f if line.endswith("\n")]
    return [int(w[1]) for w in lines if w[0] == "whole"] if whole else [list(map(int, w)) for w in lines if w[0] != "whole"]


def let_names_come(gate):
    with open(gate, "x", encoding="ascii"):
        pass


def selected_name(lines, column=-1):
    line = selected(lines)
    return line and re.search(r"sibling_\d\d", line) and re.search(r"sibling_\d\d", line).group()


@test
def t_first_screen_at_each_size():
    agent = Synthetic("--past", 700, "--past-marks", 3)
    for width, height in SIZES:
        with view(agent, width, height) as t:
            # a leak stands first, with a number in its row
            t.wait_for((re.compile(r"^>.*\d\.\d[KMG].*new_vertex_array", re.M), "1 Over", lambda lines: "Help" in lines[-1],
                        lambda lines: re.search(r"LIVE 0:\d\d:\d\d", lines[0]) and "0 lost" in lines[0]))


@test
def t_net_is_said_over_what():
    agent = Synthetic("--past", 700, "--past-marks", 3)
    with view(agent, 120, 36) as t:
        t.wait_for(re.compile(r"^.*\[1 Over.* steadily, NET over \d+ (s|min)\n.* NET ", re.M))
        t.keys("4")
        t.wait_for((re.compile("OWNER LIBRARY(.|\n)*libtile"), "NET over", " NET "))
    with view(agent, 40, 10) as t:
        t.wait_for("new_vertex_array", without="NET")
        t.keys("4")
        t.wait_for((re.compile("OWNER LIBRARY(.|\n)*libtile"), re.compile(r"\d+ librar")), without="NET")


@test
def t_verdict_names_the_leak_without_a_key():
    agent = Synthetic("--past", 1500, "--past-marks", 3) # the cache is full by then: what still grows is the leak
    with view(agent) as t:
        t.wait_for(lambda lines: re.search("GROWING .*/min.*new_vertex_array", lines[1]), 15)


@test
def t_verdict_and_rows_judge_the_same_intervals():
    """The verdict has its word when the rows have shapes, not before and not after."""
    agent = Synthetic("--past", 14)
    with view(agent, 140, 36) as t:
        t.wait_for(lambda lines: " s more" in lines[1])
        said, apart = {"waiting": 0, "judged": 0}, set()

        def agree(lines):
            rows = [line for line in lines if re.search(r" \d of \d ", line)]
            waiting = " s more" in lines[1]
            if waiting == any("too soon" not in line for line in rows):
                apart.add(re.search(r"LIVE (\S+)", lines[0])[1])
                assert len(apart) < 3, "\n".join(lines)  # the screen of one instant may be caught half drawn, and of the next
                return False
            apart.clear()
            said["waiting" if waiting else "judged"] += 1
            return said["judged"] > 3

        t.wait_for(agree, 30)
        assert said["waiting"]
        t.wait_for(lambda lines: re.search(r"GROWING|FILLING", lines[1]))
    with view(Synthetic("--past", 700), 140, 36) as t:  # it is known at once of one that was there before
        t.wait_for(lambda lines: re.search(r"/min.* new_vertex_array vertex\.c:\d+  libtile", lines[1]), 15)


@test
def t_views_by_digit_and_function_key():
    agent = Synthetic("--past", 300)
    with view(agent) as t:
        t.wait_for("[1 Overview]")
        for key, title in (("2", "[2 Tree]"), ("3", "[3 Sites]"), ("4", "[4 Libs]"), ("5", "[5 Marks]"), ("6", "[6 Threads]"),
                           ("F5", "[1 Overview]"), ("F6", "[2 Tree]"), ("F9", "[5 Marks]")):
            t.keys(key)
            t.wait_for(title, without="Output")
        # what this session does not have is neither shown nor reached
        t.keys("8")
        t.keys("1")
        t.wait_for("[1 Overview]")


@test
def t_threads_by_what_they_hold():
    agent = Synthetic("--past", 60)
    with view(agent, 120, 36) as t:
        t.wait_for("new_vertex_array")
        t.keys("6")
        t.wait_for(re.compile(r"\[6 Threads\].* 2 threads"))
        t.wait_for(re.compile(r"^> +[\d.]+M +[<>]?\d+ .* mapd *$", re.M))
        t.wait_for(re.compile(rf" {agent.pid} mapd$", re.M))
        t.wait_for(re.compile(rf" {agent.pid + 1} logger$", re.M))
        # sorted by live memory; > sorts by the next column, r reverses
        t.keys(">")
        t.wait_for(lambda lines: any("BLOCKS▼" in line or "BLOCKSv" in line for line in lines))
        t.prompt("logg", "/")
        t.wait_for(re.compile(r"^>.*\*logger *$", re.M))
    with view(agent, 40, 10) as t:
        t.wait_for("new_vertex_array")
        t.keys("6")
        t.wait_for(re.compile(r"^> +[\d.]+M .*mapd", re.M))


@test
def t_threads_of_a_real_program():
    """The threads' own names; their live memory sums to the header's figure."""
    with running([BUILD + "/demo/mapd", "60"]) as t:
        t.wait_for("new_vertex_array", 15)
        t.keys("6")

        def adds_up(lines):
            head = re.search(r"Live ([\d.]+)M", "\n".join(lines))
            rows = [re.match(r"[> ] +([\d.]+)([KMG]?) +[<>]?\d+ .* (mapd|io-\d|logger)(  \(ended\))?$", x.rstrip()) for x in lines]
            rows = [(float(m[1]) * {"": 1, "K": 1 / 1024, "M": 1, "G": 1024}[m[2]], m[3]) for m in rows if m]
            names = {name for _, name in rows}
            held = sum(size for size, _ in rows)
            return head and names >= {"mapd", "io-1", "logger"} and abs(held - float(head[1])) < 0.1 * float(head[1]) + 1

        t.wait_for(adds_up, 15)
        t.keys("Q")


def parts_add_up(lines):
    kinds = "live|rounding|allocator|mapped|thread|memtop agent|RSS"
    rows = re.findall(rf"^[> ] +([\d.]+)([KMG]?) +[<>]?\d+ .*?({kinds})", "\n".join(lines), re.M)
    sizes = [float(n) * {"": 1 / 1048576, "K": 1 / 1024, "M": 1, "G": 1024}[unit] for n, unit, _ in rows]
    return len(rows) == 7 and abs(sum(sizes[:-1]) - sizes[-1]) < 0.5


@test
def t_memory_adds_up():
    """View 7: the sentence, the parts, their names; the last row is their sum."""
    agent = Synthetic("--past", 60)
    for width, height in ((120, 36), (80, 24), (40, 10)):
        with view(agent, width, height) as t:
            t.wait_for("new_vertex_array")
            t.keys("7")
            t.wait_for(re.compile(r"live blocks, resident(.|\n)*mapped files" if width > 40 else r"RESIDENT +NET(.|\n)*live heap(.|\n)*mapped files"))
            if height > 10:
                t.wait_for(re.compile(r"RSS [\d.]+M, \+?[\d.]+[KM]? (in|since)", re.M), 20)
                t.wait_for("libc.so.6")
            if width > 100:
                t.wait_for(parts_add_up)


def spot(t, text, line=None):
    """Column and line of a text on the screen, for a click."""
    for y, content in enumerate(t.lines()):
        if text in content and (line is None or y == line):
            return content.index(text) + len(text) // 2, y
    raise AssertionError(f"{text!r} is not on the screen\n{t.text()}")


@test
def t_the_mouse_chooses_views_rows_and_columns():
    agent = Synthetic("--past", 300, "--still")
    with view(agent, 120, 36, term="xterm-256color") as t:
        t.wait_for("new_vertex_array")
        t.mouse(*spot(t, "3 Sites"))
        t.wait_for(re.compile(r"\[3 Sites\](.|\n)*tile_cache_put"))
        t.mouse(*spot(t, " BLOCKS"))
        t.wait_for("BLOCKS▼")
        t.mouse(*spot(t, "LIVE", next(y for y, line in enumerate(t.lines()) if "BLOCKS▼" in line)))
        t.wait_for("LIVE▼")
        t.settle()
        rows = [y for y, line in enumerate(t.lines()) if re.search(r" [\d.]+[KM]? .* < ", line)]
        t.mouse(30, rows[2])
        t.wait_for(lambda lines: lines[rows[2]].startswith(">"))
        t.mouse(30, rows[1], button=65)  # the wheel, wherever it is
        t.wait_for(lambda lines: lines[rows[5]].startswith(">"))
        t.mouse(30, rows[1], button=64)
        t.wait_for(lambda lines: lines[rows[2]].startswith(">"))
        name = re.search(r"(\w+) <", t.lines()[rows[2]])[1]
        t.mouse(30, rows[2])
        t.wait_for((re.compile(rf"\[2 Tree\](.|\n)*^>.*{name}", re.M), lambda lines: "Help" in lines[35]))
        t.mouse(*spot(t, "Help", 35))
        t.wait_for("Does it grow?")
        assert t.tmux("display", "-p", "#{mouse_any_flag}").strip() == "1"
        t.keys("q", "M")
        t.wait_for("mouse off: the terminal selects text")
        wait_for(lambda: t.tmux("display", "-p", "#{mouse_any_flag}").strip() == "0", what="a mouse that is off")


@test
def t_help_is_about_what_exists():
    agent = Synthetic("--past", 60)
    with view(agent, 120, 200) as t:
        t.wait_for("[1 Overview]")
        t.keys("?")
        page = t.wait_for(lambda lines: lines if any("In the program's processes" in line for line in lines) else None)
        assert any("mark a snapshot now" in line for line in page), page
        assert not any("Output of the program" in line for line in page), "no program runs under memtop"
        t.keys("Escape")
        t.wait_for("[1 Overview]")


@test
def t_help_teaches():
    """Which key answers what, the keys of the view that it is called from, the verdict's words: before all other keys; with the user's own keys."""
    home = temporary_folder()
    os.mkdir(home + "/memtop")
    with open(home + "/memtop/config", "w", encoding="ascii") as f:
        f.write("key mark = m\n")
    agent = Synthetic("--past", 60)
    with view(agent, 120, 200, env={"XDG_CONFIG_HOME": home}) as t:
        t.wait_for("[1 Overview]")
        for key, title in (("2", "In the tree"), ("5", "In Marks")):
            t.keys(key, "?")
            t.wait_for("m sets a mark, d shows")
            titles = ["Questions, and the keys", title, "What line 2 says", "Words", "Everywhere"]

            def in_order(lines, titles=titles):
                return [x for line in lines for x in titles if line.startswith(" " + x)] == titles
            t.wait_for(in_order, what=titles)
            t.keys("Escape")
            t.wait_for(f"[{key} ")
        t.keys("?")
        t.wait_for("In Marks")
        for word in ("GROWING", "FILLING", "GREW", "STEP", "UP AND DOWN", "SHRINKING", "FLAT", "AS EXPECTED", "RSS GROWS"):
            t.wait_for(re.compile(rf"^ +.*{word}", re.M))


@test
def t_help_fits_its_lines():
    agent = Synthetic()
    with view(agent, 80, 24) as t:
        t.wait_for("new_vertex_array")
        t.keys("?")
        t.wait_for(re.compile(r"Questions, and the keys(.|\n)* more lines"))
        seen = ""
        for _ in range(40):
            seen += t.text()
            more = re.search(r"(\d+) more lines", t.text())
            if not more:
                break
            t.keys("NPage")
            t.wait_for(lambda lines, more=more: f" {more.group(0)}" not in t.text())
        assert "requested bytes not freed" in seen and "last line; from there, follow the output" in seen, seen
        page = [line for line in seen.split("\n") if re.match(r"  \S|   +\S", line)]
        assert len(page) > 100 and not any(line.rstrip().endswith("…") for line in page), page
        t.resize(50, 24)
        t.keys("g")
        t.wait_for("Questions, and the keys", without=lambda lines: "…" in "\n".join(lines[4:-1]))


@test
def t_rows_do_not_jump_while_siblings_swap():
    agent = Synthetic("--swap", "--no-story", "--past", 60)
    with view(agent, 120, 50) as t:
        t.wait_for(re.compile("sibling_"))
        t.keys("3")
        t.wait_for("[3 Sites]")
        t.wait_for(lambda lines: sum("sibling_" in line for line in lines) >= 24)

        def second_of(lines):
            """All, when the second is selected: no row moves from then on."""
            names = [re.search(r"sibling_\d\d", line).group() for line in lines if "sibling_" in line and "<" in line]
            return names if len(names) >= 24 and selected_name(lines) == names[1] else None
        t.keys("g", "Down")
        order = t.wait_for(second_of)
        visited = order[1:2]
        for _ in range(20):
            t.keys("Down")
            visited.append(t.wait_for(lambda lines: selected_name(lines) if selected_name(lines) != visited[-1] else None))
        assert len(set(visited)) == len(visited), f"a row was visited twice: {visited}"
        assert visited == order[1:22], f"not in order: {visited} {order}"


@test
def t_late_names_move_nothing():
    agent = Synthetic("--past", 120, "--still")
    gate, log = f"{temporary_folder()}/gate", f"{temporary_folder()}/keys"
    with view(agent, env={"MEMTOP_TEST_SYMBOLS_GATE": gate, "MEMTOP_KEYLOG": log}) as t:
        t.wait_for("[1 Overview]")
        t.keys("2")
        t.wait_for(re.compile(r"\+0x"))
        t.keys("*", "g", "Down", "Down")
        wait_until_acted_on(t, log)
        third = t.wait_for(lambda lines: (head := next((y for y, line in enumerate(lines) if "FUNCTION" in line), None))
                           and lines[head + 3].startswith(">") and "+0x" in lines[head + 3] and lines[head + 3])
        let_names_come(gate)
        # a library that is not there keeps its numbers
        after = t.wait_for((selected, "new_vertex_array"), 30, without=re.compile(r"(mapd|libtile.so.2|libsqlite3.so.0)\+0x"))
        assert after.split()[:2] == third.split()[:2], f"selection moved: {after!r}, was {third!r}"


@test
def t_resize_redraws_at_every_size():
    agent = Synthetic("--past", 120)
    with view(agent, 120, 36) as t:
        t.wait_for("[1 Overview]")
        for width, height in ((80, 24), (40, 10), (20, 5), (200, 60), (10, 2), (120, 36)):
            t.resize(width, height)
            if width >= 40:
                t.wait_for(lambda lines: len(lines) == height and "Help" in lines[-1])
        for key in ("2", "3", "4", "5", "?"):
            t.keys(key)
            t.resize(15, 3)
            t.resize(120, 36)
            t.wait_for("Quit")
        assert t.dead() is None


@test
def t_ascii_mono_and_no_color():
    agent = Synthetic("--past", 120)
    with view(agent, 120, 36, "--ascii") as t:
        t.wait_for("[1 Overview]")
        for key in "12345?":
            t.keys(key)
            t.wait_for(f"[{key} " if key != "?" else "Does it grow?")
            assert t.text().isascii(), [c for c in t.text() if not c.isascii()]
    with view(agent, 120, 36, env={"LC_ALL": "C"}) as t:
        t.wait_for(("[1 Overview]", "new_vertex_array"))
        assert t.text().isascii()
    with view(agent, 120, 36, env={"NO_COLOR": "1"}) as t:
        t.wait_for(("[1 Overview]", "new_vertex_array"))
        assert not re.search(r"\x1b\[[0-9;]*[34][0-8][;m]", "\n".join(t.now(attributes=True))), "colours"
    with view(agent, 120, 36, "--theme", "mono") as t:
        t.wait_for("[1 Overview]")
        # bands are told apart by letters
        t.wait_for("AAA")


@test
def t_ways_out_restore_the_terminal():
    agent = Synthetic("--past", 60)
    for how, status in (("q", 0), ("Q", 0), ("C-c", 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129),
                        (signal.SIGINT, 130)):
        with in_shell(agent) as t:
            t.wait_for("[1 Over]")
            assert t.alternate()
            if isinstance(how, str):
                t.keys(how)
                if how == "q":
                    t.wait_for("Quit memtop?")
                    t.keys("q")
            else:
                os.kill(child_of(t.pid()), how)
            t.wait_for(f"status={status}")
            assert not t.alternate(), f"{how}: the screen was not given back"
            assert t.cursor()[2], f"{how}: the cursor is hidden"


@test
def t_terminals_that_cannot():
    agent = Synthetic("--past", 60)
    for term, before, word in ((None, "unset TERM;", "TERM"), ("no-such-terminal", "", "no-such-terminal"),
                               ("dumb", "", "dumb")):
        with in_shell(agent, 160, 24, term, before) as t:
            t.wait_for("status=2")
            assert word in t.lines()[0] and t.lines()[0].startswith("memtop: "), t.lines()[0]


@test
def t_keys_are_answered_while_a_report_waits_for_names():
    folder = temporary_folder()
    agent = Synthetic("--past", 60)
    gate = f"{temporary_folder()}/gate"
    with view(agent, env={"MEMTOP_TEST_SYMBOLS_GATE": gate}) as t:
        t.wait_for("[1 Overview]")
        t.prompt(f"{folder}/a.json", "w", "C-u")
        t.wait_for(re.compile(r"saving .*a\.json: \d+ of \d+ names resolved"))
        for key, tab in (("2", "[2 Tree]"), ("3", "[3 Sites]"), ("2", "[2 Tree]")):
            t.keys(key)
            t.wait_for(tab)
        assert not os.path.exists(f"{folder}/a.json"), "it did not wait for the names"
        let_names_come(gate)
        t.wait_for(f"saved: {folder}/a.json", 20)
    with open(f"{folder}/a.json", encoding="utf-8") as f:
        report = read_report(f.read())
    names = [frame["function"] for stack in report["stacks"] for frame in stack["frames"]]
    assert "new_vertex_array" in names, names[:20]
    assert sum(s["live_bytes"] for s in report["stacks"]) == report["totals"]["live_bytes"]
    assert os.listdir(folder) == ["a.json"], os.listdir(folder)


@test
def t_key_log_has_a_line_for_each_key():
    folder = temporary_folder()
    agent = Synthetic("--past", 60)
    with view(agent, env={"MEMTOP_KEYLOG": f"{folder}/keys"}) as t:
        t.wait_for("[1 Overview]")
        t.keys(*"2345123", "Down", "Up")
        rows = wait_for(lambda: len(rows := logged(f"{folder}/keys")) == 9 and rows, 10, "nine keys in the log")
        assert all(flush >= read for read, flush in rows)
        wait_for(lambda: any(ns >= rows[-1][0] for ns in logged(f"{folder}/keys", whole=True)), 10, "whole rows after the last key")


@test
def t_pause_stands_still():
    agent = Synthetic("--past", 60)
    with view(agent) as t:
        t.wait_for("RSS")
        t.keys("p")
        t.wait_for(re.compile(r"PAUSED \+[1-9]"))
        live = t.lines()[2]
        t.wait_for(re.compile(r"PAUSED \+([2-9]|\d\d+) s|PAUSED \+\d+ min"))
        t.keys("?")
        t.wait_for("Does it grow?")
        t.keys("q")
        t.wait_for(re.compile(r"PAUSED \+([2-9]|\d\d+) s|PAUSED \+\d+ min"), without="Does it grow?", what="a pause that the page did not begin anew")
        t.wait_for(lambda lines: lines[2] == live, what=f"paused, {live}")
        t.keys("p")
        t.wait_gone("PAUSED")


@test
def t_the_graph_is_looked_back_in():
    agent = Synthetic("--past", 600, "--still")
    with view(agent, 120, 36) as t:
        t.wait_for("new_vertex_array")
        now = t.wait_for(re.compile(r"B libtile\S* +(\S+)")).group(1)
        t.keys("Tab", "Home")
        t.wait_for(re.compile(r"Live by owner library at 0:0\d:\d\d, 1?\d min ago: "))
        t.wait_for(re.compile(rf"B libtile\S* +(?!{re.escape(now)} )\S"))
        t.keys("Right", "Right", "Left", "End")
        t.wait_for("net over 10 min  (+ - Left Right)")
        t.wait_for(re.compile(rf"B libtile\S* +{re.escape(now)} "))
        t.keys("Left")
        t.wait_for(" ago: ")
        t.keys("Escape")
        t.wait_gone(" ago: ")


if __name__ == "__main__":
    main()
