#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_forked.py - hooks in forked children, where the loader may be locked forever; and the exec
family's exact contract."""
import os
import re
import signal
import subprocess

from cli import compiled
from harness import AGENT, BUILD, ROOT, TARGETS, at_once, environment, main, need, run, start, temporary_folder, test

FORKED = os.path.join(TARGETS, "s_forked")
EXECS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat")
CALLS = ("allocate", "wait", "signals", "name", "fail", "fork", "spawn", "_Exit", "quick_exit")
PATIENCE = 120  # seconds: a child that takes so long does not end


def preload(*before, options="", **more):
    return environment(LD_PRELOAD=":".join([*before, AGENT]), MEMTOP_OPTIONS=options, **more)


def ended(command, env):
    """(status, output, errors); status None when it does not end: then all of its session is killed."""
    p = start(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, err = p.communicate(timeout=PATIENCE)
        return p.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        return None, *p.communicate()


def held(how, calls, env):
    def one(call):
        return call, ended([FORKED, "held", how, call], env)
    for call, (status, out, err) in at_once(one, [(c,) for c in calls]):
        assert status is not None, f"{how}: {call} hangs in the child"
        assert (status, out, err) == (0, f"{call} 0\n", ""), (how, call, status, out, err)


@test
def t_a_fork_costs_few_page_faults():
    """6 more than without an agent on x86-64; 18 when the agent's code and words for it were scattered."""
    program = compiled(open("tests/bench/programs/forks.c", encoding="ascii").read())

    def faults(env):
        status, out, err = ended([program, "200", "0"], env)
        assert (status, out) == (0, "done\n"), (status, out, err)
        return int(re.fullmatch(r"(\d+) page faults a child\n", err).group(1))

    plain, watched = faults(environment()), faults(preload())
    assert plain < watched <= plain + 9, (plain, watched)


@test
def t_a_child_of_fork_does_not_wait_for_the_loader():
    held("fork", EXECS + CALLS, environment())
    held("fork", (*EXECS, *CALLS, "wake"), preload())
    held("fork", EXECS, preload(options="follow=exec"))


@test
def t_no_engine_waits_for_the_loader():
    for engine in ("cfi", "fp", "libunwind", "instrument", "caller"):
        env = preload(options=f"unwind={engine}")
        said = run([FORKED], env=env).stderr  # instrument is not for this program
        status, out, err = ended([FORKED, "held", "fork", "allocate"], env)
        assert (status, out, err) == (0, "allocate 0\n", said), (engine, status, out, err)


@test
def t_a_child_of_a_raw_fork_does_not_wait_for_the_loader():
    for how in ("_Fork", "clone"):
        held(how, EXECS + CALLS, preload())


@test
def t_a_child_of_vfork_does_not_wait_for_the_loader():
    held("vfork", (*EXECS, "_Exit"), preload())


@test
def t_an_agent_that_gave_up_does_not_look_up_either():
    env = preload(options="unwind=none-such")
    for call in ("execvp", "fexecve", "allocate", "wait", "fork"):
        status, out, err = ended([FORKED, "held", "fork", call], env)
        assert (status, out, err.count("\n")) == (0, f"{call} 0\n", 1), (call, status, out, err)


@test
def t_nothing_is_looked_up_after_the_start():
    """Every call that has a hook, in every kind of process and handler: the agent does not ask the loader."""
    counter = os.path.join(BUILD, "tests", "lib", "count_lookups.so")
    done = run([FORKED, "calls"], env=preload(counter))
    assert (done.returncode, done.stdout, done.stderr) == (0, "called\n", ""), done


@test
def t_every_hook_is_among_those_calls():
    """s_forked calls all that agent.map lists, but C++'s operators, jemalloc's own functions and memtop's."""
    def text(*path):
        with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
            return re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    listed = set(re.findall(r"\b([\w*]+);", text(BUILD, "agent.map").split("local:")[0]))
    hooks = {h for h in listed if not re.match(r"_Z|[a-z]*allocx|memtop_|__cyg|JNI", h)}
    source = text("tests", "targets", "s_forked.c")
    assert len(hooks) > 50 and not [h for h in sorted(hooks) if not re.search(rf"\b{h}\(", source)], \
        [h for h in sorted(hooks) if not re.search(rf"\b{h}\(", source)]


EXEC_WAYS = r"""
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char *args[] = { "given", "argument", NULL };
static char *env[] = { "TAG=own", "PATH=.:/bin:/usr/bin", NULL };
static void spawn(const char *file, char **given, __typeof__(posix_spawn) *by)
{
	posix_spawn_file_actions_t actions;
	int status = 0, error;
	pid_t pid;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 5, "script", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, 1, 7);
	posix_spawn_file_actions_addclose(&actions, 0);
	posix_spawn_file_actions_addchdir_np(&actions, "folder");
	error = by(&pid, file, &actions, NULL, given, env);
	if (!error)
		waitpid(pid, &status, 0);
	printf("spawned %d %x\n", error, status);
	posix_spawn_file_actions_destroy(&actions);
}
static void popened(void)
{
	char line[100] = "";
	FILE *f = popen("echo popened $TAG", "r");
	if (f && fgets(line, sizeof(line), f))
		printf("%s%x\n", line, pclose(f));
}
static void call(const char *how)
{
	static char *list[] = { "sh", "-c", "pwd | tail -c 8; cd /proc/self/fd; ls; echo to 7 >&7; cat <&5", NULL };
	int folder = open(".", O_RDONLY | O_DIRECTORY), cloexec = O_RDONLY | O_CLOEXEC;
	if (!strcmp(how, "script")) execve("./script", args, env);
	if (!strcmp(how, "bare")) execve("./bare", args, env);
	if (!strcmp(how, "execvp bare")) execvp("./bare", args);
	if (!strcmp(how, "execvpe bare")) execvpe("bare", args, env);
	if (!strcmp(how, "execlp bare")) execlp("bare", "bare", "argument", NULL);
	if (!strcmp(how, "execvp folder")) execvp("./folder", args);
	if (!strcmp(how, "execvp closed")) execvp("closed", args);
	if (!strcmp(how, "execvp empty")) execvp("", args);
	if (!strcmp(how, "fexecve")) fexecve(open("/bin/echo", O_RDONLY), args, env);
	if (!strcmp(how, "fexecve cloexec")) fexecve(open("/bin/echo", cloexec), args, env);
	if (!strcmp(how, "fexecve path")) fexecve(open("/bin/echo", O_PATH | O_CLOEXEC), args, env);
	if (!strcmp(how, "fexecve script")) fexecve(open("script", O_RDONLY), args, env);
	if (!strcmp(how, "fexecve script cloexec")) fexecve(open("script", cloexec), args, env);
	if (!strcmp(how, "fexecve bare")) fexecve(open("bare", O_RDONLY), args, env);
	if (!strcmp(how, "fexecve closed")) fexecve(open("closed", O_RDONLY), args, env);
	if (!strcmp(how, "fexecve folder")) fexecve(folder, args, env);
	if (!strcmp(how, "fexecve negative")) fexecve(-1, args, env);
	if (!strcmp(how, "fexecve unopened")) fexecve(1000, args, env);
	if (!strcmp(how, "fexecve null")) fexecve(open("/bin/echo", O_RDONLY), args, NULL);
	if (!strcmp(how, "spawn")) spawn("/bin/sh", list, posix_spawn);
	if (!strcmp(how, "spawnp")) spawn("sh", list, posix_spawnp);
	if (!strcmp(how, "spawn bare")) spawn("../bare", args, posix_spawn);
	if (!strcmp(how, "spawnp bare")) spawn("../bare", args, posix_spawnp);
	if (!strcmp(how, "system")) printf("%x\n", system("echo by system $TAG; exit 3"));
	if (!strcmp(how, "popen")) popened();
	if (!strcmp(how, "execveat folder")) execveat(folder, "script", args, env, 0);
	if (!strcmp(how, "execveat link")) execveat(folder, "link", args, env, AT_SYMLINK_NOFOLLOW);
	if (!strcmp(how, "execveat absolute")) execveat(-1, "/bin/echo", args, env, 0);
	if (!strcmp(how, "execveat bad folder")) execveat(-1, "script", args, env, 0);
	if (!strcmp(how, "execveat empty")) execveat(open("/bin/echo", cloexec), "", args, env, AT_EMPTY_PATH);
	if (!strcmp(how, "execveat no flag")) execveat(open("/bin/echo", O_RDONLY), "", args, env, 0);
	if (!strcmp(how, "execveat flags")) execveat(folder, "script", args, env, 0x7000000);
}
int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "itself"))
		return call(argv[2]), puts(strerror(errno)), 3;
	for (int i = 1; i < argc; i++) {
		int status = 0;
		fflush(stdout);
		if (!fork()) {
			call(argv[i]);
			int error = errno;
			printf("%s\n", strerror(error));
			exit(3);
		}
		wait(&status);
		printf("%s: %x\n", argv[i], status);
	}
	return 0;
}
"""


def exec_folder():
    need("gcc")
    folder = temporary_folder()
    os.mkdir(f"{folder}/folder")
    for name, mode, text in (("ways.c", 0o644, EXEC_WAYS), ("script", 0o755, "#!/bin/sh\necho script $TAG $0 $@\n"),
                             ("bare", 0o755, "echo bare $TAG $0 $@\n"), ("closed", 0o644, "echo never\n")):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(f"{folder}/{name}", mode)
    os.symlink("script", f"{folder}/link")
    done = run(["gcc", "-D_GNU_SOURCE", "-w", "-o", "ways", "ways.c"], cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, re.findall(r'how, "(.*?)"', EXEC_WAYS)


def exec_ways(*runner):
    """Each form, with files that are scripts, have no #!, are closed, are folders: as without the agent."""
    folder, ways = exec_folder()
    plain = run([*runner, "./ways", *ways], cwd=folder, env=environment(TAG="mine"))
    assert plain.returncode == 0 and plain.stdout.count(": ") >= len(ways), plain
    for options in ("", "follow=exec"):
        watched = run([*runner, "./ways", *ways], cwd=folder, env=preload(options=options, TAG="mine"))
        for a, b in zip(plain.stdout.splitlines(), watched.stdout.splitlines()):
            assert a == b, f"{runner} {options}: plainly {a!r}, watched {b!r}"
        assert (plain.stdout, plain.stderr) == (watched.stdout, watched.stderr), (plain, watched)
    for way in ways:
        both = [run([*runner, "./ways", "itself", way], cwd=folder, env=env) for env in (environment(TAG="mine"), preload(TAG="mine"))]
        assert len({(b.returncode, b.stdout, b.stderr) for b in both}) == 1, (way, both)
    return plain.stdout


@test
def t_exec_does_what_it_does_without_the_agent():
    said = exec_ways()
    for line in ("bare mine ./bare argument", "script own ./script argument", "to 7", "spawned 0 0", "popened mine", "by system mine"):
        assert f"{line}\n" in said, (line, said)


if __name__ == "__main__":
    main()
