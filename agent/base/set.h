/* SPDX-License-Identifier: MIT
 *
 * set.h - an insert-only hash set of numbered items that grows without moving anything.
 *
 * A split-ordered list (Shalev, Shavit, 2006): one linked list holds all items, sorted by hash. A
 * bucket is a sentinel in that list, and the table points to it. Growing doubles the number of
 * sentinels; each is made on its first use. No item moves and no reader waits. The original sorts
 * by bit-reversed hash. Here the TOP bits of the hash name a bucket, so the list is sorted by the
 * hash itself: bucket b of 2^k stands at b << (32 - k), and splits into itself and one new sentinel
 * between it and the next.
 *
 * Items are numbered from `first`, lie in chunks, and link by number, 4 bytes a link. Insertion is
 * one CAS of the predecessor's link (release); walkers load links with acquire. Nothing is ever
 * unlinked, so there is no ABA, and a predecessor stays one. A signal handler may insert while the
 * thread that it interrupted is inserting.
 *
 * The first buckets and the first chunk lie in the set itself, so a small program touches little
 * memory. The rest comes from the arena in doubling sizes. Two threads that race to insert one key
 * may leave a number that is filled but not linked. Its user may also reserve numbers itself, and
 * link some of them elsewhere (unwind/stacks.c does).
 *
 * struct set_kind makes the set generic. It is always a constant, so the compiler inlines
 * everything.
 */
#ifndef MT_BASE_SET_H
#define MT_BASE_SET_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/types.h"

#define SET_FIRST_LEVEL 7u /* 128 buckets to begin with */
#define SET_LEVELS 26u     /* at most 2^25 buckets */
#define SET_LOAD 2u        /* items a bucket before it grows */

#define SET_SENTINEL 0x80000000u /* a link to a sentinel; the rest is its number */
#define SET_END 0x7fffffffu

struct set_bucket {
	_Atomic uint32_t xstate; /* enum set_state */
	_Atomic uint32_t xnext;  /* link; valid once the sentinel is in the list */
};

enum set_state { SET_ABSENT = 0, SET_CLAIMED, SET_READY };

struct set {
	_Atomic uint32_t xlevel;  /* buckets = 2^level above SET_FIRST_LEVEL */
	_Atomic uint32_t xcount;  /* numbers below this are taken */
	_Atomic uint32_t xlinked; /* items in the list */
	_Atomic bool xgrowing;    /* a thread is making the next level */
	struct set_bucket first[1u << SET_FIRST_LEVEL];
	struct set_bucket *_Atomic xsegment[SET_LEVELS]; /* of level k: 2^(k-1) new buckets */
	void *_Atomic *xchunk;                           /* numbers >> chunk_shift; immutable */
};

/* Sentinel 0 stands before everything and is always there. */
#define SET_INIT(first_id, chunks)                                                                 \
	{                                                                                          \
		.xcount = (first_id), .first = { { SET_READY, SET_END } }, .xchunk = (chunks)      \
	}

struct set_kind {
	size_t bytes;         /* of an item */
	unsigned chunk_shift; /* 2^this items a chunk */
	uint32_t limit;       /* numbers stay below */
	enum need need;
	uint32_t (*hash)(const void *item);
	bool (*same)(const void *item, const void *key);
	void (*fill)(void *item, const void *key);
	_Atomic uint32_t *(*link)(void *item);
};

MT_INLINE void *set_item(struct set *s, const struct set_kind *kind, uint32_t id)
{
	char *chunk =
		atomic_load_explicit(&s->xchunk[id >> kind->chunk_shift], memory_order_acquire);

	return chunk + (id & ((1u << kind->chunk_shift) - 1)) * kind->bytes;
}

MT_INLINE struct set_bucket *set_bucket(struct set *s, uint32_t number)
{
	if (number < 1u << SET_FIRST_LEVEL)
		return &s->first[number];
	unsigned level = 32u - (unsigned)__builtin_clz(number);
	return atomic_load_explicit(&s->xsegment[level], memory_order_acquire) +
	       (number - (1u << (level - 1)));
}

