#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_dump.py - session files that the agent writes without a viewer: at a signal, at the end, when
the heap or the resident memory grew. Their figures equal the program's; what cannot be written is
one line, and leaves no half file."""
import os
import re
import resource
import signal
import stat
import subprocess

from cli import compiled
from client import preload
from harness import (MEMTOP, Skip, at_end, environment, main, mostly_waits, need, recorded, report, run, start,
                     temporary_folder, test, wait_for)
from nobody import NOBODY
from obedient import Obedient
from servers import server_of

PYTHON = "/usr/bin/python3"


def program(options, folder, **named):
    return Obedient(f"listen=@memtop-test.%p {options}", cwd=folder, **named)


def files(folder):
    return sorted(n for n in os.listdir(folder) if ".mtop" in n)


def dumps(folder, count=1, what=""):
    """The paths, once there are so many whole ones and nothing else."""
    try:
        wait_for(lambda: len(files(folder)) == count and not any(n.endswith(".part") for n in files(folder)), 20)
    except AssertionError:
        raise AssertionError(f"{what}: wanted {count} dumps: {files(folder)}") from None
    return [os.path.join(folder, n) for n in files(folder)]


def note(r):
    found = [w for w in r["warnings"] if w.startswith("the agent wrote this state without a viewer: ")]
    assert len(found) == 1, r["warnings"]
    return found[0].split(": ", 1)[1]


@test
def t_a_signal_dumps_a_whole_state():
    """A whole state as of then: totals equal a viewer's, stacks and threads are in it. Numbers go on; the program does too."""
    folder = temporary_folder()
    p = program("dump_signal=SIGUSR2", folder)
    p.do("a 1000 100")
    p.do("s 50")
    os.kill(p.pid, signal.SIGUSR2)
    path = dumps(folder)[0]
    assert os.path.basename(path) == f"memtop.{p.inner}.1.mtop"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    viewer = p.viewer().until_complete()
    r = report(path)
    assert note(r) == "dump_signal=SIGUSR2" and r["program"]["state"] == "running", (r["warnings"], r["program"])
    assert (r["totals"]["live_bytes"], r["totals"]["live_blocks"]) == viewer.live()[::-1] == (1000 * 100 + 50 * 64, 1050), (r["totals"], viewer.live())
    assert sum(t["live_blocks"] for t in r["threads"]) == 1050, r["threads"]
    assert [s for s in r["stacks"] if s["live_bytes"] == 100000 and any(f["function"] == "main" for f in s["frames"])], r["stacks"][:1]
    p.do("A")
    os.kill(p.pid, signal.SIGUSR2)
    second = report(dumps(folder, 2)[1])
    assert second["totals"]["live_blocks"] == 50, second["totals"]
    p.tell("x 0")
    assert p.process.wait(60) == 0
    dumps(folder, 2)


@test
def t_the_peak_of_a_running_program():
    """Nobody has watched it; its highest heap is long freed when the dump is asked for."""
    folder = temporary_folder()
    p = program("listen=none dump_signal=SIGUSR2", folder)
    for n, blocks in ((1, 20000), (2, 50000)):
        p.do(f"a {blocks} 1000")
        p.do("A")
        p.do("a 10 100")
        os.kill(p.pid, signal.SIGUSR2)
        path = dumps(folder, n)[n - 1]
        assert report(path)["totals"]["live_blocks"] < 100
        r = report(path, arguments=["--at", "peak"])
        assert blocks * 990 <= r["totals"]["live_bytes"] <= blocks * 1000 + 65536, (r["totals"], r["warnings"])
        assert any(s["live_bytes"] >= blocks * 980 for s in r["stacks"]), r["stacks"][:2]


