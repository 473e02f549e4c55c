#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_processes.py - the processes of a tree on the screen: hints, folds, Enter, marks and q."""
import json
import os
import re
import signal
import subprocess

from cli import compiled
from harness import (AGENT, MEMTOP, TARGETS, Skip, at_end, environment, main, need, recorded, run, start,
                     temporary_folder, test, wait_for)
from term import Terminal, select_by_search, selected

# Holds so many bytes, says so, and waits.
HOLDS = """
import signal, sys
keep = [bytearray(int(size)) for size in sys.argv[1:]]
signal.pause()
"""

# Three workers: one of them grows by 4 MB a second.
WORKERS = """
import multiprocessing, time
def work(size):
    keep = []
    while True:
        keep.append(bytearray(size))
        time.sleep(0.1)
if __name__ == "__main__":
    multiprocessing.set_start_method("fork")  # Python 3.14's own choice is a server that forks
    workers = [multiprocessing.Process(target=work, args=(size,)) for size in (10, 400000, 20)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
"""


# A row of the list: it has lived for two seconds.
MATTERS = re.compile(r" ([2-9]|\d\d)(\.\d)? s +python3\b", re.M)


LIST = re.compile(r"LIVE .* PROCESS")


def folder():
    path = temporary_folder()
    for name, text in (("holds.py", HOLDS), ("workers.py", WORKERS)):
        with open(f"{path}/{name}", "w", encoding="ascii") as f:
            f.write(text)
    return path


