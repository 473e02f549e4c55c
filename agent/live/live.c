/* SPDX-License-Identifier: MIT
 *
 * live.c - the live map: finds a block's entry by its address, without a hash.
 *
 * The address space is cut into regions of 4 MiB. A region that blocks are in has leaves with one
 * entry per granule. Small blocks find theirs through the region's place, a word of its address and
 * one of its leaf, in an array of 32,768: a lookup is three loads and a change one store.
 * Neighbours have places of their own. Of regions 128 GiB apart, which have the same place, the
 * first one gets it; the others, and large blocks, go through live/regions.h. There is no lock and
 * no resize. Entries are in the heap's order, so neighbours share cache lines as their blocks do.
 *
 * Little is mapped that is not used, because mapped memory counts: for limits, and for mlockall().
 * That is half a MiB of places, for each region half a MiB of small leaf (one with granules of 16)
 * and 64 KiB of large leaf, and the origins as far as they were handed out.
 *
 *   small leaf  u32 per granule (32 bytes on glibc, 16 elsewhere): blocks below 1 KiB. Size, and a
 *               number for the rest: live/origins.h
 *   wide leaf   u64 per granule: the small blocks without a number, named so in the small leaf
 *   large leaf  {meta, size} per 1 KiB: blocks of 1 KiB and more. No two of them start in the same
 *               granule; bits 3..9 of the address are kept, so that no neighbour is taken for it.
 *   odd map     the same once more for blocks at address % 16 == 8, made when the first appears
 *
 * While blocks are sampled, small ones have a place in leaves of their own instead:
 * live/sampled.h.
 *
 * An entry belongs to the block's owner: the thread that malloc just gave it to, or the thread that
 * frees it. So plain loads and stores do, at a tenth of the cost of an atomic exchange. Two threads
 * that free one block at the same time count it twice, before libc ends the program for it.
 *
 * Any thread calls this. Invariants: an entry goes in after the real malloc and before the program
 * sees the block, and comes out before the real free. So an entry already there when malloc returns
 * its address means that the old block was freed unseen. Every small block's path is in
 * live/live_fast.h.
 *
 * An unseen free is found when a block starts in its place. A small block that starts in the first
 * KiB of a large one can be checked in the other map only, which costs more than all the rest. So
 * that check runs only where such frees are likely: after the first one found, and from the first
 * library loaded with RTLD_DEEPBIND or into another namespace (mt_live_suspect). Then live_small()
 * finds nothing, and every block takes the path through this file. A large entry's size is valid
 * while its meta is not 0 (stored before, read after; the scan reads meta twice).
 *
 * Empty pages of small leaves are given back; live/trim.c has the scheme, and why no entry is lost.
 * For that moment a region is closed: live_small() finds nothing there, so new entries come here
 * and go into the region's twin, a second leaf, and stay there until they are taken out. A lookup
 * that finds nothing in the leaf looks into the twin. An entry is in one of the two.
 */
#include "live/live.h"
#include "base/compiler.h"
#include "live/leaves.h"
#include "live/live_fast.h"
#include "live/sampled.h"
#include "live/ticks.h"

bool mt_live_ready(const void *p, size_t size)
{
	uintptr_t addr = plain_address(p);
	const struct block_roots *s = block_roots_of(addr);
	bool large = size >= LARGE_MIN;

	if (likely(s && leaf_of(large ? &s->xlarge : &s->xsmall)))
		return true;
	return mt_live_make_leaf(addr, large);
}

/* False: there is no entry. Of a block that nobody knows (live/origins.h), the slot is 0. */
static bool read_small(const struct block_roots *s, uintptr_t addr, const small_entry *e,
		       struct block *b)
{
	uint32_t v = e ? atomic_load_explicit(e, memory_order_acquire) : 0;

	if (v)
		*b = small_block(s, addr, v);
	return v;
}

static bool peek_small(const struct block_roots *s, uintptr_t addr, const small_entry *e,
		       struct block *b)
{
	return read_small(s, addr, e, b) && b->slot;
}

