#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_cuts.py - what is left of a file when a disk fills or a writer dies. Files that memtop reads are cut at random
bytes: a reader shows what is there and says so, or fails with one line. Writers are killed at random moments, and write
where a random number of bytes fits: under the final name stands a whole file, or what was there before.

Usage: test_cuts.py [TEST...]; SEED=n repeats a run. LONG=1: 1,000 cuts of each file, by a memtop with sanitizers."""
import atexit
import contextlib
import functools
import html
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

import mtop
import wire
from cli import FORMATS, memtop, one_line
from harness import (BUILD, LONG, MEMTOP, Skip, at_end, check_invariants, environment, kill, main, recorded, run,
                     temporary_folder, test, wait_for)
from obedient import PROGRAM as PROGRAM_OF_COMMANDS
from obedient import Obedient

SEED = int(os.environ.get("SEED") or time.time_ns() % 10**9)
CUTS = 1000 if LONG else 12
MOMENTS = 25 if LONG else 2  # of each writer
READER = f"{BUILD}-asan/memtop" if LONG and os.path.exists(f"{BUILD}-asan/memtop") else MEMTOP
PROGRAM = """
import ctypes, os, time
mark = ctypes.CDLL(None).memtop_mark
keep = [bytes(3000 + i % 300) for i in range(300)]
mark(b"one")
if not os.fork():
    keep += [bytes(70000)] * 2
    os._exit(0)
os.wait()
keep += [bytes(9000) for i in range(300)]
time.sleep(0.15)
mark(b"two")
del keep[100:]
time.sleep(0.15)
"""


def rng(name):
    print(f"{name}: SEED={SEED}", flush=True)
    return random.Random(f"{SEED} {name}")


@functools.cache
def place():
    path = tempfile.mkdtemp(prefix="memtop-cuts-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def kill_group(leader):
    """What a recorder leaves behind when it is killed: its program."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


@functools.cache
def session():
    """A tree's: blocks of two streams, marks, symbols, an index."""
    return recorded("/usr/bin/python3", "-c", PROGRAM, path=place() + "/tree.mtop")


@functools.cache
def unclosed():
    """Of a recorder that was killed: no index."""
    path = place() + "/unclosed.mtop"
    folder = temporary_folder()
    os.mkfifo(folder + "/never")
    p = subprocess.Popen([MEMTOP, "record", "-o", path, "--", "/bin/bash", "-c", f"for i in {{1..3000}}; do a[i]=$i; done; read x <{folder}/never"],
                         env=environment(), stdin=subprocess.DEVNULL, start_new_session=True)
    at_end(kill_group, p.pid)
    wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 3000 and
             b'"state"' in memtop("report", "--format", "json", path, text=False).stdout, 30, "a state in the file")
    p.kill()
    p.wait()
    return path


@functools.cache
def keyed():
    """Of a program with many stacks: a whole state, from which readers begin, lies behind its blocks."""
    commands = place() + "/commands"
    with open(commands, "w", encoding="ascii") as f:
        f.write("s 20000\nA\ns 9000\nx 0\n")
    with open(commands, "rb") as f:
        path = recorded(PROGRAM_OF_COMMANDS, stdin=f, path=place() + "/keyed.mtop")
    with open(path, "rb") as f:
        streams = [int.from_bytes(head[28:32], "little") for head, _ in mtop.blocks(f.read())]
    assert any(s >> 31 for s in streams), "no key frame"
    return path


@functools.cache
def dump():
    """Written by the agent itself."""
    folder = place() + "/dump"
    os.mkdir(folder)
    p = Obedient("listen=@memtop-test.%p dump_signal=SIGUSR2", cwd=folder)
    p.do("a 1000 100")
    p.do("s 300")
    os.kill(p.pid, signal.SIGUSR2)
    wait_for(lambda: [n for n in os.listdir(folder) if n.endswith(".mtop")], 20, "the dump")
    return folder + "/" + os.listdir(folder)[0]


def read(*arguments):
    """With this reader; a finding of a sanitizer or a crash fails."""
    done = run([READER, *arguments], env=environment(ASAN_OPTIONS="detect_leaks=0"))
    assert done.returncode >= 0 and not re.search("Sanitizer|runtime error", done.stderr), (arguments, done.returncode, done.stderr[:6000])
    return done


def whole_lines(done, most):
    lines = done.stderr.splitlines()
    assert len(lines) <= most and all(re.fullmatch(r"memtop: .+", line) for line in lines), done
    return lines


