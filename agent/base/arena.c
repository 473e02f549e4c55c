/* SPDX-License-Identifier: MIT
 *
 * arena.c - the agent's own memory: bump allocation in mapped chunks that are never given back.
 *
 * All tables kept here (trie, codes, modules, slots) are insert-only, so readers need no lock and
 * nothing is freed. A chunk's cursor advances by fetch-add. The thread that passes the end maps the
 * next chunk and offers it by CAS; the loser of that race unmaps its own. A failed request leaves
 * the cursor past the end of its chunk, which is harmless.
 *
 * The cap bounds the sum of what was handed out: mt_conf.max_memory, or 64 MiB plus the larger of
 * two: a sixteenth of the memory that the target may still take (collect/room.c), and the part of a
 * quarter of the program's peak that the live map leaves free (on glibc it takes that quarter at
 * most). Before it stacks are folded (unwind/fold.c), and viewers are told. The live map is never
 * refused, because blocks that it does not know cannot be counted; nor is a thread's state, without
 * which its blocks have no stack. Threads, viewers and marks have bounds of their own.
 *
 * A piece that all threads share (a chunk of nodes) is counted once, however many threads make it
 * at the same time, and none of them is refused: mt_arena_place().
 *
 * A program with so many stacks that the chunks take more than FEW_BYTES goes through all of them
 * at random. So the further chunks ask for large pages: a page takes the processor a walk through
 * tables to find, and the kernel a fault to give (a compiler with 400,000 stacks is 5 % faster).
 *
 * Ranges are the chunks and the memory passed to mt_arena_range(). The chunks hold them as an
 * insert-only list. The server walks it to know which memory to keep when the target has ended.
 */
#include "base/arena.h"
#include "base/conf.h"
#include "base/prim_linux.h"

#define CHUNK_BYTES ((size_t)1 << 20)
#define FEW_BYTES ((uint64_t)4 << 20)
#define ALIGN 16u
#define BASE_CAP ((uint64_t)64 << 20)
#define LEAST_ROOM (32u << 10) /* the next chunk of nodes must fit */
#define ROOM_SHARE 16          /* a million paths take 120 MiB: 2 GiB of room are enough for them */

/* Up to which part of the cap, in 64ths, each need gets memory. The last two are for call sites:
 * their nodes and slots take some 40 bytes each, so the smallest default has room for 50,000. */
static const uint8_t shares[] = {
	[NEED_WHOLE] = 50,    [NEED_INNER] = 54,      [NEED_FEW] = 56, [NEED_PEAK] = 56,
	[NEED_COUNTERS] = 60, [NEED_CALL_SITES] = 62, [NEED_ALL] = 64,
};

struct range {
	struct range *next; /* immutable once linked */
	uintptr_t start, end;
	enum part part;
};

/* Lies at the start of its mapping. */
struct chunk {
	_Atomic size_t xused; /* bytes from the start, may pass bytes */
	size_t bytes;
	struct range range;
};

static struct chunk *_Atomic xcurrent;
static struct range *_Atomic xranges;
static _Atomic uintptr_t xlow = UINTPTR_MAX, xhigh; /* all ranges lie between */
static _Atomic uint64_t xbytes;
static _Atomic uint64_t xresident, xpeak, xroom;
_Atomic uint32_t mt_arena_finest;

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) & ~(to - 1);
}

uint64_t mt_arena_cap(void)
{
	if (mt_conf.max_memory)
		return mt_conf.max_memory;
	uint64_t quarter = atomic_load_explicit(&xpeak, memory_order_relaxed) / 4;
	uint64_t resident = atomic_load_explicit(&xresident, memory_order_relaxed),
		 bytes = mt_arena_bytes();
	uint64_t map = resident > bytes ? resident - bytes : 0;
	uint64_t share = atomic_load_explicit(&xroom, memory_order_relaxed) / ROOM_SHARE;
	uint64_t left = quarter > map ? quarter - map : 0;

	return BASE_CAP + (left > share ? left : share);
}

static void widen(_Atomic uintptr_t *limit, uintptr_t to, bool down)
{
	uintptr_t is = atomic_load_explicit(limit, memory_order_relaxed);

	while ((down ? to < is : to > is) && !atomic_compare_exchange_weak(limit, &is, to))
		;
}

static void link_range(struct range *r, uintptr_t start, size_t bytes, enum part part)
{
	struct range *head = atomic_load_explicit(&xranges, memory_order_relaxed);

	r->start = start;
	r->end = start + bytes;
	r->part = part;
	widen(&xlow, r->start, true);
	widen(&xhigh, r->end, false);
	do {
		r->next = head;
	} while (!atomic_compare_exchange_weak_explicit(&xranges, &head, r, memory_order_release,
							memory_order_relaxed));
}

/* `p` is new, or NULL. */
static struct chunk *make_chunk(void *p, size_t bytes)
{
	struct chunk *c = p;

	if (!c)
		return NULL;
	c->bytes = bytes;
	atomic_store_explicit(&c->xused, round_up(sizeof(*c), ALIGN), memory_order_relaxed);
	return c;
}

/* Larger than a chunk can serve well: a mapping of its own. */
static void *alloc_large(size_t bytes)
{
	size_t whole = round_up(bytes + round_up(sizeof(struct chunk), ALIGN), 4096);
	struct chunk *c = make_chunk(mt_prim_map(whole, false), whole);

	if (!c)
		return NULL;
	link_range(&c->range, (uintptr_t)c, whole, PART_STACKS);
	return (char *)c + round_up(sizeof(*c), ALIGN);
}

