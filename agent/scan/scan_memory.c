/* SPDX-License-Identifier: MIT
 *
 * scan_memory.c - divides the process's resident memory into its parts, at a viewer's request.
 *
 * /proc/PID/smaps says how much of each mapping is resident (proc(5)). The live map says which
 * mappings contain blocks and how much of those is live. The allocator owns the brk heap, glibc's
 * arenas (64 MiB, aligned to that: malloc/arena.c, HEAP_MAX_SIZE) and every mapping without a file
 * that contains blocks. The part of them that is resident and not live is the allocator's free
 * lists and its own data. If a mapping contains only blocks on pages of their own (glibc's mmap
 * threshold), only those pages count as the allocator's: the kernel may have joined it with one of
 * the program's. So the parts add up to all resident memory for any allocator, without a call of
 * its functions. Those would take locks that the program's threads hold, and mallinfo2() walks
 * every free chunk under one.
 *
 * A block of which only some pages were ever touched counts with those (mincore(2)). Counters go on
 * meanwhile, so the parts cover the walk's duration. A sampled block counts for the blocks that it
 * stands for.
 */
#include "scan/scan_memory.h"
#include "base/arena.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/thread_list.h"
#include "collect/walk_pause.h"
#include "collect/memory.h"
#include "collect/proc.h"
#include "collect/server.h"
#include "live/live_fast.h"
#include "live/scan.h"
#include "modules/maps.h"
#include "modules/segments.h"
#include "record/filter.h"
#include "record/heaps.h"

#include <memtop/wire.h>
#include <sys/syscall.h>

#define REGIONS_FIRST 1024u
#define REGIONS_MAX 131072u /* twice what the kernel allows by default (vm.max_map_count) */
#define NAMES_MAX 192u      /* files that are told apart */
#define NAME_BYTES 200u     /* the end of a longer path */
#define ARENA_BYTES ((uintptr_t)64 << 20)
#define GLIBC_GRANULE 32u
#define WINDOW_PAGES 4096u
#define LINE_STEPS 16u              /* a line costs as much as so many blocks */
#define OWN_PAGES_LEAST (64u << 10) /* half of M_MMAP_THRESHOLD's default */

struct region {
	uintptr_t start, end;
	uint64_t resident, chunks; /* chunks: resident in pages of single blocks */
	uint64_t live, rounding;   /* of the blocks in it */
	uint8_t what;              /* enum mtw_memory */
	bool writable;
	uint16_t name; /* index in walk.name, 0 = "" */
};

struct share {
	uint64_t resident, mappings;
};

struct name {
	char text[NAME_BYTES];
	uint8_t what;
	struct share part;
};

struct walk {
	struct server *s;
	struct region *region; /* by address */
	uint32_t count, room, last;
	struct walk_pause pause;
	bool glibc;
	bool reported; /* blocks of named heaps: malloc's sizes and limits are not theirs */
	bool weighed;  /* some blocks stand for others, which may lie elsewhere */
	bool final;    /* the program had ended when it began: nothing moves */
	uint32_t names;
	struct name name[NAMES_MAX + 1];
	struct share part[MTW_MEMORY_COUNT];
	/* pages of a mapping that is not all resident */
	uintptr_t window, window_end; /* addresses; 0 = none */
	unsigned char there[WINDOW_PAGES];
	/* smaps, line by line */
	long fd;
	size_t at, end;
	char text[16384], line[1024];
};

/* A longer line is cut within its path, never before it. False: at the end. */
static bool next_line(struct walk *w)
{
	size_t n = 0;

	for (;;) {
		if (w->at == w->end) {
			long got = mt_prim_call(SYS_read, w->fd, (long)w->text, sizeof(w->text), 0,
						0, 0);
			if (got <= 0)
				break;
			w->at = 0;
			w->end = (size_t)got;
		}
		char c = w->text[w->at++];
		if (c == '\n') {
			w->line[n] = 0;
			return true;
		}
		if (n + 1 < sizeof(w->line))
			w->line[n++] = c;
	}
	w->line[n] = 0;
	return n > 0;
}

