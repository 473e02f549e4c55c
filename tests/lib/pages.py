# SPDX-License-Identifier: MIT
"""pages.py - memtop's html pages: as a parser sees them, their data, and in headless Chromium."""
import base64
import html.parser
import json
import re
import zlib

import browser
from harness import Skip, at_end


class Parsed(html.parser.HTMLParser):
    """The page as a parser without script sees it."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.open, self.texts = [], [], [], {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *a) for a in attrs]
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)


def read(page):
    with open(page, encoding="utf-8") as f:
        return f.read()


def data_of(page):
    found = re.search(r'<script type="application/octet-stream" id="data">([A-Za-z0-9+/=]*)</script>', read(page))
    assert found, "the page has no data"
    return json.loads(zlib.decompress(base64.b64decode(found[1], validate=True)))


def nodes_of(data):
    """The parent of each node, from `up`."""
    parent = [None]
    for i, up in enumerate(data["nodes"]["up"], 1):
        p = i - 1
        for _ in range(up):
            p = parent[p]
        parent.append(p)
    return parent


def running(numbers):
    total = 0
    for n in numbers:
        yield (total := total + n)


def browse(page, **how):
    if not browser.chromium():
        raise Skip("chromium is not installed: apt-get install chromium")
    b = browser.Browser()
    at_end(b.close)
    b.open(page, **how)
    return b


def quiet(b):
    assert not b.complaints, b.complaints
    assert all(r.startswith(("file:", "blob:", "about:")) for r in b.requests), b.requests
    assert b.run("document.getElementById('problem').hidden"), b.text("#problem")


def pixels(b, selector="#canvas"):
    """What the canvas shows."""
    return b.run(f"document.querySelector('{selector}').toDataURL()")
