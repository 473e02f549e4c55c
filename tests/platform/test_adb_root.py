#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_adb_root.py - memtop adb on a simulated rooted device (tests/lib/phone.py): the pushed
memtop-attach really traces processes of this machine that are not debuggable."""
import ctypes
import os
import re
import shutil
import signal

from cli import compiled, one_line
from harness import AGENT, BUILD, MEMTOP, TARGETS, Skip, main, mostly_waits, report, run, start, temporary_folder
from phone import Phone
from servers import server_of
from term import Terminal

APP, OTHER = "com.example.app", "com.example.other"
PROGRAM = f"{TARGETS}/s_attach 1 2 0 5"  # with pauses and threads that wait: there is always a safe point to attach at
LINE = re.compile(r"(\d+) (\S+): the agent was loaded as root \(ptrace\); watch it with memtop :(\d+), then: .*\n")
SEIZE = 0x4206  # PTRACE_SEIZE


def rooted(root="root", text=""):
    """A device with adb root, or an su of one of two kinds."""
    if os.geteuid():
        raise Skip("only root can play a rooted device: run the tests as root")
    if not os.path.exists(f"{BUILD}/android/x86_64/memtop-attach"):
        raise Skip("memtop-attach is not built: make test-programs")
    phone = debugged()
    phone.write(root, text)
    return phone


def debugged():
    """A device where some process takes a debugger: the list of them is then soon complete."""
    phone = Phone()
    phone.write("packages/com.example.shown/pid", str(os.getpid()))
    phone.write("packages/com.example.shown/debug", "1")
    return phone


def brought(phone, *arguments, name):
    """memtop adb --no-view: (pid, report of the port that it printed). The forwarding is removed."""
    done = phone.memtop("--no-view", "--agent", AGENT, *arguments)
    match = LINE.fullmatch(done.stdout)
    assert done.returncode == 0 and match and match[2] == name and not done.stderr, done
    assert phone.left() == [phone.serial, f"tcp:{match[3]}", f"localabstract:memtop.{match[1]}"], phone.left()
    r = report(f":{match[3]}")
    phone.adb.call("-s", phone.serial, "forward", "--remove", f"tcp:{match[3]}")
    return int(match[1]), r


def native(*words):
    """One that waits, unless told otherwise."""
    return start(list(words) or [f"{TARGETS}/s_attach", "0", "0", "2"]).pid


def goes_on(pid):
    """It lives, and nobody traces it."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        assert "\nTracerPid:\t0\n" in f.read()


@mostly_waits
def t_into_a_native_program():
    """By its pid, with options of the agent."""
    phone = rooted()
    pid = native(*PROGRAM.split())
    found, r = brought(phone, "--options", "min_size=16 exclude=it's.so", pid, name=PROGRAM.split()[0])
    assert found == pid == r["program"]["pid"] and r["totals"]["allocated_blocks"] > 0, r["totals"]
    assert "min_size" in str(r) and "it's.so" in str(r), r
    assert any(s["live_bytes"] > 0 and any(f["function"] == "fire" for f in s["frames"]) for s in r["stacks"]), r["stacks"]
    one_line(phone.memtop("--no-view", "--agent", AGENT, "--options", "min_size=1", pid), 2, "--options:", "already has an agent")
    goes_on(pid)
    assert not phone.left()


@mostly_waits
def t_into_an_app_by_su():
    """An app that is not debuggable, by each kind of su; one that is goes by its debug port, unless there are options."""
    for kind in ("0", "-c"):
        phone = rooted("su", kind)
        phone.install(APP, PROGRAM, debuggable=False)
        pid = phone.launch(APP)
        assert brought(phone, APP, name=APP)[0] == pid
        again = phone.memtop("--no-view", "--agent", AGENT, APP)
        assert again.returncode == 0 and "the agent was already loaded" in again.stdout, again
        phone.adb.call("-s", phone.serial, "forward", "--remove-all")
        goes_on(pid)
    phone.install(OTHER, PROGRAM, port=1)
    phone.launch(OTHER)
    brought(phone, "--options", "min_size=16", OTHER, name=OTHER)


