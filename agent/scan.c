/* SPDX-License-Identifier: MIT
 *
 * scan.c - whose blocks are alive, and since when: a walk over the live map on a viewer's request.
 *
 * The map is walked in one go, in the server; every few thousand blocks the clock is looked at, and
 * sockets and ticks get their turn, so that a walk over millions delays nobody. One scan at a time;
 * a second request is answered with a notice. Counters go on meanwhile: the sums of a scan are of its
 * duration, not of one moment, and need not equal TOTALS to the block. The last one, when the target
 * is gone, belongs to the final state and does equal them.
 */
#include "server.h"

#define BREATH_BLOCKS 8192u
#define BREATH_NS (20 * MILLI)
#define SIZES 65u
#define BIRTHS 65536u
#define BIRTHS_SENT 4096u  /* neighbouring ticks are joined beyond */
#define THREADS_SENT 4096u /* the rest is sent as thread 0, "other threads" */

struct count {
	uint64_t blocks, bytes;
};

struct work {
	struct server *s;
	const uint64_t *slots;
	uint32_t left;       /* blocks until the clock is looked at */
	uint64_t breath_ns;
	struct count all, size[SIZES], thread[MTW_THREADS_MAX], birth[BIRTHS];
};

static void add(struct count *c, const struct block *b, uint64_t weight)
{
	c->blocks += weight;
	c->bytes += weight * b->size;
}

static void visit(void *arg, const struct block *b)
{
	struct work *w = arg;

	if (!--w->left) {
		w->left = BREATH_BLOCKS;
		if (serve_now() - w->breath_ns > BREATH_NS) {
			serve_breathe(w->s);
			w->breath_ns = serve_now();
		}
	}
	uint64_t weight = mt_filter_weight(b);
	slot_id slot = b->slot & SLOT_WEIGHED ? b->slot & (WEIGHED_END - 1) : b->slot;
	if (w->slots && (slot >= MTW_SLOTS_MAX || !bit_get(w->slots, slot)))
		return;
	add(&w->all, b, weight);
	add(&w->size[b->size ? 64 - __builtin_clzll(b->size) - 1 : 0], b, weight);
	add(&w->thread[b->thread < MTW_THREADS_MAX ? b->thread : 0], b, weight);
	add(&w->birth[b->tick < BIRTHS ? b->tick : BIRTHS - 1], b, weight);
}

static void put_count(struct mtw_out *o, uint64_t id, const struct count *c)
{
	mtw_put(o, id);
	mtw_put(o, c->blocks);
	mtw_put(o, c->bytes);
}

static void put_threads(struct mtw_out *o, struct work *w)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < MTW_THREADS_MAX; i++) {
		if (!w->thread[i].blocks)
			continue;
		if (++n > THREADS_SENT) {
			w->thread[0].blocks += w->thread[i].blocks;
			w->thread[0].bytes += w->thread[i].bytes;
			w->thread[i].blocks = 0;
		}
	}
	n = n < THREADS_SENT ? n : THREADS_SENT;
	mtw_put(o, n + 1); /* thread 0 always: an answer without a row could not be told from none */
	for (uint32_t i = 0; i < MTW_THREADS_MAX; i++)
		if (!i || w->thread[i].blocks)
			put_count(o, i, &w->thread[i]);
}

static void put_births(struct mtw_out *o, struct work *w)
{
	uint32_t n = 0, joined = 1;

	for (uint32_t i = 0; i < BIRTHS; i++)
		n += w->birth[i].blocks != 0;
	while (n > BIRTHS_SENT) {
		joined *= 2;
		n = 0;
		for (uint32_t i = 0; i < BIRTHS; i += joined) {
			for (uint32_t k = i + joined / 2; k < i + joined; k++) {
				w->birth[i].blocks += w->birth[k].blocks;
				w->birth[i].bytes += w->birth[k].bytes;
				w->birth[k].blocks = w->birth[k].bytes = 0;
			}
			n += w->birth[i].blocks != 0;
		}
	}
	mtw_put(o, n);
	for (uint32_t i = 0; i < BIRTHS; i++)
		if (w->birth[i].blocks)
			put_count(o, mt_live_tick_ns(i), &w->birth[i]);
}

