#!/usr/bin/env -S PYTHONPATH=tests/lib /usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_names.py - functions' names on a screen: two functions never read the same."""
import re

from harness import MEMTOP, main, need, recorded, run, temporary_folder, test
from term import Terminal

PROGRAM = """
#include <cstdlib>
#include <cstring>
#include <unistd.h>
void *kept[64];
static int count;
namespace program { namespace cache_of_everything {
template<class K, class V> struct Cache { __attribute__((noinline)) void put(int n) { memset(kept[count++] = malloc(n), 1, n); } };
__attribute__((noinline)) void encode(int) { memset(kept[count++] = malloc(50000), 1, 50000); }
__attribute__((noinline)) void encode(char const *) { memset(kept[count++] = malloc(60000), 1, 60000); }
} }
using namespace program::cache_of_everything;
int main()
{
	Cache<int, char> a;
	Cache<int, double> b;
	Cache<char, double> c;
	a.put(10000), b.put(20000), c.put(30000);
	encode(1), encode("");
	return count == 0;
}
"""


def session():
    need("g++")
    folder = temporary_folder()
    with open(folder + "/names.cc", "w", encoding="ascii") as f:
        f.write(PROGRAM)
    assert run(["g++", "-g", "-O1", "-o", folder + "/names", folder + "/names.cc"]).returncode == 0
    return recorded(folder + "/names")


ROW = re.compile(r"((?:[\w…]+(?:<[^>]*>)?::)*)(put|encode)(\([^)]*\))?(#\w+)?(?= )")


def names(lines):
    return [m.group().strip() for m in (ROW.search(line[20:]) for line in lines[4:]) if m]


@test
def t_each_instance_of_a_template_reads_different():
    path = session()
    for width in (80, 120, 200):
        with Terminal([MEMTOP, "open", path], width, 30) as t:
            t.wait_for("1 Over")
            for keys in (("3",), ("2", "g", "*")):
                t.keys(*keys)
                shown = t.wait_for(lambda lines: (found := names(lines)) and len(found) == 5 and found, 10, f"five functions after {keys}")
                assert len(set(shown)) == 5, shown
                if width == 200:
                    assert "program::cache_of_everything::Cache<int, double>::put" in shown, shown
                    assert "program::cache_of_everything::encode(char const*)" in shown, shown


if __name__ == "__main__":
    main()
