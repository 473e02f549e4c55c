#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_cli_programs.py - the command line: programs that memtop cannot run or watch, each with its
reason."""
import os
import shutil
import signal
import stat

from cli import memtop, one_line, compiled
from harness import (AGENT, MEMTOP, Skip, environment, main, need, recorded, report, run, start, temporary_folder,
                     test, wait_for)


@test
def t_program_not_found():
    for verb in ("record",):
        one_line(memtop(verb, "-o", temporary_folder() + "/a.mtop", "--", "no-such-program"), 127, "no-such-program")
        one_line(memtop(verb, "-o", temporary_folder() + "/a.mtop", "--", "./no/such"), 127, "./no/such")


@test
def t_program_not_executable():
    folder = temporary_folder()
    path = folder + "/plain"
    with open(path, "w", encoding="utf-8") as f:
        f.write("text\n")
    os.chmod(path, 0o644)
    one_line(memtop("record", "-o", folder + "/a.mtop", "--", path), 126, path)
    os.chmod(path, 0o755)
    with open(path, "wb") as f:
        f.write(b"\x7fELF" + bytes(100))
    one_line(memtop("record", "-o", folder + "/a.mtop", "--", path), 126, path)
    one_line(memtop("record", "-o", folder + "/a.mtop", "--", folder), 126, folder)
    os.mkfifo(folder + "/pipe", 0o755)
    one_line(memtop("record", "-o", folder + "/a.mtop", "--", folder + "/pipe"), 126, "not a plain file")
    for text, why in (("#!/no/such/interpreter\n", "/no/such/interpreter"), ("#!\n", "neither ELF nor a script"),
                      ("", "neither ELF nor a script"), ("#!" + path + "\n", path)):
        script = folder + "/script"
        with open(script, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(script, 0o755)
        one_line(memtop("record", "-o", folder + "/a.mtop", "--", script), 126, script, why)


@test
def t_program_static():
    path = compiled("int main(void) { return 0; }", "-static")
    one_line(memtop("record", "-o", temporary_folder() + "/a.mtop", "--", path), 126, path, "static")
    path = compiled("int main(void) { return 0; }", "-shared", "-fPIC")
    one_line(memtop("record", "-o", temporary_folder() + "/a.mtop", "--", path), 126, path, "a shared library")


@test
def t_program_setuid():
    path = compiled("int main(void) { return 0; }")
    if os.geteuid():
        raise Skip("making a file of another user needs root")
    os.chown(path, 65534, 65534)
    os.chmod(path, 0o4755)
    if not os.stat(path).st_mode & stat.S_ISUID:
        raise Skip("this file system has no setuid")
    one_line(memtop("record", "-o", temporary_folder() + "/a.mtop", "--", path), 126, path, "setuid")


@test
def t_program_of_another_architecture():
    need("aarch64-linux-gnu-gcc")
    folder = temporary_folder()
    path = folder + "/arm"
    with open(path + ".c", "w", encoding="utf-8") as f:
        f.write("int main(void) { return 0; }")
    done = run(["aarch64-linux-gnu-gcc", "-o", path, path + ".c"])
    assert done.returncode == 0, done.stderr
    one_line(memtop("record", "-o", folder + "/a.mtop", "--", path), 126, path, "aarch64")


@test
def t_no_agent_file():
    env = environment(MEMTOP_AGENT="/nonexistent/agent.so")
    one_line(memtop("record", "-o", temporary_folder() + "/a.mtop", "--", "/bin/true", env=env), 125,
             "/nonexistent/agent.so")
    one_line(memtop("record", "--agent", "/etc/passwd", "-o", temporary_folder() + "/a.mtop", "--", "/bin/true"), 125,
             "/etc/passwd")


FIFTY = """#include <stdlib.h>
char *volatile keep[50];
int main(void) { for (int i = 0; i < 50; i++) keep[i] = malloc(100); return 0; }
"""


@test
def t_program_with_a_sanitizer():
    """One line before it starts, where an agent cannot be; those that bring no malloc are counted."""
    need("clang")
    for compiler, kinds in (("gcc", ("address", "thread")), ("clang", ("address", "thread", "memory", "leak"))):
        for kind in kinds:
            path = compiled(FIFTY, f"-fsanitize={kind}", compiler=compiler)
            one_line(memtop("record", "-o", temporary_folder() + "/a.mtop", "--", path), 126, path, f"-fsanitize={kind}",
                     "run it without memtop")
    path = compiled(FIFTY, "-fsanitize=address", "-static-libasan")
    one_line(memtop("record", "-o", temporary_folder() + "/a.mtop", "--", path), 126, path, "-fsanitize=address")


@test
def t_program_with_a_sanitizer_that_has_no_malloc():
    need("clang")
    for compiler, kind in (("gcc", "undefined"), ("clang", "undefined"), ("gcc", "leak")):
        r = report(recorded(compiled(FIFTY, f"-fsanitize={kind}", compiler=compiler)))
        mine = [s for s in r["stacks"] if s["frames"] and s["owner"] == "prog" and s["allocated_blocks"] == 50]
        assert mine and mine[0]["live_bytes"] == 5000, (compiler, kind, r["totals"], r["stacks"])
        assert not [w for w in r["warnings"] if "malloc of its own" in w], r["warnings"]


OWN_MALLOC = """#include <stdlib.h>
#include <string.h>
static char pool[1 << 20];
static size_t used;
SEEN void *malloc(size_t n) { void *p = pool + used; used += (n + 15) & ~15ul; return p; }
SEEN void free(void *p) { (void)p; }
SEEN void *calloc(size_t n, size_t m) { return memset(malloc(n * m), 0, n * m); }
SEEN void *realloc(void *p, size_t n) { void *q = malloc(n); if (p) memcpy(q, p, n); return q; }
"""


@test
def t_program_with_its_own_malloc():
    """It runs, nothing of that malloc is seen, and the report says why."""
    for seen, words in (("-DSEEN=", "it and its libraries allocate there"),
                        ('-DSEEN=__attribute__((visibility("hidden")))', "it allocates there")):
        path = compiled(OWN_MALLOC + FIFTY, "-fno-builtin", seen)
        r = report(recorded(path))
        said = [w for w in r["warnings"] if "has a malloc of its own" in w]
        assert len(said) == 1 and path in said[0] and words in said[0], r["warnings"]
        assert not [s for s in r["stacks"] if s["allocated_blocks"] == 50], r["stacks"]
        assert r["program"]["state"] == "exited" and r["program"]["status"] == 0, r["program"]


def record_spaced():
    """A session's file, and the command that records into it by an agent in a folder that LD_PRELOAD cannot name."""
    folder = temporary_folder() + "/two words/build"
    os.makedirs(folder)
    agent = shutil.copy(AGENT, folder)
    return folder + "/a.mtop", [MEMTOP, "record", "--agent", agent, "-o", folder + "/a.mtop"]