static void put_ages(struct mtw_out *o, struct work *w)
{
	uint32_t n = 0;

	mtw_put(o, w->all.blocks);
	mtw_put(o, w->all.bytes);
	put_births(o, w);
	for (uint32_t i = 0; i < SIZES; i++)
		n += w->size[i].blocks != 0;
	mtw_put(o, n);
	for (uint32_t i = 0; i < SIZES; i++)
		if (w->size[i].blocks)
			put_count(o, i, &w->size[i]);
	put_threads(o, w);
}

void scan_drop(struct server *s, int viewer)
{
	struct scan *scan = &s->scan;

	if (scan->viewer != viewer)
		return;
	scan->viewer = -1;
	serve_unmap(scan->reply, scan->reply_mapped);
	scan->reply = NULL;
	if (s->scanning)
		return; /* the walk still reads the bitmap */
	serve_unmap(scan->slots, scan->slots_bytes);
	scan->slots = NULL;
}

bool scan_begin(struct server *s, struct viewer *v, uint64_t request, enum scan_kind kind,
		struct mtw_in *in, uint64_t n)
{
	struct scan *scan = &s->scan;
	uint64_t id = 0;

	if (scan->viewer >= 0 || s->scanning)
		return false;
	uint64_t *slots = n ? serve_map(MTW_SLOTS_MAX / 8) : NULL;
	if (n && !slots)
		return false;
	for (uint64_t i = 0; i < n && !in->bad; i++) {
		id += mtw_get(in);
		if (id >= MTW_SLOTS_MAX)
			in->bad = true;
		else
			bit_set(slots, (uint32_t)id);
	}
	if (in->bad) {
		serve_unmap(slots, 0);
		return false;
	}
	*scan = (struct scan){ .viewer = v->index, .request = request, .kind = kind, .slots = slots,
			       .slots_bytes = MTW_SLOTS_MAX / 8 };
	return true;
}

static void walk(struct server *s, struct work *w, const uint64_t *slots)
{
	bool nested = s->scanning; /* the target ended while one was under way */

	w->s = s;
	w->slots = slots;
	w->left = BREATH_BLOCKS;
	w->breath_ns = serve_now();
	s->scanning = true;
	mt_live_scan(visit, w);
	s->scanning = nested;
}

void scan_run(struct server *s)
{
	struct scan *scan = &s->scan;

	if (scan->viewer < 0 || scan->reply) {
		scan_send(s);
		return;
	}
	struct work *w = serve_map(sizeof(*w));
	if (!w) {
		command_notice(s, -1, scan->viewer, "the agent has no memory for a scan");
		scan_drop(s, scan->viewer);
		return;
	}
	walk(s, w, scan->slots);
	if (scan->viewer >= 0)
		scan->reply = serve_map(SCRATCH_BYTES);
	if (scan->reply) {
		struct mtw_out o = { scan->reply, scan->reply + SCRATCH_BYTES, false };
		scan->reply_mapped = SCRATCH_BYTES;
		mtw_put(&o, scan->request);
		if (scan->kind == SCAN_AGES)
			put_ages(&o, w);
		else
			put_threads(&o, w);
		scan->reply_len = (size_t)(o.at - scan->reply);
	}
	serve_unmap(scan->slots, scan->slots_bytes);
	scan->slots = NULL;
	serve_unmap(w, sizeof(*w));
	scan_send(s);
}

void scan_last(struct server *s)
{
	struct work *w = serve_map(sizeof(*w));

	if (!w)
		return;
	walk(s, w, NULL);
	s->last_threads = serve_map(SCRATCH_BYTES);
	if (s->last_threads) {
		struct mtw_out o = { s->last_threads, s->last_threads + SCRATCH_BYTES, false };
		mtw_put(&o, 0);
		put_threads(&o, w);
		s->last_threads_len = (size_t)(o.at - s->last_threads);
	}
	serve_unmap(w, sizeof(*w));
}

/* A reply passes the window: it was asked for, and is of bounded size. */
void scan_send(struct server *s)
{
	struct scan *scan = &s->scan;
	struct viewer *v = scan->viewer >= 0 ? &s->viewer[scan->viewer] : NULL;

	if (!v || !scan->reply || v->state != VIEWER_OPEN || viewer_space(v) < scan->reply_len + 64)
		return;
	viewer_frame(v, scan->kind == SCAN_AGES ? MTW_SCAN_AGES : MTW_SCAN_THREADS, scan->reply,
		     scan->reply_len);
	v->wants = true;
	scan_drop(s, scan->viewer);
	encode_pump(s, v, true);
}
