/* SPDX-License-Identifier: MIT
 *
 * heaps.c - the blocks of named heaps, by address.
 *
 * The live map cannot hold them: a heap's block may begin where the malloc block begins that it was
 * cut from, may lie at any address and as close to the next as it likes, and need not be memory at
 * all (a handle). So a hash finds them: a fixed table of lists. Neighbours in memory are neighbours
 * in the table, so small heaps touch few of its pages, and a range of addresses is searched by
 * walking that range.
 *
 * A list only grows, to the largest number of blocks that were alive in it at once: the list's next
 * block reuses the cell of one that is gone. A cell's meta word tells its state:
 *
 *   slot 24 | tick 16 | thread 14 | uses 10     slot != 0: a block
 *         0 |       1 |         0 | uses 10     claimed: a thread fills or empties it
 *         0 |       0 |         0 | uses 10     free
 *
 * It changes by compare-and-swap, and the count of uses tells a block from the one before it in
 * this cell. There is no lock and no waiting: a report may come from a signal handler, or from a
 * child that was forked in the middle of one (it then loses the cells that the parent's other
 * threads had claimed). Two threads that report the same address at the same time may both be
 * counted; no allocator gives out one address twice.
 *
 * A heap's name is a module without a file and the innermost frame of all its stacks, so it is the
 * owner of its blocks wherever owners are shown.
 */
#include "record/heaps.h"
#include "base/arena.h"
#include "base/prim_linux.h"
#include "live/meta.h"
#include "modules/maps.h"
#include "unwind/stacks.h"

#include <memtop/memtop.h>
#include <memtop/wire.h>

#include <string.h>

#define HEAPS_MAX 1024u
#define PREFIX "heap:"
#define TABLE_SHIFT (sizeof(void *) == 8 ? 20 : 16)
#define TABLE ((size_t)1 << TABLE_SHIFT)
#define GRANULE_SHIFT 4
#define CHUNK_BYTES ((size_t)64 << 10)
#define USES 0x3ffu
#define CLAIMED (UINT64_C(1) << 24)
#define HEAP_SHIFT 48 /* of what: heap 16 | size 48 */
_Static_assert(HEAP_BLOCK_MAX >> HEAP_SHIFT == 0, "a block's size fits");

struct cell {
	struct cell *next; /* immutable once linked */
	_Atomic uintptr_t xkey;
	_Atomic uint64_t xwhat;
	_Atomic uint64_t xmeta;
};

struct chunk {
	struct chunk *next;
	_Atomic size_t xused; /* cells; may pass how many there are */
	struct cell cell[];
};
#define CHUNK_CELLS ((CHUNK_BYTES - sizeof(struct chunk)) / sizeof(struct cell))

struct named {
	code_id code;
	char name[sizeof(PREFIX) + MTW_NAME_MAX];
};

typedef struct cell *_Atomic list;

_Atomic bool mt_heaps_backed;
static list *_Atomic xtable;
static struct chunk *_Atomic xchunks;
static struct named *_Atomic xnamed[HEAPS_MAX + 1]; /* by number, from 1 */

/* The name as viewers and filters read it: no path, no control characters. */
static void call(struct named *n, const char *name)
{
	size_t len = name ? strnlen(name, MTW_NAME_MAX) : 0;

	memcpy(n->name, PREFIX, sizeof(PREFIX));
	for (size_t i = 0; i < len; i++)
		n->name[sizeof(PREFIX) - 1 + i] =
			(unsigned char)name[i] < ' ' || name[i] == '/' ? '_' : name[i];
}

static struct named *new_named(const struct named *as)
{
	const struct module *m = mt_maps_heap(as->name);
	struct named *n = m ? mt_arena_alloc(sizeof(*n)) : NULL;

	if (!n)
		return NULL;
	*n = *as;
	n->code = mt_stacks_code_in(HEAP_PC, MTW_NODE_CODE, m); /* "behind" the address 0 of it */
	return n;
}

static unsigned find_number(const char *name)
{
	struct named as = { 0 }, *fresh = NULL;

	call(&as, name);
	for (unsigned i = 1; i <= HEAPS_MAX; i++) {
		struct named *n = atomic_load_explicit(&xnamed[i], memory_order_acquire);
		if (!n && (fresh || (fresh = new_named(&as))) &&
		    atomic_compare_exchange_strong(&xnamed[i], &n, fresh))
			n = fresh;
		if (!n)
			return 0;
		if (!strcmp(n->name, as.name))
			return i;
	}
	return 0;
}

