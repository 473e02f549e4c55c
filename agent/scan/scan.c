/* SPDX-License-Identifier: MIT
 *
 * scan.c - requests that need a walk over the live map: live blocks by thread and age, summed up or
 * by slot (collect/cohorts.c), and the parts of the process's memory (scan/scan_memory.c).
 *
 * The server walks the map in one go. It looks at the clock every few thousand blocks and serves
 * sockets and ticks, so that a walk over millions delays no viewer. One scan runs at a time; one
 * request of each kind waits per viewer, the newest. Counters go on meanwhile: a scan's sums cover
 * its duration, not one moment, and may differ from TOTALS. The last scan, after the target's end,
 * belongs to the final state and equals them.
 */
#include "scan/scan.h"
#include "collect/bits.h"
#include "collect/walk_pause.h"
#include "collect/cohorts.h"
#include "collect/memory.h"
#include "collect/output.h"
#include "collect/server.h"
#include "collect/viewer.h"
#include "encode/encode.h"
#include "live/scan.h"
#include "live/ticks.h"
#include "record/filter.h"
#include "record/heaps.h"
#include "scan/scan_memory.h"

#include <memtop/wire.h>

#define SIZES 65u
#define BIRTHS 65536u
#define BIRTHS_SENT 4096u /* neighbouring ticks are joined beyond */
#define ROW_BYTES 32u     /* a row at its longest, and to spare */
/* While others wait, a viewer loses its answer if it takes nothing for this long, or not all within
 * this long. */
#define STUCK_NS (10 * SECOND)
#define LONGEST_NS (60 * SECOND)

struct count {
	uint64_t blocks, bytes;
};

struct work {
	struct server *s;
	const uint64_t *slots;
	struct cohorts *cohorts; /* NULL = not asked for */
	struct walk_pause pause;
	struct count all, size[SIZES], thread[MTW_THREADS_MAX], birth[BIRTHS];
};

static void add(struct count *c, const struct block *b, uint64_t weight)
{
	c->blocks += weight;
	c->bytes += weight * b->size;
}

