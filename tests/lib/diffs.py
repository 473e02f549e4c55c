# SPDX-License-Identifier: MIT
"""diffs.py - programs that differ by a known change, their sessions, and what a diff of them found."""
import os

from harness import recorded, run, temporary_folder

# Defined when compiled: LEAK, LESS; MOVED puts the functions into another order, at other lines.
PROGRAM = r"""
#include <memtop/memtop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone, noipa))
void *kept[4096];
unsigned count;
static unsigned seed = 1;

static unsigned by_chance(unsigned below)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % below;
}

static inline char *fill(char *p, size_t n)
{
	memset(p, 1, n);
	return p;
}

static inline char *make(size_t n)
{
	char *p = malloc(n);
	return fill(p, n);
}

#ifdef MOVED
APART void leaky(void);
APART void cache(int noise);
APART void work(int noise)
{
	for (int i = 0; i < 100; i++) {
		char *p = make(64 + (noise ? by_chance(9999) : 0));
		if (*p)
			free(p);
	}
	cache(noise);
	leaky();
	*(volatile unsigned *)&count += 0;
}
#endif

APART void cache(int noise)
{
	for (int i = 0; i < 10; i++)
		kept[count++] = make(1000 + (noise ? by_chance(100000) : 0));
#ifndef LESS
	for (int i = 0; i < 3; i++)
		kept[count++] = make(3000);
#endif
	memtop_mark("cached");
}

APART void leaky(void)
{
#ifdef LEAK
	for (int i = 0; i < LEAK; i++)
		kept[count++] = make(5000);
#endif
	*(volatile unsigned *)&count += 0;
}

#ifndef MOVED
APART void work(int noise)
{
	for (int i = 0; i < 100; i++) {
		char *p = make(64 + (noise ? by_chance(9999) : 0));
		if (*p)
			free(p);
	}
	cache(noise);
	leaky();
	*(volatile unsigned *)&count += 0;
}
#endif

int main(int argc, char **argv)
{
	if (argc > 1)
		seed = (unsigned)atoi(argv[1]);
	work(argc > 1);
	kept[count++] = make(777);
	memtop_mark("end-of-work");
	return 0;
}
"""

TEMPLATES = r"""
#include <map>
#include <string>
#include <vector>

template <typename T> struct Pool {
	std::vector<T *> list;
	template <typename F> __attribute__((noinline)) void each(int n, F make)
	{
		for (int i = 0; i < n; i++)
			list.push_back(make(i));
	}
};

static __attribute__((noinline)) std::string *text(int n, int times)
{
	auto *s = new std::string(n * 100 + 50, 'x');
	for (int i = 0; i < times; i++)
		s->append("y");
	return s;
}

int main()
{
	static Pool<std::string> pool;
	static std::map<int, std::string> names;
	pool.list.reserve(64);
	pool.each(20, [](int i) { return text(i, 3); });
	for (int i = 0; i < 30; i++)
		names[i] = std::string(200, 'z');
#ifdef LEAK
	pool.each(5, [](int i) { return text(i + 100, 3); });
#endif
	return 0;
}
"""


def build(*flags, source=PROGRAM, name="prog", compiler="gcc"):
    folder = temporary_folder()
    path, file = os.path.join(folder, name), os.path.join(folder, name + (".cc" if compiler == "g++" else ".c"))
    with open(file, "w", encoding="utf-8") as f:
        f.write(source)
    done = run([compiler, "-g", "-Iinclude", "-o", path, file, *flags])
    assert done.returncode == 0, done.stderr
    return path


def one_session(*flags, **named):
    return recorded(build(*flags, **named))


def changed(rows):
    return [row for row in rows if row["kind"] != "same" and not row["noise"]]
