#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_tree_record.py - recording a tree of processes: one file, a line for each, all figures of those that matter."""
import json
import os
import re
import signal
import struct
import time

from cli import memtop, one_line, compiled
from harness import BUILD, MEMTOP, Skip, at_end, check_invariants, environment, kill, main, mostly_waits, run, start, temporary_folder, test, wait_for

# holds BYTES, in blocks of 1000, then waits SECONDS, then exits with STATUS
HOLDS = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *kept[100000];
int main(int argc, char **argv)
{
	long n = atol(argv[1]) / 1000;
	for (long i = 0; i < n; i++)
		memset(kept[i] = malloc(1000), 1, 1000);
	usleep((useconds_t)(atof(argv[2]) * 1e6));
	return argc > 3 ? atoi(argv[3]) : 0;
}
"""


def record(*program, arguments=(), env=None, seconds=60):
    session = temporary_folder() + "/a.mtop"
    done = memtop("record", *arguments, "-o", session, "--", *program, env=env or environment(), seconds=seconds)
    return done, session


def processes(session, *arguments):
    done = memtop("report", "--format", "json", *arguments, session)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def named(r, name):
    found = [p for p in r["processes"] if p["name"] == name]
    assert len(found) == 1, (name, r["processes"])
    return found[0]


@test
def t_a_wrapper_is_not_the_program():
    """sh -c './svc; true': what ./svc held is in the report, with its stacks."""
    svc = compiled(HOLDS)
    done, session = record("sh", "-c", f"{svc} 20000000 0; exit 7")
    assert done.returncode == 7 and done.stderr == "", done
    name = os.path.basename(svc)
    r = processes(session)
    assert r["program"]["args"][0] == "sh", r["program"]
    p = named(r, name)
    assert p["state"] == "exited" and p["status"] == 0 and p["exact"] and p["recorded"], p
    assert p["live_bytes"] >= 20000000 and p["live_blocks"] >= 20000, p
    assert r["tree"]["processes"] == 2 and r["tree"]["live_bytes"] >= 20000000 and r["tree"]["missed"] == 0, r["tree"]
    one = processes(session, "--process", name)
    assert one["program"]["pid"] == p["pid"] and one["totals"]["live_bytes"] == p["live_bytes"], one["totals"]
    assert one["totals"]["peak_bytes"] == p["peak_bytes"]
    check_invariants(one)
    by_pid = processes(session, "--process", str(p["pid"]))
    assert by_pid["totals"] == one["totals"]
    text = memtop("report", session).stdout
    assert re.match(r"2 processes: ", text) and re.search(rf"\n\* .* exited 0 +{name} \[{p['pid']}\]  \(below\)\n", text), text
    assert f"\n{name} [{p['pid']}]  exited with status 0" in text, text


@test
def t_short_ones_are_lines():
    """Processes of a millisecond: their figures, one row in the text, and no frames."""
    quick = compiled(HOLDS)
    name = os.path.basename(quick)
    done, session = record("sh", "-c", f"i=0; while [ $i -lt 30 ]; do {quick} 5000 0; i=$((i+1)); done")
    assert done.returncode == 0, done
    r = processes(session)
    lines = [p for p in r["processes"] if p["name"] == name]
    assert len(lines) == 30, len(lines)
    assert all(p["exact"] and not p["recorded"] and p["live_blocks"] == 5 and p["state"] == "exited" for p in lines), lines
    text = memtop("report", session).stdout
    assert re.search(rf"exited 0 +{name}  30 processes\n", text), text
    assert "\nA row of several has sums, but for PEAK: that of the largest.\n\n" in text, text
    one_line(memtop("report", "--process", name, session), 3, name, "only its totals were recorded")
    one_line(memtop("report", "--process", "nobody", session), 2, "nobody", "no process of this name")


# a worker with a title of its own, as setproctitle writes it, 1.2 s after its parent began
TITLED = r"""
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char *kept[3];
int main(int argc, char **argv)
{
	kept[0] = malloc(3000000);
	usleep(1200000);
	if (!fork()) {
		size_t size = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);
		memset(argv[0], 0, size);
		memcpy(argv[0], "w: 1", 4);
		kept[1] = malloc(4000000);
		for (int i = 0; i < 30; i++)
			poll(NULL, 0, 100);
		return 0;
	}
	return wait(NULL) < 0;
}
"""


@test
@mostly_waits
def t_a_fork_in_words():
    """When it ended, on the clock that it has from its parent, and how long it lived; its title; nothing counts twice."""
    _, session = record(compiled(TITLED), "an", "argument or two", "more")
    text = memtop("report", session).stdout
    assert re.match(r"2 processes: .* live at their ends; what a fork has from its parent counts once\n", text), text
    at, lived = map(float, re.search(r"exited with status 0 at ([\d.]+) s, ([\d.]+) s after its fork\n", text).groups())
    assert lived >= 2.4 and at - lived >= 1.1, (at, lived)
    assert "\ncommand: 'w: 1'\n" in text, text
    r = processes(session)
    fork = next(p for p in r["processes"] if p["forked"])
    assert fork["allocated_bytes"] == 4000000 and r["tree"]["allocated_bytes"] == 7000000, r
    parent = memtop("report", "--process", str(r["program"]["pid"]), session).stdout
    assert re.search(r"exited with status 0 after [\d.]+ s\ncommand: \S+ an 'argument or two' more\n", parent), parent


@test
@mostly_waits
def t_a_program_behind_many_execs():
    """sh executes env, that env another one, that one what lives on: its figures are its own line's, and no other's."""
    svc = compiled(HOLDS)
    name = os.path.basename(svc)
    done, session = record("sh", "-c", f"/bin/true; exec env env env env {svc} 3000000 1.5")
    assert done.returncode == 0 and done.stderr == "", done
    r = processes(session)
    p = named(r, name)
    assert p["recorded"] and p["exact"] and p["live_bytes"] >= 3000000 and p["state"] == "exited", p
    before = [q for q in r["processes"] if q["pid"] == p["pid"] and q["id"] != p["id"]]
    assert [q["name"] for q in sorted(before, key=lambda q: q["id"])] == ["sh"] + 4 * ["env"], before
    assert all(q["state"] == "execed" and not q["recorded"] and q["live_bytes"] < 1000000 for q in before), before
    assert r["tree"]["allocated_bytes"] == sum(q["allocated_bytes"] for q in r["processes"]), r["tree"]


@test
def t_one_process_stays_as_it_was():
    """No other process: the file is of version 1, also behind an exec, and --process has nothing to choose from."""
    alone = compiled(HOLDS)
    for program in ([alone, "5000", "0"], ["sh", "-c", f"exec {alone} 5000 0"]):
        _, session = record(*program)
        with open(session, "rb") as f:
            assert struct.unpack_from("<H", f.read(16), 8) == (1,)
        r = processes(session)
        assert len(r["processes"]) == 1 and r["processes"][0]["live_bytes"] == r["totals"]["live_bytes"], r["processes"]
        one_line(memtop("report", "--process", "x", session), 2, "one process")


@test
def t_a_tree_is_of_another_version():
    """Which an older memtop says it does not read."""
    _, session = record("sh", "-c", "/bin/true; /bin/true")
    with open(session, "r+b") as f:
        head = f.read(16)
        assert struct.unpack_from("<H", head, 8) == (2,), head
        f.seek(8)
        f.write(struct.pack("<H", 3))
    one_line(memtop("report", session), 3, "written by another memtop: format 3")


@mostly_waits
def t_a_daemon_is_recorded_to_its_end():
    """The program ends at once, what it left runs on: so does the recording, and its status is the program's."""
    holds = compiled(HOLDS)
    done, session = record("sh", "-c", f"{holds} 3000000 1.5 & exit 5")
    assert done.returncode == 5 and done.stderr == "", done
    p = named(processes(session), os.path.basename(holds))
    assert p["state"] == "exited" and p["recorded"] and p["live_bytes"] >= 3000000, p


