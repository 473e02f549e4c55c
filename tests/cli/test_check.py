#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_check.py - memtop check on real programs: limits, a baseline, suppressions of three tools, formats, processes,
sessions that are not whole; and the man page's examples, run in ctest, meson, pytest and a shell."""
import atexit
import functools
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import xml.etree.ElementTree as xml

import manual
from cli import memtop, one_line
from harness import (AGENT, MEMTOP, ROOT, Skip, Synthetic, at_end, children, environment, kill, main, mostly_waits, need,
                     recorded, recording, report, run, start, temporary_folder, test, wait_for, wait_for_session)

SOURCE = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memtop/memtop.h>

void *kept[1000];
int count;

__attribute__((noinline)) void keep_row(size_t size) { kept[count++] = malloc(size); }
__attribute__((noinline)) void fill_cache(void) { kept[count++] = strdup("an entry of the cache"); }
__attribute__((noinline)) void swell(size_t size)
{
	char *volatile p = malloc(size);
	usleep(500000);
	free(p);
}
__attribute__((noinline)) void spike(size_t size)
{
	char *volatile p = malloc(size);
	free(p);
}
#ifdef LEAK
__attribute__((noinline)) void parse_word(void) { kept[count++] = malloc(5000); }
#endif

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	char line[100] = "";

	puts(fgets(line, sizeof line, stdin) ? line : "to stdout");
	fputs("to stderr\n", stderr);
	for (int i = 0; i < 100; i++)
		keep_row(1000);
	fill_cache();
#ifdef LEAK
	parse_word();
