# SPDX-License-Identifier: MIT
"""rawterm.py - runs the real program on a bare pseudo-terminal, keeps every byte that it writes and
checks it.

term.py's tmux shows the bytes' effect on a terminal; this file checks the bytes themselves. The
terminal's description (infocmp) lists the allowed sequences; all other bytes must be printable
text.

    with Raw([MEMTOP, ":9001"], 120, 36, term="vt100") as r:
        r.wait_for("GROWING")
        r.send("2")
        ...
        r.check()        # nothing but what TERM has, and printable text
"""
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

import harness
from keytime import Screen
from term import condition, described

# capabilities that are sent to a terminal in the ordinary course: not keys, printers, resets, reports
NEVER = re.compile(r"^(k.*|mc\d?p?|[ri]s\d|[rif]f|iprog|u\d|pf\w*|acsc|xm|PS|PE|E3|initc|BE|BD|Cs|Cr|Ms)$")


def unescape(text):
    """A string capability as infocmp writes it."""
    named = {"E": "\x1b", "e": "\x1b", "n": "\n", "l": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "s": " ", "0": "\x80"}

    def one(m):
        if m[1]:
            return chr(ord(m[1]) & 0x1f) if m[1] != "?" else "\x7f"
        return chr(int(m[2], 8)) if m[2] else named.get(m[3], m[3])

    return re.sub(r"\^(.)|\\([0-7]{3})|\\(.)", one, text)


def pattern(capability):
    """A regular expression of what a capability becomes with any parameters."""
    out, at = [], 0
    for m in re.finditer(r"\$<[^>]*>|%(?:p\d|P.|g.|\{\d+\}|'.'|[-+#: 0-9.]*[doxXs]|.)|[^%$]|\$", capability, re.S):
        token = m.group()
        at = m.end()
        if token.startswith("$<"):
            continue
        if token == "%?":
            out.append("(?:")
        elif token == "%t":
            start = max(i for i, part in enumerate(out) if part in ("(?:", "|"))
            del out[start + 1:]
        elif token == "%e":
            out.append("|")
        elif token == "%;":
            out.append("|)")
        elif re.fullmatch(r"%[-+#: 0-9.]*[doxX]", token):
            out.append("[0-9A-Fa-f]+")
        elif token == "%s":
            out.append("[^\x07\x1b]*")
        elif token == "%c":
            out.append(".")
        elif token == "%%":
            out.append("%")
        elif not token.startswith("%"):
            out.append(re.escape(token))
    assert at == len(capability), f"capability {capability!r}"
    return "".join(out)


def capabilities(term, env=None):
    """{name: string} of a terminal, extended ones too."""
    done = subprocess.run(["infocmp", "-x", "-1", term], capture_output=True, text=True, env=env, check=True)
    found = {}
    for line in done.stdout.splitlines():
        m = re.match(r"\t(\w+)=(.*),$", line)
        if m:
            found[m[1]] = unescape(m[2])
    return found


def wraps_at_once(term, env):
    """Whether what follows the last column of a line stands on the next one: a terminal with am and without xenl."""
    done = subprocess.run(["infocmp", "-1", term], capture_output=True, text=True, env=env, check=False)
    flags = set(re.findall(r"^\t(\w+),$", done.stdout, re.M))
    return "am" in flags and "xenl" not in flags


def unreadable(c):
    """Whether a character is none that a person sees: controls, those that reorder, those of no width, bytes that are none."""
    return unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp") or "\ufe00" <= c <= "\ufe0f"


def check_text(data):
    """What a program printed for people: lines of text, nothing else."""
    bad = sorted({c for c in data.decode(errors="surrogateescape") if c != "\n" and unreadable(c)})
    lines = [line for line in data.splitlines() if any(c in line.decode(errors="surrogateescape") for c in bad)]
    assert not bad, f"{bad} in {lines}"


