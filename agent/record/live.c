/* SPDX-License-Identifier: MIT
 *
 * live.c - the live map: finds a block's entry by its address, without a hash.
 *
 * The address space is cut into regions of 64 MiB. Two root arrays have one word per region, and
 * each leaf one entry per granule, so a lookup is two loads and a change one store. There is no
 * lock and no resize. Entries are in the heap's order, so neighbours share cache lines as their
 * blocks do. All address space is reserved lazily: 16 MiB for a root (32 on AArch64), 16 for the
 * small leaf of a used region (32 with granules of 16), 1 for its large leaf, and pages only where
 * blocks are.
 *
 *   small leaf  u64 per granule (32 bytes on glibc, 16 elsewhere): blocks below 1 KiB
 *   large leaf  {meta, size} per 1 KiB: blocks of 1 KiB and more. No two of them start in the same
 *               granule; bits 3..9 of the address are kept, so that no neighbour is taken for it.
 *   odd map     the same once more for blocks at address % 16 == 8, made when the first appears
 *
 * While blocks are sampled, small ones have a place in leaves of their own instead:
 * record/live_sampled.h.
 *
 * An entry belongs to the block's owner: the thread that malloc just gave it to, or the thread that
 * frees it. So plain loads and stores do, at a tenth of the cost of an atomic exchange. Two threads
 * that free one block at the same time count it twice, before libc ends the program for it.
 *
 * Any thread calls this. Invariants: an entry goes in after the real malloc and before the program
 * sees the block, and comes out before the real free. So an entry already there when malloc returns
 * its address means that the old block was freed unseen. Every small block's path is in
 * record/live_fast.h.
 *
 * An unseen free is found when a block starts in its place. A small block that starts in the first
 * KiB of a large one can be checked in the other map only, which costs more than all the rest. So
 * that check runs only where such frees are likely: after the first one found, and from the first
 * library loaded with RTLD_DEEPBIND or into another namespace (mt_live_suspect). Then live_small()
 * finds nothing, and every block takes the path through this file. A large entry's size is valid
 * while its meta is not 0 (stored before, read after; the scan reads meta twice).
 *
 * Empty pages of small leaves are given back; record/live_trim.c has the scheme, and why no entry
 * is lost. For that moment a region is closed: live_small() finds nothing there, so new entries
 * come here and go into the region's twin, a second leaf, and stay there until they are taken out.
 * A lookup that finds nothing in the leaf looks into the twin. An entry is in one of the two.
 */
#include "record/live.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/conf.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "record/internal.h"
#include "record/live_fast.h"
#include "record/live_sampled.h"

#include <string.h>

#define REGIONS ((size_t)1 << (ADDRESS_BITS - REGION_SHIFT))
#define LARGE_COUNT ((size_t)1 << (REGION_SHIFT - LARGE_SHIFT))

#define TICKS 65536

MT_HOT region_leaf *_Atomic mt_live_fast;
region_leaf *_Atomic mt_live_open;
const region_leaf *_Atomic mt_live_closed;
_Atomic uint32_t mt_live_unguarded;
struct shadow mt_live_even, mt_live_odd;
struct used *_Atomic mt_live_used;
static _Atomic bool xsuspected;
MT_HOT unsigned mt_live_granule_shift = 4;

_Atomic uint32_t mt_live_xtick;
static size_t leaf_bytes(enum leaf_kind kind);
static uint64_t *tick_start; /* TICKS long; written by the server before mt_live_xtick */

static region_leaf *new_root(region_leaf *_Atomic *at)
{
	region_leaf *root = mt_prim_map(REGIONS * sizeof(*root), true), *seen = NULL;

	if (!root)
		return NULL;
	if (!atomic_compare_exchange_strong(at, &seen, root)) {
		mt_prim_unmap(root, REGIONS * sizeof(*root));
		return seen;
	}
	mt_arena_range((uintptr_t)root, REGIONS * sizeof(*root), PART_MAP);
	return root;
}

