# SPDX-License-Identifier: MIT
"""setting.py - paths, running programs, and a description of this machine."""
import os
import platform
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get("BUILD") or "build/release")
AGENT = os.path.join(BUILD, "libmemtop-agent.so")
QUICK = bool(os.environ.get("QUICK"))
PAIRS = int(os.environ.get("PAIRS") or (5 if QUICK else 15))
FOLDER = tempfile.mkdtemp(prefix="memtop-bench-")  # bench.py removes it
PLAIN = {"PATH": "/usr/bin:/bin", "HOME": FOLDER, "LC_ALL": "C", "PERL_HASH_SEED": "0", "PYTHONHASHSEED": "0",
         "PYTHONMALLOC": "malloc", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": FOLDER}


class Failed(Exception):
    """A run that did not do what it is measured for."""


def built(name):
    return os.path.join(BUILD, "bench", name)


def output(command, env=None, status=0):
    """What a program prints, or Failed."""
    done = subprocess.run(command, env=env or PLAIN, cwd=FOLDER, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", check=False)
    if done.returncode != status:
        raise Failed(f"{' '.join(command)[:200]}: status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


def refused(options):
    """None when the agent knows these options, else its message: it reports on stderr and does not
    start."""
    done = subprocess.run(["/bin/true"], env={**PLAIN, "LD_PRELOAD": AGENT, "MEMTOP_OPTIONS": f"listen=none {options}"},
                          capture_output=True, text=True, check=False)
    return done.stderr.strip() or None


def agent_environment(options=""):
    return {"LD_PRELOAD": AGENT, **({"MEMTOP_OPTIONS": options} if options else {})}


def version_of(command):
    """First line that a program says about itself, "" when it is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        return ""
    return next(iter((done.stdout + done.stderr).splitlines()), "")


def machine():
    """Lines about the machine and the versions behind the figures."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), platform.machine())
    with open("/proc/meminfo", encoding="utf-8") as f:
        memory = int(f.readline().split()[1]) >> 20
    packages = ("clang gawk gcc git heaptrack jq libc6 libunwind8 lua5.4 nodejs perl python3 redis-server ripgrep sqlite3 "
                "valgrind").split()
    said = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n", *packages],
                          capture_output=True, text=True, check=False).stdout
    found = [line.split(" ", 1)[1] for line in said.splitlines() if line.startswith("installed ")]
    commit = version_of(["git", "-C", ROOT, "describe", "--always", "--dirty"])
    load = os.getloadavg()[0]
    return [f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cpus ({model}), {memory} GiB, Linux {platform.release()}, "
            f"load before {load:.1f}; memtop {commit}", "", ", ".join(found), ""]
