#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_board.py - the board that the agents of a process tree write: a record for each program,
exact at its end."""
import os
import signal
import subprocess

import wire
from board import ENDED, EXEC, EXIT, NONE, RUNNING, SEAL_GROW, SEAL_SHRINK, SIGNAL, Board
from client import Client, connect_to
from harness import TARGETS, main, run, start, temporary_folder, test, wait_for

TREE = os.path.join(TARGETS, "s_tree")
OWN, OWN_BYTES, MORE, MORE_BYTES = 10, 10000, 5, 500
READS = ["/bin/sh", "-c", "read x"]  # ends with its input, with status 1


def tree(b, *arguments, options="", **named):
    return run([TREE, *map(str, arguments)], env=b.environment(options), **named)


def only(records, name):
    found = [r for r in records if r.name == name]
    assert len(found) == 1, (name, records)
    return found[0]


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@test
def t_a_program_ends_exactly():
    b = Board(matter_s=3600)  # no server lingers, however long a busy machine takes
    for how, end, status in (("exit", EXIT, 3), ("_exit", EXIT, 4), ("_Exit", EXIT, 5), ("quick_exit", EXIT, 6), ("0", EXIT, 0),
                             ("abort", SIGNAL, 6), (int(signal.SIGSEGV), SIGNAL, 11), (int(signal.SIGKILL), SIGNAL, 9)):
        done = tree(b, "end", how)
        assert done.returncode == (status if end == EXIT else -status), done
        r = b.settled()[-1]
        assert (r.end, r.status, r.exact, r.forked, r.parent) == (end, status, 1, 0, NONE), (how, r)
        assert r.sum == (OWN, OWN_BYTES, 0, 0) and r.peak_bytes == OWN_BYTES, (how, r)
        assert r.name == "s_tree" and r.path.endswith("/s_tree") and r.socket == "", r
        assert 0 < r.begin_ns < r.end_ns, r


@test
def t_figures_are_those_of_the_session():
    """The board's last figures, and the totals that a viewer is sent at the end: the same."""
    for command in (["/bin/ls", "/"], ["/bin/sh", "-c", "for i in 1 2 3; do x=$x$i; done"], [TREE, "child", "fork", "exit"]):
        b = Board()
        p = start(command, env=b.environment("listen=@memtop-test.%p wait=60000"), stdout=subprocess.DEVNULL)
        c = Client(f"@memtop-test.{p.pid}").until_final()
        r = next(r for r in b.settled() if r.pid == p.pid)
        t = c.totals
        assert r.sum == (t["allocated_blocks"], t["allocated_bytes"], t["freed_blocks"], t["freed_bytes"]), (command, r, t)


@test
def t_a_forked_child_ends_exactly():
    """It has no server: it says so itself. A signal is not seen coming; abort() says it, and may be left by a longjmp."""
    for how in ("fork", "_Fork", "clone"):
        for end, status in (("exit", 3), ("_exit", 4), ("_Exit", 5), ("quick_exit", 6), ("abort", None), ("9", None)):
            b = Board()
            done = tree(b, "child", how, end)
            assert (done.returncode, done.stderr) == (0, ""), done
            parent = wait_for(lambda b=b: next((r for r in b.records() if not r.forked and r.state == ENDED), None), 20, "parent")
            r = next(r for r in b.records() if r.forked)
            assert parent.sum == (OWN, OWN_BYTES, 0, 0) and r.parent == parent.index and r.parent_serial == parent.serial
            assert (r.before_blocks, r.before_bytes) == (OWN, OWN_BYTES), (how, end, r.before_blocks, r.before_bytes)
            assert (r.inherited_blocks, r.inherited_bytes) == (OWN, OWN_BYTES) and r.pid not in (0, parent.pid), (how, end, r)
            assert (r.before_blocks, r.before_bytes) == (OWN, OWN_BYTES), (how, end, r.before_blocks, r.before_bytes)
            if status:
                assert (r.state, r.end, r.status, r.exact) == (ENDED, EXIT, status, 1), (how, end, r)
            else:
                assert (r.state, r.exact) == (RUNNING, end == "abort"), (how, end, r)
                assert not r.exact or (r.end, r.status) == (SIGNAL, 6), r
            if end != "9":
                assert r.sum == (OWN + MORE, OWN_BYTES + MORE_BYTES, 0, 0), (how, end, r)
                assert r.peak_bytes == OWN_BYTES + MORE_BYTES, r


