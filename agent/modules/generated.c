/* SPDX-License-Identifier: MIT
 *
 * generated.c - the executable ranges of memory, as the server last read them in /proc/self/maps
 * (proc(5)).
 *
 * Hooks look up return addresses outside every module (unwind/fp_evidence.c), and open no file. So
 * the server reads the list once a second while hooks use it. It writes the ranges into a table, by
 * address, and joins neighbours of one kind. It writes two tables in turn. A reader that sleeps
 * until its table is written again sees the table's number change, and answers UNKNOWN.
 */
#include "modules/generated.h"
#include "base/arena.h"
#include "base/msg.h"
#include "base/prim_linux.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#define RANGES 4096u /* what lies further up is unknown */
#define EXECUTABLE ((uintptr_t)1)

struct range {
	_Atomic uintptr_t start, end; /* start: with EXECUTABLE */
};

struct table {
	_Atomic uint32_t xnumber; /* odd while it is written */
	_Atomic uint32_t count;
	struct range at[RANGES];
};

static struct table *_Atomic xcurrent;
static struct table *tables; /* two; server only */

static uintptr_t get(const _Atomic uintptr_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static enum runs search(const struct table *t, uintptr_t addr)
{
	uint32_t from = 0, to = atomic_load_explicit(&t->count, memory_order_relaxed);

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		if (get(&t->at[middle].end) <= addr)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == RANGES || from >= atomic_load_explicit(&t->count, memory_order_relaxed) ||
	    (get(&t->at[from].start) & ~EXECUTABLE) > addr)
		return RUNS_UNKNOWN;
	return get(&t->at[from].start) & EXECUTABLE ? RUNS_YES : RUNS_NOT;
}

enum runs mt_generated_runs(uintptr_t addr)
{
	const struct table *t = atomic_load_explicit(&xcurrent, memory_order_acquire);

	if (!t)
		return RUNS_UNKNOWN;
	uint32_t number = atomic_load_explicit(&t->xnumber, memory_order_acquire);
	enum runs runs = search(t, addr);
	atomic_thread_fence(memory_order_acquire);
	return number & 1 || number != atomic_load_explicit(&t->xnumber, memory_order_relaxed)
		       ? RUNS_UNKNOWN
		       : runs;
}

/* "start-end rwxp ...". false: the table is full. */
static bool add_line(struct table *t, const char *line)
{
	uint32_t n = atomic_load_explicit(&t->count, memory_order_relaxed);
	uintptr_t start = mt_hex(&line), end, kind;

	line += *line == '-';
	end = mt_hex(&line);
	if (strnlen(line, 4) < 4)
		return true;
	kind = line[3] == 'x' ? EXECUTABLE : 0;
	if (n && get(&t->at[n - 1].end) == start &&
	    (get(&t->at[n - 1].start) & EXECUTABLE) == kind) {
		atomic_store_explicit(&t->at[n - 1].end, end, memory_order_relaxed);
		return true;
	}
	if (n == RANGES)
		return false;
	atomic_store_explicit(&t->at[n].start, start | kind, memory_order_relaxed);
	atomic_store_explicit(&t->at[n].end, end, memory_order_relaxed);
	atomic_store_explicit(&t->count, n + 1, memory_order_relaxed);
	return true;
}

/* Lines are read in pieces; of one longer than the buffer only the path is cut, which is not
 * needed. */
static void read_lines(struct table *t, long fd)
{
	char text[8192];
	size_t have = 0;
	bool room = true, cut = false;

	while (room) {
		long got = mt_prim_call(SYS_read, fd, (long)(text + have),
					(long)(sizeof(text) - 1 - have), 0, 0, 0);
		if (got <= 0)
			break;
		have += (size_t)got;
		text[have] = 0;
		char *line = text, *end;
		for (; room && (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			room = cut || add_line(t, line);
			cut = false;
		}
		have = (size_t)(text + have - line);
		memmove(text, line, have);
		if (have == sizeof(text) - 1) {
			room = cut || add_line(t, text);
			cut = true;
			have = 0;
		}
	}
}

void mt_generated_look(void)
{
	if (!tables) {
		tables = mt_prim_map(2 * sizeof(*tables), false);
		if (!tables)
			return;
		mt_arena_range((uintptr_t)tables, 2 * sizeof(*tables), PART_SERVER);
	}
	struct table *t = atomic_load_explicit(&xcurrent, memory_order_relaxed) == tables
				  ? tables + 1
				  : tables;
	long fd = mt_prim_call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC,
			       0, 0, 0);
	if (fd < 0)
		return;
	atomic_fetch_add_explicit(&t->xnumber, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&t->count, 0, memory_order_relaxed);
	read_lines(t, fd);
	atomic_fetch_add_explicit(&t->xnumber, 1, memory_order_release);
	atomic_store_explicit(&xcurrent, t, memory_order_release);
	mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
}
