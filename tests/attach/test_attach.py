#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_attach.py - memtop attach loads the agent into a running process, which never notices.

Processes under allocation load, in waits of all kinds, in other namespaces; and every refusal,
from its real cause.
"""
import contextlib
import glob
import os
import pwd
import re
import resource
import shutil
import signal
import subprocess
import sys

from attaching import (FIRE, HELD, SEALED, another_build, attach, attached, detached, finish, ready, refused, report_of, root_only, state, totals)
from cli import compiled, memtop, one_line
from forward import free_port
from harness import (AGENT, BUILD, LONG, MEMTOP, ROOT, Skip, children, environment, main, need, run, start,
                     temporary_folder, test, wait_for)
from servers import server_of
from tracing import HeldAtClose

ROUNDS = 67 if LONG else 5


def counts(target):
    """It allocates, and is seen to: on a busy machine it may not have had its turn yet."""
    wait_for(lambda: report_of(target)["totals"]["allocated_blocks"] > 0, 20, "a block")


@test
def t_attach_and_detach_while_threads_allocate():
    """Threads inside the allocator nearly all of the time: no deadlock, no crash, no byte changed; in and out again."""
    held = []
    for fresh in range(3):
        process = ready([FIRE, "2"])
        for _ in range(ROUNDS):
            held.append(attached(process.pid)[0])
            if fresh == 0:
                counts(f"@memtop.{process.pid}")
            detached(process.pid)
        checked = int(finish(process).split()[1])
        assert checked > 0
    held.sort()
    print(f"  | {len(held)} rounds: held {held[len(held) // 2]:.1f} ms (median), {held[-1]:.1f} ms (worst)")


def listening(name):
    """Inode of the abstract socket that somebody listens on; None."""
    with open("/proc/net/unix", encoding="utf-8") as f:
        return next((int(w[6]) for w in map(str.split, f) if w[-1] == "@" + name and int(w[3], 16) & 0x10000), None)


@test
def t_detached_means_that_the_next_attach_is_accepted():
    """However slow the server is to let its socket go: memtop detach says so afterwards, or the attach is refused."""
    process = ready([FIRE, "0", "4"])
    attached(process.pid)
    held = HeldAtClose(server_of(process.pid), listening(f"memtop.{process.pid}"))
    detach = start([MEMTOP, "detach", str(process.pid)], env=environment(), stdout=subprocess.DEVNULL)
    assert held.held.wait(60), held.error
    with contextlib.suppress(subprocess.TimeoutExpired):
        detach.wait(1)
    if detach.returncode is None:
        held.release()
    assert detach.wait(60) == 0
    attached(process.pid)
    held.release()
    finish(process)


@test
def t_musl_under_fire():
    program = os.path.join(BUILD, "tests", "musl", "s_attach")
    if not os.path.exists(program):
        raise Skip(f"{program} is not built: make musl")
    env = environment(MEMTOP_AGENT="")  # the one of musl beside memtop
    process = ready([program, "2"])
    for _ in range(100 if LONG else 5):
        attached(process.pid, env=env)
        counts(f"@memtop.{process.pid}")
        detached(process.pid)
    assert int(finish(process).split()[1]) > 0


@test
def t_waits_go_on():
    """epoll_wait, nanosleep, read, poll and condition variables, in 200 threads, and whichever is the main thread."""
    process = ready([FIRE, "0", "200"])
    assert attached(process.pid)[1], "no waiting thread was taken"
    assert totals(process.pid)["live_blocks"] >= 0
    assert finish(process) == "checked 0\n"


@test
def t_a_wait_that_was_restarted():
    """After SIGSTOP and SIGCONT, or an attach before, a sleep is in restart_syscall."""
    process = ready([FIRE, "0"])
    wait_for(lambda: "230 " in open(f"/proc/{process.pid}/syscall").read(), 10, "the sleep")
    process.send_signal(signal.SIGSTOP)
    wait_for(lambda: state(process.pid) == "T", 10, "the stop")
    process.send_signal(signal.SIGCONT)
    wait_for(lambda: open(f"/proc/{process.pid}/syscall").read().startswith("219 "), 10, "restart_syscall")
    assert attached(process.pid)[1]
    assert finish(process) == "checked 0\n"


@test
def t_a_wait_that_may_not_be_used():
    """Under another malloc no futex is idle: memtop stops the thread, steps it to a safe point, and leaves it no trap."""
    process = ready([FIRE, "0", "0", "3"], env=environment(LD_PRELOAD=f"{BUILD}/tests/lib/count_preload.so"))
    wait_for(lambda: state(process.pid) == "S", 10, "the wait")
    done = run([MEMTOP, "attach", "--no-view", str(process.pid)], env=environment())
    assert done.returncode == 0 or "no safe point" in done.stderr, done
    assert finish(process).startswith("checked 0\n")


@test
def t_each_kind_of_wait_alone():
    """With nothing else in the process; read, poll, a condition variable, epoll_wait."""
    for kind in range(1, 5):
        process = ready([FIRE, "0", "0", str(kind)])
        wait_for(lambda: state(process.pid) == "S", 10, "the wait")
        assert attached(process.pid)[1], kind
        assert finish(process) == "checked 0\n"


@test
def t_every_block_from_then_on():
    """A program that allocates 10 blocks for each line that it reads, and nothing else."""
    code = ("import ctypes, sys\n"
            "c = ctypes.CDLL(None)\n"
            "c.malloc.restype = ctypes.c_void_p\n"
            "print('ready', flush=True)\n"
            "for line in iter(sys.stdin.readline, ''):\n"
            "    for i in range(10): c.malloc(123456)\n"
            "    print('done', flush=True)\n")
    process = ready([sys.executable, "-c", code], stdin=subprocess.PIPE)
    attached(process.pid)
    for lines in (1, 2):
        process.stdin.write("more\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        rows = [s for s in report_of(f"@memtop.{process.pid}")["stacks"] if s["live_bytes"] and s["live_bytes"] % 123456 == 0]
        assert sum(s["live_blocks"] for s in rows) == 10 * lines, rows


@test
def t_redis_under_load():
    need("redis-server", "redis-benchmark")
    port = str(free_port())
    server = start(["redis-server", "--port", port, "--save", "", "--daemonize", "no"], stdout=subprocess.DEVNULL, cwd=temporary_folder())
    wait_for(lambda: run(["redis-cli", "-p", port, "ping"]).stdout == "PONG\n", 10, "redis-server")
    load = start(["redis-benchmark", "-p", port, "-n", "40000", "-d", "20000", "-t", "set", "-q", "-r", "100"], stdout=subprocess.DEVNULL)
    attached(server.pid)
    assert load.wait(60) == 0
    assert totals(server.pid)["allocated_blocks"] > 1000
    assert run(["redis-cli", "-p", port, "ping"]).stdout == "PONG\n"
    server.terminate()
    assert server.wait(60) == 0


@test
def t_other_mount_and_pid_namespace():
    """The agent's file is not to be seen there, and its pid is another."""
    need("bwrap")
    folder = os.path.dirname(os.path.abspath(FIRE))
    command = ["bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--ro-bind", folder, "/t",
               "--proc", "/proc", "--dev", "/dev", "--unshare-pid", "--die-with-parent", "/t/s_attach", "2"]
    try:
        process = ready(command)
    except AssertionError as why:
        raise Skip(f"bwrap cannot make namespaces here: {why}")
    inner = wait_for(lambda: child_named(process.pid, "s_attach"), 10, "the program in bwrap")
    assert not os.path.exists(f"/proc/{inner}/root{AGENT}")
    attached(inner)
    counts(f"@memtop.{inner}")
    os.kill(inner, signal.SIGTERM)
    assert "checked" in process.communicate(timeout=60)[0]
    assert process.returncode == 0


