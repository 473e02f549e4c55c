# SPDX-License-Identifier: MIT
"""harness.py - the test scripts' framework: result lines, waiting, ending processes.

A test script defines functions with @test and calls main(). Each prints PASS or FAIL (with the
reason) or SKIP; processes started through start() are ended when its function returns. Tests never
sleep for a fixed time: wait_for() polls a condition until a deadline.
"""
import atexit
import concurrent.futures
import contextlib
import contextvars
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build/release"))
# make check-asan, check-tsan: memtop under sanitizers, with everything else as it is
SANITIZED = os.environ.get("SANITIZED")
MEMTOP = os.path.join(f"{BUILD}-{SANITIZED}" if SANITIZED else BUILD, "memtop")
AGENT = os.path.join(BUILD, "libmemtop-agent.so")
if SANITIZED:
    os.environ["MEMTOP_AGENT"] = AGENT  # no agent lies beside it
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")
LIB = os.path.join(ROOT, "tests", "lib")
TARGETS = os.path.join(BUILD, "tests", "targets")
LONG = bool(os.environ.get("LONG"))
PATIENCE = 12 if SANITIZED else 6  # times as long, wherever a script waits: machines are busy

_tests, _waiting = [], []
_saying = threading.Lock()
_cleanup = contextvars.ContextVar("what ends with the test that runs here", default=None)
_newest = contextlib.ExitStack()  # for threads that a test made by itself; without a test, until the script's end
atexit.register(_newest.close)


os.environ.pop("PYTHONPATH", None)  # that of a script of ours is none for what it starts
# Nor are signals that a shell ignored for run.sh's commands in the background: coreutils 9.10's timeout passes that on.
for ignored in signal.SIGINT, signal.SIGQUIT:
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.default_int_handler if ignored == signal.SIGINT else signal.SIG_DFL)


class Skip(Exception):
    """The test cannot be judged here; the text says why."""


def test(function):
    """Register a test; its name is the function's."""
    _tests.append(function)
    return function


def mostly_waits(function):
    """Register a test that waits for seconds and computes little: those of a file run last, all at the same time."""
    _waiting.append(function)
    return function


def result(word, name, why=""):
    why = " ".join(str(why).split())
    say(f"{word} {name}{': ' + why if why else ''}")


def say(*lines):
    """Whole lines in one write: tests that run at the same time must not write into each other's."""
    with _saying:
        sys.stdout.write("".join(line + "\n" for line in lines))
        sys.stdout.flush()


def run_one(function):
    """Run one test; True unless it failed."""
    global _newest
    name = function.__name__.removeprefix("t_")
    with contextlib.ExitStack() as stack:
        _cleanup.set(stack)
        _newest = stack
        try:
            function()
            result("PASS", name)
        except Skip as why:
            result("SKIP", name, why)
        except AssertionError as why:
            place = traceback.extract_tb(why.__traceback__)[-1]
            lines = str(why).splitlines() or [f"line {place.lineno}: {place.line}"]
            result("FAIL", name, lines[0])
            say(*("  | " + line for line in lines[1:]))
            return False
        except Exception as why:  # a broken test is a failed one
            result("FAIL", name, f"{type(why).__name__}: {why}")
            say(traceback.format_exc())
            return False
    return True


def main():
    os.chdir(ROOT)
    wanted = sys.argv[1:]
    tests, waiting = ([(t,) for t in part if not wanted or t.__name__.removeprefix("t_") in wanted]
                      for part in (_tests, _waiting))
    good = [run_one(*t) for t in tests] + (at_once(run_one, waiting) if waiting else [])
    sys.exit(0 if all(good) and good else 1)


def wait_for(condition, seconds=10, what="condition"):
    """Poll until condition() is true and return its value; AssertionError past the deadline."""
    end = time.monotonic() + seconds * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds * PATIENCE} s")
        time.sleep(0.02)


