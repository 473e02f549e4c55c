#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_operators.py - programs that replace some forms of operator new and delete, and leave the others to the library.

A legal and common program defines `operator new(size_t)` and `operator delete(void *)` and nothing
else; libstdc++'s sized delete and nothrow new then call these two. Each variant here defines one
set of the twenty forms, in the place and way that its test names, on top of malloc or of a pool. It
uses all forms, counts the calls of its own ones, and must print the same with the agent and
without. A set whose plain run fails is illegal for that kind of memory and is left out.

The report must count each block from malloc exactly once, and no block may be alive at the end. It
omits blocks of the program's own pool where the agent cannot see all of their frees.
"""
import functools
import glob
import subprocess
import tempfile

from harness import BUILD, MEMTOP, Skip, environment, main, need, recorded, report, run, start, temporary_folder, test

# Name of a form: its symbol, its parameters, the form that its default calls.
NEWS = {"new": "_Znwm", "new[]": "_Znam", "new_nt": "_ZnwmRKSt9nothrow_t", "new[]_nt": "_ZnamRKSt9nothrow_t",
        "new_al": "_ZnwmSt11align_val_t", "new[]_al": "_ZnamSt11align_val_t",
        "new_al_nt": "_ZnwmSt11align_val_tRKSt9nothrow_t", "new[]_al_nt": "_ZnamSt11align_val_tRKSt9nothrow_t"}
DELETES = {"del": "_ZdlPv", "del[]": "_ZdaPv", "del_size": "_ZdlPvm", "del[]_size": "_ZdaPvm",
           "del_nt": "_ZdlPvRKSt9nothrow_t", "del[]_nt": "_ZdaPvRKSt9nothrow_t", "del_al": "_ZdlPvSt11align_val_t",
           "del[]_al": "_ZdaPvSt11align_val_t", "del_size_al": "_ZdlPvmSt11align_val_t",
           "del[]_size_al": "_ZdaPvmSt11align_val_t", "del_al_nt": "_ZdlPvSt11align_val_tRKSt9nothrow_t",
           "del[]_al_nt": "_ZdaPvSt11align_val_tRKSt9nothrow_t"}
FORMS = list(NEWS) + list(DELETES)
SYMBOLS = {**NEWS, **DELETES}
BASE = ("new", "del")
ALIGNED = ("new_al", "del_al")
# Sets that are legal over a pool, closed under the language's calls between forms; and odd ones
# over malloc.
SETS = [BASE, ("new", "del", "del_size"), ("new", "new[]", "del", "del[]"), ("new[]", "del[]"), ALIGNED, BASE + ALIGNED,
        ("new", "new_nt", "del", "del_nt"), ("new[]", "new[]_nt", "del[]"), ("new[]_al", "del[]_al"), tuple(FORMS)]
ODD = [("new",), ("del",), ("new[]",), ("del[]",), ("del_size",), ("new_nt",), ("new_al",), ("del_size_al",), ("del[]_al_nt",),
       ("new_nt", "del_nt"), ("new[]_nt", "del_size"), ("new", "new[]", "new_al", "new[]_al"), ("del", "del[]", "del_al", "del[]_al")]
# What each place is tried with; all sets are tried in one.
SOME = [(forms, True) for forms in (BASE, ("new[]", "del[]"), BASE + ALIGNED, tuple(FORMS))] + \
       [(forms, False) for forms in (("del",), ("new_nt", "del_nt"), ("new", "new[]", "new_al", "new[]_al"))]

OPERATORS = r"""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
extern int calls[], pooled;
static _Alignas(64) char pool[1 << 16];
static size_t used;
__attribute__((used)) static int in_pool(void *p) { return (char *)p >= pool && (char *)p < pool + sizeof(pool); }
__attribute__((used)) static void *take(size_t n, size_t align)
{
#ifdef POOL
	used = ((used + 15 & ~15ul) + align - 1) & ~(align - 1);
	void *p = pool + used;
	used += n ? n : 1;
	pooled++;
	return memset(p, 0x5a, n);
#else
	return align > 16 ? aligned_alloc(align, (n + align) / align * align) : malloc(n ? n : 1);
#endif
}
__attribute__((used)) static void leave(void *p)
{
#ifdef POOL
	if (p && !in_pool(p))
		abort();
#else
	free(p);
#endif
}
"""

USE = r"""
#include <new>
#include <stdio.h>
#include <string>
#include <string.h>
extern "C" __attribute__((visibility("default"))) int calls[20];
extern "C" __attribute__((visibility("default"))) int pooled;
int calls[20], pooled;
template <class F> static void *made(F f) { void *p = f(); memset(p, 1, 40); return p; }
#define A std::align_val_t(64)
#define T std::nothrow
struct Own { /* a class's operators are its own business */
	static char room[64];
	static void *operator new(size_t) { return room; }
	static void operator delete(void *p) { calls[0] += p != room; }
	char c[40];
};
char Own::room[64];
extern "C" __attribute__((visibility("default"), noinline)) int work()
{
	int blocks = 0;
	delete new Own;
#define PAIR(make, gone) for (int i = 0; i < 3; i++) { void *p = made([] { return make; }); gone; blocks++; }
	PAIR(operator new(40), operator delete(p))
	PAIR(operator new(40), operator delete(p, 40))
	PAIR(operator new(40), operator delete(p, T))
	PAIR(operator new(40, T), operator delete(p))
	PAIR(operator new(40, T), operator delete(p, 40))
	PAIR(operator new[](40), operator delete[](p))
	PAIR(operator new[](40), operator delete[](p, 40))
	PAIR(operator new[](40), operator delete[](p, T))
	PAIR(operator new[](40, T), operator delete[](p))
	PAIR(operator new[](40, T), operator delete[](p, 40))
	PAIR(operator new(40, A), operator delete(p, A))
	PAIR(operator new(40, A), operator delete(p, 40, A))
	PAIR(operator new(40, A), operator delete(p, A, T))
	PAIR(operator new(40, A, T), operator delete(p, A))
	PAIR(operator new[](40, A), operator delete[](p, A))
	PAIR(operator new[](40, A), operator delete[](p, 40, A))
	PAIR(operator new[](40, A), operator delete[](p, A, T))
	PAIR(operator new[](40, A, T), operator delete[](p, A))
#ifndef NO_STRING
	for (int i = 0; i < 3; i++) { /* libstdc++'s own calls */
		std::string s(100, 'x');
		s.reserve(300);
		blocks += 2;
	}
#endif
	return blocks;
}
extern "C" __attribute__((visibility("default"))) int report(int blocks)
{
	printf("%d %d:", blocks, pooled);
	for (int i = 0; i < 20; i++)
		printf(" %d", calls[i]);
	puts("");
	return fflush(stdout);
}
"""
WAITING = r"""
#include <unistd.h>
extern "C" int work(), report(int);
int main()
{
	char c; /* read(): in getchar() it would hold a lock, and nobody attaches then */
	write(1, "ready\n", 6);
	bool asked = read(0, &c, 1) == 1;
	int blocks = work();
	report(blocks);
	return asked && read(0, &c, 1);
}
"""
MAIN = "extern \"C\" int work(), report(int); int main() { return report(work()); }\n"


def done(*command):
    r = run(command)
    assert r.returncode == 0, (command, r.stderr)


def written(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def definition(form):
    call = f"\tcalls[{FORMS.index(form)}]++;\n"
    if form in NEWS:
        return (f"void *{SYMBOLS[form]}(size_t n, size_t a)\n{{\n{call}\treturn take(n, {'a' if '_al' in form else '16'});\n}}\n")
    return f"void {SYMBOLS[form]}(void *p)\n{{\n{call}\tleave(p);\n}}\n"


@functools.cache
def parts_folder():
    return tempfile.TemporaryDirectory(prefix="memtop-operators-")


@functools.cache
def compiled(name, text, how, compiler):
    """One object for all tests: they link the same parts."""
    path = f"{parts_folder().name}/{name}.o"
    source = written(f"{parts_folder().name}/{name}{'.c' if compiler == 'gcc' else '.cc'}", text)
    done(compiler, *how, "-O1", "-g", "-fPIC", "-fno-builtin", "-c", "-o", path, source)
    return path


class Folder:
    """What a test links."""

    def __init__(self):
        need("g++")
        self.path = temporary_folder()

    def part(self, name, text, *how, compiler="g++"):
        return compiled(name, text, how, compiler)

    def operators(self, forms, pool):
        name = f"{'pool' if pool else 'malloc'}-" + "-".join(str(FORMS.index(f)) for f in forms)
        return self.part(name, OPERATORS + "".join(definition(f) for f in forms), *(["-DPOOL"] if pool else []), compiler="gcc")

    def use(self, *how, name="use"):
        return self.part(name, USE, "-std=c++17", "-fsized-deallocation", *how)

    def main(self, text=MAIN, name="main"):
        return self.part(name, text)

    def linked(self, name, *how, linker="g++"):
        """The command of a program, or the path of a library, in a list."""
        path = f"{self.path}/{name}"
        done(linker, "-o", path, *how)
        return [path]


def sets():
    """(forms, pool): those that legal programs have."""
    return [(forms, True) for forms in SETS] + [(forms, False) for forms in ODD]


def judged(command, forms, pool, plain=None, pool_counted=False, exact=True, env=None, own="work"):
    """True: it runs plainly, and is the same under the agent. `plain`: another command without one in it."""
    plain = run(plain or command, env=environment(**(env or {})))
    if plain.returncode:
        assert pool, (forms, plain)
        return False
    session = recorded(*command, env=environment(**(env or {})))
    assert session.stdout == plain.stdout, (forms, pool, plain, session.stdout)
    if exact:
        counted(report(session), plain.stdout, forms, pool, pool_counted, own)
    return True


def counted(r, out, forms, pool, pool_counted=False, own="work"):
    """Each block of malloc's once, and freed."""
    blocks, pooled = (int(n) for n in out.split(":")[0].split())
    mine = [s for s in r["stacks"] if own in [f["function"] for f in s["frames"]]]
    found = [sum(s[what] for s in mine) for what in ("allocated_blocks", "live_blocks")]
    assert found == [blocks if pool_counted else blocks - pooled, 0], (forms, pool, blocks, pooled, found)
    assert not r["agent"]["lost"]["events"], (forms, pool, r["agent"]["lost"])


