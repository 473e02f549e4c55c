#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_rebuilt.py - names of a program or library whose file was deleted, or built again, while it
runs: live and in recordings, with a build-id and without one."""
import os
import subprocess

from cli import compiled, memtop
from harness import AGENT, Skip, environment, main, recording, report, start, test, wait_for, wait_for_session

ALLOCATES = """
#include <stdlib.h>
void *volatile kept[10];
__attribute__((noinline)) void FUNCTION(void) { for (int i = 0; i < 10; i++) kept[i] = malloc(1000); }
"""
# Allocates at the first byte of its input; ends with its input.
WAITS = """
#include <unistd.h>
void FUNCTION(void);
int main(void)
{
	char c;
	if (read(0, &c, 1) == 1)
		FUNCTION();
	if (write(1, "+", 1) == 1)
		while (read(0, &c, 1) == 1)
			;
	return 0;
}
"""
IDS = "-Wl,--build-id=sha1", "-Wl,--build-id=none"


def built(source, function, *flags):
    return compiled(source.replace("FUNCTION", function), "-g", *flags)


def live(program):
    p = start([program], env=environment(LD_PRELOAD=AGENT), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    wait_for(lambda: f"@memtop.{p.pid}\n" in memtop("list").stdout, 30, "the agent in the list")
    return p


def allocates(p):
    p.stdin.write(b"+")
    assert p.stdout.read(1) == b"+"


def move(new, old):
    """None: `old` is deleted."""
    if new:
        os.rename(new, old)
    else:
        os.remove(old)


def holds(pid, path):
    """Has it opened that file?"""
    with os.scandir(f"/proc/{pid}/fd") as found:
        for e in found:
            try:
                if os.readlink(e.path) == path:
                    return True
            except FileNotFoundError:
                pass
    return False


def functions(r):
    return {f["function"] for s in r["stacks"] for f in s["frames"]}


def checked(r, what):
    assert "the_first" in functions(r) and "the_second" not in functions(r), (what, functions(r), r["warnings"])
    assert not any("names unknown" in w for w in r["warnings"]), (what, r["warnings"])


@test
def t_the_executable_live():
    for flag in IDS:
        for again in False, True:
            program = built(ALLOCATES + WAITS, "the_first", flag)
            p = live(program)
            move(built(ALLOCATES + WAITS, "the_second", flag) if again else None, program)
            allocates(p)
            checked(report(f"@memtop.{p.pid}"), (flag, again))


@test
def t_the_executable_in_a_recording():
    for flag in IDS:
        for again in False, True:
            program = built(ALLOCATES + WAITS, "the_first", flag)
            p = recording(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
            wait_for_session(p.session)
            move(built(ALLOCATES + WAITS, "the_second", flag) if again else None, program)
            allocates(p)
            wait_for(lambda: holds(p.pid, f"{program} (deleted)"), 30, "the recorder's look at the program's file")
            p.stdin.close()
            assert p.wait(60) == 0
            checked(report(p.session), (flag, again))


@test
def t_a_library_that_was_rebuilt():
    """The kernel lends mapped files, other than the executable, to few users."""
    library = built(ALLOCATES, "the_first", "-shared", "-fPIC", IDS[0])
    p = live(built(WAITS, "the_first", library))
    with open(f"/proc/{p.pid}/maps", encoding="utf-8") as f:
        mapped = next(line.split()[0] for line in f if line.rstrip().endswith(library))
    try:
        os.close(os.open(f"/proc/{p.pid}/map_files/{mapped}", os.O_RDONLY))
    except OSError as e:
        raise Skip(f"/proc/PID/map_files: {e.strerror}") from None
    os.remove(library)
    allocates(p)
    checked(report(f"@memtop.{p.pid}"), "library")


if __name__ == "__main__":
    main()
