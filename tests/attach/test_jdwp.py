#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_jdwp.py - memtop attach --jdwp: loads the agent into a running Java program through its
debug port; the program never notices.

Real OpenJDK programs, idle and busy in every way; and every refusal, from its real cause.
"""
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import urllib.request
import zlib

from cli import memtop, one_line
from harness import (AGENT, LONG, MEMTOP, Skip, children, environment, main, need, report, run, start,
                     temporary_folder, test, wait_for)
from java import END_S, Java
from servers import server_of
from term import Terminal

HELD = re.compile(r"(\d+) java: the agent counts; a Java thread was held for ([\d.]+) ms; watch it with memtop (\S.*)\n")
CRC = b"%x" % zlib.crc32(b"/x")
PATIENT = ("--timeout", "300")


def attach(port, *more):
    return memtop("attach", "--no-view", "--jdwp", str(port), *map(str, more), seconds=400)


def attached(java, *more):
    """The agent is in; its target, and for how many milliseconds a thread was held."""
    before = java.listens
    done = attach(java.port, *PATIENT, *more)
    match = HELD.fullmatch(done.stdout)
    assert done.returncode == 0 and match, done
    java.await_listening(before)
    return match[3].replace("-p ", "@memtop."), float(match[2])


def refused(java, *more, words=(), status=3):
    """In one line, which may follow that it waited; and the port is free for the next debugger."""
    before = java.listens
    done = attach(java.port, *more)
    last = done.stderr.splitlines(keepends=True)[-1:]
    one_line(subprocess.CompletedProcess(done.args, done.returncode, done.stdout, "".join(last)), status, *words)
    java.await_listening(before)
    return done.stderr


def bytes_of(r, function):
    return sum(s["live_bytes"] for s in r["stacks"] if any(f["function"] == function for f in s["frames"]))


def buffers_of(r):
    """Of direct buffers. JDK 25's Unsafe_AllocateMemory0 leaves to os::malloc by a jump: that has generated code for a caller."""
    return bytes_of(r, "Unsafe_AllocateMemory0") or sum(
        s["live_bytes"] for s in r["stacks"] if [(f["function"] or "").partition("(")[0] for f in s["frames"][:2]] == ["os::malloc", ""])


