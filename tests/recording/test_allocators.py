#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_allocators.py - programs whose malloc is not libc's: memtop counts every block, or says why it counts none.

s_alloc prints its own count of its allocations. Where the agent interposes the allocator, the
report must equal that count to the byte. Where it cannot (an executable that defines malloc, a
library preloaded before the agent), the program must run as it would alone, and the report must
name malloc's owner.
"""
import glob
import os
import subprocess

from harness import (AGENT, LONG, TARGETS, Skip, environment, main, need, recorded, report, run, start,
                     temporary_folder, test)

ALLOC = os.path.join(TARGETS, "s_alloc")
NAMES = ("jemalloc", "tcmalloc_minimal", "mimalloc") + (("tcmalloc", "tcmalloc_minimal_debug") if LONG else ())
WHAT = ("allocated_blocks", "allocated_bytes", "live_blocks", "live_bytes")


def library(name, kind="so"):
    """Its path; Skip when it is not installed."""
    found = glob.glob(f"/usr/lib/*-linux-gnu/lib{name}.{kind}")
    if not found:
        raise Skip(f"lib{name}.{kind} is not installed")
    return found[0]


def plainly_and_recorded(*command, **env):
    """(standard output, the report)."""
    plain, session = run(command, env=environment(**env)), recorded(*command, env=environment(**env))
    assert (plain.returncode, plain.stderr, session.stderr) == (0, "", ""), (plain, session.stderr)
    return session.stdout, report(session)


def counted(r, function, owner):
    """What that program allocated from that function on; what libraries took there for themselves is theirs."""
    mine = [s for s in r["stacks"] if s["owner"] == owner and function in [f["function"] for f in s["frames"]]]
    return [sum(s[field] for s in mine) for field in WHAT]


def own_strdup(path):
    """mimalloc 3 makes strdup's blocks without malloc: memtop misses them, as its page says of limits."""
    return ["nodup"] if " T strdup\n" in run(["nm", "-D", "--defined-only", path]).stdout else []


def exact(*command, **env):
    out, r = plainly_and_recorded(command[0], "use", *command[1:], **env)
    found = counted(r, "work", os.path.basename(command[0]))
    assert found == [int(n) for n in out.split()], (command, env, found, out)
    assert not r["agent"]["lost"]["events"], (command, env, r["agent"]["lost"])
    assert not [w for w in r["warnings"] if "malloc of its own" in w or "freed" in w], r["warnings"]


def with_each(check):
    """check(its path) for each allocator but one under which the program dies without an agent: mimalloc 3.0.1 of Debian 13."""
    sick = []
    for name in NAMES:
        path = library(name)
        alone = [run([ALLOC, "use"], env=environment(LD_PRELOAD=path)) for _ in range(3)]
        bad = [f"status {done.returncode} {done.stderr.strip()}" for done in alone if done.returncode or done.stderr]
        if bad:
            sick.append(f"{os.path.basename(os.path.realpath(path))} cannot run s_alloc without an agent: {bad[0]}")
        else:
            check(path)
    if sick:
        raise Skip("; ".join(sick) + "; the others held")


def linked(*how, source=None):
    """s_alloc, or a program of that text, linked so."""
    need("g++")
    folder = temporary_folder()
    if source:
        with open(folder + "/prog.cc", "w", encoding="utf-8") as f:
            f.write(source)
    text = folder + "/prog.cc" if source else "tests/targets/s_alloc.cc"
    done = run(["g++", "-std=c++17", "-O1", "-g", "-fno-builtin", "-I", "tests", "-o", folder + "/prog", text, *how, "-ldl"])
    assert done.returncode == 0, done.stderr
    return folder + "/prog"