unsigned mt_heaps_number(struct memtop_heap *heap)
{
	unsigned number = __atomic_load_n(&heap->number, __ATOMIC_RELAXED);

	if (unlikely(!number || number > HEAPS_MAX || !atomic_load(&xnamed[number]))) {
		number = find_number(heap->name);
		__atomic_store_n(&heap->number, number, __ATOMIC_RELAXED);
	}
	return number;
}

code_id mt_heaps_code(unsigned number)
{
	return atomic_load_explicit(&xnamed[number], memory_order_acquire)->code;
}

MT_COLD static list *make_table(void)
{
	list *fresh = mt_prim_map(TABLE * sizeof(list), true), *seen = NULL;

	if (!fresh)
		return NULL;
	if (!atomic_compare_exchange_strong(&xtable, &seen, fresh)) {
		mt_prim_unmap(fresh, TABLE * sizeof(list));
		return seen;
	}
	mt_arena_range((uintptr_t)fresh, TABLE * sizeof(list), PART_MAP);
	return fresh;
}

static list *list_of(list *table, uintptr_t key)
{
	uintptr_t granule = key >> GRANULE_SHIFT, far = granule >> TABLE_SHIFT;

	return &table[(granule + far * 0x9e3779b1u) & (TABLE - 1)];
}

static struct cell *first(uintptr_t key)
{
	list *table = atomic_load_explicit(&xtable, memory_order_acquire);

	return table ? atomic_load_explicit(list_of(table, key), memory_order_acquire) : NULL;
}

static bool is_block(uint64_t meta)
{
	return meta >> 40;
}

static bool is_free(uint64_t meta)
{
	return !(meta & ~(uint64_t)USES);
}

MT_COLD static struct chunk *add_chunk(struct chunk *full)
{
	struct chunk *fresh = mt_prim_map(CHUNK_BYTES, false);

	if (!fresh)
		return NULL;
	fresh->next = full;
	if (!atomic_compare_exchange_strong(&xchunks, &full, fresh)) {
		mt_prim_unmap(fresh, CHUNK_BYTES);
		return full;
	}
	mt_arena_range((uintptr_t)fresh, CHUNK_BYTES, PART_MAP);
	return fresh;
}

static struct cell *new_cell(list *at)
{
	struct chunk *chunk = atomic_load_explicit(&xchunks, memory_order_acquire);

	for (;;) {
		size_t i = chunk ? atomic_fetch_add_explicit(&chunk->xused, 1, memory_order_relaxed)
				 : CHUNK_CELLS;
		if (i >= CHUNK_CELLS) {
			chunk = add_chunk(chunk);
			if (!chunk)
				return NULL;
			continue;
		}
		struct cell *c = &chunk->cell[i];
		atomic_store_explicit(&c->xmeta, CLAIMED, memory_order_relaxed);
		c->next = atomic_load_explicit(at, memory_order_relaxed);
		while (!atomic_compare_exchange_weak_explicit(at, &c->next, c, memory_order_release,
							      memory_order_relaxed))
			;
		return c;
	}
}

/* Reads a cell between two looks at its meta word. False: it is empty, or just changing. */
MT_INLINE bool read_cell(struct cell *c, uint64_t *meta, uintptr_t *key, unsigned *heap,
			 struct block *b)
{
	*meta = atomic_load_explicit(&c->xmeta, memory_order_acquire);
	if (!is_block(*meta))
		return false;
	*key = atomic_load_explicit(&c->xkey, memory_order_relaxed);
	uint64_t what = atomic_load_explicit(&c->xwhat, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	*heap = (unsigned)(what >> HEAP_SHIFT);
	*b = unpack_meta(*meta, what & HEAP_BLOCK_MAX);
	return atomic_load_explicit(&c->xmeta, memory_order_relaxed) == *meta;
}

/* Whoever changes the meta word has the block. */
MT_INLINE bool empty(struct cell *c, uint64_t meta)
{
	return atomic_compare_exchange_strong(&c->xmeta, &meta, meta & USES);
}

struct cell *mt_heaps_claim(unsigned heap, uintptr_t key, struct block *twice)
{
	list *table = atomic_load_explicit(&xtable, memory_order_acquire);
	struct cell *free = NULL;