def child_named(pid, name):
    """The descendant of that name, or None."""
    for child in children(pid):
        with contextlib.suppress(OSError), open(f"/proc/{child}/comm", encoding="utf-8") as f:
            if f.read().strip() == name:
                return child
        found = child_named(child, name)
        if found:
            return found
    return None


@test
def t_signal_dispositions_stay():
    """A thread that ignores SIGSEGV and blocks SIGTRAP finds both so."""
    process = ready([SEALED, "ignore"])
    attached(process.pid)
    finish(process)


@test
def t_a_filter_that_forbids_other_things():
    process = ready([SEALED, "errno"])
    out, err = attach(process.pid)
    assert HELD.fullmatch(out) and err.count("\n") == 1 and "under a seccomp filter" in err, (out, err)
    assert totals(process.pid)["live_blocks"] >= 0 and process.poll() is None


@test
def t_detached_as_before():
    """No socket, no thread, no process and no descriptor of the agent is left, and it can come back; one that was preloaded stays."""
    own = shutil.copy(FIRE, temporary_folder())  # no other test runs it
    process = ready([own, "0", "3"])

    def seen():
        with open(f"/proc/{process.pid}/net/unix") as f:
            sockets = f.read().count(f"@memtop.{process.pid}")
        ours = [n for n in os.listdir("/proc") if n.isdigit() and n != str(process.pid) and same_program(n, process.pid)]
        return sockets, len(os.listdir(f"/proc/{process.pid}/task")), os.listdir(f"/proc/{process.pid}/fd"), ours
    wait_for(lambda: len(seen()[2]) == 3 + 4 * 3, 10, "an epoll and a pipe of each thread")
    before = seen()
    for _ in range(2):
        attached(process.pid)
        wait_for(lambda: seen()[0] == 1, 10, "its socket alone, without one that memtop still has")
        detached(process.pid)
        wait_for(lambda: seen() == before, 10, f"{before}")
    done = run([MEMTOP, "detach", str(process.pid)], env=environment())
    assert done.returncode == 3 and f"its agent was detached; memtop attach {process.pid} begins another one" in done.stderr, done
    finish(process)
    process = ready([FIRE, "0", "1"], env=environment(LD_PRELOAD=AGENT))
    wait_for(lambda: f"@memtop.{process.pid}\n" in open("/proc/net/unix").read(), 10, "its agent")
    done = run([MEMTOP, "detach", str(process.pid)], env=environment())
    assert done.returncode == 3 and "the agent stays" in done.stderr and done.stderr.count("\n") == 1, done
    assert totals(process.pid)["live_blocks"] >= 0
    finish(process)


