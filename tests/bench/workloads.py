# SPDX-License-Identifier: MIT
"""workloads.py - programs that run to their end, from Debian's packages with generated inputs.

Inputs are the same each time: no clock, only seeded randomness; they are made when a row asks for its command.
`tools` come in addition to memtop and heaptrack, which every row has; `small` is the same program with less work, for
tools a hundred times slower than the plain run (SLOW). Scripts are files: heaptrack cannot read its own output when an
argument contains a newline. Compilers write to their output, so that what they make can be compared. A plain run takes
about a second.
"""
import functools
import os
import subprocess

from setting import FOLDER, PLAIN, Failed, built, output

SLOW = ("heaptrack", "memtop-libunwind")


class Workload:
    """`run` and `small` are functions, for what they make takes time; `real`: one of the six."""

    def __init__(self, name, what, run, tools=(), package=None, program=None, small=None, real=False):
        self.name, self.what, self.tools, self.real = name, what, tools, real
        self.package, self.program, self._run, self._small = package, program, run, small

    @functools.cached_property
    def command(self):
        return self._run()

    @functools.cached_property
    def small(self):
        return self._small() if self._small else self.command

    def missing(self):
        """None, or what is not installed."""
        if self.program and not os.access(self.program, os.X_OK):
            return f"not installed: {self.package}"
        return None


LUA = """local t = {}
for i = 1, 450000 do t[i % 50000 + 1] = {i, {n = 'k' .. i}, tostring(i * 7)} end
print(#t)"""

PERL = """my %h;
for my $i (1..900000) { push @{$h{$i % 30011}}, 'v' . $i; $h{'n' . $i % 9973} = [$i] }
print scalar(keys %h), "\\n";"""

PYTHON = """import json, re, collections
class Item:
    def __init__(self, n):
        self.name, self.values, self.more = 'item %d' % n, [n * k for k in range(5)], {'n': n, 't': str(n)}
items, words = {}, collections.Counter()
for i in range(60000):
    items[i % 20000] = Item(i)
    if i % 7 == 0:
        words.update(re.split('[ ,]', 'so %d and so, on %d' % (i % 997, i % 89)))
text = json.dumps([[x.name, x.values, x.more] for x in items.values()])
print(len(json.loads(text)), len(words), len(sorted(items.values(), key=lambda x: x.name)))"""

SQL = """CREATE TABLE a(id INTEGER PRIMARY KEY, name TEXT, n INTEGER);
CREATE TABLE b(id INTEGER PRIMARY KEY, a INTEGER, t TEXT);
BEGIN;
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 150000)
  INSERT INTO a SELECT i, 'name ' || (i * 7919 % 100003), i % 997 FROM c;
INSERT INTO b SELECT id, id * 31 % 150000, name || ' ' || n || ' and more of it' FROM a;
COMMIT;
CREATE INDEX ai ON a(name); CREATE INDEX bi ON b(a);
SELECT count(*), sum(length(t)) FROM a JOIN b ON b.a = a.id WHERE a.n < 500;
SELECT n, group_concat(substr(name, 6, 3)), count(*) FROM a GROUP BY n ORDER BY 3 DESC, 1 LIMIT 5;
UPDATE a SET name = upper(name) || n WHERE id % 3 = 0;
"""

SUBSHELLS = "for ((i = 0; i < 2000; i++)); do (:); done; echo $i"
STARTS = "for ((i = 0; i < 1000; i++)); do /bin/true; done; echo $i"

GAWK = """BEGIN {
	for (i = 1; i <= 400000; i++) {
		key = "k" (i * 7919 % 50021)
		text[key] = text[key] " item " i
		n = split(sprintf("%d,%s,%d", i, key, i % 97), part, ",")
		seen[part[3], n]++
		if (length(text[key]) > 60)
			delete text[key]
	}
	for (key in text)
		total += length(text[key])
	print length(text), length(seen), total
}
"""

NODE = """const zlib = require('zlib'), crypto = require('crypto');
const items = [], words = new Map();
for (let i = 0; i < 100000; i++)
	items.push({ id: i, name: 'item ' + i, tags: ['a' + i % 97, 'b'], at: { x: i % 1000 } });
const text = JSON.stringify(items);
for (const item of JSON.parse(text))
	for (const tag of item.tags)
		words.set(tag + item.at.x, (words.get(tag + item.at.x) || 0) + 1);
let sum = 0;
for (let i = 0; i < 4000; i++) {
	const packed = zlib.deflateSync(Buffer.from(text.slice(i * 700, i * 700 + 4000)));
	sum += zlib.inflateSync(packed).length + crypto.createHash('sha256').update(packed).digest()[0];
}
console.log(text.length, words.size, sum);
"""

