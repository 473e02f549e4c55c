#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_diff_cases.py - memtop diff and memtop check --baseline on pairs of real programs: some differ by a known leak,
the others by what must be no finding: runs, noise, lines, moved functions, inlining, compilers, another build. A table
says what each found; one false alarm or one miss fails. make check runs some of the cases, make check-long all."""
import json
import os
import re
import shutil

from cli import memtop
from diffs import PROGRAM, changed
from harness import LONG, Skip, environment, main, recorded, run, temporary_folder, test

EXAMPLES = "/usr/share/doc/{}/examples/"
LEAKED = 900  # bytes of a block that a patched-in leak keeps
RUNS = 3


# --- sources: Debian's examples, changed as the two sides of a case differ

def read(package, name):
    path = EXAMPLES.format(package) + name
    if not os.path.exists(path):
        raise Skip(f"{path} is not installed: apt-get install {package}, without path-exclude for its documentation")
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def leaking(source, function, blocks=50):
    """The source with a leak at the start of a function: some blocks of LEAKED bytes, whatever it is called."""
    body = re.search(rf"^[a-zA-Z][^;{{}}\n]*\b{function}\([^;{{}}]*\)\s*\{{", source, re.M)
    assert body, f"no function {function}"
    leak = f"\n\t{{ extern void *malloc(__SIZE_TYPE__); extern void *leaked[]; extern unsigned leaks; " \
           f"while (leaks < {blocks}) leaked[leaks++] = malloc({LEAKED}); }}\n"
    return source[:body.end()] + leak + source[body.end():] + f"\nvoid *leaked[{blocks}]; unsigned leaks;\n"


def moved(source, function, before):
    """The source with a whole function moved before another one, and everything at other lines."""
    body = re.search(rf"^[a-zA-Z][^;{{}}\n]*\b{function}\([^;{{}}]*\)\s*\{{.*?^\}}\n", source, re.M | re.S)
    rest = source[:body.start()] + source[body.end():]
    target = re.search(rf"^[a-zA-Z][^;{{}}\n]*\b{before}\([^;{{}}]*\)\s*\{{", rest, re.M)
    assert body and target, (function, before)
    return rest[:target.start()] + "\n" * 40 + body[0] + rest[target.start():]


def keeping(source, call):
    """Without a call that frees: what the program holds at its end is compared, too."""
    assert call in source, call
    return source.replace(call, ";")


class Built:
    """A program of C or C++: source, flags, libraries; `folder` has the headers and the input."""

    def __init__(self, source, *flags, arguments=(), package=None, compiler="gcc", name="prog", strip=False):
        self.folder = temporary_folder()
        path = os.path.join(self.folder, name)
        file = path + (".cc" if "++" in compiler else ".c")
        with open(file, "w", encoding="utf-8") as f:
            f.write(source)
        headers = ["-I" + EXAMPLES.format(package)] if package else []
        if not shutil.which(compiler):
            raise Skip(f"{compiler} is not installed")
        done = run([compiler, "-g", "-w", "-Iinclude", *headers, "-o", path, file, *flags])
        assert done.returncode == 0, done.stderr
        if strip:
            assert run(["strip", path]).returncode == 0
        self.command = [path, *arguments]
        self.variables = {}


class Script:
    """A program of the system."""

    def __init__(self, *command, **variables):
        if not os.path.exists(command[0]):
            raise Skip(f"{command[0]} is not installed")
        self.command, self.variables = list(command), variables


def sessions(program, runs):
    """One session for each run. A run's number is in $SEED and in the argument %."""
    paths = []
    for i in range(runs):
        command = [str(next(seeds)) if word == "%" else word for word in program.command]
        paths.append(recorded(*command, env=environment(**program.variables), cwd=temporary_folder()))
    return paths


seeds = iter(range(1, 1000000))


# --- what the two verbs found