@test
def t_a_dump_of_40000_stacks_opens():
    """More than a block's worth: 40,000 stacks, opened and copied by the session's own reader."""
    folder = temporary_folder()
    p = program("dump_signal=SIGUSR1 dump_to=x-%p-%%-%n.mtop", folder)
    p.do("s 40000")
    os.kill(p.pid, signal.SIGUSR1)
    path = dumps(folder)[0]
    assert os.path.basename(path) == f"x-{p.inner}-%-1.mtop" and os.path.getsize(path) > 300000, os.path.getsize(path)
    r = report(path)
    assert r["totals"]["live_blocks"] == 40000 and len(r["stacks"]) >= 40000, r["totals"]
    text = run([MEMTOP, "report", path], env=environment())
    assert text.returncode == 0 and text.stderr == "", text.stderr
    whole = open(path, "rb").read()
    for cut in (len(whole) - 1, len(whole) // 2, 20):
        with open(folder + "/cut", "wb") as f:
            f.write(whole[:cut])
        done = run([MEMTOP, "report", folder + "/cut"], env=environment())
        assert done.returncode in (0, 3) and done.stderr.count("\n") == 1, (cut, done)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    with open(folder + "/damaged", "wb") as f:
        f.write(damaged)
    done = run([MEMTOP, "report", folder + "/damaged"], env=environment())
    assert "checksum is wrong; the part before that is good" in done.stderr, done.stderr
    os.unlink(path)


MANY = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 1500000; i++)
		*(char *)malloc(24) = 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