@mostly_waits
def t_the_recording_of_a_daemon_can_be_ended():
    """SIGTERM and, once the program has ended, SIGINT end the recording; the daemon goes on."""
    holds = compiled(HOLDS)
    for number in (signal.SIGTERM, signal.SIGINT):
        folder = temporary_folder()
        recorder = start([MEMTOP, "record", "-o", folder + "/a.mtop", "--", "sh", "-c",
                          f"{holds} 3000000 60 & echo $! >{folder}/pid; exit 3"], env=environment())
        wait_for(lambda: os.path.exists(folder + "/pid") and open(folder + "/pid").read().strip(), what="the daemon's pid")
        pid = int(open(folder + "/pid").read())
        at_end(kill, pid)
        wait_for(lambda: [p for p in processes_of(folder) if p["recorded"] and p["pid"] == pid], seconds=20, what="frames of it")
        recorder.send_signal(number)
        assert recorder.wait(20) == 3, recorder.returncode
        p = [p for p in processes(folder + "/a.mtop")["processes"] if p["pid"] == pid][0]
        assert p["state"] == "running" and p["live_bytes"] >= 3000000, p
        os.kill(pid, 0)


def processes_of(folder):
    """While it is written: a reader sees what is whole so far."""
    done = memtop("report", "--format", "json", folder + "/a.mtop")
    return json.loads(done.stdout)["processes"] if done.returncode == 0 else []


