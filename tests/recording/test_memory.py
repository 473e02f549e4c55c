#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_memory.py - the parts of the resident memory, against a program with known amounts and
against the kernel."""
import subprocess

import wire
from cli import compiled
from client import Client, run_watched
from harness import BUILD, main, test

LIVE, ROUNDING, FREE, FILE, SHARED, STACK, AGENT, OTHER = range(8)
MIB = 1 << 20


def watched(*command):
    p = run_watched(list(command), "listen=@memtop-test.%p", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n"
    return p, Client(f"@memtop-test.{p.pid}").until_complete()


def scan(c, request):
    c.send(wire.SCAN, request=request, kind=2, slots=[])
    c.until(lambda: request in c.scans, "the memory")
    return c.scans[request]["parts"]


def sums(parts):
    return [sum(p["bytes"] for p in parts if p["what"] == what) for what in range(8)]


def rss(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("Rss:"))


def near(value, want, slack):
    assert abs(value - want) <= slack, f"{value} is not within {slack} of {want}"


@test
def t_parts_are_what_the_program_made():
    p, c = watched(f"{BUILD}/tests/targets/s_memory")
    before = rss(p.pid)
    parts = scan(c, 1)
    got = sums(parts)
    near(sum(got), before, before // 50)
    pins = 2000 * 100
    # the 100 MiB that nobody touched are no resident memory: of each large block only the first page is
    near(got[LIVE], 1000 * 20000 + pins, 64 * 1024)
    near(got[ROUNDING], 1000 * 16 + 2000 * 12, 16 * 1024)
    near(got[FREE], 2000 * 20016, MIB)
    near(got[OTHER], 16 * MIB, MIB)
    near(got[SHARED], 8 * MIB, 64 * 1024)
    near(got[STACK], 4 * MIB, MIB // 2)
    assert got[FILE] > MIB and got[AGENT] > 100 * 1024, got
    names = {x["name"].rsplit("/", 1)[-1]: x for x in parts if x["name"]}
    assert any(n.startswith("libc") for n in names) and "s_memory" in names, sorted(names)
    assert any(n.startswith("memfd:parts") and x["what"] == SHARED for n, x in names.items()), sorted(names)


@test
def t_what_is_freed_moves_to_the_free_lists():
    p, c = watched(f"{BUILD}/tests/targets/s_memory", "more")
    first = sums(scan(c, 1))
    p.stdin.write(b"x")
    p.stdin.flush()
    assert p.stdout.readline() == b"less\n"
    second = sums(scan(c, 2))
    near(first[LIVE] - second[LIVE], 500 * 20000, 64 * 1024)
    near(second[FREE] - first[FREE], 500 * 20016, 256 * 1024)
    near(sum(second), rss(p.pid), rss(p.pid) // 50)
    assert second[STACK] < first[STACK] - 3 * MIB, (first, second)


@test
def t_real_programs_add_up():
    """Another allocator, threads, many mappings: the parts sum to the kernel's figure."""
    script = ("import sys; a = [bytearray(3000) for _ in range(20000)]; "
              "b = {str(i): i for i in range(100000)}; print('ready', flush=True); sys.stdin.read()")
    p, c = watched("/usr/bin/python3", "-c", script)
    got = sums(scan(c, 1))
    near(sum(got), rss(p.pid), rss(p.pid) // 50)
    near(got[LIVE], c.live()[1], c.live()[1] // 20)
    assert got[FREE] < sum(got) // 4 and got[FILE] > 2 * MIB, got


@test
def t_neighbours_are_told_apart():
    """Aligned blocks beside the program's own mappings, which the kernel joins, and a stack within a block."""
    p, c = watched(f"{BUILD}/tests/targets/s_memory", "beside")
    got = sums(scan(c, 1))
    near(sum(got), rss(p.pid), rss(p.pid) // 50)
    near(got[OTHER], 20 * 4 * MIB, 2 * MIB)
    near(got[LIVE], 20 * 3 * MIB + 2 * MIB, 2 * MIB)
    assert got[FREE] < MIB and got[STACK] < MIB, got


GO = """
#include <stdio.h>
int main(void) { puts("ready"); fflush(stdout); return getchar(); }
__asm__(".section .note.go.buildid, \\"a\\", @note\\n .balign 4\\n"
        ".long 4, 8, %d\\n .ascii \\"Go\\\\0\\\\0\\"\\n .ascii \\"an id...\\"\\n .previous\\n");
"""


@test
def t_go_is_told_by_its_note():
    """Go's linker writes its note behind the build-id; memtop finds both."""
    for kind, go in ((4, True), (5, False)):
        p, c = watched(compiled(GO % kind, "-Wl,--build-id"))
        program = next(m for m in c.modules.values() if m["flags"] & 1)
        assert bool(program["flags"] & 1 << 15) == go and len(program["build_id"]) == 20, program
        assert sum(bool(m["flags"] & 1 << 15) for m in c.modules.values()) == go, c.modules
        p.stdin.write(b"x")
        p.stdin.close()
        p.wait()


if __name__ == "__main__":
    main()
