#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""The data that the agent's server sends its viewers: sums, ticks, marks, flow control, the
target's end."""
import os
import re
import signal
import socket

import container
import wire
from client import Client
from harness import (AGENT, MEMTOP, TARGETS, Skip, environment, main, need, run, start, temporary_folder, test,
                     wait_for)
from obedient import PROGRAM, Obedient
from servers import server_of


def counters(c):
    return tuple(c.totals[k] for k in ("allocated_blocks", "allocated_bytes", "freed_blocks", "freed_bytes"))


@test
def t_a_viewer_gets_the_whole_state_first():
    p = Obedient()
    p.do("a 10 1000")
    c = p.viewer().until_complete()
    assert c.hello["pid"] == p.inner and c.hello["exe"].endswith("s_server"), c.hello
    assert c.hello["uid"] == os.stat(f"/proc/{p.pid}").st_uid and c.hello["word_bits"] == 64
    assert c.kinds[0] == wire.HELLO and c.kinds[1] == wire.TOTALS, c.kinds[:3]
    order = [c.kinds.index(k) for k in (wire.STATE, wire.OPTION, wire.THREAD, wire.PROCESS, wire.HISTORY, wire.SLOTS)]
    assert order == sorted(order), c.kinds
    assert c.state["state"] == wire.RUNNING
    assert c.process["rss_bytes"] > 100000 and c.process["threads"] == 1, c.process
    assert any(m["flags"] & wire.MODULE_MAIN for m in c.modules.values())
    assert any(m["flags"] & wire.MODULE_AGENT for m in c.modules.values())
    assert c.options["unwind"]["value"] in ("cfi", "fp"), c.options


@test
def t_changes_are_told_exactly():
    p = Obedient()
    c = p.viewer().until_complete()
    before = counters(c)
    p.do("a 100 1000")
    p.do("b 7 5000000")
    c.until_complete()
    c.until_complete()
    after = counters(c)
    assert tuple(y - x for x, y in zip(before, after)) == (107, 35100000, 0, 0), (before, after)
    p.do("A")
    c.until_complete()
    c.until_complete()
    assert tuple(y - x for x, y in zip(after, counters(c))) == (0, 0, 100, 100000)


@test
def t_a_deep_stack_has_all_its_frames():
    p = Obedient()
    p.do("d 40 3")
    c = p.viewer().until_complete()
    deep = max((c.frames_of(s["node"]) for s in c.slots.values()), key=len)
    inner = [f for f in deep if f[0] == "s_server"]
    assert len(inner) >= 42, deep
    assert len({f[1] for f in inner}) <= 6, deep


@test
def t_many_stacks_through_the_window():
    p = Obedient()
    p.do("s 20000")
    c = p.viewer()
    c.until_complete(60)
    assert len(c.slots) >= 20000 and c.totals["slots_sent"] == c.totals["slots_total"], c.totals
    assert c.totals["live_sent_bytes"] == c.live()[1]


@test
def t_a_path_longer_than_the_window():
    p = Obedient("listen=@memtop-test.%p depth=4000")
    p.do("d 3900 2")
    p.do("s 3000")
    c = p.viewer().until_complete()
    p.do("d 3950 1")
    c.until_complete()
    c.until_complete()
    lengths = sorted(len(c.frames_of(s["node"])) for s in c.slots.values())
    assert lengths[-1] > 3950 and lengths[-2] > 3900, lengths[-3:]


@test
def t_no_acknowledgement_no_flood():
    p = Obedient()
    p.do("s 20000")
    c = p.viewer(ack=False)
    c.until(lambda: c.totals)
    c.until(lambda: not c.pump(0.5) or c.consumed > 40000, "a windowful")
    while True:
        had = c.consumed
        c.pump(0.6)
        if c.consumed == had:
            break
    assert c.consumed < wire.WINDOW_MIN + 40000, c.consumed  # the head of the first state comes on top
    assert not c.complete
    c.acknowledge()
    c.ack = True
    c.until_complete(60)