def at_random(r, data):
    """Cut anywhere, or near one of the ends, where heads and index are; now and then the length stays and zeros follow, as
    after a crash of the machine."""
    size = len(data)
    at = r.choice((r.randrange(size), r.randrange(size), r.randrange(min(size, 200)), size - 1 - r.randrange(min(size, 700))))
    return at, data[:at] + (bytes(size - at) if r.random() < 0.1 else b"")


@functools.cache
def whole_totals(path):
    return json.loads(memtop("report", "--format", "json", path).stdout)["totals"]


def read_cut(r, name, source, cut, at):
    """One reader of the cut file, chosen by chance."""
    way = r.randrange(8)
    if way < 3:
        done = read("report", "--format", "json", "--stacks", "all", cut)
        assert done.returncode in (0, 3), done
        if done.returncode:
            return one_line(done, 3, cut)
        said, j = whole_lines(done, 1), json.loads(done.stdout)
        if said:  # a pass may be cut, whose totals come first: the stacks have less, never more
            for key in ("live_bytes", "allocated_blocks"):
                assert sum(x[key] for x in j["stacks"]) <= j["totals"][key], (name, at, key)
        else:
            check_invariants({**j, "changes": []})
        for key in ("allocated_bytes", "allocated_blocks", "freed_blocks"):
            assert j["totals"][key] <= whole_totals(source)[key], (name, at, key)
        assert said or j["totals"] == whole_totals(source), f"{name} at {at}: other figures, and nothing is said"
        return None
    if way == 3:
        kind = r.choice(list(FORMATS))
        out = f"{os.path.dirname(cut)}/out{FORMATS[kind]}"
        done = read("report", "-o", out, cut)
        assert done.returncode in (0, 3) and os.path.exists(out) == (done.returncode == 0), done
        whole_lines(done, 1)
        if done.returncode == 0:
            os.unlink(out)
        return None
    arguments = ((("report", "--at", r.choice(("one", "peak", "0.1s", "m2")), cut), ("report", "--since", "one", cut))[r.randrange(2)] if way == 4 else
                 ("diff", source, cut) if way == 5 else
                 ("check", "--max-live", "1K", "--max-peak", "fn:main=1K", cut) if way == 6 else
                 ("check", "--baseline", cut, source))
    done = read(*arguments)
    assert done.returncode in (0, 1, 2, 3), done
    whole_lines(done, 2)
    return None