bool mt_live_init(unsigned granule_bytes)
{
	mt_live_granule_shift = (unsigned)__builtin_ctz(granule_bytes);
	tick_start = mt_prim_map(TICKS * sizeof(*tick_start), true);
	if (!tick_start || !new_root(&mt_live_even.xsmall) || !new_root(&mt_live_even.xlarge) ||
	    !new_root(&mt_live_open))
		return false;
	if (!mt_conf.sample || !mt_live_few_begin())
		atomic_store(&mt_live_fast, mt_live_open);
	else if (!new_root(&mt_live_fast))
		return false;
	mt_arena_range((uintptr_t)tick_start, TICKS * sizeof(*tick_start), PART_MAP);
	return true;
}

/* The leaves stay: a late free may still look at an entry, and write the 0 that is there. */
void mt_live_restart(void)
{
	for (struct used *u = atomic_load_explicit(&mt_live_used, memory_order_acquire); u;
	     u = u->next)
		mt_prim_drop(u->leaf, leaf_bytes(u->kind));
	mt_prim_drop(tick_start, TICKS * sizeof(*tick_start));
	atomic_store(&mt_live_xtick, 0);
}

MT_COLD void mt_live_suspect(void)
{
	region_leaf *_Atomic empty = NULL;

	if (!atomic_exchange(&xsuspected, true) && new_root(&empty))
		atomic_store(&mt_live_fast, empty);
}

/* mt_live_suspect() may come between: its root stays. */
void mt_live_dense(void)
{
	region_leaf *sparse = atomic_load(&mt_live_fast);

	if (atomic_load(&mt_live_few) && mt_live_few_end() && !atomic_load(&xsuspected))
		atomic_compare_exchange_strong(&mt_live_fast, &sparse, mt_live_open);
}

/* The map of an address; NULL: outside the known address space, or not yet there. */
MT_INLINE struct shadow *shadow_of(uintptr_t addr)
{
	struct shadow *s = likely(!(addr & 8)) ? &mt_live_even : &mt_live_odd;

	if (unlikely(!atomic_load_explicit(&s->xlarge, memory_order_acquire) ||
		     address_beyond(addr)))
		return NULL;
	return s;
}

MT_INLINE uintptr_t leaf_at(region_leaf *const _Atomic *root, uintptr_t addr)
{
	region_leaf *r = atomic_load_explicit(root, memory_order_acquire);

	return atomic_load_explicit(&r[addr >> REGION_SHIFT], memory_order_acquire);
}

MT_INLINE _Atomic uint64_t *small_at(const struct shadow *s, uintptr_t addr)
{
	uintptr_t leaf = leaf_at(&s->xsmall, addr);

	return leaf ? (_Atomic uint64_t *)(leaf +
					   (addr >> mt_live_granule_shift) * sizeof(uint64_t))
		    : NULL;
}

MT_INLINE struct large *large_at(const struct shadow *s, uintptr_t addr)
{
	uintptr_t leaf = leaf_at(&s->xlarge, addr);

	return leaf ? (struct large *)(leaf + (addr >> LARGE_SHIFT) * sizeof(struct large)) : NULL;
}

size_t mt_live_small_bytes(void)
{
	return sizeof(uint64_t) << (REGION_SHIFT - mt_live_granule_shift);
}

static bool is_of_large(enum leaf_kind kind)
{
	return kind == LEAF_LARGE || kind == LEAF_SPARSE;
}

static size_t leaf_bytes(enum leaf_kind kind)
{
	return is_of_large(kind) ? LARGE_COUNT * sizeof(struct large) : mt_live_small_bytes();
}

static void remember(void *leaf, enum leaf_kind kind, size_t region)
{
	bool looked_at = kind == LEAF_EVEN || kind == LEAF_ODD;
	size_t bits = looked_at ? mt_live_small_bytes() / mt_prim_page_bytes() : 0;
	struct used *u = mt_arena_alloc(sizeof(*u) + (bits + 63) / 64 * sizeof(uint64_t));

	if (!u)
		return; /* the scan misses it: ages degrade, counters do not */
	*u = (struct used){
		.leaf = leaf, .region = region, .kind = kind, .empty = (uint64_t *)(u + 1)
	};
	u->next = atomic_load_explicit(&mt_live_used, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&mt_live_used, &u->next, u,
						      memory_order_release, memory_order_relaxed))
		;
}