#endif
	if (!strcmp(mode, "marks")) {
		memtop_set_mark("a");
		keep_row(7000);
		memtop_set_mark("b");
	}
	if (!strcmp(mode, "noise"))
		srand((unsigned)atoi(argv[2]));
	for (int i = 0; !strcmp(mode, "noise") && i < 20; i++)
		keep_row(1000 + (size_t)rand() % 20000);
	if (!strcmp(mode, "window")) {
		memtop_set_mark("w");
		keep_row(7000);
		free(kept[0]);
		memtop_set_mark("w.end");
	}
	for (int i = 0; !strcmp(mode, "windows") && i < 12; i++) {
		memtop_start("turn");
		keep_row(i == 7 ? 7000 : 500);
		if (i < 11 || argc < 3)
			memtop_stop("turn");
	}
	if (!strcmp(mode, "swell"))
		swell(3000000);
	if (!strcmp(mode, "spike")) { /* at the peak of all, which no tick sees */
		keep_row(9000000);
		spike(2000000);
		for (int i = 0; i < 1000; i++)
			spike(1000);
		free(kept[--count]);
	}
	if (!strcmp(mode, "fork") && !fork())
		_exit(0);
	if (!strcmp(mode, "swap") && !fork()) { /* frees what it inherited, and leaks as much */
		for (int i = 0; i < count; i++)
			free(kept[i]);
		keep_row(90000);
		usleep(1500000); /* below a second a fork has only totals */
		_exit(0);
	}
	if (!strcmp(mode, "fork") || !strcmp(mode, "swap"))
		wait(NULL);
	if (!strcmp(mode, "wait")) {
		puts("ready");
		fflush(stdout);
		pause();
	}
	for (int i = 0; (!strcmp(mode, "free") || !strcmp(mode, "fork") || !strcmp(mode, "swap")) && i < count; i++)
		free(kept[i]);
	if (!strcmp(mode, "killed"))
		raise(argc > 2 ? atoi(argv[2]) : SIGKILL);
	return !strcmp(mode, "fails") ? 3 : 0;
}
"""
ROWS, CACHE = 100 * 1000, len("an entry of the cache") + 1


@functools.cache
def built(*flags):
    """Once for the whole script; the leak moves every line of main."""
    folder = tempfile.mkdtemp(prefix="memtop-test-check-")
    atexit.register(shutil.rmtree, folder, True)
    with open(folder + "/words.c", "w", encoding="utf-8") as f:
        f.write(SOURCE)
    done = run(["gcc", "-g", "-O1", f"-I{ROOT}/include", *flags, "-o", "words", "words.c"], cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder + "/words"


def check(*words, **named):
    done = memtop("check", *words, **named)
    assert "Traceback" not in done.stderr
    return done


def judged(status, *words, **named):
    """memtop check with this status; the findings by name."""
    done = check(*words, **named)
    assert done.returncode == status, f"status {done.returncode}, wanted {status}: {done.stdout}{done.stderr}"
    text = done.stdout + done.stderr
    return {name: rest for name, rest in re.findall(r"^  FAIL  (.*?): (.*)$", text, re.M)}, text


def session(*mode, flags=(), options=()):
    return recorded(built(*flags), *mode, arguments=options, status=None)


def written(name, text):
    path = f"{temporary_folder()}/{name}"
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return path


@test
def t_a_limit_holds_to_the_byte():
    a = session()
    for option in ("--max-live", "--max-leaked"):
        # the buffers of stdin and stdout are alive, too, and no leak
        more = 8192 if option == "--max-live" else 0
        judged(0, option, str(ROWS + CACHE + more), a)
        bad, _ = judged(1, option, str(ROWS + CACHE + more - 1), a)
        assert f"({ROWS + CACHE + more:,} bytes)" in bad[f"{option} {ROWS + CACHE + more - 1}"], bad
    judged(0, "--max-blocks", "103", a)
    judged(1, "--max-blocks", "102", a)
    judged(0, "--max-rate", str(ROWS + CACHE + 8192), a)
    judged(1, "--max-rate", str(ROWS), a)
    peak = ROWS + CACHE + 8192
    judged(0, "--max-peak", str(peak + report(a)["totals"]["peak_error_bytes"]), a)
    judged(1, "--max-peak", str(peak - 1), a)


@test
def t_parts_of_the_heap():
    a = session()
    judged(0, "--max-live", f"fn:keep_row={ROWS}", "--max-live", f"fn:fill_*={CACHE}", "--max-live", "lib:word=1M", a)
    bad, text = judged(1, "--max-live", f"fn:keep_row={ROWS - 1}", "--max-blocks", "fn:keep_row=99", "--max-live", "lib:words=1K",
                       "--max-leaked", "fn:main=10", "--max-live", "1M", a)
    assert len(bad) == 4 and "4 findings, 1 limit kept" in text, text
    assert re.search(r"^            keep_row  words\.c:\d+  words$", text, re.M), "the heaviest stack is not shown"


@test
def t_a_name_that_nothing_has_fails():
    """It would hold whatever the program does. With ? it may be missing, and so may it in all processes but one."""
    a = session()
    for limit in ("--max-live", "--max-peak", "--max-leaked", "--max-blocks", "--max-rate"):
        bad, text = judged(1, limit, "fn:keep_rows=1M", limit, "lib:nothing=1M", a)
        assert len(bad) == 2 and "no process has a stack through a function keep_rows; write fn:keep_rows?=" in text, text
        judged(0, limit, "fn:keep_rows?=0", limit, "lib:nothing?=0", limit, "lib:libc=1M", a)
    judged(1, "--max-growth", "fn:keep_rows=1M", "--between", "a..b", session("marks"))
    r = json.loads(judged(1, "--max-live", "fn:keep_rows=1M", "-f", "json", a)[1])
    assert [(v["kind"], v["error"], v["found"]) for v in r["verdicts"] if not v["passed"]] == [("max-live", True, None)], r
    judged(0, "--max-live", "fn:keep_row=1M", "--", "/bin/sh", "-c", f"{built()}; :")
    judged(0, "--max-live", "fn:keep_row=0", "--suppress", written("a.supp", "leak:keep_row\n"), a)


@test
def t_the_peak_of_a_part():
    a = session("swell")
    judged(0, "--max-peak", "fn:swell=3000000", a)
    judged(0, "--max-peak", "fn:swell=100M", a)
    bad, text = judged(1, "--max-peak", "fn:swell=2999999", "--max-live", "fn:swell=0", a)
    assert list(bad) == ["--max-peak fn:swell=2999999"], text


@test
def t_a_peak_between_two_ticks():
    """The agent's record of the heap's peak has it; what no record has is bounded by what was allocated in between."""
    for _ in range(20):  # a tick may fall between them by chance
        a = session("spike")
        if check("--max-peak", "fn:spike=2500000", a).returncode:
            break
    bad, text = judged(1, "--max-peak", "fn:spike=1999999", a)
    assert "1.9M (2,000,000 bytes) at the peak" in bad["--max-peak fn:spike=1999999"], text
    assert re.search(r"^            spike  words\.c:\d+  words$", text, re.M), text
    bad, text = judged(1, "--max-peak", "fn:spike=2500000", a)  # 3,000,000 were allocated and freed in that tick
    assert "it may have been up to 2.9M" in bad["--max-peak fn:spike=2500000"], text
    judged(0, "--max-peak", "fn:spike=2500000", "--allow-incomplete", a)
    judged(0, "--max-peak", "fn:spike=3000000", a)


@test
def t_a_limit_within_the_error_of_the_peak():
    """It was kept or not: nobody knows, so it is not passed."""
    a = session("spike")
    totals = report(a)["totals"]
    peak, error = totals["peak_bytes"], totals["peak_error_bytes"]
    judged(0, "--max-peak", str(peak + error), a)
    bad, _ = judged(1, "--max-peak", str(peak - 1), a)
    assert "may have been" not in bad[f"--max-peak {peak - 1}"], bad
    if error:
        bad, _ = judged(1, "--max-peak", str(peak + error - 1), a)
        assert "it may have been up to" in bad[f"--max-peak {peak + error - 1}"], bad
        judged(0, "--max-peak", str(peak + error - 1), "--allow-incomplete", a)


@test
def t_growth_between_marks():
    a = session("marks")
    judged(0, "--max-growth", "7000", "--max-growth", "fn:fill_cache=0", "--between", "a..b", a)
    bad, _ = judged(1, "--max-growth", "6999", "--max-growth", "fn:keep_row=6999", "--between", "a..b", a)
    assert len(bad) == 2 and all("+6.8K (7,000 bytes) in 1 block from a to b" in text for text in bad.values()), bad
    judged(0, "--max-growth", "0", "--between", "b..now", a)
    one_line(check("--max-growth", "1M", a), 2, "--between m1..m2")
    one_line(check("--max-growth", "1M", "--between", "a..x", a), 2, "a..x: no process has both marks")


@test
def t_growth_in_a_window():
    """As of a report: only what was born in it counts."""
    a = session("window")
    judged(0, "--max-growth", "7000", "--between", "w", a)
    bad, _ = judged(1, "--max-growth", "6999", "--between", "w", a)
    assert ["+6.8K (7,000 bytes) in 1 block born in w" in text for text in bad.values()] == [True], bad
    judged(0, "--max-growth", "6000", "--between", "w..w.end", a)
    judged(1, "--max-growth", "5999", "--between", "w..w.end", a)
    one_line(check("--max-growth", "1M", "--between", "x", a), 2, "--between x: no process has a window of this name")
    bad, _ = judged(1, "--max-growth", "1M", "--between", "w.end", a)
    assert "w.end: no mark ends a window of this name" in bad["whole"], bad


@test
def t_growth_in_each_of_many_windows():
    """The worst one tells; one that did not end cannot be judged."""
    a = session("windows")
    judged(0, "--max-growth", "7000", "--between", "turn", a)
    bad, _ = judged(1, "--max-growth", "6999", "--max-growth", "fn:keep_row=500", "--max-growth", "fn:fill_cache=0", "--between", "turn", a)
    assert len(bad) == 2 and all("+6.8K (7,000 bytes) in 1 block born in turn-8, the most of 12 windows" in text for text in bad.values()), bad
    judged(0, "--max-growth", "500", "--between", "turn-7", a)
    v = [v for v in json.loads(check("--max-growth", "0", "--between", "turn", "-f", "json", a).stdout)["verdicts"]]
    assert [(x["window"], x["windows"]) for x in v] == [("turn-8", 12)], v
    a = session("windows", "open")
    bad, _ = judged(1, "--max-growth", "7000", "--between", "turn", a)
    assert "1 of 12 windows cannot be judged: turn-12: no mark ends a window of this name" in bad["whole"], bad
    judged(0, "--max-growth", "7000", "--between", "turn", "--allow-incomplete", a)


@test
def t_a_baseline_that_equals():
    """Another run of the same build, and one of another build: nothing moved but lines."""
    a, b, other = session(), session(), session(flags=("-DMOVED", "-O0"))
    judged(0, "--baseline", a, b)
    judged(0, "--baseline", a, "--tolerance", "0%,0", b)
    judged(0, "--baseline", a, other)


@test
def t_a_baseline_and_a_known_leak():
    good, bad = session(), session(flags=("-DLEAK",))
    found, text = judged(1, "--baseline", good, "--tolerance", "10%", bad)
    assert list(found) == ["--baseline, words!parse_word"], text
    assert "4.9K (5,000 bytes), the baseline has 0 bytes" in found["--baseline, words!parse_word"], text
    judged(0, "--baseline", good, "--tolerance", "10%,5000", bad)
    assert len(judged(1, "--baseline", good, "--tolerance", "1%", bad)[0]) == 2, "the whole, too"
    judged(0, "--baseline", bad, good)
    assert judged(0, "--baseline", good, "--suppress", written("a.supp", "leak:parse_word\n"), bad)
    one_line(check("--baseline", "/no/such.mtop", bad), 3, "/no/such.mtop")


@test
def t_noise_of_several_baselines():
    """What good runs differ by is no finding, whatever the tolerance; a leak far below that is."""
    runs = [session("noise", str(i)) for i in (1, 2, 3, 4)]
    of = [word for path in runs[:3] for word in ("--baseline", path)]
    live = [report(path)["totals"]["live_bytes"] for path in runs]
    judged(1, "--baseline", runs[live.index(min(live))], "--tolerance", "0%,0", runs[live.index(max(live))])
    judged(0, *of, "--tolerance", "0%,0", runs[3])
    found, text = judged(1, *of, "--tolerance", "0%,0", session("noise", "7", flags=("-DLEAK",)))
    assert list(found) == ["--baseline, words!parse_word"], text
    assert "4.9K (5,000 bytes), the 3 baselines have 0 bytes, limit 0 bytes" in found["--baseline, words!parse_word"], text
    verdicts = json.loads(check(*of, "--format", "json", runs[3]).stdout)["verdicts"]
    whole = next(v for v in verdicts if v["where"] == "live memory")
    spread = max(live[:3]) - min(live[:3])
    assert spread > 4096 and whole["found"] == live[3] and abs(whole["baseline"] - sum(live[:3]) / 3) <= 0.5, (whole, live)
    assert whole["baselines"] == {"count": 3, "least": min(live[:3]), "most": max(live[:3])} and whole["limit"] >= max(live[:3]) + 10 * spread, (whole, live)
    alone = json.loads(check(*of[:2], "--format", "json", runs[3]).stdout)["verdicts"]
    assert all(v["baselines"] is None for v in alone), alone
    tree = recorded("/bin/sh", "-c", "/bin/true; /bin/true; true", path=temporary_folder() + "/tree.mtop")
    done = check(*of, "--baseline", tree, runs[3])
    assert done.returncode == 0 and "words: only 3 of the 4 baselines have such a process" in done.stdout, done
    one_line(check(*of[:2] * 32, runs[3]), 2, "--baseline: 32 sessions; give 31 at most")


@test
def t_a_baseline_of_a_tree():
    """Processes of one name are told apart by their turn, whatever ran between fork and exec."""
    good = temporary_folder() + "/good.mtop"
    shell = ["--", "/bin/bash", "-c", f"{built()} free; (exec {built()}); {built()} $0 | cat"]
    judged(0, "--max-live", "100M", "--session", good, *shell, "free")
    judged(0, "--baseline", good, *shell, "free")
    bad, text = judged(1, "--baseline", good, *shell, "")
    assert set(bad) == {"--baseline, live memory", "--baseline, words!keep_row"}, text


@test
def t_suppressions_of_each_kind():
    a = session()
    rows = {
        "own": "words!keep_row\n",
        "own, wildcards": "# rows\nword*!keep_*\n",
        "LeakSanitizer": "leak:keep_row\n",
        "LeakSanitizer, its file": "leak:/words.c$\n",
        "LeakSanitizer, its module": "leak:words\n",
        "valgrind": "{\n   rows\n   Memcheck:Leak\n   match-leak-kinds: definite\n   fun:malloc\n   fun:keep_row\n   fun:main\n}\n",
        "valgrind, wildcards": "{\n   rows\n   Memcheck:Leak\n   fun:*alloc\n   ...\n   obj:*/words\n   fun:ma?n\n}\n",
    }
    for kind, text in rows.items():
        _, said = judged(0, "--max-leaked", str(CACHE), "--suppress", written("a.supp", text), a)
        assert re.search(r"^suppressed [\d.]+K in 10\d blocks: ", said, re.M), f"{kind}: {said}"
    judged(1, "--max-leaked", str(CACHE - 1), "--suppress", written("a.supp", rows["valgrind"]), a)
    both = ["--suppress", written("a.supp", rows["own"]), "--suppress", written("b.supp", "{\nn\nMemcheck:Leak\nfun:malloc\n"
                                                                                       "fun:strdup\nfun:fill_cache\n}\n")]
    judged(0, "--max-leaked", "0", *both, a)
    for wrong in ("words!keep_ro\n", "leak:keep_row_\n", "{\nn\nMemcheck:Leak\nfun:malloc\nfun:main\n}\n",
                  "{\nn\nMemcheck:Cond\nfun:malloc\nfun:keep_row\n}\n"):
        judged(1, "--max-leaked", str(CACHE), "--suppress", written("a.supp", wrong), a)
    done = check("--max-leaked", "1M", "--suppress", written("a.supp", "leak:x\nrace:y\n"), a)
    assert done.returncode == 0 and re.fullmatch(r"memtop: \S+a\.supp:2: not a suppression of leaks [^\n]+ignored\n", done.stderr), done
    one_line(check("--max-leaked", "1M", "--suppress", "/no/such.supp", a), 2, "/no/such.supp: cannot be read")


@test
def t_suppressions_that_matched_nothing():
    """They are named, of each kind, with their place; one that only another one came before is not."""
    a = session()
    own, lsan = written("own.supp", "words!keep_row\nwords!keep_rows\nnot words!x\n"), written("l.supp", "leak:keep_row\nleak:keep_x\n")
    valgrind = written("v.supp", "".join(f"{{\n{name}\nMemcheck:Leak\nfun:malloc\nfun:{name}\n}}\n" for name in ("keep_row", "keep_y")))
    _, text = judged(0, "--max-live", "1G", "--suppress", own, "--suppress", lsan, "--suppress", valgrind, a)
    assert f"! Suppressions that matched nothing: words!keep_rows, leak:keep_x ({lsan}:2), keep_y ({valgrind}:7).\n" in text, text
    _, text = judged(0, "--max-live", "1G", "--suppress", written("m.supp", "".join(f"leak:nothing{i}\n" for i in range(30))), a)
    assert text.count("nothing") == 9 and ", and 22 more." in text, text
    _, text = judged(0, "--max-live", "1G", "--suppress", written("a.supp", "leak:keep_row\n"), "--", "/bin/sh", "-c", f"{built()}; :")
    assert "matched nothing" not in text, text


CPP = r"""
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>
namespace app {
struct Row { std::string name; std::vector<int> v; explicit Row(const char *n) : name(n), v(100) {} };
static std::vector<Row *> *rows;
inline Row *make_row(const char *n) { return new Row(n); }
template <class T> inline T *clone(const T &t) { return new T(t); }
__attribute__((noinline)) void leaky(int n)
{
	for (int i = 0; i < n; i++)
		rows->push_back(make_row("a name that is long enough for the heap, surely"));
}
namespace { struct Anon { __attribute__((noinline)) char *go() { return strdup("hello"); } }; }
}
static __attribute__((noinline)) void *c_static(int n) { return calloc(n, 10); }
static void *volatile kept;
int main(int argc, char **)
{
	app::rows = new std::vector<app::Row *>;
	app::leaky(3 + argc);
	kept = app::Anon().go();
	auto *m = new std::map<std::string, int>;
	(*m)["a key that is long enough for the heap, surely"] = argc;
	kept = app::clone(std::vector<int>(10 + argc));
	kept = new std::function<void(int)>([&](int k) { kept = realloc(nullptr, k); });
	(*(std::function<void(int)> *)kept)(99);
	kept = c_static(argc + 4);
	app::rows = nullptr;
	kept = nullptr;
	return 0;
}
"""


@test
def t_suppressions_that_valgrind_writes():
    """Of the same C++, with all functions inlined that can be and with none: each matches, none is left."""
    need("g++", "valgrind")
    folder = temporary_folder()
    for level in "02":
        with open(folder + "/cpp.cc", "w", encoding="utf-8") as f:
            f.write(CPP)
        done = run(["g++", "-g", f"-O{level}", "-o", "cpp", "cpp.cc"], cwd=folder)
        assert done.returncode == 0, done.stderr
        done = run(["valgrind", "--leak-check=full", "--show-leak-kinds=all", "--gen-suppressions=all", "./cpp"], 120, cwd=folder, env=environment())
        blocks = re.findall(r"^\{\n.*?^\}\n", done.stderr, re.M | re.S)
        assert len(blocks) > 8, done.stderr
        for name in ("all.supp", "most.supp"):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
                f.write("".join(b for b in blocks if name == "all.supp" or "make_row" not in b))
        _, text = judged(0, "--max-leaked", "0", "--suppress", folder + "/all.supp", "--", folder + "/cpp")
        assert "matched nothing" not in text, text
        bad, text = judged(1, "--max-leaked", "0", "--suppress", folder + "/most.supp", "--", folder + "/cpp")
        assert "app::leaky(int)" in text, text
    own = written("own.supp", "cpp!app::make_row\ncpp!app::leaky\n")
    assert "matched nothing" not in judged(1, "--max-leaked", "0", "--suppress", own, "--", folder + "/cpp")[1]


LIBC = r"""
#define _GNU_SOURCE
#include <grp.h>
#include <libintl.h>
#include <locale.h>
#include <netdb.h>
#include <pwd.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(void)
{
	time_t t = time(0);
	regex_t re;

	setlocale(LC_ALL, "C.UTF-8");
	textdomain("words");
	bindtextdomain("words", "/tmp");
	gettext("hello");
	setenv("TZ", "Europe/Berlin", 1);
	localtime(&t);
	getpwuid(0);
	getgrgid(0);
	getservbyname("http", "tcp");
	regcomp(&re, "a.*b", 0);
	char *volatile p = strdup("the program's own");
	return !p;
}
"""


@test
def t_what_the_c_library_keeps_is_no_leak():
    """As valgrind counts, which lets the C library free it: what regcomp() and strdup() returned stays."""
    need("valgrind")
    folder = temporary_folder()
    with open(folder + "/libc.c", "w", encoding="utf-8") as f:
        f.write(LIBC)
    done = run(["gcc", "-g", "-O0", "-o", folder + "/libc", folder + "/libc.c"])
    assert done.returncode == 0, done.stderr
    for program in ([folder + "/libc"], ["ls", "/"], ["date"]):
        env = environment(LC_ALL="C.UTF-8", TZ="Europe/Berlin")
        theirs = run(["valgrind", *program], 120, env=env).stderr
        size = int(re.search(r"in use at exit: ([\d,]+) bytes", theirs).group(1).replace(",", ""))
        judged(0, "--max-leaked", str(size), "--", *program, env=env)
        bad, text = judged(1, "--max-leaked", str(size - 1), "--", *program, env=env)
        assert "blocks that the program still had pointers to count, too" in text, text


@test
def t_a_program_keeps_its_streams():
    for limit, status in (("1M", 0), ("1K", 1)):
        done = check("--max-leaked", limit, "--", built())
        assert done.returncode == status and done.stdout == "to stdout\n", done
        assert done.stderr.startswith("to stderr\n") and "memtop check: " in done.stderr, done.stderr
    with open(written("in", "from stdin\n"), encoding="ascii") as f:
        done = check("--max-leaked", "1M", "-o", temporary_folder() + "/result", "--", built(), stdin=f)
    assert (done.returncode, done.stdout, done.stderr) == (0, "from stdin\n\n", "to stderr\n"), done


@test
def t_a_program_that_fails_itself():
    """Its own status wins, and the findings are told all the same."""
    for limit in ("0", "1M"):
        done = check("--max-leaked", limit, "--", built(), "fails")
        assert done.returncode == 3 and ("FAIL" in done.stderr) == (limit == "0"), done
    assert check("--max-leaked", "0", "--", built(), "killed").returncode == 128 + signal.SIGKILL
    assert check("--max-leaked", "0", "--", "/no/such/program").returncode == 127
    assert check("--max-leaked", "0", "--", written("text", "no program\n")).returncode == 126
    one_line(check("--max-leaked", "0", "--"), 2, "no program or target given")
    one_line(check("--max-leaked", "x", "--", built()), 2, "--max-leaked x: not a limit")
    assert check("--baseline", "/no/such.mtop", "--", built()).returncode == 125


@test
def t_a_crash_is_no_success():
    """In every format, of the program and of a child, with figures and with totals alone, whatever the limits say."""
    a, tree = session("killed", "11"), temporary_folder() + "/tree.mtop"
    bad, _ = judged(1, "--max-live", "1G", a)
    assert list(bad) == ["crash"] and "SIGSEGV ended it" in bad["crash"], bad
    judged(0, "--max-live", "1G", "--allow-crash", a)
    r = json.loads(judged(1, "--max-live", "1G", "-f", "json", a)[1])
    assert (r["passed"], r["findings"], r["errors"]) == (False, 1, 1), r
    assert [(v["kind"], v["error"]) for v in r["verdicts"] if not v["passed"]] == [("crash", True)], r
    root = xml.fromstring(judged(1, "--max-live", "1G", "-f", "junit", a)[1].encode())
    assert [e.get("errors") for e in (root, root[0])] == ["1", "1"] and root.get("failures") == "0", root.attrib
    assert "SIGSEGV" in root.find(".//testcase[@name='crash']/error").text
    assert judged(1, "--max-live", "1G", "-f", "github", a)[1].startswith("::error title=memtop check crash::")
    for kept in ("--session", tree), ():
        bad, _ = judged(1, "--max-live", "1G", *kept, "--", "/bin/sh", "-c", f"{built()} killed 6; :")
        assert list(bad) == ["crash"] and "SIGABRT" in bad["crash"], bad
    recorded("/bin/sh", "-c", f"{built()} killed 9; :", path=tree)
    bad, _ = judged(1, "--max-live", "1G", tree)
    assert list(bad) == ["crash"] and "SIGKILL" in bad["crash"], bad
    judged(0, "--max-live", "1G", "--", "/bin/sh", "-c", f"{built()} killed 15; :")  # its starter asked it to end
    judged(1, "--max-live", "1G", session("killed", "15"))


@test
def t_the_recording_goes_or_stays():
    tmp, kept = temporary_folder(), temporary_folder() + "/kept.mtop"
    judged(0, "--max-leaked", "1M", "--", built(), env=environment(TMPDIR=tmp))
    judged(127, "--max-leaked", "1M", "--", "/no/such/program", env=environment(TMPDIR=tmp))
    assert os.listdir(tmp) == [], os.listdir(tmp)
    judged(1, "--max-leaked", "0", "--session", kept, "--", built(), env=environment(TMPDIR=tmp))
    judged(1, "--max-leaked", "0", kept)
    done = check("--max-leaked", "1M", "--", built(), env=environment(TMPDIR="/no/such/folder"))
    assert done.returncode == 0 and "/no/such/folder: cannot be written: No such file or directory; /tmp is used" in done.stderr, done


@test
def t_children_are_not_missed():
    """A small short child has its stacks, a fork does not own what it inherited, and exec is no leak."""
    bad, text = judged(1, "--max-leaked", "50K", "--", "/bin/sh", "-c", f"{built()}; :")
    assert len(bad) == 1 and "keep_row" in text and ", 2 processes" in text, text
    judged(0, "--max-leaked", "50K", "--", "/bin/sh", "-c", f"{built()} free; :")
    judged(0, "--max-leaked", "50K", "--process", "sh", "--", "/bin/sh", "-c", f"{built()}; :")
    judged(0, "--max-leaked", "0", "--", built(), "fork")
    bad, text = judged(1, "--max-leaked", "50K", "--", built(), "swap")
    assert len(bad) == 1 and "keep_row" in text, text
    bad, text = judged(1, "--max-leaked", "50K", "--", "/bin/bash", "-c", f"exec {built()}")
    assert len(bad) == 1 and "keep_row" in text, text
    suppressed = written("a.supp", "leak:keep_row\n")
    judged(0, "--max-leaked", "50K", "--suppress", suppressed, "--", "/bin/sh", "-c", f"{built()}; :")


@test
def t_children_of_a_recording_have_totals():
    a = recorded("/bin/sh", "-c", f"{built()}; :")
    bad, text = judged(1, "--max-leaked", "50K", "--max-live", "fn:keep_row=1M", a)
    assert "only its totals were recorded" in bad["--max-leaked 50K"] and "do not cover them" in text, text
    judged(0, "--max-leaked", "50K", "--process", "sh", a)


@mostly_waits
def t_a_session_that_is_not_whole():
    p = recording(built(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    a = p.session
    wait_for_session(a)  # what is cut has a block before it
    p.stdin.close()
    assert p.wait(60) == 0, p.returncode
    with open(a, "rb") as f:
        whole = f.read()
    second = whole.index(b"BLK1", whole.index(b"BLK1") + 1)
    cut = written("cut.mtop", whole[:second + 40])
    bad, text = judged(1, "--max-live", "100M", cut)
    assert list(bad) == ["whole"] and "cut" in bad["whole"], text
    assert "! " in judged(0, "--max-live", "100M", "--allow-incomplete", cut)[1]
    for kind in (b"", b"no session", whole[:20], os.urandom(1000)):
        done = check("--max-live", "100M", written("bad.mtop", kind))
        assert done.returncode in (2, 3) and done.stdout == "", done
    done = check("--max-live", "100M", "/no/such.mtop")
    assert done.returncode == 3, done


@test
def t_a_sampled_session_says_so():
    a = session(options=("--options", "sample=1k"))
    _, text = judged(0, "--max-live", "100M", "--max-peak", "100M", a)
    assert re.search(r"^  ok    --max-live 100M: ~[\d.]+K in ~\d+ blocks live", text, re.M), text
    assert "figures with ~ are estimates" in text, text


@mostly_waits
def t_a_live_target():
    program = start([built(), "wait"], env=environment(LD_PRELOAD=AGENT), stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, text=True)
    wait_for(lambda: "ready" in program.stdout.readline(), what="the program")
    judged(0, "--max-live", "1M", "-p", str(program.pid))
    bad, _ = judged(1, "--max-live", "fn:keep_row=1K", "--max-leaked", "1M", "-p", str(program.pid))
    assert "the program has not ended" in bad["whole"] and len(bad) == 2, bad
    one_line(check("--max-peak", "lib:words=1M", "-p", str(program.pid)), 2, "use memtop record first")


@mostly_waits
def t_a_check_that_is_ended():
    """A CI server that gives up sends SIGTERM: that is no success."""
    ended = start([MEMTOP, "check", "--max-live", "100M", "--", built(), "wait"], env=environment(),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: "ready" in ended.stdout.readline(), what="the program")
    started = children(ended.pid)
    ended.terminate()
    status = ended.wait(60)
    for child in started:
        kill(child)  # it runs on, and has our pipes
    assert status == 1, status
    assert "The recording ended before the program did" in ended.stderr.read()


@mostly_waits
def t_what_the_program_left_running():
    """After two seconds check says for whom it waits. With --first-only nothing is "alive at exit" of a process that runs."""
    folder = temporary_folder()
    # it says "ready" behind its agent's start
    shell = ["--", "/bin/sh", "-c", f": >{folder}/ready; {built()} wait >{folder}/ready 2>&1 & echo $! >{folder}/pid; until [ -s {folder}/ready ]; do :; done"]
    waits = start([MEMTOP, "check", "--max-live", "1M", *shell], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    line = waits.stderr.readline()
    with open(folder + "/pid", encoding="ascii") as f:
        pid = int(f.read())
    at_end(kill, pid)
    assert line == (f"memtop: /bin/sh: ended with status 0; words [{pid}] runs on: recording until it ends; ^C ends the recording, "
                    "--first-only does not wait for it\n"), line
    os.kill(pid, signal.SIGTERM)
    assert waits.wait(60) == 0 and "words" in waits.stderr.read()
    kept = folder + "/kept.mtop"
    for more, status in (([], 0), (["--session", kept], 0), (None, 1)):
        if more is None:  # what the command line said is not in the file
            bad, text = judged(status, "--max-leaked", "1G", kept)
            assert "the program has not ended" in bad["whole"], text
            continue
        _, text = judged(status, "--first-only", "--max-leaked", "1G", *more, *shell)
        with open(folder + "/pid", encoding="ascii") as f:
            pid = int(f.read())
        at_end(kill, pid)
        assert text.count("alive at exit") == 1 and f"! words [{pid}] ran on: --max-leaked was not held against it." in text, text


@test
def t_a_tree_in_few_lines():
    """Processes without a finding share a line for each limit, the one that came nearest to it named; a finding keeps all of its own."""
    shell = f"for i in 1 2 3 4 5 6 7 8; do /bin/true; done; {built()} >/dev/null; :"
    of = ("--max-leaked", "1G", "--max-blocks", "1M", "--", "/bin/sh", "-c", shell)
    _, text = judged(0, *of)
    lines = [line for line in text.splitlines() if "kept all" in line or line.startswith("  ")]
    assert re.match(r"10 processes kept all limits; the largest of each:$", lines[0]), text
    assert [line.split()[1] for line in lines[1:]] == ["--max-leaked", "--max-blocks"], text
    assert re.search(r"--max-blocks 1M: 10\d blocks live at the end, limit [\d,]+  \(words \[\d+\], exited with status 0\)$", lines[2]), text
    bad, text = judged(1, "--max-leaked", "90K", *of[2:])
    assert list(bad) == ["--max-leaked 90K"] and "\n9 processes kept all limits; the largest of each:\n" in text, text
    assert re.search(r"^words \[\d+\], exited with status 0\n  FAIL  --max-leaked 90K: (.*\n)+  ok    --max-blocks 1M: ", text, re.M), text


@test
def t_the_same_finding_of_many_is_told_once():
    shell = f"for i in 1 2 3 4 5 6; do {built()} >/dev/null; done; {built()} fails >/dev/null; :"
    bad, text = judged(1, "--max-leaked", "90K", "--", "/bin/sh", "-c", shell)
    assert text.count("  FAIL  --max-leaked 90K: ") == 2, text  # the one that failed has another state
    assert re.search(r"^  5 more processes of words with the same findings, none larger:( \[\d+\],?){5}$", text, re.M), text
    assert text.endswith("memtop check: 7 findings, 1 limit kept, 8 processes\n"), text


@test
def t_limits_of_all_processes():
    """A limit of `all` is held against the sum over the tree, beside those of each process."""
    shell = f"{built()} >/dev/null; {built()} >/dev/null; :"
    of = ("--", "/bin/sh", "-c", shell)
    kept = temporary_folder() + "/kept.mtop"
    _, text = judged(0, "--max-leaked", "150K", "--max-leaked", "all=1G", "--session", kept, *of)
    each = [int(n.replace(",", "")) for n in re.findall(r"--max-leaked 150K: .*?\(([\d,]+) bytes\)", text)]
    summed, = (int(n.replace(",", "")) for n in re.findall(r"--max-leaked all=1G: .*?\(([\d,]+) bytes\)", text))
    assert len(each) == 3 and sum(each) == summed > 2 * ROWS, text
    assert re.search(r"^All, 3 processes\n  ok    --max-leaked all=1G: ", text, re.M) and text.endswith(", 3 processes\n"), text
    bad, text = judged(1, "--max-leaked", "150K", "--max-leaked", "all=150K", kept)
    assert list(bad) == ["--max-leaked all=150K"] and "keep_row" in text, text
    bad, _ = judged(1, "--max-leaked", "all:fn:keep_row=150K", kept)
    assert list(bad) == ["--max-leaked all:fn:keep_row=150K"], bad
    bad, text = judged(1, "--max-leaked", "150K", "--process", "all", kept)
    assert list(bad) == ["--max-leaked 150K"] and "sh [" not in text, text
    # one after the other: they never held that together
    judged(0, "--max-peak", "all=150K", kept)
    # of one process, all is that
    judged(1, "--max-leaked", "all=90K", "--", built())
    for wrong in ("all:2M", "all=lib:c=2M", "all:=2M"):
        one_line(check("--max-live", wrong, kept), 2, "not a limit")
    one_line(check("--max-peak", "all:lib:c=2M", kept), 2, "leave out all:")


@test
def t_no_growing():
    """The gate is the verdict on growth, in its words, whether the program has ended or not."""
    def past(*arguments):
        agent = Synthetic(*arguments)
        path = recorded(arguments=["--for", "1", agent.address])
        agent.stop()
        return path
    leak = past("--past", "60", "--ended")
    bad, text = judged(1, "--no-growing", leak)
    said = report(leak)["verdict"]
    assert (said["word"], said["state"], said["growth"]["word"]) == ("EXITED", "exited", "GROWING"), said
    assert list(bad) == ["--no-growing"] and bad["--no-growing"] == said["growth"]["text"], (text, said)
    assert re.search(r"^ {12}Index::grow\(\)  index.cc.c:7  mapd$", text, re.M), text
    failed, = json.loads(judged(1, "--no-growing", "-f", "json", leak)[1])["verdicts"]
    assert (failed["kind"], failed["passed"], failed["error"], failed["found"]) == ("no-growing", False, False, None), failed
    assert "GROWING +" in judged(1, "--no-growing", past("--past", "60", "--still"))[1]
    _, text = judged(0, "--no-growing", past("--past", "60", "--ended", "--no-story", "--swap"))
    assert "ok    --no-growing: FLAT 0/min over " in text, text
    young = past("--past", "6", "--ended")
    bad, _ = judged(1, "--no-growing", young)
    assert bad["--no-growing"] == "no process ran long enough for a verdict on growth, which takes 20 s", bad
    judged(0, "--no-growing", "--allow-incomplete", young)


@test
def t_verdicts_in_json_junit_and_github():
    a = session("swell")
    words = ["--max-leaked", "50K", "--max-peak", "100M", "--suppress", written("a.supp", "leak:fill_cache\n")]
    r = json.loads(judged(1, *words, "--format", "json", a)[1])
    assert (r["schema"], r["passed"], r["findings"]) == (1, False, 1), r
    failed, = [v for v in r["verdicts"] if not v["passed"]]
    assert (failed["kind"], failed["found"], failed["limit"], failed["where"]) == ("max-leaked", ROWS, 50 * 1024, ""), failed
    assert failed["stacks"][0]["bytes"] == ROWS and failed["stacks"][0]["frames"][0]["function"] == "keep_row", failed
    assert [(s["live_bytes"], s["name"]) for s in r["suppressed"]] == [(CACHE, "leak:fill_cache")], r["suppressed"]

    root = xml.fromstring(judged(1, *words, "--format", "junit", a)[1].encode())
    assert (root.get("tests"), root.get("failures")) == ("2", "1"), root.attrib
    cases = {c.get("name"): c for c in root.iter("testcase")}
    assert "keep_row" in cases["--max-leaked 50K"].find("failure").text and cases["--max-peak 100M"].find("failure") is None

    folder = os.path.dirname(built())
    text = judged(1, *words, "--format", "github", a, cwd=folder)[1]
    assert re.match(r"::error file=words\.c,line=\d+,title=memtop check --max-leaked 50K::words \[\d+\], exited with status 0: "
                    r"97\.7K \(100,000 bytes\)[^\n]*%0A[^\n]*keep_row", text), text
    done = check(*words, "--format", "yaml", a)
    one_line(done, 2, "yaml: no such format")


@test
def t_junit_names_stay_between_builds():
    """A server finds a test case again by its names: no pid, no status, and two processes of a name differ."""
    shell = f"{built()}; {built()} fails; :"
    root = xml.fromstring(judged(0, "--max-live", "1G", "-f", "junit", "--", "/bin/sh", "-c", shell)[1].partition("<?xml")[2].partition("?>")[2])
    assert [s.get("name") for s in root] == ["sh", "words", "words 2"], root[1].attrib
    assert [c.get("classname") for c in root.iter("testcase")] == ["memtop.sh", "memtop.words", "memtop.words 2"]
    assert [p.get("value") for p in root.iterfind(".//property[@name='state']")] == [f"exited with status {n}" for n in (0, 0, 3)]
    dotted = temporary_folder() + "/words.1.2"
    shutil.copy(built(), dotted)
    root = xml.fromstring(judged(1, "--max-leaked", "0", "-f", "junit", "--", dotted)[1].partition("<?xml")[2].partition("?>")[2])
    assert root[0].get("name") == "words.1.2" and root.find(".//testcase").get("classname") == "memtop.words_1_2"
    failure = root.find(".//failure")
    assert failure.text.startswith(failure.get("message") + "\n"), failure.text


@test
def t_annotations_have_paths_of_the_repository():
    """From its root, wherever the step runs; the first frame outwards that is in it; none of a file outside."""
    folder, outside = temporary_folder(), temporary_folder()
    os.makedirs(folder + "/src/lib")
    os.mkdir(folder + "/.git")
    for path, text in ((f"{outside}/given.h", "#include <stdlib.h>\nstatic __attribute__((noinline)) void *given(void)\n{\n"
                                              "\tvoid *volatile p = malloc(5000);\n\treturn p;\n}\n"),
                       (f"{folder}/src/lib/a.c", f'#include "{outside}/given.h"\nint main(void)\n{{\n\treturn !given();\n}}\n')):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    for flags in ([], [f"-ffile-prefix-map={folder}=."]):
        done = run(["gcc", "-g", "-O0", *flags, "-o", outside + "/a", "a.c"], cwd=folder + "/src/lib")
        assert done.returncode == 0, done
        for here in ("", "/src", "/src/lib"):
            text = judged(1, "--max-leaked", "0", "-f", "github", "--", outside + "/a", cwd=folder + here)[1]
            assert text.startswith("::error file=src/lib/a.c,line=4,title="), text
        text = judged(1, "--max-leaked", "0", "-f", "github", "--", outside + "/a", cwd=outside)[1]
        assert text.startswith("::error file=given.h,line=4,title="), text
    os.mkdir(folder + "/src/.git")  # another repository
    os.mkdir(folder + "/other")
    os.mkdir(folder + "/other/.git")
    text = judged(1, "--max-leaked", "0", "-f", "github", "--", outside + "/a", cwd=folder + "/other")[1]
    assert text.startswith("::error title="), text


@test
def t_names_are_escaped():
    """A program's name may hold whatever XML, a terminal or GitHub reads as its own."""
    name = temporary_folder() + "/<&\"'>\033[31m%0A::error::x,\n"
    shutil.copy(built(), name)
    a = recorded(name)
    root = xml.fromstring(judged(1, "--max-live", "0", "--format", "junit", a)[1].encode())
    assert "<&\"'>" in next(root.iter("testsuite")).get("name")
    json.loads(judged(1, "--max-live", "0", "--format", "json", a)[1])
    text = judged(1, "--max-live", "0", "--format", "github", a)[1]
    assert "\033" not in text and all(line.startswith(("::", "memtop check: ")) for line in text.splitlines()), text


