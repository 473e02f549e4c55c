#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_interposed.py - the agent and functions of the same names.

Nothing that the agent calls can be replaced: a program or a library that defines clone(), strnlen()
or any other name that the agent uses is never called by it. The other way round, a hook passes its
call on to the next definition, whoever's it is. A program and a library do all that, at a start
and at an attach.
"""
import re
import subprocess

from attaching import attached, detached
from board import ENDED, FOLLOWED, NONE, UNFOLLOWED, WRAPPED, Board
from harness import (AGENT, BUILD, MEMTOP, TARGETS, environment, main, need, recorded, report, run, start,
                     temporary_folder, test)

# What a hook of this name is tried with: other ways to make its call.
SHARED = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat", "_exit")
# An attached agent follows no exec. jemalloc's are only hooked where jemalloc is: recording/test_allocators.py.
NO_HOOKS = ("memtop_", "JNI_", "mallocx", "rallocx", "xallocx", "dallocx", "sdallocx")

COUNTING = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROOM 4096

static long nobody[ROOM / sizeof(long)];
__attribute__((visibility("hidden"))) long *counts_of = nobody;

#define NEXT(number, name, other, counts) __attribute__((visibility("hidden"))) void *next_##number;
CALLS(NEXT)

/* A call may come before the constructor. */
#define JUMP(number, name, other, counts) \
    __asm__(".pushsection .text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" \
        "cmpq $0, next_" #number "(%rip)\njne 1f\n" \
        "push %rax\npush %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\n" \
        "call count_calls_begin\n" \
        "pop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\npop %rax\n" \
        "1: movq counts_of(%rip), %r11\n" counts "lock incq 8*" #number "(%r11)\n" \
        "2: jmp *next_" #number "(%rip)\n.popsection\n");
CALLS(JUMP)

__attribute__((visibility("hidden"), constructor)) void count_calls_begin(void)
{
#define FIND(number, name, other, counts) \
    if (!next_##number && !(next_##number = dlsym(RTLD_NEXT, #name))) \
        next_##number = dlsym(RTLD_NEXT, #other);
    CALLS(FIND)
    const char *file = counts_of == nobody ? getenv("COUNTS") : NULL;
    int fd = file ? open(file, O_RDWR) : -1;
    if (fd < 0)
        return;
    void *p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p != MAP_FAILED)
        counts_of = p;
}
"""


