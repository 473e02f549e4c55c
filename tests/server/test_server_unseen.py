#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""A program cannot observe that it is watched: each case must print the same with and without the
agent."""
import os
import re
import signal
import subprocess

import container
import wire
from harness import AGENT, Skip, children, environment, main, need, recorded, run, temporary_folder, test, wait_for
from client import preload, run_watched
from obedient import Obedient
from servers import is_server_of, server_of


# What wait() says, with __WALL where the server is no child of the target's.
WAIT = "W" if container.AS_ONE else "w"


def both(commands, **named):
    """The answers without and with the agent."""
    answers = []
    for watched in (False, True):
        p = Obedient(watched=watched, **named)
        if watched:
            p.viewer().until_complete()
        answers.append([p.do(c, None) for c in commands])
        p.end()
    return answers


@test
def t_wait_says_no_child():
    plain, watched = both([WAIT])
    assert plain == watched == ["ECHILD"], (plain, watched)


@test
def t_subreaper_inherits_nothing():
    plain, watched = both([WAIT.replace("w", "r").replace("W", "R"), WAIT])
    assert plain == watched == ["ECHILD", "ECHILD"], (plain, watched)


@test
def t_started_as_subreaper_inherits_nothing():
    container.unless_own_pids("it is not found by its pid")
    code = ("import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); "
            "os.environ.update(LD_PRELOAD=sys.argv[1], MEMTOP_OPTIONS=sys.argv[2]); os.execv(sys.argv[3], sys.argv[3:])")
    env = preload("listen=@memtop-test.%p")
    p = Obedient(watched=False, command=["/usr/bin/python3", "-c", code, env["LD_PRELOAD"], env["MEMTOP_OPTIONS"]])
    p.viewer().until_complete()
    p.do("W", "ECHILD")  # with __WALL it would see the server, its child
    assert p.end() == 0


REAPER = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
flags = os.WNOHANG if sys.argv[2:] else 0
ways = {"wait": os.wait, "waitpid": lambda: os.waitpid(-1, flags), "wait3": lambda: os.wait3(flags), "wait4": lambda: os.wait4(-1, flags),
        "look": lambda: (os.waitid(os.P_PID, os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid, os.WEXITED).si_pid,),
        "waitid": lambda: ((os.waitid(os.P_ALL, 0, os.WEXITED | flags) or [0])[0],)}
known = [os.getpid()]
for ends in (0, 1, 1):
    out, to = os.pipe()
    if not os.fork():
        if not os.fork():
            os.execv("/usr/bin/perl", ["perl", "-e", "my @a = (1) x 200000; kill 'KILL', $$ if $ARGV[0]", str(ends)])
        os.write(to, b"%d" % os.getpid())
        os._exit(3)
    known.append(int(os.read(out, 20)))
seen = []
try:
    while True:
        seen += [pid for pid in [ways[sys.argv[1]]()[0]] if pid]
except ChildProcessError:
    print(len(seen), len(set(seen) & set(known)))
"""


def reaps(place, *ways):
    for way in ways:
        for polls in ([], ["polls"]) if way not in ("wait", "look") else ([],):
            command = [*place, "/usr/bin/python3", "-c", REAPER, way, *polls]
            plain, ours = run(command, 60), recorded(*command, status=None)
            assert plain.stdout == ours.stdout == "6 3\n", (command, plain, ours.stdout, ours.stderr)


@test
def t_a_reaper_sees_no_server():
    """A subreaper gets no server of an orphan, in any way of waiting, also while those wait for memtop."""
    need("perl")
    reaps([], "wait", "waitpid", "wait3", "wait4", "waitid", "look")


@test
def t_an_init_sees_no_server():
    """... nor does process 1, whose /proc has other numbers than those that it knows."""
    need("perl", "unshare")
    place = ["unshare", "--fork", "--pid", "--"]
    if run([*place, "/bin/true"]).returncode:
        raise Skip("no namespace may be made here")
    reaps(place, "waitpid", "waitid", "look")