@test
def t_a_result_is_whole_or_not_there():
    a, folder = session(), temporary_folder()
    judged(1, "--max-live", "0", "-o", f"{folder}/r.xml", "-f", "junit", a)
    xml.parse(f"{folder}/r.xml")
    assert os.listdir(folder) == ["r.xml"], os.listdir(folder)
    one_line(check("--max-live", "100M", "-o", "/no/such/r.txt", a), 3, "/no/such/r.txt: cannot be written")
    limited = f"ulimit -f 0; exec {MEMTOP} check --max-live 100M -o {folder}/r.xml {a}"
    done = run(["/bin/bash", "-c", "trap '' XFSZ; " + limited], env=environment())
    assert done.returncode == 3 and done.stderr.count("\n") == 1, done
    xml.parse(f"{folder}/r.xml")  # the old one
    assert os.listdir(folder) == ["r.xml"], os.listdir(folder)


@test
def t_a_full_disk():
    if not stat.S_ISCHR(os.stat("/dev/full").st_mode):
        raise Skip("/dev/full of this machine is not the device")
    with open("/dev/full", "w", encoding="ascii") as full:
        done = check("--max-live", "100M", session(), stdout=full)
    assert done.returncode == 3 and done.stderr.count("\n") == 1, done


@test
def t_wrong_command_lines_of_check():
    a = session()
    one_line(check(a), 2, "no limit given")
    one_line(check("--max-live", "1M"), 2, "no target given")
    one_line(check("--max-live", "1M", "--between", "a..b", a), 2, "--between: needs a limit")
    one_line(check("--max-growth", "1M", "--between", "..b", a), 2, "..b: two marks are needed")
    one_line(check("--max-live", "1M", "--tolerance", "5%", a), 2, "--tolerance: needs a baseline")
    one_line(check("--baseline", a, "--tolerance", "x", a), 2, "--tolerance x: not a tolerance")
    one_line(check("--max-live", "1M", "--session", "x", a), 2, "--session: works only with a program")
    one_line(check("--max-live", "1M", "--process", "x", a), 2, "--process x: this session has only one process")


