# SPDX-License-Identifier: MIT
"""term.py - drives the real program in a real terminal: a private tmux server of a fixed size.

    with Terminal(["build/release/memtop", ":9001"], 80, 24) as t:
        t.wait_for("GROWING")           # text, regular expression, or a function of the lines
        t.keys("Down", "Down", "Enter") # tmux's key names
        t.type("/tile")                 # text as typed
        row = t.wait_for(re.compile(r"^> (.*) tile", re.M)).group(1)
        t.wait_for(("Sites", lambda lines: ...), without="Tree")    # all of them on one screen
        assert "cache" in t.text()      # of the screen that the wait ended with

Waits have deadlines instead of fixed sleeps; a failed wait prints the screen. Nobody reads the screen twice: between two
reads the program draws, and what the first one saw is gone. So lines() and text() return what the last wait saw, and
fail when keys were sent since. A screen may also be seen half drawn: what is drawn in two places is waited for in one
wait. now() is a fresh look, for loops that watch.
"""
import os
import re
import subprocess
import time

import harness


def condition(want, without=None):
    """A function of the lines: what wait_for() is given."""
    if without:
        wanted, unwanted = condition(want), condition(without)
        return lambda lines: None if unwanted(lines) else wanted(lines)
    if isinstance(want, tuple):
        first, *others = map(condition, want)
        return lambda lines: (value := first(lines)) and all(test(lines) for test in others) and value
    if isinstance(want, str):
        return lambda lines: next((line for line in lines if want in line), None)
    if isinstance(want, re.Pattern):
        return lambda lines: want.search("\n".join(lines))
    return want


def described(want, without=None):
    return f"{want!r}" + (f" without {without!r}" if without else "")


