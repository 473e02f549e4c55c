#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_elsewhere.py - whoever may trace a process may watch it, whatever namespaces it has: every verb
works by its pid.

The program has the agent from its start, or memtop attaches. Root watches all of them; the user
watches those that are the user's.
"""
import json
import os
import re
import shutil
import subprocess

from cli import one_line
from container import need_place
from harness import (AGENT, MEMTOP, TARGETS, Skip, at_end, children, environment, kill, main, need, report, run,
                     start, temporary_folder, test, wait_for)
from served import Server, value
from term import Terminal

USER = 1234
AS_USER = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"]
LIVE = 6553600  # of s_phases, standing still


class Open:
    """memtop, agent and target where every user reaches them."""

    def __init__(self):
        need("unshare", "setpriv")
        if os.geteuid():
            raise Skip("only root can be two users")
        self.folder = temporary_folder()
        os.chmod(self.folder, 0o755)
        for path in (MEMTOP, AGENT, os.path.join(TARGETS, "s_phases")):
            shutil.copy(path, self.folder)
        self.memtop, self.agent, self.program = (os.path.join(self.folder, n) for n in ("memtop", "libmemtop-agent.so", "s_phases"))
        self.home = os.path.join(self.folder, "home")
        os.mkdir(self.home)
        os.chown(self.home, USER, USER)

    def run(self, user, *arguments):
        own = {"HOME": self.home, "XDG_STATE_HOME": self.home, "XDG_CONFIG_HOME": self.home} if user else {}
        env = environment(MEMTOP_AGENT=self.agent, **own)
        return run([*(AS_USER if user else ()), self.memtop, *map(str, arguments)], env=env)

    def start(self, place, preloaded):
        """The pid of the program in that place, standing still."""
        inner = ["env", f"LD_PRELOAD={self.agent}", self.program, "wait"] if preloaded else [self.program, "wait"]
        outer = start([*place, *inner], env=environment(), stderr=subprocess.PIPE, text=True)
        # its agent starts its server by a process of the same name
        pid = wait_for(lambda: -1 if outer.poll() is not None else stands_still(descendant(outer.pid, "s_phases")), 20, "the program")
        if pid < 0:
            raise Skip(f"this place cannot be made here: {outer.stderr.read()}")
        at_end(kill, pid)  # unshare --fork ends without it
        return pid


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        return f.read().strip()


def stands_still(pid):
    """The pid, once it waits for a signal."""
    try:
        with open(f"/proc/{pid}/syscall", encoding="utf-8") as f:
            return f.read().startswith("128 ") and pid  # rt_sigtimedwait
    except OSError:
        return None


def source(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def built(*arguments):
    done = run(["gcc", *arguments])
    assert done.returncode == 0, done.stderr


def descendant(pid, name):
    """The process itself, or one below it, of that name."""
    try:
        if comm(pid) == name:
            return pid
    except OSError:
        return None
    return next(filter(None, (descendant(child, name) for child in children(pid))), None)


def row(o, user, pid):
    return next((line for line in o.run(user, "list").stdout.splitlines() if line.split()[0] == str(pid)), None)


def watched(o, user, pid, preloaded, elsewhere=True):
    """Every verb by that user."""
    if not preloaded:
        done = o.run(user, "attach", "--no-view", pid)
        assert done.returncode == 0 and done.stdout.endswith(f"watch it with memtop -p {pid}\n"), done
    line = wait_for(lambda: row(o, user, pid), 10, "its row in the list")
    assert re.fullmatch(rf" *{pid}  s_phases +[\d?]+ +" + (rf"-p {pid} \(inside: @\S+\)" if elsewhere and preloaded else ".*"), line), line
    one_line(o.run(user, "attach", "--no-view", pid), 3, "has an agent already", f"use memtop -p {pid}")
    done = o.run(user, "report", "-p", pid)
    assert done.returncode == 0 and (not preloaded or "early_phase" in done.stdout), done
    done = o.run(user, "mark", "-p", pid, "here")
    assert done.returncode == 0 and "here" in done.stdout, done
    # the file tells the pid that the program knows
    session = f"{o.home}/{user}.mtop"
    done = o.run(user, "record", "--for", "0.2", "-o", session, "-p", pid)
    assert done.returncode == 0, done
    r = report(session)
    assert r["totals"]["live_bytes"] == (LIVE if preloaded else 0) and [m["name"] for m in r["marks"]] == ["here"], r
    if not user:
        server = Server("--all")
        wait_for(lambda: server.up(pid) and value(server.metrics(), "memtop_live_bytes", pid) == r["totals"]["live_bytes"], 20, "its figures")
    done = o.run(user, "detach", pid)
    if preloaded:
        one_line(done, 3, "the agent stays")
    else:
        assert done.returncode == 0 and "the agent is out of" in done.stdout, done
        wait_for(lambda: not row(o, user, pid), 10, "its end in the list")


def every_way(place, *users, elsewhere=True):
    o = Open()
    for preloaded in (True, False):
        for user in users:
            watched(o, user, o.start(place, preloaded), preloaded, elsewhere)


@test
def t_a_network_of_its_own():
    every_way(["unshare", "--net"], 0)


@test
def t_networks_and_pids_of_its_own():
    every_way(["unshare", "--net", "--pid", "--fork", "--mount-proc"], 0)


@test
def t_pids_of_its_own():
    """Its socket is in memtop's network, under the number that the program knows."""
    every_way(["unshare", "--pid", "--fork", "--mount-proc"], 0, elsewhere=False)


