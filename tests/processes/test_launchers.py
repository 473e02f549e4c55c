#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_launchers.py - memtop starts a static program, which has no agent: what it executes is recorded."""
import json
import os
import re
import signal
import subprocess

from cli import memtop
from client import preload
from container import need_place
from harness import (MEMTOP, Skip, at_end, check_invariants, child_of, kill, main, need, recorded, recording, run,
                     temporary_folder, test, wait_for)
from term import Terminal

# executes its arguments in its own process ("here"), in a child that it waits for ("child"), in 20 of them ("many"), or in one
# that it leaves behind ("daemon")
LAUNCHER = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int status = 0, count = !strcmp(argv[1] + 1, "many") ? 20 : 1;
	if (!strcmp(argv[1] + 1, "here"))
		return execv(argv[2], argv + 2);
	while (count--) {
		if (!fork()) {
			execv(argv[2], argv + 2);
			_exit(99);
		}
		if (!strcmp(argv[1] + 1, "daemon"))
			return 4;
		wait(&status);
	}
	return WEXITSTATUS(status);
}
"""
# holds 3,000 blocks, in its last half second too; ends with 5
HOLDS = r"""
#include <stdlib.h>
#include <unistd.h>
static void *kept[3000];
int main(int argc, char **argv)
{
	for (int i = 0; i < 3000; i++)
		kept[i] = malloc(100);
	usleep(argc > 1 ? atoi(argv[1]) * 1000u : 0);
	return kept[2999] ? 5 : 1;
}
"""


def built(name, source, *flags):
    folder = temporary_folder()
    with open(f"{folder}/{name}.c", "w", encoding="utf-8") as f:
        f.write(source)
    if run(["gcc", *flags, "-o", f"{folder}/{name}", f"{folder}/{name}.c"]).returncode:
        raise Skip("no static libc")
    return f"{folder}/{name}"


def launcher():
    return built("launcher", LAUNCHER, "-static")


def without_a_file(*words, options=()):
    """What memtop record said, which left no file."""
    session = temporary_folder() + "/a.mtop"
    done = memtop("record", "-o", session, *options, "--", *words)
    assert not os.path.exists(session), done
    return done


def catches(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"^SigCgt:\s*(\w+)", f.read(), re.M).group(1), 16) >> number - 1 & 1


def report(session, *arguments):
    return json.loads(memtop("report", "-f", "json", *arguments, session).stdout)


@test
def t_for_ends_the_wait_for_a_launcher():
    """It executes nothing and runs on."""
    waits = built("waits", "#include <unistd.h>\nint main(void) { for (;;) pause(); }", "-static")
    p = recording(waits, options="follow_static=yes", arguments=("--for", "0.5"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    program = child_of(p.pid)
    at_end(kill, program)
    assert p.wait(60) == 125 and not os.path.exists(p.session), p
    assert os.path.exists(f"/proc/{program}"), "it was ended"


@test
def t_what_a_launcher_starts_is_recorded_whole():
    """Its status and output are the launcher's; all frames of its first program are there, however short that was."""
    launches, holds = launcher(), built("holds", HOLDS)
    for how, status, lines in (("here", 5, 1), ("child", 5, 2), ("daemon", 4, 2), ("many", 5, 21)):
        session = recorded(launches, "-" + how, holds, status=status)
        assert (session.stdout, session.stderr) == ("", ""), (how, session.stdout, session.stderr)
        r = report(session)
        assert r["program"]["args"] == [holds] and r["totals"]["allocated_blocks"] == 3000 and r["totals"]["live_bytes"] == 300000, (how, r)
        check_invariants(r)
        assert r["program"]["state"] == "exited" and r["program"]["status"] == 5, (how, r["program"])
        rows = sorted(r["processes"], key=lambda p: p["id"])
        assert len(rows) == lines, (how, rows)
        if how != "here":
            assert (rows[0]["name"], rows[0]["state"], rows[0]["recorded"]) == (launches, "not_followed", False), (how, rows[0])
            assert "statically linked" in rows[0]["why"], rows[0]
            assert all(p["name"] == "holds" and p["live_blocks"] == 3000 for p in rows[1:]), (how, rows)
        if how == "many":  # each has the first one's variables; who waits for a viewer as that does lives long enough to matter
            assert not all(p["recorded"] for p in rows[2:]), rows