@test
def t_a_killed_server_is_brought_back():
    """Messages lead from one verb to the next: -p names attach, attach brings it back, detach is clean; then it is a new session."""
    process = ready([FIRE, "1", "2", "0", "10"])
    attached(process.pid)
    counts(f"@memtop.{process.pid}")
    for options in ((), ("--options", "depth=9")):
        before = totals(process.pid)
        os.kill(server_of(process.pid), signal.SIGKILL)
        wait_for(lambda: not listening(f"memtop.{process.pid}"), 20, "the server's end")
        for verb in (["report", "-p", str(process.pid)], ["detach", str(process.pid)]):
            done = memtop(*verb)
            assert done.returncode == 3 and f"memtop attach {process.pid} brings it back" in done.stderr, done
        out, err = attach(process.pid, *options)
        assert HELD.fullmatch(out) and "its agent's server was killed; a new one serves the same counters" in err, (out, err)
        assert ("--options: ignored" in err) == bool(options) and err.count("\n") == 1, err
        after = report_of(f"@memtop.{process.pid}")
        for key in ("allocated_blocks", "allocated_bytes", "freed_blocks", "freed_bytes", "peak_bytes"):
            assert after["totals"][key] >= before[key], (key, before, after["totals"])
    detached(process.pid)
    assert "brings it back" not in attach(process.pid)[1]
    finish(process)


def counts_by(process, version):
    """The session of that agent has counted."""
    r = wait_for(lambda: (r := report_of(f"@memtop.{process.pid}")) and r["totals"]["allocated_blocks"] > 20 and r, 20, "blocks")
    assert r["agent"]["version"] == version and not r["agent"]["lost"]["events"], r["agent"]