/* What an entry stands for is read before it goes: live/origins.h. */
static bool take_small(const struct block_roots *s, uintptr_t addr, small_entry *e, struct block *b)
{
	if (!read_small(s, addr, e, b))
		return false;
	atomic_store_explicit(e, 0, memory_order_release);
	return b->slot;
}

/* An entry of a small block that was freed unseen may lie where a large one starts now. */
static bool enter_large(uintptr_t addr, const struct block *b, struct block *old)
{
	const struct block_roots *s = block_roots_of(addr);
	struct large *l = large_at(&s->xlarge, addr);
	uint64_t stale = atomic_load_explicit(&l->xmeta, memory_order_relaxed);
	uint64_t stale_size = atomic_load_explicit(&l->xsize, memory_order_relaxed);

	if (unlikely(stale))
		/* never old meta, new size; see take_covering() */
		stale = atomic_exchange(&l->xmeta, 0);
	atomic_store_explicit(&l->xsize, b->size, memory_order_relaxed);
	atomic_store_explicit(&l->xmeta, pack_large(addr, b), memory_order_release);
	if (unlikely(stale)) {
		*old = unpack_meta(stale, stale_size);
		return true;
	}
	return take_small(s, addr, small_at(&s->xsmall, addr), old) ||
	       take_small(s, addr, small_at(&s->xtwin, addr), old) ||
	       mt_live_sparse_take(addr, old);
}

/* A large block reaches past its granule: a small one that starts there, and not before it, lies in
 * it. */
static bool take_covering(const struct block_roots *s, uintptr_t addr, struct block *old)
{
	struct large *l = large_at(&s->xlarge, addr);
	uint64_t meta = l ? atomic_load_explicit(&l->xmeta, memory_order_acquire) : 0;

	if (likely(!meta) || (meta & 0x7f) > (addr & (LARGE_MIN - 1)) >> 3)
		return false;
	*old = unpack_meta(meta, atomic_load_explicit(&l->xsize, memory_order_relaxed));
	/* Others may find it, too: whoever takes it out books it. */
	return atomic_compare_exchange_strong(&l->xmeta, &meta, 0);
}

/* Where a new entry goes: into the leaf, or, while the region is closed, into its twin. */
static small_entry *entry_for(const struct block_roots *s, uintptr_t addr)
{
	const region_leaf *closed = atomic_load_explicit(&mt_live_closed, memory_order_acquire);
	bool is_closed = unlikely(closed) && closed == &s->xsmall;

	return small_at(is_closed ? &s->xtwin : &s->xsmall, addr);
}

/* A block freed unseen may be in the leaf or in its twin, wherever the new entry goes. */
static bool enter_small(uintptr_t addr, const struct block *b, uint32_t origin, struct block *old)
{
	const struct block_roots *s = block_roots_of(addr);
	bool stale = take_small(s, addr, small_at(&s->xsmall, addr), old) ||
		     take_small(s, addr, small_at(&s->xtwin, addr), old);

	if (unlikely(!origin)) {
		atomic_store_explicit(wide_at(s, addr), pack_meta(b, b->size),
				      memory_order_relaxed);
		origin = ORIGIN_WIDE << LARGE_SHIFT;
	}
	live_put(entry_for(s, addr), b->size, origin);
	return unlikely(stale) || mt_live_sparse_take(addr, old) || take_covering(s, addr, old);
}

static enum live_entered entered(bool occupied)
{
	return unlikely(occupied) ? LIVE_OCCUPIED : LIVE_ENTERED;
}