def _ends():
    return _cleanup.get() or _newest


def temporary_folder():
    """A folder that goes with the test."""
    path = tempfile.mkdtemp(prefix="memtop-test-")
    if "--uid" in os.environ.get("CONTAIN", ""):
        os.chmod(path, 0o777)
    _ends().callback(shutil.rmtree, path, ignore_errors=True)
    return path


def at_end(function, *arguments, **named):
    _ends().callback(function, *arguments, **named)


def stop(process, grace=3):
    """End one process that we started: TERM, then KILL, and reap it."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()


def kill(pid):
    """One that is not ours to reap, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def children(pid):
    """Those of all its threads, now: one that was just started may have none yet."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as f:
                found += map(int, f.read().split())
    return found


def asleep(pid):
    """Whether no thread of it computes, or waits for a processor: a program that does is not done."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8", errors="replace") as f:
                if f.read().rsplit(")", 1)[1].split()[0] in "RD":
                    return False
    return True


def child_of(pid, seconds=20):
    """Its first child, as soon as it has one."""
    return wait_for(lambda: children(pid), seconds, f"a child of process {pid}")[0]


def kill_tree(pid):
    """One that is not ours to reap, and all that it started."""
    below = children(pid)
    kill(pid)
    for child in below:
        kill_tree(child)


def start(command, **named):
    """Popen that ends with the test."""
    process = subprocess.Popen(command, **{"stdin": subprocess.DEVNULL, **named})
    _ends().callback(stop, process)
    return process


def run(command, seconds=60, **named):
    """Run to the end; stdout, stderr as text unless text=False. A hang is a failure that says so."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               "text": True, "errors": "surrogateescape", **named}
    if options["text"] is False:
        options.pop("errors")
    with subprocess.Popen(command, **options) as process:
        try:
            out, err = process.communicate(timeout=seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"{' '.join(map(str, command))}: still running after {seconds * PATIENCE} s\n{(out or '')[:4000]}\n{err}")
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def at_once(function, arguments):
    """function(*a) for each a, all at the same time: for what mostly waits. The answers, in order."""
    with concurrent.futures.ThreadPoolExecutor(len(arguments)) as pool:
        return [f.result() for f in [pool.submit(contextvars.copy_context().run, function, *a) for a in arguments]]


def need(*tools):
    """Skip when a tool of the test is not installed."""
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")


def emulator(machine):
    """qemu-user's program for another machine's programs: Debian names it so up to a release, then without -static."""
    return f"qemu-{machine}" if not shutil.which(f"qemu-{machine}-static") and shutil.which(f"qemu-{machine}") else f"qemu-{machine}-static"


def user_folders():
    """Variables that keep memtop's files out of the user's home."""
    home = temporary_folder()
    return {"HOME": home, "XDG_STATE_HOME": home + "/state", "XDG_CONFIG_HOME": home + "/config",
            "XDG_RUNTIME_DIR": home, "MEMTOP_AGENT": AGENT}


def environment(**more):
    """The caller's environment without anything of memtop's, plus private folders and `more`; a compiler is the compiler."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("MEMTOP", "XDG_", "LD_", "LC_", "TMUX", "DEBUGINFOD_"))}
    return {**plain, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "CCACHE_DISABLE": "1", **user_folders(), **more}


class Session(str):
    """A session file's path. One that recorded() made has what its memtop ended with, too."""
    status = stdout = stderr = None


def _record(command, options, arguments, before, path):
    session = Session(path or temporary_folder() + "/session.mtop")
    return session, [*before, MEMTOP, "record", "-o", session, *(["--options", options] if options else []), *arguments,
                     *(["--", *command] if command else [])]