static uint64_t number(const char *p)
{
	uint64_t v = 0;

	for (p += strspn(p, " \t"); *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	return v;
}

static bool add_region(struct walk *w, struct region r)
{
	if (w->count == w->room) {
		uint32_t room = w->room ? w->room * 2 : REGIONS_FIRST;
		struct region *more = room <= REGIONS_MAX ? memory_map(room * sizeof(*more)) : NULL;
		if (!more)
			return false;
		if (w->count)
			memcpy(more, w->region, w->count * sizeof(*more));
		memory_unmap(w->region, w->room * sizeof(*more));
		w->region = more;
		w->room = room;
	}
	w->region[w->count++] = r;
	return true;
}

/* Mappings of one file mostly follow each other. */
static uint16_t name_of(struct walk *w, const char *path, uint8_t what)
{
	size_t len = strlen(path);

	if (len >= NAME_BYTES)
		path += len - NAME_BYTES + 1;
	for (uint32_t i = w->names; i > 0; i--)
		if (w->name[i].what == what && !strcmp(w->name[i].text, path))
			return (uint16_t)i;
	if (w->names == NAMES_MAX)
		return 0;
	struct name *n = &w->name[++w->names];
	mt_format(n->text, sizeof(n->text), "%s", path);
	for (char *c = n->text; *c; c++)
		if ((unsigned char)*c < 32 || *c == 127)
			*c = '?';
	n->what = what;
	return (uint16_t)w->names;
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* Its library; a program that has it linked in is the program. */
static bool of_the_agent(uintptr_t start, uintptr_t end)
{
	for (uint32_t i = 0; i < mt_maps_count(); i++) {
		const struct module *m = mt_maps_module(i);
		uint32_t flags = m ? atomic_load(&m->xflags) : 0;
		if (flags & MTW_MODULE_AGENT && !(flags & MTW_MODULE_MAIN) &&
		    mt_maps_overlaps(m, start, end))
			return true;
	}
	return false;
}

static bool is_shared_memory(const char *path, bool shared)
{
	return starts(path, "/memfd:") || starts(path, "/dev/shm/") || starts(path, "/SYSV") ||
	       starts(path, "/dev/zero") || (shared && path[0] != '/');
}

/* By the head of its entry: "start-end perms offset dev inode   path". A name in [anon:] says
 * nothing of whose it is. */
static struct region classify(struct walk *w, const char *line)
{
	const struct region *before = w->count ? &w->region[w->count - 1] : NULL;
	const char *at = line, *path;
	struct region r = { .what = MTW_MEMORY_OTHER };

	r.start = mt_hex(&at);
	at += *at == '-';
	r.end = mt_hex(&at);
	bool shared = at[0] && at[4] == 's';
	r.writable = at[0] && at[2] == 'w';
	path = at;
	for (int field = 0; field < 4 && path; field++)
		path = strchr(path + 1, ' ');
	path = path ? path + strspn(path, " ") : "";
	if (starts(path, "[anon:"))
		path = "";
	if (starts(path, "[heap]"))
		r.what = MTW_MEMORY_FREE;
	else if (starts(path, "[stack]"))
		r.what = MTW_MEMORY_STACK;
	else if (is_shared_memory(path, shared))
		r.what = MTW_MEMORY_SHARED;
	else if (mt_arena_owns(r.start, r.end) || memory_owns(r.start, r.end) ||
		 of_the_agent(r.start, r.end))
		r.what = MTW_MEMORY_AGENT;
	else if (path[0] == '/' || starts(path, "[v"))
		r.what = MTW_MEMORY_FILE;
	if (r.what == MTW_MEMORY_FILE || r.what == MTW_MEMORY_SHARED)
		r.name = name_of(w, path, r.what);
	if (r.what == MTW_MEMORY_OTHER && r.writable && before && before->end == r.start &&
	    before->writable && before->what == MTW_MEMORY_FILE) { /* its .bss */
		r.what = MTW_MEMORY_FILE;
		r.name = before->name;
	}
	return r;
}

/* A glibc arena: the part in use, then the reserve up to 64 MiB. */
static void note_arena(struct walk *w, const struct region *reserved)
{
	struct region *r = w->count ? &w->region[w->count - 1] : NULL;

	if (w->glibc && r && r->what == MTW_MEMORY_OTHER && r->start % ARENA_BYTES == 0 &&
	    r->end == reserved->start && reserved->end - r->start == ARENA_BYTES)
		r->what = MTW_MEMORY_FREE;
}

static bool read_regions(struct walk *w)
{
	struct region r = { 0 };
	bool good = true;

	w->fd = proc_open(PROC_SELF, "smaps");
	if (w->fd < 0)
		return false;
	while (good && next_line(w)) {
		char c = w->line[0];
		walk_pause_take(w->s, &w->pause, LINE_STEPS);
		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')) {
			r = classify(w, w->line);
		} else if (starts(w->line, "Rss:") && r.end) {
			r.resident = number(w->line + 4) * 1024;
			if (!r.resident)
				note_arena(w, &r);
			else
				good = add_region(w, r);
			r.end = 0;
		}
	}
	proc_close(w->fd);
	return good && w->count;
}

/* The first that ends behind addr; walk.count = none. */
static uint32_t region_at(struct walk *w, uintptr_t addr)
{
	uint32_t low = 0, high = w->count;

	if (w->last < w->count && addr >= w->region[w->last].start && addr < w->region[w->last].end)
		return w->last;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (addr >= w->region[mid].end)
			low = mid + 1;
		else
			high = mid;
	}
	return w->last = low;
}