HEADERS = """algorithm any array bitset chrono complex deque fstream functional future iomanip iostream iterator list map
memory mutex numeric optional queue random regex set sstream string thread tuple unordered_map variant vector"""

CXX = """int main()
{
	std::map<std::string, std::vector<int>> m;
	std::unordered_map<int, std::string> u{ { 1, "one" } };
	std::variant<int, std::string> v = 1;
	std::any a = 1;
	std::function<int(int)> f = [](int x) { return x + 1; };
	for (int i = 0; i < 10; i++)
		m[std::to_string(i)].push_back(i);
	std::cout << m.size() << std::regex_match("abc", std::regex("a+(b|c)*")) << std::get<int>(v) << u.size();
	return f(std::any_cast<int>(a)) == 2 ? 0 : 1;
}
"""


def cxx_source():
    """A small C++ file with thirty standard headers: nearly every block of its compiler has a stack of its own."""
    yield from (f"#include <{name}>\n" for name in HEADERS.split())
    yield CXX


def c_source():
    """A large C file without a header; every function is unlike the others."""
    for i in range(600):
        yield f"struct s{i} {{ int a, b[{i % 13 + 1}]; const char *t; struct s{i} *next; }};\n"
        yield f"static int f{i}(struct s{i} *s, int n)\n{{\n\tint r = n * {i % 97 + 3}, k;\n"
        for j in range(i % 7 + 3):
            yield (f"\tfor (k = {j}; k < n; k++) {{ r += s->b[(k + {i}) % {i % 13 + 1}] ^ (s->a << {j % 5});"
                   f" if (r > {i * j + 11}) r -= k * {j + 1}; else s->t = \"text {i} of {j}\"; }}\n")
        yield "\twhile (s->next && r < n) { s = s->next; r += s->a; }\n\tswitch (r & 7) {\n"
        for j in range(i % 5 + 1):
            yield f"\tcase {j}: return r / {j + 1} + (int)sizeof(struct s{i});\n"
        yield "\t}\n\treturn r;\n}\n"
    yield "int all(int n)\n{\n\tint r = 0;\n"
    for i in range(0, 600, 3):
        yield f"\t{{ struct s{i} v = {{ n, {{ {i} }}, \"t{i}\", 0 }}; r += f{i}(&v, n); }}\n"
    yield "\treturn r;\n}\n"


def json_data():
    for i in range(180000):
        yield '%s{"id":%d,"name":"item %d","tags":["a%d","b","c"],"at":{"x":%d,"y":%d.5}}' % (
            "," if i else "[", i, i, i % 97, i % 1000, i % 777)
    yield "]"


def log_lines():
    """Text to search: each line has a few words of many."""
    state = 1
    for i in range(220000):
        state = (state * 1103515245 + 12345) & 0x7fffffff
        yield f"{i} word{state % 9973} of line{state >> 7 & 4095}: {state * 31 % 100003} and term{state % 5003}\n"


def wanted():
    """What is searched for: most of it is nowhere."""
    for i in range(200000):
        yield f"word{i}\nline{i}:\n"


COMMITS, LINES = 500, 2500


def history():
    """A file of many lines, some of them changed in each commit, for git fast-import."""
    state, lines = 1, [f"line {i} as it was at first, with some words in it" for i in range(LINES)]
    yield "blob\nmark :1\ndata 0\n\n"
    for commit in range(COMMITS):
        for _ in range(12):
            state = (state * 1103515245 + 12345) & 0x7fffffff
            at = state % len(lines)
            if state >> 16 & 3:
                lines[at] = f"line {at} as commit {commit} has it, number {state % 100003}"
            else:
                lines.insert(at, f"a line that commit {commit} has put here, number {state % 100003}")
        said, text = f"commit {commit}\n", "\n".join(lines) + "\n"
        yield (f"commit refs/heads/main\ncommitter Somebody <somebody@example.org> {1700000000 + commit * 3600} +0000\n"
               f"data {len(said)}\n{said}M 100644 inline text\ndata {len(text)}\n{text}\n")


def file(name, pieces):
    """Written piece by piece: nothing large stays in this process."""
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="ascii") as f:
        for piece in pieces:
            f.write(piece)
    return path


def repository():
    path, stream = os.path.join(FOLDER, "history.git"), file("history", history())
    git = ["/usr/bin/git", "--git-dir", path]
    output([*git, "init", "-q", "--bare"])
    with open(stream, "rb") as f:
        done = subprocess.run([*git, "fast-import", "--quiet"], env=PLAIN, stdin=f, capture_output=True, text=True, check=False)
    os.unlink(stream)
    if done.returncode:
        raise Failed(f"git fast-import: {done.stderr[-300:]}")
    return git