/* Returns a new current chunk in place of `full`, or the chunk that another thread put there. */
static struct chunk *next_chunk(struct chunk *full)
{
	struct chunk *c = mt_arena_bytes() > FEW_BYTES
				  ? make_chunk(mt_prim_map_large(PRIM_LARGE), PRIM_LARGE)
				  : NULL;

	if (!c)
		c = make_chunk(mt_prim_map(CHUNK_BYTES, false), CHUNK_BYTES);
	if (!c)
		return NULL;
	if (!atomic_compare_exchange_strong_explicit(&xcurrent, &full, c, memory_order_acq_rel,
						     memory_order_acquire)) {
		mt_prim_unmap(c, c->bytes);
		return full;
	}
	link_range(&c->range, (uintptr_t)c, c->bytes, PART_STACKS);
	return c;
}

static uint64_t limit_of(enum need need)
{
	uint64_t cap = mt_arena_cap();

	return cap / 64 * shares[need] + cap % 64 * shares[need] / 64;
}

/* If a thread is delayed here, it stores what was true before. The next allocation or
 * mt_arena_tell() corrects that. */
static void find_finest(void)
{
	uint64_t bytes = mt_arena_bytes();
	enum need need = 0;

	while (need < NEED_ALL && bytes + LEAST_ROOM > limit_of(need))
		need++;
	if (need != atomic_load_explicit(&mt_arena_finest, memory_order_relaxed))
		atomic_store_explicit(&mt_arena_finest, need, memory_order_relaxed);
}

/* 0 = not measured yet. */
void mt_arena_tell(uint64_t resident, uint64_t peak, uint64_t room)
{
	atomic_store_explicit(&xresident, resident, memory_order_relaxed);
	atomic_store_explicit(&xpeak, peak, memory_order_relaxed);
	atomic_store_explicit(&xroom, room, memory_order_relaxed);
	find_finest();
}

static void *take(size_t bytes)
{
	if (bytes > CHUNK_BYTES / 4)
		return alloc_large(bytes);
	struct chunk *c = atomic_load_explicit(&xcurrent, memory_order_acquire);
	do {
		if (c) {
			size_t at =
				atomic_fetch_add_explicit(&c->xused, bytes, memory_order_relaxed);
			if (at + bytes <= c->bytes)
				return (char *)c + at;
		}
		c = next_chunk(c);
	} while (c);
	return NULL;
}

static void *counted(void *p, size_t bytes)
{
	if (!p)
		atomic_fetch_sub_explicit(&xbytes, bytes, memory_order_relaxed);
	find_finest();
	return p;
}

/* What is refused is never in the sum: it would make others be refused meanwhile. */
static void *take_below(uint64_t limit, size_t bytes)
{
	uint64_t sum = mt_arena_bytes();

	do {
		if (sum + bytes > limit)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&xbytes, &sum, sum + bytes, memory_order_relaxed, memory_order_relaxed));
	return counted(take(bytes), bytes);
}

void *mt_arena_alloc_for(enum need need, size_t bytes)
{
	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = round_up(bytes ? bytes : 1, ALIGN);
	return need == NEED_ALWAYS ? take(bytes) : take_below(limit_of(need), bytes);
}

void *mt_arena_alloc(size_t bytes)
{
	return mt_arena_alloc_for(NEED_ALL, bytes);
}

/*
 * One thread claims the place, then counts the piece, then makes it. Whoever finds the claim makes
 * one, too, and does not count it. So a thread is refused only where there was no room without the
 * piece: if it sees the sum with it, it sees the claim when it looks again. The pieces that come
 * too late are lost: addresses, but no pages, for nobody has touched them.
 */
void *mt_arena_place(void *_Atomic *place, enum need need, size_t bytes)
{
	void *is = atomic_load(place), *p;
	bool mine;

	bytes = round_up(bytes, ALIGN);
	if (!is && atomic_load(&xbytes) + bytes > limit_of(need) && !(is = atomic_load(place)))
		return NULL;
	mine = !is && atomic_compare_exchange_strong(place, &is, ARENA_CLAIMED);
	if (arena_is_made(is))
		return is;
	if (mine)
		atomic_fetch_add(&xbytes, bytes);
	p = take(bytes);
	if (mine)
		counted(p, bytes);
	is = ARENA_CLAIMED;
	return atomic_compare_exchange_strong(place, &is, p) ? p : is;
}

uint64_t mt_arena_bytes(void)
{
	return atomic_load_explicit(&xbytes, memory_order_relaxed);
}

void mt_arena_range(uintptr_t start, size_t bytes, enum part part)
{
	struct range *r = mt_arena_alloc_for(NEED_ALWAYS, sizeof(*r));

	if (r)
		link_range(r, start, bytes, part);
}

void mt_arena_each(void (*visit)(void *arg, enum part part, uintptr_t start, uintptr_t end),
		   void *arg)
{
	struct range *r = atomic_load_explicit(&xranges, memory_order_acquire);

	for (; r; r = r->next)
		visit(arg, r->part, r->start, r->end);
}

/* With thousands of threads there are as many ranges, and asked for each mapping of the program's:
 * nearly all of those lie outside of the agent's area (base/area.c). */
bool mt_arena_owns(uintptr_t start, uintptr_t end)
{
	if (end <= atomic_load(&xlow) || start >= atomic_load(&xhigh))
		return false;
	for (struct range *r = atomic_load_explicit(&xranges, memory_order_acquire); r;
	     r = r->next) {
		if (r->start < end && start < r->end)
			return true;
	}
	return false;
}