@test
def t_another_build_is_loaded_beside_the_first():
    """The build counts that was asked for; a session whose server was killed goes on by its own. Also where the process gets copies."""
    above = temporary_folder()
    agents = shutil.copy(AGENT, f"{above}/ours.so"), shutil.copy(another_build("other"), f"{above}/other.so")
    ours = memtop("--version").stdout.split()[1]
    theirs = ours.partition("+")[0] + "+other"
    fire = f"exec {FIRE} 1 2 0 10"
    hidden = [["unshare", "-m", "sh", "-c", f"mount -t tmpfs none {above} && {fire}"]] if shutil.which("unshare") and not os.geteuid() else []
    if not hidden or run([*hidden[0][:4], f"mount -t tmpfs none {above}"]).returncode:
        print("SKIP another_build_in_copies: no other mount namespace can be made", flush=True)
        hidden = []
    for command in (["sh", "-c", fire], *hidden):
        process = ready(command)
        for which, version, count in ((0, ours, 1), (1, theirs, 2), (0, ours, 2), (0, ours, 2), (1, theirs, 2)):
            out, err = attach(process.pid, "--agent", agents[which])
            assert HELD.fullmatch(out) and not err, (out, err)
            counts_by(process, version)
            with open(f"/proc/{process.pid}/maps", encoding="utf-8", errors="replace") as f:
                loaded = {line.split()[4] for line in f if ".so" in line and (above in line or "libmemtop-agent" in line)}
            assert len(loaded) == count, (version, loaded)
            (line,) = [line for line in memtop("list").stdout.splitlines() if line.split()[0] == str(process.pid)]
            assert ("  agent " in line, sorted(line.partition("  agent ")[2].split(", "))) == \
                ((False, [""]) if count == 1 else (True, sorted([ours, theirs]))), line
            refused(process.pid, "has an agent already")
            detached(process.pid)
        attach(process.pid, "--agent", agents[1])
        os.kill(server_of(process.pid), signal.SIGKILL)
        wait_for(lambda: not listening(f"memtop.{process.pid}"), 20, "the server's end")
        out, err = attach(process.pid, "--agent", agents[0])
        assert HELD.fullmatch(out) and f"serves the same counters, by the same agent ({theirs})" in err, (out, err)
        counts_by(process, theirs)
        detached(process.pid)
        finish(process)


@test
def t_another_build_that_cannot_be_loaded():
    """Then the first one counts, and memtop says which version that is."""
    other, ours = another_build("other"), memtop("--version").stdout.split()[1]
    process = ready([FIRE, "0", "2", "0"])
    attached(process.pid)
    detached(process.pid)
    sizes = []

    def size():
        """Once it stays the same: the first session's memory goes after its server."""
        with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as f:
            sizes.append(int(next(line for line in f if line.startswith("VmSize:")).split()[1]) << 10)
        return len(sizes) > 40 and len(set(sizes[-40:])) == 1 and sizes[-1]
    loads = [line.split() for line in run(["readelf", "-lW", other]).stdout.splitlines() if line.split()[:1] == ["LOAD"]]
    room = max(int(line[2], 16) + int(line[5], 16) for line in loads) + (260 << 10) - (64 << 10)  # for the call's stack, not for the file, too
    limits = resource.prlimit(process.pid, resource.RLIMIT_AS, (wait_for(size, 20, "the first session's memory is gone") + room, resource.RLIM_INFINITY))
    out, err = attach(process.pid, "--agent", other)
    resource.prlimit(process.pid, resource.RLIMIT_AS, limits)
    assert HELD.fullmatch(out) and f"the agent of an earlier attach counts, version {ours}, not version " in err and "failed to map" in err, (out, err)
    assert report_of(f"@memtop.{process.pid}")["agent"]["version"] == ours
    detached(process.pid)
    finish(process)


@test
def t_what_was_detached_says_so_to_each_verb():
    """Each verb says so, also where two detaches race; and the next attach begins a session."""
    process = ready([FIRE, "0", "0", "1"])
    words = f"has no session: its agent was detached; memtop attach {process.pid} begins another one"
    for _ in range(3):
        attached(process.pid)
        racing = [start([MEMTOP, "detach", str(process.pid)], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)]
        said = [detach.communicate(timeout=60) for detach in racing]
        assert any("the agent is out of" in out for out, err in said), said
        assert all("the agent is out of" in out or words in err for out, err in said), said
        for verb in (["detach"], ["report", "-p"], ["mark", "-p"]):
            one_line(memtop(*verb, str(process.pid)), 3, words)
    finish(process)


def controlled_agent():
    """A copy of the agent whose version begins with a control character, and which has no option "depth"."""
    with open(AGENT, "rb") as f:
        data = f.read()
    note = re.search(rb"\0(\d[^ \0]+ \d+ \d+ listen unwind depth )", data)[1]
    path = temporary_folder() + "/libmemtop-agent.so"
    with open(path, "wb") as f:
        f.write(data.replace(note, b"\x1b" + note[1:].replace(b" depth ", b" death ")))
    return path