def each(variant, least, all_sets=None, **named):
    """Every set that a plain program can have."""
    judgements = []
    for forms, pool in all_sets or sets():
        made = variant(forms, pool)
        command, plain = made if isinstance(made, tuple) else (made, None)
        judgements.append(judged(command, forms, pool, plain, **named))
    assert sum(judgements) >= least, judgements


@test
def t_in_the_executable():
    f = Folder()
    each(lambda forms, pool: f.linked("prog", f.main(), f.use(), f.operators(forms, pool)), 20)


@test
def t_in_the_executable_that_exports_all():
    f = Folder()
    each(lambda forms, pool: f.linked("prog", "-rdynamic", f.main(), f.use(), f.operators(forms, pool)), 7, SOME)


@test
def t_in_a_library_before_libstdcxx():
    """Here the agent is asked for every form, and counts a pool's blocks, too."""
    f = Folder()

    def variant(forms, pool):
        f.linked("libops.so", "-shared", f.operators(forms, pool), "-Wl,--unresolved-symbols=ignore-all")
        return f.linked("prog", "-rdynamic", f.main(), f.use(), "-L" + f.path, "-Wl,--no-as-needed", "-lops", "-Wl,-rpath," + f.path)
    each(variant, 7, SOME, pool_counted=True)


@test
def t_operators_of_libcxx():
    """LLVM's library, whose operators are in libc++abi."""
    f = Folder()
    found = sorted(glob.glob("/usr/lib/*-linux-gnu/libc++.so.1") + glob.glob("/usr/lib/*-linux-gnu/libc++abi.so.1"))
    if len(found) != 2:
        raise Skip("libc++1 and libc++abi1 are not installed")

    def variant(forms, pool):
        return f.linked("prog", f.main(), f.use("-DNO_STRING", name="use-without-string"), f.operators(forms, pool), *found, linker="gcc")
    each(variant, 7, SOME)