def seen_alive(*command, preload):
    """The report of the live program, that was started by hand with these libraries in front."""
    env = environment(LD_PRELOAD=preload, MEMTOP_OPTIONS="listen=@memtop.%p")
    p = start([*command, "wait"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert len(p.stdout.readline().split()) == 4, p.communicate()
    r = report(str(p.pid), arguments=["-p"])
    assert p.communicate() == ("", "") and p.returncode == 0, p
    return r


def nothing_and_why(r, whose, *words):
    said = [w for w in r["warnings"] if "has a malloc of its own" in w]
    assert len(said) == 1 and whose in said[0] and all(w in said[0] for w in words), r["warnings"]
    assert counted(r, "work", "prog") == counted(r, "work", "s_alloc") == [0] * 4, r["stacks"]


@test
def t_libcs_own_allocator_is_counted():
    exact(ALLOC)


@test
def t_preloaded_behind_the_agent():
    with_each(lambda path: exact(ALLOC, *own_strdup(path), LD_PRELOAD=path))


@test
def t_preloaded_before_the_agent():
    """The order that record never makes: nothing is counted, and the report says in whose favour."""
    with_each(lambda path: nothing_and_why(seen_alive(ALLOC, preload=f"{path}:{AGENT}"), path, "name the agent before it in LD_PRELOAD"))


@test
def t_linked_shared():
    with_each(lambda path: exact(linked("-Wl,--no-as-needed", path), *own_strdup(path)))


@test
def t_linked_static():
    """reallocarray, which these do not define, is libc's without an agent, and that one's blocks are theirs."""
    for name in ("jemalloc", "tcmalloc_minimal"):
        prog = linked(library(name, "a"))
        out, r = plainly_and_recorded(prog, "use")
        assert len(out.split()) == 4, out
        nothing_and_why(r, prog, "build it with the system's malloc")
        nothing_and_why(seen_alive(prog, preload=AGENT), prog, "comes before the agent's")


DIRECT = """
#include <stdlib.h>
extern "C" void *ITS_MALLOC(size_t);
#ifdef INSIDE
extern "C" void *ITS_MALLOC(size_t n) { static char pool[4096]; return n < sizeof(pool) ? pool : nullptr; }
#endif
int main() { return !ITS_MALLOC(100) || !malloc(77); }
"""


@test
def t_called_by_another_name():
    """The report warns of blocks that go past malloc; it does not warn where malloc has all blocks."""
    for name, how in (("mi_malloc", ("-Wl,--no-as-needed", library("mimalloc"))),
                      ("tc_malloc", ("-Wl,--no-as-needed", library("tcmalloc_minimal"))), ("_rjem_malloc", ("-DINSIDE",))):
        prog = linked(f"-DITS_MALLOC={name}", *how, source=DIRECT)
        r = plainly_and_recorded(prog)[1]
        assert [w for w in r["warnings"] if f"{prog}: calls {name} itself" in w], (name, r["warnings"])
        assert counted(r, "main", "prog") == [1, 77, 1, 77], (name, r["stacks"])


OWN_MALLOC = r"""
#include <dlfcn.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define SYMBOL(name) ((decltype(&name))dlsym(RTLD_NEXT, #name))
static char pool[1 << 20];
static size_t used;
static bool ours(void *p) { return (char *)p >= pool && (char *)p < pool + sizeof(pool); }
extern "C" {
#ifdef PASSES_ON
void *malloc(size_t n) { static auto next = SYMBOL(malloc); return next(n); }
void free(void *p) { static auto next = SYMBOL(free); next(p); }
void *realloc(void *p, size_t n) { static auto next = SYMBOL(realloc); return next(p, n); }
#else
static size_t freed;
void *malloc(size_t n)
{
	size_t *p = (size_t *)(pool + used);
	used += (n + 31) & ~15ul;
	*p = n;
	return p + 2;
}
void free(void *p)
{
	if (p && !ours(p))
		abort(); /* a block of somebody else's */
	freed += p != nullptr;
}
void *calloc(size_t n, size_t m) { return memset(malloc(n * m), 0, n * m); }
void *realloc(void *p, size_t n)
{
	if (p && !ours(p))
		abort();
	return p ? memcpy(malloc(n), p, ((size_t *)p)[-2] < n ? ((size_t *)p)[-2] : n) : malloc(n);
}
#endif
int work()
{
	int mine = 0;
	for (size_t i = 0; i < 100; i++) {
		void *p = operator new(i), *q = operator new[](2 * i), *r = realloc(malloc(8), 10 * i);
		r = reallocarray(r, 20, i + 1);
		mine += ours(p) + ours(q) + ours(r);
		operator delete(p);
		operator delete[](q, 2 * i);
		if (i % 2)
			free(r);
	}
	return mine;
}
}
int main() { printf("%d\n", work()); }
"""


@test
def t_own_malloc_under_operator_new():
    """libstdc++'s operator new asks the program's malloc, and with the agent between them it still does; that is counted."""
    prog = linked(source=OWN_MALLOC)
    out, r = plainly_and_recorded(prog)
    assert out == "300\n", out
    assert counted(r, "work", "prog") == [200, 3 * sum(range(100)), 0, 0], r["stacks"]
    assert len([w for w in r["warnings"] if "has a malloc of its own" in w]) == 1, r["warnings"]


@test
def t_own_malloc_that_passes_calls_on():
    """Each block once, whether it came by malloc or by new; new(0) asks for one byte."""
    out, r = plainly_and_recorded(linked("-DPASSES_ON", source=OWN_MALLOC))
    assert out == "0\n", out
    sizes = [1] + list(range(1, 100)) + [1] + [2 * i for i in range(1, 100)] + [8] * 100
    sizes += [10 * i for i in range(1, 100)] + [20 * (i + 1) for i in range(100)]
    kept = [20 * (i + 1) for i in range(0, 100, 2)]
    found = counted(r, "work", "prog")
    assert found == [len(sizes), sum(sizes), len(kept), sum(kept)], (found, len(sizes), sum(sizes), len(kept), sum(kept))


HALF = r"""
#include <malloc.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern "C" {
void *__libc_malloc(size_t); void __libc_free(void *); void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t); void *__libc_memalign(size_t, size_t);
static int calls[7];
#ifdef MALLOC
void *malloc(size_t n) { calls[0]++; return __libc_malloc(n); }
#endif
#ifdef FREE
void free(void *p) { calls[1] += p != nullptr; __libc_free(p); }
#endif
#ifdef CALLOC
void *calloc(size_t n, size_t m) { calls[2]++; return __libc_calloc(n, m); }
#endif
#ifdef REALLOC
void *realloc(void *p, size_t n) { calls[3]++; return __libc_realloc(p, n); }
#endif
#ifdef ALIGNED_ALLOC
void *aligned_alloc(size_t a, size_t n) { calls[4]++; return __libc_memalign(a, n); }
#endif
#ifdef POSIX_MEMALIGN
int posix_memalign(void **p, size_t a, size_t n) { calls[5]++; *p = __libc_memalign(a, n); return 0; }
#endif
#ifdef MEMALIGN
void *memalign(size_t a, size_t n) { calls[6]++; return __libc_memalign(a, n); }
#endif
}
static void use()
{
	for (int i = 1; i < 50; i++) {
		void *p[12] = { operator new(i), operator new[](i), operator new(i, std::nothrow), operator new(i, std::align_val_t(64)),
				malloc(i), calloc(i, 2), realloc(malloc(i), 3 * i), reallocarray(nullptr, i, 4), aligned_alloc(64, 64 * i),
				memalign(32, i), strdup("text"), nullptr };
		if (posix_memalign(&p[11], 64, i))
			abort();
		for (void *q : p)
			memset(q, i, 1);
		operator delete(p[0], (size_t)i);
		operator delete[](p[1]);
		operator delete(p[2], std::nothrow);
		operator delete(p[3], std::align_val_t(64));
		for (int k = 4; k < 12; k++)
			free(p[k]);
	}
}
int main()
{
	use();
	int kept[7];
	memcpy(kept, calls, sizeof(kept)); /* printf has a buffer */
	for (int n : kept)
		printf("%d ", n);
	puts("");
}
"""


@test
def t_half_of_a_malloc():
    """A program may define any of malloc's family, and leave the rest to libc: each function is called as often as without an agent."""
    names = ("MALLOC", "FREE", "CALLOC", "REALLOC", "ALIGNED_ALLOC", "POSIX_MEMALIGN", "MEMALIGN")
    sets = [(n,) for n in names] + [("MALLOC", "FREE"), ("FREE", "REALLOC"), ("MALLOC", "FREE", "REALLOC"), ("ALIGNED_ALLOC", "FREE"),
                                    ("CALLOC", "MALLOC"), ("MALLOC", "FREE", "CALLOC", "REALLOC"), names]
    for chosen in sets:
        prog = linked("-fsized-deallocation", "-faligned-new", *("-D" + n for n in chosen), source=HALF)
        plain = run([prog], env=environment())
        assert plain.returncode == 0, (chosen, plain)
        out, r = plainly_and_recorded(prog)
        assert out == plain.stdout, (chosen, plain.stdout, out)
        if not {"MALLOC", "FREE", "REALLOC"} & set(chosen): # libc's blocks that are freed past the agent stay alive there
            assert counted(r, "use", "prog")[2:] == [0, 0], (chosen, r["stacks"])


if __name__ == "__main__":
    main()
