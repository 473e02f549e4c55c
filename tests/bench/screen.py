# SPDX-License-Identifier: MIT
"""screen.py - the screen under load: from a key to its answer, memory, the first screen, frames, cpu at rest.

screen_agent/ serves a made-up program over the real socket: PATHS call paths, CHANGED of which
change in each tick. Its code is a generated ELF file with DWARF (FUNCTIONS functions, with others
inlined into them) and libraries of this machine. memtop runs on a pseudo-terminal and gets each key
once the last one was answered (tests/lib/keytime.py). Each key has four times:

    seen     from the write of the key until its answer stands on the screen: what the goal is about
    flushed  from the write until memtop had drawn (its own key log; the same clock)
    read     from when memtop read it until it had drawn: the rest was spent on something else
    whole    from the write until all rows of its answer were drawn (the key log again)

A key is answered when the screen shows its result: the view's tab, the moved selection, the open
row, the other column's mark, the letter in the prompt, the filter or the mark in the line of tabs.
Diffs, filters and searches also have rows of their own for `whole`, at rest and under load. One that is not whole
within WHOLE_S failed: its row misses its figure and says so.
"""
import contextlib
import math
import os
import random
import re
import select
import subprocess
import sys
import time

import figures
import goals
import redis
from setting import BUILD, FOLDER, PLAIN, QUICK, ROOT, Failed, built, output
from tools import ALL, listening

sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import keytime  # noqa: E402

PATHS = int(os.environ.get("PATHS") or 1000000)
CHANGED, NEW, TICK_NS = 50000, 500, 10 ** 8  # in a tick; NEW: paths at places that nobody asked for, to keep the symbolizer busy
KEYS = 150 if QUICK else 450
FUNCTIONS, FILES = 20000, 16
LIBRARIES = ("libevent-2.1.so.7", "libdw.so.1", "libelf.so.1", "libncursesw.so.6", "libzstd.so.1", "libcrypto.so.3",
             "libstdc++.so.6", "libsqlite3.so.0")
LARGE = os.path.join(BUILD, "bench", "large")
MEMTOP = os.path.join(BUILD, "memtop")
REST_S = 10 if QUICK else 30
WHOLE_S = 90               # an answer that is not whole by then failed
REST_AFTER_S = 60          # from the last key to the viewer's cpu at rest
ANSWER_S = 60              # a key without an answer is an error
PLAY_S = 60 if QUICK else 120 # keys are pressed no longer
WIDTH, HEIGHT = 120, 36
VIEWS = ["[1 Overview", "[2 Tree", "[3 Sites", "[4 Libs", "[5 Marks", "[6 Threads", "[7 Memory"]
KEY_MS = goals.MUST["screen: key to screen, names known: p99, ms"]


# --- the program that is watched