def number(o, inner):
    """The pid of the program in a pid namespace that shares memtop's network, where it is process `inner`."""
    there = f"echo {inner - 1} > /proc/sys/kernel/ns_last_pid; \"$@\" & wait"
    pid = o.start(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", there, "sh"], True)
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        got = next(line.split()[-1] for line in f if line.startswith("NSpid:"))
    if int(got) != inner:
        raise Skip(f"a pid cannot be chosen in a new namespace here: {got} instead of {inner}")
    return pid


def rows(o, user, pids):
    """pid -> the program's name, as memtop list has them."""
    found = [line.split()[:2] for line in o.run(user, "list").stdout.splitlines()]
    return {int(pid): name for pid, name in found if pid in map(str, pids)}


@test
def t_a_pid_means_one_process():
    """A program knows itself by the number of another process of this machine, which has no agent."""
    o = Open()
    other = start(["sleep", "1000"], env=environment())
    pid = number(o, other.pid)
    wait_for(lambda: row(o, 0, pid), 20, "its row in the list")
    for user in (0, USER):  # the user sees the address, and neither process' descriptors
        wait_for(lambda user=user: rows(o, user, (pid, other.pid)) == {pid: "s_phases"}, 10, f"one row for user {user}")
    for verb in (["report"], ["mark"], ["record", "-o", o.home + "/other.mtop"]):
        one_line(o.run(0, *verb, "-p", other.pid), 3, "sleep runs without the agent", f"memtop attach {other.pid}")
    done = o.run(0, "report", "-p", pid)
    assert done.returncode == 0 and "early_phase" in done.stdout, done
    done = o.run(0, "report", f"@memtop.{other.pid}")  # an address is an address
    assert done.returncode == 0 and "early_phase" in done.stdout, done
    done = o.run(0, "attach", "--no-view", other.pid)
    assert done.returncode == 0, done
    wait_for(lambda: rows(o, 0, (pid, other.pid)) == {pid: "s_phases", other.pid: "sleep"}, 10, "both rows")  # its second address
    for of in (pid, other.pid):
        assert o.run(0, "mark", "-p", of, f"of {of}").stdout == f"m1 of {of}\n"
    assert o.run(0, "detach", other.pid).returncode == 0


@test
def t_both_numbers_are_shown():
    """Of a program, by its pid and by its address; a file has the program's own alone."""
    o = Open()
    pid = number(o, 77)
    wait_for(lambda: row(o, 0, pid), 20, "its row in the list")
    for user, target in ((0, ("-p", pid)), (0, ("@memtop.77",)), (USER, None)):
        if user:
            own = o.start([*AS_USER, "unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"], True)
            wait_for(lambda: row(o, USER, own), 20, "its row in the list")
            with open(f"/proc/{own}/status", encoding="utf-8") as f:
                inner = next(int(line.split()[-1]) for line in f if line.startswith("NSpid:"))
            target = ("-p", own)
        both = (own, inner) if user else (pid, 77)
        r = json.loads(o.run(user, "report", "--format", "json", *target).stdout)
        assert (r["program"]["pid"], r["program"]["inner_pid"]) == both, r["program"]
        done = o.run(user, "report", *target)
        assert done.stdout.startswith("s_phases [%d, %d inside]  " % both), done
    with Terminal([o.memtop, "-p", str(pid)], 120, 20, env=environment()) as t:
        t.wait_for(f"s_phases [{pid}, 77 inside]  LIVE")
    session = f"{o.home}/both.mtop"
    assert o.run(0, "record", "--for", "0.2", "-o", session, "-p", pid).returncode == 0
    r = report(session)
    assert (r["program"]["pid"], r["program"]["inner_pid"]) == (77, None), r["program"]
    server = Server("-p", str(pid))
    wait_for(lambda: server.up(pid), 20, "its figures")


@test
def t_a_users_own_agent_beside_roots_namesake():
    """Root's program has the number, and so the address, of the user's process: what the user may not read of it, its namespace
    is told by the numbers that everybody sees."""
    o = Open()
    other = start([*AS_USER, "sleep", "1000"], env=environment())
    wait_for(lambda: descendant(other.pid, "sleep"), 20, "the user's process")
    pid = number(o, other.pid)
    wait_for(lambda: row(o, 0, pid), 20, "its row in the list")
    one_line(o.run(USER, "report", "-p", other.pid), 3, "sleep runs without the agent", f"memtop attach {other.pid}")
    done = o.run(USER, "attach", "--no-view", other.pid)
    assert done.returncode == 0, done
    r = json.loads(o.run(USER, "report", "--format", "json", "-p", other.pid).stdout)
    assert (r["program"]["pid"], r["program"]["inner_pid"], r["program"]["args"]) == (other.pid, None, ["sleep", "1000"]), r["program"]
    assert rows(o, USER, (pid, other.pid)) == {pid: "s_phases", other.pid: "sleep"}
    assert o.run(USER, "detach", other.pid).returncode == 0


@test
def t_two_namespaces_with_one_pid():
    o = Open()
    first = number(o, 77)
    wait_for(lambda: row(o, 0, first), 20, "the first's row in the list")
    second = number(o, 77)
    wait_for(lambda: row(o, 0, second), 20, "the second's row in the list")
    for user in (0, USER):
        assert rows(o, user, (first, second)) == {first: "s_phases", second: "s_phases"}, user
    for pid in (first, second):
        done = o.run(0, "mark", "-p", pid, f"of {pid}")
        assert done.returncode == 0 and done.stdout == f"m1 of {pid}\n", done
        r = report(f"-p{pid}")
        assert [m["name"] for m in r["marks"]] == [f"of {pid}"], r["marks"]


@test
def t_a_recording_in_a_namespace_is_of_its_own_program():
    """Where another namespace has the address already."""
    o = Open()
    need_place("unshare", "--pid", "--fork", "--mount-proc")
    session = f"{o.home}/inner.mtop"

    def record():
        done = run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
                    f"echo 75 > /proc/sys/kernel/ns_last_pid; {o.memtop} record -o {session} -- sh -c 'echo $$; sleep 0.1'; exit $?"],
                   env=environment())
        assert done.returncode == 0, done
        return int(done.stdout)

    inner = record()
    number(o, inner)
    if record() != inner:
        raise Skip("its pid differs from run to run")
    r = report(session)
    assert "sleep 0.1" in " ".join(r["program"]["args"]), r["program"]