class Case:
    """A leak of at least `bytes` whose stacks have `function`; None: no difference. `grows`: the leak makes other call
    paths grow, too (a script's table that holds the leaked objects). `at`: the instant, "@peak". `runs`: of each side.
    `less`: A has the leak. `in_noise`: its call site, which check judges as a whole, has more noise than the leak."""

    def __init__(self, name, make, function=None, bytes=0, runs=1, grows=False, at="", less=False, in_noise=False, quick=False):
        self.name, self.make, self.function, self.bytes, self.runs = name, make, function, bytes, runs
        self.grows, self.at, self.less, self.in_noise, self.quick = grows, at, less, in_noise, quick

    def is_leak(self, stack):
        return any(re.search(self.function, f["function"] or f["module"] or "") for f in stack["frames"])

    def of_diff(self, a, b):
        """(what it says, why it is wrong)"""
        sides = [path + self.at for path in a], [path + self.at for path in b]
        done = memtop("diff", "--format", "json", *sides[0], "--", *sides[1])
        assert done.returncode == 0, done
        d = json.loads(done.stdout)
        stacks = changed(d["stacks"])
        if not self.function:
            rows = [r for rows in (d["owners"], d["sites"], stacks, [d["totals"]]) for r in changed(rows)]
            alone = [s for s in d["stacks"] if s["joined_by"] is None and not s["noise"] and s["kind"] != "same"]
            return "no change" if not rows else f"{len(rows)} changes", ("FALSE ALARM: " + describe(rows)) if rows or alone else ""
        sign = -1 if self.less else 1
        found = [s for s in stacks if self.is_leak(s)]
        grown = sum(s["change"]["live_bytes"] for s in found)
        others = [s for s in stacks if not self.is_leak(s)]
        if self.grows:  # only what became less is a false alarm, of more than a block or two
            others = [s for s in others if sign * s["change"]["live_bytes"] < -4096]
        wrong = f"MISS: {grown:+,.0f} of {self.bytes:,}" if sign * grown < self.bytes else \
            "FALSE ALARM: " + describe(others) if others else ""
        return f"{grown:+,.0f} in {self.function}", wrong

    def of_check(self, a, b):
        done = memtop("check", *(word for path in a for word in ("--baseline", path)), "--format", "json", b[0])
        assert done.returncode in (0, 1), done
        found = [v for v in json.loads(done.stdout)["verdicts"] if not v["passed"]] if done.returncode else []
        where = sorted({v["where"] for v in found})
        if not self.function or self.less or self.in_noise:
            return "passes" if not found else f"{len(found)} findings", ("FALSE ALARM: " + ", ".join(where)) if found else ""
        if self.at:  # the leak is gone at the end: only the peak tells
            return ", ".join(where), "" if "peak" in where else f"MISS: {where}"
        sites = [v for v in found if v["stacks"]]
        named = [v for v in sites if any(self.is_leak(s) for s in v["stacks"])]
        others = [v["where"] for v in sites if v not in named]
        wrong = "MISS" if not named else "FALSE ALARM: " + ", ".join(others) if others and not self.grows else ""
        return ", ".join(v["where"] for v in named)[:40] or "nothing", wrong

    def run(self):
        a, b = self.make()
        a, b = sessions(a, self.runs), sessions(b, self.runs)
        return [*self.of_diff(a, b), *self.of_check(a, b)]


def describe(rows):
    return "; ".join(f"{r['kind']} {r['change']['live_bytes']:+,.0f} "
                     + (r.get("function") or " < ".join(f["function"] or "?" for f in r.get("frames", [])[:6]) or r.get("owner") or "all")
                     for r in rows[:4])


# --- the cases

def text_file(folder, compress):
    """Words in no order, the same each time, large enough for an index of several points."""
    path, state, words = folder + "/input", 1, []
    for _ in range(700000):
        state = (state * 1103515245 + 12345) & 0x7fffffff
        words.append(f"{state >> 12:x}")
    with open(path, "w", encoding="utf-8") as f:
        f.write(" ".join(words))
    if compress:
        assert run(["gzip", "-n", path]).returncode == 0
        return path + ".gz"
    return path


inputs = {}


def input_file(compress=True):
    if compress not in inputs:
        inputs[compress] = text_file(temporary_folder(), compress)
    return inputs[compress]


ZLIB, ZSTD = "zlib1g-dev", "libzstd-dev"


def zran(*flags, change=lambda s: s, **named):
    source = keeping(change(read(ZLIB, "zran.c")), "deflate_index_free(index);")
    return Built(source, "-DTEST", *(flags or ("-O1",)), "-lz", arguments=(input_file(), "1000"), package=ZLIB, **named)


def enough(*flags, change=lambda s: s, **named):
    source = keeping(change(read(ZLIB, "enough.c")), "    cleanup();\n    return 0;")
    return Built(source, *(flags or ("-O1",)), arguments=("60", "8", "12"), package=ZLIB, **named)


def zstd(*flags, change=lambda s: s, **named):
    source = keeping(change(read(ZSTD, "multiple_simple_compression.c")), "freeResources(ress,outFilename);")
    return Built(source, *(flags or ("-O1",)), "-lzstd", arguments=(input_file(False),), package=ZSTD, **named)


def gzjoin(*flags, change=lambda s: s, **named):
    return Built(change(read(ZLIB, "gzjoin.c")), *(flags or ("-O1",)), "-lz", arguments=(input_file(), input_file()), package=ZLIB, **named)