static void look(struct walk *w, const struct region *r, uintptr_t from)
{
	size_t page = mt_prim_page_bytes(), most = WINDOW_PAGES * page;

	walk_pause_take(w->s, &w->pause, WINDOW_PAGES);
	w->window = from & ~(page - 1);
	w->window_end = r->end - w->window < most ? r->end : w->window + most;
	memset(w->there, 0, sizeof(w->there));
	mt_prim_call(SYS_mincore, (long)w->window, (long)(w->window_end - w->window),
		     (long)w->there, 0, 0, 0);
}

/* Bytes of [from, to), which lies in r, on pages that are there. */
static uint64_t resident(struct walk *w, const struct region *r, uintptr_t from, uintptr_t to)
{
	size_t page = mt_prim_page_bytes();
	uint64_t sum = 0;

	if (r->resident == r->end - r->start)
		return to - from;
	while (from < to) {
		if (from < w->window || from >= w->window_end)
			look(w, r, from);
		size_t at = (from - w->window) / page,
		       pages = (w->window_end - w->window + page - 1) / page;
		const unsigned char *first = memchr(w->there + at, 1, pages - at);
		uintptr_t there =
			first ? w->window + (uintptr_t)(first - w->there) * page : w->window_end;
		from = there > from ? there : from;
		if (from >= to || !first)
			continue;
		uintptr_t next = (from & ~(page - 1)) + page;
		next = next < to ? next : to;
		sum += next - from;
		from = next;
		if (sum >= r->resident)
			return r->resident; /* all of it; what else is there is the page of zeros */
	}
	return sum;
}

/* The size of glibc's chunk for a block: 8 bytes before it, 16-byte steps, 32 at least
 * (malloc/malloc.c, request2size). */
static uint64_t chunk_bytes(uint64_t size)
{
	uint64_t chunk = (size + 8 + 15) & ~(uint64_t)15;

	return chunk < GLIBC_GRANULE ? GLIBC_GRANULE : chunk;
}

/* Part of a block, [from, to), which lies in r. */
static void visit_part(struct walk *w, struct region *r, uintptr_t from, uintptr_t to,
		       const struct block *b, uint64_t weight)
{
	size_t page = mt_prim_page_bytes();
	uintptr_t first = from & ~(page - 1), end = (to + page - 1) & ~(page - 1);
	bool own_pages = w->glibc && !w->reported && b->size >= OWN_PAGES_LEAST &&
			 r->what == MTW_MEMORY_OTHER;

	if (r->what != MTW_MEMORY_FREE && r->what != MTW_MEMORY_OTHER)
		return;
	uint64_t live = resident(w, r, from, to);
	r->live += weight * live;
	if (own_pages) { /* and what is left of its first and last page */
		first = first > r->start ? first : r->start;
		end = end < r->end ? end : r->end;
		r->chunks += resident(w, r, first, from) + live + resident(w, r, to, end);
		return;
	}
	r->what = MTW_MEMORY_FREE;
	if (w->glibc && !w->reported && live == b->size)
		r->rounding += weight * (chunk_bytes(b->size) - b->size);
}

/* Half of it was gone then. */
static bool ended_meanwhile(const struct walk *w)
{
	return w->s->over && !w->final;
}

