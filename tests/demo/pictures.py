#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pictures.py - the README's pictures: memtop in a real terminal, on the bundled program, as SVG.

    make pictures

Draws tmux's screen as text, cell by cell with its colours; only the path of the sources is
retouched.
"""
import contextlib
import os
import re
import signal
import sys
import unicodedata
from xml.sax.saxutils import escape

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import harness  # noqa: E402
from term import Terminal  # noqa: E402

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pictures")
CELL, LINE, SIZE, MARGIN = 8.4, 17, 14, 10
BASE = ("#2e3436 #cc4a4a #4e9a26 #c4a000 #5a8ad0 #9a6aa0 #06989a #d3d7cf"
        " #6a6e6c #ef5f5f #8ae234 #fce94f #8cb4e8 #c79ac0 #34e2e2 #ffffff").split()
PAPER = {"dark": ("#d3d7cf", "#14171a"), "light": ("#24292e", "#ffffff")}


def colour_of(n):
    """One of the 256 of xterm."""
    if n < 16:
        return BASE[n]
    if n >= 232:
        return "#" + f"{8 + 10 * (n - 232):02x}" * 3
    steps = (0, 95, 135, 175, 215, 255)
    n -= 16
    return f"#{steps[n // 36]:02x}{steps[n // 6 % 6]:02x}{steps[n % 6]:02x}"


class Pen:
    """What the escape sequences have said so far."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.fore = self.back = None
        self.bold = self.dim = self.underlined = self.reverse = False

    def take(self, codes):
        codes = [int(c or 0) for c in codes.split(";")]
        while codes:
            c = codes.pop(0)
            if c == 0:
                self.reset()
            elif c in (38, 48):
                if codes.pop(0) == 5:
                    value = colour_of(codes.pop(0))
                else:
                    value = "#" + "".join(f"{codes.pop(0):02x}" for _ in range(3))
                self.fore, self.back = (value, self.back) if c == 38 else (self.fore, value)
            elif 30 <= c <= 37 or 90 <= c <= 97:
                self.fore = BASE[c % 10 + (8 if c >= 90 else 0)]
            elif 40 <= c <= 47 or 100 <= c <= 107:
                self.back = BASE[c % 10 + (8 if c >= 100 else 0)]
            elif c == 39:
                self.fore = None
            elif c == 49:
                self.back = None
            elif c in (1, 22):
                self.bold, self.dim = c == 1, False
            elif c == 2:
                self.dim = True
            elif c in (4, 24):
                self.underlined = c == 4
            elif c in (7, 27):
                self.reverse = c == 7

    def look(self, paper):
        """(text colour, background or None, style)"""
        fore, back = self.fore or paper[0], self.back
        if self.reverse:
            fore, back = back or paper[1], fore
        style = (' font-weight="bold"' if self.bold else "") + (' opacity="0.6"' if self.dim else "") + \
                (' text-decoration="underline"' if self.underlined else "")
        return fore, back, style


def width_of(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def runs_of(line, paper):
    """(column, text, look) of what has one look."""
    pen, column = Pen(), 0
    for escapes, text in re.findall(r"((?:\x1b\[[0-9;]*m)*)([^\x1b]*)", line):
        for codes in re.findall(r"\x1b\[([0-9;]*)m", escapes):
            pen.take(codes)
        if text:
            yield column, text, pen.look(paper)
            column += width_of(text)


def svg(lines, columns, theme):
    paper = PAPER[theme]
    width, height = columns * CELL + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" font-size="{SIZE}" '
           'font-family="DejaVu Sans Mono,Menlo,Consolas,monospace">',
           f'<rect width="100%" height="100%" rx="6" fill="{paper[1]}"/>']
    for row, line in enumerate(lines):
        y = MARGIN + row * LINE
        for column, text, (fore, back, style) in runs_of(line, paper):
            x, w = MARGIN + column * CELL, width_of(text) * CELL
            if back:
                out.append(f'<rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="{LINE}" fill="{back}"/>')
            if text.strip() and text.isascii():
                out.append(f'<text x="{x:.1f}" y="{y + 13}" fill="{fore}"{style} xml:space="preserve" '
                           f'textLength="{w:.1f}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>')
            elif text.strip():  # from whatever font: each in its cell
                places = " ".join(f"{x + width_of(text[:i]) * CELL:.1f}" for i in range(len(text)))
                out.append(f'<text x="{places}" y="{y + 13}" fill="{fore}"{style} xml:space="preserve">'
                           f'{escape(text)}</text>')
    return "\n".join(out + ["</svg>", ""])


def picture(t, name, theme="dark"):
    lines = t.tmux("capture-pane", "-p", "-e", "-N").split("\n")[:t.height]  # with what is blank, for its background
    lines = [line.replace(harness.ROOT, "~/memtop") for line in lines]
    while lines and not re.sub(r"\x1b\[[0-9;]*m", "", lines[-1]).strip():
        lines.pop()
    path = os.path.join(HERE, name + ".svg")
    with open(path, "w", encoding="utf-8") as f:
        f.write(svg(lines, t.width, theme))
    print(path)


def end(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def demonstration(theme, shots, width=120, height=36):
    """`shots`: (keys, what to wait for, name)."""
    program = os.path.join(harness.BUILD, "demo/mapd")
    with Terminal([harness.MEMTOP, "run", "--theme", theme, program, "100"], width, height) as t:
        pid = int(t.wait_for(re.compile(r"mapd \[([1-9]\d*)\]"), 20).group(1))
        harness.at_end(end, pid)
        t.wait_for(re.compile(r"GROWING .*new_vertex_array"), 120)
        t.wait_for(re.compile(r"for 6\d s"), 120)
        for keys, want, name in shots:
            t.keys(*keys)
            t.wait_for(want, 20)
            if name:
                picture(t, name, theme)
        t.keys("Q")


def main():
    os.makedirs(HERE, exist_ok=True)
    demonstration("dark", [
        (["1"], re.compile(r"new_vertex_array < .*libtile"), "overview"),
        (["2"], re.compile(r"vertex\.c:13"), "tree"),
        (["v"], re.compile(r"Ages of live blocks: median"), "detail"),
        (["q", "7"], re.compile(r"live blocks, resident"), "memory"),
    ])
    demonstration("light", [(["1"], re.compile(r"new_vertex_array < .*libtile"), "overview-light")])


@harness.test
def t_pictures():
    main()


if __name__ == "__main__":
    harness.main()