@test
def t_with_a_library_of_its_own():
    """-static-libstdc++: nobody else needs them, or (-rdynamic) a library may."""
    f = Folder()
    for more in [], ["-rdynamic"]:
        each(lambda forms, pool, more=more: f.linked("prog", "-static-libstdc++", *more, f.main(), f.use(), f.operators(forms, pool)),
             7, SOME)


@test
def t_of_a_library_that_calls_its_own():
    """-Bsymbolic: the library's calls of its own forms pass the agent by, those of the others do not."""
    f = Folder()
    for where in "use.so", "ops.so":
        def variant(forms, pool, where=where):
            parts = [f.use(), f.operators(forms, pool)]
            f.linked("libuse.so", "-shared", "-Wl,-Bsymbolic", *(parts if where == "use.so" else parts[1:]),
                     "-Wl,--unresolved-symbols=ignore-all")
            return f.linked("prog", "-rdynamic", f.main(), *([] if where == "use.so" else parts[:1]), "-L" + f.path,
                             "-Wl,--no-as-needed", "-luse", "-Wl,-rpath," + f.path)
        each(variant, 4, [(forms, False) for forms, _ in SOME])


@test
def t_operators_with_the_agent_linked_in():
    """The agent in the program itself, as weak functions: the program's own forms take their place."""
    f = Folder()

    def variant(forms, pool):
        parts = [f.main(), f.use(), f.operators(forms, pool)]
        return f.linked("prog", *parts, f"{BUILD}/libmemtop-agent.a", "-ldl", "-pthread"), f.linked("plain", *parts)
    each(variant, 7, SOME)