@test
def t_exec_ends_a_record_and_begins_one():
    b = Board()
    done = run(["/bin/sh", "-c", "/bin/true; (exec /bin/true); exec /bin/echo on"], env=b.environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "on\n", ""), done
    records = b.settled()
    sh = next(r for r in records if r.parent == NONE)
    echo = only(records, "echo")
    assert (sh.end, sh.exact, sh.pid) == (EXEC, 1, echo.pid) and echo.parent == sh.index and echo.end == EXIT, records
    assert echo.begin_ns >= sh.begin_ns and sh.end_ns and echo.path.endswith("/echo"), records
    # the forked shells that executed a true each, in their own records
    for t in (r for r in records if r.name == "true"):
        before = b.record(t.parent)
        if before.pid == t.pid:
            assert before.forked and before.end == EXEC and before.exact, records
    assert len([r for r in records if r.name == "true"]) == 2, records


@test
def t_every_way_to_start_a_program():
    for how in ("exec", "fork", "vfork", "spawn", "spawnp", "system", "popen", "wordexp"):
        b = Board()
        done = tree(b, "starts", how, "/bin/echo", "hi")
        assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "hi", ""), (how, done)
        records = b.settled()
        first, last = only(records, "s_tree") if how != "fork" else b.record(0), records[-1]
        assert last.name == "echo" and last.end == EXIT and last.exact, (how, records)
        at = last
        while at.index != first.index:  # up to the first
            at = b.record(at.parent)
        assert b.head.xmissed == 0 and first.parent == NONE, records


@test
def t_an_exec_that_fails_changes_nothing():
    folder = temporary_folder()
    with open(f"{folder}/broken", "wb") as f:
        f.write(b"\x7fELF")
    os.chmod(f"{folder}/broken", 0o755)
    b = Board()
    done = tree(b, "failed", cwd=folder)
    assert (done.returncode, done.stderr) == (0, ""), done
    records = b.settled()
    assert len(records) == 1 and records[0].end == EXIT and records[0].sum == (OWN + MORE, OWN_BYTES + MORE_BYTES, 0, 0), records


@test
def t_a_daemon_that_closes_everything():
    b = Board()
    assert tree(b, "daemon").returncode == 0
    first, middle, last = wait_for(lambda: len(b.records()) == 3 and b.settled(), 20, "three records")
    assert last.sum == (OWN + MORE, OWN_BYTES + MORE_BYTES, 0, 0) and (last.end, last.status) == (EXIT, 9), last
    assert (last.parent, middle.parent) == (middle.index, first.index), (first, middle, last)


@test
def t_a_child_that_matters_becomes_a_session():
    """As it reaches the size that matters; its life may be as long as it likes."""
    b = Board(matter_bytes=1 << 20, matter_s=3600)
    p = start([TREE, "grows", "2000000"], env=b.environment(), stdin=subprocess.PIPE)
    r = wait_for(lambda: next((r for r in b.records() if r.forked and r.socket), None), 20, "a session")
    assert r.peak_bytes - r.inherited_bytes >= 1 << 20, r
    c = Client("@" + r.socket).until_complete()
    assert c.hello["pid"] == r.pid
    os.kill(p.pid, signal.SIGCONT)
    p.stdin.write(b"\n")
    p.stdin.close()
    assert p.wait(60) == 0
    c.until_final()
    r = next(r for r in b.settled() if r.forked)
    t = c.totals
    assert r.sum == (t["allocated_blocks"], t["allocated_bytes"], t["freed_blocks"], t["freed_bytes"]), (r, t)


@test
def t_a_child_that_does_not_matter_stays_a_line():
    b = Board(matter_bytes=1 << 30, matter_s=3600)
    p = start([TREE, "grows", "200000"], env=b.environment(), stdin=subprocess.PIPE)
    r = wait_for(lambda: next((r for r in b.records() if r.forked and r.alloc_bytes >= 200000 + OWN_BYTES), None), 20, "figures")
    assert r.socket == "" and r.state == RUNNING and not r.exact, r
    os.kill(p.pid, signal.SIGCONT)
    p.stdin.write(b"\n")
    p.stdin.close()
    assert p.wait(60) == 0
    b.settled()