@test
def t_the_heaviest_stacks_come_first():
    p = Obedient()
    p.do("s 20000")
    p.do("a 1 30000000")
    c = p.viewer()
    c.until(lambda: c.counts, "the first counts")
    assert max(c.slot_live(s)[1] for s in c.counts) == 30000000
    assert len(c.counts) < 20000


@test
def t_viewers_marks_reach_all_viewers():
    p = Obedient()
    always = p.viewer("always").until_complete()
    p.do("a 100 1000")
    setter = p.viewer("setter").until_complete()
    setter.send(wire.SET_MARK, name="one")
    setter.until(lambda: 1 in setter.mark_done, "the mark")
    p.do("b 50 100")
    p.do("A")
    p.do("a 3 70")
    setter.send(wire.SET_MARK, name="one")
    setter.until(lambda: 2 in setter.mark_done, "the second mark")
    assert setter.marks[1]["name"] == "one" and setter.marks[2]["name"] == "one-2", setter.marks
    assert setter.marks[1]["set_by"] == "setter"
    p.do("B")
    p.do("b 9 11")
    late = p.viewer("late").until_complete()
    late.until(lambda: late.mark_done == {1, 2}, "marks")
    for c in (always, setter, late):
        c.until_complete()
        c.until_complete()
    for mark, born, gone in ((1, (3 + 9, 210 + 99), (100, 100000)), (2, (9, 99), (50, 5000))):
        diffs = [c.diff(mark) for c in (always, setter, late)]
        assert diffs[0] == diffs[1] == diffs[2], diffs
        total = tuple(sum(v[i] for v in diffs[0].values()) for i in range(4))
        assert total == born + gone, (mark, total, born + gone)
        then = late.marks[mark]
        net = late.live()[1] - (then["allocated_bytes"] - then["freed_bytes"])
        assert net == total[1] - total[3], (net, total)
    assert any("setter set mark m1 one" in n for n in always.notices), always.notices
    assert not any("set mark" in n for n in setter.notices), setter.notices


@test
def t_marks_renamed_and_dropped():
    p = Obedient()
    c = p.viewer("c").until_complete()
    for i, name in enumerate(("now", "", "x" * 64), 1):
        p.do(f"a {i} 100")
        c.send(wire.SET_MARK, name=name)
        c.until(lambda: i in c.mark_done, "mark")
    assert [c.marks[i]["name"] for i in (1, 2, 3)] == ["now-2", "m2", "x" * 64]
    p.do("A")
    p.do("a 4 100")
    c.until_complete()
    c.until_complete()
    diff3, live1, live3 = c.diff(3), c.live_at(1), c.live_at(3)
    c.send(wire.DROP_MARK, id=2)
    c.send(wire.RENAME_MARK, id=1, name="base")
    c.until(lambda: c.marks[2]["flags"] & 1 and c.marks[1]["name"] == "base", "dropped, renamed")
    assert c.diff(3) == diff3
    fresh = p.viewer("fresh").until_complete()
    fresh.until(lambda: fresh.mark_done == {1, 3}, "marks")
    assert fresh.diff(3) == diff3 and fresh.live_at(1) == live1 and fresh.live_at(3) == live3
    c.send(wire.SET_MARK, name="m4")
    c.until(lambda: 4 in c.marks)
    assert c.marks[4]["name"] == "m4"


@test
def t_old_marks_give_way_at_mark_memory():
    p = Obedient("listen=@memtop-test.%p mark_memory=20000")
    c = p.viewer().until_complete()
    for i in range(1, 6):
        p.do("s 3000")
        c.send(wire.SET_MARK, name="")
        c.until(lambda: i in c.marks, "mark")
    p.do("b 5 100")
    c.until(lambda: all(c.marks[i]["flags"] & 2 for i in (1, 2, 3, 4)), "old marks reduced")
    assert c.losses[5]["events"] >= 4, c.losses
    fresh = p.viewer("fresh").until_complete()
    assert set(fresh.mark_live) <= {5}, fresh.mark_live.keys()


