#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""The target after an exec, and other processes in its memory. The server must not take a live
process for a dead one, and must not touch memory that another process still uses."""
import os
import resource
import shutil
import signal
import struct

import wire
from harness import LIB, Skip, child_of, environment, main, need, run, temporary_folder, test, wait_for
from nobody import NOBODY
from obedient import PROGRAM, Obedient
from servers import server_of
from refuse import ERRNO, refuse


def lives_on(p, c, looks=4):
    """The server has looked that many times at whose memory it is, once a second, and both go on."""
    begun = c.time_ns
    c.until(lambda: c.time_ns > begun + looks * 1_000_000_000, "some seconds of the target")
    assert c.state["state"] == wire.RUNNING, c.state
    p.do("a 5 100")
    p.do("A")
    c.until_complete()
    p.viewer("later").until_complete()
    assert p.end() == 0
    c.until_final()
    assert (c.state["state"], c.state["status"]) == (wire.EXITED, 0), c.state


def refused(**named):
    return Obedient(preexec_fn=refuse(ERRNO, "kcmp"), **named)


@test
def t_renamed_folder_is_no_exec():
    folder = temporary_folder()
    os.mkdir(f"{folder}/a")
    shutil.copy(PROGRAM, f"{folder}/a/s_server")
    p = refused(command=[f"{folder}/a/s_server"])
    c = p.viewer().until_complete()
    os.rename(f"{folder}/a", f"{folder}/b")
    lives_on(p, c)


def slow(p_of):
    """An exec that is refused after half a second, by strace, which leaves the program its place and its pid."""
    need("strace")
    return p_of(command=["strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=execve",
                         "-e", "inject=execve:error=ENOENT:delay_exit=500000:when=1", PROGRAM])


@test
def t_slow_exec_that_fails():
    p = slow(refused)
    c = p.viewer().until_complete()
    p.do("e /bin/true", "2")
    lives_on(p, c)


@test
def t_slow_exec_of_an_undumpable_process():
    """The server may not ask kcmp about it then."""
    if os.geteuid():
        raise Skip("root's server may always look")
    need("setpriv", "strace")
    p = slow(lambda command: Obedient(command=[*NOBODY, *command]))
    c = p.viewer().until_complete()
    assert c.hello["uid"] == 65534
    p.do("n", "0")
    p.do("e /bin/true", "2")
    lives_on(p, c)


@test
def t_exec_is_seen_without_kcmp():
    for command in ("e /bin/true", "E /bin/cat", "E " + PROGRAM, "e " + PROGRAM):
        p = refused()
        c = p.viewer().until_complete()
        p.do("a 5 100")
        p.tell(command)
        c.until_final()
        assert c.state["state"] == wire.EXECED, (command, c.state)
        assert any(c.slot_live(s) == (5, 500) for s in c.counts), command
        p.process.kill()
        p.process.wait(60)


@test
def t_exec_of_an_undumpable_process_is_seen():
    if os.geteuid():
        raise Skip("root's server may always look")
    need("setpriv")
    p = Obedient(command=NOBODY)
    c = p.viewer().until_complete()
    p.do("n", "0")
    p.tell("e /bin/true")
    c.until_final()
    assert c.state["state"] == wire.EXECED, c.state


def held_up(p):
    """A viewer that takes nothing, so that the server must outlive its target."""
    slow = p.viewer("slow", ack=False).until(lambda: True)
    p.do("s 20000")
    slow.pump(1)
    return slow


def went_on_alone(p, server):
    """The server has left the target's memory: another process of its session, which has its sockets."""
    def found():
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(entry) != server and os.getsid(int(entry)) == server:
                    return int(entry)
            except OSError:
                pass
        return None
    return wait_for(found, 20, "the server in memory of its own")


@test
def t_survivors_keep_their_memory():
    """A child of vfork or clone(CLONE_VM) that outlives the target is in the same memory, heap, stack and all."""
    for command in "vV":
        p = Obedient()
        slow = held_up(p)
        full = p.viewer().until_complete()
        p.do("f 40 1000000")
        server = server_of(p.pid)
        p.tell(command)
        if command == "V":
            assert p.answer() == "ok"
        child_of(p.pid)
        os.kill(p.pid, signal.SIGKILL)
        p.process.wait(60)
        assert p.answer() == "survived"
        full.until_final(30)
        p.do("A")
        heir = went_on_alone(p, server)
        for _ in range(20):
            p.do("a 100 1000")
            p.do("A")
        p.do("B")
        assert os.path.exists(f"/proc/{heir}")
        slow.ack = True
        slow.acknowledge()
        slow.until_final(30)
        assert slow.counts == full.counts and slow.totals == full.totals, command
        assert (slow.state["state"], slow.state["status"]) == (wire.SIGNALLED, 9), slow.state
        p.tell("x 0")


