# SPDX-License-Identifier: MIT
"""workloads.py - programs that run to their end, from Debian's packages with generated inputs.

Inputs are the same each time: no clock, only seeded randomness. `tools` come in addition to memtop
and heaptrack, which every row has; `small` is the same program with less work, for tools a hundred
times slower than the plain run (SLOW). Scripts are files: heaptrack cannot read its own output when
an argument contains a newline. A plain run takes about a second.
"""
import os
from collections import namedtuple

from setting import FOLDER, built, output

# time, cpu and peak: the ratio that memtop must not pass
Workload = namedtuple("Workload", "name command tools small real time cpu peak", defaults=((), None, False, None, None, None))

SLOW = ("heaptrack", "memtop-libunwind")

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


def file(name, pieces):
    """Written piece by piece: nothing large stays in this process."""
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="ascii") as f:
        for piece in pieces:
            f.write(piece)
    return path


def everything():
    cc1 = output(["gcc", "-print-prog-name=cc1"]).strip()
    cc1plus = [output(["g++", "-print-prog-name=cc1plus"]).strip(), "-quiet", "-D_GNU_SOURCE", "-imultiarch",
               output(["g++", "-print-multiarch"]).strip(), "-std=c++17", "-O1", "-o", "/dev/null"]
    clang = ["/usr/bin/clang++", "-std=c++17", "-O1", "-c", "-o", "/dev/null"]
    thirty = file("thirty.cc", cxx_source())
    most = ("forward", "memtop-viewer", "memtop-sampled", "memtop-caller", "memtop-fp", "memtop-instrument", "capture")
    real = [
        ("sqlite", ["/usr/bin/sqlite3", ":memory:", ".read " + file("script.sql", [SQL])], ("forward",)),
        ("python", ["/usr/bin/python3", "-S", file("script.py", [PYTHON])], ("forward", "memtop-sampled")),
        ("cc1", [cc1, "-quiet", "-O0", "-fpreprocessed", "-o", "/dev/null", file("large.i", c_source())], ("forward",)),
        ("lua", ["/usr/bin/lua5.4", file("script.lua", [LUA])], most),
        ("perl", ["/usr/bin/perl", file("script.pl", [PERL])], ("forward", "memtop-viewer")),
        ("jq", ["/usr/bin/jq", "-c", "map(.at.x + .id) | add", file("data.json", json_data())], ("forward", "memtop-sampled")),
    ]
    rows = [Workload(name, command, tools, real=True, time=1.20, peak=1.25) for name, command, tools in real]
    rows += [
        Workload("clang++", [*clang, thirty], ("forward",), cpu=1.25, peak=1.20),
        Workload("cc1plus", [*cc1plus, thirty], ("forward",)),
        Workload("trees", [built("trees")], ("forward",), small=[built("trees"), "1"], cpu=2.0),
        Workload("many-live", [built("many_live")], ("forward", "memtop-viewer"), time=1.30, peak=1.25),
        Workload("storm", [built("storm"), "1500"], ("forward", "memtop-viewer")),
        Workload("paths", [built("paths"), "20"], ("forward", "capture", "memtop-libunwind"), small=[built("paths"), "1"]),
        Workload("threads", [built("threads"), "10000"], ("forward",)),
    ]
    for depth in (10, 30):
        for threads in (1, 2, 4, 10, 200):
            tree = [built("calltree"), "10000000", str(depth), str(threads)]
            tools = ("forward", "capture") if threads == 2 else ()
            rows.append(Workload(f"tree-d{depth}-t{threads}", tree, tools, small=[tree[0], "1000000", *tree[2:]]))
    return rows
