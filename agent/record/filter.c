/* SPDX-License-Identifier: MIT
 *
 * filter.c - sampling, weights, and the switch from one filter to the next. record/filter.h has the
 * design.
 *
 * Numbers are fixed point: e^-x by its series for small x, by squaring for others; logarithms by
 * squaring, one bit a step. Only recorded blocks come here.
 */
#include "record/filter.h"
#include "base/conf.h"
#include "base/prim_linux.h"
#include "base/set.h"
#include "base/state.h"
#include "base/thread_list.h"
#include "base/wide.h"
#include "live/live.h"
#include "record/filter_owner.h"
#include "record/loss.h"
#include "record/slots.h"
#include "unwind/stacks.h"

#include <memtop/wire.h>
#include <string.h>

#define PERIODS 1024u
#define RATES 64u /* as struct slot has bits for them */
#define KEY_SHIFT 10u
#define LN2_Q32 2977044472u
#define ONE ((uint64_t)1 << 63) /* 1.0 in Q63 */

_Atomic uint32_t mt_filter_on;
_Atomic uint32_t mt_filter_ever;
struct period mt_filter_period[PERIODS];
static uint32_t period_count = 1; /* written by one thread at a time: start-up, or the server */

static struct rate {
	uint64_t bytes;
	slot_id slot; /* the root's: where blocks go when no slot is left for their stack */
} rates[RATES];       /* 0 = exact */
static uint32_t rate_count = 1;

/* (node, epoch, rate) -> slot, for weighed blocks. An exact block's slot is found from the node by
 * one load. */
struct key {
	node_id node;
	uint32_t rate;
	uint64_t epoch;
};

struct item {
	struct key key;
	slot_id slot; /* 0 = there was none left */
	_Atomic uint32_t xnext;
};

static void *_Atomic item_chunks[WEIGHED_END >> KEY_SHIFT];
static struct set items = SET_INIT(1, item_chunks);

static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
	v = (v ^ v >> 27) * 0x94d049bb133111ebu;
	return v ^ v >> 31;
}

static uint32_t hash_key(const struct key *k)
{
	return (uint32_t)(mix(((uint64_t)k->node << 32 | k->rate) ^
			      k->epoch * 0x9e3779b97f4a7c15u) >>
			  32);
}

static uint32_t item_hash(const void *item)
{
	return hash_key(&((const struct item *)item)->key);
}

static bool item_same(const void *item, const void *key)
{
	const struct key *a = &((const struct item *)item)->key, *b = key;

	return a->node == b->node && a->rate == b->rate && a->epoch == b->epoch;
}

static void item_fill(void *item, const void *key)
{
	struct item *i = item;

	i->key = *(const struct key *)key;
	i->slot = mt_slots_new(i->key.node, i->key.epoch, i->key.rate);
	if (i->slot >= WEIGHED_END)
		i->slot = 0;
}

static _Atomic uint32_t *item_link(void *item)
{
	return &((struct item *)item)->xnext;
}

static const struct set_kind item_kind = {
	.bytes = sizeof(struct item),
	.chunk_shift = KEY_SHIFT,
	.limit = WEIGHED_END,
	.need = NEED_CALL_SITES,
	.hash = item_hash,
	.same = item_same,
	.fill = item_fill,
	.link = item_link,
};

static uint64_t draw(struct filtering *f)
{
	f->random += 0x9e3779b97f4a7c15u;
	return mix(f->random);
}

/* The thread's first event in this period: its countdown was another period's distance. */
MT_COLD void mt_filter_renew(struct filtering *f, uint32_t on)
{
	/* each state draws its own random sequence, seeded by its address and the clock */
	if (!f->random) {
		f->random = mix((uintptr_t)f ^ mt_prim_now_ns()) | 1;
		filter_put_off(f, FILTER_TIMED);
	}
	if (f->on == on)
		return;
	f->on = on;
	if (on & FILTER_SAMPLE)
		mt_filter_draw(f, &mt_filter_period[on >> FILTER_SHIFT]);
}