def debugged(mode, agent):
    """What gdb tells of a program's processes, which it follows so; without numbers and the width of columns."""
    done = run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", f"set exec-wrapper env LD_PRELOAD={agent}", "-ex", mode,
                "-ex", "run", "-ex", "info inferiors", "--args", "/bin/sh", "-c", "(exit 5) & exit 3"], 120, env=environment(SHELL="/bin/sh"))
    told = [line for line in done.stdout.splitlines() if re.search("fork|exited|nferior|process", line)]
    return sorted(re.sub(r"0x\w+|\d+", "N", " ".join(line.split())) for line in told) + re.findall("exited with code .*", done.stdout)


@test
def t_a_debugger_follows_the_programs_own_fork():
    """The agent's processes are none of the forks that it waits for."""
    need("gdb")
    for mode, code in (("set follow-fork-mode child", "05"), ("set detach-on-fork off", "03")):
        plain, ours = debugged(mode, ""), debugged(mode, AGENT)
        if f"exited with code {code}]" not in plain:
            raise Skip(f"no such debugger: {plain}")
        assert plain == ours, (mode, plain, ours)


@test
def t_no_sigchld_no_children_in_proc():
    p = Obedient()
    p.viewer().until_complete()
    # That of process 1 would fall to it, if it were not its child from the start.
    found = [c for c in children(p.pid) if not (container.AS_ONE and is_server_of(c, p.pid))]
    assert not found, f"the target has children: {found}"
    with open(f"/proc/{p.pid}/status") as f:
        status = dict(line.split(":", 1) for line in f)
    assert status["Threads"].strip() == "1"
    assert int(status["SigPnd"], 16) == int(status["ShdPnd"], 16) == 0
    assert int(status["SigBlk"], 16) == 0


@test
def t_the_program_finds_its_descriptors_as_they_were():
    plain, watched = both(["c"])
    assert plain == watched, (plain, watched)
    p = Obedient()
    c = p.viewer().until_complete()
    assert sorted(os.listdir(f"/proc/{p.pid}/fd")) == ["0", "1", "2"]
    p.do("c", None)
    p.do("a 5 100")
    c.until_complete()
    c.until_complete()
    p.viewer("after close-all").until_complete()


@test
def t_the_server_holds_no_pipe_open():
    """When the program closes its last write end, the reader sees the end, though the server lives."""
    p = Obedient()
    c = p.viewer().until_complete()
    r, w = os.pipe()
    q = run_watched(["/bin/sh", "-c", "exec 1>&-; read x"], "listen=@memtop-test.%p", stdin=subprocess.PIPE, stdout=w)
    os.close(w)
    assert os.read(r, 1) == b"", "something else holds the pipe"
    os.close(r)
    q.stdin.close()
    assert q.wait(60) == 1
    c.until_complete()


@test
def t_main_ends_with_pthread_exit():
    for watched in (False, True):
        p = Obedient(watched=watched)
        c = p.viewer().until_complete() if watched else None
        p.tell("p")
        assert p.process.wait(60) == 7
        if c:
            c.until_final()
            assert (c.state["state"], c.state["status"]) == (wire.EXITED, 7), c.state
            assert any(s == (0, 0) and c.counts[i]["allocated_bytes"] == 4321
                       for i in c.counts for s in [c.slot_live(i)]), "the thread's block was not counted"


@test
def t_unshare_answers_as_without_the_agent():
    """Each flag alone, and what CLONE_VM includes, in a child of vfork and in a program of one thread."""
    for flags in (*(1 << bit for bit in range(7, 32)), 0x100 | 0x200, 0x100 | 0x800, 0x100 | 0x10000):
        plain, watched = both([f"U {flags}", f"u {flags}"])
        assert plain == watched, (hex(flags), plain, watched)


@test
def t_wait_status_and_core():
    container.unless_own_pids("its process 1 ends with it, or takes no signal, and the kernel kills the server")
    folder = temporary_folder()
    for number in (signal.SIGSEGV, signal.SIGABRT):
        statuses = []
        for watched in (False, True):
            p = Obedient(watched=watched, cwd=folder,
                         preexec_fn=lambda: __import__("resource").setrlimit(4, (1 << 30, 1 << 30)))
            c = p.viewer().until_complete() if watched else None
            p.tell(f"k {int(number)}")
            statuses.append(os.waitpid(p.process.pid, 0)[1])
            p.process.returncode = -number
            if c:
                c.until_final()
                assert c.state["status"] == number
        assert statuses[0] == statuses[1], [hex(s) for s in statuses]