@test
def t_a_files_own_words_are_shown_without_controls():
    process = ready([FIRE, "0", "0", "1"])
    err = attach(process.pid, "--agent", controlled_agent(), "--options", "depth=9", status=2)[1]
    assert 'has no option "depth"' in err and "\x1b" not in err, err
    finish(process)


def same_program(a, b):
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{a}/exe") == os.readlink(f"/proc/{b}/exe")
    return False


LEFT_OVER = r"""
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *volatile left[64];
	for (int i = 0; i < 64; i++)
		left[i] = (char *)malloc + 8;
	struct pollfd in = { 0, POLLIN, 0 };
	char c;
	puts("ready"), fflush(stdout);
	return (argv[1][0] == 'p' ? poll(&in, 1, -1) < 0 : read(0, &c, 1) < 0) || !left[argc];
}
"""


@test
def t_what_an_allocator_left_on_the_stack():
    """No allocator waits for input: its old return addresses do not keep such a program from an attach."""
    found = glob.glob("/usr/lib/*-linux-gnu/libjemalloc.so.2")
    if not found:
        raise Skip("libjemalloc.so.2 is not installed")
    for how in ("read", "poll"):
        process = ready([compiled(LEFT_OVER), how], env=environment(LD_PRELOAD=found[0]), stdin=subprocess.PIPE)
        attach(process.pid)
        detached(process.pid)
        process.communicate("x", timeout=20)
        assert process.returncode == 0, how


@test
def t_refused_for_what_it_is():
    for how, words in (("kill", ("its seccomp filter kills for",)), ("strict", ("seccomp's strict mode",))):
        process = ready([SEALED, how])
        refused(process.pid, "(s_sealed)", *words)
        assert process.poll() is None, f"{how}: killed"
    zombie = int(ready([SEALED, "zombie"]).first)
    wait_for(lambda: state(zombie) == "Z", 10, "its end")
    refused(zombie, "a zombie", "s_sealed")
    one_line(memtop("report", "-p", str(zombie)), 3, "has ended: a zombie")
    gone = start(["true"])
    gone.wait()
    refused(gone.pid, "no such process")
    refused(2, "a thread of the kernel") if open("/proc/2/comm").read() == "kthreadd\n" else None
    threads = ready([FIRE, "0", "3"])
    thread = next(int(t) for t in os.listdir(f"/proc/{threads.pid}/task") if int(t) != threads.pid)
    refused(thread, "a thread, not a process", f"memtop attach {threads.pid}")
    threads.send_signal(signal.SIGSTOP)
    wait_for(lambda: state(threads.pid) == "T", 10, "the stop")
    refused(threads.pid, "stopped", f"kill -CONT {threads.pid}")
    threads.send_signal(signal.SIGCONT)
    attached(threads.pid)
    refused(threads.pid, "has an agent already", f"use memtop -p {threads.pid}")
    finish(threads)


OWN_MALLOC = r"""
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
static char heap[1 << 20];
static size_t at;
void *malloc(size_t n) { void *p = heap + at; at += (n + 15) & ~15ul; return p; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *p, size_t n) { return p ? NULL : malloc(n); }
void free(void *p) { (void)p; }
int main(void) { puts("ready"); fflush(stdout); pause(); }
"""
WAITS = r"""
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>
int main(void) { puts(getauxval(AT_SECURE) ? "secure" : "not"); fflush(stdout); pause(); }
"""


@test
def t_nothing_is_loaded_where_it_could_not_count():
    """Nothing takes the agent's file out of a process again, so what the agent would refuse is told before."""
    def left_alone(process, *words):
        refused(process.pid, *words)
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as f:
            assert "memtop-agent" not in f.read()
        one_line(memtop("report", "-p", str(process.pid)), 3, "runs without the agent")
    left_alone(ready([compiled(OWN_MALLOC)]), "has its own malloc")
    root_only()
    setuid = compiled(WAITS)
    os.chmod(os.path.dirname(setuid), 0o755)
    os.chown(setuid, 1234, 1234)
    os.chmod(setuid, 0o4755)
    process = ready([setuid])
    if process.first != "secure\n":
        raise Skip("setuid programs have no effect here")
    left_alone(process, "runs setuid")


@test
def t_refused_itself():
    """exec keeps the shell's pid, so that memtop is told its own."""
    done = run(["sh", "-c", f"exec {MEMTOP} attach --no-view $$"], env=environment())
    assert done.returncode == 3 and "this is memtop itself" in done.stderr, done