/* A block may lie in several mappings: madvise() and mprotect() split them. */
static void visit(void *arg, uintptr_t addr, const struct block *b)
{
	struct walk *w = arg;
	uintptr_t end = addr + (b->size ? b->size : 1);
	uint64_t weight = mt_filter_weight(b);

	walk_pause_take(w->s, &w->pause, 1);
	if (ended_meanwhile(w) || end < addr)
		return;
	w->weighed |= weight != 1;
	for (uint32_t i = region_at(w, addr); i < w->count && w->region[i].start < end; i++) {
		struct region *r = &w->region[i];
		visit_part(w, r, r->start > addr ? r->start : addr, r->end < end ? r->end : end, b,
			   weight);
	}
}

/* Runs after the blocks: a mapping that contains one belongs to the allocator, even if it was a
 * stack once. */
static void note_stacks(struct walk *w)
{
	for (const struct thread *t = atomic_load_explicit(&mt_threads, memory_order_acquire); t;
	     t = t->next) {
		uintptr_t sp = atomic_load_explicit(&t->xstack, memory_order_relaxed);
		uint32_t i = sp && atomic_load_explicit(&t->xtid, memory_order_relaxed)
				     ? region_at(w, sp)
				     : w->count;
		struct region *r = i < w->count && sp >= w->region[i].start ? &w->region[i] : NULL;
		if (r && r->what == MTW_MEMORY_OTHER && !r->chunks)
			r->what = MTW_MEMORY_STACK;
	}
}

static void take(struct share *p, uint64_t bytes, uint64_t mappings)
{
	p->resident += bytes;
	p->mappings += mappings;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Live bytes are counted later than resident ones, and never exceed them: mincore() counts pages of
 * zeros. */
static void sum_up(struct walk *w)
{
	struct share *p = w->part;
	uint64_t live = 0, rounding = 0;

	for (uint32_t i = 0; i < w->count; i++) {
		const struct region *r = &w->region[i];
		uint64_t heap = r->what == MTW_MEMORY_FREE    ? r->resident
				: r->what == MTW_MEMORY_OTHER ? least(r->chunks, r->resident)
							      : 0;
		live += w->weighed ? r->live : least(r->live, heap);
		rounding +=
			w->weighed ? r->rounding : least(r->rounding, heap - least(r->live, heap));
		if (heap)
			take(&p[MTW_MEMORY_FREE], heap, 1);
		if (r->resident > heap)
			take(r->name ? &w->name[r->name].part : &p[r->what], r->resident - heap, 1);
	}
	uint64_t *heap = &p[MTW_MEMORY_FREE].resident;
	take(&p[MTW_MEMORY_LIVE], least(live, *heap), 0);
	*heap -= p[MTW_MEMORY_LIVE].resident;
	take(&p[MTW_MEMORY_ROUNDING], least(rounding, *heap), 0);
	*heap -= p[MTW_MEMORY_ROUNDING].resident;
}

static void put_part(struct mtw_out *o, uint64_t what, const char *name, const struct share *p)
{
	mtw_put(o, what);
	mtw_put_string(o, name);
	mtw_put(o, p->resident);
	mtw_put(o, p->mappings);
}

static void put_parts(const struct walk *w, struct mtw_out *o)
{
	mtw_put(o, MTW_MEMORY_COUNT + w->names);
	for (uint64_t i = 0; i < MTW_MEMORY_COUNT; i++)
		put_part(o, i, "", &w->part[i]);
	for (uint32_t i = 1; i <= w->names; i++)
		put_part(o, w->name[i].what, w->name[i].text, &w->name[i].part);
}

bool scan_memory(struct server *s, struct mtw_out *o)
{
	struct walk *w = memory_map(sizeof(*w));

	if (!w)
		return false;
	w->s = s;
	w->final = s->over;
	w->glibc = 1u << mt_live_granule_shift == GLIBC_GRANULE;
	bool good = read_regions(w);
	if (good) {
		mt_live_scan(visit, w);
		w->reported = true;
		mt_heaps_scan(visit, w);
		note_stacks(w);
		sum_up(w);
	}
	mtw_put(o, server_now());
	if (good)
		put_parts(w, o);
	else
		mtw_put(o, 0); /* no /proc here, or more mappings than we have room for */
	bool whole = !ended_meanwhile(w);
	memory_unmap(w->region, w->room * sizeof(*w->region));
	memory_unmap(w, sizeof(*w));
	return whole;
}