@test
def t_many_marks_do_not_grow_by_what_was_freed():
    """Each begins an epoch, and so slots that hold nothing soon: marks that gave way say no more of those."""
    p = Obedient("listen=@memtop-test.%p mark_memory=400")
    c = p.viewer().until_complete()
    for i in range(1, 151):
        p.do("a 1 100")
        c.send(wire.SET_MARK, name="same")
        c.until(lambda i=i: i in c.marks, "mark")
        p.do("A")
    assert [c.marks[i]["name"] for i in (1, 2, 150)] == ["same", "same-2", "same-150"], c.marks
    assert c.marks[1]["flags"] & 2 and not any(c.marks[i]["flags"] & 2 for i in range(130, 151)), c.marks
    fresh = p.viewer("fresh").until_complete()
    fresh.until(lambda: set(range(130, 151)) <= fresh.mark_done, "marks")
    for viewer in (c, c, fresh, fresh):
        viewer.until_complete()
    for mark in (130, 150):
        assert sum(size for _, size in fresh.live_at(mark).values()) == 100, (mark, fresh.live_at(mark))
        assert fresh.diff(mark) == c.diff(mark)


@test
def t_the_programs_marks_are_told():
    p = Obedient()
    p.do("a 10 100")
    number = p.do("m before-free", None)
    if number == "-1":
        raise Skip("the agent exports no memtop_mark")
    assert number == "1", number
    p.do("A")
    c = p.viewer().until_complete()
    assert c.marks[1]["name"] == "before-free" and c.marks[1]["set_by"] == "the program", c.marks
    total = [sum(v[i] for v in c.diff(1).values()) for i in range(4)]
    assert total == [0, 0, 10, 1000], total


@test
def t_two_viewers_and_reconnect():
    p = Obedient()
    a, b = p.viewer("a").until_complete(), p.viewer("b").until_complete()
    p.do("a 20 50")
    a.send(wire.SET_MARK, name="m")
    for c in (a, b):
        c.until(lambda: 1 in c.mark_done, "the mark")
    b.send(wire.DETACH)
    b.until(lambda: b.ended, "b closed")
    p.do("a 20 50")
    again = p.viewer("b").until_complete()
    a.until_complete()
    a.until_complete()
    assert counters(a) == counters(again) and a.counts == again.counts
    assert again.live_at(1) == a.live_at(1) and again.marks == a.marks
    assert len(again.history["points"]) >= 1


@test
def t_options_at_run_time():
    p = Obedient()
    a, b = p.viewer("ann").until_complete(), p.viewer("bob").until_complete()
    a.send(wire.SET_OPTION, name="depth", value="33")
    b.until(lambda: b.options["depth"]["value"] == "33", "the option")
    assert b.options["depth"]["who"] == "ann" and any("ann set depth=33" in n for n in b.notices)
    a.send(wire.SET_OPTION, name="listen", value="@x")
    a.until(lambda: any("listen" in n for n in a.notices), "a refusal")
    assert not any("listen" in n for n in b.notices)


@test
def t_scans_answer_threads_and_ages():
    p = Obedient()
    p.do("a 1000 10")
    p.do("b 3 100000")
    p.do("T 4")
    c = p.viewer().until_complete()
    c.send(wire.SCAN, request=5, kind=0, slots=[])
    c.until(lambda: 5 in c.scans, "threads")
    rows = {r["thread"]: r for r in c.scans[5]["threads"]}
    assert sum(r["bytes"] for r in rows.values()) == c.live()[1], (rows, c.live())
    assert sum(r["blocks"] for r in rows.values()) == c.live()[0]
    heavy = max(c.counts, key=lambda s: c.slot_live(s)[1])
    c.send(wire.SCAN, request=6, kind=1, slots=[heavy])
    c.until(lambda: 6 in c.scans, "ages")
    ages = c.scans[6]
    assert (ages["blocks"], ages["bytes"]) == (3, 300000), ages
    for part in ("ages", "sizes", "threads"):
        assert sum(r["blocks"] for r in ages[part]) == 3 and sum(r["bytes"] for r in ages[part]) == 300000, ages
    assert ages["sizes"][0]["log2"] == 16


