#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_linked.py - the agent linked into the program: the recipes of memtop-agent.7, word for word.

Totals must equal those of a plain counter linked or preloaded in place of the agent; stacks must
equal the program's own account. s_threads and the others are the usual targets.
"""
import json
import os
import signal
import struct
import subprocess

import manual
from elsewhere import Machine, listening, shown, told
from harness import (BUILD, MEMTOP, at_end, check_invariants, emulator, environment, main, mostly_waits, need,
                     recorded, recording, report, run, start, temporary_folder, test, wait_for)

PROGRAMS = [["s_threads", "2"], ["s_mark"], ["s_paths", "8"]]
ALONE = [p for p in PROGRAMS if p[0] != "s_threads"]
FLAGS = ["-O1", "-g", "-fno-builtin", "-D_GNU_SOURCE", "-Iinclude", "-Itests"]
COUNTED = ["malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign"]
COUNTER = ["tests/targets/linked/count.c", "-Wl," + ",".join("--wrap=" + name for name in COUNTED)]
MUSL = "-idirafter /usr/include -idirafter".split() + ["/usr/include/" + os.uname().machine + "-linux-gnu"]


def recipe(*words):
    """The one command of the section that has these words and no more options than others have, as a list."""
    lines = "".join(manual.examples("memtop-agent.7", "LINKED IN")).replace("\\\n", "").splitlines()
    found = [line.split() for line in lines if all(word in line.split() for word in words)]
    assert found, f"memtop-agent.7 has no recipe with {words}"
    return min(found, key=len)


def made(command, source, more=(), agent=True):
    """The program that the recipe makes of that source; agent=False: of the same with the plain counter."""
    need(command[0])
    program = f"{temporary_folder()}/{os.path.basename(source).partition('.')[0]}"
    words = []
    for word in command:
        if word.startswith("server."):
            words += [source, *FLAGS, *more, *(MUSL if command[0] == "musl-gcc" else [])]
        elif "/usr/local/lib/memtop/" in word:
            words += [word.replace("/usr/local/lib/memtop", BUILD)] if agent else []
        else:
            words.append(program if word == "server" else word)
    done = run([*words, *([] if agent else COUNTER)])
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr}"
    assert not done.stderr, done.stderr
    return program


def report_and_output(command):
    session = recorded(*command)
    assert not session.stderr, session.stderr
    return report(session), session.stdout


def counts(command, **env):
    folder = temporary_folder()
    done = run(["/usr/bin/env", *(f"{k}={v.replace('FOLDER', folder)}" for k, v in env.items()), *command], env=environment())
    assert done.returncode == 0, done
    with open(folder + "/counts", "rb") as f:
        return struct.unpack("=3Q", f.read(24))


def preloaded(command):
    """By the counter that is preloaded into the program as it is built without the agent."""
    folder = temporary_folder()
    os.link(f"{BUILD}/tests/lib/count_preload.so", folder + "/count.so")
    done = run(["/usr/bin/env", f"LD_PRELOAD={folder}/count.so", *command], env=environment())
    assert done.returncode == 0, done
    with open(folder + "/counts", "rb") as f:
        return struct.unpack("=3Q", f.read(24))


def figures(r):
    t = r["totals"]
    return t["allocated_blocks"], t["freed_blocks"], t["allocated_bytes"]


def differ_by_threads(r, got, want):
    """By libc's own block for a thread's storage: it makes fewer when threads that ended leave theirs in time."""
    tables = [s for s in r["stacks"] if {"_dl_allocate_tls", "__GI__dl_allocate_tls"} & {f["function"] for f in s["frames"]}]
    blocks, size = (sum(s[f"allocated_{unit}"] for s in tables) for unit in ("blocks", "bytes"))
    more = got[0] - want[0]
    return blocks and abs(more) < 16 and got[1] == want[1] and (got[2] - want[2]) * blocks == more * size


def check_totals(command, programs, counted, more=()):
    wrong = []
    for name, *arguments in programs:
        r, _ = report_and_output([made(command, f"tests/targets/{name}.c", more), *arguments])
        got, want = figures(r), counted(f"tests/targets/{name}.c", arguments)
        if (got != want and not differ_by_threads(r, got, want)) or not want[0]:
            wrong.append(f"{name}: memtop {got}, counter {want}")
        assert r["program"]["state"] == "exited" and not r["agent"]["lost"]["events"], r["agent"]
    assert not wrong, f"{' '.join(command)}: {'; '.join(wrong)}"


def by_linked_counter(command, more=()):
    return lambda source, arguments: counts([made(command, source, more, agent=False), *arguments], COUNTS="FOLDER/counts")


def by_preloaded_counter(source, arguments):
    return preloaded([f"{BUILD}/tests/targets/{os.path.basename(source)[:-2]}", *arguments])


@test
def t_totals_of_a_dynamic_program():
    check_totals(recipe("gcc", "/usr/local/lib/memtop/libmemtop-agent.a"), PROGRAMS, by_preloaded_counter)


@test
def t_totals_of_a_static_program():
    command = recipe("gcc", "-static")
    check_totals(command, PROGRAMS, by_linked_counter(command))


@test
def t_totals_of_a_static_pie():
    command = ["-static-pie" if word == "-static" else word for word in recipe("gcc", "-static")]
    check_totals(command, [PROGRAMS[0], ["s_mark"]], by_linked_counter(command, ["-fPIE"]), ["-fPIE"])


@test
def t_totals_of_a_static_program_of_musl():
    command = recipe("musl-gcc")
    check_totals(command, [PROGRAMS[0], ["s_mark"]], by_linked_counter(command))


@test
def t_own_allocator():
    """jemalloc linked in: what libc asks for goes to it, too, and is counted. (The loader's own blocks are not.)"""
    check_totals(recipe("gcc", "-ljemalloc"), ALONE, by_preloaded_counter)


OWN = r"""
#include <stddef.h>
#include <string.h>
static _Alignas(16) char pool[4 << 20];
static size_t used;
void *malloc(size_t n) { char *p = pool + used + 16; *(size_t *)(p - 16) = n; used += (n + 31) & ~(size_t)15; return p; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return memset(malloc(n * size), 0, n * size); }
void *realloc(void *p, size_t n)
{
	size_t was = p ? *(size_t *)((char *)p - 16) : 0;
	return p ? memcpy(malloc(n), p, was < n ? was : n) : malloc(n);
}
"""


@test
def t_static_on_other_machines():
    """Under qemu-user: s_mark's blocks and marks, and its stacks where there are unwind tables."""
    for m in (Machine("arm64", emulator("aarch64"), "aarch64-linux-gnu"), Machine("armhf", emulator("arm"), "arm-linux-gnueabihf")):
        beside = f"{BUILD}/{m.name}"
        program = m.compile("s_mark", "-static", f"@{beside}/wrap.flags", f"{beside}/libmemtop-wrap.a")
        name = f"memtop-test-linked.{os.getpid()}.{m.name}"
        p = start(m.command(program, options=f"listen=@{name} wait=20000"), stdout=subprocess.PIPE, text=True, env=environment())
        wait_for(lambda: p.poll() is not None or listening(name), 30, "the agent")
        r = report(recorded(arguments=["@" + name]))
        assert p.wait(60) == 0 and p.stdout.read() == "1 2\n", p
        mine = [s for s in r["stacks"] if "fill" in [f["function"] for f in s["frames"]]]
        assert sum(s["live_bytes"] for s in mine) == 13500 and len(r["marks"]) == 2, (m.name, r["stacks"])
        assert m.name == "armhf" or not any(s["truncated"] for s in mine), mine


@test
def t_private_malloc():
    """A malloc of a program's own, of four functions, in a file of its own; dynamic and static."""
    folder = temporary_folder()
    with open(f"{folder}/own.c", "w", encoding="utf-8") as f:
        f.write(OWN)
    dynamic = [word for word in recipe("gcc", "-static") if word != "-static"]
    check_totals(dynamic, [["s_mark"], ["s_paths", "8"]], by_preloaded_counter, [f"{folder}/own.c"])
    program = made(recipe("gcc", "-static"), "tests/targets/s_mark.c", [f"{folder}/own.c"])
    r, said = report_and_output([program])
    assert {m["name"]: m["live_blocks"] for m in r["marks"]}["m2"] >= 25 and said == "1 2\n", (r["marks"], said)
    assert sum(s["live_bytes"] for s in r["stacks"] if "fill" in [f["function"] for f in s["frames"]]) == 13500, r["stacks"]


CXX = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>
struct alignas(128) wide { char bytes[100]; };
static std::map<int, std::string> kept;
static __attribute__((noinline)) void work()
{
	for (int i = 0; i < 100; i++)
		kept[i] = std::string(100, 'x');
	delete new wide;
	std::vector<int>(1000).push_back(1);
	free(strdup("hello"));
	free(memalign(64, 100));
	free(reallocarray(nullptr, 10, 10));
	volatile size_t none = 0;
	void *volatile p = operator new(none);
	operator delete(p);
}
int main()
{
	work();
	try {
		char *volatile p = new char[~(size_t)0 / 4];
		delete[] p;
	} catch (std::bad_alloc &) {
		puts("bad_alloc");
	}
}
"""


def in_work(r):
    """Blocks and bytes of `work` and what it called, that were allocated there and that are alive."""
    mine = [s for s in r["stacks"] if "work" in [(f["function"] or "").partition("(")[0] for f in s["frames"]]]
    return tuple(sum(s[k] for s in mine) for k in ("allocated_blocks", "allocated_bytes", "live_blocks", "live_bytes"))


@test
def t_operator_new_counts_once_in_a_static_program():
    """Each block of operator new once, with the libraries' own that they make inside; a failure throws as ever."""
    need("g++")
    folder = temporary_folder()
    source = folder + "/server.cc"
    with open(source, "w", encoding="utf-8") as f:
        f.write(CXX)
    done = run(["g++", *FLAGS, "-o", folder + "/plain", source])
    assert done.returncode == 0, done.stderr
    want = in_work(report_and_output([folder + "/plain"])[0])
    assert want[0] > 205, want
    dynamic, jemalloc = recipe("gcc", "/usr/local/lib/memtop/libmemtop-agent.a"), recipe("g++", "-ljemalloc")
    tcmalloc = [word.replace("-ljemalloc", "-ltcmalloc_minimal").replace("wrap-jemalloc", "wrap") for word in jemalloc]
    # a static libstdc++ calls malloc for new(0), and the agent counts that call
    for command, rounded in ((dynamic, 0), (jemalloc, 0), (tcmalloc, 0), (recipe("gcc", "-static"), 1)):
        r, said = report_and_output([made(["g++", *command[1:]], source)])
        assert in_work(r) == (want[0], want[1] + rounded, *want[2:]), (command, in_work(r), want)
        assert said == "bad_alloc\n", said


OWN_NEW = r"""
#include <cstdio>
#include <cstdlib>
#include <new>
static int calls;
void *operator new(size_t n) { calls++; return malloc(n + 16); }
void operator delete(void *p) noexcept { calls++; free(p); }
void operator delete(void *p, size_t) noexcept { calls++; free(p); }
int main()
{
	for (int i = 0; i < 100; i++) {
		int *volatile p = new int; /* gcc 16 leaves a pair out that nobody sees */
		delete p;
	}
	printf("%d\n", calls);
}
"""


@test
def t_own_operator_new():
    """The program's own is called, and what it asks malloc for is counted once."""
    source = temporary_folder() + "/server.cc"
    with open(source, "w", encoding="utf-8") as f:
        f.write(OWN_NEW)
    for words in (("gcc", "/usr/local/lib/memtop/libmemtop-agent.a"), ("g++", "-ljemalloc"), ("gcc", "-static")):
        r, said = report_and_output([made(["g++", *recipe(*words)[1:]], source)])
        mine = [s for s in r["stacks"] if "main" in [f["function"] for f in s["frames"]] and s["live_blocks"] == 0]
        assert said == "200\n" and sum(s["allocated_blocks"] for s in mine) == 100, (words, said, mine)
        assert sum(s["allocated_bytes"] for s in mine) == 2000, (words, mine)


@test
def t_stacks_of_a_static_program_are_whole():
    """As the program itself tells them: all whole, also those of threads, handlers and callbacks."""
    r, said = report_and_output([made(recipe("gcc", "-static"), "tests/targets/s_stacks.c")])
    want = told(said)
    got, reasons = shown(r, {name for stack in want for name in stack})
    assert len(want) > 40 and not any(reasons.values()), {k: v for k, v in reasons.items() if v}
    assert got == want, f"missing {want - got}, not told {got - want}"


@test
def t_a_static_programs_children_are_harmless():
    for words in (("gcc", "-static"), ("gcc", "/usr/local/lib/memtop/libmemtop-agent.a")):
        t = report_and_output([made(recipe(*words), "tests/targets/s_fork.c")])[0]["totals"]
        assert t["allocated_blocks"] >= 200 and t["freed_blocks"] >= 200, t


@mostly_waits
def t_a_static_programs_long_child_is_a_session():
    """A forked child of a static program is a session of its own when it has lived for two seconds."""
    p = start([made(recipe("gcc", "-static"), "tests/targets/s_fork.c"), "worker", "fork"], stdin=subprocess.PIPE,
              stdout=subprocess.PIPE, env=environment())
    child = int(p.stdout.readline())

    def answer():
        done = run([MEMTOP, "report", "--format", "json", "-p", str(child)], env=environment())
        return done.returncode == 0 and json.loads(done.stdout)

    r = wait_for(answer, 60, "the child's session")
    blocks = [s["live_blocks"] for s in r["stacks"] if s["live_bytes"] == 100 * s["live_blocks"] and s["live_blocks"]]
    assert r["program"]["pid"] == child and 1000 in blocks, r["stacks"]
    p.stdin.close()
    assert p.wait(60) == 0


@test
def t_live_and_killed():
    """Started without memtop it listens; attach and run report the agent or connect to it. Last
    figures after SIGKILL."""
    program = made(recipe("gcc", "-static"), "tests/targets/s_phases.c")
    p = start([program, "wait"], env=environment())
    at_end(p.kill)
    target = f"@memtop.{p.pid}"
    wait_for(lambda: listening(target[1:]), 30, "the agent")

    def live():
        done = run([MEMTOP, "report", "--format", "json", target], env=environment())
        value = json.loads(done.stdout) if done.returncode == 0 else None
        if value:
            check_invariants(value)
        return value

    wait_for(lambda: (x := live()) and x["totals"]["live_blocks"] >= 100 and x, 30, "the first phase")
    done = run([MEMTOP, "attach", "--no-view", str(p.pid)], env=environment())
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and f"memtop -p {p.pid}" in done.stderr, done
    recorder = recording(arguments=[target])
    assert run([MEMTOP, "mark", target, "outside"], env=environment()).returncode == 0
    os.kill(p.pid, signal.SIGUSR1)
    wait_for(lambda: (x := live()) and x["totals"]["live_blocks"] >= 400 and x, 30, "the second phase")
    wait_for(lambda: os.path.exists(recorder.session), 30, "the session")
    p.kill()
    p.wait()
    recorder.wait(60)
    r = report(recorder.session)
    assert r["program"]["state"] == "signalled" and r["totals"]["live_blocks"] >= 400, r["totals"]


@test
def t_a_bad_option():
    """One line, and the program runs unharmed; with jemalloc's own functions before it, too."""
    for program in (made(recipe("gcc", "-static"), "tests/targets/s_mark.c"),
                    made(recipe("gcc", "-ljemalloc"), "tests/targets/s_jemalloc.c", ["-rdynamic"])):
        done = run([program, "use"], env=environment(MEMTOP_OPTIONS="colour=red"))
        assert done.returncode == 0 and done.stderr.count("\n") == 1 and "colour" in done.stderr, done


@test
def t_own_functions_of_jemalloc():
    """mallocx and its family by their names, and as dlsym finds them, from requests to the byte."""
    r, said = report_and_output([made(recipe("gcc", "-ljemalloc"), "tests/targets/s_jemalloc.c", ["-rdynamic"]), "use"])
    found = {"by_name": [0] * 4, "by_lookup": [0] * 4, "in_place": [0] * 4}
    for stack in r["stacks"]:
        for name in found.keys() & {f["function"] for f in stack["frames"]}:
            for i, what in enumerate(("live_bytes", "live_blocks", "allocated_bytes", "allocated_blocks")):
                found[name][i] += stack[what]
    churn = sum(i * 100 + i * 8 for i in range(1, 51))
    assert found["by_name"] == found["by_lookup"] == [6077, 3, 6377 + churn, 104], found
    assert found["in_place"][:2] == [int(said), 4], (found, said)


main()