/* A leaf's address, as the roots have it. */
static uintptr_t biased(void *leaf, uintptr_t first, bool large)
{
	return large ? (uintptr_t)leaf - (first >> LARGE_SHIFT) * sizeof(struct large)
		     : (uintptr_t)leaf - (first >> mt_live_granule_shift) * sizeof(uint64_t);
}

/* Both roots or none: the small one is made first, and the large one tells. */
static bool make_odd(void)
{
	return atomic_load(&mt_live_odd.xlarge) ||
	       (new_root(&mt_live_odd.xsmall) && new_root(&mt_live_odd.xlarge));
}

/*
 * Into an empty place of a root; `open` is the same place of mt_live_open, or NULL. It is filled
 * before the leaf is in the list: only then may the region be closed.
 */
static bool add_leaf(region_leaf *at, region_leaf *open, size_t region, enum leaf_kind kind)
{
	size_t bytes = leaf_bytes(kind);
	uintptr_t none = 0;
	void *leaf = mt_prim_map(bytes, true);

	if (!leaf)
		return false;
	uintptr_t base = biased(leaf, region << REGION_SHIFT, is_of_large(kind));
	if (!base || !atomic_compare_exchange_strong(at, &none, base)) {
		mt_prim_unmap(leaf, bytes);
		return none;
	}
	if (open)
		atomic_store_explicit(open, base, memory_order_release);
	mt_arena_range((uintptr_t)leaf, bytes, PART_MAP);
	remember(leaf, kind, region);
	return true;
}

MT_COLD static bool make_leaf(uintptr_t addr, bool large)
{
	size_t region = addr >> REGION_SHIFT;

	if (address_beyond(addr) || ((addr & 8) && !make_odd()))
		return false;
	const struct shadow *s = shadow_of(addr);
	if (large)
		return add_leaf(&s->xlarge[region], NULL, region, LEAF_LARGE);
	bool is_odd = s == &mt_live_odd;
	region_leaf *sparse = atomic_load(&mt_live_few) ? atomic_load(&mt_live_sparse) : NULL;
	if (sparse && !is_odd) /* without it the small leaf holds all */
		add_leaf(&sparse[region], NULL, region, LEAF_SPARSE);
	return add_leaf(&s->xsmall[region], is_odd ? NULL : &mt_live_open[region], region,
			is_odd ? LEAF_ODD : LEAF_EVEN);
}

bool mt_live_make_twin(struct shadow *s, size_t region)
{
	if (!atomic_load(&s->xtwin) && !new_root(&s->xtwin))
		return false;
	return atomic_load(&s->xtwin[region]) ||
	       add_leaf(&s->xtwin[region], NULL, region, LEAF_TWIN);
}

/* The entry in the twin; NULL where there is none. */
static _Atomic uint64_t *twin_at(const struct shadow *s, uintptr_t addr)
{
	uintptr_t leaf = likely(!atomic_load_explicit(&s->xtwin, memory_order_acquire))
				 ? 0
				 : leaf_at(&s->xtwin, addr);

	return leaf ? (_Atomic uint64_t *)(leaf +
					   (addr >> mt_live_granule_shift) * sizeof(uint64_t))
		    : NULL;
}

bool mt_live_ready(const void *p, size_t size)
{
	uintptr_t addr = plain_address(p);
	const struct shadow *s = shadow_of(addr);
	bool large = size >= LARGE_MIN;

	if (likely(s && leaf_at(large ? &s->xlarge : &s->xsmall, addr)))
		return true;
	return make_leaf(addr, large);
}