def hooks():
    with open(f"{BUILD}/agent.map", encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    names = re.findall(r"([A-Za-z_]\w*);", text[text.index("global:"):text.index("local:")])
    return [n for n in names if not n.startswith(NO_HOOKS)]


def compiled(folder, name, source, *flags, compiler="gcc"):
    path = f"{folder}/{name}"
    with open(f"{path}.c", "w", encoding="utf-8") as f:
        f.write(source)
    done = run([compiler, "-D_GNU_SOURCE", "-w", "-O1", "-fno-builtin", *flags, "-o", path, f"{path}.c"])
    assert done.returncode == 0, done.stderr
    return path


def counting(folder, names):
    """A library that counts the calls of these functions; the other name is what answers where the C library has no such function."""
    unless_null = r'"testq %rdi, %rdi\njz 2f\n"'  # free(NULL), as glibc 2.41's wordexp() calls it, does nothing and is not passed on
    calls = " ".join(f"X({i}, {n}, {'free' if 'free' in n else 'getpid'}, {unless_null if n == 'free' else ''})" for i, n in enumerate(names))
    return compiled(folder, "counting.so", f"#define CALLS(X) {calls}\n{COUNTING}", "-fPIC", "-shared", "-ldl")


def calls_of(names, folder, library, before=()):
    """{call: {function: times}} of one call of each."""
    file = f"{folder}/counts"
    with open(file, "wb") as f:
        f.write(bytes(4096))
    tried = [*names, *(f"vfork {n}" for n in SHARED)]
    done = run([*before, "env", f"LD_PRELOAD={library}", f"COUNTS={file}", f"{TARGETS}/s_each_hook", file, *tried], 60, env=environment())
    assert done.returncode == 0, done
    lines = [line.split() for line in done.stdout.splitlines() if not line.startswith("memtop: ")]
    found = {}
    for line in lines:
        what = " ".join(w for w in line if "+" not in w)
        assert "unknown" not in what, what
        found[what] = {names[int(n)]: int(times) for n, times in (w.split("+") for w in line if "+" in w)}
    assert list(found) == tried, (list(found), tried)
    return found


def differences(plain, ours):
    return [f"{call}: {ours[call]}, without the agent {plain[call]}" for call in plain if plain[call] != ours[call]]


@test
def t_hooks_pass_on_to_the_next_definition():
    """Every hook's function is called as often as without the agent, also by a library that has that one alone."""
    folder, names = temporary_folder(), hooks()
    library = counting(folder, names)
    plain = calls_of(names, folder, library)
    missed = [n for n in names if not plain[n].get(n)]
    assert not missed, f"the program does not call {missed}"
    ours = calls_of(names, folder, library, [MEMTOP, "record", "-o", f"{folder}/all.mtop", "--"])
    assert not differences(plain, ours), "\n".join(differences(plain, ours))


@test
def t_hooks_pass_on_to_a_library_that_has_one_of_them():
    """... where execve() is wrapped and execv() is not, say, and the other way round."""
    folder = temporary_folder()
    bad = []
    for name in (*SHARED, "posix_spawn", "system", "fork", "reallocarray", "nanosleep"):
        library = counting(folder, [name])
        plain = calls_of([name], folder, library)
        bad += differences(plain, calls_of([name], folder, library, [MEMTOP, "record", "-o", f"{folder}/one.mtop", "--"]))
    assert not bad, "\n".join(bad)


@test
def t_programs_that_a_wrapper_executes_are_followed():
    folder = temporary_folder()
    with open(f"{folder}/counts", "wb") as f:
        f.write(bytes(4096))
    for name in ("execve", "execv", "execvp", "execl", "execle"):
        rows = []
        for library in ("", counting(folder, [name])):
            session = recorded("env", f"LD_PRELOAD={library}", f"{TARGETS}/s_each_hook", f"{folder}/counts", name)
            text = run([MEMTOP, "report", session], env=environment()).stdout
            rows.append(re.findall(r"(?:exited 0|not followed|runs|unknown).*s_each_hook", text))
        assert rows[0] and len(rows[0]) == len(rows[1]), (name, rows, text)


EXECV = "#include <unistd.h>\nint execv(const char *path, char *const *argv) {{ {body} }}\n"
ITS_EXECV = {"an execve of its own": "return execve(path, argv, environ);",
             "the kernel": "#include <sys/syscall.h>\nreturn syscall(SYS_execve, path, argv, environ);"}


@test
def t_a_wrapper_in_a_child_of_vfork():
    """One record for the program: followed where the wrapper's own exec is a hook again, else with the reason."""
    folder = temporary_folder()
    for how, body in ITS_EXECV.items():
        library = compiled(folder, "wrapper.so", EXECV.format(body=f"\n{body}\n"), "-fPIC", "-shared")
        for kind in ("fork", "vfork"):
            b = Board()
            done = run([f"{TARGETS}/s_tree", "starts", kind, "/bin/true"], env=dict(b.environment(), LD_PRELOAD=f"{AGENT}:{library}"))
            found = [r for r in b.settled() if r.name == "true"]
            want = (UNFOLLOWED, WRAPPED) if kind == "vfork" and how == "the kernel" else (ENDED, FOLLOWED)
            assert done.returncode == 0 and [(r.state, r.why) for r in found] == [want], (how, kind, b.records())
            assert found[0].pid and found[0].parent != NONE, found


@test
def t_a_clock_that_reads_a_thread_variable():
    """As libfaketime's. The agent's server has no thread variables of the program's: it may not call such a clock."""
    folder = temporary_folder()
    clock = compiled(folder, "clock.so", "#include <sys/syscall.h>\n#include <time.h>\n#include <unistd.h>\nstatic __thread long calls = 1;\n"
                     "int clock_gettime(clockid_t id, struct timespec *t) { return calls++ > 0 ? syscall(SYS_clock_gettime, id, t) : -1; }\n"
                     "int gettimeofday(struct timeval *t, void *z) { return calls++ > 0 ? syscall(SYS_gettimeofday, t, z) : -1; }\n", "-fPIC", "-shared")
    program = compiled(folder, "asks", "#include <time.h>\n#include <stdlib.h>\nint main(void) { struct timespec t; char *volatile p = malloc(100);\n"
                       "return !p || clock_gettime(CLOCK_MONOTONIC, &t) ? 9 : 7; }\n", "-Wl,--no-as-needed", clock)
    for before in ([], ["env", f"LD_PRELOAD={clock}"]):
        session = recorded(*before, program, status=7)
        assert session.stderr == "", (before, session.stderr)
        text = run([MEMTOP, "report", session], env=environment()).stdout
        assert "exited with status 7" in text and "100 in 1 block" in text, text


# --- what the agent calls

VICTIM = r"""
typedef unsigned long size_t;
void *malloc(size_t), *calloc(size_t, size_t), *realloc(void *, size_t);
void free(void *);
int fork(void), waitpid(int, int *, int);
int pthread_create(unsigned long *, void *, void *(*)(void *), void *), pthread_join(unsigned long, void **);
int execv(const char *, char *const *), setenv(const char *, const char *, int);
long read(int, void *, size_t), write(int, const void *, size_t);
static void *work(void *unused)
{
    void *p = malloc(1000);
    return realloc(p, 100000);
}
static void round_of(int with_children)
{
    unsigned long thread;
    void *p = 0;
    for (int i = 0; i < 100; i++) {
        p = calloc(1, 100 + i);
        if (i % 2)
            free(p);
    }
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, &p);
    free(p);
    setenv("VICTIM", "1", 1);
    int pid = with_children ? fork() : 0;
    if (with_children && !pid) {
        char *const none[] = { "victim", 0 };
        malloc(10);
        execv("/proc/self/exe", none);
        __builtin_trap();
    }
    if (pid)
        waitpid(pid, 0, 0);
}
/* no argument: ends at once. one: a round. two: rounds, one for each byte on stdin; each is answered */
int main(int argc, char **argv)
{
    char byte;
    if (argc == 2)
        round_of(1);
    while (argc == 3 && read(0, &byte, 1) == 1) {
        round_of(0);
        write(1, &byte, 1);
    }
    return argc == 2 ? 7 : 0;
}
"""
# Bodies that nobody survives; a variable is full of addresses that nobody can read.
BODY = {True: "void *{0}[64] = {{ (void *)16, (void *)16, (void *)16, (void *)16 }};", False: "void {0}(void) {{ __builtin_trap(); }}"}


def names_of_libc():
    """{name: is it a variable?} of everything that the agent takes of the C library, or has instead."""
    with open("agent/base/libc.h", encoding="utf-8") as f:
        text = f.read()
    variables = text[text.index("#define LIBC_VARIABLES"):text.index("/* clang-format on")]
    found = {n: False for n in re.findall(r"X\((\w+)", text[:text.index("#define LIBC_VARIABLES")])}
    found.update({n: True for n in re.findall(r"X\((\w+)", variables)})
    found.update({"__environ": True, "__progname": True})
    with open("agent/base/string.c", encoding="utf-8") as f:
        found.update({n: False for n in re.findall(r"^OWN .*?(\w+)\(", f.read(), re.M)})
    # what it took before, or could take again
    more = "dladdr dladdr1 getenv syscall __cxa_finalize sigprocmask getpid gettid mmap munmap open openat close pthread_once " \
           "__tls_get_addr gettimeofday time nanosleep memccpy strdup strtol qsort bsearch dlvsym secure_getenv"
    found.update({n: False for n in more.split()})
    del found["name"]
    return found


class Victims:
    """Programs that define names of the C library by themselves, or have a library that does."""

    def __init__(self, compiler, place):
        self.folder, self.compiler, self.place = temporary_folder(), compiler, place
        self.user = None  # the library's
        self.agent = {"MEMTOP_AGENT": f"{BUILD}/musl/libmemtop-agent.so"} if "musl" in compiler else {}

    def build(self, names):
        bodies = "\n".join(BODY[variable].format(name) for name, variable in names.items())
        glibc = [] if "musl" in self.compiler else ["-pthread", "-ldl"]
        if self.place == "program":
            return compiled(self.folder, "victim", VICTIM + bodies, "-rdynamic", *glibc, compiler=self.compiler)
        library = compiled(self.folder, "libvictim.so", bodies, "-shared", "-fPIC", compiler=self.compiler)
        if not self.user:  # of whatever the library is then
            self.user = compiled(self.folder, "victim", VICTIM, "-Wl,--no-as-needed", library, *glibc, compiler=self.compiler)
        return self.user

    def runs_alone(self, names):
        program = self.build(names)
        done = run([program, "one"], env=environment())
        with start([program, "a", "round"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
            return done.returncode == 7 and process.communicate(b"ab")[0] == b"ab" and process.returncode == 0

    def harmless(self):
        """The names that do the program itself no harm: neither it nor its C library calls them so."""
        return {n: v for n, v in names_of_libc().items() if self.runs_alone({n: v})}

    def started(self, names):
        """What is wrong; None."""
        program, file = self.build(names), f"{self.folder}/started.mtop"
        done = run([MEMTOP, "record", "-o", file, "--", program, "one"], env=environment(**self.agent))
        if done.returncode != 7 or done.stderr:
            return f"started: {done.returncode} {done.stderr}"
        blocks = report(file)["totals"]["allocated_blocks"]
        return None if blocks >= 102 else f"started: {blocks} blocks"

    def attached(self, names):
        program = self.build(names)
        with start([program, "a", "round"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=environment()) as process:
            process.stdin.write(b"a")
            process.stdout.read(1)
            try:
                attached(process.pid, env=environment(**self.agent))
                process.stdin.write(b"b")
                process.stdout.read(1)
                blocks = report(f"@memtop.{process.pid}")["totals"]["allocated_blocks"]
                detached(f"@memtop.{process.pid}")
            except AssertionError as bad:
                return f"attached: {bad}"
            process.stdin.write(b"c")
            process.stdout.read(1)
            process.stdin.close()
            status = process.wait()
        return None if status == 0 and blocks >= 100 else f"attached: {status}, {blocks} blocks"


def interposed(compiler, place):
    victims = Victims(compiler, place)
    names = victims.harmless()
    assert len(names) > 40, f"only {list(names)} can be tried"
    for check in (victims.started, victims.attached):
        if check(names):
            bad = [f"{name}: {why}" for name, why in ((n, check({n: v})) for n, v in names.items()) if why]
            assert not bad, "\n".join(bad)
            raise AssertionError(f"all of them: {check(names)}")


@test
def t_a_program_that_defines_what_the_agent_calls():
    interposed("gcc", "program")


@test
def t_a_library_that_defines_what_the_agent_calls():
    interposed("gcc", "library")


@test
def t_a_musl_program_that_defines_what_the_agent_calls():
    need("musl-gcc")
    interposed("musl-gcc", "program")


@test
def t_a_library_of_a_musl_program():
    need("musl-gcc")
    interposed("musl-gcc", "library")


if __name__ == "__main__":
    main()
