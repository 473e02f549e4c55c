#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_hostile.py - names with control sequences, hidden or reordered text, invalid UTF-8 or
extreme length: every view, field, file and report shows them as readable text, and columns still
line up."""
import base64
import contextlib
import os
import re
import subprocess

import hostileprog
from harness import (AGENT, MEMTOP, at_end, environment, kill, main, read_report, run, start, temporary_folder,
                     test, wait_for)
from rawterm import Raw, check_text

LAST_MARK = re.compile(rf"^>.* m{len(hostileprog.NAMES)} +tallL", re.M)


def running():
    """The program under the agent, watched by nobody, its last mark set: its pid, its folder."""
    folder = temporary_folder()
    program, command = hostileprog.build(folder)
    p = start(command, executable=program, env={**environment(), "LD_PRELOAD": AGENT}, stdout=subprocess.PIPE)
    seen = b""
    while b"tallLLL" not in seen:
        seen += os.read(p.stdout.fileno(), 65536)
    return p.pid, folder


def in_cells(r, text, line):
    """The column of a text in a line, as the terminal counts them; -1: it is not there."""
    joined = [c or "" for c in r.screen.cells[line]]
    at = "".join(joined).find(text)
    if at < 0:
        return -1
    for x, c in enumerate(joined):
        if at < len(c) or (at == 0 and c):
            return x
        at -= len(c)
    return -1


def owners_line_up(r):
    """Below the head OWNER every row has its owner's letter, behind a blank: how many rows."""
    head = next((y for y, line in enumerate(r.lines()) if " OWNER" in line), r.screen.height)
    x = in_cells(r, "OWNER", head) if head < r.screen.height else 0
    rows = 0
    for y in range(head + 1, r.screen.height - 1):
        cells = r.screen.cells[y]
        if not "".join(cells).strip():
            break
        if not re.fullmatch("[A-Za-z?]", cells[x]) or cells[x - 1] != " " or cells[x + 1] != " ":
            return 0
        rows += 1
    return rows


@test
def t_every_view_of_a_hostile_program():
    """Run by memtop, with all that it prints; then stacks of each name, searched for and looked at one by one."""
    _, command = hostileprog.build(temporary_folder())
    for term, width, height, options in (("xterm-256color", 140, 45, []), ("vt100", 80, 24, []), ("xterm", 120, 36, ["--ascii"])):
        with Raw([MEMTOP, "run", *options, "--", *command], width, height, term=term) as r:
            pid = int(r.wait_for(re.compile(r"\[(\d+)\] +LIVE"))[1])
            at_end(kill, pid)
            r.wait_for(re.compile(r"^>", re.M))
            r.send("5")
            r.wait_for(LAST_MARK)
            r.send("g")
            r.wait_for(re.compile("m1 +csi"))
            r.send("G", "k")
            r.wait_for(LAST_MARK)
            r.send("R")
            r.wait_for(lambda lines: "tallLL" in lines[-1], what="a name to be changed")
            r.send("\x1b", "d")
            for key, shown in (("2", "since m13"), ("1", "bad?"), ("3", "bad?"), ("4", "lib"), ("6", "tabsa"), ("7", "RSS"), ("8", "tallLL")):
                r.send(key)
                r.wait_for(f"[{key} ")
                r.wait_for(shown)
                r.send("G", "g")
            if width == 140:
                r.send("d", "2", "/", "lzeroab")  # opens what is above it
                r.wait_for(re.compile("lzeroab(.*\n)+.*lzeroab"))
                r.send("\r")
            for tag in hostileprog.NAMES if width == 140 else ("csi", "raw", "tall"):
                r.send("3", "/", tag)
                r.wait_for(re.compile(r"\d+ hits?"))
                r.send("\r")
                r.wait_for(re.compile(rf"^>.*[ *!]l?{tag}", re.M))
                r.send("v")
                r.wait_for(re.compile(rf"^[ >]+#0 +l?{tag}", re.M))
                r.send("q")
                r.wait_for("[3 Sites")
            r.send("Q")
            assert r.wait_exit() == 0
            r.check()
            r.check_restored()
            if options:
                screen = bytes(r.data).rpartition(b"\x1b[?1049l")[0]  # behind it memtop says that the program runs on
                assert screen and max(screen) < 0x80
        kill(pid)


@test
def t_columns_line_up():
    """After wide characters, accents and dropped bytes the next column still begins under its
    head."""
    pid, _ = running()
    for term in ("xterm-256color", "vt100"):
        for width, height in ((140, 50), (100, 50)):
            with Raw([MEMTOP, f"@memtop.{pid}"], width, height, term=term) as r:
                for key in "13":
                    r.send(key)
                    r.wait_for(re.compile(rf"\[{key} (.*\n)+.* wide日本"))
                    r.wait_for(lambda lines: "symbols" not in lines[0])
                    r.send("p")
                    r.wait_for(("PAUSED", lambda _, r=r: owners_line_up(r) > 15), what="owners below their head")
                    r.settle()
                    before = r.lines()[5:-1]
                    r.screen.blank(20, 0, width)  # what was drawn in steps is what is drawn anew
                    r.send("\f")
                    r.wait_for(lambda lines, was=before: lines[5:-1] == was, what="the same rows again")
                    r.send("p")
                r.send("Q")
                assert r.wait_exit() == 0


def kept(path):
    """What a file holds; nothing while it is not there."""
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as f:
        return f.read()
    return b""


