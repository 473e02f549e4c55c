#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_follow.py - a program whose children are followed behaves as without memtop, and so do its
children."""
import os
import shutil
import signal
import struct

from board import ENDED, EXIT, LIBC, MACHINE, NO_ACCESS, NO_AGENT, NO_ROOM, NONE, OTHER_PROC, RUNNING, SANITIZER, SETUID, STATIC, UNFOLLOWED, UNREADABLE, Board
from harness import AGENT, BUILD, TARGETS, Skip, environment, main, need, run, temporary_folder, test, wait_for
from client import preload
from nobody import NOBODY, within_reach

TREE = os.path.join(TARGETS, "s_tree")
WAYS = ("exec", "fork", "vfork", "spawn", "spawnp", "system", "popen", "wordexp")


def plain_and_followed(command, board=None, options="", **more):
    """The same without and with us; the records."""
    b = board or Board()
    base = {k: v for k, v in b.environment(options).items() if k not in ("LD_PRELOAD", "MEMTOP_BOARD", "MEMTOP_OPTIONS")}
    plain = run(command, env={**base, **more})
    followed = run(command, env={**b.environment(options), **more})
    assert (plain.returncode, plain.stdout, plain.stderr) == (followed.returncode, followed.stdout, followed.stderr), \
        (command, plain, followed)
    return followed, b.records()


@test
def t_the_environment_is_its_own():
    """The first program and its children, started in any way, keep their variables and their
    order."""
    for how in WAYS:
        plain_and_followed([TREE, "starts", how, "/usr/bin/env"])
    plain_and_followed(["/bin/sh", "-c", "env; env -i env; (env); FOO=1 env; exec env -u HOME env"])
    for user in ("/nowhere/mine.so", "", "libnone.so:/nowhere/second.so"):
        for how in WAYS:
            done = run([TREE, "starts", how, "/usr/bin/env"], env=dict(Board().environment(), LD_PRELOAD=f"{AGENT}:{user}" if user else AGENT))
            said = [line for line in done.stdout.splitlines() if "LD_PRELOAD" in line]
            assert said in ([], [f"LD_PRELOAD={user}"]) and bool(said) == bool(user) or how == "wordexp", (how, user, said)
            assert "MEMTOP" not in done.stdout and "memtop-agent" not in done.stdout, (how, done.stdout)


@test
def t_the_environment_is_its_own_by_the_option_too():
    for how in WAYS:
        done = run([TREE, "starts", how, "/usr/bin/env"], env=preload("follow=exec"))
        assert done.returncode == 0 and "MEMTOP" not in done.stdout and "LD_PRELOAD" not in done.stdout, (how, done)


@test
def t_threads_start_shells_while_another_one_changes_the_environment():
    """No call of it crashes, no change is lost, and no memtop variable stays in
    it."""
    for _ in range(2):
        plain_and_followed([TREE, "changes", "1200"], Board(records=8192))


@test
def t_an_environment_that_cannot_be_read_is_refused_by_the_kernel():
    """Entries, an array, a text or a path that end in nowhere: EFAULT, as without us, and no record of a program that never came."""
    _, records = plain_and_followed([TREE, "spoilt"])
    assert [r.name for r in records] == ["s_tree"], records


@test
def t_arguments_that_only_the_agents_entries_make_too_long():
    """A program is started with as long an environment as without us; the longest goes without the agent, and its record says so."""
    for how in ("execve", "execv", "execvp", "execvpe", "execle", "fexecve", "execveat", "vfork execve", "spawn", "spawnp"):
        done, records = plain_and_followed(["/bin/sh", "-c", f"ulimit -s 512; exec {TREE} longest '{how}'"], Board(records=1024))
        assert done.stdout.endswith(", then 7\n"), done  # E2BIG
        without = [r.why for r in records if r.state == UNFOLLOWED]
        assert len(without) > 1 and set(without) == {NO_ROOM}, (how, records)
        assert len([r for r in records if r.name == "true" and r.state in (RUNNING, ENDED)]) > 1, (how, records)
    for how in ("system", "popen"):
        plain_and_followed(["/bin/sh", "-c", f"ulimit -s 512; exec {TREE} longest {how}"], Board(records=1024))


@test
def t_a_thread_adds_variables_while_another_one_spawns():
    """setenv() frees the array that posix_spawn() was given: such a call may fail, and nothing else."""
    for _ in range(3):
        plain_and_followed([TREE, "races", "150"], Board(records=8192))


@test
def t_the_option_follows_without_a_board():
    """Each program with a socket of its own, also behind two that forked."""
    done = run(["/bin/sh", "-c", "(sh -c 'sleep 600 >/dev/null 2>&1 & echo $!')"], env=preload("follow=exec listen=@memtop-follow.%p"), stderr=None)
    pid = int(done.stdout)
    try:
        def listens():
            with open("/proc/net/unix", encoding="utf-8") as f:
                return any(line.endswith(f"@memtop-follow.{pid}\n") for line in f)
        wait_for(listens, 20, "the last one's socket")
    finally:
        os.kill(pid, signal.SIGKILL)


@test
def t_a_setenv_inside_of_system_stays():
    """By a thread, while the main thread is in system(): new, changed, removed, put; each as without us."""
    done, records = plain_and_followed([TREE, "variables", "LD_PRELOAD", "MEMTOP_OPTIONS", "MEMTOP_BOARD"])
    assert done.returncode == 0 and done.stdout.count(": 0") == 8, done
    assert len([r for r in records if r.name == "sh"]) == 7, records


@test
def t_a_memtop_inside_has_its_own():
    """A program that starts another one under an agent of its own options: those count, and not ours."""
    inner, outer = Board(), Board()
    given = [f"{k}={inner.environment('tick_ms=50')[k]}" for k in ("LD_PRELOAD", "MEMTOP_BOARD", "MEMTOP_OPTIONS")]
    for starts in ("exec env", "env"):
        done = run(["/bin/sh", "-c", f'{starts} "$@" /bin/sh -c "/bin/true; :"', "sh", *given], env=outer.environment())
        assert (done.returncode, done.stderr) == (0, ""), done
        assert sorted(r.name for r in inner.settled()) == ["sh", "true"] and all(r.exact for r in inner.records()), inner.records()
        last = outer.records()[-1]
        assert (last.name, last.state, last.why) == ("sh", UNFOLLOWED, 0), outer.records()
        for r in inner.records():
            inner.free(r.index)


# --- programs that take no agent


def copy_of(path, folder, name):
    to = f"{folder}/{name}"
    shutil.copy(path, to)
    os.chmod(to, 0o755)
    return to


def unfollowed(program, why, arguments=(), status=0):
    """Started in each way, it runs as it does without us, and its record says why it is not followed."""
    for how in WAYS[:5]:
        done, records = plain_and_followed([TREE, "starts", how, program, *arguments])
        found = [r for r in records if r.state == UNFOLLOWED]
        assert done.returncode == status and len(found) == 1, (how, done, records)
        r = found[0]
        assert (r.why, r.name, r.path) == (why, os.path.basename(program), program) and r.parent != NONE and r.pid, (how, r)


def build(source, folder, name, *flags, compiler="gcc"):
    need(compiler)
    with open(f"{folder}/{name}.c", "w", encoding="utf-8") as f:
        f.write(source)
    done = run([compiler, "-w", "-o", f"{folder}/{name}", f"{folder}/{name}.c", *flags])
    if done.returncode:
        raise Skip(f"{compiler} {flags}: {done.stderr}")
    return f"{folder}/{name}"


HELLO = '#include <stdio.h>\n#include <stdlib.h>\nvoid *volatile p;\nint main(void) { p = malloc(100); puts("hello"); return 0; }\n'


@test
def t_static_programs():
    folder = temporary_folder()
    unfollowed(build(HELLO, folder, "static", "-static"), STATIC)
    unfollowed(build(HELLO, folder, "static_pie", "-static-pie"), STATIC)


@test
def t_what_a_static_program_executes():
    """It is followed where an argument names it, and it can load the agent; all others by the option only."""
    folder = temporary_folder()
    launcher = build('#include <unistd.h>\n#include <sys/wait.h>\nint main(int c, char **v) {\n    if (!fork()) { execv(v[1], v + 1); _exit(9); }\n'
                     "    int s; wait(&s); return s >> 8;\n}\n", folder, "launcher", "-static")
    hidden = build('#include <unistd.h>\nint main(int c, char **v) { return execl("/bin/sh", "sh", "-c", "exit 3", NULL); }\n', folder, "hidden", "-static")
    for options, program, count in (("", ["/bin/sh"], 1), ("", [launcher, "/bin/sh"], 1), ("", [hidden], 0), ("follow_static=yes", [hidden], 1)):
        b = Board()
        done = run([TREE, "starts", "fork", launcher, *program, "-c", "exit 3"], env=b.environment(options))
        found = [r for r in b.settled() if r.path == "/bin/sh" or r.name == "sh"]
        assert done.returncode == 3 and len(found) == count, (options, program, done, b.records())
        static = [r for r in b.records() if r.name == "launcher"]
        assert len(static) == 1 and static[0].why == STATIC, b.records()
        for r in found:
            assert r.state != UNFOLLOWED and r.parent == static[0].index, (r, static)
    sanitized = build(HELLO, folder, "sanitized", "-fsanitize=address")  # it would refuse to run
    _, records = plain_and_followed([TREE, "starts", "fork", launcher, sanitized])
    assert not [r for r in records if r.name == "sanitized"], records


@test
def t_other_machines():
    """The ELF header shows it; the kernel refuses it, or a registered interpreter runs
    it."""
    for offset, value in ((18, struct.pack("<H", 243)), (4, b"\1")):  # RISC-V; 32 bits
        folder = temporary_folder()
        program = copy_of("/bin/true", folder, "other")
        with open(program, "r+b") as f:
            f.seek(offset)
            f.write(value)
        plain = run([TREE, "starts", "fork", program], env=environment())
        b = Board()
        followed = run([TREE, "starts", "fork", program], env=b.environment())
        assert (plain.returncode, plain.stdout, plain.stderr) == (followed.returncode, followed.stdout, followed.stderr)
        assert b.settled()[-1].why in (0, MACHINE), b.records()


@test
def t_setuid_programs():
    if os.geteuid():
        raise Skip("needs root")
    folder = temporary_folder()
    program = copy_of("/bin/echo", folder, "raised")
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o4755)
    unfollowed(program, SETUID)
    os.chmod(program, 0o2755)
    unfollowed(program, SETUID)
    os.chown(program, 0, 0)  # changes nothing then
    os.chmod(program, 0o4755)
    b = Board()
    assert run([TREE, "starts", "fork", program], env=b.environment()).returncode == 0
    assert b.settled()[-1].name == "raised" and b.records()[-1].end == EXIT


@test
def t_sanitized_programs():
    """Which ones take no agent: test_executables.py."""
    folder = temporary_folder()
    program = build(HELLO, folder, "asan", "-fsanitize=address")
    if run([program], env=environment()).returncode == 0:
        unfollowed(program, SANITIZER)
    program = build(HELLO, folder, "ubsan", "-fsanitize=undefined")
    b = Board()
    assert run([TREE, "starts", "fork", program], env=b.environment()).stderr == ""
    assert b.settled()[-1].name == "ubsan", b.records()


@test
def t_programs_of_musl():
    """With the agent that is built for them, where it lies beside; else without."""
    need("musl-gcc")
    folder = temporary_folder()
    program = build(HELLO, folder, "musl", compiler="musl-gcc")
    agent = copy_of(AGENT, folder, os.path.basename(AGENT))
    b = Board()
    done = run([TREE, "starts", "fork", program], env=dict(b.environment(), LD_PRELOAD=agent))
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", ""), done
    r = b.records()[-1]
    assert (r.state, r.why) == (UNFOLLOWED, LIBC), r
    musl = os.path.join(BUILD, "musl", os.path.basename(AGENT))
    if not os.path.exists(musl):
        raise Skip("no agent for musl: make musl")
    os.mkdir(f"{folder}/musl.d")
    os.rename(program, f"{folder}/program")
    os.mkdir(f"{folder}/musl")
    copy_of(musl, f"{folder}/musl", os.path.basename(AGENT))
    b = Board()
    done = run([TREE, "starts", "fork", f"{folder}/program"], env=dict(b.environment(), LD_PRELOAD=agent))
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", ""), done
    r = b.settled()[-1]
    assert (r.name, r.end, r.exact) == ("program", EXIT, 1) and r.alloc_blocks, r


@test
def t_programs_that_cannot_be_read():
    if os.geteuid() == 0:
        need("setpriv")
    user, tree = (NOBODY, within_reach(TREE)) if os.geteuid() == 0 else ([], TREE)
    folder = temporary_folder()
    os.chmod(folder, 0o755)
    program = copy_of("/bin/echo", folder, "secret")
    os.chmod(program, 0o711)
    b = Board()
    os.fchmod(b.fd, 0o666)
    done = run([*user, tree, "starts", "fork", program], env={**b.environment(), "LD_PRELOAD": within_reach(AGENT)})
    assert (done.returncode, done.stderr) == (0, ""), done
    if user:  # another user may not open the board: it is followed no further
        return
    r = b.records()[-1]
    assert (r.state, r.why) == (UNFOLLOWED, UNREADABLE), r


@test
def t_an_agent_that_is_out_of_reach():
    """In another root: no loader complains, and the record says that nobody is there."""
    if os.geteuid():
        raise Skip("needs root")
    need("unshare")
    folder = temporary_folder()
    program = build(HELLO, folder, "inside", "-static")
    for name in ("lib64", "lib/x86_64-linux-gnu"):
        os.makedirs(f"{folder}/{name}")
    shutil.copy("/lib64/ld-linux-x86-64.so.2", f"{folder}/lib64/")
    shutil.copy("/lib/x86_64-linux-gnu/libc.so.6", f"{folder}/lib/x86_64-linux-gnu/")
    dynamic = build(HELLO, folder, "dynamic")
    assert program and dynamic
    done, records = plain_and_followed(["chroot", folder, "/dynamic"])
    assert done.returncode == 0 and done.stdout == "hello\n", done
    r = records[-1]
    assert (r.state, r.why, r.name) == (UNFOLLOWED, NO_AGENT, "dynamic"), records


@test
def t_a_board_that_is_out_of_reach():
    """In a /proc of its own, or in another user namespace: such a program runs without the agent, and its record says so."""
    need("unshare")
    ways = ((OTHER_PROC, ["--fork", "--pid", "--mount-proc"]), (NO_ACCESS, ["--fork", "--user"]), (NO_ACCESS, ["--fork", "--user", "--pid"]))
    for why, how in ways:
        if run(["unshare", *how, "/bin/true"]).returncode:
            raise Skip(f"no namespace may be made here: {how}")
        done, records = plain_and_followed(["unshare", *how, "/bin/sh", "-c", "env; echo hello"])
        assert done.returncode == 0 and "hello" in done.stdout, done
        assert [(r.name, r.why) for r in records if r.state == UNFOLLOWED] == [("sh", why)], (how, records)


@test
def t_a_filter_that_kills():
    """Nothing is asked for under it: a child, and the program itself, get to their exec."""
    folder = temporary_folder()
    source = '#include <unistd.h>\nint main(void) { return write(1, "hello\\n", 6) != 6; }\n'
    program = build(source, folder, "writes", "-static")
    for by in ("prctl", "seccomp"):
        for how in ("fork", "vfork", "spawn") + (("exec",) if by == "prctl" else ()):
            done, records = plain_and_followed([TREE, "filtered", by, how, program])
            assert (done.returncode, done.stdout) == (0, "hello\n"), (by, how, done)
            r = records[-1]
            assert (r.state, r.why, r.name) == (UNFOLLOWED, UNREADABLE, "writes"), (by, how, records)


@test
def t_scripts_lead_to_their_interpreter():
    folder = temporary_folder()
    static = build('#include <stdio.h>\nint main(int c, char **v) { printf("%d %s\\n", c, v[1]); }\n', folder, "static", "-static")
    for name, text, follows in (("plain", "#!/bin/sh\necho $0\n", True), ("spaced", "#! /bin/sh -e\necho $0\n", True),
                                ("chained", f"#!{folder}/plain\n", True), ("of_static", f"#!{static}\n", False),
                                ("env", "#!/usr/bin/env sh\necho hi\n", True)):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(f"{folder}/{name}", 0o755)
        for how in WAYS[:5]:
            done, records = plain_and_followed([TREE, "starts", how, f"{folder}/{name}"])
            assert done.returncode == (0 if follows else done.returncode), (name, how, done)
            assert (records[-1].state == UNFOLLOWED) != follows, (name, how, records)


@test
def t_children_without_room_for_the_agent():
    """Their stderr is a build's log: memtop adds no line for each of them."""
    for kilobytes in (30000, 60000, 100000):
        plain_and_followed(["/bin/sh", "-c", f"(ulimit -v {kilobytes}; /bin/true; /bin/echo done); exit 3"])


@test
def t_a_file_of_no_known_kind():
    """A text without "#!" fails in execve() and is a script of sh in execvp(); a lone "#!" and a broken one fail."""
    folder = temporary_folder()
    for name, text in (("text", "echo by sh\n"), ("lone", "#!\n"), ("nowhere", "#!/no/such/interpreter\n"), ("empty", "")):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(f"{folder}/{name}", 0o755)
        for program in ("/bin/sh", "/usr/bin/env", "/usr/bin/python3"):
            arguments = {"/bin/sh": ["-c", f"{folder}/{name}"], "/usr/bin/env": [f"{folder}/{name}"], "/usr/bin/python3":
                         ["-c", "import os,sys\ntry: os.execv(sys.argv[1], ['x'])\nexcept OSError as e: print(e.errno)", f"{folder}/{name}"]}
            plain_and_followed([program, *arguments[program]])


if __name__ == "__main__":
    main()
