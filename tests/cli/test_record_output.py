#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_record_output.py - record sets marks by itself and follows the program's output, which passes
unchanged: bytes, order, terminal, a slow or absent reader."""
import fcntl
import contextlib
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from cli import compiled, memtop, one_line
from harness import (MEMTOP, PATIENCE, at_end, at_once, child_of, children, environment, kill, main, mostly_waits,
                     recorded, recording, report, start, temporary_folder, test, wait_for, wait_for_session)
from term import Terminal

PYTHON = "/usr/bin/python3"


def marks(path):
    return [m["name"] for m in report(path)["marks"]]


def wait_for_marks(path, names):
    """A recording that is under way has these, of its program's output."""
    wait_for_session(path)
    wait_for(lambda: [m for m in marks(path) if m in names] == names, 30, f"marks {names}")


def alive(pid):
    return os.path.exists(f"/proc/{pid}")


@test
def t_wrong_values_of_marks_and_until():
    for option, value in (("--mark-every", "0.5"), ("--mark-every", "x"), ("--mark-every", "nan"), ("--mark-every", "60x"),
                          ("--mark-on-growth", "1"), ("--mark-on-growth", "-10M"), ("--mark-on-growth", "10X"), ("--mark-on", "("),
                          ("--until", "[")):
        one_line(memtop("record", option, value, "-o", "/nonexistent/a", "--", "/bin/true"), 2, option, value)
    for option in ("--mark-on", "--until"):
        one_line(memtop("record", option, "x", ":1"), 2, option, "a program that it starts")


@test
def t_bytes_pass_unchanged():
    """Any bytes on both streams, lines longer than a search sees, an end without a newline; the status too."""
    program = temporary_folder() + "/write.py"
    with open(program, "w", encoding="utf-8") as f:
        f.write("import os, random\nr = random.Random(7)\n"
                "for i in range(300):\n"
                "    b = r.randbytes(r.randrange(1, 20000)) + (b'x' * 9000 + b' go on\\n' if i % 7 == 0 else b'')\n"
                "    while b: b = b[os.write(r.choice((1, 2)), b):]\n"
                "os.write(1, b'the end'); os._exit(9)\n")
    want = subprocess.run([PYTHON, program], capture_output=True, check=False)
    path = temporary_folder() + "/a.mtop"
    got = subprocess.run([MEMTOP, "record", "-o", path, "--mark-on", "go on|^.the", "--until", "never", "--", PYTHON, program],
                         capture_output=True, env=environment(), check=False)
    assert got.returncode == 9, got.returncode
    assert got.stdout == want.stdout, (len(got.stdout), len(want.stdout))
    said = got.stderr[len(want.stderr):]
    assert got.stderr[:len(want.stderr)] == want.stderr and said.count(b"\n") == 1 and b"no line of its output matched" in said, said