@test
def t_fields_copies_and_files():
    """What is completed, renamed, proposed as a file's name, copied, and given to the editor."""
    pid, folder = running()
    state = temporary_folder()
    here = temporary_folder()
    with open(state + "/editor", "w", encoding="ascii") as f:
        f.write(f'#!/bin/sh\nprintf "%s" "$2" >{state}/asked\n')
    os.chmod(state + "/editor", 0o755)
    env = {"XDG_STATE_HOME": state, "EDITOR": state + "/editor", "VISUAL": "", "TMPDIR": here}
    with Raw([MEMTOP, f"@memtop.{pid}"], 160, 50, env=env, cwd=here) as r:
        r.send("3")
        r.wait_for(re.compile(r"\[3 (.*\n)+.* wide日本"))
        r.wait_for(lambda lines: "symbols" not in lines[0])
        for word in ("thread:", "lib:", "l"):
            r.send("\\", word)
            r.wait_for(f"Filter (Tab completes): {word}")
            for _ in range(20):
                r.send("\t")
            r.send("\r")
            r.wait_for(lambda lines: not any("Filter (Tab" in line for line in lines))
            r.send("\x1b")
            r.wait_for(lambda lines: not any("filter:" in line for line in lines))
            r.wait_for(re.compile(r"\[3 (.*\n)+.* wide日本"))
        for tag in ("csi", "raw", "bidi", "wide"):
            r.send("/", tag, "\r")
            r.wait_for(re.compile(rf"^>.*[ *]l?{tag}", re.M))
            sent = len(r.data)
            r.send("y")
            r.wait_for(lambda lines, sent=sent: re.search(rb"\x1b\]52;c;[^\x07]+\x07", bytes(r.data[sent:])), what="a copy")
            copied = base64.b64decode(re.search(rb"\x1b\]52;c;([^\x07]+)\x07", bytes(r.data[sent:]))[1])
            check_text(copied)
            assert re.match(f"#0   l?{tag}".encode(), copied), copied  # the library has one by nearly that name
            wait_for(lambda copied=copied: kept(state + "/memtop/stack.txt") == copied, 20, "the same in the file")
            r.send("e")  # the editor gets the file's true name: as one word, whatever is in it
            asked = wait_for(lambda: kept(state + "/asked"), 20, "the editor")
            assert asked.startswith(os.fsencode(folder)) and os.path.exists(asked), asked
            os.unlink(state + "/asked")
            r.wait_for(re.compile(rf"^>.*[ *]l?{tag}", re.M))
        r.send("w")
        r.wait_for("Save as")
        r.send("\r")
        r.wait_for("saved:")
        saved = os.listdir(os.fsencode(here))
        assert len(saved) == 1, saved
        check_text(saved[0])
        r.send("Q")
        assert r.wait_exit() == 0
        r.check(clipboard=True)
        r.check_restored()
    # what was saved opens, and is as clean
    session = os.path.join(os.fsencode(here), saved[0])
    with Raw([MEMTOP, "open", session], 140, 45) as r:
        r.send("3")
        r.wait_for(re.compile(r"\[3 (.*\n)+.* wide"))
        r.send("Q")
        r.wait_exit()
        r.check()


@test
def t_the_chooser_shows_no_hostile_byte():
    pid, _ = running()
    for term in ("xterm-256color", "linux"):
        with Raw([MEMTOP], 100, 200, term=term) as r:
            r.wait_for(re.compile(rf" {pid} .*prog"))
            r.send("\x1a", "q")
            assert r.wait_exit() == 0
            r.check()


@test
def t_what_is_printed():
    """Reports, lists and messages: to a terminal they go just the same."""
    pid, folder = running()
    target = f"@memtop.{pid}"
    path = folder + "/a.mtop"
    for command in (["list"], ["mark", target, b"x" + hostileprog.SHORT], ["report", target], ["report", "--since", "m1", target],
                    *(["report", "--format", kind, target] for kind in ("folded", "speedscope", "massif", "dot", "heaptrack")),
                    ["report", "--between", "m1..m5", target], ["record", "--help"]):
        done = run([MEMTOP, *command], text=False, env=environment())
        assert done.returncode == 0 and done.stdout, (command, done)
        check_text(done.stdout)
        check_text(done.stderr)
    done = run([MEMTOP, "report", "--format", "json", "--stacks", "all", target], text=False, env=environment())
    report = read_report(done.stdout)  # whole names, as JSON escapes them
    names = {frame["function"] for stack in report["stacks"] for frame in stack["frames"]}
    assert "csi\x1b[21t\x1b[?1003hz" in names and any(len(name or "") > 10000 for name in names), names
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", done.stdout), "a raw control character in JSON"
    done = run([MEMTOP, "report", "-o", path.replace(".mtop", ".txt"), target], text=False, env=environment())
    with open(path.replace(".mtop", ".txt"), "rb") as f:
        check_text(f.read())
    name = hostileprog.SHORT + b"\n"
    for command in ([b"@" + name], [name + b".mtop"], ["report", name], ["mark", target, name, name], ["--theme", name, target],
                    ["--" + name.decode("latin-1"), target], ["record", "-o", b"/" + name + b"/x.mtop", "--", "/bin/true"],
                    ["run", "--", b"/nowhere/" + name], ["record", "-o", path, "--", b"/nowhere/" + name]):
        done = run([MEMTOP, *command], text=False, env=environment())
        assert done.stderr and b"\n" not in done.stderr[:-1], (command, done)
        check_text(done.stderr)
        check_text(done.stdout)


if __name__ == "__main__":
    main()
