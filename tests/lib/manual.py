# SPDX-License-Identifier: MIT
"""manual.py - reads the man pages, so that tests check their promises word for word."""
import glob
import os
import re

from harness import ROOT

FOLDER = os.path.join(ROOT, "tui", "man")
PAGES = sorted(glob.glob(f"{FOLDER}/*.[1-9]"))


def section(page, title):
    """The text below .SH TITLE, with its requests; escapes of code undone."""
    with open(os.path.join(FOLDER, page), encoding="utf-8") as f:
        found = re.search(rf"^\.SH {title}\n(.*?)(?=^\.SH |\Z)", f.read(), re.M | re.S)
    assert found, f"{page} has no section {title}"
    return found.group(1).replace("\\-", "-").replace("\\e", "\\")


def examples(page, title):
    """The blocks of code of that section."""
    return re.findall(r"^\.EX\n(.*?)^\.EE\n", section(page, title), re.M | re.S)