@test
def t_refused_a_copy_it_keeps_the_memory():
    """Under a filter that lets no process be forked (the program's own threads and the server's start may)."""
    p = Obedient(preexec_fn=refuse(ERRNO, ("clone", 0x8000)))  # CLONE_PARENT
    slow = held_up(p)
    full = p.viewer().until_complete()
    os.kill(p.pid, signal.SIGKILL)
    p.process.wait(60)
    full.until_final(30)
    slow.ack = True
    slow.acknowledge()
    slow.until_final(30)
    assert slow.counts == full.counts
    assert any("a copy of itself" in n for n in slow.notices), slow.notices


@test
def t_unmapped_range_stays_free():
    """What a program of one thread unmaps is free until it maps something: it may put a mapping there, whatever was there."""
    p = Obedient()
    p.do("a 5 100")
    p.do("h 67108864")
    viewers = [p.viewer(str(i)).until_complete() for i in range(3)]
    p.do("H")
    p.do("a 5 100")
    for c in viewers:
        c.until(lambda c=c: any(c.slot_live(s) == (10, 1000) for s in c.counts), "the blocks")
    server = server_of(p.pid)
    assert p.end() == 0
    for c in viewers:
        c.until_final()
    wait_for(lambda: ended(server), 30, "the server's end")


def heads(pid, is_head):
    """Where pages of a process' own memory begin as is_head(address, first 64 bytes) says."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for line in maps:
            span, mode, _, device = line.split()[:4]
            start, end = (int(x, 16) for x in span.split("-"))
            if mode != "rw-p" or device != "00:00" or end - start > 1 << 30:
                continue
            for at in range(start, end, 4096):
                words = struct.unpack("8Q", os.pread(mem.fileno(), 64, at))
                if any(words) and is_head(at, words):
                    yield at


def overwrite(pid, at, data):
    with open(f"/proc/{pid}/mem", "r+b", 0) as mem:
        assert os.pwrite(mem.fileno(), data, at) == len(data)


def ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@test
def t_program_that_writes_over_the_servers_list():
    """A stray write into a head of the list of the server's mappings: it serves on without the rest of the list, and ends."""
    p = Obedient()
    c = p.viewer().until_complete()
    p.do("a 5 100")
    server = server_of(p.pid)
    found = list(heads(server, lambda at, w: 8 << 20 < w[2] < 64 << 20 and w[2] % 4096 == 0 and w[0] > 1 << 32 and w[0] % 4096 == 0))
    assert found, "no head of the viewer's arrays"
    for at in found:
        overwrite(server, at, b"\1" * 64)
    c.until_complete()
    p.do("f 5 100000")
    p.process.kill()
    p.process.wait(60)
    c.until_final(30)
    assert any(c.slot_live(s) == (5, 500) for s in c.counts)
    wait_for(lambda: ended(server), 30, "the server's end")


@test
def t_server_that_walks_without_end():
    """In a list that a stray write made a ring: the kernel ends it, by a limit that moves on with each round."""
    p = Obedient()
    p.viewer().until_complete()
    server = server_of(p.pid)
    soft, hard = wait_for(lambda: limit_of(server), 10, "a limit of processor time")
    assert soft <= 120, soft
    chunk, *_ = heads(server, lambda at, w: w[1] == 1 << 20 and w[3] == at)
    overwrite(server, chunk + 16, struct.pack("Q", chunk + 16))
    wait_for(lambda: ended(server) or cpu(server) > 1, 30, "the server in the ring")
    p.process.kill()
    p.process.wait(60)
    resource.prlimit(server, resource.RLIMIT_CPU, (1, hard))
    wait_for(lambda: ended(server), 30, "the server's end")


def limit_of(pid):
    limit = resource.prlimit(pid, resource.RLIMIT_CPU)
    return limit if limit[0] != resource.RLIM_INFINITY else None


def cpu(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        user, system = f.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


main()