@test
def t_nobody_waits_for_a_memtop_that_is_gone():
    """What a launcher executes after memtop's end, or where the board is out of reach, has the same variables."""
    done = run([built("holds", HOLDS)], env={**preload("listen=@memtop-test-late.%p wait=600000"), "MEMTOP_BOARD": "/proc/1/fd/9999:"})
    assert done.returncode == 5, done


@test
def t_memtop_below_another_proc():
    """memtop's number in its own pid namespace is another process in the /proc that it has: agents find its board all the same."""
    need("unshare")
    need_place("unshare", "--pid", "--fork")
    session = recorded(launcher(), "-child", built("holds", HOLDS), before=["unshare", "--pid", "--fork"], status=5)
    assert session.stderr == "", session.stderr
    r = report(session)
    assert r["totals"]["allocated_blocks"] == 3000 and len(r["processes"]) == 2, r["processes"]


@test
def t_who_says_nothing_needs_the_option():
    """No argument names a program: refused before the start, unless follow_static=yes."""
    holds = built("holds", HOLDS)
    hidden = built("hidden", f'#include <unistd.h>\nint main(void) {{ return execl("{holds}", "holds", NULL); }}\n', "-static")
    done = without_a_file(hidden)
    assert done.returncode == 126 and "--options follow_static=yes" in done.stderr, done
    session = recorded(hidden, options="follow_static=yes", status=5)
    assert report(session)["totals"]["allocated_blocks"] == 3000, session.stderr
    done = without_a_file(launcher(), "-here", holds, options=["--no-follow"])
    assert done.returncode == 126 and "static" in done.stderr, done


@test
def t_what_has_no_agent_is_said():
    """Nothing below it takes an agent: one line, its own status, no file. A program that could not start is named."""
    launches = launcher()
    static = built("static", "int main(void) { return 7; }\n", "-static")
    done = without_a_file(launches, "-child", static, options=["--options", "follow_static=yes"])
    assert done.returncode == 7, done
    assert re.fullmatch(r"memtop: \S+: nothing was recorded: it is statically linked, and no program that it executed had an agent that "
                        r"reached memtop \([^)]*\)\n",
                        done.stderr), done
    broken = temporary_folder() + "/notes"
    with open(broken, "wb") as f:
        f.write(b"\0\1\2\3")
    os.chmod(broken, 0o755)
    done = without_a_file(launches, "-child", broken)
    assert done.returncode == 126 and "not a program" in done.stderr, done


@test
def t_the_wait_can_be_ended():
    """SIGTERM ends memtop while it waits for an agent; the program runs on, and no file is left."""
    launches = launcher()
    waits = built("waits", "#include <unistd.h>\nint main(void) { return pause(); }\n", "-static")
    p = recording(launches, "-here", waits, options="follow_static=yes", stderr=subprocess.PIPE, text=True)
    children = f"/proc/{p.pid}/task/{p.pid}/children"
    child = int(wait_for(lambda: open(children, encoding="ascii").read(), 30))
    at_end(kill, child)
    wait_for(lambda: os.readlink(f"/proc/{child}/exe") == waits and catches(p.pid, signal.SIGTERM), 30)
    p.send_signal(signal.SIGTERM)
    assert p.wait(60) == 125
    assert not os.path.exists(p.session) and os.path.exists(f"/proc/{child}/exe")
    kill(child)  # it has the same stderr
    said = p.stderr.read()
    assert "no program that it executed has an agent" in said, said


@test
def t_a_gate_judges_what_it_starts():
    launches, holds = launcher(), built("holds", HOLDS)
    for limit, passes in (("300000", True), ("299999", False)):
        done = memtop("check", "--max-leaked", limit, "--", launches, "-child", holds)
        assert done.returncode == 5 and ("1 finding," in done.stderr) != passes, done
        assert "only what it executed is judged" in done.stderr, done


@test
def t_the_view_shows_what_it_starts():
    """The launcher is a line of P; what is left running is named by the process that has an agent."""
    launches, holds = launcher(), built("holds", HOLDS)
    command = f"{MEMTOP} run -- {launches} -child {holds} 600000; exec sleep 1000"
    with Terminal(["sh", "-c", command], 120, 36) as t:
        pid = t.wait_for(re.compile(r"holds \[(\d+)\]")).group(1)
        at_end(kill, int(pid))
        t.keys("P")
        t.wait_for(re.compile(r"not followed +\S*launcher"))
        t.keys("Q", "l")
        t.wait_for(lambda lines: f"memtop-p{pid}watchesitagain" in "".join(lines).replace(" ", ""))


main()