def text_of(path):
    """Nothing while the file is not there."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="ascii") as f:
        return f.read()


def end_all(session):
    """Whatever of the tree is left: its first process leads a session."""
    subprocess.run(["pkill", "-KILL", "-s", str(session)], check=False)


def run_tree(command, size=(120, 36), env=None, options=(), term="tmux-256color"):
    """memtop run in a shell that says how it ended; (terminal, pid of the first)."""
    t = Terminal(["sh", "-c", '"$@"; echo status=$?; exec sleep 60', "sh", MEMTOP, "run", *options, "--", *command], *size,
                 env={"XDG_STATE_HOME": temporary_folder(), **(env or {})}, term=term)
    pid = int(t.wait_for(re.compile(r"\[(\d+)\] ")).group(1))
    at_end(end_all, pid)
    t.keys("Home")  # who has pressed a key is not shown all processes: test_all_processes.py
    return t, pid


def shell(path, *sizes, **named):
    """A shell that only waits for a program that holds 12 MB, or so much."""
    sizes = sizes or (12000000,)
    return run_tree(["sh", "-c", f"/usr/bin/python3 {path}/holds.py {' '.join(map(str, sizes))}; true"], **named)


def open_list(t):
    t.keys("P")
    t.wait_for(LIST)


def name_of(lines):
    """The process that the header names: (name, pid)."""
    m = re.match(r" memtop  (\S+) \[(\d+)\]", lines[0])
    return m and (m.group(1), int(m.group(2)))


def is_shown(t, name):
    return t.wait_for(lambda lines: (name_of(lines) or ("", 0))[0] == name and name_of(lines)[1])


@test
def t_line_2_leads_from_a_waiting_shell_to_its_program():
    t, pid = shell(folder(), size=(80, 24))
    with t:
        t.wait_for(f"sh [{pid}]  +1: P lists  LIVE")
        hint = t.wait_for(re.compile(r"python3 \[(\d+)\] holds more: 1\d\.\d+M; P$", re.M))
        child = int(hint.group(1))
        open_list(t)
        t.wait_for(re.compile(rf"^> +1\d\.\dM .* {child} running +python3", re.M))
        t.keys("Enter")
        assert is_shown(t, "python3") == child
        t.wait_for(("[1 Over", re.compile(r"Live 1\d\.\dM")), without="holds more")


@test
def t_another_one_that_grows_is_named_with_its_rate():
    t, _ = run_tree(["/usr/bin/python3", f"{folder()}/workers.py"])
    with t:
        hint = t.wait_for(re.compile(r"python3 \[(\d+)\] grows more: \+\d+(\.\d+)?M/min; P$", re.M), 20)
        open_list(t)
        t.wait_for(re.compile(rf"^>.* {hint.group(1)} running .*\(fork\)", re.M))
        t.keys("o")
        t.wait_for("/MIN▼")
        t.wait_for(lambda lines: f" {hint.group(1)} running" in next((x for x in lines if "running" in x and not x.endswith("All")), ""))
        t.keys("<")
        t.wait_for("LIVE▼")
        t.keys("r")
        t.wait_for("LIVE▲")
        t.keys("o")
        t.wait_for("PEAK▼")
        t.keys("o")
        t.wait_for("IN ALL▼")
        t.keys("o")
        t.wait_for("PROCESS▼")


def a_function_below(lines):
    """A function that the selected row does not name: Pythons differ in which of theirs allocate."""
    names = re.findall(r"\b_?Py\w{6,}", "\n".join(lines)) if selected(lines) else []
    return next((name for name in names if name not in selected(lines)), None)


@test
def t_coming_back_finds_the_place():
    t, _ = shell(folder(), 12000000, 300000)
    with t:
        t.wait_for("holds more")
        open_list(t)
        t.keys("Enter")
        is_shown(t, "python3")
        t.keys("3")
        t.wait_for("[3 Sites]")
        site = t.wait_for(a_function_below)
        select_by_search(t, site)
        open_list(t)
        t.keys("Home", "Down", "Enter")
        is_shown(t, "sh")
        t.wait_for("[1 Over")
        open_list(t)
        t.keys("Enter")
        is_shown(t, "python3")
        t.wait_for("[3 Sites]")
        t.wait_for(lambda lines: site in (selected(lines) or ""))


@test
def t_a_mark_is_set_in_all_with_one_name():
    t, _ = shell(folder())
    with t:
        t.wait_for("holds more")
        open_list(t)
        t.wait_for(MATTERS)
        t.keys("Escape")
        t.wait_gone("PROCESS")
        t.keys("s")
        t.wait_for("setting a mark in 2 processes; d compares")
        t.keys("5")
        name = t.wait_for(re.compile(r"> A +m1 +(\d\d:\d\d:\d\d) ")).group(1)
        t.wait_for("m1 in 2 processes")
        open_list(t)
        t.keys("Enter")
        is_shown(t, "python3")
        t.wait_for("[5 Marks]")
        t.wait_for(re.compile(rf"m1 +{name} "))


@test
def t_a_mark_of_the_command_line_is_set_in_the_shown_process_alone():
    t, pid = shell(folder())
    with t:
        t.wait_for("holds more")
        open_list(t)
        t.wait_for(MATTERS)
        t.keys("Escape")
        t.wait_gone("PROCESS")
        t.prompt(":mark one")
        t.wait_for(f"setting a mark in sh [{pid}] alone: one; S marks all processes")
        t.keys("5")
        t.wait_for(re.compile(r"m1 +one "))
        open_list(t)
        t.keys("End", "Enter")
        is_shown(t, "python3")
        t.keys("5")
        t.wait_for("no marks yet")


# A fork stays inside a raw system call, so that it has no agent, until SIGUSR1.
LATE = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *kept[9];
static void on_signal(int number)
{
	(void)number;
}
int main(void)
{
	for (int i = 0; i < 8; i++)
		kept[i] = malloc(1000000);
	signal(SIGUSR1, on_signal);
	if (!fork())
		syscall(SYS_pause);
	for (;;) {
		free(kept[8]);
		kept[8] = malloc(1000);
		sleep(1);
	}
}
"""


@test
def t_a_page_closes_when_another_process_takes_the_screen():
    t, pid = run_tree([compiled(LATE)])
    with t:
        open_list(t)
        late = int(t.wait_for(re.compile(r"(\d+) running .* prog +\(fork\)", re.M)).group(1))
        t.keys("End", "Enter")
        t.wait_for(f"prog [{late}]: waiting until its agent listens.  Esc: stay")
        t.keys("3")
        t.wait_for(re.compile(r"^> .* main < ", re.M))
        t.keys("v")
        t.wait_for(("Stack, innermost first", f"memtop  prog [{pid}]"))
        os.kill(late, signal.SIGUSR1)
        t.wait_for((f"memtop  prog [{late}]", "[3 Sites]"), without="Stack, innermost first")