@test
def t_a_program_that_sleeps():
    """No method is named; later allocations are counted to the byte, as the machine itself counts
    them."""
    java = Java("Sleeper")
    target, held = attached(java)
    print(f"  | held for {held:.1f} ms")
    assert target == f"@memtop.{java.pid}"
    said = java.ask("200").split()
    assert said[:2] == ["direct", "0"], said
    r = report(target, env=environment())
    malloced = buffers_of(r)
    rounded = sum((100_000 + i + 7) // 8 * 8 for i in range(200))
    assert int(said[2]) == sum(100_000 + i for i in range(200))
    print(f"  | the machine counts {said[2]} bytes of direct buffers; the agent saw {malloced}, {rounded} of them as rounded for those")
    assert malloced >= rounded, f"{malloced} bytes seen, {rounded} allocated"
    assert malloced - rounded < 65536, f"{malloced} bytes seen, {rounded} allocated for buffers; what else?"
    assert bytes_of(r, "deflateInit2_") > 200 * 100_000, "deflaters"
    assert r["program"]["pid"] == java.pid
    java.end()


@test
def t_a_java_server_whose_threads_wait():
    """All of its threads wait; requests come now and then, and are answered."""
    java = Java("Server")
    stop = threading.Event()

    def ask():
        while not stop.wait(0.2):
            assert urllib.request.urlopen(f"http://127.0.0.1:{java.words[0]}/x", timeout=END_S).read() == CRC
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        attached(java)
    finally:
        stop.set()
        asking.join()
    java.end()


@test
def t_a_busy_java_and_agents_that_fail_to_load():
    """Busy threads, garbage, hundreds that wait; loads that fail, one after the other, and one that does not."""
    java = Java("Busy", 3, 300, jvm=["-Xmx24m"])
    broken = unloadable()
    for _ in range(40 if LONG else 3):
        refused(java, *PATIENT, "--agent", broken, words=("nowhere_to_be_found",))
    target, held = attached(java)
    print(f"  | held for {held:.1f} ms")
    assert report(target, env=environment())["totals"]["live_blocks"] >= 0
    java.end()


def unloadable():
    """A library that the loader refuses."""
    folder = temporary_folder()
    with open(folder + "/a.c", "w") as f:
        f.write("#include <stdio.h>\nextern int nowhere_to_be_found(void);\nint memtop_attach(const char *o) { return puts(o) + nowhere_to_be_found(); }\n")
    done = run(["gcc", "-shared", "-fPIC", "-Wl,-z,now", "-o", folder + "/agent.so", folder + "/a.c"])
    assert done.returncode == 0, done
    return folder + "/agent.so"


@test
def t_methods_that_cannot_be():
    java = Java("Sleeper")
    for name, words in {
            "java.lang.System.nanoTime": ("java.lang.System.nanoTime is native",),
            "java.lang.Runnable.run": ("java.lang.Runnable.run is abstract",),
            "Sleeper.nothing": ("Sleeper has no method nothing",),
            "no.such.Thing.run": ("no class no.such.Thing",),
            "Sleeper$Nothing.tick": ("no class Sleeper$Nothing",),
            "Sleeper": ('"Sleeper" names no method',), ".x": ("names no method",), "x.": ("names no method",),
            "a." + "b" * 3000 + ".c": ("names no method",),
            "Sleeper.\x1b[31mred": ("Sleeper has no method",)}.items():
        said = refused(java, "--break", name, words=words)
        assert "\x1b" not in said and "waits" not in said, said
    said = refused(java, "--break", "Sleeper.never", "--timeout", "1", words=("waited 1 s for a call of Sleeper.never", "--break"))
    assert re.match(r"memtop: --jdwp \d+: waiting for a call of Sleeper.never, 1 s at most; ", said), said
    refused(java, "--break", "Sleeper.half", "--timeout", "1", words=("native overload",))
    attached(java, "--break", "Sleeper$Inner.tick")
    refused(java, words=(f"{java.pid} (java): has an agent already; use memtop -p {java.pid}",))
    java.end()


@test
def t_wrong_agents_and_processes():
    java = Java("Sleeper")
    refused(java, "--agent", unloadable(), words=("java.lang.UnsatisfiedLinkError", "undefined symbol: nowhere_to_be_found", "--agent"))
    refused(java, "--agent", "/etc/passwd", words=("not an agent",), status=125)
    refused(java, "--agent", temporary_folder() + "/none.so", words=("no agent there",), status=125)
    refused(java, "2147483646", words=("no such process",))
    refused(java, os.getpid(), words=(f"{os.getpid()} (", f"that is process {java.pid}"))
    target, _ = attached(java, java.pid)
    refused(java, server_of(java.pid), words=(f"the agent's server of process {java.pid} (java)",))
    done = memtop("detach", str(java.pid))
    assert done.returncode == 0, done
    refused(java, words=("had this agent before", f"memtop attach {java.pid}"))
    done = memtop("attach", "--no-view", str(java.pid))
    assert done.returncode == 0 and "the agent counts" in done.stdout, done
    java.end()
    java = Java("Sleeper", env=environment(MEMTOP_OPTIONS="no-such-option=1"))
    refused(java, words=("does not listen", "MEMTOP_OPTIONS", f"memtop attach {java.pid}"))
    java.end()


@test
def t_from_its_first_moment():
    """suspend=y: it goes on when the agent is in."""
    java = Java("Sleeper", suspended=True)
    attached(java)
    java.begin()
    java.ask("3")
    java.end()


@test
def t_in_another_namespace():
    """Its own pid namespace, where it has another number, and another root."""
    need("bwrap")
    inside = ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-pid", "--die-with-parent"]
    done = run([*inside, "true"])
    if done.returncode:
        raise Skip(f"bwrap cannot make namespaces here: {done.stderr}")
    java = Java("Sleeper", wrap=inside)
    refused(java, words=(f"process {java.pid} of another pid namespace", f"--jdwp {java.port} PID"))
    outer = wait_for(lambda: inner_java(java.process.pid), 10, "the program in bwrap")
    target, _ = attached(java, outer)
    assert target == f"@memtop.{outer}"  # attach says -p OUTER, the number that it has here
    p = report(str(outer), env=environment(), arguments=["-p"])["program"]
    assert (p["pid"], p["inner_pid"]) == (outer, java.pid), p
    java.end()
    folder = temporary_folder()
    shutil.copy(AGENT, folder + "/agent.so")
    java = Java("Sleeper", wrap=[*inside, "--tmpfs", folder, "--ro-bind", folder, "/mnt"])
    outer = wait_for(lambda: inner_java(java.process.pid), 10, "the program in bwrap")
    refused(java, outer, "--agent", folder + "/agent.so", words=("cannot see or load the agent's file", f"memtop attach {outer}", "--agent"))
    attached(java, outer, "--agent", "/mnt/agent.so")
    java.end()


def inner_java(pid):
    """The program that bwrap runs, a child's child."""
    for child in children(pid):
        with contextlib.suppress(OSError), open(f"/proc/{child}/comm", encoding="utf-8", errors="replace") as f:
            if f.read() == "java\n":
                return child
        found = inner_java(child)
        if found:
            return found
    return None


@test
def t_the_view_opens():
    java = Java("Sleeper")
    with Terminal([MEMTOP, "attach", "--detach", "--jdwp", f":{java.port}", *PATIENT], 120, 30,
                  env={"XDG_STATE_HOME": temporary_folder()}) as t:
        t.wait_for("[1 Over", 60)
        java.ask("50")
        t.keys("2")
        t.wait_for("libz", 60)
        t.keys("Q")
        assert t.wait_exit(60) == 0
    with open("/proc/net/unix") as f:
        assert f"@memtop.{java.pid}\n" not in f.read()
    java.end()


@test
def t_a_debugger_is_there():
    """A port takes one; when that goes, the next."""
    java = Java("Sleeper")
    with socket.create_connection(("127.0.0.1", java.port)) as debugger:
        debugger.sendall(b"JDWP-Handshake")
        assert debugger.recv(14, socket.MSG_WAITALL) == b"JDWP-Handshake"
        one_line(attach(java.port, "--timeout", "2"), 3, f":{java.port}: ", "debugger")
        before = java.listens
    java.await_listening(before)
    attached(java, "--break", "Sleeper.tick")  # the overload that is called is not the only one
    java.end()


def waiting(java):
    """An attach that waits for a method that is never called."""
    process = start([MEMTOP, "attach", "--no-view", "--jdwp", f":{java.port}", "--break", "Sleeper.never", *PATIENT],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    assert "waiting for a call of Sleeper.never" in process.stderr.readline()
    return process


@test
def t_ends_in_mid_stream():
    """The program is stopped, killed, or ends, or memtop does."""
    java = Java("Sleeper")
    before = java.listens
    java.process.send_signal(signal.SIGSTOP)
    one_line(attach(java.port, "--timeout", "1"), 3, f":{java.port}: ", "does not answer", "the program is stopped")
    java.process.send_signal(signal.SIGCONT)
    java.await_listening(before)
    process = waiting(java)
    before = java.listens
    process.send_signal(signal.SIGINT)
    process.wait(END_S)
    java.await_listening(before)
    process = waiting(java)
    java.end()
    out, err = process.communicate(timeout=END_S)
    one_line(subprocess.CompletedProcess([], process.returncode, out, err), 3, "ended;")
    java = Java("Sleeper")
    process = waiting(java)
    java.process.kill()
    out, err = process.communicate(timeout=END_S)
    one_line(subprocess.CompletedProcess([], process.returncode, out, err), 3, "ended;")


@test
def t_wrong_command_lines_of_jdwp():
    for words, status, parts in [
            (["--jdwp", "five"], 2, ["--jdwp five: not a port"]), (["--jdwp", "99999"], 2, ["--jdwp 99999: not a port"]), (["--jdwp", "@x"], 2, ["not a port"]),
            (["--jdwp", ":0"], 2, ["not a port"]), (["--jdwp", ":5005", "--options", "unwind=fp"], 2, ["--options", "MEMTOP_OPTIONS"]),
            (["--jdwp", ":5005", "--timeout", "0"], 2, ["--timeout 0"]), (["--jdwp", ":5005", "--timeout", "soon"], 2, ["--timeout soon"]),
            (["--jdwp", ":5005", "x"], 2, ["not a process id"]), (["--break", "a.b", "1"], 2, ["--break", "--jdwp"]),
            (["--timeout", "3", "1"], 2, ["--timeout", "--jdwp"]), (["--jdwp", "10.1.2.3:5005"], 3, ["a port of another machine"]),
            (["--jdwp", "phone.example:5005"], 3, ["a port of another machine"])]:
        one_line(memtop("attach", "--no-view", *words), status, *parts)


if __name__ == "__main__":
    main()