static bool take_stale(_Atomic uint64_t *e, struct block *old)
{
	uint64_t stale = e ? atomic_load_explicit(e, memory_order_relaxed) : 0;

	if (likely(!stale))
		return false;
	*old = unpack_small(stale);
	atomic_store_explicit(e, 0, memory_order_relaxed);
	return true;
}

/* An entry of a small block that was freed unseen may lie where a large one starts now. */
static bool enter_large(uintptr_t addr, size_t size, uint64_t meta, struct block *old)
{
	const struct shadow *s = shadow_of(addr);
	struct large *l = large_at(s, addr);
	uint64_t stale = atomic_load_explicit(&l->xmeta, memory_order_relaxed);
	uint64_t stale_size = atomic_load_explicit(&l->xsize, memory_order_relaxed);

	if (unlikely(stale))
		/* never old meta, new size; see take_covering() */
		stale = atomic_exchange(&l->xmeta, 0);
	atomic_store_explicit(&l->xsize, size, memory_order_relaxed);
	atomic_store_explicit(&l->xmeta, meta, memory_order_release);
	if (unlikely(stale)) {
		*old = unpack_large(stale, stale_size);
		return true;
	}
	return take_stale(small_at(s, addr), old) || take_stale(twin_at(s, addr), old) ||
	       mt_live_sparse_take(addr, old);
}

/* A large block reaches past its granule: a small one that starts there, and not before it, lies in
 * it. */
static bool take_covering(const struct shadow *s, uintptr_t addr, struct block *old)
{
	struct large *l = large_at(s, addr);
	uint64_t meta = l ? atomic_load_explicit(&l->xmeta, memory_order_acquire) : 0;

	if (likely(!meta) || (meta & 0x7f) > (addr & (LARGE_MIN - 1)) >> 3)
		return false;
	*old = unpack_large(meta, atomic_load_explicit(&l->xsize, memory_order_relaxed));
	/* Others may find it, too: whoever takes it out books it. */
	return atomic_compare_exchange_strong(&l->xmeta, &meta, 0);
}

/* A block freed unseen may be in the leaf or in its twin, wherever the new entry goes. */
static bool enter_small(uintptr_t addr, uint64_t entry, struct block *old)
{
	const struct shadow *s = shadow_of(addr);
	const region_leaf *closed = atomic_load_explicit(&mt_live_closed, memory_order_acquire);
	_Atomic uint64_t *e = small_at(s, addr), *other = twin_at(s, addr);

	if (unlikely(closed) && closed == &s->xsmall[addr >> REGION_SHIFT]) {
		_Atomic uint64_t *twin = other;
		other = e;
		e = twin;
	}
	uint64_t stale = atomic_load_explicit(e, memory_order_relaxed);
	atomic_store_explicit(e, entry, memory_order_release);
	if (unlikely(other) && !stale) {
		stale = atomic_load_explicit(other, memory_order_relaxed);
		if (stale)
			atomic_store_explicit(other, 0, memory_order_relaxed);
	}
	if (likely(!stale))
		return mt_live_sparse_take(addr, old) || take_covering(s, addr, old);
	*old = unpack_small(stale);
	return true;
}

/* The guard of `t` is set; the shared one has none. */
static bool enter_any(const struct thread *t, uintptr_t addr, const struct block *b,
		      struct block *old)
{
	if (unlikely(b->size >= LARGE_MIN))
		return enter_large(addr, b->size, pack_large(addr, b->slot, b->tick, b->thread),
				   old);
	if (mt_live_sparse_put(addr, b, old))
		return old->slot || take_covering(shadow_of(addr), addr, old);
	if (unlikely(t->shared))
		atomic_fetch_add(&mt_live_unguarded, 1);
	bool occupied = enter_small(addr, pack_small(b->size, b->slot, b->tick, b->thread), old);
	if (unlikely(t->shared))
		atomic_fetch_sub(&mt_live_unguarded, 1);
	return occupied;
}