void mt_filter_draw(struct filtering *f, const struct period *p)
{
	uint64_t gap = (uint64_t)mt_filter_gap(f, p->sample);

	atomic_store_explicit(&f->xleft, gap - 1, memory_order_relaxed);
}

/* -log2(x / 2^64) in Q32, for x > 0. */
static uint64_t minus_log2(uint64_t x)
{
	unsigned zeros = (unsigned)__builtin_clzll(x);
	uint64_t mantissa = x << zeros; /* 1.63 */
	uint64_t fraction = 0;

	for (int bit = 31; bit >= 0; bit--) {
		struct wide square = wide_times(mantissa, mantissa); /* 2.126 */
		bool two = square.hi >> 63;
		fraction |= (uint64_t)two << bit;
		mantissa = two ? square.hi : wide_shift(square, 63);
	}
	return ((uint64_t)(zeros + 1) << 32) - fraction;
}

int64_t mt_filter_gap(struct filtering *f, uint64_t rate)
{
	uint64_t x = draw(f);
	uint64_t ln = wide_shift(wide_times(minus_log2(x ? x : 1), LN2_Q32), 16); /* -ln u, Q48 */
	struct wide gap = wide_times(ln, rate);
	bool fits = gap.hi < (uint64_t)1 << 47 && wide_shift(gap, 48) < INT64_MAX;

	return fits ? (int64_t)wide_shift(gap, 48) + 1 : INT64_MAX;
}

static uint64_t times(uint64_t a, uint64_t b) /* Q63 */
{
	return wide_shift(wide_times(a, b), 63);
}

/* 1 - e^-x in Q63; x in Q57, below 64. */
static uint64_t sample_chance(uint64_t x)
{
	unsigned halvings = 0;

	for (; x >> 52; x >>= 1) /* to below 2^-5 */
		halvings++;
	uint64_t small = x << 6;
	/* x - x^2/2 + x^3/6 - ... as x (1 - x/2 (1 - x/3 (1 - x/4 (...)))) */
	uint64_t sum = ONE;
	for (uint64_t k = 9; k > 1; k--)
		sum = ONE - times(small, sum) / k;
	uint64_t p = times(small, sum);
	for (; halvings; halvings--) /* 1 - (1-p)^2 */
		p = 2 * p - times(p, p);
	return p;
}

uint64_t mt_filter_blocks(size_t size, uint64_t rate, uint32_t *fraction)
{
	uint64_t s = size ? size : 1;

	*fraction = 0;
	if (!rate || s / 45 >= rate) /* e^-45: nobody will see the difference */
		return 1;
	uint64_t p = sample_chance(wide_over((struct wide){ s >> 7, s << 57 }, rate));
	if (!p)
		p = 1;
	uint64_t rest = ONE % p; /* 1 / p in Q32 */
	*fraction = (uint32_t)wide_over((struct wide){ rest >> 32, rest << 32 }, p);
	return ONE / p;
}

/* A new stack gets a slot while there is memory for counters; 0 = none. */
static slot_id slot_of(const struct key *key, bool make)
{
	uint32_t hash = hash_key(key), id = make ? set_intern(&items, &item_kind, hash, key, 0)
						 : set_find(&items, &item_kind, hash, key);

	return id ? ((struct item *)set_item(&items, &item_kind, id))->slot : 0;
}

struct booking mt_filter_weigh(struct filtering *f, const struct period *p, node_id node,
			       size_t size)
{
	struct key key = { node, p->rate, atomic_load_explicit(&mt_epoch, memory_order_relaxed) };
	struct booking w = { .slot = slot_of(&key, mt_arena_has(NEED_COUNTERS)) };
	uint32_t fraction;

	if (unlikely(!w.slot)) {
		key.node = mt_stacks_call_site(node);
		w.slot = slot_of(&key, true);
	}

	if (unlikely(!w.slot)) {
		mt_record_loss(MTW_LOSS_SLOTS, size);
		w.slot = rates[p->rate].slot;
	}
	w.blocks = mt_filter_blocks(size, p->sample, &fraction);
	bool up = (uint32_t)(draw(f) >> 32) < fraction;
	w.blocks += up;
	w.entry = SLOT_WEIGHED | (up ? SLOT_UP : 0) | w.slot;
	return w;
}

