#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_hooks.py - the agent as a guest: contracts of the C library, plugins, options, environment, exec, fork."""
import json
import os
import re
import signal
import subprocess

from client import Client
from harness import (AGENT, BUILD, MEMTOP, ROOT, TARGETS, Skip, at_once, children, environment, main, mostly_waits, need,
                     read_report, recorded, report, run, start, stop, temporary_folder, test, wait_for)

PLUGIN = """
#include <new>
#include <string>
#include <vector>
extern "C" int plug()
{
	std::vector<std::string> v;
	volatile std::size_t huge = (std::size_t)-1 / 4;
	for (int i = 0; i < 100; i++)
		v.push_back(std::string(i, 'x'));
	try {
		char *volatile never = new char[huge];
		return never != nullptr;
	} catch (const std::bad_alloc &) {
		return (int)v.size() * 10 + 1;
	}
}
"""
DEEP = """
#include <stdlib.h>
void deep_free(void *p) { free(p); }
"""
OPENER = """
#include <dlfcn.h>
void *open_it(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
"""
HOST = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void *open_it(const char *name);
int main(int argc, char **argv)
{
	if (argc > 1) {
		void *deep = dlopen("./libdeep.so", RTLD_NOW | RTLD_DEEPBIND), *kept[10];
		void (*deep_free)(void *) = (void (*)(void *))dlsym(deep, "deep_free");
		if (!strcmp(argv[1], "large")) { /* freed past the agent; then a small one in its first KiB */
			char *large = malloc(3000), *apart = malloc(10000);
			deep_free(large);
			kept[0] = malloc(200);
			if ((char *)kept[0] < large || (char *)kept[0] >= large + 1024)
				return 2;
			free(apart);
		} else for (int i = 0; i < 10; i++) {
			deep_free(malloc(104));
			kept[i] = malloc(104); /* the same place again */
			free(kept[i]);
		}
		char byte;
		return write(1, "ready\\n", 6) == 6 && read(0, &byte, 1) >= 0 ? 0 : 1;
	}
	void *h = open_it("libplug.so");
	if (!h)
		return puts(dlerror()), 1;
	int (*plug)(void) = (int (*)(void))dlsym(h, "plug");
	printf("%d %s\\n", plug(), dlerror() ? "stale error" : "no error");
	dlclose(h);
	return 0;
}
"""


def preload(*more, options="", **env):
    return environment(LD_PRELOAD=":".join([AGENT, *more]), MEMTOP_OPTIONS=options, **env)


def target(name):
    return os.path.join(TARGETS, name)


def same_with_and_without(*command):
    plain, watched = run(command, env=environment()), run(command, env=preload())
    assert plain.returncode == watched.returncode == 0, (plain, watched)
    assert (plain.stdout, plain.stderr) == (watched.stdout, watched.stderr), (plain, watched)


@test
def t_malloc_contract():
    same_with_and_without(target("s_hooks"), "all")


@test
def t_operator_new_contract():
    same_with_and_without(target("s_cxx"), "all")


@test
def t_children_of_every_kind():
    same_with_and_without(target("s_fork"))


@test
def t_no_system_call_that_an_allocator_does_not_make():
    same_with_and_without(target("s_seccomp"), "filter")


@test
def t_exports_and_libraries():
    need("nm", "readelf")
    text = re.sub(r"/\*.*?\*/", "", open(os.path.join(ROOT, BUILD, "agent.map"), encoding="utf-8").read(), flags=re.S)
    listed = set(re.findall(r"[\w*]+(?=;)", text.split("local:")[0]))
    shown = {line.split()[-1] for line in run(["nm", "-D", "--defined-only", AGENT]).stdout.splitlines()}
    stray = {s for s in shown if s not in listed and not s.startswith("memtop_")}
    assert not stray, f"exported and not listed: {stray}"
    missing = {s for s in listed if not s.endswith("*")} - shown
    assert not missing, f"listed and not exported: {missing}"
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", run(["readelf", "-d", AGENT]).stdout))
    assert needed <= {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, needed


JEMALLOC = "libjemalloc.so.2"
USES = """
#include <stdio.h>
void *mallocx(unsigned long, int) __attribute__((weak));
void dallocx(void *, int) __attribute__((weak));
void *(*const in_data)(unsigned long, int) = mallocx;
__attribute__((constructor)) static void early(void)
{
	if (mallocx)
		dallocx(mallocx(10, 0), 0); /* before the agent's constructor */
}
int library_has(void)
{
	if (in_data)
		dallocx(in_data(20, 0), 0);
	return mallocx && in_data;
}
"""


def need_jemalloc():
    need("gcc")
    if run(["true"], env=environment(LD_PRELOAD=JEMALLOC)).stderr:
        raise Skip(f"{JEMALLOC} is not installed")


def used_jemalloc(command, **env):
    """Plainly and under record; what is alive at the end is what s_jemalloc says."""
    plain, session = run([*command, "use"], env=environment(**env)), recorded(*command, "use", env=environment(**env))
    assert (plain.returncode, plain.stderr, session.stderr) == (0, "", ""), (plain, session.stderr)
    assert plain.stdout == session.stdout, (plain, session.stdout)
    r, found = report(session), {"by_name": [0] * 4, "by_lookup": [0] * 4, "in_place": [0] * 4}
    for stack in r["stacks"]:
        for name in found.keys() & {f["function"] for f in stack["frames"]}:
            for i, what in enumerate(("live_bytes", "live_blocks", "allocated_bytes", "allocated_blocks")):
                found[name][i] += stack[what]
    churn = sum(i * 100 + i * 8 for i in range(1, 51))
    assert found["by_name"] == found["by_lookup"] == [6077, 3, 6377 + churn, 104], found
    assert found["in_place"][:2] == [int(plain.stdout), 4], (found, plain.stdout)
    assert not [w for w in r["warnings"] if "past" in w or "never seen" in w], r["warnings"]


@test
def t_jemalloc_where_it_is():
    """Its own functions, from requests to the byte: linked in every way, and preloaded behind the agent."""
    need_jemalloc()
    used_jemalloc([target("s_jemalloc")], LD_PRELOAD=JEMALLOC)
    folder, tests = temporary_folder(), os.path.join(ROOT, "tests")
    for how in ("-Wl,-z,lazy", "-Wl,-z,now", "-no-pie -Wl,-z,lazy", "-no-pie -Wl,-z,now"):
        done = run(["gcc", "-O1", "-g", "-fno-builtin", "-I", tests, "-o", folder + "/linked", *how.split(),
                    tests + "/targets/s_jemalloc.c", "-Wl,--no-as-needed", "-l:" + JEMALLOC])
        assert done.returncode == 0, done.stderr
        used_jemalloc([folder + "/linked"])


@test
def t_jemalloc_where_it_is_not():
    """A program that looks it up must get the same result as without the agent, even the same
    dlerror text."""
    same_with_and_without(target("s_jemalloc"), "probe")
    asked = run([target("s_jemalloc"), "probe"], env=preload()).stdout
    assert asked.startswith("00000 0 0(") and "undefined symbol: mallocx" in asked, asked


@test
def t_jemalloc_asked_for_by_a_library():
    """A library is relocated before a preloaded one: no word of the loader's, and its calls are counted."""
    need_jemalloc()
    folder = temporary_folder()
    for name, text in (("uses.c", USES), ("main.c", "int library_has(void); int main(void) { return library_has(); }")):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    for command in ("gcc -fno-builtin -shared -fPIC -o libuses.so uses.c", "gcc -o main main.c -L. -luses -Wl,-rpath,$ORIGIN"):
        done = run(command.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
    for more, status in ((), 0), ((JEMALLOC,), 1):
        done = run([folder + "/main"], env=preload(*more))
        assert (done.returncode, done.stdout, done.stderr) == (status, "", ""), done
    r = report(recorded(folder + "/main", env=environment(LD_PRELOAD=JEMALLOC), status=1))
    mine = [s for s in r["stacks"] if "library_has" in [f["function"] for f in s["frames"]]]
    assert [(s["allocated_bytes"], s["live_blocks"]) for s in mine] == [(20, 0)], mine


def build_plugins():
    need("gcc", "g++")
    folder = temporary_folder()
    os.mkdir(folder + "/sub")
    for name, text in (("plug.cc", PLUGIN), ("deep.c", DEEP), ("opener.c", OPENER), ("host.c", HOST)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    for command in ("g++ -O2 -shared -fPIC -o sub/libplug.so plug.cc",
                    "gcc -fno-builtin -shared -fPIC -o libdeep.so deep.c",
                    "gcc -shared -fPIC -o libopener.so opener.c -Wl,-rpath,$ORIGIN/sub -Wl,--enable-new-dtags",
                    "gcc -fno-builtin -o host host.c -L. -lopener -Wl,-rpath,$ORIGIN"):
        done = run(command.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@test
def t_plugin_of_a_c_program():
    """Found by its caller's RUNPATH only; brings libstdc++ in a local scope; its new fails and throws."""
    folder = build_plugins()
    done = run(["./host"], cwd=folder, env=preload())
    assert (done.returncode, done.stdout, done.stderr) == (0, "1001 no error\n", ""), done


OWN_HOST = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
void *malloc(size_t n)
{
	static void *(*next)(size_t);
	if (!next)
		next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	return next(n);
}
int main(void)
{
	return dlopen("./libplug.so", RTLD_NOW | RTLD_LOCAL) ? 0 : puts(dlerror());
}
"""
OWN_PLUGIN = """
#include <cstddef>
#include <pthread.h>
struct alignas(64) wide { char c[1280]; };
extern "C" void *plugged(void *arg)
{
	char *volatile p = new char[4321];
	wide *volatile w = new wide;
	delete[] p;
	delete w;
	return arg;
}
__attribute__((constructor)) static void begin()
{
	pthread_t t;
	pthread_create(&t, NULL, plugged, NULL);
	pthread_join(t, NULL);
}
"""


@test
def t_plugin_of_a_program_with_its_own_malloc():
    """The loader is busy until a thread has got its blocks, so nobody may ask it where operator new is."""
    need("gcc", "g++")
    folder = temporary_folder()
    for name, text in (("host.c", OWN_HOST), ("plug.cc", OWN_PLUGIN)):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    for command in ("g++ -std=c++17 -g -O1 -shared -fPIC -o libplug.so plug.cc", "gcc -fno-builtin -rdynamic -o host host.c"):
        done = run(command.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
    mine = [s for s in report(recorded("./host", cwd=folder))["stacks"] if "plugged" in [f["function"] for f in s["frames"]]]
    assert sorted((s["allocated_bytes"], s["live_blocks"]) for s in mine) == [(1280, 0), (4321, 0)], mine


RELATIVE_PLUGIN = """
#include <stdlib.h>
void *volatile relatively_kept;
void relatively_named(int n) { relatively_kept = malloc(n); }
"""
RELATIVE_HOST = """
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char byte;
	void *h = dlopen("./libnear.so", RTLD_NOW);
	if (!h)
		return puts(dlerror()), 1;
	((void (*)(int))dlsym(h, "relatively_named"))(4321);
	if (argc > 1 && (!strcmp(argv[1], "unlink") ? unlink("libnear.so") : chdir(argv[1])))
		return 2;
	return write(1, "ready\\n", 6) == 6 && read(0, &byte, 1) >= 0 ? 0 : 1;
}
"""


@test
def t_plugin_of_a_relative_path():
    """Its functions have names, wherever the program goes afterwards; a file that is gone is still named in full."""
    need("gcc")
    folder, other = temporary_folder(), temporary_folder()
    for name, text in (("near.c", RELATIVE_PLUGIN), ("host.c", RELATIVE_HOST)):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    for how, build_id in (("", "sha1"), (other, "sha1"), (other, "none"), ("unlink", "sha1"), ("unlink", "none")):
        for command in (f"gcc -g -fno-builtin -shared -fPIC -Wl,--build-id={build_id} -o libnear.so near.c", "gcc -o host host.c"):
            done = run(command.split(), cwd=folder)
            assert done.returncode == 0, done.stderr
        with open(other + "/libnear.so", "wb") as f:
            f.write(b"a trap for whoever looks here")
        p = start(["./host", *([how] if how else [])], cwd=folder, env=preload(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                  stderr=subprocess.PIPE)
        assert p.stdout.readline() == b"ready\n"
        done = run([MEMTOP, "report", "--format", "json", "-p", str(p.pid)], env=environment(), cwd=other)
        if done.returncode:
            p.kill()
        assert done.returncode == 0, (how, build_id, done, p.communicate())
        frames = [s["frames"][0] for s in read_report(done.stdout)["stacks"] if s["live_bytes"] == 4321]
        # The kernel's words, unless the server looked before the file went.
        gone = {"", " (deleted)"} if how == "unlink" and build_id == "none" else {""}
        paths = [m["path"] for m in Client(f"@memtop.{p.pid}").until_complete().modules.values() if "near" in m["path"]]
        assert len(frames) == 1 and paths in [[f"{folder}/libnear.so{g}"] for g in gone], (how, build_id, frames, paths)
        if how != "unlink":
            assert (frames[0]["function"], os.path.basename(frames[0]["file"])) == ("relatively_named", "near.c"), frames
        stop(p)


@test
def t_address_of_malloc_is_no_malloc_before_ours():
    """A program that is no PIE and takes malloc's address has a stand-in for it; glibc's blocks lie 32 bytes apart still."""
    need("gcc")
    folder = temporary_folder()
    with open(folder + "/takes.c", "w", encoding="utf-8") as f:
        f.write("#include <stdio.h>\n#include <stdlib.h>\nstatic void *(*const take)(size_t) = malloc;\n"
                "int main(void) { for (int i = 0; i < 100000; i++) if (!take(20)) return 1; return puts(\"ready\"), getchar(); }\n")
    for pie in ("-no-pie", "-pie"):
        done = run(["gcc", "-fno-builtin", *(["-fno-pic"] if pie == "-no-pie" else ["-fPIE"]), pie, "-o", "takes", "takes.c"], cwd=folder)
        assert done.returncode == 0, done.stderr
        p = start([folder + "/takes"], env=preload(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        c = Client(f"@memtop.{p.pid}").until_complete()
        assert "malloc_before" not in c.options, (pie, c.options)
        c.until(lambda: c.live()[1] >= 2000000, "all blocks")
        done = run([MEMTOP, "report", "--format", "json", "-p", str(p.pid)], env=environment())
        parts = {m["part"]: m["bytes"] for m in json.loads(done.stdout)["agent"]["memory"]}
        assert parts["live map"] < 100000 * 32 / 32 * 8 + 500000, (pie, parts)
        stop(p)


@test
def t_frees_past_the_agent_are_healed():
    folder = build_plugins()
    p = start(["./host", "deep"], cwd=folder, env=preload(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n"
    c = Client(f"@memtop.{p.pid}").until_complete()
    lost = c.losses[3]  # MTW_LOSS_UNSEEN_FREE
    assert (lost["events"], lost["bytes"]) == (10, 1040), lost


@test
def t_a_large_block_freed_past_the_agent_is_healed_by_a_small_one():
    folder = build_plugins()
    p = start(["./host", "large"], cwd=folder, env=preload(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n", p.wait(60)
    c = Client(f"@memtop.{p.pid}").until_complete()
    lost = c.losses[3]
    assert (lost["events"], lost["bytes"]) == (1, 3000), lost
    mine = sorted(c.slot_live(s) for s in c.counts if c.frames_of(c.slots[s]["node"])[0][0] == "host")
    assert mine == [(0, 0), (0, 0), (1, 200)], mine


@test
def t_bad_options_leave_the_program_alone():
    for options, words in (("depht=3", "depht"), ("depth=x", "not a number"), ("depth=0", "out of range"),
                           ("depth", "missing"), ('listen="a', "quote"), ("unwind=foo", "unwind=foo"),
                           ("max_memory=10Q", "not a number"), ("depth=3 nonsense", "nonsense")):
        done = run(["sh", "-c", "echo fine; exit 3"], env=preload(options=options))
        assert (done.returncode, done.stdout) == (3, "fine\n"), done
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("memtop: ") and words in done.stderr, done
    done = run(["sh", "-c", "echo fine"], env=preload(options='depth=20,tick_ms=50 mark_memory=1M listen="@mt.%p"'))
    assert (done.stdout, done.stderr) == ("fine\n", ""), done


@test
def t_environment_is_the_users():
    folder = temporary_folder()
    libs = []
    for name in ("libone.so", "libtwo.so"):
        libs.append(os.path.join(folder, name))
        done = run(["gcc", "-shared", "-fPIC", "-x", "c", "-o", libs[-1], "/dev/null"])
        assert done.returncode == 0, done.stderr
    one, two = libs
    for before, after in ((AGENT, None), (f"{AGENT}:{one}", one), (f"{one} {AGENT} {two}", f"{one} {two}"),
                          (f"{one}:{two}:{AGENT}", f"{one}:{two}")):
        env = {**environment(), "LD_PRELOAD": before, "MEMTOP_OPTIONS": "depth=9", "MEMTOP_TOKEN": "secret"}
        lines = run(["env"], env=env).stdout.splitlines()
        found = [line.partition("=")[2] for line in lines if line.startswith("LD_PRELOAD=")]
        assert found == ([] if after is None else [after]), (before, found)
        assert not [line for line in lines if line.startswith("MEMTOP_")], lines


@test
def t_exec_stays_watched():
    for how in ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat"):
        tag = "given" if how.endswith(("ve", "pe", "le", "at")) else "env"
        done = run([target("s_exec"), how], env=preload(options="depth=44", TAG="env"))
        assert (done.returncode, done.stdout) == (0, f"watched TAG={tag}\n"), (how, done)
    done = run([target("s_exec"), "failing"], env=preload(TAG="env"))
    assert done.stdout == "watched TAG=env\n", done
    done = run(["sh", "-c", f"exec env TAG=x {target('s_exec')} seen"], env=preload())
    assert done.stdout == "watched TAG=x\n", done


@test
def t_children_are_left_alone():
    for how in ("fork", "vfork", "spawn", "system"):
        done = run([target("s_exec"), how], env=preload(TAG="env"))
        assert done.stdout == "alone TAG=env\nwatched TAG=env\n", (how, done)
        done = run([target("s_exec"), how], env=preload(TAG="env", options="follow=exec"))
        assert [line.split()[0] for line in done.stdout.splitlines()] == ["watched"] * 2, (how, done)


def lingering_children(*kinds):
    """The s_fork child of each kind, seen through its own socket: 1,000 live blocks of 100 bytes."""
    started = [start([target("s_fork"), *arguments], env=preload(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
               for arguments in kinds]
    for p in started:
        pid = int(p.stdout.readline())
        assert pid != p.pid
        c = Client(f"@memtop.{pid}").until_complete()
        assert c.hello["pid"] == pid, c.hello
        live = c.totals["allocated_bytes"] - c.totals["freed_bytes"]
        blocks = c.totals["allocated_blocks"] - c.totals["freed_blocks"]
        assert 100000 <= live < 110000 and 1000 <= blocks < 1010, c.totals
        p.stdin.close()
        c.until_final()


@test
def t_daemon_becomes_a_session():
    lingering_children(["daemon"], ["libc-daemon"])


@mostly_waits
def t_workers_become_sessions():
    lingering_children(*(["worker", how] for how in ("fork", "_Fork", "clone")))


def waiting_children(how):
    """s_waits and its children: {name: pid}, once all of them have said so, and the pipe of the rest."""
    p = start([target("s_waits"), how], env=preload(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    want = {"signal": 14, "data": 6, "time": 12}.get(how, 1)
    children = dict(p.stdout.readline().split() for _ in range(want))
    return p, {name: int(pid) for name, pid in children.items()}


def answers(p, count):
    found = {}
    for _ in range(count):
        name, _, answer = p.stdout.readline().strip().partition(" ")
        found[name] = answer
    assert p.wait(60) == 0 and len(found) == count, found
    return found


@mostly_waits
def t_children_that_only_wait_become_sessions():
    """Each in one call that lasts for ever. Then a signal: no call returns before it, none sleeps over it."""
    p, children = waiting_children("signal")
    for pid in children.values():
        assert Client(f"@memtop.{pid}").until_complete().hello["pid"] == pid
    assert p.poll() is None
    for pid in children.values():
        os.kill(pid, signal.SIGUSR1)
    found = answers(p, len(children))
    assert found.pop("sigwait") == f"{int(signal.SIGUSR1)} 0 none", found
    timed = ("select", "sleep", "nanosleep", "clock_nanosleep")
    wrong = {n: a for n, a in found.items() if a != f"-1 EINTR {'left' if n in timed else 'none'}"}
    assert not wrong, wrong


@test
def t_signal_in_the_first_part_of_a_wait():
    """Before the two seconds are over: each waits by then, as the kernel says."""
    p, children = waiting_children("signal")
    for pid in children.values():
        wait_for(lambda pid=pid: open(f"/proc/{pid}/stat", encoding="ascii").read().split()[2] == "S", what="waiting")
        os.kill(pid, signal.SIGUSR1)
    found = answers(p, len(children))
    assert {a.split()[1] for n, a in found.items() if n != "sigwait"} == {"EINTR"}, found


@mostly_waits
def t_data_after_the_first_part_of_a_wait():
    p, children = waiting_children("data")
    for pid in children.values():
        Client(f"@memtop.{pid}").until_complete()
    p.stdin.close()
    assert set(answers(p, len(children)).values()) == {"1 0 none"}


@mostly_waits
def t_waits_in_two_parts_last_as_long():
    p, children = waiting_children("time")
    found = answers(p, len(children))
    assert set(found.values()) == {"0 0 long"}, found


@mostly_waits
def t_child_that_stays_dormant_is_told():
    """The program makes no call, or is inside one that cannot be divided: no session comes, and -p names the reason."""
    def asked(how):
        p, children = waiting_children(how)
        return p, run([MEMTOP, "report", "-p", str(children[how])], env=environment())
    for p, done in at_once(asked, [("busy",), ("read",)]):
        assert done.returncode == 3 and done.stderr.count("\n") == 1, done
        assert "s_waits is a forked child: its agent counts" in done.stderr and f"-p {p.pid}" in done.stderr, done


@mostly_waits
def t_woken_child_takes_the_agent_through_exec():
    """A session of its own is a watched process; a child that is none leaves the agent behind."""
    p, children = waiting_children("exec")
    Client(f"@memtop.{children['exec']}").until_complete()
    assert p.stdout.readline() == "watched\n"


@mostly_waits
def t_idle_nginx_workers_become_sessions():
    need("nginx")
    folder = temporary_folder()
    with open(folder + "/conf", "w", encoding="ascii") as f:
        f.write(f"worker_processes 2; pid {folder}/pid; error_log {folder}/error; daemon off; user root;\n"
                f"events {{ }} http {{ access_log off; server {{ listen unix:{folder}/socket; }} }}\n")
    p = start(["nginx", "-c", folder + "/conf", "-p", folder, "-e", folder + "/error"], env=preload(), stderr=subprocess.DEVNULL)
    for pid in wait_for(lambda: len(workers := children(p.pid)) == 2 and workers, what="two workers"):
        assert Client(f"@memtop.{pid}").until_complete().hello["pid"] == pid


@test
def t_names_of_threads_follow_their_renames():
    code = ("import threading, sys, ctypes; c = ctypes.CDLL(None);"
            "t = threading.Thread(target=lambda: (c.pthread_setname_np(ctypes.c_ulong(threading.get_ident()), b'namely'),"
            "print('ready', flush=True), sys.stdin.read())); t.start(); t.join()")
    p = start(["/usr/bin/python3", "-c", code], env=preload(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n"
    c = Client(f"@memtop.{p.pid}")
    c.until(lambda: any(t["name"] == "namely" for t in c.threads.values()), "the thread's name")
    p.stdin.close()
    p.wait(60)


if __name__ == "__main__":
    main()