"""


@test
def t_killed_while_a_dump_is_written():
    """A walk over many blocks is under way then. That dump is whole, and the one of the end comes, too."""
    folder = temporary_folder()
    p = start([compiled(MANY)], cwd=folder, stdout=subprocess.PIPE, env=preload("listen=none dump_signal=SIGUSR2 dump_on_fail=yes"))
    assert p.stdout.readline() == b"ready\n"
    os.kill(p.pid, signal.SIGUSR2)
    wait_for(lambda: files(folder), 20, "the dump begins")
    p.kill()
    p.wait(60)
    first, second = (report(d) for d in dumps(folder, 2))
    assert (note(first), note(second)) == ("dump_signal=SIGUSR2", "dump_on_fail=yes")
    assert first["totals"]["live_blocks"] == second["totals"]["live_blocks"] >= 1500000, (first["totals"], second["totals"])
    assert second["program"]["state"] == "signalled", second["program"]


@mostly_waits
def t_dump_at_exit_by_any_way_out():
    """At the exit, by any way out; the program waits, so that the file is there when it is gone."""
    ways = (("x 3", 3, "exited"), ("_ 4", 4, "exited"), ("q 5", 5, "exited"), ("k 9", -9, "signalled"), ("k 11", -11, "signalled"),
            ("X 6", 6, "exited"))
    for command, status, state in ways:
        folder = temporary_folder()
        p = program("dump_at_exit=yes", folder)
        p.do("a 10 1000")
        p.tell(command)
        assert p.process.wait(60) == status, (command, p.process.returncode)
        if command[0] in "x_":
            assert len(files(folder)) == 1 and files(folder)[0].endswith("mtop"), (command, files(folder))
        r = report(dumps(folder, what=command)[0])
        assert (r["program"]["state"], abs(r["program"]["status"] or r["program"]["signal"])) == (state, abs(status)), (command, r["program"])
        assert (r["totals"]["live_bytes"], r["totals"]["allocated_blocks"]) == (10000, 10) and note(r) == "dump_at_exit=yes", (command, r["totals"])


@mostly_waits
def t_dump_on_fail_spares_success():
    for command, count in (("x 0", 0), ("x 1", 1), ("k 6", 1)):
        folder = temporary_folder()
        p = program("dump_on_fail=yes", folder)
        p.tell(command)
        p.process.wait(60)
        if count:
            assert note(report(dumps(folder)[0])) == "dump_on_fail=yes"
        else:
            assert files(folder) == [], files(folder)


@mostly_waits
def t_growth_and_rss():
    """One dump each time the heap grew by so much, one when resident memory passes a size; without a socket."""
    folder = temporary_folder()
    p = program("listen=none dump_on_growth=10M", folder)
    p.do("a 1 100")
    for n in range(3):
        p.do("a 12 1000000")
        r = report(dumps(folder, n + 1)[n])
        assert note(r).startswith("dump_on_growth=10485760, with ") and r["totals"]["live_blocks"] == 1 + 12 * (n + 1), (note(r), r["totals"])
    p.do("A")
    p.end()
    dumps(folder, 3)
    folder = temporary_folder()
    p = program("listen=none dump_on_rss=60M", folder)
    p.do("f 40 1000000")
    p.do("f 40 1000000")
    assert note(report(dumps(folder)[0])).startswith("dump_on_rss=62914560, with ")
    p.do("f 10 1000000")
    p.end()
    dumps(folder, 1)


@test
def t_wrong_dump_options_are_named():
    for word, why in (("dump_signal=SIGKILL", "is none of its values"), ("dump_signal=", "is empty"), ("dump_at_exit=no", "is none of its values"),
                      ("dump_on_growth=-1", "is not a number"), ("dump_on_rss=much", "is not a number"), ("dump_to=", "is empty"),
                      ("dump_to=" + "x" * 300, "is too long")):
        done = run(["/bin/echo", "fine"], env=preload(options=word))
        assert done.stdout == "fine\n" and done.returncode == 0, done
        assert done.stderr.startswith("memtop: MEMTOP_OPTIONS: ") and why in done.stderr and done.stderr.count("\n") == 1, done.stderr


def one_failure(folder, options, why, state="a 10 10", **named):
    """The program sees nothing of it: one line on its stderr, its own status, no file."""
    with open(folder + "/said", "wb") as said:
        os.chmod(folder + "/said", 0o666)  # the server opens it with the rights that the program has left
        p = program(f"dump_signal=SIGUSR2 dump_at_exit=yes {options}", folder, stderr=said, **named)
        for _ in range(2):
            p.do(state)
            os.kill(p.pid, signal.SIGUSR2)
        wait_for(lambda: os.path.getsize(folder + "/said"), 20, "a line")
        p.tell("x 7")
        assert p.process.wait(60) == 7
    text = open(folder + "/said", encoding="utf-8").read()
    assert re.fullmatch(r"memtop: [^\n]*: the dump was not written: [^\n]+; choose another dump_to=\n", text) and why in text, text
    assert files(folder) == [], files(folder)


@mostly_waits
def t_a_dump_without_a_place_is_one_line():
    folder = temporary_folder()
    one_failure(folder, "dump_to=/nonexistent/a.%n.mtop", "No such file")
    for taken in ("text", "pipe", "link", "folder"):
        folder = temporary_folder()
        there = f"{folder}/{taken}"
        with open(folder + "/text", "w", encoding="ascii") as f:
            f.write("not a session")
        os.mkfifo(folder + "/pipe")
        os.symlink("text", folder + "/link")
        os.mkdir(folder + "/folder")
        one_failure(folder, f"dump_to={there}", "File exists")
        assert open(folder + "/text", encoding="ascii").read() == "not a session" and os.path.islink(folder + "/link")
        assert stat.S_ISFIFO(os.stat(folder + "/pipe").st_mode) and os.path.isdir(folder + "/folder")
    folder = temporary_folder()
    if os.geteuid():
        raise Skip("needs root for a user without rights and a small disk")
    need("setpriv")
    os.chmod(folder, 0o711)
    os.mkdir(folder + "/closed", 0o755)
    one_failure(folder, f"dump_to={folder}/closed/a.%n.mtop", "Permission denied",
                command=NOBODY)


@mostly_waits
def t_a_dump_onto_a_full_disk_is_one_line():
    folder = temporary_folder()
    small = folder + "/small"
    os.mkdir(small)
    if os.geteuid() or run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small]).returncode:
        raise Skip("mounting a tmpfs needs rights")
    at_end(run, ["umount", "-l", small])
    one_failure(folder, f"dump_to={small}/a.%n.mtop", "No space left", state="s 3000")
    assert os.listdir(small) == [], os.listdir(small)


HUNGRY = """
#include <stdlib.h>
#include <string.h>
int main(void)
{
	void *p;
	while ((p = malloc(100000)))
		memset(p, 1, 100000);
	while (malloc(100))
		;
	return 3;
}
"""


@mostly_waits
def t_a_limit_of_memory():
    """The program has used up its address space, and fails: just that is dumped."""
    for limit in ("-v", "-S -v", "-d"):
        folder = temporary_folder()
        done = run(["/bin/sh", "-c", f"ulimit {limit} 400000; exec {compiled(HUNGRY)}"], env=preload("listen=none dump_on_fail=yes"), cwd=folder)
        assert done.returncode == 3, (limit, done)
        r = report(dumps(folder, what=limit)[0])
        assert note(r) == "dump_on_fail=yes" and r["totals"]["live_bytes"] > 200 << 20, (limit, note(r), r["totals"])
        assert any(f["function"] == "main" for s in r["stacks"][:1] for f in s["frames"]), r["stacks"][:1]


def size_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmSize:"))


@mostly_waits
def t_no_memory_for_the_tables():
    """The session's own room is there, a viewer's tables are not: that is the reason, and no other dump_to= helps."""
    folder = temporary_folder()
    with open(folder + "/said", "wb") as said:
        p = program("dump_signal=SIGUSR2", folder, stderr=said)
        p.do("a 10 10")
        server = server_of(p.pid)
        # the 40 MiB that are kept for a dump are given back first
        resource.prlimit(server, resource.RLIMIT_AS, (size_of(p.pid) - (36 << 20),) * 2)
        os.kill(p.pid, signal.SIGUSR2)
        wait_for(lambda: os.path.getsize(folder + "/said"), 20, "a line")
        p.tell("x 0")
        assert p.process.wait(60) == 0
    text = open(folder + "/said", encoding="utf-8").read()
    assert re.fullmatch(r"memtop: \S+: the dump was not written: the agent has no memory for it; raise the program's limit of memory \(ulimit -v, -d\)\n", text), text
    assert files(folder) == [], files(folder)


@mostly_waits
def t_the_line_keeps_its_place():
    """A file as stderr, not opened for appending: the line stands between the program's own."""
    folder = temporary_folder()
    code = ("import os, sys, time\nos.write(2, b'before\\n')\n"
            "os.kill(os.getpid(), 10)\nwhile os.fstat(2).st_size < 20: time.sleep(0.05)\nos.write(2, b'after\\n')\n")
    with open(folder + "/said", "wb") as said:
        done = run([PYTHON, "-c", code], env=preload("listen=none dump_signal=SIGUSR1 dump_to=/nonexistent/a"), stderr=said, cwd=folder)
    text = open(folder + "/said", encoding="utf-8").read()
    if "after\n" not in text or not text.endswith("after\n"):
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as f:
            if f.read().strip() != "0":
                raise Skip("the kernel refuses a process the descriptors of another")
    assert done.returncode == 0
    assert re.fullmatch(r"before\nmemtop: /nonexistent/a: the dump was not written: No such file or directory; [^\n]+\nafter\n", text), text