@test
def t_core_file_is_no_bigger():
    container.unless_one("it takes no signal that it sends itself")
    with open("/proc/sys/kernel/core_pattern") as f:
        pattern = f.read().strip()
    if pattern.startswith(("|", "/")):
        raise Skip(f"core_pattern is {pattern}")
    sizes = []
    for watched in (False, True):
        folder = temporary_folder()
        p = Obedient(watched=watched, cwd=folder,
                     preexec_fn=lambda: __import__("resource").setrlimit(4, (1 << 30, 1 << 30)))
        if watched:
            p.viewer().until_complete()
        p.do("f 3 1000000")
        p.tell("k 11")
        p.process.wait(60)
        cores = [os.path.join(folder, n) for n in os.listdir(folder) if n.startswith("core")]
        if not cores:
            raise Skip("no core file is written here")
        sizes.append(os.stat(cores[0]).st_size)
    assert abs(sizes[1] - sizes[0]) < 1 << 20, sizes  # the library's own pages, not its tables


@test
def t_setuid_takes_the_server_along():
    container.unless_user("it cannot change its user")
    if os.geteuid():
        raise Skip("needs root")
    p = Obedient(cwd="/")
    c = p.viewer().until_complete()
    server = server_of(p.pid)
    p.do("i 65534", "0")
    wait_for(lambda: uids(server) == [65534] * 3, 10, "the server's user")
    p.do("a 3 100")
    c.until_complete()
    p.do("D", "1")
    c.until_complete()
    assert p.do("g", None) == "1"
    assert p.end() == 0
    c.until_final()


def uids(pid):
    with open(f"/proc/{pid}/status") as f:
        return next([int(n) for n in line.split()[1:4]] for line in f if line.startswith("Uid:"))


@test
def t_terminal_signals_do_not_reach_it():
    p = Obedient()
    c = p.viewer().until_complete()
    server = server_of(p.pid)
    assert os.getsid(server) == server and os.getpgid(server) == server
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGPIPE, signal.SIGALRM):
        os.kill(server, number)
    p.do("a 1 1")
    c.until_complete()
    c.until_complete()


@test
def t_server_killed_target_lives():
    p = Obedient()
    c = p.viewer().until_complete()
    server = server_of(p.pid)
    for number in (signal.SIGKILL,):
        os.kill(server, number)
    c.until(lambda: c.ended, "closed")
    p.do("a 100 100")
    p.do("A")
    p.do("T 3")
    p.do(WAIT, "ECHILD")
    assert p.end() == 0


@test
def t_many_short_programs_leave_nothing():
    before = servers()
    for _ in range(30):
        done = run(["/bin/true"], env=preload("listen=@memtop-test.%p"))
        assert done.returncode == 0 and done.stderr == "", done
    wait_for(lambda: servers() <= before, 5, "servers that go with their programs")


def servers():
    """Those of /bin/true that run; one that has ended is its new parent's to reap, sooner or later."""
    found = set()
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                text = f.read()
            if not os.readlink(f"/proc/{entry}/exe").endswith("/true"):
                continue
            if entry.isdigit() and "(memtop-agent)" in text and text.rsplit(")", 1)[1].split()[0] != "Z":
                found.add(int(entry))
        except OSError:
            pass
    return found


@test
def t_exit_at_once_is_reported_to_a_waiting_viewer():
    from client import Client
    for status in (0, 5):
        p = run_watched(["/bin/sh", "-c", f"exit {status}"], "listen=@memtop-test.%p wait=60000")
        c = Client(f"@memtop-test.{p.pid}").until_final()
        assert (c.state["state"], c.state["status"], c.state["known"]) == (wire.EXITED, status, 1), c.state
        assert p.wait(60) == status


main()
