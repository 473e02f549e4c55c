#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_executables.py - memtop's judgement of the program that it starts is the agent's of a program that the target executes."""
import json
import os
import shutil

from cli import compiled, memtop
from harness import Skip, environment, main, run, temporary_folder, test

HELLO = """#include <stdio.h>
#include <stdlib.h>
void *volatile p[77];
int main(void) { for (int i = 0; i < 77; i++) p[i] = malloc(4242); puts("hello"); return 3; }
"""
OWN_MALLOC = HELLO + """
#include <stddef.h>
void *malloc(size_t n) { static char room[1 << 20]; static size_t used; used += (n + 15) & ~15ul; return room + used - n / 16 * 16; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
"""
NONE = None  # the agent goes in, and sees the program's allocations
OWN = "goes in"  # ... and sees none
SANITIZED, STATIC = "its own malloc", "statically linked"
FOREIGN, DAMAGED = "built for", "headers are cut off or damaged"  # no kernel executes them


def changed(path, offset, value):
    with open(path, "r+b") as f:
        f.seek(offset)
        f.write(value)
    return path


def without_sections(path):
    for tool in ("llvm-strip", "llvm-objcopy"):
        if shutil.which(tool):
            assert run([tool, "--strip-sections", path]).returncode == 0
            return path
    raise Skip("no tool strips the sections")


def sanitized(kind, compiler="gcc", *flags):
    return lambda: compiled(HELLO, f"-fsanitize={kind}", *flags, compiler=compiler)


def stripped(make):
    def strip():
        path = make()
        assert run(["strip", path]).returncode == 0
        return path
    return strip


def sectionless(make):
    return lambda: without_sections(make())


def loader():
    path = "/lib64/ld-linux-x86-64.so.2"
    if not os.path.exists(path):
        raise Skip(f"no {path}")
    return f"{path} {compiled(HELLO)}"


def nested(depth):
    """Scripts, each the interpreter of the next one."""
    def make():
        path = compiled(HELLO)
        for i in range(depth):
            with open(f"{path}{i}", "w", encoding="ascii") as f:
                f.write(f"#!{path}{i - 1 if i else ''}\n")
            os.chmod(f"{path}{i}", 0o755)
        return f"{path}{depth - 1}"
    return make


SANITIZERS = {"asan": sanitized("address"), "tsan": sanitized("thread"),
              "asan inside": sanitized("address", "gcc", "-static-libasan"), "tsan inside": sanitized("thread", "gcc", "-static-libtsan"),
              "asan of clang": sanitized("address", "clang"), "asan by sysv hash": sanitized("address", "clang", "-Wl,--hash-style=sysv"),
              "tsan of clang": sanitized("thread", "clang"), "msan of clang": sanitized("memory", "clang"), "lsan of clang": sanitized("leak", "clang")}
CASES = {
    "plain": (lambda: compiled(HELLO), NONE),
    "plain without sections": (sectionless(lambda: compiled(HELLO)), NONE),
    "no position-independent code": (lambda: compiled(HELLO, "-no-pie"), NONE),
    "the loader by hand": (loader, NONE),
    "five nested scripts": (nested(5), NONE),
    "six nested scripts": (nested(6), "too many nested scripts"),  # no kernel executes them
    "static": (lambda: compiled(HELLO, "-static"), STATIC),
    "static and position-independent": (lambda: compiled(HELLO, "-static-pie"), STATIC),
    **{name: (make, SANITIZED) for name, make in SANITIZERS.items()},
    **{f"{name}, stripped": (stripped(make), SANITIZED) for name, make in SANITIZERS.items()},
    **{f"{name}, without sections": (sectionless(make), SANITIZED) for name, make in SANITIZERS.items()},
    "ubsan": (sanitized("undefined"), NONE),
    "ubsan of clang": (sanitized("undefined", "clang"), NONE),
    "shared lsan": (sanitized("leak"), NONE),
    "a malloc of its own": (lambda: compiled(OWN_MALLOC, "-fno-builtin"), OWN),
    "ubsan and a malloc of its own": (lambda: compiled(OWN_MALLOC, "-fno-builtin", "-fsanitize=undefined", compiler="clang"), OWN),
    "another machine": (lambda: changed(compiled(HELLO), 18, b"\xf3\0"), FOREIGN),
    "size of headers damaged": (lambda: changed(compiled(HELLO), 54, b"\x39\0"), DAMAGED),
}


def as_the_first(program, plain):
    """What memtop says of the program; NONE; OWN."""
    session = temporary_folder() + "/a.mtop"
    done = memtop("record", "-o", session, "--", *program.split())
    if not os.path.exists(session):
        assert done.returncode == 126 and done.stderr.count("\n") == 1, done
        return done.stderr
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), (done, plain)
    stacks = json.loads(memtop("report", "-f", "json", session).stdout)["stacks"]
    return NONE if [s for s in stacks if s["allocated_blocks"] == 77 and s["allocated_bytes"] == 77 * 4242] else OWN


def as_a_child(program, plain):
    """The same of a program that a shell executes."""
    session = temporary_folder() + "/a.mtop"
    done = memtop("record", "-o", session, "--", "sh", "-c", f"{program}; exit $?")
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout), (done, plain)
    rows = json.loads(memtop("report", "-f", "json", session).stdout)["processes"]
    child, = [p for p in rows if p["parent"]] or [{"state": "lost", "allocated_bytes": 0, "why": rows}]
    if child["state"] == "not_followed":
        return child["why"]
    return NONE if child["allocated_bytes"] >= 77 * 4242 else OWN


@test
def t_first_program_and_child_are_judged_alike():
    wrong = []
    for name, (make, expected) in CASES.items():
        try:
            program = make()
        except Skip as why:
            print(f"  ({name}: {why})")
            continue
        plain = run(["sh", "-c", f"{program}; exit $?"], env=environment())
        if plain.returncode not in (3, 126, 127):  # some machines run no sanitizer of these
            print(f"  ({name}: {plain.stderr[:80]})")
            continue
        for judge in (as_the_first, as_a_child) if plain.returncode == 3 else (as_the_first,):
            said = judge(program, plain)
            if not (said == expected if expected in (NONE, OWN) else said not in (NONE, OWN) and expected in said):
                wrong.append((name, judge.__name__, said))
    assert not wrong, wrong


main()
