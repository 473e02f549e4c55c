#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""The server as a child of its target, for process 1 of a container, and a new server for a child
that lives on its own. test_arm64.py covers an emulator, where a server process is impossible."""
import os
import signal
import subprocess

import wire
from client import Client, run_watched
from container import need_place
from elsewhere import listening
from harness import (AGENT, TARGETS, Skip, child_of, children, environment, main, mostly_waits, need, recorded,
                     recording, report, run, start, test, wait_for, wait_for_session)
from obedient import PROGRAM, Obedient
from refuse import ERRNO, VFORK, refuse

CONTAIN = os.path.join(TARGETS, "contain")


def process_one():
    """The target as process 1 of a namespace; its name ends in .1 there."""
    need("unshare")
    need_place("unshare", "-p", "-f", "--mount-proc")
    name = f"@memtop-test-one-{os.getpid()}.%p"
    inner = ["unshare", "-p", "-f", "--mount-proc", "env", f"LD_PRELOAD={AGENT}", f"MEMTOP_OPTIONS=listen={name}"]
    p = Obedient(watched=False, command=inner)
    p.name = name.replace("%p", "1")
    return p


def in_container(profile):
    """The same under the filter and the capabilities of an engine."""
    need_place(CONTAIN, "--profile", profile, "--pid1", "--")
    p = Obedient(command=[CONTAIN, "--profile", profile, "--pid1", "--"], wait=False,
                 options=f"listen=@memtop-test-{profile}-{os.getpid()}.%p")
    assert p.answer() == "ready"
    p.name = f"@memtop-test-{profile}-{os.getpid()}.1"
    return p


@test
def t_process_one_of_a_namespace_is_served():
    p = process_one()
    c = p.viewer().until_complete()
    assert c.hello["pid"] == 1 and c.process["threads"] == 1, (c.hello, c.process)
    p.do("W", "ECHILD")
    p.do("w", "ECHILD")  # the server is its child, for its orphans would be; __WALL shows it no more than without the agent
    p.do("c", "3")
    p.do("a 10 100")
    p.tell("x 3")
    c.until_final()
    assert (c.state["state"], c.state["status"]) == (wire.EXITED, 3), c.state
    assert any(c.slot_live(s) == (10, 1000) for s in c.counts)
    assert p.process.wait(60) == 3


@mostly_waits
def t_process_one_that_is_killed():
    """The kernel ends its server at once. A recording says that the link broke, and never that it exited."""
    p = process_one()
    # with a key frame at the end, from which the report begins
    recorder = recording(arguments=[p.name], env=environment(MEMTOP_TEST_KEY_BYTES="1"), stderr=subprocess.PIPE)
    wait_for_session(recorder.session)
    os.kill(children(p.process.pid)[0], signal.SIGKILL)
    recorder.wait(60)
    program = report(recorder.session)["program"]
    assert (program["state"], program["status"], program["signal"]) == ("link_lost", None, None), program


@test
def t_process_one_of_a_container():
    """The server has a table of descriptors of its own: the program neither sees, closes nor filters it."""
    for profile in ("docker", "podman"):
        p = in_container(profile)
        c = p.viewer().until_complete()
        one = children(p.process.pid)[0]
        server, = children(one)
        with open(f"/proc/{one}/status", encoding="utf-8") as f:
            assert "Threads:\t1\n" in f.read()
        assert sorted(os.listdir(f"/proc/{one}/fd")) == ["0", "1", "2"], profile
        p.do("W", "ECHILD")
        p.do("c", "3")
        p.do("a 10 100")
        with open(f"/proc/{server}/stat", encoding="utf-8") as f:
            assert f.read().rpartition(")")[2].split()[35] == "0", "the server has an exit signal"
        p.tell("_ 3")
        c.until_final()
        assert (c.state["state"], c.state["status"]) == (wire.EXITED, 3), c.state
        assert any(c.slot_live(s) == (10, 1000) for s in c.counts)
        assert p.process.wait(60) == 3


def ends_under_its_filter(*kind):
    """It ends as it does without the agent: its filter need not allow the server's calls, and its end makes none."""
    for command in ("y", "z"):
        name = f"@memtop-test-filter-{os.getpid()}{''.join(kind)}-{command}"  # the one before may still say its last
        p = Obedient(command=[CONTAIN, *kind, "--"], options=f"listen={name}")
        p.name = name
        p.viewer().until_complete()
        p.do(command, "0")
        p.viewer("after the filter").until_complete()
        p.tell("x 3")
        assert p.process.wait(60) == 3, (kind, command, p.process.returncode)


@test
def t_filter_of_its_own():
    ends_under_its_filter()


@test
def t_filter_of_its_own_in_a_container():
    for kind in ["--pid1"], ["--init"], ["--pid1", "--profile", "docker"]:
        need_place(CONTAIN, *kind, "--")
        ends_under_its_filter(*kind)