def recorded(*command, options="", arguments=(), before=(), env=None, status=0, seconds=60, path=None, **named):
    """The Session of a command that `memtop record` ran to its end, with this status (None: any). `options` are the
    agent's, `arguments` record's own; without a command, they name a target that runs already. `before`: words in front."""
    session, words = _record(command, options, arguments, before, path)
    done = run(words, seconds, env=env or environment(), **named)
    assert status in (None, done.returncode), f"status {done.returncode}, not {status}: {done}"
    assert os.path.exists(session), f"no session: {done}"
    session.status, session.stdout, session.stderr = done.returncode, done.stdout, done.stderr
    return session


def recording(*command, options="", arguments=(), before=(), env=None, path=None, **named):
    """`memtop record` under way, as start() gives it; its .session is what it writes."""
    session, words = _record(command, options, arguments, before, path)
    process = start(words, env=env or environment(), **named)
    process.session = session
    return process


def read_report(text):
    """A JSON report with the frames of its stacks and changes in their places, its sums checked."""
    r = json.loads(text)
    for row in r["stacks"] + r["changes"]:
        row["frames"] = [r["frames"][i] for i in row["frames"]]
    check_invariants(r)
    return r


def report(target, env=None, seconds=60, arguments=()):
    """memtop report --format json TARGET, all stacks, as read_report() gives it."""
    # Into a file: 32 MB through a pipe are 1,000 reads, and each waits for this program's other threads.
    with tempfile.TemporaryFile() as out:
        done = run([MEMTOP, "report", "--format", "json", "--stacks", "all", *arguments, target], seconds, env=env or environment(),
                   stdout=out)
        assert done.returncode == 0, f"memtop report {target}: status {done.returncode}\n{done.stderr}"
        out.seek(0)
        return read_report(out.read())


def wait_for_session(path, seconds=30):
    """A recording that is under way has the target's state. The file's size does not tell: its header is written before."""
    def begun():
        done = run([MEMTOP, "report", "--format", "json", path], env=environment()) if os.path.exists(path) else None
        return done and not done.returncode and json.loads(done.stdout)["timeline"]
    wait_for(begun, seconds, f"the target's state in {path}")


def check_invariants(r):
    """design: sum of stacks and of those omitted = sum of libraries = totals; live = allocated - freed; net = born - gone.
    A state that came in part says that its stacks hold less."""
    t, told = r["totals"], any(w.startswith("The state is incomplete: ") for w in r["warnings"])
    assert not told or not r["program"]["complete"], r["program"]
    for unit in ("bytes", "blocks"):
        assert t[f"live_{unit}"] == t[f"allocated_{unit}"] - t[f"freed_{unit}"], f"live {unit} {t}"
        for part in ("stacks", "libraries"):
            for field in (f"live_{unit}", f"allocated_{unit}"):
                total = sum(row[field] for row in r[part]) + (r["omitted"][field] if part == "stacks" else 0)
                assert total == t[field] or told and total < t[field], f"{field}: {part} add up to {total}, totals say {t[field]}"
    # the peak was within the program's life, as far as it is known
    assert 0 <= t["peak_time_s"] <= r["program"]["duration_s"] + 1, f"peak at {t['peak_time_s']} s of {r['program']}"
    for row in r["changes"]:
        for unit in ("bytes", "blocks"):
            assert row[f"net_{unit}"] == row[f"born_{unit}"] - row[f"gone_{unit}"], f"net {row}"


class Synthetic:
    """The synthetic agent as a process; .address is its first socket as memtop's TARGET."""

    def __init__(self, *arguments, listen=("tcp:0",)):
        command = [os.path.join(LIB, "synthetic.py"), *map(str, arguments)]
        for where in listen:
            command += ["--listen", where]
        self.process = start(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "BUILD": BUILD})
        self.sockets = []
        for line in self.process.stdout:
            if line == "ready\n":
                break
            self.sockets.append(line.split()[1])
        assert self.sockets, "the synthetic agent did not start"
        self.pid = self.process.pid
        self.address = self.sockets[0].removeprefix("tcp")

    def stop(self):
        stop(self.process)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
