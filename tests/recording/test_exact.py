#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_exact.py - memtop's totals equal valgrind memcheck's, and a plain counter's, to the last byte.

It runs real programs of Debian, and every program of tests/targets that ends by itself.
tests/lib/valgrind_compare.py makes the runs equal. A program that varies between two runs of the
same kind is skipped, with the figures that varied. LONG=1 adds the slow ones and a second valgrind
run of each.
"""
import concurrent.futures
import os
import subprocess
import sys

import harness
import valgrind_compare
from harness import LONG, ROOT, TARGETS, need, test

XML = "<list>" + "".join(f"<item id='{i}' name='n{i % 7}'><sub>text {i}</sub></item>" for i in range(400)) + "</list>"
C_SOURCE = "\n".join(f"int f{i}(int a) {{ int s = 0; for (int i = 0; i < a; i++) s += i * {i}; return s; }}"
                     for i in range(4))
SQL = ("create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all select i + 1 from n"
       " where i < 500) insert into t select i, hex(i * 7919) from n; create index x on t(b);"
       " select count(*), max(b) from t where b > '4'; delete from t where a % 3 = 0;")
PYTHON = ("import json, re, collections; d = {str(i): list(range(i % 50)) for i in range(500)}; s = json.dumps(d);"
          "assert json.loads(s) == d; c = collections.Counter(re.findall('[0-9]+', s)); print(len(c))")
PERL = ("my %h; for my $i (1..2000) { push @{$h{$i % 97}}, 'x' x ($i % 50) } my $s = join ',', map { scalar @{$h{$_}} }"
        " sort keys %h; $s =~ s/(\\d+)/<$1>/g; print length $s, qq(\\n);")
LUA = ("local t = {} for i = 1, 3000 do t[i] = {n = i, s = ('k' .. i):rep(i % 5)} end table.sort(t, function(a, b)"
       " return a.s < b.s end) local c = coroutine.wrap(function() for i = 1, 9 do coroutine.yield(i) end end)"
       " for i = 1, 5 do c() end print(#t)")
BASH = ("declare -A a; for i in {1..300}; do a[k$i]=$((i * i)); s+=\"${a[k$i]} \"; done; f() { local x=$1;"
        " (( x > 0 )) && f $((x - 1)); }; f 20; echo ${#s}; read -r first _ <<< \"$s\"; echo $first; case $s in *9*) ;; esac")
AWK = ("BEGIN { for (i = 0; i < 2000; i++) { a[i % 101] = a[i % 101] \" \" i; n[i \"x\"]++ } for (k in a) s += length(a[k]);"
       " gsub(/[0-9]+/, \"#\", a[3]); print s, length(n), split(a[5], p, \" \") }")


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def repository(folder):
    """A git repository whose object names never change."""
    work = os.path.join(folder, "work")
    os.makedirs(work)
    env = {"PATH": "/usr/bin:/bin", "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC", "LC_ALL": "C"}
    for who in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{who}_NAME": "A", f"GIT_{who}_EMAIL": "a@b.c", f"GIT_{who}_DATE": "2020-01-01T00:00:00Z"}
    def git(*args):
        subprocess.run(["git", "-c", "init.defaultBranch=main", *args], cwd=work, env=env, check=True,
                       stdout=subprocess.DEVNULL)
    git("init", "-q")
    for i in range(12):
        write(work, f"file{i % 4}", "".join(f"line {n * i}\n" for n in range(60)))
        git("add", ".")
        git("commit", "-qm", f"change {i}")
    return work


def programs(folder):
    """(name, argv, options of Compared)."""
    lines = write(folder, "lines", "".join(f"{(i * 7919) % 10007} word{i % 13}\n" for i in range(4000)))
    xml = write(folder, "list.xml", XML)
    source = write(folder, "source.c", C_SOURCE)
    git = repository(folder)
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True).stdout.strip()
    quick = [
        ("sqlite3", ["/usr/bin/sqlite3", ":memory:", SQL], {}),
        ("python3", ["/usr/bin/python3", "-c", PYTHON], {"preload": ["high_heap"]}),
        ("perl", ["/usr/bin/perl", "-e", PERL], {}),
        ("lua", ["/usr/bin/lua5.4", "-e", LUA], {}),
        ("jq", ["/usr/bin/jq", "-n", "[range(600) | {k: tostring, v: (. * 3)}] | group_by(.v % 7) | map(length)"], {}),
        ("xmllint", ["/usr/bin/xmllint", "--noout", "--xpath", "//item[@name='n3']/sub/text()", xml],
         {"preload": ["fixed_time"]}),
        ("git-log", ["/usr/bin/git", "--no-pager", "log", "--stat", "-p"], {"cwd": git}),
        ("git-blame", ["/usr/bin/git", "--no-pager", "blame", "file1"], {"cwd": git}),
        ("cc1", [cc1, "-quiet", "-O1", source, "-o", "/dev/null"], {"preload": ["placed_maps"]}),
        ("bash", ["/bin/bash", "--norc", "-c", BASH], {}),
        ("sort", ["/usr/bin/sort", "-S", "1M", "--parallel=1", lines], {}),
        ("sort-threads", ["/usr/bin/sort", "-S", "4M", "--parallel=2", lines], {}),
        ("gawk", ["/usr/bin/gawk", AWK], {}),
        ("mawk", ["/usr/bin/mawk", AWK], {}),
        ("readelf", ["/usr/bin/readelf", "-a", "/usr/bin/true"], {}),
        ("grep", ["/usr/bin/grep", "-cE", "(9+|word1[0-2])$", lines], {}),
    ]
    slow = [
        ("python3-modules", ["/usr/bin/python3", "-c", "import sqlite3, ssl, ctypes, decimal, xml.dom.minidom"], {"preload": ["high_heap"]}),
        ("cc1-O2", [cc1, "-quiet", "-O2", "-g", source, "-o", "/dev/null"], {"preload": ["placed_maps"]}),
        ("objdump", ["/usr/bin/objdump", "-d", "/usr/bin/true"], {}),
        ("git-fsck", ["/usr/bin/git", "fsck", "--full"], {"cwd": git}),
    ]
    return quick + (slow if LONG else [])


# Targets that run until somebody ends them.
ENDLESS = {"s_swings"}


def targets():
    """Every target program that ends by itself, without arguments, within a few seconds."""
    found = []
    if os.path.isdir(TARGETS):
        for name in sorted(os.listdir(TARGETS)):
            path = os.path.join(TARGETS, name)
            if os.access(path, os.X_OK) and not name.endswith((".d", ".so")) and name != "contain":
                found.append((name, [path], {"seconds": 60}))
    return found


def judge(name, argv, options, folder):
    """(word, name, why)"""
    if name in ENDLESS:
        return "SKIP", name, "does not end by itself"
    run = valgrind_compare.Compared(argv, os.path.join(folder, "run-" + name), **options)
    try:
        wrong = run.compare(LONG)
    except valgrind_compare.Varies as why:
        return "SKIP", name, f"no reference: {why}"
    except subprocess.TimeoutExpired:
        return "SKIP", name, "does not end by itself"
    except AssertionError as why:
        return "FAIL", name, why
    return ("FAIL", name, "; ".join(wrong)) if wrong else ("PASS", name, "")


def same_environment(folder):
    """What python3 sees as its environment, in order, is the same under all three; so is its argv."""
    show = "import os, sys; print(b'\\n'.join(b'='.join(v) for v in os.environb.items()), sys.argv, sys.orig_argv)"
    # -S: its modules matter to no variable
    run = valgrind_compare.Compared(["/usr/bin/python3", "-S", "-c", show], os.path.join(folder, "run-environment"))
    for one in (run.counter, run.valgrind, run.memtop):
        one()
    outputs = {kind: run.output(kind) for kind in ("valgrind", "memtop", "counter")}
    assert outputs["valgrind"] and len(set(outputs.values())) == 1, f"environments differ: {outputs}"


def main():
    os.chdir(ROOT)
    wanted = sys.argv[1:]
    bad = 0

    @test
    def t_environment():
        need("valgrind")
        same_environment(harness.temporary_folder())

    @test
    def t_programs():
        nonlocal bad
        folder = harness.temporary_folder()
        work = [w for w in programs(folder) + targets() if not wanted or w[0] in wanted]
        equal = 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for word, name, why in pool.map(lambda w: judge(*w, folder), work):
                harness.result(word, f"exact {name}", why)
                bad += word == "FAIL"
                equal += word == "PASS"
        assert wanted or equal >= 12, f"only {equal} programs were compared"

    good = [harness.run_one(t) for t in (t_environment, t_programs)]
    return 1 if bad or not all(good) else 0


if __name__ == "__main__":
    sys.exit(main())