static void visit(void *arg, uintptr_t addr, const struct block *b)
{
	struct work *w = arg;

	(void)addr;
	walk_pause_take(w->s, &w->pause, 1);
	uint64_t weight = mt_filter_weight(b);
	slot_id slot = b->slot & SLOT_WEIGHED ? b->slot & (WEIGHED_END - 1) : b->slot;
	if (w->slots && (slot >= MTW_SLOTS_MAX || !bit_get(w->slots, slot)))
		return;
	if (w->cohorts)
		cohorts_add(w->cohorts, slot, b, weight);
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

static size_t row_bytes(uint32_t thread, const struct count *c)
{
	uint8_t row[ROW_BYTES];
	struct mtw_out o = { row, row + sizeof(row), false };

	put_count(&o, thread, c);
	return (size_t)(o.at - row);
}

/* Threads that do not fit in the frame are sent as thread 0, "other threads". */
static void put_threads(struct mtw_out *o, struct work *w)
{
	size_t room = (size_t)(o->end - o->at), used = 2 * ROW_BYTES; /* number of rows, row 0 */
	uint32_t n = 0;

	for (uint32_t i = 1; i < MTW_THREADS_MAX; i++) {
		if (!w->thread[i].blocks)
			continue;
		size_t bytes = row_bytes(i, &w->thread[i]);
		if (used + bytes <= room) {
			used += bytes;
			n++;
		} else {
			w->thread[0].blocks += w->thread[i].blocks;
			w->thread[0].bytes += w->thread[i].bytes;
			w->thread[i].blocks = 0;
		}
	}
	/* thread 0 always: an answer without a row could not be told from none */
	mtw_put(o, n + 1);
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

bool scan_ask(struct viewer *v, uint64_t request, enum mtw_kind kind, struct mtw_in *in, uint64_t n)
{
	uint64_t *slots = n ? memory_map(MTW_SLOTS_MAX / 8) : NULL;
	uint64_t id = 0;

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
		memory_unmap(slots, 0);
		return false;
	}
	scan_forget_request(&v->scan[kind]);
	v->scan[kind] = (struct scan_request){ true, request, slots };
	return true;
}

/* A walk. NULL: no memory for it. */
static struct work *look(struct server *s, const uint64_t *slots, struct cohorts *cohorts)
{
	struct work *w = memory_map(sizeof(*w));

	if (!w)
		return NULL;
	w->s = s;
	w->slots = slots;
	w->cohorts = cohorts;
	mt_live_scan(visit, w);
	mt_heaps_scan(visit, w);
	return w;
}

/* Threads or ages, of these slots (NULL: of all). False: no memory for it. */
static bool scan_blocks(struct server *s, enum mtw_kind kind, const uint64_t *slots,
			struct mtw_out *o)
{
	struct work *w = look(s, slots, NULL);

	if (!w)
		return false;
	if (kind == MTW_KIND_AGES)
		put_ages(o, w);
	else
		put_threads(o, w);
	memory_unmap(w, sizeof(*w));
	return true;
}

static struct cohorts *scan_cohorts(struct server *s, const uint64_t *slots)
{
	struct cohorts *c = cohorts_new();
	struct work *w = c ? look(s, slots, c) : NULL;

	if (w) {
		memory_unmap(w, sizeof(*w));
		return c;
	}
	cohorts_free(c);
	return NULL;
}

/* A finished payload in a mapping of SCRATCH_BYTES; NULL. */
static uint8_t *make_reply(struct server *s, const struct scan_request *r, enum mtw_kind kind,
			   size_t *len)
{
	uint8_t *reply = memory_map(SCRATCH_BYTES);
	struct mtw_out o = { reply, reply + SCRATCH_BYTES, false };
	bool good;

	if (!reply)
		return NULL;
	mtw_put(&o, r->request);
	good = kind == MTW_KIND_MEMORY ? scan_memory(s, &o) : scan_blocks(s, kind, r->slots, &o);
	*len = (size_t)(o.at - reply);
	if (good && !o.full)
		return reply;
	memory_unmap(reply, SCRATCH_BYTES);
	return NULL;
}

/* A reply passes the window: it was asked for, and is of bounded size. True: sent. */
static bool send_reply(struct scans *scans, struct viewer *v)
{
	static const unsigned frame_of[] = { MTW_SCAN_THREADS, MTW_SCAN_AGES, MTW_SCAN_MEMORY };
	const struct scan *scan = &scans->now;

	if (viewer_space(v) < scan->reply_len + 64)
		return false;
	viewer_frame(v, frame_of[scan->kind], scan->reply, scan->reply_len);
	return true;
}

/* Half of the window stays free for ticks: on a slow link they would wait behind all of it. True:
 * all is sent. */
static bool send_cohorts(struct server *s, struct viewer *v)
{
	struct scan *scan = &s->scans.now;
	size_t kept = (v->window < OUT_BYTES ? (size_t)v->window : OUT_BYTES) / 2 + 64;

	while (!scan->at.whole && viewer_room(v) > kept + COHORTS_PART_LEAST) {
		size_t room = viewer_room(v) - kept;
		size_t len = cohorts_encode(scan->cohorts, &scan->at, scan->request, s->scratch,
					    room < SCRATCH_BYTES ? room : SCRATCH_BYTES);
		viewer_frame(v, MTW_SCAN_COHORTS, s->scratch, len);
		scan->moved_ns = server_now();
	}
	return scan->at.whole;
}

static bool others_wait(const struct server *s, int viewer)
{
	for (int n = 0; n < VIEWERS_MAX; n++)
		for (int k = 0; n != viewer && k < MTW_KIND_COUNT; k++)
			if (s->viewer[n].state == VIEWER_OPEN && s->viewer[n].scan[k].waits)
				return true;
	return false;
}

bool scan_waits(const struct server *s)
{
	return s->scans.now.viewer < 0 && others_wait(s, -1);
}

static void scan_send(struct server *s)
{
	struct scan *scan = &s->scans.now;
	struct viewer *v = &s->viewer[scan->viewer];
	bool sent = v->state == VIEWER_OPEN &&
		    (scan->cohorts ? send_cohorts(s, v) : send_reply(&s->scans, v));

	uint64_t now = server_now();
	bool late = now - scan->moved_ns > STUCK_NS || now - scan->begun_ns > LONGEST_NS;
	if (sent || (late && others_wait(s, v->index)))
		scan_end(scan);
	if (sent)
		encode_pump(s, v, true);
	else if (v->state == VIEWER_OPEN)
		viewer_write(s, v);
}

/* Each viewer in turn. Takes the request out. */
static bool next_request(struct server *s, int *viewer, enum mtw_kind *kind, struct scan_request *r)
{
	for (int n = 0; n < VIEWERS_MAX; n++) {
		struct viewer *v = &s->viewer[(s->scans.turn + n) % VIEWERS_MAX];
		for (int k = 0; v->state == VIEWER_OPEN && k < MTW_KIND_COUNT; k++) {
			if (!v->scan[k].waits)
				continue;
			*r = v->scan[k];
			v->scan[k] = (struct scan_request){ 0 };
			*viewer = v->index;
			*kind = (enum mtw_kind)k;
			s->scans.turn = v->index + 1;
			return true;
		}
	}
	return false;
}

void scan_run(struct server *s)
{
	struct scan *scan = &s->scans.now;
	struct scan_request r;
	struct cohorts *cohorts = NULL;
	uint8_t *reply = NULL;
	size_t len = 0;

	if (s->over && scan->cohorts)
		scan_end(scan); /* the final state has them */
	if (scan->viewer >= 0) {
		scan_send(s);
		return;
	}
	if (!next_request(s, &scan->viewer, &scan->kind, &r))
		return;
	if (s->over && scan->kind == MTW_KIND_COHORTS) {
		scan_forget_request(&r);
		scan_end(scan);
		return;
	}
	if (scan->kind == MTW_KIND_COHORTS)
		cohorts = scan_cohorts(s, r.slots);
	else
		reply = make_reply(s, &r, scan->kind, &len);
	uint64_t request = r.request;
	scan_forget_request(&r);
	scan->reply = reply;
	scan->reply_len = len;
	scan->cohorts = cohorts;
	scan->request = request;
	scan->moved_ns = scan->begun_ns = server_now();
	if (scan->viewer >= 0 && (reply || (cohorts && !s->over))) {
		scan_send(s);
		return;
	}
	if (scan->viewer >= 0 && !s->over)
		viewers_notice(&s->notices, -1, scan->viewer, "the agent has no memory for a scan");
	scan_end(scan); /* or who asked is gone */
}

/* `reply` is given up unless it is whole. */
static void keep_last(struct last_scan *last, unsigned type, uint8_t *reply,
		      const struct mtw_out *o, bool good)
{
	if (!good || o->full) {
		memory_unmap(reply, SCRATCH_BYTES);
		return;
	}
	*last = (struct last_scan){ type, reply, (size_t)(o->at - reply) };
}

static void last_threads(struct server *s)
{
	struct cohorts *c = cohorts_new();
	struct work *w = look(s, NULL, c);
	uint8_t *reply = w ? memory_map(SCRATCH_BYTES) : NULL;
	struct mtw_out o = { reply, reply + SCRATCH_BYTES, false };

	if (reply) {
		mtw_put(&o, 0);
		put_threads(&o, w);
		keep_last(&s->scans.last[0], MTW_SCAN_THREADS, reply, &o, true);
		s->scans.last_cohorts = c;
	} else {
		cohorts_free(c);
	}
	memory_unmap(w, sizeof(*w));
}

/*
 * The target's memory is this process' as well, and still there. Not where the target waits for us
 * to end: mappings are read for milliseconds.
 */
static void last_memory(struct server *s)
{
	uint8_t *reply = s->dies_along ? NULL : memory_map(SCRATCH_BYTES);
	struct mtw_out o = { reply, reply + SCRATCH_BYTES, false };

	if (!reply)
		return;
	mtw_put(&o, 0);
	keep_last(&s->scans.last[1], MTW_SCAN_MEMORY, reply, &o, scan_memory(s, &o));
}

void scan_last(struct server *s)
{
	last_threads(s);
	last_memory(s);
}
