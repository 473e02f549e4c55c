# SPDX-License-Identifier: MIT
"""tools.py - the compared tools: their variables, commands in front, and viewers.

One run of a command under a tool is run(): wall s, cpu s of all processes but the viewers, peak KiB.
"""
import contextlib
import filecmp
import itertools
import os
import shutil
import signal
import subprocess
from collections import namedtuple

from setting import FOLDER, PLAIN, Failed, agent_environment, built, output, refused

Run = namedtuple("Run", "wall cpu peak")
_names = itertools.count()


class Tool:
    def __init__(self, name, what, environment=None, prefix=(), viewers=0, options=None):
        self.name, self.what, self.environment = name, what, environment or {}
        self.prefix, self.viewers, self.options = list(prefix), viewers, options

    def missing(self):
        """None, or why it cannot run: what the agent answers to its options, or no such program."""
        if self.options and refused(self.options):
            return "not in this build"
        if self.prefix and not shutil.which(self.prefix[0], path=PLAIN["PATH"]):
            return f"not installed: {self.prefix[0]}"
        return None


def memtop(name, what, options="", viewers=0):
    return Tool(name, what, agent_environment(options), viewers=viewers, options=options)


HEAPTRACK_OUT = os.path.join(FOLDER, "heaptrack")
PLAIN_TOOL = Tool("plain", "nothing")
ALL = {t.name: t for t in (
    Tool("forward", "a preload that only calls on", {"LD_PRELOAD": built("forward.so")}),
    memtop("memtop", "memtop, engine cfi: every block, full stacks, its server listening"),
    memtop("memtop-viewer", "memtop with a viewer connected, ten ticks a second", viewers=1),
    memtop("memtop-sampled", "memtop, one sample in 64 KiB", "sample=64k"),
    memtop("memtop-caller", "memtop, engine caller", "unwind=caller"),
    memtop("memtop-fp", "memtop, engine fp", "unwind=fp"),
    memtop("memtop-instrument", "memtop, engine instrument", "unwind=instrument"),
    memtop("memtop-libunwind", "memtop, engine libunwind", "unwind=libunwind"),
    Tool("capture", "a preload that takes stacks by unw_backtrace and drops them", {"LD_PRELOAD": built("capture.so")}),
    Tool("heaptrack", "heaptrack", prefix=["heaptrack", "-o", HEAPTRACK_OUT]),
)}


@contextlib.contextmanager
def viewers(count, name, verbose=False):
    """So many viewers of the agent that listens at name; yields the process, which prints at its end."""
    command = [built("drain"), *(["-v"] if verbose else []), name, str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)


def last_words(process):
    """The "end" line of viewers that were closed, as a dict."""
    said, _ = process.communicate(timeout=60)
    words = said.splitlines()[-1].split() if said else []
    if not words or words[0] != "end":
        raise Failed("the viewer ended without a word")
    return dict(zip(words[1::2], map(int, words[2::2])))


def listening():
    """A name of its own for an agent's socket."""
    return f"memtop-bench-{os.getpid()}-{next(_names)}"


def remove_heaptrack_files():
    for file in os.listdir(FOLDER):
        if file.startswith("heaptrack."):
            os.unlink(os.path.join(FOLDER, file))


def _measure(tool, command, times, extra, out="/dev/null"):
    variables = {**tool.environment, **extra}
    words = [built("measure"), "-n", str(times), "-o", out]
    for key, value in variables.items():
        words += ["-e", f"{key}={value}"]
    wall, cpu, peak = map(int, output(words + tool.prefix + command).split())
    return Run(wall / 1e9, cpu / 1e9, peak)


def run(tool, command, times=1):
    if not tool.viewers:
        taken = _measure(tool, command, times, {})
        if tool.name == "heaptrack":
            remove_heaptrack_files()
        return taken
    name = listening()
    options = f"{tool.options} listen=@{name}".strip()
    with viewers(tool.viewers, name) as process:
        taken = _measure(tool, command, times, {"MEMTOP_OPTIONS": options})
        end = last_words(process)
    if not end["final"]:
        raise Failed(f"{command[0]}: the viewer did not see the end")
    return taken


def same_output(command):
    """Does the program say under memtop what it says without?"""
    files = [os.path.join(FOLDER, f"said-{name}") for name in ("plain", "memtop")]
    for tool, file in zip((PLAIN_TOOL, ALL["memtop"]), files):
        _measure(tool, command, 1, {}, file)
    same = filecmp.cmp(*files, shallow=False)
    for file in files:
        os.unlink(file)
    if not same:
        raise Failed("it says something else under memtop")


def blocks_by_memtop(command):
    """How many blocks the agent counted in this program."""
    name = listening()
    with viewers(1, name) as process:
        _measure(ALL["memtop"], command, 1, {"MEMTOP_OPTIONS": f"listen=@{name}"})
        end = last_words(process)
    return end["blocks"]


def heaptrack_saw(command):
    """(blocks in heaptrack's file, peak KiB of the target itself).

    heaptrack takes itself out of the environment, so that a target behind a shell or env(1) is not seen and
    costs nothing: only its file tells. In the file each allocation is a line that begins with "+".
    """
    peaks = os.path.join(FOLDER, "peaks")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(peaks)
    output(ALL["heaptrack"].prefix + command, {**PLAIN, "LD_PRELOAD": built("peak.so"), "PEAK_FILE": peaks})
    file = next(os.path.join(FOLDER, f) for f in os.listdir(FOLDER) if f.startswith("heaptrack."))
    reader = "zstd -dc" if file.endswith(".zst") else "gzip -dc"
    seen = int(output(["sh", "-c", f"{reader} {file} | grep -c '^+'"]))
    remove_heaptrack_files()
    own = os.path.basename(command[0])[:15]
    with open(peaks, encoding="utf-8") as f:
        found = [int(line.split()[0]) for line in f if line.split()[1] == own]
    return seen, max(found, default=0)