@test
def t_nothing_is_written_to_what_is_no_board():
    for case in ("no seals", "grow only", "magic", "version", "record_bytes", "records", "no file", "short"):
        b = Board(seals={"no seals": 0, "grow only": SEAL_GROW}.get(case, SEAL_GROW | SEAL_SHRINK), records=16)
        if case == "magic":
            b.head.magic = b"NOBOARD\n"
        elif case in ("version", "record_bytes"):
            setattr(b.head, case, 7)
        elif case == "records":
            b.head.records = 17
        env = b.environment()
        if case == "no file":
            env["MEMTOP_BOARD"] = "/proc/self/fd/999"
        if case == "short":
            env["MEMTOP_BOARD"] = "/dev/null"
        before = bytes(b.map)
        done = run(["/bin/sh", "-c", "env; /bin/true"], env=env)
        assert done.returncode == 0 and done.stderr == "" and "MEMTOP" not in done.stdout, (case, done)
        assert bytes(b.map) == before, case


@test
def t_a_board_without_room():
    b = Board(records=3)
    done = run(["/bin/sh", "-c", "for i in 1 2 3 4 5 6; do /bin/true; done; /bin/echo on"], env=b.environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "on\n", ""), done
    wait_for(lambda: all(r.state == ENDED for r in b.records()), 20, "their ends")
    assert len(b.records()) == 3 and b.head.xmissed >= 5, (b.records(), b.head.xmissed)


@test
def t_a_record_that_was_freed_is_left_alone():
    b = Board()
    p = start([TREE, "grows", "1000"], env=b.environment(), stdin=subprocess.PIPE)
    wait_for(lambda: len(b.records()) == 2, 20, "two records")
    taken = {}
    for r in b.records():
        b.free(r.index)
        taken[r.index] = b.take(r.index)
    os.kill(p.pid, signal.SIGCONT)
    p.stdin.write(b"\n")
    p.stdin.close()
    assert p.wait(60) == 0
    pids = [p.pid]
    wait_for(lambda: all(gone(pid) for pid in pids), 20, "the end")
    wait_for(lambda: not servers(pids), 20, "its server's end")
    assert {i: bytes(b.record(i)) for i in taken} == taken


def servers(pids):
    """Sockets that servers of those processes listen on."""
    names = {f"@memtop.{pid}" for pid in pids}
    with open("/proc/net/unix", encoding="utf-8") as f:
        return [line for line in f if ".".join(line.split()[-1].split(".")[:2]) in names]


@test
def t_nobody_is_followed_when_memtop_is_gone():
    b = Board()
    p = start(["/bin/sh", "-c", "read x; /bin/true; exec /bin/true"], env=b.environment(), stdin=subprocess.PIPE)
    wait_for(lambda: b.records(), 20, "a record")
    b.close()
    p.stdin.write(b"\n")
    p.stdin.close()
    assert p.wait(60) == 0
    assert [r.name for r in b.records() if r.name == "true"] == [], b.records()


@test
def t_waiting_is_for_the_first_program():
    """wait= holds the first program until a viewer connects; its children run at once, before and
    after an exec."""
    b = Board()
    p = start(["/bin/sh", "-c", "/bin/true; (/bin/true; :); /bin/echo on"], stdout=subprocess.PIPE,
              env=b.environment("wait=600000 listen=@memtop-test.%p"))
    c = Client(f"@memtop-test.{p.pid}")
    assert p.communicate(timeout=60)[0] == b"on\n" and p.returncode == 0
    c.until_final()
    assert len(b.settled()) >= 4


@test
def t_a_forked_worker_does_not_wait_either():
    b = Board(matter_s=0.2)
    p = start([TREE, "grows", "1000"], env=b.environment("wait=600000 listen=@memtop-test.%p"), stdin=subprocess.PIPE)
    Client(f"@memtop-test.{p.pid}").until_complete()
    wait_for(lambda: next((r for r in b.records() if r.forked and r.socket), None), 20, "a session")
    os.kill(p.pid, signal.SIGCONT)
    p.stdin.write(b"\n")
    p.stdin.close()
    assert p.wait(60) == 0


@test
def t_a_server_lingers_for_memtop():
    """The agent of a process that mattered gives a later viewer its whole state. The process and
    its parent never wait for it."""
    for how, end in (("exit", wire.EXITED), ("11", wire.SIGNALLED)):
        b = Board(matter_bytes=5000, linger_s=600)
        p = start([TREE, "end", how], env=b.environment())
        assert p.wait(60) in (3, -11)
        r, = b.settled()
        assert r.lingers and r.socket, r
        c = Client("@" + r.socket).until_final()
        assert c.state["state"] == end and c.totals["allocated_bytes"] == OWN_BYTES, c.state
        wait_for(lambda r=r: not servers([r.pid]), 20, "its server's end")
        assert not b.records()[0].lingers