@mostly_waits
def t_names_that_are_taken():
    """No file is written over where there is a number, and a link is not followed; without one the newest dump stays."""
    folder = temporary_folder()
    for name in ("d.1.mtop", "d.3.mtop"):
        open(f"{folder}/{name}", "w", encoding="ascii").close()
    os.symlink("/tmp/memtop-nowhere", folder + "/d.2.mtop.part")
    p = program("dump_signal=SIGUSR2 dump_to=d.%n.mtop", folder)
    os.kill(p.pid, signal.SIGUSR2)
    wait_for(lambda: "d.4.mtop" in files(folder) or "d.2.mtop" in files(folder), 20, "a dump")
    assert os.path.getsize(folder + "/d.1.mtop") == 0 and os.path.getsize(folder + "/d.3.mtop") == 0
    assert not os.path.lexists("/tmp/memtop-nowhere") and os.path.islink(folder + "/d.2.mtop.part")
    folder = temporary_folder()
    p = program("dump_signal=SIGUSR2 dump_to=last.mtop", folder)
    for blocks in (5, 10):
        p.do("a 5 10")
        os.kill(p.pid, signal.SIGUSR2)
        wait_for(lambda n=blocks: files(folder) == ["last.mtop"] and report(folder + "/last.mtop")["totals"]["live_blocks"] == n, 20, "a dump")