REGEX = r"""
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

struct Rule {
	std::string name;
	std::regex pattern;
};

static std::vector<std::unique_ptr<Rule>> rules;
static std::unordered_map<std::string, std::vector<int>> by_word;
static std::map<int, std::string> texts;

__attribute__((noinline)) void add_rule(const std::string &name, const std::string &pattern)
{
	rules.push_back(std::make_unique<Rule>(Rule{ name, std::regex(pattern) }));
}

__attribute__((noinline)) void index_text(int number, const std::string &text)
{
	static const std::regex word("[a-z]+");
	for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i)
		by_word[i->str()].push_back(number);
	texts[number] = text;
}

#ifdef LEAK
std::vector<std::string *> forgotten;
__attribute__((noinline)) void forget_some(int n)
{
	forgotten.reserve(64);
	for (int i = 0; i < n; i++)
		forgotten.push_back(new std::string(900, 'x'));
}
#endif

int main()
{
	for (int i = 0; i < 20; i++)
		add_rule("rule " + std::to_string(i), "(a|b)*c" + std::to_string(i) + "[x-z]+");
	for (int i = 0; i < 100; i++)
		index_text(i, "some words of a text number " + std::to_string(i) + " that is longer than a short string");
#ifdef LEAK
	forget_some(50);
#endif
	std::quick_exit(0);
}
"""


def regex(*flags, **named):
    return Built(REGEX, *(flags or ("-O1",)), compiler=named.pop("compiler", "g++"), **named)


def own(*flags, **named):
    return Built(PROGRAM, *(flags or ("-O1",)), arguments=("%",), **named)


# bytearray(3000) passes no function that Python 3.14 exports.
PYTHON = """
import collections, json, os, re
kept = [json.loads('{"a": [1, 2, {"b": "c"}]}') for _ in range(300)]
seen = {str(hash(str(i)))[-3:] for i in range(3000)}
names = collections.Counter(re.findall("[a-z]+", "words of a text " * 50))
leaked = [bytearray(1) * 3000 for _ in range(int(os.environ["LEAKS"]))]
os._exit(0)
"""
LUA = """
local kept = {}
for i = 1, 2000 do kept["k" .. i] = { i, tostring(i) } end
for i = 1, %d do kept[i] = string.rep("x", 900) .. i end
os.exit(0, false)
"""
PERL = "my %%h = map { $_ => 'x' x 50 } 1..2000; my @leak = map { 'x' x 900 . $_ } 1..%d; $| = 1; require POSIX; POSIX::_exit(0);"
SQL = "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows}) " \
      "insert into t select i, printf('%.200c', 'x') from n; select count(*) from t;"
AWK = 'BEGIN { for (i = 0; i < 2000; i++) kept[i] = "value " i; for (i = 0; i < %d; i++) leak[i] = sprintf("%%900s", i) }'


def python(leaks=0, seed="0"):
    return Script("/usr/bin/python3", "-c", PYTHON, LEAKS=str(leaks), PYTHONHASHSEED=seed)


def lua(leaks=0):
    return Script("/usr/bin/lua5.4", "-e", LUA % leaks)


def perl(leaks=0, seed="0"):
    return Script("/usr/bin/perl", "-e", PERL % leaks, PERL_HASH_SEED=seed)


def sqlite(rows):
    return Script("/usr/bin/sqlite3", ":memory:", SQL.format(rows=rows))


def awk(leaks=0):
    return Script("/usr/bin/gawk", AWK % leaks)


def leak_in(function, blocks=50):
    return lambda source: leaking(source, function, blocks)


def move(function, before):
    return lambda source: moved(source, function, before)


OTHER = ("-O1", "-Wl,--build-id=uuid")
ALL = 50 * LEAKED
POINT = "add_?point"  # zlib 1.3.1 has renamed addpoint()

