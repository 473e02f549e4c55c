# SPDX-License-Identifier: MIT
"""cli.py - runs memtop with arguments, for the tests of its command line
(tests/cli/test_cli*.py)."""
import os
import re

from harness import MEMTOP, environment, run, temporary_folder

# of reports: names of --format, and their files' endings
FORMATS = {"text": ".txt", "json": ".json", "html": ".html", "folded": ".folded", "pprof": ".pb.gz", "speedscope": ".speedscope.json",
           "csv": ".csv", "massif": ".massif", "dot": ".dot", "heaptrack": ".heaptrack"}


def memtop(*arguments, **named):
    return run([MEMTOP, *arguments], env=named.pop("env", None) or environment(), **named)


def one_line(done, status, *parts):
    """Failed as the contract says: this status, nothing on stdout, one line `memtop: WHAT: WHY; what to do`."""
    said = f"status {done.returncode}, stdout {done.stdout!r}, stderr {done.stderr!r}"
    assert done.returncode == status, f"wanted {status}: {said}"
    assert done.stdout == "", said
    assert re.fullmatch(r"memtop: [^\n]+: [^\n]+; [^\n]+\n", done.stderr), f"not one clear line: {said}"
    for part in parts:
        assert part in done.stderr, f"{part!r} is not in it: {said}"


def compiled(source, *flags, compiler="gcc"):
    folder = temporary_folder()
    path = os.path.join(folder, "prog")
    with open(path + ".c", "w", encoding="utf-8") as f:
        f.write(source)
    done = run([compiler, "-O0", "-o", path, path + ".c", *flags])
    assert done.returncode == 0, done.stderr
    return path