/* Bucket b of 2^level: the number of its sentinel. Even ones were made at a lower level. */
MT_INLINE uint32_t set_number(unsigned level, uint32_t b)
{
	if (b == 0)
		return 0;
	unsigned even = (unsigned)__builtin_ctz(b);
	return (1u << (level - even - 1)) + (b >> (even + 1));
}

/* Where the sentinel stands among 32-bit hashes. */
MT_INLINE uint32_t set_place(uint32_t number)
{
	if (number == 0)
		return 0;
	unsigned level = 32u - (unsigned)__builtin_clz(number);
	return (((number - (1u << (level - 1))) << 1) | 1) << (32 - level);
}

struct set_at {
	_Atomic uint32_t *link; /* of the predecessor */
	uint32_t next;          /* the link's value: the first item behind it */
};

/* Walks from `at` to the last place that is not behind `hash` (a sentinel stands before the items
 * of its hash). Returns the number of the item that equals key, or 0. */
MT_INLINE uint32_t set_walk(struct set *s, const struct set_kind *kind, struct set_at *at,
			    uint32_t hash, const void *key)
{
	for (;;) {
		at->next = atomic_load_explicit(at->link, memory_order_acquire);
		if (at->next == SET_END)
			return 0;
		if (at->next & SET_SENTINEL) {
			uint32_t number = at->next & ~SET_SENTINEL;
			uint32_t place = set_place(number);
			if (place > hash || (place == hash && !key))
				return 0;
			at->link = &set_bucket(s, number)->xnext;
			continue;
		}
		void *item = set_item(s, kind, at->next);
		uint32_t other = kind->hash(item);
		if (other > hash || (other == hash && !key))
			return 0;
		if (other == hash && kind->same(item, key))
			return at->next;
		at->link = kind->link(item);
	}
}

/* A finished sentinel at or before `hash`: the nearest one unless memory is short. */
static struct set_bucket *set_enter(struct set *s, const struct set_kind *kind, unsigned level,
				    uint32_t b)
{
	struct set_bucket *bucket = set_bucket(s, set_number(level, b));
	uint32_t state = atomic_load_explicit(&bucket->xstate, memory_order_acquire);

	if (likely(state == SET_READY))
		return bucket;
	/* b > 0 here: sentinel 0 is made first. The one before it, by its own level. */
	uint32_t before = b - 1;
	unsigned even = before ? (unsigned)__builtin_ctz(before) : level;
	struct set_bucket *from = set_enter(s, kind, level - even, before >> even);
	if (state == SET_CLAIMED ||
	    !atomic_compare_exchange_strong_explicit(&bucket->xstate, &state, SET_CLAIMED,
						     memory_order_acquire, memory_order_relaxed))
		return from;
	uint32_t number = set_number(level, b), place = set_place(number);
	struct set_at at = { &from->xnext, 0 };
	do {
		set_walk(s, kind, &at, place, NULL);
		atomic_store_explicit(&bucket->xnext, at.next, memory_order_relaxed);
	} while (!atomic_compare_exchange_strong_explicit(at.link, &at.next, number | SET_SENTINEL,
							  memory_order_release,
							  memory_order_relaxed));
	atomic_store_explicit(&bucket->xstate, SET_READY, memory_order_release);
	return bucket;
}

static MT_COLD void set_grow(struct set *s, uint32_t level)
{
	if (level + 1 >= SET_LEVELS || atomic_exchange(&s->xgrowing, true))
		return;
	if (atomic_load(&s->xlevel) == level - SET_FIRST_LEVEL) {
		struct set_bucket *segment =
			mt_arena_alloc_for(NEED_FEW, sizeof(*segment) << level); /* 2^level new */
		if (segment) {
			atomic_store_explicit(&s->xsegment[level + 1], segment,
					      memory_order_release);
			atomic_store_explicit(&s->xlevel, level + 1 - SET_FIRST_LEVEL,
					      memory_order_release);
		}
	}
	atomic_store(&s->xgrowing, false);
}

/* The chunk that the number lies in, made if need be. False: no memory. */
static bool set_room(struct set *s, const struct set_kind *kind, uint32_t id)
{
	void *_Atomic *place = &s->xchunk[id >> kind->chunk_shift];

	return likely(arena_is_made(atomic_load_explicit(place, memory_order_acquire))) ||
	       mt_arena_place(place, kind->need, kind->bytes << kind->chunk_shift);
}

