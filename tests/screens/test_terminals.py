#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_terminals.py - memtop and terminals: every sequence that it sends is one of TERM's, every
way of ending restores the terminal, any size is drawn, and a vanished terminal harms nothing
else."""
import json
import os
import re
import signal
import subprocess

from harness import (MEMTOP, Synthetic, at_end, child_of, environment, kill_tree, main, report, run, start, temporary_folder, test,
                     wait_for, wait_for_session)
from rawterm import Raw, capabilities
from term import Terminal

VIEWS = {"1": "[1 Over", "2": "[2 Tree", "3": "[3 Sites", "4": "[4 Libs", "5": "[5 Marks", "6": "[6 Thr", "7": "[7 Mem"}
COLOUR = re.compile(rb"\x1b\[(?:[0-9;:]*[;:])?(?:3[0-9]|4[0-9]|9[0-7]|10[0-7])(?:[;:][0-9;:]*)?m")

DIRECT = """memtop-direct|an xterm with 24 bits of colour,
	RGB, colors#0x1000000, pairs#0x10000,
	setab=\\E[%?%p1%{8}%<%t4%p1%d%e48\\:2\\:\\:%p1%{65536}%/%d\\:%p1%{256}%/%{255}%&%d\\:%p1%{255}%&%d%;m,
	setaf=\\E[%?%p1%{8}%<%t3%p1%d%e38\\:2\\:\\:%p1%{65536}%/%d\\:%p1%{256}%/%{255}%&%d\\:%p1%{255}%&%d%;m,
	initc@, ccc@, use=xterm-256color,
"""


def story(*more):
    return Synthetic("--past", 300, "--past-marks", 3, *more)


def through_all_views(r):
    for key, tab in VIEWS.items():
        r.send(key)
        r.wait_for(tab)
    r.send("1")
    r.wait_for(VIEWS["1"])


def looked_at(r):
    """All that draws in its own way: views, help, detail, the agent's page, a prompt, graphs, the clipboard."""
    r.wait_for("new_vertex_array")
    through_all_views(r)
    r.send("?")
    r.wait_for("Does it grow?")
    r.send("q", "A")
    r.wait_for("Lost: nothing")
    r.send("q", "3", "/", "new_vertex_array", "\r")
    r.wait_for(re.compile(r"^>.*new_vertex_array", re.M))
    r.send("v")
    r.wait_for(lambda lines: any("new_vertex_array" in line for line in lines[3:]))
    r.send("q", "/", "vertex")
    r.wait_for(re.compile(r"\d+ hits?"))
    r.send("\r", "y")
    r.wait_for(re.compile(r"\d+ frames (copied|saved in /.*; too long for the terminal's clipboard)"))
    r.send("t", "p", "1")
    r.wait_for("PAUSED")


@test
def t_every_kind_of_terminal():
    """All sequences sent are in the description; a terminal without colour, alternate screen or
    mouse gets no such sequence."""
    agent = story()
    for term in ("vt100", "vt220", "ansi", "linux", "xterm", "xterm-256color", "screen", "screen-256color", "tmux-256color"):
        if subprocess.run(["infocmp", term], capture_output=True, check=False).returncode:
            continue
        caps = capabilities(term)
        with Raw([MEMTOP, agent.address], 110, 32, term=term) as r:
            looked_at(r)
            r.send("Q")
            assert r.wait_exit() == 0, (term, r.text())
            r.check(clipboard="Ms" in caps)
            r.check_restored()
            sent = bytes(r.data)
            assert bool(COLOUR.search(sent)) == ("setaf" in caps), (term, COLOUR.search(sent))
            assert (b"\x1b[?1049h" in sent) == ("\x1b[?1049h" in caps.get("smcup", "")), term
            assert (b"\x1b]52;c;" in sent) == ("Ms" in caps), term
            assert b"\x1b[?1000h" not in sent and b";1000h" not in sent or "kmous" in caps, term


@test
def t_palette_numbers_are_no_colours_of_24_bits():
    """On a terminal whose colours are numbers of 24 bits the palette's are not taken for such: 252 is a grey, no blue."""
    folder = temporary_folder()
    with open(folder + "/source", "w", encoding="ascii") as f:
        f.write(DIRECT)
    done = run(["tic", "-x", "-o", folder + "/terminfo", folder + "/source"])
    assert done.returncode == 0, done.stderr
    agent = story()
    with Raw([MEMTOP, agent.address], 110, 32, term="memtop-direct", env={"TERMINFO": folder + "/terminfo"}) as r:
        r.wait_for("new_vertex_array")
        through_all_views(r)
        r.send("Q")
        assert r.wait_exit() == 0
        r.check()
        r.check_restored()
        seen = {tuple(map(int, m)) for m in re.findall(rb"\x1b\[38:2::(\d+):(\d+):(\d+)", bytes(r.data))}
        assert (0xd0, 0xd0, 0xd0) in seen, seen  # 252, the text of the dark theme
        assert (0x5f, 0xaf, 0xff) in seen, seen  # 75
        assert not any(red == green == 0 and blue > 7 for red, green, blue in seen), seen


@test
def t_terminals_that_cannot_be_used():
    """One line that says what to do, status 2, and the terminal as it was."""
    agent = story()
    for term, word in (("dumb", "cannot place its cursor"), ("nonesuch-terminal", "terminfo does not know"), ("", "TERM is not set"),
                       (None, "TERM is not set"), ("../../etc/passwd", "terminfo does not know"), ("x\x1b[5n", "terminfo")):
        for command in ([agent.address], []):
            with Raw([MEMTOP, *command], 200, 24, term=term) as r:
                assert r.wait_exit() == 2, (term, r.text())
                said = [line for line in r.lines() if line]
                assert len(said) == 1 and said[0].startswith("memtop: ") and word in said[0] and ";" in said[0], (term, said)
                assert b"\x1b" not in bytes(r.data), bytes(r.data)
                r.check_restored()


@test
def t_no_terminal_at_all():
    agent = story()
    for command in ([agent.address], [], ["run", "/bin/true"]):
        master, slave = os.openpty()
        for given in ((subprocess.DEVNULL, slave), (slave, subprocess.PIPE), (subprocess.DEVNULL, subprocess.PIPE)):
            done = subprocess.run([MEMTOP, *command], stdin=given[0], stdout=given[1], stderr=subprocess.PIPE, text=True,
                                  env=environment(), timeout=120, check=False)
            assert done.returncode in (2, 125) and not done.stdout, (command, done)
            assert re.fullmatch(r"memtop: \w+( view)?: not a terminal; use memtop \w+.*\n", done.stderr), (command, done.stderr)
        os.close(master)
        os.close(slave)


@test
def t_no_colour():
    """NO_COLOR: attributes perhaps, but no colour, not even the order to take it back."""
    agent = story()
    for term in ("xterm-256color", "linux", "tmux-256color"):
        with Raw([MEMTOP, agent.address], 110, 32, term=term, env={"NO_COLOR": "1"}) as r:
            looked_at(r)
            r.send("Q")
            assert r.wait_exit() == 0
            assert not COLOUR.search(bytes(r.data)), (term, COLOUR.search(bytes(r.data)))
            assert b"\x1b]4;" not in r.data and b"\x1b]104" not in r.data
            r.check(clipboard=True)
            r.check_restored()


@test
def t_ascii_alone_without_utf8():
    """Where the locale has no UTF-8, or with --ascii, every byte is one of ASCII; where it has, the glyphs are used."""
    agent = story()
    exist = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.split()
    utf8 = next((name for name in exist if re.search(r"\.utf-?8$", name, re.I) and not name.startswith("C.")), "C.UTF-8")
    for variables, options, plain in (({"LC_ALL": "C"}, [], True), ({"LC_ALL": "", "LANG": "POSIX"}, [], True),
                                      ({"LC_ALL": "xx_YY.UTF-8"}, [], True), ({"LC_ALL": "C.UTF-8"}, ["--ascii"], True),
                                      ({"LC_ALL": "C.UTF-8"}, [], False), ({"LC_ALL": "", "LANG": utf8}, [], False)):
        with Raw([MEMTOP, *options, agent.address], 110, 32, env=variables) as r:
            looked_at(r)
            r.send("Q")
            assert r.wait_exit() == 0
            high = [b for b in r.data if b >= 0x80]
            assert bool(high) != plain, (variables, options, bytes(high[:12]))
            r.check(clipboard=True)
            r.check_restored()


def numbers_and_names(lines):
    """Of the rows below the column names (or all, where there are none): a figure and a word in each."""
    return [line for line in lines if re.search(r"\d", line) and re.search(r"[A-Za-z_]{3}|m\d", line)]


@test
def t_forty_by_ten():
    """Each view still has a selected row with a name and a number, the tab's name and the last line."""
    agent = story()
    with Raw([MEMTOP, agent.address], 40, 10) as r:
        r.wait_for("new_vertex_array")
        for key, tab in VIEWS.items():
            r.send(key)
            r.wait_for(tab)
            r.wait_for(lambda lines: any(re.match(r">.*\d.*[A-Za-z_]{2}|>.* m\d .*\d", x) for x in lines),
                       what=f"a selected row with a figure and a name in view {key}")
            r.wait_for(lambda lines: "Help" in lines[-1])
            r.wait_for(lambda lines: len(numbers_and_names(lines[3:-1])) >= 2, what=f"two rows in view {key}")
        r.send("1", "?")
        r.wait_for("Help")
        r.send("q", "3", "v")
        r.wait_for("Stack, innermost first")
        r.send("Q")
        r.wait_exit()
        r.check()


@test
def t_a_storm_of_sizes():
    """While data flows and keys are pressed; what stands there in the end is what a repaint draws."""
    agent = story()
    sizes = [(40, 10), (1, 1), (20, 3), (300, 100), (80, 24), (2, 50), (200, 2), (120, 36), (5, 5), (61, 19)]
    with Raw([MEMTOP, agent.address], 120, 36) as r:
        r.wait_for("new_vertex_array")
        for turn in range(4):
            for i, size in enumerate(sizes):
                r.resize(*size)
                r.send("1234567?q"[(turn + i) % 9])
        r.resize(1, 1)  # and one of them for as long as it takes to be drawn
        r.send("q", "1", "3")
        before = len(r.data)
        r.send("\f")
        wait_for(lambda: r.drain() or len(r.data) > before, 20, "something drawn on one cell")
        for width, height in ((300, 100), (100, 30)):
            r.resize(width, height)
            r.send("\x1b")
            r.wait_for(lambda lines, h=height: re.match(r" memtop .*LIVE", lines[0]) and "Help" in lines[h - 1])
            r.wait_for("[3 Sites")
            r.send("p")
            r.wait_for("PAUSED")
            r.wait_for(lambda lines: re.search(r"\? Help +q Back +Q Quit$", lines[-1]), what="the status line gone")
            r.wait_for("new_vertex_array")
            r.settle()
            shown = r.lines()
            r.screen.blank(5, 0, width)  # as if another had written there
            r.send("\f")
            r.wait_for(lambda lines, was=shown: lines[1:] == was[1:], what="after a repaint the same as\n" + "\n".join(shown) + "\n")
            r.send("p")
            r.wait_for(lambda lines: "PAUSED" not in lines[0])
        r.send("Q")
        assert r.wait_exit() == 0
        r.check_restored()


@test
def t_sizes_that_nobody_has():
    """memtop starts, takes keys and ends on a screen of each size."""
    agent = story()
    for width, height in ((1, 1), (1, 40), (400, 1), (20, 3), (3, 4), (500, 120)):
        with Raw([MEMTOP, agent.address], width, height) as r:
            wait_for(lambda r=r: r.drain() or "?1049" in r.screen.modes, 20, "a screen that takes keys")
            for key in "1234567?qvqAq":
                r.send(key)
            r.send("/", "x\x1b", "Q")
            assert r.wait_exit() == 0, (width, height)
            r.check()
            r.check_restored()


@test
def t_no_key_is_echoed_on_the_screen():
    """Echo is off before the first byte is written, so also before the alternate screen is there; at the end it is on again.
    On a screen of one cell curses keeps nothing back."""
    agent = story()
    with Raw([MEMTOP, agent.address], 1, 1, held=True) as r:
        wait_for(lambda: not r.echoes(), 20, "a terminal without echo")
        assert not r.read()
        r.release()
        r.send("Q")
        assert r.wait_exit() == 0
        r.check()
        r.check_restored()


@test
def t_every_ending_gives_the_terminal_back():
    agent = story()

    def end(r, how):
        if isinstance(how, str):
            r.send(how)
        else:
            r.process.send_signal(how)

    for term in ("xterm-256color", "linux"):
        for how, status in (("Q", 0), ("\x03", 130), (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129),
                            (signal.SIGQUIT, 131)):
            for before in ("", "/verte", "?"):
                if before == "/verte" and isinstance(how, str):
                    continue  # is text there
                with Raw([MEMTOP, agent.address], 100, 30, term=term) as r:
                    r.wait_for("new_vertex_array")
                    assert r.settings() != r.before
                    r.send(before or "3")
                    r.wait_for({"": "[3 Sites", "/verte": "/verte", "?": "Does it grow?"}[before])
                    end(r, how)
                    assert r.wait_exit() == status, (how, before, r.process.returncode)
                    r.check()
                    r.check_restored()
    # the chooser has the same duties
    for how, status in (("q", 0), ("\x03", 0), (signal.SIGTERM, 0), (signal.SIGQUIT, 0), (signal.SIGHUP, 0)):
        with Raw([MEMTOP], 100, 30) as r:
            r.wait_for("processes that have an agent")
            end(r, how)
            assert r.wait_exit() in (status, 128 + (how if not isinstance(how, str) else 0)), (how, r.process.returncode)
            r.check()
            r.check_restored()


def target():
    """A program that waits for the test's end, under the agent."""
    folder = temporary_folder()
    os.mkfifo(folder + "/go")
    return ["/bin/cat", folder + "/go"]


def last_session(env):
    done = run([MEMTOP, "report", "--last", "--format", "json"], env={**environment(), **env})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@test
def t_a_terminal_that_is_killed():
    """Its program ends by itself, the target runs on, and the session can be opened."""
    for prepare in ("", "?", "/x"):
        state = {"XDG_STATE_HOME": temporary_folder()}
        with Raw([MEMTOP, "run", *target()], 100, 30, env=state) as r:
            head = r.wait_for(re.compile(r"cat \[(\d+)\].*LIVE"))
            pid = int(head.group(1))
            r.wait_for(re.compile(r"Live [1-9]"))
            r.send(prepare)
            r.hang_up()
            try:
                r.process.wait(60)
                assert r.process.returncode == 128 + signal.SIGHUP, r.process.returncode
                os.kill(pid, 0)
                with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                    assert f.read().split()[2] in "SR", "the target was ended or stopped"
                kept = last_session(state)
                program = kept["program"]
                assert program["pid"] == pid and program["state"] == "running", program
                assert [w for w in kept["warnings"] if f"runs on as process {pid}: memtop -p {pid} watches" in w], kept["warnings"]
            finally:
                os.kill(pid, signal.SIGKILL)


@test
def t_a_terminal_that_closes_under_record():
    """The program runs on, with the handler for SIGHUP that it set itself, and the file says what happened."""
    for chosen in (False, True):
        folder = temporary_folder()
        handler = f"signal.signal(signal.SIGHUP, lambda *_: open('{folder}/told', 'w').close()); " if chosen else ""
        code = f"import os, signal, time; {handler}open('{folder}/pid', 'w').write(str(os.getpid())); print('ready')\nwhile 1: time.sleep(9)"
        with Raw([MEMTOP, "record", "-o", folder + "/a.mtop", "--", "python3", "-c", code], 100, 30) as r:
            r.wait_for("ready")
            with open(folder + "/pid", encoding="ascii") as f:
                pid = int(f.read())
            at_end(kill_tree, pid)
            wait_for_session(folder + "/a.mtop")
            r.hang_up()
            assert r.process.wait(60) == 0
            if chosen:
                wait_for(lambda: os.path.exists(folder + "/told"), 20, "the program's own handler")
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                assert f.read().split()[2] in "SR"
            said = report(folder + "/a.mtop")["warnings"]
            assert [w for w in said if "ended when the terminal was closed" in w and f"as process {pid}:" in w], said


@test
def t_memtop_is_killed():
    """A killed memtop gives nothing back and loses nothing: `reset` mends the terminal, --last has the session."""
    state = {"XDG_STATE_HOME": temporary_folder()}
    with Raw([MEMTOP, "run", *target()], 100, 30, env=state) as r:
        pid = int(r.wait_for(re.compile(r"cat \[(\d+)\].*LIVE")).group(1))
        r.wait_for(re.compile(r"Live [1-9]"))

        def spooled():
            folder = state["XDG_STATE_HOME"] + "/memtop"
            return os.path.isdir(folder) and any(os.path.getsize(f"{folder}/{name}") > 100 for name in os.listdir(folder) if f"-{pid}-" in name)

        try:
            wait_for(spooled, 20, "a block in the spool")
            r.process.kill()
            assert r.wait_exit() == 128 + signal.SIGKILL
            os.kill(pid, 0)
            assert last_session(state)["program"]["pid"] == pid
            reset = start(["tput", "-T", "xterm-256color", "reset"], stdin=r.slave, stdout=r.slave, stderr=r.slave)
            assert reset.wait(60) == 0
        finally:
            os.kill(pid, signal.SIGKILL)


def shell(command, width=100, height=24):
    t = Terminal(["bash", "--norc", "-i"], width, height, env={"PS1": "shell> "})
    t.wait_for("shell>")
    t.type("stty -a >before; " + command)
    t.keys("Enter")
    return t


@test
def t_stopped_and_continued():
    """^Z with a prompt or a page open: the shell has its own screen and line settings; fg brings back what was open."""
    agent = story()
    folder = temporary_folder()
    os.chdir(folder)
    try:
        for wrapped in (False, True):
            command = f"{MEMTOP} {agent.address}"
            with shell(f"sh -c '{command}; :'" if wrapped else command) as t:
                t.wait_for("new_vertex_array")
                for keys, shown in (("3", "[3 Sites"), ("/vertex", "/vertex"), ("?", "Does it grow?")):
                    t.type(keys)
                    t.wait_for(shown)
                    t.keys("C-z")
                    t.wait_for("Stopped")
                    assert not t.alternate() and t.cursor()[2], t.text()
                    assert t.tmux("display", "-p", "#{mouse_any_flag}").strip() == "0"
                    t.type("stty -a >stopped; cmp before stopped && echo same-$((1 + 1))")
                    t.keys("Enter")
                    t.wait_for("same-2")
                    t.type("clear; fg")
                    t.keys("Enter")
                    t.wait_for(shown)
                    t.wait_for(lambda lines: "memtop" in lines[0])
                    assert t.alternate()
                    t.keys("Escape")
                    t.wait_for(lambda lines: "Help" in lines[-1] and "/vertex" not in lines[-1] or shown == "[3 Sites")
                t.keys("Q")
                t.wait_for("shell>")
                t.type("stty -a >after; cmp before after && echo same-$((2 + 1))")
                t.keys("Enter")
                t.wait_for("same-3")
    finally:
        os.chdir("/")


@test
def t_killed_by_a_signal_of_a_fault():
    """The shell gets its screen and line settings back, and the status tells the signal."""
    agent = story()
    for name in ("USR1",) if os.environ.get("SANITIZED") else ("SEGV", "ABRT", "BUS", "USR1"):  # the sanitizer has its own end
        with Raw([MEMTOP, agent.address], 100, 30) as r:
            r.wait_for("new_vertex_array")
            r.process.send_signal(getattr(signal, "SIG" + name))
            assert r.wait_exit() == 128 + getattr(signal, "SIG" + name), name
            r.check()
            r.check_restored()


@test
def t_sigstop_and_fg():
    """SIGSTOP cannot be caught: the shell writes on memtop's screen, and fg brings it back whole, in its own modes."""
    agent = story()
    with shell(f"{MEMTOP} {agent.address}") as t:
        t.wait_for("new_vertex_array")
        pid = child_of(t.pid())
        t.type("3")
        t.wait_for("[3 Sites")
        os.kill(pid, signal.SIGSTOP)
        t.wait_for("Stopped")
        t.type("clear; stty sane; fg")
        t.keys("Enter")
        t.wait_for(("[3 Sites", "new_vertex_array", lambda lines: "memtop" in lines[0] and "Help" in lines[-1]), without="fg")
        t.type("2")  # raw mode: no Enter needed
        t.wait_for("[2 Tree")
        t.keys("Q")
        t.wait_for("shell>")
        assert not t.alternate()


def paste(text):
    return f"\x1b[200~{text}\x1b[201~"


@test
def t_pasted_text():
    """It is text in a prompt, on one line, and no key anywhere else; keys work again behind it, whole or in pieces."""
    agent = story()
    with Raw([MEMTOP, agent.address], 100, 30) as r:
        r.wait_for("new_vertex_array")
        r.send(paste("Quick 2\nQ\r\x03 7"), "3")
        r.wait_for("[3 Sites")
        r.send("/", paste("\n new_\x1bOAvertex\r\n_array\n"))
        r.wait_for("/new_vertex _array")
        r.send("\x1b", "4")
        r.wait_for("[4 Libs")
        r.send("/", "\x1b[200~vertex")
        r.wait_for("/vertex")
        for byte in "\x1b[201~":  # as over a slow link: curses would take the first byte for the key Esc
            r.send(byte)
            r.read(0.1)
        r.send("_array")
        r.wait_for("/vertex_array")
        r.send("\x1b", "q")
        r.wait_for(re.compile(r"Quit|quit"))
        r.send(paste("y\ny"), "\x1b", "5")
        r.wait_for("[5 Marks")
        r.send("Q")
        assert r.wait_exit() == 0
        r.check()
        r.check_restored()


@test
def t_the_terminals_size_counts_not_the_exported():
    """COLUMNS and LINES of another window: the terminal's own size counts, before and after it changes."""
    agent = story()
    with Raw([MEMTOP, agent.address], 100, 30, env={"COLUMNS": "60", "LINES": "12"}) as r:
        r.wait_for(lambda lines: "Help" in lines[29] and any(len(line) > 90 for line in lines))
        r.resize(120, 36)
        r.wait_for(lambda lines: "Help" in lines[35] and any(len(line) > 110 for line in lines))
        r.send("Q")
        assert r.wait_exit() == 0


@test
def t_nobody_could_continue_it():
    """^Z where no shell waits: a stopped program would be lost with its terminal."""
    agent = story()
    with Raw([MEMTOP, agent.address], 100, 30) as r:  # a session of its own: its group has no parent to continue it
        r.wait_for("new_vertex_array")
        r.send("\x1a")
        r.send("3")
        r.wait_for("[3 Sites")
        r.send("Q")
        assert r.wait_exit() == 0


if __name__ == "__main__":
    main()