@test
def t_threads_and_their_names_are_told():
    p = Obedient()
    p.do("T 3")
    p.do("t renamed")
    c = p.viewer().until_complete()
    c.until(lambda: sum(t["flags"] & 1 for t in c.threads.values()) == 3, "three ended threads")
    c.until(lambda: any(t["name"] == "renamed" and t["tid"] == p.inner for t in c.threads.values()), "the name")
    c.until_complete()
    assert sum(t["allocated_blocks"] for t in c.threads.values()) == c.totals["allocated_blocks"]
    ended = [t for t in c.threads.values() if t["flags"] & 1]
    assert all(t["allocated_bytes"] >= 300 for t in ended), ended


@test
def t_names_of_ended_threads_are_not_read():
    """The server looks up names each second, of the threads that are there: no later one continues these three."""
    need("strace")
    p = Obedient()
    p.do("T 3")
    c = p.viewer().until_complete()
    c.until(lambda: sum(t["flags"] & 1 for t in c.threads.values()) == 3, "three ended threads")
    server = server_of(p.pid)
    trace = temporary_folder() + "/opened"
    start(["strace", "-qq", "-e", "trace=openat", "-o", trace, "-p", str(server)])

    def read():
        return re.findall(r"/task/(\d+)/comm", open(trace, encoding="utf-8").read()) if os.path.exists(trace) else []
    c.until(lambda: read().count(str(p.inner)) > 2, "names that are read")
    assert set(read()) == {str(p.inner)}, read()


@test
def t_children_are_counted():
    p = Obedient()
    c = p.viewer().until_complete()
    p.do("F 3")
    c.until(lambda: c.process["children"] == 3, "three children")


@test
def t_each_exit_code_is_told():
    for command, status in (("x 0", 0), ("x 3", 3), ("_ 250", 250), ("q 9", 9)):
        p = Obedient()
        c = p.viewer().until_complete()
        p.do("a 5 100")
        p.tell(command)
        c.until_final()
        assert (c.state["state"], c.state["status"], c.state["known"]) == (wire.EXITED, status, 1), (command, c.state)
        assert c.complete and p.process.wait(60) == status
        assert c.totals["allocated_blocks"] >= 5
        c.until(lambda: c.ended, "closed after the final tick")


@test
def t_the_signal_that_ends_it_is_told():
    container.unless_own_pids("its process 1 ends with it, or takes no signal, and the kernel kills the server")
    for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGKILL):
        p = Obedient()
        c = p.viewer().until_complete()
        p.do("a 5 100000")
        c.until_complete()
        c.until_complete()
        seen = counters(c)
        p.tell(f"k {int(number)}")
        c.until_final()
        assert (c.state["state"], c.state["status"], c.state["known"]) == (wire.SIGNALLED, number, 1), c.state
        assert counters(c) == seen and c.live()[1] >= 500000
        assert p.process.wait(60) == container.ended_by(number)


@test
def t_killed_from_outside_unreaped_and_reaped():
    container.unless_own_pids("the kernel kills its server with it")
    p = Obedient()
    c = p.viewer().until_complete()
    p.do("a 500 77")
    os.kill(p.pid, signal.SIGKILL)
    p.process.wait(60)
    c.until_final()
    assert c.state["state"] == wire.SIGNALLED and c.state["status"] == 9, c.state
    assert any(c.slot_live(s) == (500, 500 * 77) for s in c.counts)


def given_back(end, options=""):
    p = Obedient(options, cwd=temporary_folder())
    c = p.viewer("slow", ack=False).until(lambda: True)
    full = p.viewer().until_complete()
    p.do("f 40 5000000")
    p.do("s 20000")
    server = server_of(p.pid)
    c.pump(1)
    assert resident_kib(server) > 200000
    end(p)
    p.process.wait(60)
    full.until_final(30)
    # `slow` has not taken its last state: the server still waits for it, without the program's memory, as a new process.
    wait_for(lambda: [resident_kib(p) < 50000 for p in of_session(server)] == [True], 10, "memory given back")
    c.ack = True
    c.acknowledge()
    c.until_final(30)
    assert c.counts == full.counts and counters(c) == counters(full)