def cc1():
    return [output(["gcc", "-print-prog-name=cc1"]).strip(), "-quiet", "-O0", "-fpreprocessed", "-o", "/dev/stdout",
            file("large.i", c_source())]


def cc1plus():
    return [output(["g++", "-print-prog-name=cc1plus"]).strip(), "-quiet", "-D_GNU_SOURCE", "-imultiarch",
            output(["g++", "-print-multiarch"]).strip(), "-std=c++17", "-O1", "-o", "/dev/stdout", file("thirty.cc", cxx_source())]


def clang():
    return ["/usr/bin/clang++", "-std=c++17", "-O1", "-c", "-o", "-", file("thirty.cc", cxx_source())]


def packaged(name, package, what, arguments, tools=("forward",), program=None, real=False):
    """A program of a package, in /usr/bin; arguments is a function."""
    path = f"/usr/bin/{program or name}"
    return Workload(name, what, lambda: [path, *arguments()], tools, package, path, real=real)


def made(name, what, *arguments, tools=("forward",), program=None, small=None):
    """A program of tests/bench/programs; small: its other arguments for SLOW tools."""
    path = built(program or name)
    return Workload(name, what, lambda: [path, *arguments], tools, small=small and (lambda: [path, *small]))


def trees():
    for depth in (10, 30):
        for threads in (1, 2, 10, 200):
            yield made(f"tree-d{depth}-t{threads}", f"a call tree of depth {depth}, {threads} threads", "10000000", str(depth),
                       str(threads), program="calltree", small=("1000000", str(depth), str(threads)),
                       tools=("forward", "capture") if threads == 2 else ())


def everything():
    most = ("memtop-sampled", "forward", "memtop-viewer", "memtop-caller", "memtop-fp", "memtop-instrument", "capture")
    two = ("memtop-sampled", "forward")
    return [
        packaged("sqlite", "sqlite3", "SQL on tables in memory", lambda: [":memory:", ".read " + file("script.sql", [SQL])], two,
                 "sqlite3", real=True),
        packaged("python", "python3", "objects, JSON and texts, PYTHONMALLOC=malloc", lambda: ["-S", file("script.py", [PYTHON])],
                 two, "python3", real=True),
        Workload("cc1", "gcc's compiler, a large C file", cc1, two, "gcc", "/usr/bin/gcc", real=True),
        packaged("lua", "lua5.4", "tables and strings", lambda: [file("script.lua", [LUA])], most, "lua5.4", real=True),
        packaged("perl", "perl", "hashes and arrays", lambda: [file("script.pl", [PERL])], (*two, "memtop-viewer"), real=True),
        packaged("jq", "jq", "13 MB of JSON", lambda: ["-c", "map(.at.x + .id) | add", file("data.json", json_data())], two,
                 real=True),
        Workload("clang++", "-O1, thirty standard headers", clang, ("forward",), "clang", "/usr/bin/clang++"),
        Workload("cc1plus", "g++'s compiler, the same file", cc1plus, (), "g++", "/usr/bin/g++"),
        packaged("gawk", "gawk", "arrays and strings", lambda: ["-f", file("script.awk", [GAWK])], ()),
        packaged("ripgrep", "ripgrep", "in Rust: 400,000 texts are looked for in 220,000 lines, one thread",
                 lambda: ["--no-config", "-j1", "-n", "-o", "-F", "-f", file("wanted", wanted()), file("lines", log_lines())], (), "rg"),
        packaged("node", "nodejs", "JavaScript: JSON, deflate, digests", lambda: [file("script.js", [NODE])], ()),
        Workload("git-blame", f"a file of {COMMITS} commits", lambda: [*repository(), "blame", "main", "--", "text"], (), "git",
                 "/usr/bin/git"),
        made("trees", "C++: trees of 131,071 nodes, each allocated at its own call path", small=("1",)),
        made("many-live", "five million live blocks, freed at random", tools=("forward", "memtop-viewer"), program="many_live"),
        made("storm", "C++: strings, maps, shared pointers", "1500", tools=("memtop-viewer",)),
        made("paths", "131,071 blocks, each at a new call path, and nothing else", "20", small=("1",),
             tools=("capture", "memtop-libunwind")),
        made("threads", "10,000 threads, one after the other", "10000", tools=()),
        made("forks", "4,000 forks of a C program with 200 blocks", "4000", tools=()),
        Workload("subshells", "bash: 2,000 subshells", lambda: ["/bin/bash", "-c", SUBSHELLS], (), "bash", "/bin/bash"),
        Workload("starts", "bash: 1,000 starts of /bin/true", lambda: ["/bin/bash", "-c", STARTS], (), "bash", "/bin/bash"),
        *trees(),
    ]