	twice->slot = 0;
	if (unlikely(!table) && !(table = make_table()))
		return NULL;
	list *at = list_of(table, key);
	for (struct cell *c = atomic_load_explicit(at, memory_order_acquire); c; c = c->next) {
		struct block b;
		unsigned whose;
		uintptr_t there;
		uint64_t meta;
		if (read_cell(c, &meta, &there, &whose, &b)) {
			if (likely(there != key || whose != heap) || !empty(c, meta))
				continue;
			*twice = b;
			free = c;
		} else if (!free && is_free(meta)) {
			free = c;
		}
	}
	uint64_t was = free ? atomic_load_explicit(&free->xmeta, memory_order_relaxed) : CLAIMED;
	if (likely(is_free(was)) &&
	    atomic_compare_exchange_strong(&free->xmeta, &was, was | CLAIMED))
		return free;
	return new_cell(at);
}

void mt_heaps_give_up(struct cell *c)
{
	uint64_t uses = atomic_load_explicit(&c->xmeta, memory_order_relaxed) & USES;

	atomic_store_explicit(&c->xmeta, uses, memory_order_release);
}

void mt_heaps_put(struct cell *c, unsigned heap, uintptr_t key, const struct block *b)
{
	uint64_t uses = (atomic_load_explicit(&c->xmeta, memory_order_relaxed) + 1) & USES;

	atomic_store_explicit(&c->xkey, key, memory_order_relaxed);
	atomic_store_explicit(&c->xwhat, (uint64_t)heap << HEAP_SHIFT | b->size,
			      memory_order_relaxed);
	atomic_store_explicit(&c->xmeta, pack_meta(b, uses), memory_order_release);
	if (heap == HEAP_BACKING)
		atomic_store_explicit(&mt_heaps_backed, true, memory_order_relaxed);
}

MT_INLINE bool same(unsigned heap, unsigned than)
{
	return heap == than;
}

MT_INLINE bool other(unsigned heap, unsigned than)
{
	return heap != than && heap != HEAP_BACKING;
}

MT_INLINE struct block take(uintptr_t wanted, bool (*is_it)(unsigned heap, unsigned than),
			    unsigned than)
{
	struct block b, none = { 0, 0, 0, 0 };
	unsigned heap;
	uintptr_t key;
	uint64_t meta;

	for (struct cell *c = first(wanted); c; c = c->next)
		if (read_cell(c, &meta, &key, &heap, &b) && key == wanted && is_it(heap, than) &&
		    empty(c, meta))
			return b;
	return none;
}

struct block mt_heaps_take(unsigned heap, uintptr_t key)
{
	return take(key, same, heap);
}

struct block mt_heaps_take_other(unsigned heap, uintptr_t key)
{
	return take(key, other, heap);
}

void mt_heaps_take_range(unsigned wanted, uintptr_t start, size_t size,
			 void (*taken)(void *arg, const struct block *b), void *arg)
{
	uintptr_t last = start + size - 1;
	size_t lists = size ? (last >> GRANULE_SHIFT) - (start >> GRANULE_SHIFT) + 1 : 0;
	list *table = atomic_load_explicit(&xtable, memory_order_acquire);

	if (lists > TABLE || last < start - !size) /* each list once */
		lists = TABLE;
	for (size_t i = 0; table && i < lists; i++) {
		list *at = list_of(table, start + (i << GRANULE_SHIFT));
		struct cell *c = lists < TABLE
					 ? atomic_load_explicit(at, memory_order_acquire)
					 : atomic_load_explicit(&table[i], memory_order_acquire);
		struct block b;
		unsigned heap;
		uintptr_t key;
		uint64_t meta;
		for (; c; c = c->next)
			if (read_cell(c, &meta, &key, &heap, &b) && heap == wanted &&
			    key - start < size && empty(c, meta))
				taken(arg, &b);
	}
}

static void each_cell(void (*visit)(struct cell *c, void *arg), void *arg)
{
	for (struct chunk *k = atomic_load_explicit(&xchunks, memory_order_acquire); k;
	     k = k->next) {
		size_t used = atomic_load_explicit(&k->xused, memory_order_relaxed);
		for (size_t i = 0; i < used && i < CHUNK_CELLS; i++)
			visit(&k->cell[i], arg);
	}
}

struct scan {
	void (*visit)(void *arg, uintptr_t key, const struct block *b);
	void *arg;
};

static void scan_cell(struct cell *c, void *arg)
{
	const struct scan *s = arg;
	struct block b;
	unsigned heap;
	uintptr_t key;
	uint64_t meta;

	if (read_cell(c, &meta, &key, &heap, &b) && heap != HEAP_BACKING)
		s->visit(s->arg, key, &b);
}

void mt_heaps_scan(void (*visit)(void *arg, uintptr_t key, const struct block *b), void *arg)
{
	struct scan s = { visit, arg };

	each_cell(scan_cell, &s);
}

static void clear(struct cell *c, void *unused)
{
	(void)unused;
	mt_heaps_give_up(c);
}

void mt_heaps_restart(void)
{
	each_cell(clear, NULL);
	atomic_store(&mt_heaps_backed, false);
}