/* What it finds in the place starts in the same KiB. */
static bool enter(const struct thread *t, uintptr_t addr, const struct block *b, struct block *old)
{
	mt_live_few_add(addr);
	bool occupied = enter_any(t, addr, b, old);
	if (unlikely(occupied))
		mt_live_few_remove(addr);
	return occupied;
}

/* Call mt_live_ready() first. */
bool mt_live_enter(const struct thread *t, void *p, size_t size, slot_id slot, struct block *old)
{
	struct block b = { size, slot, atomic_load_explicit(&mt_live_xtick, memory_order_relaxed),
			   atomic_load_explicit(&t->xindex, memory_order_relaxed) };

	return enter(t, plain_address(p), &b, old);
}

bool mt_live_restore(const struct thread *t, void *p, const struct block *b, struct block *old)
{
	return enter(t, plain_address(p), b, old);
}

static struct block take_large(const struct shadow *s, uintptr_t addr)
{
	struct block none = { 0, 0, 0, 0 };
	struct large *l = large_at(s, addr);

	if (!l)
		return none;
	uint64_t meta = atomic_load_explicit(&l->xmeta, memory_order_acquire);
	if (!large_is_at(meta, addr))
		return none;
	uint64_t size = atomic_load_explicit(&l->xsize, memory_order_relaxed);
	atomic_store_explicit(&l->xmeta, 0, memory_order_release);
	return unpack_large(meta, size);
}

MT_COLD static struct block take_twin(const struct shadow *s, uintptr_t addr)
{
	struct block none = { 0, 0, 0, 0 };
	_Atomic uint64_t *e = twin_at(s, addr);
	uint64_t v = e ? atomic_load_explicit(e, memory_order_acquire) : 0;

	if (!v)
		return none;
	atomic_store_explicit(e, 0, memory_order_relaxed);
	return unpack_small(v);
}

static struct block take(uintptr_t addr)
{
	struct block none = { 0, 0, 0, 0 };
	const struct shadow *s = shadow_of(addr);
	struct block sampled;

	if (unlikely(!s))
		return none;
	if (mt_live_sparse_take(addr, &sampled))
		return sampled;
	_Atomic uint64_t *e = small_at(s, addr);
	if (likely(e)) {
		uint64_t v = atomic_load_explicit(e, memory_order_acquire);
		if (likely(v)) {
			atomic_store_explicit(e, 0, memory_order_relaxed);
			return unpack_small(v);
		}
	}
	struct block b = take_large(s, addr);
	if (unlikely(!b.slot && atomic_load_explicit(&s->xtwin, memory_order_relaxed)))
		return take_twin(s, addr);
	return b;
}

struct block mt_live_take(const void *p)
{
	uintptr_t addr = plain_address(p);
	struct block b = take(addr);

	if (likely(b.slot))
		mt_live_few_remove(addr);
	return b;
}

bool mt_live_peek(const void *p, struct block *b)
{
	uintptr_t addr = plain_address(p);
	const struct shadow *s = shadow_of(addr);

	if (unlikely(!s))
		return false;
	if (mt_live_sparse_peek(addr, b))
		return true;
	_Atomic uint64_t *e = small_at(s, addr);
	uint64_t v = e ? atomic_load_explicit(e, memory_order_acquire) : 0;
	if (!v && (e = twin_at(s, addr)))
		v = atomic_load_explicit(e, memory_order_acquire);
	if (v) {
		*b = unpack_small(v);
		return true;
	}
	struct large *l = large_at(s, addr);
	v = l ? atomic_load_explicit(&l->xmeta, memory_order_acquire) : 0;
	if (!large_is_at(v, addr))
		return false;
	*b = unpack_large(v, atomic_load_explicit(&l->xsize, memory_order_relaxed));
	return true;
}

bool mt_live_knows(const void *p)
{
	struct block b;

	return !live_few_none(p) && mt_live_peek(p, &b);
}

/* The shortest way to "no", which most frees need while blocks are sampled. live_small(p) was
 * there, and is 0. */