@mostly_waits
def t_an_agents_server():
    """It has the name of its program, comes first where pidof counts down, and is no process to enter."""
    phone = rooted()
    # another command line than in the tests beside it: without kcmp() that tells two apps of one name apart
    phone.install(APP, PROGRAM + "0", debuggable=False)
    pid = phone.launch(APP)
    assert brought(phone, APP, name=APP)[0] == pid
    server = server_of(pid)
    assert phone.adb.call("-s", phone.serial, "shell", f"pidof {APP}").split() == [str(server), str(pid)]
    again = phone.memtop("--no-view", "--agent", AGENT, APP)
    assert again.returncode == 0 and again.stdout.startswith(f"{pid} {APP}: the agent was already loaded"), again
    phone.adb.call("-s", phone.serial, "forward", "--remove-all")
    one_line(phone.memtop("--no-view", "--agent", AGENT, server), 3, f"{server}: the agent's server of process {pid} (s_attach), not a program")
    os.unlink(f"{phone.root}/root")
    one_line(phone.memtop("--no-view", "--agent", AGENT, server), 3, f"name {pid} instead")
    alone = run([f"{BUILD}/android/x86_64/memtop-attach", str(server), AGENT])
    assert alone.returncode == 3 and f"the agent's server of process {pid} (s_attach), not a program; name {pid}" in alone.stderr, alone
    assert not phone.left()


@mostly_waits
def t_in_the_view():
    """It opens; with --detach the agent is gone at its end, and can come again."""
    phone = rooted()
    pid = native()
    for _ in range(2):
        with Terminal([MEMTOP, "adb", "--agent", AGENT, "--detach", str(pid)], 120, 30,
                      env=phone.environment(XDG_STATE_HOME=temporary_folder())) as t:
            t.wait_for("[1 Over", 60)
            t.wait_for(f"[{pid}]", 20)
            t.keys("Q")
            assert t.wait_exit(60) == 0
        assert not phone.left()
        goes_on(pid)


@mostly_waits
def t_what_cannot_be():
    """In one line each, nothing left, nobody harmed."""
    phone = rooted()
    pid = native()

    def refused(target, *parts, agent=AGENT, status=3, **named):
        one_line(phone.memtop("--no-view", "--agent", agent, target, **named), status, *parts)
        assert not phone.left()
    refused(native(compiled("#include <unistd.h>\nint main(void) { for (;;) pause(); }", "-static")), "statically linked")
    refused(pid, "its C library is glibc", "for musl", agent=f"{BUILD}/musl/libmemtop-agent.so")
    trace = ctypes.CDLL(None, use_errno=True).ptrace
    trace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    assert trace(SEIZE, pid, None, None) == 0, os.strerror(ctypes.get_errno())
    try:
        refused(pid, "already traced", "python3")
    finally:
        os.kill(pid, signal.SIGKILL)  # no other signal passes its tracer
    pid = native()
    refused("2147483646", "no such process")
    one_line(phone.memtop("--no-view", "--agent", AGENT, "--options", "sampel=1", pid), 2, "--options", 'no option is called "sampel"')
    phone.write("short")
    refused(pid, "the copy on the device is not whole")
    os.unlink(f"{phone.root}/short")
    phone.write("full")
    refused(pid, "storage is full")
    os.unlink(f"{phone.root}/full")
    alone = temporary_folder()
    shutil.copy(MEMTOP, alone)
    refused(pid, "android/x86_64/memtop-attach", "make android", status=125, program=f"{alone}/memtop")
    goes_on(pid)


@mostly_waits
def t_without_root():
    """Not even asked for where it is not needed."""
    phone = debugged()
    pid = native()
    one_line(phone.memtop("--no-view", "--agent", AGENT, pid), 3, f"{pid}: runs, but takes no debugger", "rooted device")
    phone.install(APP, PROGRAM, port=1)
    phone.launch(APP)
    one_line(phone.memtop("--no-view", "--agent", AGENT, "--options", "sample=1k", APP), 2, "--options: only root can pass options to a running app", "--start")
    assert not phone.left()


main()