# --- the man page's examples

def example(word):
    block, = [b for b in manual.examples("memtop.1", "CHECK") if word in b]
    return block


def with_memtop(folder):
    """memtop on the PATH of a build tool, and words.c in its folder: with a leak, or without."""
    tools = temporary_folder()
    os.symlink(MEMTOP, tools + "/memtop")

    def write(leaks):
        with open(folder + "/words.c", "w", encoding="utf-8") as f:
            f.write("#include <stdio.h>\n#include <stdlib.h>\n__attribute__((noinline)) void *parse(void) { return malloc(64); }\n"
                    f"int main(void)\n{{\n\tvoid *volatile p = parse();\n\tputs(\"done\");\n\t{'' if leaks else 'free(p);'}\n\treturn 0;\n}}\n")
    return environment(PATH=f"{tools}:{os.environ['PATH']}"), write


def fails_only_with_the_leak(folder, steps, leak_said):
    """steps: build and test, run in the folder; the last one's status and output tell."""
    env, write = with_memtop(folder)
    for leaks in (True, False):
        write(leaks)
        for step in steps[:-1]:
            done = run(step, 120, cwd=folder, env=env)
            assert done.returncode == 0, f"{step}: {done.stdout}{done.stderr}"
        done = run(steps[-1], 120, cwd=folder, env=env)
        text = done.stdout + done.stderr
        assert (done.returncode != 0) == leaks, f"{'leaks' if leaks else 'frees'}: {done.returncode} {text}"
        assert not leaks or leak_said in text, text