@test
def t_memory_of_the_dead_is_given_back():
    container.unless_own_pids("the kernel kills its server with it")
    given_back(lambda p: os.kill(p.pid, signal.SIGKILL))


@test
def t_memory_is_given_back_after_an_announced_end():
    """The program says that it exits, and waits for its dump: the state is the last one by then, but it still runs."""
    container.unless_own_pids("the kernel kills its server with it")
    given_back(lambda p: p.tell("x 3"), "listen=@memtop-test.%p dump_at_exit=yes")


def of_session(leader):
    """Processes that run in the server's session: itself, or what took its place."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                if os.getsid(int(entry)) == leader and f.read().rpartition(")")[2].split()[0] != "Z":
                    found.append(int(entry))
        except OSError:
            continue
    return found


def resident_kib(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * 4


@test
def t_exec_ends_the_session_and_frees_the_name():
    p = Obedient()
    c = p.viewer().until_complete()
    p.do("e /nonexistent/program", "2")
    p.do("a 5 100")
    c.until(lambda: any(c.slot_live(s) == (5, 500) for s in c.counts), "life after a failed exec")
    c.until_complete()
    assert c.state["state"] == wire.RUNNING, c.state
    again = p.viewer("after failed exec").until_complete()
    assert again.totals["allocated_blocks"] == c.totals["allocated_blocks"]
    p.tell("e " + (PROGRAM if container.OWN_PIDS else "/bin/true"))  # in a pid namespace the end of that may be the server's
    c.until_final()
    assert c.state["state"] == wire.EXECED, c.state
    assert p.end() == 0


@test
def t_exec_of_itself_is_watched_again():
    p = Obedient()
    c = p.viewer().until_complete()
    p.do("a 5 100")
    p.tell("e " + os.path.join(os.environ["BUILD"], "tests", "targets", "s_server"))
    c.until_final()
    assert c.state["state"] == wire.EXECED
    assert p.answer() == "ready"
    new = p.viewer("new")
    new.until_complete()
    assert new.hello["pid"] == p.inner and new.totals["allocated_blocks"] < c.totals["allocated_blocks"]
    assert p.end() == 0


@test
def t_waits_for_a_first_viewer():
    p = Obedient("listen=@memtop-test.%p wait=60000", wait=False)
    c = p.viewer()
    c.until_complete()
    assert p.answer() == "ready"
    p.tell("x 4")
    c.until_final()
    assert c.state["status"] == 4


@test
def t_waits_for_the_viewer_that_started_it():
    """Another viewer may be there first, as memtop serve --all: a program that soon ends still waits for its own."""
    options = f"listen=@memtop-test.%p wait=60000 wait_for={os.getpid()}"
    p = start([f"{TARGETS}/s_named", "2"], env=environment(LD_PRELOAD=AGENT, MEMTOP_OPTIONS=options))
    name = f"@memtop-test.{p.pid}"
    wait_for(lambda: not run([MEMTOP, "report", "--format", "json", "-o", "/dev/null", name], env=environment()).returncode, 20,
             "another viewer's report")
    c = Client(name)
    c.until_final()
    assert c.totals["allocated_blocks"] >= 2 and p.wait() == 0, c.totals


@test
def t_wait_is_bounded():
    p = Obedient("listen=@memtop-test.%p wait=100")
    assert p.end() == 0


@test
def t_nothing_is_left():
    p = Obedient()
    server = server_of(p.pid)
    assert p.end() == 0
    wait_for(lambda: not os.path.exists(f"/proc/{server}"), 5, "the server's end")
    try:
        socket.socket(socket.AF_UNIX).connect("\0" + p.name[1:])
        raise AssertionError("the name is still in use")
    except ConnectionRefusedError:
        pass


main()