NAMED = """
import mmap, socket, sys
file = open(sys.argv[1], "rb")
kept = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
s = socket.socket(socket.AF_UNIX)
s.bind("\\0memtop.1")
s.listen()
print("listens", flush=True)
sys.stdin.read()
"""


@test
def t_a_program_that_knows_itself_as_process_1():
    """Its server is a thread, which no process of the server's name shows: it is listed by its pid here, and process 1 is not, nor
    is another process 1 that has a server. In a network of its own, where no other container has that name."""
    need("unshare", "nsenter")
    own = f"@memtop-test-one.{os.getpid()}"
    with start(["unshare", "--net", "--fork", "--pid", "/usr/bin/python3", "-c", NAMED, AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
               env=environment()) as outer:
        if outer.stdout.readline() != b"listens\n":
            raise Skip("this place cannot be made here")
        there = ["nsenter", f"--net=/proc/{outer.pid}/ns/net"]
        first = start([*there, "unshare", "--fork", "--pid", "env", f"LD_PRELOAD={AGENT}", f"MEMTOP_OPTIONS=listen={own}",
                       os.path.join(TARGETS, "s_phases"), "wait"], env=environment())
        one = wait_for(lambda: -1 if first.poll() is not None else stands_still(descendant(first.pid, "s_phases")), 20, "the other process 1")
        at_end(kill, one)
        rows = [line.split() for line in run([*there, MEMTOP, "list"], env=environment()).stdout.splitlines()]
        found = [(row[0], row[1]) for row in rows if row[-1] == "@memtop.1"]
        assert found == [(str(descendant(outer.pid, "python3")), "python3")], rows
        assert [row[0] for row in rows if own in row] == [str(one)], rows
        outer.stdin.close()


@test
def t_a_users_namespaces():
    """The user's as root of the namespace; the machine's root is nobody there."""
    every_way([*AS_USER, "unshare", "--user", "--map-root-user", "--net"], USER, 0)


@test
def t_a_user_namespace_alone():
    """It knows the user only: root has to come as that user."""
    every_way([*AS_USER, "unshare", "--user", "--map-current-user"], 0)
    every_way([*AS_USER, "unshare", "--user", "--map-current-user"], USER, elsewhere=False)


@test
def t_a_user_namespace_without_a_map():
    """Everybody has the same number there, so that its agent can tell nobody from nobody."""
    o = Open()
    pid = o.start([*AS_USER, "unshare", "--user"], False)
    for user in (0, USER):
        one_line(o.run(user, "attach", "--no-view", pid), 3, "maps no number to its own user")


@test
def t_a_users_program_in_a_network_of_roots():
    every_way(["unshare", "--net", *AS_USER], 0)


@test
def t_a_network_that_the_user_may_not_enter():
    o = Open()
    pid = o.start(["unshare", "--net", *AS_USER], True)
    wait_for(lambda: row(o, USER, pid), 10, "its row in the list")
    one_line(o.run(USER, "report", "-p", pid), 3, "in another network namespace, where you may not go", "run memtop as root")
    watched(o, USER, o.start(["unshare", "--net", *AS_USER], False), False)  # by a socket in a folder


@test
def t_a_sandbox_of_bubblewrap_is_attached_and_watched():
    need("bwrap")
    o = Open()
    bwrap = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/run"]
    for user in (0, USER):
        place = [*(AS_USER if user else ()), *bwrap]
        for preloaded in (True, False):
            watched(o, user, o.start(place, preloaded), preloaded)


def in_root(o, options, program, *arguments):
    """The pid of a program of o's folder, with the agent, in a root of its own."""
    need("chroot")
    need_place("unshare", "--mount")
    root = temporary_folder()
    os.chmod(root, 0o755)
    for name in ("usr", "tmp", "proc", "t"):
        os.mkdir(f"{root}/{name}")
    for name in ("lib", "lib64", "bin"):
        os.symlink(f"usr/{name}", f"{root}/{name}")
    os.chmod(f"{root}/tmp", 0o1777)
    for name, leads in (("linked", "/tmp"), ("libraries", "/t/there")):
        os.symlink(leads, f"{root}/{name}")  # absolute, inside
    script = f'mount --bind /usr {root}/usr && mount --bind {o.folder} {root}/t && mount -t proc proc {root}/proc && exec chroot {root} "$@"'
    outer = start(["unshare", "--mount", "sh", "-c", script, "sh", "env", "LD_PRELOAD=/t/libmemtop-agent.so", f"MEMTOP_OPTIONS={options}",
                   f"/t/{program}", *arguments], env=environment(), stdout=subprocess.DEVNULL)
    pid = wait_for(lambda: descendant(outer.pid, program), 20, "the program")
    at_end(kill, pid)
    return pid


@test
def t_a_root_of_its_own():
    """A socket in a folder there, by a path that has another meaning here."""
    o = Open()
    pid = in_root(o, "listen=unix:/linked/agent", "s_phases", "wait")
    line = wait_for(lambda: row(o, 0, pid), 10, "its row in the list")
    assert line.endswith(f" -p {pid} (inside: unix:/linked/agent)"), line
    assert f"{LIVE}" in o.run(0, "report", "--format", "json", "-p", pid).stdout


LIBRARY = """#include <stdlib.h>
char pad[%d];
static __attribute__((noinline)) void *unnamed(void) { return malloc(2000003); }
void *%s(void) { return unnamed() ? malloc(1000003) : NULL; }
void *%s(void) { return malloc(7); }
"""
CALLER = """#include <stdio.h>
#include <signal.h>
#include <unistd.h>
void *right(void);
int main(void) { void *volatile p = right(); (void)p; puts("ready"); fflush(stdout); pause(); }
"""


def pair(folder, names, pad):
    os.mkdir(folder)
    source(folder + "/pair.c", LIBRARY % (pad, *names))
    built("-O0", "-shared", "-fPIC", "-Wl,--build-id=none", "-s", "-o", folder + "/libpair.so", folder + "/pair.c")
    source(folder + "/caller.c", CALLER)


def innermost(r, size=1000003):
    (stack,) = (s for s in r["stacks"] if s["live_bytes"] == size)
    return stack["frames"][0]["function"]


@test
def t_names_behind_a_link_in_its_root():
    """As Debian's loader: the absolute link leads elsewhere here. A session tells what had no name from what nobody could read."""
    o = Open()
    there = f"{o.folder}/there"
    pair(there, ("right", "wrong"), 3)
    built("-o", o.folder + "/caller", there + "/caller.c", "-L", there, "-lpair", "-Wl,-rpath,/libraries")
    pid = in_root(o, "", "caller")
    r = wait_for(lambda: row(o, 0, pid) and (x := report(f"-p{pid}"))["totals"]["live_bytes"] > 3000000 and x, 10, "its blocks")
    session = o.folder + "/a.mtop"
    done = o.run(0, "record", "--for", "0.2", "-o", session, "-p", pid)
    assert done.returncode == 0, done
    for x in (r, report(session)):
        assert innermost(x) == "right" and innermost(x, 2000003) is None, x["stacks"]
        assert not any("names unknown" in w for w in x["warnings"]), x["warnings"]


@test
def t_names_of_the_files_that_it_has():
    """Without a build-id, stripped, as Alpine's: another file has the same path here, where the same code has other names. It
    is no debug file of the other one."""
    o = Open()
    need_place("unshare", "--mount")
    here, there = f"{o.folder}/lib", f"{o.folder}/there"
    for folder, names, pad in ((here, ("wrong", "right"), 50000), (there, ("right", "wrong"), 3)):
        pair(folder, names, pad)
    built("-o", o.folder + "/caller", here + "/caller.c", here + "/libpair.so")
    dumped = o.folder + "/dumped.mtop"
    outer = start(["unshare", "--mount", "sh", "-c", f"mount --bind {there} {here} && exec env LD_PRELOAD={o.agent} "
                   f"MEMTOP_OPTIONS=dump_to={dumped},dump_at_exit=yes {o.folder}/caller"], env=environment(), stdout=subprocess.PIPE, text=True)
    assert outer.stdout.readline() == "ready\n", outer.wait()

    wait_for(lambda: row(o, 0, outer.pid), 10, "its row in the list")
    r = report(f"@memtop.{outer.pid}")
    assert innermost(r) == "right", r["stacks"]
    # a dump has no names, and its program has ended: here is only the wrong file
    outer.terminate()
    outer.wait(20)
    wait_for(lambda: os.path.exists(dumped), 20, "the dump")
    r = report(dumped)
    assert innermost(r) not in ("right", "wrong"), r["stacks"]
    assert any("another build (its segments differ)" in w for w in r["warnings"]), r["warnings"]


main()