@test
def t_process_one_executes_another_program():
    for command in ("e", "E"):
        p = process_one()
        c = p.viewer().until_complete()
        p.tell(f"{command} {PROGRAM}")
        c.until_final()
        assert c.state["state"] == wire.EXECED, c.state
        assert p.answer() == "ready"
        p.do("W", "ECHILD")
        if command == "e":
            assert p.viewer().until_complete().hello["pid"] == 1
        assert p.end() == 0


@test
def t_process_one_executes_itself_often():
    """Of the servers that ended at each exec no more than two are left, the last ones: nobody but the agent would reap them."""
    p = process_one()
    one = children(p.process.pid)[0]
    for _ in range(8):
        p.viewer().until_complete()
        server = [c for c in children(one) if listed(c)]
        p.tell(f"e {PROGRAM}")
        assert p.answer() == "ready"
        wait_for(lambda: not any(listed(c) for c in server), 20, "the end of its server")
    left = [c for c in children(one) if not listed(c)]
    assert len(left) <= 2, f"dead servers: {left}"
    assert p.end() == 0


@test
def t_process_one_with_a_slow_viewer():
    """The server leaves the old program's memory without an orphan that the new program would have
    to reap."""
    p = process_one()
    slow = p.viewer("slow", ack=False).until(lambda: True)
    p.do("s 20000")
    slow.pump(1)
    one = children(p.process.pid)[0]
    server, = children(one)
    p.tell(f"E {PROGRAM}")
    assert p.answer() == "ready"
    heir = wait_for(lambda: [c for c in children(one) if c != server], 20, "the server in memory of its own")
    p.do("W", "ECHILD")
    slow.ack = True
    slow.acknowledge()
    slow.until_final(30)
    wait_for(lambda: not any(listed(c) for c in heir), 20, "its end")
    p.do("W", "ECHILD")
    assert p.end() == 0


