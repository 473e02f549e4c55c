#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""The server gives up every right that its target gives up: both share memory, so an attacker who
controls one controls the other."""
import os
import re
import signal
import subprocess

import wire
from harness import AGENT, LIB, MEMTOP, Skip, at_end, at_once, environment, main, need, report, run, start, temporary_folder, test, wait_for, \
    wait_for_session
from nobody import NOBODY, within_reach
from obedient import PROGRAM, Obedient
from servers import server_of

NET_RAW = 1 << 13


def status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return {k: v.strip() for k, v in (line.split(":", 1) for line in f)}


def started(root=True):
    if root and os.geteuid():
        raise Skip("needs root")
    p = Obedient(cwd="/")
    return p, p.viewer().until_complete(), server_of(p.pid)


def same_rights(p, server):
    """Users, groups and capabilities: the server has no right that the target
    lacks."""
    names = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd")

    def both():
        return [[status(pid)[k] for k in names] for pid in (p.pid, server)]
    try:
        wait_for(lambda: both()[0] == both()[1], 10)
    except AssertionError:
        raise AssertionError(f"its rights, and its server's: {both()}") from None


def serves(p, c):
    p.do("a 3 100")
    c.until_complete()
    c.until_complete()
    c.send(wire.SET_MARK, name="")
    c.until(lambda: c.marks, "a mark")
    c.send(wire.SCAN, request=7, kind=0, slots=[])
    c.until(lambda: 7 in c.scans, "an answer")


def refused_by_kernel(server, *calls):
    """The server's errno for an attacker's system calls, made in it by gdb. EFAULT: the kernel
    examined the arguments."""
    need("gdb")
    lines = [w for nr, *a in calls for w in ("-ex", "print ((long (*)(long, ...))syscall)(" + ", ".join(map(str, [nr, *a])) +
                                             ") == -1 ? *((int *(*)(void))__errno_location)() : 0")]
    done = run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", str(server), *lines], 60)
    answers = [int(x) for x in re.findall(r"^\$\d+ = (\d+)$", done.stdout, re.M)]
    assert len(answers) == len(calls), done
    return answers


OPENAT, SOCKET, KILL, EXECVE, PTRACE, CONNECT, MMAP_EXEC = ((257, -100, 0, 0), (41, 1, 1, 0), (62, 1, 15), (59, 0, 0, 0),
                                                           (101, 0, 0, 0), (42, 0, 0, 0), (9, 0, 4096, 7, 34, -1, 0))


def is_sealed(server):
    now = status(server)
    return now["Seccomp"] == "2" and int(now["CapPrm"], 16) == int(now["CapEff"], 16) == 0


def sealed(p, c, server, word):
    wait_for(lambda: is_sealed(server), 10, "the server's seal")
    c.until(lambda: any(word in n for n in c.notices), "the notice")
    assert refused_by_kernel(server, OPENAT, SOCKET, KILL, EXECVE, PTRACE, CONNECT, MMAP_EXEC) == [1] * 7
    serves(p, c)
    p.viewer("later").until_complete()
    c.send(wire.SCAN, request=8, kind=2, slots=[])
    c.until(lambda: 8 in c.scans, "the memory view")
    assert sum(part["bytes"] for part in c.scans[8]["parts"]) > 1 << 20, c.scans[8]
    p.tell("_ 5")
    c.until_final()
    # A zombie's status is shown to its equals only: until its parent has reaped it, a sealed server does not know it.
    assert (c.state["state"], c.state["status"]) == (wire.EXITED, 5 * c.state["known"]), c.state


@test
def t_a_server_gains_nothing_by_exec():
    p, _, server = started(root=False)
    assert status(server)["NoNewPrivs"] == "1" and status(p.pid)["NoNewPrivs"] == "0"
    assert refused_by_kernel(server, OPENAT, EXECVE)[0] == 14, "the probe of this test does not work"


@test
def t_the_server_drops_capabilities_with_the_program():
    p, c, server = started()
    p.do("l", "0")
    same_rights(p, server)
    assert int(status(server)["CapPrm"], 16) == 0
    serves(p, c)


@test
def t_capabilities_kept_past_the_user():
    p, c, server = started()
    p.do("K 65534", "0")
    same_rights(p, server)
    now = status(server)
    assert int(now["CapEff"], 16) == NET_RAW and now["Uid"].split() == ["65534"] * 4, now
    serves(p, c)


@test
def t_user_given_up_and_taken_back():
    p, c, server = started()
    for effective in (65534, 0):
        p.do(f"o {effective}", "0")
        same_rights(p, server)
        assert status(server)["Uid"].split()[1] == str(effective)
    p.do("i 65534", "0")
    same_rights(p, server)
    assert int(status(server)["CapPrm"], 16) == 0
    serves(p, c)


@test
def t_a_user_that_may_not_be_followed():
    """The target's filter, which the server is under, too, kills for what only the server would call."""
    if os.geteuid():
        raise Skip("needs root")
    p = Obedient(watched=False, cwd="/", command=["/usr/bin/python3", os.path.join(LIB, "refuse.py"), "kill", "setgroups", "--", "/usr/bin/env",
                                                  f"LD_PRELOAD={AGENT}", "MEMTOP_OPTIONS=listen=@memtop-test.%p", PROGRAM])
    c, server = p.viewer().until_complete(), server_of(p.pid)
    serves(p, c)
    p.do("i 65534", "0")
    wait_for(lambda: int(status(server)["CapPrm"], 16) == 0 and status(server)["Seccomp_filters"] == "2", what="the server's seal")
    c.until(lambda: any("changed its user" in n for n in c.notices), "the notice")
    serves(p, c)