@mostly_waits
def t_a_dump_belongs_to_the_programs_user():
    """A dump belongs to the user that the program became. A program that seals itself gets one line, and no dumps."""
    if os.geteuid():
        raise Skip("needs root")
    folder = temporary_folder()
    os.chmod(folder, 0o777)
    p = program("dump_signal=SIGUSR2", folder)
    p.do("i 65534", "0")
    os.kill(p.pid, signal.SIGUSR2)
    assert os.stat(dumps(folder)[0]).st_uid == 65534
    p.end()
    for command, words in (("j /", None), ("z", "runs under a filter"), ("y", "runs under a filter")):
        folder = temporary_folder()
        os.mkdir(folder + "/root")
        with open(folder + "/said", "wb") as said:
            p = program("dump_signal=SIGUSR2 dump_at_exit=yes", folder, stderr=said)
            p.viewer().until_complete()  # a root from before the server's start is not another one
            p.do(f"j {folder}/root" if command == "j /" else command, None)
            wait_for(lambda f=folder: os.path.getsize(f + "/said"), 20, "a line after " + command)
            if command != "z":  # which kills for the return of a handler
                os.kill(p.pid, signal.SIGUSR2)
            p.process.stdin.close()
            assert p.process.wait(60) == 0, (command, p.process.returncode)
        text = open(folder + "/said", encoding="utf-8").read()
        assert text.startswith("memtop: no dumps from now on: the program " + (words or "has another root")) and text.count("\n") == 1, text
        assert files(folder) == [], files(folder)