/* The guard of `t` is set; the shared one has none. */
static enum live_entered enter_any(const struct thread *t, uintptr_t addr, const struct block *b,
				   uint32_t origin, struct block *old)
{
	if (unlikely(b->size >= LARGE_MIN))
		return entered(enter_large(addr, b, old));
	if (mt_live_sparse_put(addr, b, old))
		return entered(old->slot || take_covering(block_roots_of(addr), addr, old));
	if (origin == LIVE_OF_ITS_OWN)
		origin = mt_origins_entry_of_one(t, b->slot);
	if (unlikely(!origin) && !mt_live_make_wide(addr))
		return LIVE_NO_ROOM;
	if (unlikely(t->shared))
		atomic_fetch_add(&mt_live_unguarded, 1);
	bool occupied = enter_small(addr, b, origin, old);
	if (unlikely(t->shared))
		atomic_fetch_sub(&mt_live_unguarded, 1);
	return entered(occupied);
}

/* What it finds in the place starts in the same KiB. */
static enum live_entered enter(const struct thread *t, uintptr_t addr, const struct block *b,
			       uint32_t origin, struct block *old)
{
	mt_live_few_add(addr);
	enum live_entered done = enter_any(t, addr, b, origin, old);
	if (unlikely(done != LIVE_ENTERED))
		mt_live_few_remove(addr);
	return done;
}

enum live_entered mt_live_enter(const struct thread *t, void *p, size_t size, slot_id slot,
				uint32_t origin, struct block *old)
{
	struct block b = { size, slot, mt_live_tick(),
			   atomic_load_explicit(&t->xindex, memory_order_relaxed) };

	return enter(t, plain_address(p), &b, origin, old);
}

enum live_entered mt_live_restore(const struct thread *t, void *p, const struct block *b,
				  struct block *old)
{
	return enter(t, plain_address(p), b, 0, old);
}

static bool peek_large(const struct block_roots *s, uintptr_t addr, struct block *b)
{
	struct large *l = large_at(&s->xlarge, addr);
	uint64_t meta = l ? atomic_load_explicit(&l->xmeta, memory_order_acquire) : 0;

	if (!large_is_at(meta, addr))
		return false;
	*b = unpack_meta(meta, atomic_load_explicit(&l->xsize, memory_order_relaxed));
	return true;
}

static bool take_large(const struct block_roots *s, uintptr_t addr, struct block *b)
{
	if (!peek_large(s, addr, b))
		return false;
	atomic_store_explicit(&large_at(&s->xlarge, addr)->xmeta, 0, memory_order_release);
	return true;
}

struct block mt_live_take(const void *p)
{
	const struct block none = { 0, 0, 0, 0 };
	uintptr_t addr = plain_address(p);
	const struct block_roots *s = block_roots_of(addr);
	struct block b;

	if (unlikely(!s))
		return none;
	if (!mt_live_sparse_take(addr, &b) &&
	    !take_small(s, addr, small_at(&s->xsmall, addr), &b) && !take_large(s, addr, &b) &&
	    !take_small(s, addr, small_at(&s->xtwin, addr), &b))
		return none;
	mt_live_few_remove(addr);
	return b;
}

bool mt_live_peek(const void *p, struct block *b)
{
	uintptr_t addr = plain_address(p);
	const struct block_roots *s = block_roots_of(addr);

	return likely(s) &&
	       (mt_live_sparse_peek(addr, b) ||
		peek_small(s, addr, small_at(&s->xsmall, addr), b) ||
		peek_small(s, addr, small_at(&s->xtwin, addr), b) || peek_large(s, addr, b));
}

bool mt_live_knows(const void *p)
{
	struct block b;

	return !live_few_none(p) && mt_live_peek(p, &b);
}

/* The shortest way to "no", which most frees need while blocks are sampled. live_small() was
 * there, and is 0. */
bool mt_live_knows_large(const void *p)
{
	uintptr_t addr = plain_address(p);
	const struct region *r = region_of(addr);

	if (unlikely(!r))
		return false;
	const struct large *l = large_at(&r->even.xlarge, addr);
	uint64_t meta = l ? atomic_load_explicit(&l->xmeta, memory_order_relaxed) : 0;
	if (unlikely(large_is_at(meta, addr)))
		return true;
	return unlikely(leaf_of(&r->even.xtwin) || leaf_of(&r->xsparse)) && mt_live_knows(p);
}