@test
def t_cut_sessions():
    for name, make in (("a session", session), ("a session without its end", unclosed), ("a dump", dump),
                       ("a session of key frames", keyed)):
        source, r = make(), rng(name)
        with open(source, "rb") as f:
            data = f.read()
        cut = temporary_folder() + "/cut.mtop"
        for _ in range(CUTS if len(data) < 500000 else max(4, CUTS // 4)):
            at, left = at_random(r, data)
            with open(cut, "wb") as f:
                f.write(left)
            try:
                read_cut(r, name, source, cut, at)
            except AssertionError as why:
                kept = f"/tmp/memtop-cut-{os.getpid()}.mtop"
                shutil.copy(cut, kept)
                raise AssertionError(f"{name} of {len(data)} bytes, cut at {at} ({kept}): {why}") from None


@test
def t_cuts_of_a_short_run():
    """Its first whole state is in the file before the rest is known: every later cut opens."""
    path, cut = recorded("/bin/ls", "/"), temporary_folder() + "/cut.mtop"
    with open(path, "rb") as f:
        data = f.read()
    ends, at = [], mtop.HEAD
    for head, frames in mtop.blocks(data):
        at += len(head) + int.from_bytes(head[4:8], "little")
        ends.append((at, any(kind == wire.TICK for kind, _, _ in frames)))
    first = next(end for end, ticks in ends if ticks)
    assert len(ends) > 1 and first < ends[-1][0], ends
    for i in range(50):
        at = first + (len(data) - first) * i // 50
        with open(cut, "wb") as f:
            f.write(data[:at])
        done = memtop("report", "--format", "json", cut)
        assert done.returncode == 0, (at, ends, done)
        check_invariants({**json.loads(done.stdout), "changes": []})
        whole_lines(done, 1)


@test
def t_a_cut_state_says_what_it_lacks():
    """Between two whole states the stacks hold less than the totals; and nothing is known of the program's end."""
    commands = place() + "/commands"
    with open(commands, "w", encoding="ascii") as f:
        f.write("s 60000\nx 0\n")
    with open(commands, "rb") as f:
        path = recorded(PROGRAM_OF_COMMANDS, stdin=f)
    with open(path, "rb") as f:
        data = f.read()
    part, at, cut = 0, 16, temporary_folder() + "/cut.mtop"
    for head, _ in mtop.blocks(data):
        at += len(head) + int.from_bytes(head[4:8], "little")
        with open(cut, "wb") as f:
            f.write(data[:at])
        done = memtop("report", "--format", "json", cut)
        if done.returncode:
            continue  # no state yet
        r = json.loads(done.stdout)
        held, live, warnings = sum(s["live_bytes"] for s in r["stacks"]), r["totals"]["live_bytes"], r["warnings"]
        lacks = f"The state is incomplete: its stacks hold {held:,} of the {live:,} bytes that are live; "
        assert any(w.startswith(lacks) for w in warnings) == (held != live), (held, live, warnings)
        assert held == live or r["program"]["complete"] is False, r["program"]
        if r["program"]["state"] == "cut":
            assert r["verdict"]["word"] == "CUT OFF" and [w for w in warnings if re.match("The program.*the file ends before", w)], (r["verdict"], warnings)
            assert r["program"]["status"] == (0 if any("exited with status 0" in w for w in warnings) else None), r["program"]
            page = temporary_folder() + "/cut.html"
            assert memtop("report", "-o", page, cut).returncode == 0
            with open(page, encoding="utf-8") as f:
                texts = " ".join(memtop("report", cut).stdout.split()), html.unescape(f.read())
            assert all("recording cut off after" in t and "the file ends before" in t and (lacks in t or held == live) for t in texts), texts[0][:2000]
        part += held < live
    assert part, "no state was cut"


SUPPRESSIONS = {
    "own": "# expected\npython3!*_New\nlib*.so*!a_long_name_of_a_function\nnot word*!keep_*\n",
    "LeakSanitizer": "leak:_PyObject_*\nleak:/words.c$\n#\nleak:libpython\n",
    "valgrind": "{\n   rows\n   Memcheck:Leak\n   match-leak-kinds: definite\n   fun:malloc\n   fun:*alloc\n   ...\n   obj:*/python3\n}\n" * 2,
}


@test
def t_cut_suppressions():
    """The rest of the file holds: one line for a line that is no rule."""
    folder = temporary_folder()
    path = folder + "/a.supp"
    for name, text in SUPPRESSIONS.items():
        r = rng(f"suppressions, {name}")
        for _ in range(max(4, CUTS // 10)):
            at, left = at_random(r, text.encode())
            with open(path, "wb") as f:
                f.write(left)
            done = read("check", "--max-live", "1G", "--suppress", path, session())
            assert done.returncode in (0, 2), (name, at, done)
            whole_lines(done, 1)
            done = read("report", "--suppress", path, "--format", "json", session())
            assert done.returncode in (0, 2), (name, at, done)
            whole_lines(done, 1)


# --- writers

def writers(folder):
    """Of each: the command, and the file that it is to make. Each gets the same file each time."""
    a = session()
    for kind, ending in FORMATS.items():
        yield f"report {kind}", ["report", "-o", f"{folder}/a{ending}", a], f"{folder}/a{ending}"
    for ending in (".txt", ".json", ".folded", ".html"):
        yield f"diff {ending}", ["diff", "-o", f"{folder}/d{ending}", a + "@one", a], f"{folder}/d{ending}"
    for kind in ("text", "junit", "json", "github"):
        yield f"check {kind}", ["check", "--max-live", "1K", "--format", kind, "-o", f"{folder}/c.{kind}", a], f"{folder}/c.{kind}"


def contents(path):
    with open(path, "rb") as f:
        return f.read()


def same(a, b, kind):
    """But for the moment at which junit was written, if it is in the file."""
    return a == b or kind == "check junit" and re.sub(rb'(timestamp|time)="[^"]*"', b"", a) == re.sub(rb'(timestamp|time)="[^"]*"', b"", b)


@test
def t_killed_writers():
    r = rng("killed writers")
    killed = 0
    for name, command, path in writers(temporary_folder()):
        begun = time.monotonic()
        done = memtop(*command)
        lasts = time.monotonic() - begun
        assert done.returncode in (0, 1) and os.path.exists(path), (name, done)
        whole = contents(path)
        for before in (None, b"before") * MOMENTS:
            os.unlink(path)
            if before:
                with open(path, "wb") as f:
                    f.write(before)
            with subprocess.Popen([MEMTOP, *command], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
                try:
                    p.wait(r.uniform(0, lasts))
                except subprocess.TimeoutExpired:
                    p.kill()
                    killed += 1
            there = contents(path) if os.path.exists(path) else None
            assert there == before or same(there, whole, name), f"{name}: {len(there or b'')} bytes of {len(whole)}"
            if there is None:
                with open(path, "wb") as f:
                    f.write(whole)
    assert killed, "none was killed in time: the test shows nothing"


@test
def t_writers_without_room():
    """A limit of bytes that a file may have: 0 or more, and less than it needs."""
    r = rng("no room")
    for name, command, path in writers(temporary_folder()):
        assert memtop(*command).returncode in (0, 1), name
        size = os.path.getsize(path)
        with open(path, "wb") as f:
            f.write(b"before")
        for _ in range(MOMENTS):
            most = r.randrange(size)

            def limit(most=most):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

            done = run([MEMTOP, *command], env=environment(), preexec_fn=limit)
            one_line(done, 3, "File too large")
            assert contents(path) == b"before", (name, most)
    left = [n for n in os.listdir(os.path.dirname(path)) if not n.startswith(("a.", "c.", "d.")) or len(n) > 22]
    assert not left, left


def fill(folder):
    with open(folder + "/filler", "wb", buffering=0) as f:
        try:
            while f.write(bytes(4096)):
                pass
        except OSError:
            pass


def small_disk(size):
    folder = temporary_folder()
    if os.geteuid() or run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "memtop", folder]).returncode:
        raise Skip("mounting a tmpfs needs rights")
    at_end(run, ["umount", "-l", folder])
    return folder


@test
def t_full_disks():
    """A session keeps what fits and opens with it; of everything else nothing is left."""
    r = rng("full disks")
    needs = os.path.getsize(session())
    for _ in range(MOMENTS):
        folder = small_disk(r.randrange(4, max(8, needs // 1024), 4))
        path = folder + "/a.mtop"
        done = run([MEMTOP, "record", "-o", path, "--", "/usr/bin/python3", "-c", PROGRAM], env=environment())
        if done.returncode:
            assert done.returncode == 125 and re.search(r"^memtop: .*a\.mtop: disk full: [^\n]+(are saved|nothing was saved)[^\n]+$", done.stderr, re.M), done
        if "are saved" in done.stderr:
            j = memtop("report", "--format", "json", path)
            assert j.returncode == 0 and len(j.stderr.splitlines()) == 1, j
            j = json.loads(j.stdout)
            # the disk may be full behind the end, where the index comes
            assert j["program"]["state"] in ("cut", "running") or j["program"]["complete"], j["program"]
            check_invariants({**j, "changes": []})
        for name, command, out in writers(folder):
            fill(folder)
            one_line(memtop(*command), 3, "No space left")
            assert not os.path.exists(out), name
        assert set(os.listdir(folder)) <= {"a.mtop", "filler"}, os.listdir(folder)


@test
def t_nothing_saved_leaves_no_file():
    folder = small_disk(64)
    fill(folder)
    one_line(memtop("record", "-o", folder + "/a.mtop", "--", "/bin/true"), 125, "nothing was saved")
    assert os.listdir(folder) == ["filler"], os.listdir(folder)


@test
def t_killed_recorders():
    """Whenever it dies: no file yet, or one that opens, up to at most its last second."""
    r = rng("killed recorders")
    for _ in range(MOMENTS * 2):
        path = temporary_folder() + "/a.mtop"
        p = subprocess.Popen([MEMTOP, "record", "-o", path, "--", "/usr/bin/python3", "-c", PROGRAM], env=environment(),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        at_end(kill_group, p.pid)
        try:
            p.wait(r.uniform(0, 1.2))
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
        if not os.path.exists(path):
            continue
        done = read("report", "--format", "json", path)
        assert done.returncode in (0, 3), done
        if done.returncode:
            one_line(done, 3, path)
        else:
            whole_lines(done, 1)
            check_invariants({**json.loads(done.stdout), "changes": []})


@test
def t_killed_dumps():
    """The agent's own process dies at any moment of a dump: the name is not there, or the file is whole."""
    r = rng("killed dumps")
    for _ in range(MOMENTS):
        folder = temporary_folder()
        p = Obedient("listen=@memtop-test.%p dump_signal=SIGUSR2", cwd=folder)
        p.do("s 4000")
        with socket.socket(socket.AF_UNIX) as viewer:
            wait_for(lambda v=viewer, to="\0" + p.name[1:]: not v.connect_ex(to), 20, "the server")
            server = struct.unpack("3i", viewer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        assert server not in (p.pid, 0)
        os.kill(p.pid, signal.SIGUSR2)
        end = time.monotonic() + r.uniform(0, 0.08)
        while time.monotonic() < end:
            pass
        kill(server)
        for name in os.listdir(folder):
            if name.endswith(".mtop"):
                done = read("report", "--format", "json", f"{folder}/{name}")
                assert done.returncode == 0 and not done.stderr, (name, done)
        p.do("a 1 1")  # the program goes on


if __name__ == "__main__":
    main()