def names_the_program(server, pid, name, env=None):
    """Every way in by a pid refuses the server, and names its program."""
    words = f"the agent's server of process {pid} ({name}), not a program; name {pid} instead"
    refused(server, words, env=env)
    for verb in (["report", "-p"], ["mark", "-p"], ["detach"], ["record", "-o", temporary_folder() + "/a.mtop", "-p"]):
        one_line(memtop(*verb, str(server), env=env), 3, words)


def listed(process):
    """Rows of memtop list that it has: its own, none of its server's."""
    own = {str(process.pid), str(server_of(process.pid))}
    return [line.split()[:2] for line in memtop("list").stdout.splitlines() if line.split()[0] in own]


@test
def t_refused_its_server():
    """The agent's own process, of a program that was attached to and of one that began with the agent."""
    process = ready([FIRE, "0"])
    attached(process.pid)
    names_the_program(server_of(process.pid), process.pid, "s_attach")
    assert listed(process) == [[str(process.pid), "s_attach"]]
    finish(process)
    process = ready([FIRE, "0"], env=environment(LD_PRELOAD=AGENT))
    names_the_program(server_of(process.pid), process.pid, "s_attach")
    finish(process)


@test
def t_a_program_of_the_servers_name():
    """It is no server: attached to, listed, and named by its own server."""
    program = temporary_folder() + "/memtop-agent"
    shutil.copy(FIRE, program)
    process = ready([program, "1"])
    attached(process.pid)
    counts(f"@memtop.{process.pid}")
    names_the_program(server_of(process.pid), process.pid, "memtop-agent")
    assert listed(process) == [[str(process.pid), "memtop-agent"]]
    detached(process.pid)
    finish(process)


@test
def t_a_server_whose_program_cannot_be_compared():
    """Without CAP_SYS_PTRACE the kernel compares nobody's memory: told by what everybody may read."""
    root_only()
    need("capsh")
    folder = public_copy()
    named = as_nobody([folder + "/s_attach", "0"])
    process = ready(named.pop("args"), **named)
    attached(process.pid)
    server = server_of(process.pid)
    done = run(["capsh", "--drop=cap_sys_ptrace", "--", "-c", f"{MEMTOP} attach --no-view {server}"], env=environment())
    one_line(done, 3, f"the agent's server of process {process.pid} (s_attach)")
    finish(process)


@test
def t_refused_preloaded():
    process = ready([FIRE, "0", "1"], env=environment(LD_PRELOAD=AGENT))
    refused(process.pid, "has an agent already")
    finish(process)
    process = ready([FIRE, "0", "1"], env=environment(LD_PRELOAD=AGENT, MEMTOP_OPTIONS="listen=unix:/no/folder/x.sock"))
    wait_for(lambda: "no such folder" in memtop("report", "-p", str(process.pid)).stderr, 20, "its reason")
    refused(process.pid, "has an agent already, without a session: listen=unix:/no/folder/x.sock: there is no such folder")
    finish(process)


@test
def t_refused_traced():
    need("strace")
    process = ready([FIRE, "0", "1"])
    tracer = start(["strace", "-qq", "-o", "/dev/null", "-p", str(process.pid)])
    wait_for(lambda: f"TracerPid:\t{tracer.pid}\n" in open(f"/proc/{process.pid}/status").read(), 10, "strace")
    refused(process.pid, "already traced", f"{tracer.pid} (strace)")


@test
def t_refused_static():
    need("gcc")
    folder = temporary_folder()
    source = folder + "/s.c"
    with open(source, "w") as f:
        f.write('#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts("ready"); fflush(stdout); for (;;) pause(); }\n')
    for flag in ("-static", "-static-pie"):
        done = run(["gcc", flag, "-o", folder + "/s" + flag, source])
        assert done.returncode == 0, done.stderr
        refused(ready([folder + "/s" + flag]).pid, "statically linked", "libmemtop-wrap.a")


# as a loader: it maps nothing, and with the first byte of its input it executes the arguments
SLOW_LOADER = r"""
__asm__(".globl _start\n_start: mov %rsp, %rdi\nand $-16, %rsp\ncall begin\n");
static long call(long nr, long a, long b, long c)
{
	__asm__ volatile("syscall" : "+a"(nr) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return nr;
}
void begin(long *stack)
{
	char byte;
	call(0, 0, (long)&byte, 1);
	call(59, stack[2], (long)(stack + 2), (long)(stack + 1 + *stack + 1));
	call(231, 1, 0, 0);
}
"""