def source(number):
    """One file of functions that inline others."""
    lines = ["extern volatile unsigned sink;"]
    for h in range(8):
        lines += [f"static inline __attribute__((always_inline)) unsigned helper_{number}_{h}(unsigned x)", "{",
                  f"\tunsigned y = x * {h + 3};", "\tif (y & 4)", "\t\ty += sink;", "\treturn y ^ x;", "}"]
    for i in range(number * FUNCTIONS // FILES, (number + 1) * FUNCTIONS // FILES):
        lines += [f"unsigned large_{i:05}(unsigned x)", "{", f"\tunsigned a = helper_{number}_{i % 8}(x);", "\tsink = a;",
                  "\tfor (unsigned k = 0; k < (a & 7); k++)", f"\t\tsink += helper_{number}_{(i + 3) % 8}(k);",
                  f"\treturn sink + {i};", "}"]
    return "\n".join(lines) + "\n"


def make_large():
    """The ELF file; kept for the next time."""
    program = os.path.join(LARGE, "large")
    if os.path.exists(program):
        return program
    os.makedirs(LARGE, exist_ok=True)
    with open(os.path.join(LARGE, "main.c"), "w", encoding="ascii") as f:
        f.write("volatile unsigned sink;\nint main(void)\n{\n\treturn (int)sink;\n}\n")
    names = ["main"] + [f"part_{i:02}" for i in range(FILES)]
    for i in range(FILES):
        with open(os.path.join(LARGE, f"part_{i:02}.c"), "w", encoding="ascii") as f:
            f.write(source(i))
    for at in range(0, len(names), os.cpu_count()):
        running = [subprocess.Popen(["gcc", "-c", "-g", "-O1", "-o", f"{n}.o", f"{n}.c"], cwd=LARGE)
                   for n in names[at:at + os.cpu_count()]]
        if any(r.wait() for r in running):
            raise Failed("the large program does not compile")
    subprocess.run(["gcc", "-Wl,--build-id=sha1", "-o", "large.new", *(f"{n}.o" for n in names)], cwd=LARGE, check=True)
    os.rename(os.path.join(LARGE, "large.new"), program)
    return program


def places():
    """The file that tells screen_agent what code there is."""
    found = [(make_large(), [])]
    for name in LIBRARIES:
        path = f"/usr/lib/x86_64-linux-gnu/{name}"
        if os.path.exists(path):
            found.append((os.path.realpath(path), ["-D"]))
    lines = []
    for path, dynamic in found:
        build_id = output(["readelf", "-n", path]).split("Build ID:")[1].split()[0]
        lines.append(f"module {path} {build_id}")
        for line in output(["nm", "-S", "--defined-only", *dynamic, path]).splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in "tT":
                lines.append(f"{words[0]} {words[1]}")
    file = os.path.join(FOLDER, "places")
    with open(file, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")
    return file


class Agent:
    """screen_agent/; .said: its output so far, {word: numbers}."""

    def __init__(self, paths, changed, new=0):
        self.name, self.log = listening(), os.path.join(FOLDER, "screen_agent.log")
        with open(self.log, "w", encoding="ascii") as f:
            self.process = subprocess.Popen([built("screen_agent"), "-n", str(new), self.name, str(paths), str(changed), places()],
                                            stdout=f, stdin=subprocess.DEVNULL)
        while "paths" not in self.said:
            if self.process.poll() is not None:
                raise Failed("screen_agent did not start")
            time.sleep(0.02)

    @property
    def said(self):
        with open(self.log, encoding="ascii") as f:
            return {w[0]: w[1:] for w in (line.split() for line in f if line.endswith("\n"))}

    def close(self):
        """Its viewer is gone: (ticks sent, ticks due)."""
        self.process.wait(60)
        return tuple(map(int, self.said["ticks"]))


# --- memtop on its terminal

class Terminal(keytime.Driven):
    """Also counts output: bytes, and bursts at least 2 ms apart."""

    def __init__(self, target):
        self.bytes = self.frames = self.last = 0
        self.keys = os.path.join(FOLDER, "keys")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.keys)
        super().__init__(["/usr/bin/env", f"MEMTOP_KEYLOG={self.keys}", f"XDG_STATE_HOME={FOLDER}", f"HOME={FOLDER}",
                          MEMTOP, target], WIDTH, HEIGHT)

    def received(self, data):
        now = time.monotonic()
        self.frames += now - self.last >= 0.002
        self.last = now
        self.bytes += len(data)

    def status(self, name):
        """KiB, of VmHWM or VmRSS."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(name))

    def must(self, test, seconds, what):
        if self.wait(test, seconds) is None:
            raise Failed(f"no {what}:\n" + "\n".join(self.screen.lines()))


def pending(lines):
    return "symbols " in lines[0]


def loaded(lines):
    return keytime.selection(lines) is not None and "loading" not in lines[0]


def building(lines):
    return any("building" in line for line in lines[:24])


def typed(lines):
    """The prompt; hits are counted at its other end."""
    return lines[-1].strip().split("   ")[0]


def full(lines):
    """The whole screen: header, verdict, rows, and the keys in the last line."""
    return keytime.selection(lines) is not None and "LIVE" in lines[0] and "Q Quit" in lines[-1]


@contextlib.contextmanager
def watched(target):
    terminal = Terminal(target)
    try:
        yield terminal
    finally:
        terminal.close()


# --- keys

class Hand:
    """Presses keys; .times: a list of (kind, key, ns of the write, seen s, symbols were pending)."""

    def __init__(self, terminal, seed=1):
        self.t, self.rng, self.times, self.later, self.view = terminal, random.Random(seed), [], {}, 0  # later: {what: [s]}

    def think(self):
        """Waits for a random time, and until the drawing ends."""
        self.t.think(self.rng.uniform(0.005, 0.06))
        while select.select([self.t.fd], [], [], 0.002)[0]:
            self.t.read(0)

    def press(self, kind, key, test):
        busy, at = pending(self.t.screen.lines()), time.monotonic_ns()
        os.write(self.t.fd, key.encode())
        seen = self.t.wait(test, ANSWER_S)
        if seen is None:
            raise Failed(f"no answer to {key!r} ({kind}):\n" + "\n".join(self.t.screen.lines()))
        self.times.append((kind, key, at, seen, busy))
        self.think()

    def whole(self, what):
        """s from the last key until its answer is whole; inf: not within WHOLE_S, and nobody waits for that again."""
        found = self.later.setdefault(what, [])
        if math.inf in found:
            return
        at, end = self.times[-1][2], time.monotonic() + WHOLE_S
        while (whole := whole_after(self.t, at)) == math.inf and time.monotonic() < end:
            self.t.think(0.01)
        found.append((whole - at) / 1e9)
        self.think()

    def to(self, view):
        if view != self.view:
            self.press("view", str(view + 1), keytime.shows(VIEWS[view]))
        self.view = view

    def move(self, kind="move"):
        lines = self.t.screen.lines()
        was = keytime.selection(lines)
        if was is None:
            return
        self.press(kind, "j" if was == keytime.first_row(lines) else "k",
                   lambda now: keytime.selection(now) not in (was, None))

    def selected(self):
        lines = self.t.screen.lines()
        at = keytime.selection(lines)
        return lines[at] if at is not None else ""

    def open_rows(self):
        self.to(1)
        for _ in range(3):
            self.move()
            if "▶" in self.selected():
                self.press("open", "+", lambda lines: any(line.startswith(">") and "▼" in line for line in lines))
                self.whole("open")
                self.press("close", "-", lambda lines: any(line.startswith(">") and "▶" in line for line in lines))

    def sort(self):
        self.to(self.rng.choice((1, 2)))

        def heads(lines):
            return [m for line in lines for m in re.findall(r"\w+[▼▲]", line) if keytime.COLUMNS.search(line)]

        for key in ">><<":
            was = heads(self.t.screen.lines())
            self.press("sort", key, lambda lines, was=was: heads(lines) not in (was, []))

    def type_in(self, kind, key, word, end, test):
        """A prompt, a word, and what ends it."""
        self.press(kind, key, lambda lines: typed(lines).startswith(("Filter", "/")))
        for i in range(len(word)):
            self.press(f"{kind}: a letter", word[i], lambda lines, i=i: typed(lines).endswith(word[:i + 1]))
        self.press(f"{kind}: end", end, test)

    def filter(self):
        self.to(self.rng.choice((1, 2)))
        word = f"large_0{self.rng.randrange(10)}"
        self.type_in("filter", "\\", word, "\r", lambda lines: any(f"filter: {word}" in line for line in lines))
        self.whole("filter") # names that come may take rows away: no row is chosen here
        self.press("filter", "\\", lambda lines: typed(lines).endswith(word))
        self.press("filter: a letter", "\x15", lambda lines: not typed(lines).endswith(word))
        self.press("filter: end", "\r", lambda lines: not any("filter: " in line for line in lines))
        self.whole("filter off")

    def search(self):
        self.to(1)
        word = f"e_{self.rng.randrange(20000):05}"
        self.type_in("search", "/", word, "\r", lambda lines: not typed(lines).startswith("/" + word))
        self.whole("search")

    def diff(self):
        self.to(self.rng.choice((1, 2)))
        self.press("diff", "d", keytime.shows("since m1"))
        self.whole("diff")
        self.move("move, diffing")
        self.press("diff", "d", lambda lines: not any("since m1" in line for line in lines))
        self.whole("diff off")

    def mark(self):
        self.press("mark", "s", keytime.shows("setting a mark"))
        self.to(4)
        self.t.must(lambda lines: any(re.search(r"\bm1\b", line) for line in lines), 60, "mark")
        self.t.think(3)  # what is live at it comes after it


def play(hand, keys):
    begin = time.monotonic()
    while len(hand.times) < keys and time.monotonic() - begin < PLAY_S:
        for view in hand.rng.sample(range(7), 7):
            hand.to(view)
            for _ in range(2 if view < 5 else 0):
                hand.move()
        hand.open_rows()
        hand.sort()
        hand.filter()
        hand.search()
    before = len(hand.times)
    hand.mark()
    hand.diff()
    while len(hand.times) < before + keys // 8 and time.monotonic() - begin < PLAY_S * 5 / 4:
        hand.diff()


def at_rest(hand):
    """Diffs, filters and searches of a program that changes nothing."""
    hand.mark()
    for _ in range(2):  # the first ones ask for names
        hand.later.clear()
        hand.filter()
        hand.search()
        hand.diff()


def key_log(terminal):
    """([(ns of read, ns of flush)] of each key, [ns at which all rows were drawn])"""
    with open(terminal.keys, encoding="ascii") as f:
        lines = [line.split() for line in f if line.endswith("\n")]
    return [tuple(map(int, w)) for w in lines if w[0] != "whole"], [int(w[1]) for w in lines if w[0] == "whole"]


def whole_after(terminal, at):
    """When the answer to the key that was written at `at` was whole; inf: not yet."""
    keys, whole = key_log(terminal)
    read = next((r for r, _ in keys if r >= at), math.inf)
    return next((ns for ns in whole if ns >= read), math.inf)


def logged(terminal, times):
    """[(ns of read, ns of flush, ns when all was drawn)] of these keys."""
    keys, whole = key_log(terminal)
    if len(keys) < len(times):
        raise Failed(f"the key log has {len(keys)} of {len(times)} keys")
    return [(read, flush, next((ns for ns in whole if ns >= read), math.inf)) for read, flush in keys]


def spread(values):
    v = sorted(values)
    return v[len(v) // 2], v[min(len(v) * 99 // 100, len(v) - 1)], v[-1]


def key_rows(terminal, hand):
    log = logged(terminal, hand.times)
    by = {}
    for (kind, _, at, seen, _), (read, flushed, whole) in zip(hand.times, log):
        for k in (kind, "all"):
            by.setdefault(k, []).append((seen * 1e3, (flushed - at) / 1e6, (flushed - read) / 1e6, (whole - at) / 1e6))
    everything = by.pop("all")
    rows = []
    for kind, some in [*sorted(by.items()), ("**all**", everything)]:
        cells = [" / ".join(f"{x:.1f}" for x in spread(column)) for column in zip(*some)]
        p99 = spread([s[0] for s in some])[1]
        rows.append((kind, len(some), *cells, "met" if p99 <= KEY_MS else "missed"))
    head = ["key", "count", "seen: p50 / p99 / max, ms", "flushed", "read to flushed", "whole", f"p99 of {KEY_MS:.0f} ms"]
    lines = figures.table(head, rows)
    lines += ["Until all was whole, from the key (median, longest): " + ", ".join(
        f"{what} {sorted(v)[len(v) // 2]:.2f} s, {max(v):.2f} s" for what, v in sorted(hand.later.items())) + ".", ""]
    return lines, spread([s[0] for s in everything]), spread([s[3] for s in everything])[1]


# --- the sections

def whole_rows(later, when):
    """Rows of the goals for diffs, filters and searches; the longest of each."""
    for what in ("diff", "filter", "search"):
        longest = max(later.get(what, [math.inf]))
        yield said(f"until a {what} is whole, {when}, s", longest,
                   f"{longest:.2f} s" if longest < math.inf else f"not within {WHOLE_S} s" if what in later else "not measured")


def said(name, figure, text):
    """A line of the goals; name as in goals.MUST, behind "screen: "."""
    return (name, text, goals.judge(f"screen: {name}", figures.exact(figure), 1))


def empty_memory():
    """KiB, peak and now, of a memtop that watches a program without call paths."""
    agent = Agent(0, 0)
    with watched("@" + agent.name) as t:
        t.must(lambda lines: "LIVE" in lines[0], 30, "screen")
        t.think(5)
        found = t.status("VmHWM"), t.status("VmRSS")
    agent.close()
    return found


def first_screen(agent, t):
    """s from the connection to the first full screen, and to a whole model."""
    t.must(full, 60, "first screen")
    at = time.monotonic_ns() - int(agent.said["connected"][0])
    t.must(loaded, 600, "whole model")
    return at / 1e9, (time.monotonic_ns() - int(agent.said["connected"][0])) / 1e9


def under_load(new, keys):
    agent = Agent(PATHS, CHANGED, new)
    found = {"paths": int(agent.said["paths"][0]), "nodes": int(agent.said["paths"][2])}
    with watched("@" + agent.name) as t:
        found["first"], found["whole"] = first_screen(agent, t)
        if not new:
            t.must(lambda lines: not pending(lines) and not building(lines), 600, "symbols")
        t.think(3)
        frames, written, begin = t.frames, t.bytes, time.monotonic()
        t.think(5)
        seconds = time.monotonic() - begin
        found["frames"], found["bytes"] = (t.frames - frames) / seconds, (t.bytes - written) / seconds
        found["VmHWM"], found["VmRSS"] = t.status("VmHWM"), t.status("VmRSS")
        hand = Hand(t)
        play(hand, keys)
        found["marked"], found["later"] = t.status("VmRSS"), hand.later
        found["busy"] = sum(k[4] for k in hand.times) / len(hand.times)
        found["lines"], found["seen"], found["answered"] = key_rows(t, hand)
        t.think(0 if new else REST_AFTER_S)
        found["rest"] = 0 if new else cpu_of(t)[0]
    found["ticks"] = agent.close()
    found["rate"] = 1e9 / TICK_NS * found["ticks"][0] / max(found["ticks"][1], 1)
    return found


def unchanging():
    """How long diffs, filters and searches take where nothing changes."""
    agent = Agent(PATHS, 0)
    with watched("@" + agent.name) as t:
        t.must(loaded, 600, "whole model")
        t.must(lambda lines: not pending(lines) and not building(lines), 600, "symbols")
        hand = Hand(t)
        at_rest(hand)
    agent.close()
    return hand.later


def cpu_of(t):
    """(cpu as a part of one core, frames a second, bytes a second) of a terminal's program."""
    cpu, begin, frames, written = redis.cpu_s(t.pid), time.monotonic(), t.frames, t.bytes
    t.think(REST_S)
    seconds = time.monotonic() - begin
    return (redis.cpu_s(t.pid) - cpu) / seconds, (t.frames - frames) / seconds, (t.bytes - written) / seconds


def beside_redis():
    """The same beside a redis-server that waits."""
    with redis.Server(ALL["memtop"]) as server:
        server.load(100000)
        with watched("@" + server.name) as t:
            t.must(lambda lines: loaded(lines) and not pending(lines), 60, "first screen")
            t.think(12)  # names, the first scan for ages, rates that fall to nothing
            return cpu_of(t)


def rows():
    """All of it: the goals first, then the keys."""
    empty = empty_memory()
    calm = under_load(0, KEYS)
    print("  keys, names known: done", flush=True)
    try:
        busy = under_load(NEW, KEYS)
        print("  keys, symbolizer busy: done", flush=True)
    except Failed as why:  # a row that says so, not the end of the others
        busy = None
        unanswered = str(why).split("\n", 1)[0].rstrip(":")
        print(f"  keys, symbolizer busy: {why}", flush=True)  # with the screen
    rest, still = beside_redis(), unchanging()
    path = {k: 1024 * (calm[k] - e) / calm["paths"] for k, e in zip(("VmHWM", "VmRSS", "marked"), (*empty, empty[1]))}
    states = (("names known", calm), ("symbolizer busy", busy))
    reached = [
        *(said(f"key to screen, {state}: {name}, ms", found["seen"][i] if found else math.inf,
               f"{found['seen'][i]:.1f} ms" if found else f"{unanswered} within {ANSWER_S} s")
          for state, found in states for i, name in enumerate(("p50", "p99", "slowest"))),
        *(said(f"key to whole answer, {state}: p99, ms", found["answered"] if found else math.inf,
               f"{found['answered']:.1f} ms" if found else "not measured") for state, found in states),
        *whole_rows(still, "at rest"), *whole_rows(calm["later"], "under load"),
        said("bytes per call path", path["VmRSS"], f"{path['VmRSS']:.0f} bytes, at its highest {path['VmHWM']:.0f}"),
        said("bytes per call path, with a mark", path["marked"], f"{path['marked']:.0f} bytes"),
        said("ticks a second", calm["rate"], f"{calm['rate']:.1f}, of {CHANGED:,} changes each"),
        said("ticks a second with new nodes", busy["rate"] if busy else 0,
             f"{busy['rate']:.1f}; names were pending at {100 * busy['busy']:.0f} % of the keys" if busy else "not measured"),
        said("first full screen, s", calm["first"], f"{calm['first']:.2f} s from the connection"),
        said("whole model, s", calm["whole"], f"{calm['whole']:.1f} s from the connection"),
        said("cpu at rest, % of a core", 100 * rest[0], f"{100 * rest[0]:.2f} % of a core, beside a redis-server that waits"),
        said("cpu a minute after the last key, % of a core", 100 * calm["rest"],
             f"{100 * calm['rest']:.1f} % of a core, {PATHS:,} paths of which {CHANGED:,} change in a tick"),
        ("drawn under load", f"{calm['frames']:.1f} frames, {calm['bytes'] / 1024:.1f} KiB a second", ""),
        ("drawn at rest", f"{rest[1]:.1f} frames, {rest[2] / 1024:.1f} KiB a second", ""),
    ]
    return [
        f"{calm['paths']:,} call paths of 10 to 30 frames are {calm['nodes']:,} nodes of the trie; {CHANGED:,} of them "
        f"change every 100 ms: {calm['ticks'][0]} of {calm['ticks'][1]} ticks left in time, the others' changes "
        f"came with the next; with the symbolizer busy, {NEW} new paths come in each.", "",
        *figures.table(["goal", "figure", ""], reached),
        "### Keys, names known", "", *calm["lines"],
        *(["### Keys, symbolizer busy", "", *busy["lines"]] if busy else [])]