class Terminal:
    def __init__(self, command, width=80, height=24, term="tmux-256color", env=None, cwd=None):
        self.socket = harness.temporary_folder() + "/tmux"
        self.width, self.height = width, height
        self.sent = 0
        self.seen = None  # the screen that the last wait ended with; None: input came since
        variables = {**harness.environment(), **(env or {})}
        variables.pop("TERM", None)
        options = ["-f", "/dev/null", "-u"]
        # one start of the server: options must hold before the pane's program runs
        line = ["new-session", "-d", "-x", str(width), "-y", str(height), "sleep 86400", ";",
                "set", "-g", "default-terminal", term or "tmux-256color", ";", "set", "-g", "remain-on-exit", "on", ";",
                "set", "-g", "status", "off", ";", "set", "-g", "escape-time", "10", ";",
                "set", "-g", "window-size", "manual", ";", "set", "-g", "mouse", "on"]
        self.tmux(*options, *line, env=variables)
        harness.at_end(self.close)
        extra = []
        for name, value in variables.items():
            extra += ["-e", f"{name}={value}"]
        shell = ["env", f"TERM={term}"] if term else ["env", "-u", "TERM"]
        self.tmux("respawn-pane", "-k", "-c", cwd or os.getcwd(), *extra, *shell, *map(str, command))
        self.resize(width, height)

    def tmux(self, *arguments, env=None):
        done = subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, text=True, env=env,
                              stdin=subprocess.DEVNULL, timeout=120)
        if done.returncode:
            raise AssertionError(f"tmux {arguments[0]}: {done.stderr.strip()}")
        return done.stdout

    # --- output

    def lines(self):
        """The screen that the last wait ended with."""
        assert self.seen is not None, "keys were sent since the last wait: wait for what they do"
        return self.seen

    def now(self, attributes=False):
        """The screen at this instant, `height` lines, blanks at their ends cut; attributes: with escape sequences."""
        return self._screen(self.tmux("capture-pane", "-p", *(["-e"] if attributes else [])))

    def _screen(self, text):
        lines = [line.rstrip() for line in text.split("\n")]
        return (lines + [""] * self.height)[:self.height]

    def _look(self):
        """The screen at this instant, and whether the program has ended: one start of tmux, for loops that wait."""
        end, text = self.tmux("display", "-p", "#{pane_dead}", ";", "capture-pane", "-p").split("\n", 1)
        return self._screen(text), end == "1"

    def text(self):
        return "\n".join(self.lines())

    def cursor(self):
        """(column, line, visible) of the cursor."""
        x, y, flag = self.tmux("display", "-p", "#{cursor_x} #{cursor_y} #{cursor_flag}").split()
        return int(x), int(y), flag == "1"

    def alternate(self):
        """Whether the program has the alternate screen (a full-screen program that did not restore has)."""
        return self.tmux("display", "-p", "#{alternate_on}").strip() == "1"

    # --- input

    def input(self, *words):
        self.seen = None
        self.tmux("send-keys", *words)

    def keys(self, *names):
        """Keys by tmux's names: Down, Enter, Escape, C-c, F5, BTab, PPage, x ..."""
        self.input(*names)
        self.sent += len(names)

    def type(self, text):
        self.input("-l", text)
        self.sent += len(text)

    def prompt(self, text, *keys):
        """Keys that open a prompt, if it is not open; the text; Enter."""
        if keys:
            self.keys(*keys)
        self.type(text)
        self.keys("Enter")

    def mouse(self, column, line, button=0, release=True):
        """An SGR mouse click, as a terminal would send it; column and line count from 0. 64/65: wheel."""
        press = f"\x1b[<{button};{column + 1};{line + 1}M"
        self.input("-l", press + (press[:-1] + "m" if release and button < 64 else ""))

    def resize(self, width, height):
        self.width, self.height, self.seen = width, height, None
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    # --- waiting

    def wait_for(self, want, seconds=10, what=None, without=None):
        """Until the screen has text `want` (str), matches (re.Pattern), or want(lines) is true; returns that: the line,
        the match, the value. Of a tuple all must hold on one screen, and the first one's is returned. Nothing on that
        screen is like `without`."""
        test = condition(want, without)

        def found(lines):
            self.seen = lines
            return test(lines)

        what = what or described(want, without)
        end = time.monotonic() + seconds * harness.PATIENCE
        pause = 0.02
        while True:
            lines, over = self._look()
            if value := found(lines):
                return value
            if over and self.dead() is not None:
                if value := found(lines := self.now()):
                    return value
                raise AssertionError(f"screen: program ended ({self.dead()}) before {what}\n" + "\n".join(lines))
            if time.monotonic() > end:
                raise AssertionError(f"screen: {what} not within {seconds * harness.PATIENCE} s\n" + "\n".join(lines))
            time.sleep(pause)
            pause = min(pause * 1.3, 0.05)  # each look starts tmux: 25 % of a processor at the first pace

    def wait_gone(self, text, seconds=10):
        return self.wait_for(lambda lines: not any(text in line for line in lines), seconds, f"no {text!r}")


    def settle(self, seconds=10, quiet=0.3):
        """Until the screen stood still for `quiet` seconds in which the program slept (for --still agents); returns its lines."""
        end, last, since, pid = time.monotonic() + seconds * harness.PATIENCE, None, 0.0, self.pid()
        while True:
            lines, now = self.now(), time.monotonic()
            if lines != last or not harness.asleep(pid):
                last, since = lines, now
                self.seen = lines
            elif now - since >= quiet:
                return lines
            if now > end:
                raise AssertionError(f"screen: still changing after {seconds} s\n" + "\n".join(lines))
            time.sleep(0.02)

    # --- the program

    def pid(self):
        return int(self.tmux("display", "-p", "#{pane_pid}"))

    def dead(self):
        """Exit status once the program ended (128+N for a signal), else None."""
        flag, status, number = self.tmux(
            "display", "-p", "#{pane_dead}/#{pane_dead_status}/#{pane_dead_signal}").strip().split("/")
        if flag != "1":
            return None
        if not (status or number):  # closed, but not reaped yet: another child's end makes tmux look again
            self.tmux("run-shell", "true")
            return None
        return int(status) if status else 128 + int(number)

    def wait_exit(self, seconds=10):
        end = time.monotonic() + seconds * harness.PATIENCE
        while (status := self.dead()) is None:
            if time.monotonic() > end:
                raise AssertionError(f"program still runs after {seconds} s\n" + "\n".join(self.now()))
            time.sleep(0.02)
        self.seen = self.now()
        return status

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# --- the live view in one

def view(agent, width=120, height=36, *options, **named):
    return Terminal([harness.MEMTOP, *options, agent.address], width, height, **named)


def running(command, width=120, height=36, **named):
    """Of a program that it starts, and would leave running: that ends with the test. Its pid is .child."""
    t = Terminal([harness.MEMTOP, "run", *command], width, height, **named)
    t.child = int(t.wait_for(re.compile(r" \[([1-9]\d*)\]"), 20).group(1))
    harness.at_end(harness.kill_tree, t.child)
    return t


def selected(lines):
    """The line with the selection's sign."""
    return next((line for line in lines if line.startswith(">")), None)


def select_by_search(t, name):
    t.prompt(name, "/")
    t.wait_for(lambda lines: name in (selected(lines) or ""))


def command(t, text):
    t.prompt(":" + text)