@test
def t_in_the_middle_of_an_exec():
    """A program whose loader has not mapped the C library yet is not statically linked: memtop waits for it a moment."""
    need("gcc")
    if os.uname().machine != "x86_64":
        raise Skip("the loader is one for x86-64")
    loader = compiled(SLOW_LOADER, "-nostdlib", "-static", "-no-pie", "-fno-stack-protector")
    slow = compiled("int main(void) { return 0; }", f"-Wl,--dynamic-linker={loader}")
    for comes in (False, True):
        process = start([slow, FIRE, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        wait_for(lambda: open(f"/proc/{process.pid}/syscall").read().startswith("0 0x0 "), 10, "the loader")
        if not comes:
            refused(process.pid, "has no C library yet")
            process.kill()
            continue
        attaching = start([MEMTOP, "attach", "--no-view", str(process.pid)], stdout=subprocess.PIPE, text=True, env=environment())
        with contextlib.suppress(subprocess.TimeoutExpired):
            attaching.wait(0.3)
        process.stdin.write("x")
        process.stdin.flush()
        assert HELD.fullmatch(attaching.communicate(timeout=120)[0])
        assert process.stdout.readline() == "ready\n"
        finish(process)


@test
def t_refused_other_word_size():
    """A 32-bit program of two system calls, for the assembler may know that machine where no compiler's library does."""
    need("as", "ld")
    folder = temporary_folder()
    with open(folder + "/s.s", "w") as f:
        f.write(".globl _start\n_start: mov $4,%eax\nmov $1,%ebx\nmov $t,%ecx\nmov $6,%edx\nint $0x80\nl: mov $29,%eax\nint $0x80\njmp l\n"
                ".data\nt: .ascii \"ready\\n\"\n")
    done = run(["sh", "-c", f"cd {folder} && as --32 -o s.o s.s && ld -m elf_i386 -o s s.o"])
    if done.returncode:
        raise Skip(f"no 32-bit program can be made here: {done.stderr}")
    try:
        process = ready([folder + "/s"])
    except (AssertionError, OSError) as why:
        raise Skip(f"no 32-bit program runs here: {why}")
    refused(process.pid, "32-bit i386", "x86-64")


@test
def t_refused_other_libc():
    """A musl program, and the agent of glibc named."""
    program = os.path.join(BUILD, "tests", "musl", "s_attach")
    if not os.path.exists(program):
        raise Skip(f"{program} is not built: make musl")
    process = ready([program, "1"])
    refused(process.pid, "its C library is musl", "is for glibc", env={**environment(), "MEMTOP_AGENT": AGENT})
    finish(process)


def as_nobody(command, capabilities=False):
    """Runs it as another user."""
    who = pwd.getpwnam("nobody")

    def drop():
        os.setgroups([])
        os.setgid(who.pw_gid)
        os.setuid(who.pw_uid)
    return {"args": command, "preexec_fn": drop}


def public_copy():
    """memtop and its agent where another user may run them."""
    folder = temporary_folder()
    os.chmod(folder, 0o755)
    for path in (MEMTOP, AGENT, FIRE, SEALED):
        shutil.copy(path, folder)
    return folder


def run_as_nobody(command, env):
    named = as_nobody(command)
    return run(named.pop("args"), env=env, **named)


@test
def t_refused_to_another_user():
    root_only()
    folder = public_copy()
    env = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    mine = ready([FIRE, "0", "1"])
    done = run_as_nobody([folder + "/memtop", "attach", "--no-view", str(mine.pid)], env)
    assert done.returncode == 3 and "belongs to user 0" in done.stderr and f"sudo memtop attach {mine.pid}" in done.stderr, done
    named = as_nobody([folder + "/s_sealed", "undumpable"])
    closed = ready(named.pop("args"), **named)
    done = run_as_nobody([folder + "/memtop", "attach", "--no-view", str(closed.pid)], env)
    assert done.returncode == 3 and "undumpable" in done.stderr and "as root" in done.stderr, done
    named = as_nobody([folder + "/s_sealed", "errno"])
    filtered = ready(named.pop("args"), **named)
    done = run_as_nobody([folder + "/memtop", "attach", "--no-view", str(filtered.pid)], env)
    assert done.returncode == 3 and "only root can read" in done.stderr, done


@test
def t_of_one_user_without_root():
    """Both nobody's; and root attaches to nobody's with an agent that nobody may not read."""
    root_only()
    folder = public_copy()
    env = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    named = as_nobody([folder + "/s_attach", "1"])
    process = ready(named.pop("args"), **named)
    done = run_as_nobody([folder + "/memtop", "attach", "--no-view", str(process.pid)], env)
    scope = open("/proc/sys/kernel/yama/ptrace_scope").read().strip() if os.path.exists("/proc/sys/kernel/yama/ptrace_scope") else "0"
    if scope != "0":
        assert done.returncode == 3 and f"ptrace_scope is {scope}" in done.stderr, done
    else:
        assert done.returncode == 0, done.stderr
    finish(process)
    named = as_nobody([folder + "/s_attach", "1"])
    process = ready(named.pop("args"), **named)
    closed = temporary_folder()  # 0700
    shutil.copy(AGENT, closed)
    attached(process.pid, env=environment(MEMTOP_AGENT=closed + "/libmemtop-agent.so"))
    counts(f"@memtop.{process.pid}")
    finish(process)


@test
def t_refused_without_the_capability():
    """Root as in a container: no CAP_SYS_PTRACE."""
    root_only()
    need("capsh")
    folder = public_copy()
    named = as_nobody([folder + "/s_attach", "0", "1"])
    process = ready(named.pop("args"), **named)
    done = run(["capsh", "--drop=cap_sys_ptrace", "--", "-c", f"{MEMTOP} attach --no-view {process.pid}"], env=environment())
    assert done.returncode == 3 and "CAP_SYS_PTRACE" in done.stderr and "--cap-add=SYS_PTRACE" in done.stderr, done


@test
def t_refused_by_ptrace_scope():
    if not os.path.exists("/proc/sys/kernel/yama/ptrace_scope"):
        raise Skip("this kernel has no yama: its line is tested by the unit test alone")
    if open("/proc/sys/kernel/yama/ptrace_scope").read().strip() == "0":
        raise Skip("kernel.yama.ptrace_scope is 0 here: its line is tested by the unit test alone")


@test
def t_both_machines_compile():
    need("aarch64-linux-gnu-gcc")
    backend = os.path.join(ROOT, "backend")
    sources = sorted(glob.glob(backend + "/attach/ptrace/*.c"))
    assert sources
    for source in sources:
        done = run(["aarch64-linux-gnu-gcc", "-std=c11", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I" + ROOT + "/include", "-I" + backend, source])
        assert done.returncode == 0, done.stderr


@test
def t_agent_that_is_none():
    """dlopen's own reason is told, and the process goes on."""
    process = ready([FIRE, "1"])
    folder = temporary_folder()
    with open(AGENT, "rb") as f:
        head = f.read()
    with open(folder + "/other.so", "wb") as f:
        f.write(head.replace(b"libc.so.6\0", b"lost.so.6\0"))
    out, err = attach(process.pid, "--agent", folder + "/other.so", status=3)
    assert "its loader refuses the agent" in err and "lost.so.6" in err, err
    attached(process.pid)
    finish(process)


@test
def t_bad_options():
    process = ready([FIRE, "1"])
    _, err = attach(process.pid, "--options", "no_such_option=1", status=2)
    assert 'no option is called "no_such_option"' in err, err
    _, err = attach(process.pid, "--options", "listen=tcp:0", status=2)
    out, err = attach(process.pid, "--options", "exclude=listen=")
    assert HELD.fullmatch(out) and not err, (out, err)
    finish(process)


@test
def t_wrong_command_lines_and_processes_without_an_agent():
    for arguments, word in (([], "no process given"), (["abc"], "not a process id"), (["1", "2"], "only one process can be given")):
        done = run([MEMTOP, "attach", "--no-view", *arguments], env=environment())
        assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1, done
    process = ready([FIRE, "0", "1"])
    done = run([MEMTOP, "report", "-p", str(process.pid)], env=environment())
    assert done.returncode == 3 and f"memtop attach {process.pid}" in done.stderr, done


if __name__ == "__main__":
    main()