def listed(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


FORKS = """
import os, sys
def child(): # as it sees itself; it lives until we say so
    r, w = os.pipe(); r2, w2 = os.pipe(); pid = os.fork()
    if not pid:
        os.write(w, b"%d\\n" % os.getpid()); os.close(w2); os.read(r2, 1); os._exit(0)
    return os.read(r, 20), pid, w2
"""


def same_with_and_without(code, before=(), says=""):
    """What a Python program prints that way, plainly and under the agent."""
    answers = []
    for watched in (False, True):
        agent = [f"LD_PRELOAD={AGENT}", "MEMTOP_OPTIONS=listen=@memtop-test.%p"] if watched else []
        done = run([*before, "env", *agent, "/usr/bin/python3", "-c", FORKS + code])
        answers.append((done.returncode, done.stdout))
    assert answers[0] == answers[1], answers
    assert answers[0][0] == 0, done.stderr
    assert says in done.stderr, done.stderr
    return answers[0][1]


@test
def t_children_in_another_namespace():
    """unshare -p PROG: the first child of PROG is process 1 there, and PROG may fork for as long as that lives."""
    need("unshare")
    code = "print([child()[0] for _ in range(4)])"
    out = same_with_and_without(code, ["unshare", "-p"], "unshare: use --fork")
    assert "b'1\\n', b'2\\n', b'3\\n', b'4\\n'" in out, out


@test
def t_child_that_is_process_one_starts_nothing_at_once():
    """Its parent, in another namespace, has no number there; that is not gone. So it lives its two seconds, and no pid is used."""
    code = """
import ctypes, time
assert ctypes.CDLL(None).unshare(0x20000000) == 0
r, w = os.pipe()
if not os.fork():
    begun, seen = time.monotonic(), [os.getpid()]
    while len(seen) < 100 and time.monotonic() < begun + 1.5:
        keep = [bytearray(n) for n in range(1000, 3000, 10)]
        seen.append(os.fork())
        if not seen[-1]: os._exit(0)
        os.waitpid(seen[-1], 0)
    os.write(w, repr(len(seen) > 2 and seen == list(range(1, len(seen) + 1)) or seen).encode()); os._exit(0)
print(os.read(r, 1000)); os.wait()
"""
    assert same_with_and_without(code) == "b'True'\n"


@test
def t_process_one_main_ends_with_pthread_exit():
    p = process_one()
    p.viewer().until_complete()
    p.tell("p")
    assert p.process.wait(60) == 7


@test
def t_thread_where_a_process_is_refused():
    """Even unshare() is: descriptors of its own, and the rights of its program."""
    p = Obedient(preexec_fn=refuse(ERRNO, ("clone", VFORK), "unshare"), cwd="/")
    c = p.viewer().until_complete()
    thread, = [int(t) for t in os.listdir(f"/proc/{p.pid}/task") if int(t) != p.pid]
    own, theirs = (sorted(os.listdir(f"/proc/{p.pid}/task/{t}/fd"), key=int) for t in (p.pid, thread))
    assert own == ["0", "1", "2"] and len(theirs) == 2, (own, theirs)  # its socket, and one for c
    assert all(os.readlink(f"/proc/{p.pid}/task/{thread}/fd/{n}").startswith("socket:") for n in theirs), theirs
    p.do("c", "3")
    p.do("a 10 100")
    if not os.geteuid():
        p.do("i 65534", "0")
        wait_for(lambda: [users(p.pid, t) for t in (p.pid, thread)] == [["65534"] * 4] * 2, 10, "the thread's user")
    c.until_complete()
    c.until_complete()
    p.tell("x 3")
    c.until_final()
    assert (c.state["state"], c.state["status"]) == (wire.EXITED, 3), c.state
    assert any(c.slot_live(s) == (10, 1000) for s in c.counts)
    assert p.process.wait(60) == 3


def users(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8") as f:
        return next(line.split()[1:] for line in f if line.startswith("Uid:"))


@test
def t_a_proc_of_a_namespace_further_out():
    """Its own number is another program's in the /proc that it has: name, command, threads and memory are not that one's."""
    need("unshare")
    choose = ["unshare", "--pid", "--fork", "sh", "-c", 'echo "$1" > /proc/sys/kernel/ns_last_pid && { shift; "$@"; exit $?; }', "sh"]
    if run([*choose, "76", "true"], env=environment()).returncode:
        raise Skip("a pid cannot be chosen in a new namespace here")
    other = start(["sleep", "1000"], env=environment())
    code = "import os, time\nkept = [bytearray(1000) for i in range(20000)]\nprint(os.getpid())\ntime.sleep(1.5)"
    python = os.path.realpath("/usr/bin/python3")
    session = recorded(*choose, str(other.pid - 1), "/usr/bin/python3", "-c", code)
    assert session.stdout == f"{other.pid}\n", (session.stdout, session.stderr)
    r = report(session, arguments=["--process", str(other.pid)])
    p = r["program"]
    assert (p["pid"], p["exe"], p["args"]) == (other.pid, python, ["/usr/bin/python3", "-c", code]), p
    assert (p["state"], p["status"]) == ("exited", 0), p
    assert [t["name"] for t in r["threads"]] == ["python3"], r["threads"]
    rss = [row["rss_bytes"] for row in r["timeline"]]
    assert max(rss) > 20000000, rss  # sleep has a megabyte or two


@test
def t_program_in_a_user_namespace():
    """Nobody from outside can be told apart there: it does not wait for a viewer, and the report says why it is not in it."""
    need("unshare")
    need_place("unshare", "-U")
    session = recorded("unshare", "-U", "sh", "-c", "echo here; exit 3", options="wait=600000", status=3)
    assert session.stdout == "here\n", (session.stdout, session.stderr)
    warnings = report(session)["warnings"]
    assert len([w for w in warnings if "this one executed is not in this session" in w and "user namespace" in w]) == 1, warnings


@test
def t_forked_child_has_what_was_seen_before():
    """Its session begins with all of its parent's blocks, also with those that viewers of its parent were told of long ago."""
    p = Obedient()
    p.do("a 7 1000")
    c = p.viewer(tick_ns=20_000_000)
    c.until(lambda: c.ticks > 5 and any(c.slot_live(s) == (7, 7000) for s in c.counts), "its blocks")
    p.do("F 1")
    child = child_of(p.pid)
    wait_for(lambda: listening(f"memtop-test.{child}"), 60, "its session")
    c = Client(f"@memtop-test.{child}").until_complete()
    assert any(c.slot_live(s) == (7, 7000) for s in c.counts), c.totals


@test
def t_forked_child_that_lives_on():
    code = ("import os, time\npid = os.fork()\nif not pid:\n    keep = []\n    while True:\n"
            "        keep.append(bytearray(777)); time.sleep(0.01)\nprint(pid, flush=True)\nos.waitpid(pid, 0)\n")
    p = run_watched(["/usr/bin/python3", "-c", code], "listen=@memtop-test.%p", stdout=subprocess.PIPE)
    child = int(p.stdout.readline())
    parent = Client(f"@memtop-test.{p.pid}").until_complete()
    c = Client(f"@memtop-test.{child}", who="child").until_complete()
    assert c.hello["pid"] == child and parent.hello["pid"] == p.pid
    os.kill(child, signal.SIGKILL)
    c.until_final()
    assert (c.state["state"], c.state["status"]) == (wire.SIGNALLED, 9), c.state
    parent.until_final()
    assert parent.state["state"] == wire.EXITED and p.wait(60) == 0


main()