@test
def t_the_server_is_under_the_programs_filter():
    p, c, server = started(root=False)
    p.do("y", "0")
    sealed(p, c, server, "filter")


@test
def t_the_server_follows_a_chroot():
    p, c, server = started()
    p.do(f"j {temporary_folder()}", "0")
    sealed(p, c, server, "root directory")


@test
def t_the_server_follows_into_a_user_namespace():
    p, c, server = started(root=False)
    if p.do(f"u {0x10000000}", None) != "0":
        raise Skip("no user namespace may be made here")
    sealed(p, c, server, "user namespace")


@test
def t_sealed_server_outlives_its_target():
    """The server goes on in memory of its own: the seal allows it a copy of itself."""
    p, c, server = started(root=False)
    slow = p.viewer("slow", ack=False).until(lambda: True)
    p.do("s 20000")
    p.do("f 40 1000000")
    p.do("y", "0")
    wait_for(lambda: is_sealed(server), 10, "the server's seal")
    slow.pump(1)
    # Without rights the server cannot read a zombie's status, so the test ignores SIGCHLD and
    # never leaves one.
    at_end(signal.signal, signal.SIGCHLD, signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    p.process.kill()
    c.until_final(30)
    p.process.wait(60)

    def small():
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(entry) != server and os.getsid(int(entry)) == server:
                    return int(status(int(entry)).get("RssAnon", "99999 kB").split()[0]) < 30000
            except (OSError, ValueError):
                pass
        return False
    wait_for(small, 20, "the server without the program's memory")
    slow.ack = True
    slow.acknowledge()
    slow.until_final(30)
    assert slow.counts == c.counts
    assert (slow.state["state"], slow.state["status"]) == (wire.SIGNALLED, 9), slow.state


# Without ptrace rights, the kernel shows the wait status of a zombie as 0. (a program, what it does first)
HIDES = ((NOBODY, ["n"]), (NOBODY, ["n", "y"]), ((), ["i 65534"]), ((), ["i 65534", "y"]), ((), ["o 65534"]), ((), ["y"]))


def viewer_of_program(p):
    """The session of the command before it may still linger under that name, to tell of its exec."""
    c = p.viewer().until_complete()
    while c.state and c.state["state"] == wire.EXECED:
        c = p.viewer().until_complete()
    return c


def ends_hidden(command, before, end, reaped=False):
    """The state that a viewer gets of that program; not reaped: its parent looks elsewhere until then."""
    p = Obedient(command=command)
    c = viewer_of_program(p)
    for line in before:
        p.do(line, "0")
    p.tell(end)
    if reaped:
        p.process.wait(60)
    c.until_final()
    return c.state["state"], c.state["status"], c.state["known"]


def never_wrong(end, truth, reaped=False):
    """Each of them ends as it did, or nobody knows how."""
    if os.geteuid():
        raise Skip("needs root, to become a user without rights")
    need("setpriv")
    states = at_once(ends_hidden, [(command, before, end, reaped) for command, before in HIDES])
    for case, state in zip(HIDES, states):
        assert state in (truth, (wire.EXITED, 0, 0)), (case, state)


@test
def t_hidden_crash_is_no_exit_with_0():
    never_wrong("k 11", (wire.SIGNALLED, 11, 1))


@test
def t_hidden_crash_once_reaped():
    """The pidfd may tell it then (Linux 6.15)."""
    never_wrong("k 11", (wire.SIGNALLED, 11, 1), reaped=True)


@test
def t_an_exit_that_cannot_be_seen_is_never_told_wrong():
    """By exit(), by _exit(), past the C library."""
    for end in "x_X":
        never_wrong(f"{end} 3", (wire.EXITED, 3, 1))


@test
def t_recordings_by_an_ordinary_user():
    """Of a program that it started memtop knows the end; of another one a report says that nobody does."""
    if os.geteuid():
        raise Skip("needs root, to become a user without rights")
    need("setpriv")
    folder = temporary_folder()
    os.chmod(folder, 0o777)
    memtop, agent, program = map(within_reach, (MEMTOP, AGENT, PROGRAM))
    record = [*NOBODY, memtop, "record", "--agent", agent, "-o"]
    with open(f"{folder}/told", "w+b") as told:
        told.write(b"n\nk 11\n")
        told.seek(0)
        started = run([*record, f"{folder}/a.mtop", "--", program], stdin=told, env=environment(HOME=folder))
    program = report(f"{folder}/a.mtop")["program"]
    assert (started.returncode, program["state"], program["signal"]) == (128 + 11, "signalled", 11), (started, program)

    p = Obedient(command=NOBODY)
    recording = start([*record, f"{folder}/b.mtop", p.name], env=environment(HOME=folder), stderr=subprocess.PIPE)
    wait_for_session(f"{folder}/b.mtop")
    p.do("n", "0")
    p.tell("k 11")
    assert recording.wait(60) == 0, recording.stderr.read()
    program = report(f"{folder}/b.mtop")["program"]
    assert (program["state"], program["status"], program["signal"]) == ("ended", None, None), program
    text = run([MEMTOP, "report", f"{folder}/b.mtop"], env=environment()).stdout
    assert "ended (how is not known) after" in text.splitlines()[0], text


@test
def t_status_0_is_believed_where_all_is_shown():
    """... to an unsealed server, and to a sealed one of a program without capabilities."""
    for command, before in (((), []), (NOBODY, []), (NOBODY, ["y"])):
        state = ends_hidden(command, before, "X 0")
        assert state == (wire.EXITED, 0, 1), (command, before, state)


main()