class Raw:
    """A program on a pseudo-terminal of its own session."""

    def __init__(self, command, width=120, height=36, term="xterm-256color", env=None, cwd=None, held=False):
        """held: no write of the program comes back before release(), as behind a ^S."""
        self.screen = Screen(width, height)
        self.term = term
        self.env = {**harness.environment(), **(env or {})}
        self.env.pop("TERM", None)
        if term is not None:
            self.env["TERM"] = term
            self.screen.wraps = wraps_at_once(term, self.env)
        self.data = bytearray()
        self.master, self.slave = os.openpty()
        harness.at_end(self.close)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        if held:
            termios.tcflow(self.slave, termios.TCOOFF)
        self.process = subprocess.Popen(command, stdin=self.slave, stdout=self.slave, stderr=self.slave, env=self.env,
                                        cwd=cwd, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        harness.at_end(harness.stop, self.process)

    def read(self, seconds=0.0):
        """What came within so many seconds goes to the screen; False: nothing did."""
        if self.master < 0 or not select.select([self.master], [], [], seconds)[0]:
            return False
        part = os.read(self.master, 65536)
        self.data += part
        self.screen.feed(part)
        return True

    def drain(self):
        while self.read():
            pass

    def release(self):
        termios.tcflow(self.slave, termios.TCOON)

    def lines(self):
        return self.screen.lines()

    def text(self):
        return "\n".join(self.lines())

    def wait_for(self, want, seconds=20, what=None, without=None):
        """As Terminal.wait_for(); lines() and text() are what it saw until the next wait or read."""
        test, what = condition(want, without), what or described(want, without)
        end = time.monotonic() + seconds * harness.PATIENCE
        while True:
            self.drain()
            value = test(self.lines())
            if value:
                return value
            if self.process.poll() is not None and not self.read():
                raise AssertionError(f"ended ({self.process.returncode}) before {what}\n{self.text()}")
            if time.monotonic() > end:
                raise AssertionError(f"{what} not within {seconds * harness.PATIENCE} s\n{self.text()}")
            self.read(0.05)

    def settle(self, quiet=0.5):
        """Until nothing was drawn for so many seconds in which the program slept."""
        since = time.monotonic()
        while time.monotonic() - since < quiet:
            if self.read(0.02) or not harness.asleep(self.process.pid):
                since = time.monotonic()

    def send(self, *keys):
        for key in keys:
            os.write(self.master, key.encode() if isinstance(key, str) else key)

    def resize(self, width, height):
        """Changes the size and signals the foreground; output in flight belongs to no screen."""
        self.drain()
        self.screen.resize(width, height)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def wait_exit(self, seconds=20):
        """Status of the ended program, 128+N for a signal; all that it wrote is read."""
        end = time.monotonic() + seconds * harness.PATIENCE
        while self.process.poll() is None:
            if time.monotonic() > end:
                raise AssertionError(f"still runs after {seconds} s\n{self.text()}")
            self.read(0.05)
        self.drain()
        code = self.process.returncode
        return code if code >= 0 else 128 - code

    def settings(self):
        """What stty -a prints, as lists."""
        return termios.tcgetattr(self.slave)

    def echoes(self):
        """Whether the terminal still echoes, or is in line mode."""
        return bool(self.settings()[3] & (termios.ECHO | termios.ICANON))

    def allowed(self):
        """A pattern of all sequences that this TERM has."""
        caps = capabilities(self.term, self.env)
        out = {pattern(text).removeprefix(".") for name, text in caps.items() if not NEVER.match(name) and len(text) > 1}
        if "kmous" in caps:  # curses has these built in for any terminal that sends \E[M
            out.add(r"\x1b\[\?(?:1000|1006|1006;1000)[hl]")
        if "kmous" in caps or "BE" in caps:
            out.add(r"\x1b\[\?2004[hl]")
        return re.compile("|".join(sorted(out, key=len, reverse=True)))

    def foreign(self, clipboard=False):
        """The first places that are neither a sequence of TERM nor readable text."""
        text = bytes(self.data).decode(errors="surrogateescape")
        if clipboard:
            text = re.sub(r"\x1b\]52;c;[A-Za-z0-9+/=]*\x07", "", text)
        allowed, at, found = self.allowed(), 0, []
        plain = "\r\n\b\t\x07" + ("\x0e\x0f" if self.term and "\x0f" in capabilities(self.term, self.env).values() else "")
        while at < len(text) and len(found) < 5:
            c = text[at]
            m = allowed.match(text, at) if c == "\x1b" else None
            if m and m.end() > at:
                at = m.end()
                continue
            if c not in plain and unreadable(c):
                found.append(text[at:at + 16])
            at += 1
        return found

    def check(self, **named):
        bad = self.foreign(**named)
        assert not bad, f"TERM={self.term}: {bad}"

    def check_restored(self):
        """After the end: the terminal as it was before."""
        self.drain()
        assert self.settings() == self.before, f"stty: {self.before} became {self.settings()}"
        left = self.screen.modes & {"?1049", "?47", "?1047", "?1000", "?1002", "?1003", "?1006", "?2004", "?1", "?7727"}
        assert not left, f"modes left on: {left}"
        assert bytes(self.data).rfind(b"\x1b[?25h") >= bytes(self.data).rfind(b"\x1b[?25l"), "the cursor is hidden"
        assert self.screen.plain, "an attribute or a colour was left on"

    def hang_up(self):
        """The terminal goes away, as when its window is killed."""
        for fd in (self.slave, self.master):
            if fd >= 0:
                os.close(fd)
        self.master = self.slave = -1

    def close(self):
        self.hang_up()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.wait_exit()
            except (AssertionError, OSError):
                self.process.kill()
                self.process.wait()
        self.close()