/* Reserves `n` numbers in a row, and returns the first; 0 when all are taken or memory is short. */
static uint32_t set_reserve(struct set *s, const struct set_kind *kind, uint32_t n)
{
	uint32_t id = atomic_load_explicit(&s->xcount, memory_order_relaxed);

	do {
		if (n > kind->limit || id > kind->limit - n)
			return 0;
		for (uint32_t at = id >> kind->chunk_shift; at <= (id + n - 1) >> kind->chunk_shift;
		     at++)
			if (!set_room(s, kind, at << kind->chunk_shift))
				return 0;
	} while (!atomic_compare_exchange_weak_explicit(
		&s->xcount, &id, id + n, memory_order_acq_rel, memory_order_relaxed));
	return id;
}

/* A sentinel to begin the walk at, for the key's hash. */
MT_INLINE struct set_at set_begin(struct set *s, const struct set_kind *kind, uint32_t hash)
{
	unsigned level = SET_FIRST_LEVEL + atomic_load_explicit(&s->xlevel, memory_order_acquire);

	return (struct set_at){ &set_enter(s, kind, level, hash >> (32 - level))->xnext, 0 };
}

/* The item that equals key, or 0. */
MT_INLINE uint32_t set_find(struct set *s, const struct set_kind *kind, uint32_t hash,
			    const void *key)
{
	struct set_at at = set_begin(s, kind, hash);

	return set_walk(s, kind, &at, hash, key);
}

/* Counts an item that was linked, and grows the set when due. */
MT_INLINE void set_linked(struct set *s)
{
	uint32_t level = SET_FIRST_LEVEL + atomic_load_explicit(&s->xlevel, memory_order_relaxed);

	if (unlikely(atomic_fetch_add_explicit(&s->xlinked, 1, memory_order_relaxed) >=
		     SET_LOAD << level))
		set_grow(s, level);
}

/* Finds, or inserts: the item `id`, which is filled and equals key; or with id 0 a new one. Returns
 * 0 when the key is absent and there is no room for it. */
MT_INLINE uint32_t set_intern(struct set *s, const struct set_kind *kind, uint32_t hash,
			      const void *key, uint32_t id)
{
	struct set_at at = set_begin(s, kind, hash);

	for (;;) {
		uint32_t found = set_walk(s, kind, &at, hash, key);
		if (found)
			return found;
		if (!id) {
			id = set_reserve(s, kind, 1);
			if (!id)
				return 0;
			kind->fill(set_item(s, kind, id), key);
		}
		atomic_store_explicit(kind->link(set_item(s, kind, id)), at.next,
				      memory_order_relaxed);
		if (atomic_compare_exchange_strong_explicit(
			    at.link, &at.next, id, memory_order_release, memory_order_relaxed)) {
			set_linked(s);
			return id;
		}
	}
}

/* Checks the whole list: sorted, no key twice, sentinels in place. Returns false on a violation. */
MT_INLINE bool set_check(struct set *s, const struct set_kind *kind, uint32_t *items)
{
	uint32_t count = atomic_load(&s->xcount), steps = 0;
	uint64_t last = 0;

	*items = 0;
	for (uint32_t at = atomic_load(&s->first[0].xnext); at != SET_END; steps++) {
		uint64_t key;
		if (steps > (SET_LOAD + 2) * (count + (1u << SET_FIRST_LEVEL)))
			return false; /* a circle */
		if (at & SET_SENTINEL) {
			struct set_bucket *b = set_bucket(s, at & ~SET_SENTINEL);
			key = (uint64_t)set_place(at & ~SET_SENTINEL) << 1;
			at = atomic_load(&b->xnext);
			if (key <= last)
				return false;
		} else {
			if (at >= count)
				return false;
			void *item = set_item(s, kind, at);
			key = ((uint64_t)kind->hash(item) << 1) | 1;
			at = atomic_load(kind->link(item));
			++*items;
			if (key < last)
				return false;
		}
		last = key;
	}
	return *items <= count;
}

#endif
