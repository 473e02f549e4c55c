#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_stacks.py - the frames of a report against elfutils and binutils, and the owners of blocks.

For every address in the report of a C++ program built -O2 -g, the rows (function, file, line, inlined) are
those of eu-addr2line -i -f -C on the same file and offset; a return address is looked up one byte before.
eu-addr2line rests on the same library as memtop, so a sample is also compared with binutils' addr2line.
"""
import os
import functools
import re

from elsewhere import listening
from harness import AGENT, TARGETS, Skip, main, need, recorded, report, run, temporary_folder, test, wait_for
from obedient import Obedient


@functools.cache
def report_and_output(name):
    """Of a target program."""
    session = recorded(f"{TARGETS}/{name}")
    return report(session), session.stdout


def rows_of(r):
    """{(module's path, offset): [(function, file, line), ...]}, innermost first; asserts on the way."""
    paths = {m["name"]: m["path"] for m in r["modules"]}
    rows = {}
    for stack in r["stacks"]:
        group = []
        for f in stack["frames"]:
            group.append(f)
            if f["inlined"]:
                continue
            if f["module"] is None:
                group = []
                continue
            key = paths[f["module"]], f["offset"]
            assert all(g["offset"] == f["offset"] for g in group), f"one pc, several offsets: {group}"
            value = [(g["function"], g["file"], g["line"]) for g in group]
            assert rows.setdefault(key, value) == value, f"{key}: {rows[key]} and {value}"
            group = []
        assert not group, f"stack {stack['id']} ends in an inlined frame: {group}"
    return rows


def number(offset):
    return offset if isinstance(offset, int) else int(offset, 0)


def eu_rows(path, offsets):
    """eu-addr2line's answer per offset, as rows; None for unknown offsets."""
    done = run(["eu-addr2line", "-a", "-i", "-f", "-C", "-e", path, *(hex(o) for o in offsets)])
    answers, current = {}, None
    lines = iter(done.stdout.splitlines())
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]{16}", line):
            current = answers.setdefault(int(line, 16), [])
            continue
        place = next(lines)
        name = re.sub(r" inlined at .*", "", line)
        file, _, rest = place.partition(":")
        known = file not in ("??", "")
        file = re.sub(r"^(\./(?:[^/]+/)+)\1", r"\1", file)  # libdw joins a relative compilation folder twice
        current.append((None if name == "??" else name, file if known else None,
                        int(rest.split(":")[0]) if known and rest else None))
    return answers


def plain(name):
    """A dynamic symbol's version is no part of the function's name."""
    return name and name.split("@")[0]


@test
def t_frames_equal_eu_addr2line():
    need("eu-addr2line")
    r, _ = report_and_output("s_inline")
    by_file = {}
    for (path, offset), rows in rows_of(r).items():
        by_file.setdefault(path, {})[number(offset)] = rows
    assert any(path.endswith("/s_inline") for path in by_file), by_file.keys()
    inlined, wrong = 0, []
    for path, wanted in by_file.items():
        if not os.path.exists(path) or os.path.realpath(path) == os.path.realpath(AGENT):
            continue
        answers = eu_rows(path, [o - 1 for o in wanted])
        for offset, rows in wanted.items():
            expected = [(plain(f), file, line) for f, file, line in answers[offset - 1]]
            got = [(plain(f), file, line or None) for f, file, line in rows]
            inlined += len(expected) > 1
            if got != expected:
                wrong.append(f"{os.path.basename(path)}+{offset:#x}:\n  memtop   {got}\n  addr2line {expected}")
    assert inlined >= 5, f"only {inlined} addresses with inlined functions: the test proves little"
    assert not wrong, f"{len(wrong)} of {sum(map(len, by_file.values()))} addresses differ\n" + "\n".join(wrong[:5])


@test
def t_names_of_a_container():
    """The program has a file that is nowhere else, and a pid that is another process' here."""
    need("unshare")
    if run(["unshare", "-p", "-m", "-f", "--mount-proc", "true"]).returncode:
        raise Skip("no namespace may be made here")
    name, folder = f"@memtop-test-names-{os.getpid()}", temporary_folder()
    inner = ["unshare", "-p", "-m", "-f", "--mount-proc", "sh", "-c",
             f"mount -t tmpfs none {folder} && cp $0 {folder}/prog && LD_PRELOAD={AGENT} MEMTOP_OPTIONS=listen={name} "
             f"{folder}/prog; true"]
    p = Obedient(watched=False, command=inner, program=f"{TARGETS}/s_server")
    p.do("a 10 100")
    wait_for(lambda: listening(name[1:]), 60, "its agent")
    r = report(name)
    assert r["program"]["pid"] != p.pid, r["program"]
    frames = [f for s in r["stacks"] for f in s["frames"] if f["module"] == "prog"]
    assert frames and all(f["function"] and f["line"] for f in frames if f["function"] != "_start"), frames
    p.end()


@test
def t_frames_equal_binutils():
    """The same by another library: files' base names and lines of the program's own addresses."""
    need("addr2line")
    r, _ = report_and_output("s_inline")
    path = os.path.realpath(f"{TARGETS}/s_inline")
    wanted = {number(o): rows for (p, o), rows in rows_of(r).items() if os.path.realpath(p) == path}
    assert wanted
    done = run(["addr2line", "-a", "-i", "-e", path, *(hex(o - 1) for o in wanted)])
    answers, current = {}, None
    for line in done.stdout.splitlines():
        if re.fullmatch(r"0x[0-9a-f]{16}", line):
            current = answers.setdefault(int(line, 16), [])
        else:
            file, _, rest = line.partition(":")
            current.append((os.path.basename(file), rest.split()[0]))
    wrong = []
    for offset, rows in wanted.items():
        expected = answers[offset - 1]
        got = [(os.path.basename(file or "??"), str(line or "?")) for _, file, line in rows]
        if expected[0][0] != "??" and got != expected:
            wrong.append(f"{offset:#x}: memtop {got}, addr2line {expected}")
    assert not wrong, "\n".join([f"{len(wrong)} of {len(wanted)} differ", *wrong[:5]])


@test
def t_stacks_begin_at_the_program():
    """Whole stacks: the outermost frame is the program's start or a thread's."""
    for name in ("s_inline", "s_owners"):
        r, _ = report_and_output(name)
        for s in r["stacks"]:
            assert s["truncated"] is None, f"{name}: stack {s['id']} is truncated: {s['truncated']}"
            assert s["frames"], f"{name}: stack {s['id']} has no frames"
        ends = {s["frames"][-1]["function"] for s in r["stacks"]}
        # the loader's own allocations before main end in ld.so, which has no names for its start
        assert ends <= {"_start", "clone3", "__clone3", "clone", "__clone", "_dl_start_user", "_dl_start", None}, ends


@test
def t_recursion_and_counts():
    """Known stacks of s_inline: five frames of the recursion, 77 bytes at their end."""
    r, _ = report_and_output("s_inline")
    deep = [s for s in r["stacks"] if s["live_bytes"] == 77]
    assert len(deep) == 1, [s["live_bytes"] for s in r["stacks"]]
    names = [f["function"] for f in deep[0]["frames"]]
    assert sum("descend" in (n or "") for n in names) == 5 or "main" in names, names
    callbacks = [s for s in r["stacks"] if any(f["function"] and f["function"].startswith("compare") for f in s["frames"])]
    assert callbacks and all("main" in [f["function"] for f in s["frames"]] for s in callbacks), callbacks


@test
def t_owners_are_as_the_program_says():
    r, text = report_and_output("s_owners")
    live = {row["name"]: row["live_bytes"] for row in r["libraries"]}
    for line in text.split("\n"):
        if line:
            name, size = line.split()
            assert live.get(name) == int(size), f"{name} owns {live.get(name)}, must own {size}; all: {live}"
    for name in live:
        assert not re.match(r"libstdc\+\+|libc\.so|libc-|ld-linux|libgcc|libmemtop", name), f"{name} owns {live[name]} bytes"


main()