@mostly_waits
def t_one_place_keeps_the_order():
    path = temporary_folder() + "/a.mtop"
    script = "for i in 1 2 3 4 5 6 7 8 9; do echo out$i; echo err$i >&2; done; read line"
    p = recording("/bin/sh", "-c", script, arguments=["--mark-on", "^err3$"],
                  path=path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_for_marks(path, ["err3"])
    said = p.communicate(b"\n", timeout=60 * PATIENCE)[0]
    assert said == b"".join(b"out%d\nerr%d\n" % (i, i) for i in range(1, 10)), said
    assert marks(path) == ["err3"]


@mostly_waits
def t_marks_by_output_by_growth_and_by_the_clock():
    """By the output, by growth and by the clock; a program that prints matches without end gets a few."""
    path = temporary_folder() + "/a.mtop"
    code = ("import sys\nkeep = []\nfor i in range(4):\n"
            "    print(f'phase {i} begins', flush=True); sys.stdin.readline()\n"
            "    keep.append([bytes(5000) for _ in range(2000)])\nsys.stdin.readline()\n")
    p = recording(PYTHON, "-c", code, arguments=["--mark-on", "phase [0-9]", "--mark-on-growth", "8M"],
                  path=path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for i in range(4):
        wait_for_marks(path, [f"phase {n}" for n in range(i + 1)])
        time.sleep(0.5)  # memtop looks five times a second, and growth counts from its first look
        p.stdin.write(b"\n")
        p.stdin.flush()
        wait_for(lambda: sum(not m.startswith("phase") for m in marks(path)) > i, 20, f"mark {i + 1} by growth")
    said = p.communicate(b"\n", timeout=60 * PATIENCE)[1]
    assert p.returncode == 0 and said == b"", (p.returncode, said)
    found = report(path)["marks"]
    phases = [m["live_bytes"] for m in found if m["name"].startswith("phase")]
    assert len(phases) == 4 and all(9 << 20 < b - a < 12 << 20 for a, b in zip(phases, phases[1:])), phases
    assert len(found) <= 9, found
    path = temporary_folder() + "/b.mtop"  # no wait takes the first one's marks for its own
    p = recording("/bin/sh", "-c", "read line", arguments=["--mark-every", "1"], path=path, stdin=subprocess.PIPE)
    wait_for_session(path)
    wait_for(lambda: len(marks(path)) >= 2, 20, "two marks by the clock")
    p.communicate(b"\n", timeout=60 * PATIENCE)
    flood = recorded("/bin/sh", "-c", "for i in 1 2 3; do yes | head -n 70000; sleep 0.5; done", arguments=["--mark-on", "y"])
    assert flood.stdout == "y\n" * 210000
    after = report(flood)
    assert 1 <= len(after["marks"]) < 30, len(after["marks"])
    assert flood.stderr.count("\n") == 1 and "--mark-on: matching lines come faster than marks may" in flood.stderr, flood.stderr
    assert [w for w in after["warnings"] if "matching lines got no mark" in w], after["warnings"]


@mostly_waits
def t_until_a_prompt():
    """A line that waits for its end counts, `$` does not match in it. memtop returns, the program runs on and is still heard."""
    folder = temporary_folder()
    script = "echo begin; printf 'almost'; sleep 0.4; printf ' ready> '; while [ ! -e go ]; do sleep 0.1; done; echo; echo late; rm go"
    with open(folder + "/out", "wb") as out, open(folder + "/err", "wb") as err:
        p = recording("/bin/sh", "-c", script, arguments=["--until", "almost$|ready>"],
                  path=folder + "/a.mtop", cwd=folder, stdout=out, stderr=err)
        assert p.wait(60) == 0
    said = open(folder + "/err", encoding="utf-8").read()
    found = re.fullmatch(r'memtop: /bin/sh: recorded until "ready>"; it runs on as process (\d+), kill \1 ends it\n', said)
    assert found, said
    assert alive(found[1]) and report(folder + "/a.mtop")["program"]["state"] == "running"
    open(folder + "/go", "w", encoding="ascii").close()
    wait_for(lambda: open(folder + "/out", "rb").read() == b"begin\nalmost ready> \nlate\n", 10, "the rest of the output")
    wait_for(lambda: not alive(found[1]), 10, "its end")


@mostly_waits
def t_until_the_last_line():
    """It passes after the program's end, since nobody reads: the file is closed by then, and the line is no line that never came."""
    path = temporary_folder() + "/a.mtop"
    code = "print(('x' * 99 + '\\n') * 1700 + 'done', flush=True)"  # more than a pipe and what memtop holds, less than two pipes
    p = recording(PYTHON, "-c", code, arguments=["--until", "^done$"],
                  path=path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for_session(path)
    wait_for(lambda: report(path)["program"]["state"] == "exited", 30, "the program's end in the file")
    out, said = p.communicate(timeout=60)
    assert p.returncode == 0 and out.endswith(b"\ndone\n") and len(out) == 170005, (p.returncode, out[-20:], len(out))
    assert said == b"", said


@mostly_waits
def t_memtop_killed():
    """The output goes on without memtop."""
    folder = temporary_folder()
    with open(folder + "/out", "wb") as out:
        p = recording("/bin/sh", "-c", "echo $$; while [ ! -e go ]; do sleep 0.1; done; echo late", arguments=["--mark-on", "x"],
                      path=folder + "/a.mtop", cwd=folder, stdout=out)
    wait_for_session(folder + "/a.mtop")
    wait_for(lambda: os.path.getsize(folder + "/out"), 10, "the first line")
    at_end(kill, int(open(folder + "/out", "rb").read()))
    p.send_signal(signal.SIGKILL)
    p.wait(60)
    open(folder + "/go", "w", encoding="ascii").close()
    wait_for(lambda: open(folder + "/out", "rb").read().endswith(b"\nlate\n"), 10, "the late line")


@mostly_waits
def t_a_slow_reader_stops_the_program_as_without_memtop():
    """A reader that stops stops the program; one that leaves ends it by SIGPIPE, as without memtop."""
    folder = temporary_folder()
    code = ("import os\nn = 0\nwhile True:\n    n += os.write(1, b'z' * 4095 + b'\\n')\n"
            "    open('written', 'w').write(str(n))\n")
    p = recording(PYTHON, "-c", code, arguments=["--mark-on", "q"],
                  path=folder + "/a.mtop", cwd=folder, stdout=subprocess.PIPE)

    def written():
        try:
            return int(open(folder + "/written", encoding="ascii").read() or 0)
        except OSError:
            return 0
    wait_for(lambda: written() >= 65536, 20, "a full pipe")
    last = [-1]

    def stands():
        before, last[0] = last[0], written()
        time.sleep(0.5)  # between two looks
        return before == written()
    wait_for(stands, 20, "the program to stop")
    assert written() <= 4 * 65536, f"{written()} bytes were taken with no reader"
    p.stdout.close()
    assert p.wait(60) in (128 + signal.SIGPIPE, 1), p.returncode  # Python turns EPIPE into an exception


@mostly_waits
def t_closed_and_kept():
    """A program that closes or dups its output, one without any, and a child that keeps it open."""
    folder = temporary_folder()

    def status(script, *options, **named):
        return subprocess.run([MEMTOP, "record", "-o", folder + "/a.mtop", "--mark-on", "m.rk", *options, "--", "/bin/sh", "-c", script],
                              env=environment(), check=False, timeout=60 * PATIENCE, **named)
    done = status("exec 7>&1 1>&- 2>&-; echo mark7 >&7; exec 7>&-; exit 3", capture_output=True)
    assert (done.returncode, done.stdout) == (3, b"mark7\n"), done
    done = subprocess.run(["/bin/sh", "-c", 'exec "$@" >&- 2>' + folder + "/err", "sh", MEMTOP, "record", "-o", folder + "/b.mtop", "--until", "x", "--",
                           "/bin/sh", "-c", "echo no 2>&-; exit 4"], env=environment(), check=False, timeout=60 * PATIENCE)
    assert done.returncode == 4 and open(folder + "/err", encoding="utf-8").read().count("memtop: ") == 1, done
    with open(folder + "/out", "wb") as out:
        done = status("sleep 1000 & echo $!; echo mark", "--first-only", "--no-follow", stdout=out)
    lines = open(folder + "/out", "rb").read().split()
    at_end(kill, int(lines[0]))
    assert done.returncode == 0 and lines[1:] == [b"mark"] and alive(int(lines[0])), (done, lines)


def on_terminal(command, seconds=30, columns=93):
    """What a command writes to a terminal of its own, and its status."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 31, columns, 0, 0))
    p = start(command, env=environment(TERM="xterm"), stdout=slave, stderr=slave, stdin=slave, start_new_session=True)
    os.close(slave)
    out, end = b"", time.monotonic() + seconds * PATIENCE
    while time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            try:
                out += os.read(master, 65536)
            except OSError:
                break
        elif p.poll() is not None:
            break
    os.close(master)
    return out, p.wait(60)


@test
def t_the_program_keeps_its_terminal():
    """On a terminal the program still has one, of the same size, and its bytes are changed only once."""
    path = temporary_folder() + "/a.mtop"
    program = f"test -t 1 && test -t 2 && stty size <&1; printf 'a\\tb\\n\\033[1mx\\n'; read line <{path}.go; exit 5"
    os.mkfifo(path + ".go")

    def let_go(marked):
        if marked:
            wait_for_marks(path, ["b"])
        with open(path + ".go", "w", encoding="ascii") as f:
            f.write("\n")
    (plain, _), _ = at_once(lambda f, *a: f(*a), [(on_terminal, ["/bin/sh", "-c", program]), (let_go, False)])
    (out, status), _ = at_once(lambda f, *a: f(*a), [(on_terminal, [MEMTOP, "record", "-o", path, "--mark-on", "b$", "--", "/bin/sh", "-c", program]),
                                                     (let_go, True)])
    assert status == 5 and plain.startswith(b"31 93\r\n"), (status, plain)
    assert out.startswith(plain) and b"memtop: " in out[len(plain):], (plain, out)
    assert marks(path) == ["b"]


SCREEN = """
import curses
def main(screen):
    screen.addstr(0, 0, "ready"); screen.refresh()
    key = screen.getch()
    screen.addstr(1, 0, f"key {key} of {screen.getmaxyx()}"); screen.refresh()
    screen.getch()
curses.wrapper(main)
"""


@test
def t_a_program_that_draws_a_screen():
    """It gets single keys, which are not echoed, and leaves the terminal's modes as they were."""
    path = temporary_folder() + "/a.mtop"
    script = (f"stty -a >{path}.before; '{MEMTOP}' record -o {path} --mark-on ready -- {PYTHON} -c '{SCREEN}' 2>{path}.said; "
              f"stty -a >{path}.after; {PYTHON} -c '{SCREEN.replace('ready', 'plain')}'; sleep 100")
    with Terminal(["/bin/sh", "-c", script], 80, 24) as t:
        t.wait_for(re.compile("^ready$", re.M))
        t.keys("k")
        t.wait_for(("key 107 of (24, 80)", lambda lines: lines[0] == "ready"))
        t.resize(70, 20)
        t.keys("q")
        t.wait_for(re.compile("^plain$", re.M))
        before, after = (open(f"{path}.{when}", encoding="ascii").read().split("\n", 1)[1] for when in ("before", "after"))
        assert before == after, (before, after)
    assert marks(path) == ["ready"]


@mostly_waits
def t_output_that_cannot_be_written():
    """One line, and a status that is not 0; a program that goes on writing is told as by a pipe of the shell."""
    path = temporary_folder() + "/a.mtop"
    for script, status in (("echo hi", 125), ("echo hi; exit 3", 3), ("yes", 128 + signal.SIGPIPE)):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MEMTOP, "record", "-o", path, "--mark-on", "x", "--", "/bin/sh", "-c", f"exec 2>&-; {script}"], stdout=full,
                                  stderr=subprocess.PIPE, env=environment(), check=False, timeout=60)
        assert done.returncode == status and done.stderr.count(b"\n") == 1, (script, done)
        assert b"memtop: writing the program's stdout failed: No space left on device" in done.stderr, (script, done)
        assert report(path)["program"]["state"] in ("exited", "signalled")


def tees(pid, states="RSD"):
    """The processes that copy its output, of those in such a state."""
    found = []
    for child in children(pid):
        with contextlib.suppress(OSError), open(f"/proc/{child}/stat", encoding="utf-8") as f:
            name, fields = f.read().split("(", 1)[1].rsplit(")", 1)
            found += [child] if name == "memtop-tee" and fields.split()[0] in states else []
    return found


@mostly_waits
def t_the_process_that_writes_is_killed():
    """What it had not written is lost: one line, and a status that is not 0."""
    path = temporary_folder() + "/a.mtop"
    p = recording(PYTHON, "-c", "import sys; sys.stdin.read()", arguments=["--mark-on", "x"],
                  path=path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for_session(path)
    os.kill(wait_for(lambda: len(found := tees(p.pid)) == 2 and found, 20, "two that copy")[0], signal.SIGKILL)
    said = p.communicate(timeout=60 * PATIENCE)[1]
    assert p.returncode == 125 and said.count(b"was killed; the rest is lost\n") == 1, (p.returncode, said)


@mostly_waits
def t_a_reader_that_leaves_while_nothing_is_written():
    """The program's very next write fails, as without memtop."""
    folder = temporary_folder()
    code = "import os, sys\nsys.stdin.read()\ntry: os.write(1, b'x')\nexcept BrokenPipeError: os._exit(42)\n"
    p = recording(PYTHON, "-c", code, arguments=["--mark-on", "q"],
                  path=folder + "/a.mtop", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    wait_for_session(folder + "/a.mtop")
    p.stdout.close()
    wait_for(lambda: tees(p.pid, "Z"), 10, "the end of the process that copies")
    p.stdin.close()
    assert p.wait(60) == 42, p.returncode


@mostly_waits
def t_ended_while_output_waits_for_its_reader():
    """The program has ended, its output has not been read: the session is whole already. The output fills one pipe,
    and goes into two."""
    path = temporary_folder() + "/a.mtop"
    p = recording(PYTHON, "-c", "import os\nos.write(1, bytes(60000)); os.write(1, bytes(50000))", arguments=["--mark-on", "q"],
                  path=path, stdout=subprocess.PIPE)
    wait_for(lambda: os.path.exists(path) and open(path, "rb").read().endswith(b"MEMTOPE\n"), 20, "a whole file")
    assert p.poll() is None
    p.terminate()
    assert p.wait(60) == -signal.SIGTERM
    r = report(path)
    assert r["program"]["state"] == "exited" and not [w for w in r["warnings"] if "cut" in w], r["warnings"]


@mostly_waits
def t_progress_goes_to_a_terminal_alone():
    """A target's recording shows one line on a terminal, and clears it; none goes to a file or to a program's terminal."""
    program = compiled("#include <stdlib.h>\n#include <unistd.h>\n"
                       "int main(void) { for (;;) { free(malloc(100000)); usleep(1000); } }", "-w")
    folder = temporary_folder()
    p = recording(program, path=folder + "/x.mtop", stderr=subprocess.DEVNULL)
    wait_for_session(folder + "/x.mtop")
    pid = child_of(p.pid)
    at_end(kill, pid)
    target = ["record", "--for", "2.5", "-o", folder + "/a.mtop", "-p", str(pid)]
    out, status = on_terminal([MEMTOP, *target], columns=60)
    lines = [line for line in out.split(b"\r") if b"heap" in line]
    assert status == 0 and len(lines) >= 2, out
    assert all(re.fullmatch(rb"\d+:\d\d:\d\d  heap [\d.]+[KM]?  allocates (-|[\d.]+[KM]?)/s  file [\d.]+[KM]?\x1b\[K", x) for x in lines), lines
    assert re.search(rb"\r\x1b\[K(\r\n)?memtop: [^\r]*a\.mtop", out), out
    done = memtop(*target)
    assert done.returncode == 0 and done.stderr == "", done
    out, status = on_terminal([MEMTOP, "record", "-o", folder + "/b.mtop", "--", "/bin/sh", "-c", "sleep 1.5"])
    assert status == 0 and b"heap" not in out, out
    for target in (["--progress", "--", "/bin/sh", "-c", "echo begin; sleep 2.5"], ["--progress", *target[1:]]):
        done = memtop("record", *target) if "-o" in target else memtop("record", "-o", folder + "/b.mtop", *target)
        lines = done.stderr.splitlines()
        assert done.returncode == 0 and len(lines) == 1 and "\r" not in done.stderr, done
        assert re.fullmatch(r"memtop: 0:\d\d:\d\d  heap [\d.]+[KM]?  allocates [\d.]+[KM]?/s  file [\d.]+[KM]?", lines[0]), lines


main()