bool mt_live_knows_large(const void *p)
{
	uintptr_t addr = plain_address(p);
	const struct large *l = large_at(&mt_live_even, addr);
	uint64_t meta = l ? atomic_load_explicit(&l->xmeta, memory_order_relaxed) : 0;

	if (unlikely(large_is_at(meta, addr)))
		return true;
	return unlikely(atomic_load_explicit(&mt_live_even.xtwin, memory_order_relaxed) ||
			atomic_load_explicit(&mt_live_sparse, memory_order_relaxed)) &&
	       mt_live_knows(p);
}

typedef void (*block_visit)(void *arg, uintptr_t addr, const struct block *b);

/* `addr`: of the first granule. */
static void scan_large(struct large *from, size_t n, uintptr_t addr, block_visit visit, void *arg)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t meta = atomic_load_explicit(&from[i].xmeta, memory_order_acquire);
		if (!meta || meta == SPARSE_CLAIMED)
			continue;
		uint64_t size = atomic_load_explicit(&from[i].xsize, memory_order_acquire);
		if (atomic_load_explicit(&from[i].xmeta, memory_order_relaxed) != meta)
			continue; /* freed meanwhile */
		struct block b = unpack_large(meta, size);
		visit(arg, addr + (i << LARGE_SHIFT) + ((meta & 0x7f) << 3), &b);
	}
}

static void scan_small(_Atomic uint64_t *from, size_t n, uintptr_t addr, block_visit visit,
		       void *arg)
{
	for (size_t i = 0; i < n; i++) {
		/* live_put(): what its slot is */
		uint64_t v = atomic_load_explicit(&from[i], memory_order_acquire);
		if (!v)
			continue;
		struct block b = unpack_small(v);
		visit(arg, addr + (i << mt_live_granule_shift), &b);
	}
}

/* Only pages that were written to: reading the others would give the program's process pages,
 * too. */
static void scan_leaf(const struct used *u, block_visit visit, void *arg)
{
	static unsigned char touched[LEAF_PAGES_MAX];
	size_t page = mt_prim_page_bytes();
	size_t pages = leaf_bytes(u->kind) / page;
	uintptr_t addr = (uintptr_t)u->region << REGION_SHIFT;
	size_t larges = page / sizeof(struct large), smalls = page / sizeof(uint64_t);
	bool known = mt_prim_touched((uintptr_t)u->leaf, pages, touched);

	for (size_t i = 0; i < pages; i++) {
		char *at = (char *)u->leaf + i * page;
		if (known && !touched[i])
			continue;
		if (is_of_large(u->kind))
			scan_large((struct large *)at, larges, addr + (i * larges << LARGE_SHIFT),
				   visit, arg);
		else
			scan_small((_Atomic uint64_t *)at, smalls,
				   addr + (i * smalls << mt_live_granule_shift), visit, arg);
	}
}

void mt_live_scan(block_visit visit, void *arg)
{
	const struct used *u = atomic_load_explicit(&mt_live_used, memory_order_acquire);

	for (; u; u = u->next)
		scan_leaf(u, visit, arg);
}

uint32_t mt_live_tick(void)
{
	return atomic_load_explicit(&mt_live_xtick, memory_order_acquire);
}

uint64_t mt_live_tick_ns(uint32_t tick)
{
	return tick < TICKS && tick_start ? tick_start[tick] : 0;
}

/* How long tick n lasts: see the bit budget in base/types.h. */
static uint64_t tick_length_ns(uint32_t n)
{
	uint64_t s = n < 32768 ? 1 : n < 49152 ? 4 : n < 57344 ? 16 : n < 61440 ? 64 : 256;

	return s * 1000 * 1000 * 1000;
}

void mt_live_advance(uint64_t now_ns, bool mark)
{
	uint32_t n = atomic_load_explicit(&mt_live_xtick, memory_order_relaxed);

	if (n + 1 >= TICKS || (!mark && now_ns - tick_start[n] < tick_length_ns(n)))
		return;
	tick_start[n + 1] = now_ns;
	atomic_store_explicit(&mt_live_xtick, n + 1, memory_order_release);
	mt_era_next();
}