uint64_t mt_filter_rate(uint32_t rate)
{
	return rate < RATES ? rates[rate].bytes : 0;
}

uint64_t mt_filter_weight(const struct block *b)
{
	uint32_t fraction;

	if (likely(!(b->slot & SLOT_WEIGHED)))
		return 1;
	uint64_t rate = mt_filter_rate(mt_slots_at(b->slot & (WEIGHED_END - 1))->rate);
	return mt_filter_blocks(b->size, rate, &fraction) + !!(b->slot & SLOT_UP);
}

/* The ancestor that is `keep` frames away from the root, or the node itself. */
static node_id cut(node_id node, uint64_t keep)
{
	uint64_t depth = 0;

	for (node_id n = node; n; n = node_parent(mt_stacks_node(n)))
		depth++;
	for (; depth > keep; depth--)
		node = node_parent(mt_stacks_node(node));
	return node;
}

bool mt_filter_stack(const struct period *p, node_id *node)
{
	if (p->owners && !mt_filter_owner_wanted(p->owners, *node))
		return false;
	if (p->merge)
		*node = cut(*node, p->merge);
	return true;
}

bool mt_filter_module_wanted(const struct module *m)
{
	uint32_t on = atomic_load_explicit(&mt_filter_on, memory_order_acquire);
	struct owners *o = on & FILTER_STACK ? mt_filter_period[on >> FILTER_SHIFT].owners : NULL;

	return !o || mt_filter_owner_calls_wanted(o, m);
}

/* Number of a rate; RATES when there is no room. */
static uint32_t rate_number(uint64_t bytes)
{
	uint32_t i = 1;

	if (!bytes)
		return 0;
	while (i < rate_count && rates[i].bytes != bytes)
		i++;
	if (i < rate_count || i == RATES)
		return i;
	slot_id slot = mt_slots_new(0, atomic_load(&mt_epoch), i);
	if (!slot || slot >= WEIGHED_END)
		return RATES;
	rates[i] = (struct rate){ bytes, slot };
	rate_count = i + 1;
	return i;
}

/* The number of the equal period, or of a new one; 0 when there is no room. */
static uint32_t period_number(const struct period *want)
{
	uint32_t i = 1;

	while (i < period_count && memcmp(&mt_filter_period[i], want, sizeof(*want)))
		i++;
	if (i == PERIODS)
		return 0;
	if (i == period_count) {
		mt_filter_period[i] = *want;
		period_count++;
	}
	return i;
}

const char *mt_filter_update(void)
{
	const struct conf *c = &mt_conf;
	const char *wrong = NULL;
	struct period want;

	memset(&want, 0, sizeof(want)); /* compared as a whole */
	want.min_size = c->min_size;
	want.max_size = c->max_size ? c->max_size : UINT64_MAX;
	want.sample = c->sample;
	want.merge = c->merge;
	if (c->max_size && c->min_size > c->max_size)
		return "leaves nothing: min_size is larger than max_size";
	if (c->libs[0] || c->exclude[0])
		want.owners = mt_filter_owners(c->libs, c->exclude, &wrong);
	if (wrong)
		return wrong;
	want.rate = rate_number(want.sample);
	uint32_t on = (c->min_size || c->max_size ? FILTER_SIZE : 0) |
		      (want.sample ? FILTER_SAMPLE : 0) |
		      (want.owners || want.merge ? FILTER_STACK : 0);
	uint32_t number = on ? period_number(&want) : 0;
	if (want.rate == RATES || (on && !number))
		return "is one change of filters too many for this session";
	if (on)
		atomic_store(&mt_filter_ever, 1);
	if (!want.sample)
		mt_live_dense();
	on |= number << FILTER_SHIFT;
	uint32_t was = atomic_exchange(&mt_filter_on, on);
	if (on)
		atomic_fetch_or(&mt_era, ERA_FILTERED);
	else
		atomic_fetch_and(&mt_era, ~ERA_FILTERED);
	if (on != was)
		mt_threads_close(); /* each opens the gate of the new period */
	return NULL;
}
