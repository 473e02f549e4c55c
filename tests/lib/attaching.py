# SPDX-License-Identifier: MIT
"""attaching.py - helpers of the attach tests: attaching, expecting a refusal, finding a process's
tracer."""
import contextlib
import os
import re
import signal
import subprocess

from harness import BUILD, MEMTOP, ROOT, TARGETS, Skip, environment, report, run, start, temporary_folder, wait_for

FIRE = os.path.join(TARGETS, "s_attach")
SEALED = os.path.join(TARGETS, "s_sealed")
HELD = re.compile(r"(\d+) (\S+): the agent counts; a (waiting|running) thread was held for ([\d.]+) ms; watch it with memtop (\S.*)\n")


def attach(pid, *more, env=None, status=0):
    """stdout and stderr of memtop attach --no-view."""
    done = run([MEMTOP, "attach", "--no-view", *map(str, more), str(pid)], env=env or environment())
    assert done.returncode == status, f"status {done.returncode}, not {status}: {done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def another_build(mark):
    """The agent of another build: the same code, another version, so another build-id."""
    folder = temporary_folder()
    done = run(["cp", "-as", f"{BUILD}/agent", folder])
    assert done.returncode == 0, done
    os.unlink(f"{folder}/agent/base/version.o")
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD")}
    done = run(["make", f"B={folder}", f"MARK={mark}", f"{folder}/libmemtop-agent.so"], env=env, cwd=ROOT)
    assert done.returncode == 0, done
    return f"{folder}/libmemtop-agent.so"


def refused(pid, *words, **more):
    """memtop refuses in one line that has these words, and the process goes on unharmed."""
    out, err = attach(pid, status=3, **more)
    assert not out and err.startswith("memtop: ") and err.count("\n") == 1 and "; " in err, (out, err)
    for word in words:
        assert word in err, f"{word!r} is not in: {err}"


def attached(pid, **more):
    """milliseconds that a thread was held; whether it waited."""
    out, err = attach(pid, **more)
    match = HELD.fullmatch(out)
    assert match and int(match[1]) == pid and not err, (out, err)
    return float(match[4]), match[3] == "waiting"


def detached(target):
    done = run([MEMTOP, "detach", str(target)], env=environment())
    assert done.returncode == 0 and "the agent is out of" in done.stdout and not done.stderr, done


def ready(command, **named):
    """A started program; .first is the first line that it printed."""
    process = start(command, stdout=subprocess.PIPE, text=True, **named)
    process.first = process.stdout.readline()
    assert process.first, f"{command}: ended at once, status {process.wait()}"
    return process


def finish(process, seconds=60):
    """SIGTERM, then the rest of its output; it must end by itself with status
    0."""
    process.send_signal(signal.SIGTERM)
    try:
        out = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{process.args}: hangs after an attach: {standing(process)}")
    assert process.returncode == 0, f"{process.args}: status {process.returncode}: {out}"
    return out


def standing(process):
    """Where a process that should have ended is: itself or, when it has ended, whoever keeps its output open."""
    if process.poll() is not None:
        return f"it has ended, status {process.returncode}; its output is open"
    text = ""
    for file in ("status", "syscall", "wchan", "stack"):
        with contextlib.suppress(OSError), open(f"/proc/{process.pid}/{file}", encoding="utf-8", errors="replace") as f:
            text += "".join(line for line in f if file != "status" or re.match("State|TracerPid|Threads|Sig|ShdPnd", line)) + "\n"
    return text


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def totals(pid):
    return report_of(f"@memtop.{pid}")["totals"]


def report_of(target):
    return report(target, env=environment())


def root_only():
    if os.geteuid():
        raise Skip("only root can be two users")


def let_go(process, seconds=30):
    wait_for(lambda: process.poll() is not None or not tracers(process.pid).replace("TracerPid:\t0\n", ""), seconds, "the end of the tracing")


def statuses(pid):
    return "".join(lines for lines in tracers(pid).splitlines(True) if not lines.endswith("\t0\n")) or "TracerPid:\t0\n"


def tracers(pid):
    """A line for each of its threads."""
    text = ""
    with contextlib.suppress(OSError):
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8", errors="replace") as f:
                text += next(line for line in f if line.startswith("TracerPid"))
    return text