@test
def t_linked_in_by_wrap():
    """The linker leads the calls to the agent, but those that a file makes of its own forms."""
    f = Folder()
    for static in [], ["-static-libstdc++"], ["-static"]: # what a shared one allocates by itself is not seen
        def variant(forms, pool, static=static):
            parts = [*static, f.main(), f.use(), f.operators(forms, pool)]
            return f.linked("prog", *parts, f"@{BUILD}/wrap.flags", f"{BUILD}/libmemtop-wrap.a"), f.linked("plain", *parts)
        each(variant, 7, SOME, pool_counted=True, exact=bool(static))


@test
def t_operators_lead_on_after_attach():
    """Every form leads to whatever it led to before."""
    f = Folder()
    for forms, pool in SOME:
        prog = f.linked("prog", f.main(WAITING, "waiting"), f.use(), f.operators(forms, pool))
        plain = run(prog, stdin=subprocess.DEVNULL)
        if plain.returncode:
            continue
        p = start(prog, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert p.stdout.readline() == "ready\n", p.communicate()
        done(MEMTOP, "attach", "--no-view", str(p.pid))
        p.stdin.write("\n")
        p.stdin.flush()
        out = p.stdout.readline()
        assert "ready\n" + out == plain.stdout, (forms, pool, plain.stdout, out, p.communicate())
        counted(report(str(p.pid), arguments=["-p"]), out, forms, pool)
        p.communicate()
        assert p.returncode == 0, (forms, pool, p)


HOST = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		int deep = strchr(argv[1], 'd') ? RTLD_DEEPBIND : 0, global = strchr(argv[1], 'g') ? RTLD_GLOBAL : 0;
		void *p = dlopen(argv[i], RTLD_NOW | deep | global);
		if (!p)
			return fprintf(stderr, "%s\n", dlerror());
		int (*work)(void) = (int (*)(void))dlsym(p, "work"), (*report)(int) = (int (*)(int))dlsym(p, "report");
		if (!work || !report || report(work()))
			return 1;
	}
}
"""


def plugins(host, modes, more=()):
    """In a program that is C, or C++, loaded so."""
    f = Folder()
    need("gcc")
    main_part = f.part("host", HOST, compiler="gcc")
    program = f.linked("host", main_part, "-ldl", *host, linker="gcc")
    for mode in modes:
        def variant(forms, pool, mode=mode):
            f.linked("plugin.so", "-shared", f.use(), f.operators(forms, pool), *more)
            return [*program, mode, f.path + "/plugin.so"]
        # RTLD_DEEPBIND finds libc's malloc first: no block of the plugin is seen
        each(variant, 2, SOME[::2], exact="d" not in mode)


@test
def t_plugin_of_a_cxx_program():
    plugins(["-Wl,--no-as-needed", "-lstdc++"], ["l", "g", "d"])


@test
def t_plugin_of_a_c_program():
    plugins([], ["l", "g", "d"])


@test
def t_plugin_of_a_c_program_that_calls_its_own():
    plugins([], ["l", "g", "d"], ["-Wl,-Bsymbolic"])


if __name__ == "__main__":
    main()
