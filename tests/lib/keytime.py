#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""keytime.py - measures, from outside, the time from a key to its answer on the
screen.

It runs a program on a pseudo-terminal with a small VT100, and sends each key once the screen shows
the answer to the last one: the opened view's tab, the moved selection, the help page. Random pauses
between keys make them hit every phase of the program's own work.

    keytime.py [--keys 500] [--pause 0.03] [--size 120x36] -- build/release/memtop :9001

Prints one line per kind of key and one for all: p50, p99 and the longest in
milliseconds.
"""
import argparse
import codecs
import fcntl
import os
import pty
import random
import re
import select
import signal
import struct
import sys
import termios
import time
import unicodedata


def columns_of(c):
    """Cells that a character takes."""
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


class Screen:
    """What a VT100 shows, and an xterm as far as ncurses uses one: wide characters take two cells, those
    of no width join the one before."""

    ESCAPE = re.compile(r"\x1b(\[([?>]?)([0-9;:]*)([A-Za-z@])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()*+][A-Z0-9]|[=>78MH])")

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.cells = [[" "] * width for _ in range(height)]
        self.x = self.y = 0
        self.top, self.bottom = 0, height - 1  # lines that scroll
        self.modes = set()  # "?1049", "?25" ... that are set
        self.plain = True   # no attribute, no colour is in force
        self.last = " "
        self.wraps = False  # at once behind the last column (am without xenl), not with the next character
        self.rest = ""
        self.decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def resize(self, width, height):
        """As a terminal does: what fits stays where it is."""
        self.cells = [(row + [" "] * width)[:width] for row in self.cells[:height]]
        self.cells += [[" "] * width for _ in range(height - len(self.cells))]
        self.width, self.height, self.top, self.bottom = width, height, 0, height - 1
        self.x, self.y = min(self.x, width - 1), min(self.y, height - 1)

    def feed(self, data):
        text = self.rest + self.decode(data)
        at = 0
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                m = self.ESCAPE.match(text, at)
                if not m:
                    if len(text) - at > 32 and text[at + 1] != "]":
                        raise ValueError(f"escape sequence {text[at:at + 32]!r}")
                    break
                self.escape(m)
                at = m.end()
                continue
            at += 1
            if c == "\r":
                self.x = 0
            elif c == "\n":
                self.down()
            elif c == "\t":
                self.x = min(self.x // 8 * 8 + 8, self.width - 1)
            elif c == "\b":
                self.x = max(min(self.x, self.width - 1) - 1, 0)
            elif c >= " ":
                self.put(c)
        self.rest = text[at:]

    def put(self, c):
        wide = columns_of(c)
        if not wide:
            if self.x:
                self.cells[self.y][min(self.x, self.width) - 1] += c
            return
        if self.x + wide > self.width:
            self.x = 0
            self.down()
        row = self.cells[self.y]
        if not row[self.x]:  # the second half of a wide one: its first is gone, too
            row[self.x - 1] = " "
        row[self.x:self.x + wide] = [c] + [""] * (wide - 1)
        self.x += wide
        if self.x < self.width and not row[self.x]:
            row[self.x] = " "
        self.last = c
        if self.wraps and self.x >= self.width:
            self.x = 0
            self.down()

    def down(self):
        if self.y == self.bottom:
            self.scroll(self.top, 1)
        else:
            self.y = min(self.y + 1, self.height - 1)

    def scroll(self, top, lines):
        """Lines from `top` to the bottom of the region go up; lines < 0: down."""
        for _ in range(abs(lines)):
            del self.cells[top if lines > 0 else self.bottom]
            self.cells.insert(self.bottom if lines > 0 else top, [" "] * self.width)

    def blank(self, y, start, end):
        for x in range(max(start, 0), min(end, self.width)):
            self.cells[y][x] = " "

    def escape(self, m):
        private, kind = m.group(2), m.group(4)
        if not kind:
            if m.group(0) == "\x1bM" and self.y == self.top:
                self.scroll(self.top, -1)
            elif m.group(0) == "\x1bM":
                self.y = max(self.y - 1, 0)
            return
        if kind in "hl":
            change = self.modes.add if kind == "h" else self.modes.discard
            for number in m.group(3).split(";"):
                change(private + number)
            return
        if kind == "m":
            kinds = m.group(3).split(";")
            self.plain = set(kinds) <= {"", "0", "10"} or (self.plain and set(kinds) <= {"39", "49", "24", "27"})
            return
        numbers = [int(n or 0) for n in m.group(3).split(";")]
        first = max(numbers[0], 1)
        row = self.cells[self.y]
        if kind == "H":
            self.y = min(first, self.height) - 1
            self.x = min(max(numbers[1] if len(numbers) > 1 else 1, 1), self.width) - 1
        elif kind in "ABCD":
            dx, dy = {"A": (0, -1), "B": (0, 1), "C": (1, 0), "D": (-1, 0)}[kind]
            self.x = min(max(min(self.x, self.width - 1) + dx * first, 0), self.width - 1)
            self.y = min(max(self.y + dy * first, 0), self.height - 1)
        elif kind == "G":
            self.x = min(first, self.width) - 1
        elif kind == "d":
            self.y = min(first, self.height) - 1
        elif kind == "K":
            self.blank(self.y, 0 if numbers[0] else self.x, self.x + 1 if numbers[0] == 1 else self.width)
        elif kind == "J":
            for y in range(0 if numbers[0] == 2 else self.y, self.height):
                self.blank(y, self.x if y == self.y and numbers[0] != 2 else 0, self.width)
        elif kind == "X":
            self.blank(self.y, self.x, self.x + first)
        elif kind == "P":
            self.cells[self.y] = row[:self.x] + row[self.x + first:] + [" "] * min(first, self.width - self.x)
        elif kind == "@":
            self.cells[self.y] = (row[:self.x] + [" "] * first + row[self.x:])[:self.width]
        elif kind in "LM":
            self.scroll(self.y, first if kind == "M" else -first)
        elif kind in "ST":
            self.scroll(self.top, first if kind == "S" else -first)
        elif kind == "b":
            for _ in range(first):
                self.put(self.last)
        elif kind == "r":
            self.top = max(numbers[0], 1) - 1
            last = numbers[1] if len(numbers) > 1 and numbers[1] else self.height
            self.bottom = min(last, self.height) - 1
            self.x = self.y = 0
        elif kind not in "tc":
            raise ValueError(f"escape sequence {m.group(0)!r}")


class Driven:
    """A program on a pseudo-terminal."""

    def __init__(self, command, width, height):
        self.screen = Screen(width, height)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="vt100", LC_ALL="C.UTF-8")
            os.execvp(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)

    def read(self, seconds):
        if select.select([self.fd], [], [], max(seconds, 0))[0]:
            data = os.read(self.fd, 65536)
            self.received(data)
            self.screen.feed(data)

    def received(self, data):
        """For who counts."""

    def wait(self, test, seconds=60):
        """Seconds until test(lines) holds; None: it did not in time."""
        start = time.monotonic()
        while not test(self.screen.lines()):
            left = start + seconds - time.monotonic()
            if left <= 0:
                return None
            self.read(left)
        return time.monotonic() - start

    def think(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def press(self, key, test):
        os.write(self.fd, key.encode())
        return self.wait(test)

    def close(self):
        os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + 10
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
            try:
                self.read(0.05)
            except OSError:
                time.sleep(0.01)
        os.close(self.fd)


VIEWS = {"1": "[1 Over", "2": "[2 Tree", "3": "[3 Sites", "4": "[4 Libs", "5": "[5 Marks"}

COLUMNS = re.compile(r"^ SHAPE +LIVE\b|^ +LIVE\b|^ PICK MARK |^ +BORN\b")  # the line of their names in each of them


def shows(text):
    return lambda lines: any(text in line for line in lines)


def selection(lines):
    return next((y for y, line in enumerate(lines) if line.startswith(">")), None)


def first_row(lines):
    """The line below the column names."""
    return next((y + 1 for y, line in enumerate(lines) if COLUMNS.search(line)), None)


def measure(driven, keys, pause, seed=1):
    """[(kind, seconds or None)] for `keys` keys, each after at most `pause` seconds."""
    rng = random.Random(seed)
    times = []
    view = "1"

    def press(kind, key, test):
        before = driven.screen.lines()
        times.append((kind, driven.press(key, test)))
        if times[-1][1] is None:
            print("\n".join([f"no answer to {key}; before:", *before, "after:", *driven.screen.lines()]))

    def move():
        """To the line above, from the first row to the one below: the list does not scroll then."""
        for _ in range(400):  # half of a frame may be here, or the view's first rows are under way
            lines = driven.screen.lines()
            was = selection(lines)
            if was is not None:
                break
            driven.think(0.05)
        if was is None:
            raise ValueError("no selection\n" + "\n".join(lines))
        press("move", "j" if was == first_row(lines) else "k", lambda now: selection(now) not in (was, None))

    def think():
        driven.think(rng.uniform(0, pause))

    while len(times) < keys:
        view = rng.choice([v for v in VIEWS if v != view])
        press("to " + VIEWS[view].split()[1], view, shows(VIEWS[view]))
        for _ in range(4):
            think()
            move()
        think()
        press("help", "?", shows("Help ─"))
        think()
        press("close", "q", shows(VIEWS[view]))
        think()
    return times


def report(times):
    kinds = sorted({kind for kind, _ in times})
    for kind in [*kinds, "all"]:
        some = sorted(1000 * s for k, s in times if s is not None and kind in (k, "all"))
        if some:
            print(f"{kind:10} {len(some):5} keys  p50 {some[len(some) // 2]:7.1f}  p99 {some[len(some) * 99 // 100]:7.1f}"
                  f"  max {some[-1]:7.1f} ms")


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--keys", type=int, default=500)
    a.add_argument("--pause", type=float, default=0.03, help="seconds between keys, at most")
    a.add_argument("--size", default="120x36")
    a.add_argument("command", nargs="+")
    o = a.parse_args()
    width, height = map(int, o.size.split("x"))
    driven = Driven(o.command, width, height)
    try:
        loaded = lambda lines: selection(lines) is not None and "loading" not in lines[0]  # noqa: E731
        if driven.wait(shows("[1 Over"), 300) is None or driven.wait(loaded, 300) is None:
            sys.exit("keytime: no first screen\n" + "\n".join(driven.screen.lines()))
        times = measure(driven, o.keys, o.pause)
    finally:
        driven.close()
    report(times)
    unanswered = sum(s is None for _, s in times)
    print(f"{unanswered} of {len(times)} keys unanswered")
    sys.exit(1 if unanswered else 0)


if __name__ == "__main__":
    main()