@mostly_waits
def t_fork_and_exec():
    """A child writes its own dumps; a program that was executed instead of the first goes on with the number."""
    folder = temporary_folder()
    code = ("import os, select, sys\n"
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    keep = [bytearray(3000000)]\n"
            "    while not select.select([0], [], [], 0.05)[0]: keep.append(bytearray(1000))\n"
            "    os._exit(0)\n"
            "print(pid, flush=True); sys.stdin.read(); os.wait()\n")
    p = start([PYTHON, "-c", code], env=preload("listen=none dump_at_exit=yes"), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child = p.stdout.readline().decode().strip()

    def own_server():
        return [n for n in os.listdir("/proc") if n.isdigit() and comm(n) == "memtop-agent" and cmdline(n) == cmdline(child)]
    wait_for(lambda: len(own_server()) >= 2, 20, "the child's server")
    p.stdin.close()
    assert p.wait(60) == 0
    first, second = dumps(folder, 2)
    by_pid = {os.path.basename(f).split(".")[1]: report(f) for f in (first, second)}
    assert set(by_pid) == {str(p.pid), child}, by_pid.keys()
    assert by_pid[child]["totals"]["live_bytes"] > 3000000 > by_pid[str(p.pid)]["totals"]["live_bytes"]
    folder = temporary_folder()
    done = run(["/bin/sh", "-c", "exec /bin/sh -c 'exit 3'"], env=preload("listen=none dump_at_exit=yes"), cwd=folder)
    assert done.returncode == 3
    assert len(dumps(folder)) == 1


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return ""


def cmdline(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read()
    except OSError:
        return b""


@test
def t_a_window_is_a_pair_of_marks_in_the_dump():
    """A window is a pair of marks: by the signal, and by the calls of the program; the change between them is what was born in it."""
    folder = temporary_folder()
    p = program("window_signal=SIGUSR1", folder)
    viewer = p.viewer().until_complete()

    def mark(count):
        os.kill(p.pid, signal.SIGUSR1)
        viewer.until(lambda: len(viewer.marks) >= count, "a mark")
    p.do("a 3 100")
    mark(1)
    p.do("b 5 1000")
    p.do("A")
    mark(2)
    p.do("a 7 10")
    mark(3)
    mark(4)
    r = report(p.name, arguments=["--between", "window..window.end"])
    assert [m["name"] for m in r["marks"]] == ["window", "window.end", "window-2", "window.end-2"], r["marks"]
    assert {m["set_by"] for m in r["marks"]} == {"SIGUSR1"}
    assert sum(c["born_bytes"] for c in r["changes"]) == 5000 and sum(c["gone_bytes"] for c in r["changes"]) == 300, r["changes"]
    path = compiled("#include <memtop/memtop.h>\n#include <stdlib.h>\nvoid *volatile keep;\n"
                    "int main(void) {\n    keep = malloc(1000);\n    memtop_start(\"parse\");\n    keep = malloc(70);\n"
                    "    free(keep);\n    keep = malloc(300);\n    memtop_stop(\"parse\");\n    keep = malloc(5000);\n"
                    "    memtop_start(NULL);\n    memtop_stop(NULL);\n    return 0;\n}\n", "-Iinclude")
    r = report(recorded(path), arguments=["--between", "parse..parse.end"])
    assert [m["name"] for m in r["marks"]] == ["parse", "parse.end", "window", "window.end"], r["marks"]
    assert sum(c["born_bytes"] for c in r["changes"]) == 300, r["changes"]
    plain = run([path], env=environment())
    assert plain.returncode == 0, plain


@test
def t_a_report_of_a_window():
    """Its name is enough; only what was born in it is reported, also where a name came twice."""
    path = recorded(compiled(
        "#include <memtop/memtop.h>\n#include <stdlib.h>\nvoid *volatile keep[9];\n"
        "__attribute__((noinline)) static void load(void) { keep[0] = malloc(5000); }\n"
        "__attribute__((noinline)) static void parse(int n) { free(keep[0]); keep[1] = malloc(70); free(keep[1]); keep[n] = malloc(n * 100); }\n"
        "int main(void) {\n    for (int n = 2; n < 4; n++) {\n        load();\n        memtop_start(\"parse\");\n        parse(n);\n"
        "        memtop_stop(\"parse\");\n    }\n    memtop_start(\"open\");\n    return 0;\n}\n", "-Iinclude"))
    for name, size in (("parse", 200), ("parse-2", 300), ("m3", 300)):
        r = report(path, arguments=["--between", name])
        assert [(c["born_blocks"], c["born_bytes"], c["gone_bytes"]) for c in r["changes"]] == [(1, size, 0)], (name, r["changes"])
    text = run([MEMTOP, "report", "--between", "parse", path], env=environment())
    assert text.returncode == 0 and re.search(r"\nBorn in the window parse and alive at its end\n +200 +in 1 block, 1 stack\n", text.stdout), text
    assert "parse" in text.stdout and " load " not in text.stdout, text.stdout
    for name in ("open", "m2"):
        done = run([MEMTOP, "report", "--between", name, path], env=environment())
        assert done.returncode == 2 and "no mark ends a window of this name; write --between " in done.stderr, done


@test
def t_signals_that_are_taken():
    """An ignored signal stays ignored, also for what the program executes; one signal does not do for both options."""
    folder = temporary_folder()
    kill_self = "import os, signal; os.kill(os.getpid(), signal.SIGHUP); print('lives')"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {kill_self!r}], env={{}})"
    done = run(["nohup", PYTHON, "-c", code], env=preload("listen=none dump_signal=SIGHUP"), cwd=folder, stdin=subprocess.DEVNULL)
    assert (done.stdout, done.returncode) == ("lives\n", 0) and files(folder) == [], done
    assert "memtop: dump_signal=SIGHUP: the program was started to ignore this signal; choose another\n" in done.stderr, done.stderr
    done = run(["/bin/true"], env=preload("listen=none dump_signal=SIGUSR1 window_signal=SIGUSR1"))
    assert (done.stderr, done.returncode) == ("memtop: window_signal=SIGUSR1: dump_signal= has this signal; choose another\n", 0), done


@test
def t_a_handler_of_the_program():
    """Its own handler replaces the agent's, also for the next signal; nothing is dumped then."""
    folder = temporary_folder()
    code = ("import os, signal\nsignal.signal(signal.SIGUSR2, lambda *_: print('mine', flush=True))\n"
            "os.kill(os.getpid(), signal.SIGUSR2)\n")
    done = run([PYTHON, "-c", code], env=preload("listen=none dump_signal=SIGUSR2"), cwd=folder)
    assert (done.stdout, done.stderr, done.returncode) == ("mine\n", "", 0) and files(folder) == [], done


main()