@mostly_waits
def t_in_ctest():
    need("cmake", "ctest")
    folder = temporary_folder()
    with open(folder + "/CMakeLists.txt", "w", encoding="utf-8") as f:
        f.write("cmake_minimum_required(VERSION 3.10)\nproject(words C)\nset(CMAKE_BUILD_TYPE Debug)\n" + example("add_test"))
    fails_only_with_the_leak(folder, [["cmake", "-S", ".", "-B", "b"], ["cmake", "--build", "b"],
                                      ["ctest", "--test-dir", "b", "--output-on-failure"]],
                             "64 bytes in 1 block alive at exit, limit 0 bytes")


@mostly_waits
def t_in_meson():
    need("meson", "ninja")
    folder = temporary_folder()
    with open(folder + "/meson.build", "w", encoding="utf-8") as f:
        f.write("project('words', 'c')\n" + example("find_program"))
    with_memtop(folder)[1](True)
    fails_only_with_the_leak(folder, [["sh", "-c", "test -d b || meson setup b"],
                                      ["meson", "test", "-C", "b", "--print-errorlogs"]],
                             "64 bytes in 1 block alive at exit, limit 0 bytes")


@mostly_waits
def t_in_pytest():
    need("pytest")
    folder = temporary_folder()
    with open(folder + "/test_words.py", "w", encoding="utf-8") as f:
        f.write(example("import subprocess"))
    fails_only_with_the_leak(folder, [["cc", "-g", "-o", "words", "words.c"], ["pytest", "-q", "-p", "no:cacheprovider"]],
                             "64 bytes in 1 block alive at exit, limit 0 bytes")


@mostly_waits
def t_in_github_actions():
    """The lines of the step, in the shell that GitHub starts for them."""
    folder = temporary_folder()
    step = re.search(r"run: \|\n(.*)", example("name: heap"), re.S).group(1)
    with open(folder + "/step.sh", "w", encoding="utf-8") as f:
        f.write(step)
    env, write = with_memtop(folder)
    write(False)
    done = run(["sh", "-c", "cc -g -o words words.c && memtop record -o good.mtop -- ./words"], cwd=folder, env=env)
    assert done.returncode == 0, done
    fails_only_with_the_leak(folder, [["bash", "--noprofile", "--norc", "-eo", "pipefail", "step.sh"]],
                             "::error file=words.c,line=3,title=memtop check --max-leaked 0::words")


main()