@test
def t_a_daemon_goes_on_when_its_starter_ends():
    path = temporary_folder()
    folders = "".join(f"{kind}_temp_path {path};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(f"{path}/conf", "w", encoding="ascii") as f:
        f.write(f"daemon on; worker_processes 2; pid {path}/pid; error_log {path}/error; events {{}}\n"
                f"http {{ access_log off; {folders} server {{ listen unix:{path}/socket; }} }}\n")
    t, pid = run_tree(["nginx", "-c", f"{path}/conf"], size=(80, 24))
    with t:
        master = int(wait_for(lambda: text_of(f"{path}/pid"), 20))
        at_end(end_all, master)
        t.wait_for(f"nginx [{pid}]  +3: P lists  EXITED 0 at")
        t.wait_for(re.compile(r"nginx \[\d+\] runs on and holds \d\S+[KM]; P$", re.M))
        open_list(t)
        t.wait_for(lambda lines: sum(" running " in x and "nginx  (fork)" in x for x in lines) == 3)
        t.keys("Enter")
        other = t.wait_for(lambda lines: name_of(lines) and name_of(lines)[1] != pid and name_of(lines)[1])
        t.wait_for(f"nginx [{other}]  +2: P lists  LIVE")
        t.keys("q")
        t.wait_for("3 processes run.  l: leave them running  s: stop them")
        t.keys("s")
        t.wait_for("status=0", 20)
        wait_for(lambda: not os.path.exists(f"/proc/{master}"), 20, "the daemon's end")


@test
def t_a_number_of_another_namespace_stops_nobody_here():
    """A program of the tree knows itself by the number of a process here, which leads a group and has nothing to do with it."""
    need("unshare")
    other = start(["sleep", "1000"], start_new_session=True, env=environment())
    inner = f"echo {other.pid - 1} > /proc/sys/kernel/ns_last_pid && /usr/bin/python3 {folder()}/holds.py 12000000; true"
    if run(["unshare", "--pid", "--fork", "sh", "-c", "echo 76 > /proc/sys/kernel/ns_last_pid"], env=environment()).returncode:
        raise Skip("a pid cannot be chosen in a new namespace here")
    t, _ = run_tree(["unshare", "--pid", "--fork", "sh", "-c", inner])
    with t:
        named = rf"\[(\d+, )?{other.pid}( inside)?\]"
        t.wait_for(re.compile(named + " holds more: 1"), 20)
        open_list(t)
        t.keys("Enter")
        t.wait_for((re.compile(rf"^ memtop  \S+ {named} .*LIVE"), re.compile(r"Live 1\d\.\dM")))  # its agent answers
        t.keys("q")
        t.wait_for("s: stop them")
        t.keys("s")
        t.wait_for("status=", 20)
        assert other.poll() is None


@test
def t_what_runs_on_is_named_when_it_is_left():
    t, pid = shell(folder())
    with t:
        t.wait_for("holds more")
        t.keys("q")
        t.wait_for("2 processes run.  l: leave them running  s: stop them")
        t.keys("l")
        t.wait_for("status=0")
        t.wait_for(f"memtop: sh: runs on as process {pid}")


@test
def t_a_build_is_folded_by_name():
    path = temporary_folder()
    for i in range(3):
        with open(f"{path}/f{i}.c", "w", encoding="ascii") as f:
            f.write(f"int f{i};\n")
    with open(f"{path}/Makefile", "w", encoding="ascii") as f:
        f.write("all: f0.o f1.o f2.o\n\t@read wait <wait\n%.o: %.c\n\tgcc -c -o $@ $<\n")
    os.mkfifo(f"{path}/wait")
    t, pid = run_tree(["make", "-j2", "-C", path], size=(80, 24))
    with t:
        t.wait_for(f"make [{pid}]")
        open_list(t)
        t.wait_for("cc1: 3 ended, peak", 30)
        t.wait_for(re.compile(r"\bas: 3 e"), 30)  # gcc 16 starts x86_64-linux-gnu-as
        t.prompt("cc1", "/")
        t.wait_for(lambda lines: selected(lines) and "cc1: 3 ended" in selected(lines))
        t.keys("Escape", "Right")
        t.wait_for(lambda lines: sum(re.search(r"exited 0 +cc1\b", x) is not None for x in lines) == 3)
        t.keys("Down", "Enter")
        t.wait_for(re.compile(r"cc1 \[\d+\]: .*(ended|short-lived)"))
        t.keys("Left")
        t.wait_for(lambda lines: not any(re.search(r"exited 0 +cc1\b", x) for x in lines))
        t.wait_for(lambda lines: "cc1: 3 ended" in (selected(lines) or ""))
        with open(f"{path}/wait", "w", encoding="ascii") as f:
            f.write("go\n")
        t.wait_for("EXITED 0")
        t.wait_for(re.compile(rf"make \[{pid}\]  1\d ended: P  EXITED 0"))


@test
def t_the_selection_stays_with_a_process_that_is_folded():
    """It moves among others while its fellows end: behind what runs, and there into their fold, before smaller ones."""
    path = folder()
    for name in "abc":
        os.mkfifo(f"{path}/{name}")
    t, pid = run_tree(["sh", "-c", f"cd {path}; /bin/true; /bin/echo; cat a & cat b & cat c & /usr/bin/python3 holds.py 12000000 & wait"], size=(80, 24))
    with t:
        t.wait_for(f"sh [{pid}]")
        open_list(t)
        cat = re.compile(r" (\d+) running .* cat\b", re.M)
        first = t.wait_for((cat, lambda lines: len(cat.findall("\n".join(lines))) == 3,
                            *(re.compile(rf" {name}\b", re.M) for name in ("python3", "true", "echo")))).group(1)
        with open(f"/proc/{first}/cmdline", encoding="ascii") as f:
            waits_for = f.read().split("\0")[1]
        t.prompt(first, "/")
        t.wait_for(lambda lines: f" {first} running" in (selected(lines) or ""))
        t.keys("Escape")
        for name in waits_for + "abc".replace(waits_for, ""):
            with open(f"{path}/{name}", "w", encoding="ascii"):
                pass
            if name == waits_for:
                t.wait_for(lambda lines: "exited 0" in (selected(lines) or ""))
        t.wait_for(lambda lines: "cat: 3 ended" in (selected(lines) or ""))


@test
def t_what_a_diff_is_of_is_said():
    t, _ = shell(folder(), size=(120, 36))
    with t:
        diff = re.compile(r"\bd Diff\b.*\Z")
        t.wait_for(("holds more", diff))
        t.keys("P")
        t.wait_for(LIST, without=diff)
        t.keys("d")
        t.wait_for(("press Enter, then d", LIST))


@test
def t_who_allocated_most_is_seen_at_80_columns():
    t, _ = shell(folder(), size=(80, 24))
    with t:
        t.wait_for("holds more")
        open_list(t)
        for width in (80, 100, 120, 200):
            t.resize(width, 24)
            t.wait_for(lambda lines, w=width: any(re.match(r"^ +LIVE .* IN ALL .*PROCESS", x) for x in lines), what=f"{width}")


@test
def t_states_are_named():
    path = folder()
    t, _ = run_tree(["sh", "-c", f"/usr/bin/python3 -c 'import os; os.kill(os.getpid(), 11)'; /usr/bin/python3 -c 'exit(3)'; "
                     f"/usr/bin/python3 {path}/holds.py 100; true"])
    with t:
        t.wait_for("+1: P lists")
        open_list(t)
        t.wait_for(re.compile(r"SIGSEGV .* python3"))
        t.wait_for(re.compile(r"exited 3 .* python3"))
        t.wait_for(re.compile(r"running .* python3"))


@test
def t_what_cannot_be_followed_is_named_with_the_reason():
    path = folder()
    t, _ = run_tree(["sh", "-c", f"{TARGETS}/contain; /usr/bin/python3 {path}/holds.py 100; true"])  # a static program
    with t:
        t.wait_for("+1: P lists")
        open_list(t)
        # sorted: End leads to the row that is then the last, and stays with it
        t.wait_for(re.compile(r" running .* python3\b.*\n.*not followed .* contain  statically linked"))
        t.keys("End")
        t.wait_for((lambda lines: "contain" in (selected(lines) or ""),
                    re.compile(r"^ statically linked: no agent can be preloaded into it", re.M)))
        t.keys("Enter")
        t.wait_for(re.compile(r"contain \[\d+\]: .*statically linked"))


@test
def t_a_session_saved_from_another_process_has_the_tree():
    path = folder()
    t, _ = shell(path)
    with t:
        t.wait_for("holds more")
        open_list(t)
        t.wait_for(MATTERS)
        t.keys("Enter")
        is_shown(t, "python3")
        t.wait_for("[1 Over")
        t.keys("w")
        t.wait_for("Save as")
        t.prompt(f"{path}/a.mtop", "C-u")
        t.wait_for(f"saved: {path}/a.mtop")
    table = run([MEMTOP, "report", f"{path}/a.mtop"]).stdout
    assert re.search(r"1\d\.\dM .* running +python3 ", table) and re.search(r"running +sh ", table), table


@test
def t_every_size_names_each_process_and_what_it_holds():
    t, pid = shell(folder())
    with t:
        t.wait_for("holds more")
        open_list(t)
        for width, height in ((40, 10), (80, 24), (200, 60), (120, 36)):
            t.resize(width, height)
            t.wait_for((re.compile(r"1\d\.\dM .*python3\b", re.M), re.compile(r"^( All:)? 1\d\.\dM live, 2 run of 2", re.M),
                        lambda lines, width=width: len(lines[0]) <= width and "sh" in lines[0]), what=f"{width}x{height}")
    for options, env in ((("--ascii",), {}), ((), {"NO_COLOR": "1"})):
        t, _ = shell(folder(), size=(80, 24), options=options, env=env)
        with t:
            t.wait_for("holds more")
            open_list(t)
            t.wait_for(lambda lines: name_of(lines) and re.search(rf"{name_of(lines)[1]} running +sh  \(shown\)", "\n".join(lines)))
            assert not options or all(ord(c) < 128 for c in t.text()), t.text()


@test
def t_the_mouse_opens_the_list_and_a_row():
    t, _ = shell(folder(), term="xterm-256color")
    with t:
        t.wait_for("holds more")
        t.mouse(t.lines()[1].index("holds more"), 1)
        t.wait_for(re.compile(r"sh  \(shown\)", re.M))
        line = next(i for i, x in enumerate(t.lines()) if "sh  (shown)" in x)
        t.mouse(60, line)
        t.wait_for(lambda lines: selected(lines) and "sh  (shown)" in selected(lines))
        t.mouse(60, line + 1)
        t.wait_for(lambda lines: selected(lines) and re.search(r" s +python3\b", selected(lines)))
        t.mouse(60, line + 1)
        is_shown(t, "python3")


@test
def t_a_recorded_tree_opens_with_all_its_processes():
    path = recorded("sh", "-c", "/usr/bin/python3 -c 'keep = bytearray(int(20e6))'; /usr/bin/python3 -c pass; true")
    with Terminal([MEMTOP, "open", path], 80, 24) as t:
        t.wait_for(re.compile(r" memtop  python3 \[\d+\]  2 ended: P  EXITED 0"))
        t.keys("2")
        t.wait_for(re.compile(r"\[2 Tree\](.|\n)*^> +\d.* A python3", re.M))
        open_list(t)
        t.wait_for("All: ")
        t.keys("End", "Enter")  # the short one
        t.wait_for(re.compile(r"python3 \[\d+\]: .*only its totals"))
        t.keys("Home", "Down", "Enter")
        is_shown(t, "sh")
        t.wait_for(re.compile(r"python3 \[\d+\] held more: (19|20)\.\d+M; P$", re.M))
    with Terminal([MEMTOP, "open", "--process", "sh", path], 80, 24) as t:
        is_shown(t, "sh")
        open_list(t)
        t.wait_for(re.compile(r"sh  \(shown\)", re.M))


# Two forks inherit 8 MB; they allocate 3 and 4 MB, and the first frees 2 MB of the inherited
# memory.
FORKS = r"""
#include <stdlib.h>
#include <unistd.h>
static void *kept[8], *own[8];
int main(void)
{
	for (int i = 0; i < 8; i++)
		kept[i] = malloc(1000000);
	for (int n = 3; n < 5; n++) {
		if (fork())
			continue;
		for (int i = 0; i < n; i++)
			own[i] = malloc(1000000);
		for (int i = 0; n == 3 && i < 2; i++)
			free(kept[i]);
		n = 5;
	}
	for (;;)
		sleep(1);
}
"""


def table_of(lines):
    """What P says of each process, by pid, and of all: LIVE, PEAK, IN ALL, BLOCKS, whether it is a fork; how deep."""
    rows, every = {}, None
    for line in lines:
        m = re.match(r"[> ] +(\S+) +\S+ +\S+ +(\S+) +(\S+) +(\S+) +(\d+) running .* prog(?:  (\(\w+\)))?(?:  .*)?$", line)
        if m:
            rows[int(m[5])] = (m[1], m[2], m[3], m[4], m[6] or "")
        m = re.match(r" All: (.*) live, 3 run of 3\.  (.*)$", line)
        every = m.groups() if m else every
    return rows, every


@test
def t_who_comes_late_knows_what_a_fork_inherited():
    """By the first view, which has it from the board, by one on the parent, by one on a fork, and by reports: one truth."""
    forks = compiled(FORKS)
    t, pid = run_tree([forks], size=(160, 36))
    with t:
        open_list(t)
        rows = t.wait_for(lambda lines: len(rows := table_of(lines)[0]) == 3 and rows)
        children = sorted(p for p in rows if p != pid)
        want = {pid: ("7.6M", "7.6M", "7.6M", "8", "(shown)"), children[0]: ("8.6M", "10.5M", "2.9M", "9", "(fork)"),
                children[1]: ("11.4M", "11.4M", "3.8M", "12", "(fork)")}
        every = ("12.4M to 14.3M", "13 to 15 blocks, 14.3M allocated in all")
        exact = ("14.3M", "15 blocks, 14.3M allocated in all")
        t.wait_for(lambda lines: table_of(lines) == (want, every), 20, f"{want}, {every}")
        with Terminal([MEMTOP, "-p", str(pid)], 160, 36) as late:
            open_list(late)
            # by epoch: what the forks inherited and still hold, the parent has, too
            late.wait_for(lambda lines: table_of(lines) == (want, exact), 20, f"by the parent: {want}, {exact}")
        with Terminal([MEMTOP, "-p", str(children[0])], 160, 36) as late:
            open_list(late)
            want[pid], want[children[0]] = want[pid][:4] + ("",), want[children[0]][:4] + ("(shown)",)
            late.wait_for(lambda lines: table_of(lines) == (want, exact), 20, f"by a fork: {want}, {exact}")
            late.wait_for(re.compile(r"running +.* s   prog\b.*\n.*running +.* s     prog  \(shown\)", re.M))  # below its parent
    figures = ("live_bytes", "live_blocks", "peak_bytes", "allocated_bytes", "allocated_blocks", "inherited_bytes", "forked", "pid", "exe")
    for process, bytes_ in ((pid, (8000000, 8, 8000000, 8000000, 8, 0, False)),
                            (children[0], (9000000, 9, 11000000, 3000000, 3, 8000000, True)),
                            (children[1], (12000000, 12, 12000000, 4000000, 4, 8000000, True))):
        r = json.loads(run([MEMTOP, "report", "--format", "json", "-p", str(process)]).stdout)
        assert tuple(r["processes"][0][key] for key in figures) == bytes_ + (process, forks), r["processes"]


@test
def t_programs_of_one_terminal_are_no_relatives():
    """Another program with an agent, started by the same shell in the same session, is in no list of this one's tree."""
    env = environment(LD_PRELOAD=AGENT)
    tree, other = start([compiled(FORKS)], env=env, preexec_fn=os.setpgrp), start(["sleep", "600"], env=env)
    at_end(os.killpg, tree.pid, signal.SIGKILL)  # its forks too
    for p in (tree, other):
        wait_for(lambda p=p: run([MEMTOP, "report", "-p", str(p.pid)], env=environment()).returncode == 0, 30, "an agent")
    with Terminal([MEMTOP, "-p", str(tree.pid)], 160, 36) as t:
        open_list(t)
        t.wait_for("3 run of 3", without="sleep")


@test
def t_without_following_there_is_one_process():
    t, pid = shell(folder(), options=["--no-follow"])
    with t:
        t.wait_for(f"sh [{pid}]")
        open_list(t)
        t.wait_for("1 run of 1", without=re.compile(r" s +python3"))


if __name__ == "__main__":
    main()