@mostly_waits
def t_first_only_and_no_follow():
    holds = compiled(HOLDS)
    for option in ("--first-only", "--no-follow"):
        folder = temporary_folder()
        began = time.monotonic()
        done = memtop("record", option, "-o", folder + "/a.mtop", "--", "sh", "-c",
                      f"{holds} 3000000 60 >/dev/null 2>&1 & echo $! >{folder}/pid; exit 4", env=environment())
        at_end(kill, int(open(folder + "/pid").read()))
        assert done.returncode == 4 and time.monotonic() - began < 50, done
        names = {p["name"] for p in processes(folder + "/a.mtop")["processes"]}
        assert "sh" in names and (option == "--first-only" or len(names) == 1), names


@test
def t_who_cannot_be_followed():
    """A static program is named with its reason; it has no figures, and no recording waits for it."""
    source = temporary_folder() + "/s.c"
    with open(source, "w", encoding="utf-8") as f:
        f.write("int main(void) { return 0; }\n")
    static = temporary_folder() + "/static-prog"
    if run(["gcc", "-static", "-o", static, source]).returncode:
        raise Skip("no static libc")
    done, session = record("sh", "-c", f"{static}; exit 0")
    assert done.returncode == 0, done
    r = processes(session)
    p = named(r, "static-prog")
    assert p["state"] == "not_followed" and "static" in p["why"] and p["live_bytes"] == 0, p
    assert r["tree"]["not_followed"] == 1, r["tree"]
    assert re.search(r"not followed +static-prog .*static", memtop("report", session).stdout)


@mostly_waits
def t_memtop_is_killed():
    """Killed in the middle: the programs go on, and the file opens to the last second of each."""
    holds = compiled(HOLDS)
    folder = temporary_folder()
    recorder = start([MEMTOP, "record", "-o", folder + "/a.mtop", "--", "sh", "-c",
                      f"{holds} 3000000 60 & echo $! >{folder}/pid; wait"], env=environment())
    wait_for(lambda: os.path.exists(folder + "/pid") and open(folder + "/pid").read().strip(), what="the pid")
    pid = int(open(folder + "/pid").read())
    at_end(kill, pid)
    wait_for(lambda: [p for p in processes_of(folder) if p["recorded"] and p["pid"] == pid and p["live_bytes"]], seconds=20)
    recorder.kill()
    recorder.wait()
    os.kill(pid, 0)
    done = memtop("report", "--format", "json", "--process", str(pid), folder + "/a.mtop")
    assert done.returncode == 0 and "cut" in done.stderr, done
    assert json.loads(done.stdout)["totals"]["live_bytes"] >= 3000000


@mostly_waits
def t_a_disk_that_fills():
    """It is said once, the tree runs to its end, its status is passed on, and what was saved opens."""
    folder = temporary_folder()
    if run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", folder]).returncode:
        raise Skip("mounting a tmpfs needs rights")
    at_end(run, ["umount", "-l", folder])
    holds = compiled(HOLDS)
    script = "; ".join(f"{holds} 17000000 0.3" for _ in range(6)) + "; sleep 1.2"
    done = memtop("record", "-o", folder + "/a.mtop", "--", "sh", "-c", script, env=environment())
    assert done.returncode == 125, done
    assert re.fullmatch(r"memtop: [^\n]+No space left[^\n]+saved[^\n]+\n", done.stderr), done.stderr
    after = memtop("report", "--format", "json", folder + "/a.mtop")
    assert after.returncode == 0, after


@test
def t_marks_and_pipes():
    """Both sides of a pipe have a line; a crash in the tree is told by its signal."""
    holds = compiled(HOLDS)
    done, session = record("sh", "-c", f"{holds} 20000 0 | {holds} 30000 0; sh -c 'kill -SEGV $$'; exit 0")
    assert done.returncode == 0, done
    r = processes(session)
    name = os.path.basename(holds)
    blocks = sorted(p["live_blocks"] for p in r["processes"] if p["name"] == name)
    assert blocks == [20, 30], r["processes"]
    crashed = [p for p in r["processes"] if p["state"] == "signalled"]
    assert [p["signal"] for p in crashed] == [signal.SIGSEGV], r["processes"]


if __name__ == "__main__":
    main()
