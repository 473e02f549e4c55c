# SPDX-License-Identifier: MIT
"""term.py - drives the real program in a real terminal: a private tmux server of a fixed size.

    with Terminal(["build/release/memtop", ":9001"], 80, 24) as t:
        t.wait_for("GROWING")           # text, regular expression, or a function of the lines
        t.keys("Down", "Down", "Enter") # tmux's key names
        t.type("/tile")                 # text as typed
        t.wait_for(lambda lines: ...)
        print(t.text())

Waits have deadlines instead of fixed sleeps; a failed wait prints the screen.
"""
import os
import re
import subprocess
import time

import harness


class Terminal:
    def __init__(self, command, width=80, height=24, term="tmux-256color", env=None, cwd=None):
        self.socket = harness.temporary_folder() + "/tmux"
        self.width, self.height = width, height
        self.sent = 0
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
                              stdin=subprocess.DEVNULL, timeout=30)
        if done.returncode:
            raise AssertionError(f"tmux {arguments[0]}: {done.stderr.strip()}")
        return done.stdout

    # --- output

    def lines(self, attributes=False):
        """The screen, `height` lines, blanks at their ends cut; attributes: with escape sequences."""
        text = self.tmux("capture-pane", "-p", *(["-e"] if attributes else []))
        lines = [line.rstrip() for line in text.split("\n")]
        return (lines + [""] * self.height)[:self.height]

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

    def keys(self, *names):
        """Keys by tmux's names: Down, Enter, Escape, C-c, F5, BTab, PPage, x ..."""
        self.tmux("send-keys", *names)
        self.sent += len(names)

    def type(self, text):
        self.tmux("send-keys", "-l", text)
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
        self.tmux("send-keys", "-l", press + (press[:-1] + "m" if release and button < 64 else ""))

    def resize(self, width, height):
        self.width, self.height = width, height
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    # --- waiting

    def wait_for(self, want, seconds=10, what=None):
        """Until the screen has text `want` (str), matches (re.Pattern), or want(lines) is true; returns that."""
        test = self._condition(want)
        end = time.monotonic() + seconds * harness.PATIENCE
        while True:
            lines = self.lines()
            value = test(lines)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"screen: {what or want!r} not within {seconds} s\n" + "\n".join(lines))
            if self.dead() is not None and not test(self.lines()):
                raise AssertionError(f"screen: program ended ({self.dead()}) before {what or want!r}\n"
                                     + "\n".join(self.lines()))
            time.sleep(0.02)

    def wait_gone(self, text, seconds=10):
        return self.wait_for(lambda lines: not any(text in line for line in lines), seconds, f"no {text!r}")

    @staticmethod
    def _condition(want):
        if isinstance(want, str):
            return lambda lines: next((line for line in lines if want in line), None)
        if isinstance(want, re.Pattern):
            return lambda lines: want.search("\n".join(lines))
        return want

    def settle(self, seconds=10, quiet=0.3):
        """Until the screen stood still for `quiet` seconds (for --still agents); returns its lines."""
        end, last, since = time.monotonic() + seconds * harness.PATIENCE, None, 0.0
        while True:
            lines, now = self.lines(), time.monotonic()
            if lines != last:
                last, since = lines, now
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
        end = time.monotonic() + seconds
        while (status := self.dead()) is None:
            if time.monotonic() > end:
                raise AssertionError(f"program still runs after {seconds} s\n{self.text()}")
            time.sleep(0.02)
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