CASES = [
    Case("zran: one build, two runs", lambda: (p := zran(), p), quick=True),
    Case("zran: another build, another name", lambda: (zran(), zran(*OTHER, name="renamed")), quick=True),
    Case("zran: no build-id, not position-independent", lambda: (zran(), zran("-O1", "-no-pie", "-Wl,--build-id=none"))),
    Case("zran: a function moved", lambda: (zran(), zran(change=move("deflate_index_extract", "deflate_index_build")))),
    Case("zran: inlining, -O0 to -O2", lambda: (zran("-O0"), zran("-O2")), quick=True),
    Case("zran: inlining, -O3 to -O0", lambda: (zran("-O3"), zran("-O0"))),
    Case("zran: -O2, then without debug information", lambda: (zran("-O2"), zran("-O2", "-g0"))),
    Case("zran: stripped, another build", lambda: (zran("-O1"), zran("-O1", "-Wl,--build-id=uuid", strip=True))),
    Case("zran: gcc, then clang", lambda: (zran("-O1"), zran("-O1", compiler="clang"))),
    Case("zran: a leak", lambda: (zran(), zran(change=leak_in(POINT))), POINT + "|deflate_index_build", ALL, quick=True),
    Case("zran: a leak, moved, -O0 to -O2", lambda: (zran("-O0"), zran("-O2", change=lambda s: move("deflate_index_extract", "deflate_index_build")(
        leak_in(POINT)(s)))), POINT + "|deflate_index_build", ALL),
    Case("zran: a leak mended", lambda: (zran(change=leak_in(POINT)), zran()), POINT + "|deflate_index_build", ALL, less=True),
    Case("enough: inlining and clones, -O1 to -O3", lambda: (enough("-O1"), enough("-O3"))),
    Case("enough: a leak in a recursive function", lambda: (enough(), enough(change=leak_in("been_here"))), "been_here|examine", ALL),
    Case("enough: a leak, -O3 to -O0", lambda: (enough("-O3"), enough("-O0", change=leak_in("been_here"))), "been_here|examine", ALL),
    Case("zstd: another build at -O0 and -O2", lambda: (zstd("-O0"), zstd("-O2"))),
    Case("zstd: a leak of one block", lambda: (zstd(), zstd(change=leak_in("compressFile_orDie", 2))), "compressFile_orDie|main", 2 * LEAKED),
    Case("gzjoin: a function moved", lambda: (gzjoin(), gzjoin(change=move("put4", "bail")))),
    Case("gzjoin: a leak, another build", lambda: (gzjoin(), gzjoin(*OTHER, change=leak_in("bopen"))), "bopen|gzcopy", ALL),
    Case("C++: templates, -O0 to -O2", lambda: (regex("-O0"), regex("-O2"))),
    Case("C++: a leak, -O1 to -O3", lambda: (regex("-O1"), regex("-O3", "-DLEAK")), "forget_some|main", ALL),
    Case("C++: a leak, g++, then clang++", lambda: (regex("-O1"), regex("-O1", "-DLEAK", compiler="clang++")), "forget_some|main", ALL),
    Case("noise of three runs", lambda: (p := own(), p), runs=RUNS, quick=True),
    Case("noise of three runs, a leak below it", lambda: (own(), own("-O1", "-DLEAK=9")), "leaky", 45000, runs=RUNS, in_noise=True),
    Case("noise of three runs, a leak above it", lambda: (own(), own("-O1", "-DLEAK=1000")), "leaky", 5000000, runs=RUNS),
    Case("python3: noise of random hashes", lambda: (p := python(seed="random"), p), runs=RUNS),
    Case("python3: a leak under that noise", lambda: (python(seed="random"), python(100, seed="random")), "bytearray|PyByteArray", 300000,
         runs=RUNS, grows=True),
    Case("python3: a leak", lambda: (python(), python(30)), "bytearray|PyByteArray", 90000, grows=True, quick=True),
    Case("lua: two runs", lambda: (p := lua(), p)),
    Case("lua: a leak", lambda: (lua(), lua(100)), "lua|str", 90000, grows=True),
    Case("perl: noise of random hashes", lambda: (p := perl(seed="random"), p), runs=RUNS),
    Case("perl: a leak", lambda: (perl(), perl(100)), "Perl_|perl", 90000, grows=True),
    Case("sqlite3: two runs", lambda: (p := sqlite(2000), p)),
    Case("sqlite3: more rows, at the peak", lambda: (sqlite(2000), sqlite(4000)), "sqlite3|libsqlite|", 400000, grows=True, at="@peak"),
    Case("gawk: a leak", lambda: (awk(), awk(100)), "gawk", 90000, grows=True),
]


def table(cases):
    wrong = []
    print(f"{'case':44} {'diff':34} {'check --baseline':44}")
    for case in cases:
        try:
            diff, diff_wrong, check, check_wrong = case.run()
        except Skip as why:
            print(f"{case.name:44} skipped: {why}", flush=True)
            continue
        print(f"{case.name:44} {diff[:33]:34} {check[:43]:44} {'ok' if not diff_wrong + check_wrong else ''}", flush=True)
        for verb, text in (("diff", diff_wrong), ("check", check_wrong)):
            if text:
                print(f"    {verb}: {text}", flush=True)
                wrong.append(f"{case.name}: {verb}: {text}")
    assert not wrong, "\n".join(wrong)


@test
def t_no_false_alarm_and_no_miss_in_the_table():
    """No false alarm, no miss."""
    assert len(CASES) >= 30 and len({c.name for c in CASES}) == len(CASES)
    table([c for c in CASES if LONG or c.quick])


if __name__ == "__main__":
    main()