@test
def t_a_server_lingers_for_one_at_its_door():
    """A viewer that had no cpu to answer before the end gets the state, however late."""
    b = Board(matter_bytes=1, linger_s=600)
    p = start(READS, env=b.environment(), stdin=subprocess.PIPE)
    r = wait_for(lambda: next((r for r in b.records() if r.socket), None), 20, "its server")
    door = connect_to("@" + r.socket)
    assert door.recv(12), "its greeting"
    p.stdin.close()
    assert p.wait(60) == 1
    r, = b.settled()
    assert r.lingers, r
    assert Client("@" + r.socket).until_final().totals["allocated_bytes"] == r.alloc_bytes


@test
def t_the_first_program_lingers_for_its_memtop():
    """However small it is, and for far longer than others: only there memtop learns of it."""
    b = Board(matter_bytes=1 << 30, matter_s=3600, linger_s=0.001)
    p = start([TREE, "end", "exit"], env=b.environment("wait=1 listen=@memtop-test.%p", MEMTOP_START=f"wait_for={os.getpid()}"))
    assert p.wait(60) == 3
    r, = b.settled()
    assert r.lingers and r.socket, r
    assert Client("@" + r.socket).until_final().totals["allocated_bytes"] == OWN_BYTES
    wait_for(lambda: not b.records()[0].lingers, 20, "its server's end")


@test
def t_another_viewer_is_not_the_memtop_that_started_it():
    """Such as `memtop serve --all`: it has the last state, and the program's own memtop still gets it."""
    b = Board(matter_bytes=1 << 30, matter_s=3600, linger_s=0.001)
    own = start(["sleep", "1000"])
    p = start(READS, stdin=subprocess.PIPE, env=b.environment("wait=1 listen=@memtop-test.%p", MEMTOP_START=f"wait_for={own.pid}"))
    other = Client(f"@memtop-test.{p.pid}").until_complete()
    p.stdin.close()
    assert p.wait(60) == 1
    other.until_final()
    r, = b.settled()
    assert r.lingers and r.socket, r
    assert Client("@" + r.socket).until_final().totals == other.totals
    b.close()
    wait_for(lambda: not b.record(r.index).lingers, 20, "its server's end when memtop has gone")


@test
def t_a_server_lingers_after_an_exec():
    """By another name: the usual one is the next program's."""
    b = Board(matter_bytes=5000, linger_s=600)
    p = start([TREE, "lingers"], env=b.environment(), stdin=subprocess.PIPE)
    old = wait_for(lambda: next((r for r in b.records() if r.state == ENDED), None), 20, "the end of the first image")
    new = wait_for(lambda: next((r for r in b.records() if r.state == RUNNING and r.socket), None), 20, "the second")
    assert old.lingers and old.socket != new.socket and old.end == EXEC and old.pid == new.pid, (old, new)
    c = Client("@" + old.socket).until_final()
    assert c.state["state"] == wire.EXECED and c.totals["allocated_bytes"] == OWN_BYTES
    assert Client("@" + new.socket).until_complete().hello["pid"] == p.pid
    p.stdin.close()
    assert p.wait(60) == 0


@test
def t_nobody_lingers_in_vain():
    for b in (Board(matter_bytes=1 << 30, matter_s=3600, linger_s=600), Board(matter_bytes=1, linger_s=0)):
        p = start([TREE, "end", "0"], env=b.environment())
        assert p.wait(60) == 0
        assert not b.settled()[0].lingers
        wait_for(lambda p=p: not servers([p.pid]), 20, "its server's end")
    b = Board(matter_bytes=1, linger_s=600)
    p = start([TREE, "end", "0"], env=b.environment())
    assert p.wait(60) == 0
    assert b.settled()[0].lingers
    b.close()
    wait_for(lambda: not servers([p.pid]), 20, "its server's end when memtop has gone")


@test
def t_a_thousand_short_processes():
    """No record is missed, none stays open, no server stays."""
    b = Board(records=4096)
    done = run(["/bin/sh", "-c", "i=0; while [ $i -lt 350 ]; do (:); /bin/true; i=$((i+1)); done"], env=b.environment(), seconds=200)
    assert (done.returncode, done.stderr) == (0, ""), done
    records = b.settled(60)
    assert b.head.xmissed == 0 and len([r for r in records if r.name == "true"]) == 350, len(records)
    assert all(r.exact and r.end in (EXIT, EXEC) for r in records), [r for r in records if not r.exact]
    wait_for(lambda: not servers([r.pid for r in records]), 20, "all servers' ends")


if __name__ == "__main__":
    main()