def ended_pid():
    p = start(["/bin/true"])
    p.wait(60)
    return p.pid


@test
def t_an_agent_below_a_folder_with_a_space():
    """A link stands for the folder; it is there for all programs of the tree, and gone when they are."""
    (session, record), runtime = record_spaced(), temporary_folder()
    env = environment(XDG_RUNTIME_DIR=runtime)
    look = f"ls -d {runtime}/*/at; /bin/cat /dev/null; stat -c %a {runtime}/*"
    done = run([*record, "--", "/bin/sh", "-c", look], 60, env=env)
    assert done.returncode == 0 and not done.stderr.count("LD_PRELOAD"), done
    link, mode = done.stdout.split()
    assert link.startswith(f"{runtime}/memtop-agent.") and mode == "711", done.stdout
    assert not os.listdir(runtime), os.listdir(runtime)
    names = {p["name"] for p in report(session)["processes"]}
    assert {"sh", "cat"} <= names, names


@test
def t_the_link_stays_while_a_program_runs():
    (_, record), runtime = record_spaced(), temporary_folder()
    env = environment(XDG_RUNTIME_DIR=runtime)
    done = run([*record, "--for", "0.2", "--", "/bin/sh", "-c", "exec sleep 300 >/dev/null 2>&1"], 60, env=env)
    assert done.returncode == 0, done
    pid = int(done.stderr.split("as process ")[1].split(",")[0])
    try:
        kept, = os.listdir(runtime)
        assert os.path.exists(f"{runtime}/{kept}/at/build/libmemtop-agent.so")
        done = run([*record, "--", "/bin/true"], 60, env=env)
        assert done.returncode == 0 and os.listdir(runtime) == [kept], (done, os.listdir(runtime))
    finally:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not os.path.exists(f"/proc/{pid}/exe"), what="the program's end")
    done = run([*record, "--", "/bin/true"], 60, env=env)
    assert done.returncode == 0 and not os.listdir(runtime), (done, os.listdir(runtime))


@test
def t_links_of_others_stay():
    """A folder of another user, or one that others can write, is neither used nor removed; nor is what a link leads to."""
    (_, record), runtime, other = record_spaced(), temporary_folder(), temporary_folder()
    left = f"memtop-agent.{os.stat('/proc/self/ns/pid').st_ino}.{ended_pid()}"
    os.makedirs(f"{other}/own")
    os.symlink("/nowhere", f"{other}/own/at")
    os.symlink(f"{other}/own", f"{runtime}/{left}.link")
    os.mkdir(f"{runtime}/{left}.open")
    os.chmod(f"{runtime}/{left}.open", 0o777)
    stays = {f"{left}.link", f"{left}.open"}
    if not os.geteuid():
        os.mkdir(f"{runtime}/{left}.user")
        os.chown(f"{runtime}/{left}.user", 65534, 65534)
        stays.add(f"{left}.user")
    os.mkdir(f"{runtime}/{left}.mine", 0o700)
    os.symlink("/nowhere", f"{runtime}/{left}.mine/at")
    say = ["/bin/sh", "-c", f"ls -d {runtime}/*/at/build {other}/*/at/build 2>/dev/null"]
    record += ["--", *say]
    done = run(record, 60, env=environment(XDG_RUNTIME_DIR=runtime))
    assert done.stdout.startswith(f"{runtime}/memtop-agent."), done
    assert set(os.listdir(runtime)) == stays and os.path.lexists(f"{other}/own/at"), os.listdir(runtime)
    os.chmod(runtime, 0o777)
    done = run(record, 60, env=environment(XDG_RUNTIME_DIR=runtime, TMPDIR=other))
    assert done.stdout.startswith(f"{other}/memtop-agent."), done
    assert os.listdir(other) == ["own"], os.listdir(other)


if __name__ == "__main__":
    main()
