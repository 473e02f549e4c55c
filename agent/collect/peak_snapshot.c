/* SPDX-License-Identifier: MIT
 *
 * peak_snapshot.c - the counters at the heap's peak, by slot, for viewers.
 *
 * The target's threads keep them where they are (record/peak.c), so nothing is late here: a
 * snapshot taken any time later is of the peak's instant. It is taken for viewers, once a second at
 * most and for a small share of the time; for a dump, and with the final state, always. A viewer
 * then gets the counters that differ from the last one that it has whole; the sums of slots do the
 * same for COUNTS.
 *
 * A peak that begins while its snapshot is taken breaks it off. What was read then stays, marked as
 * changed in the one to come. A heap that turns over while it slowly rises has new peaks all the
 * time: after some tries in vain, the next one holds them back. Viewers are served
 * while it is taken; when the target ends meanwhile, the final state takes one of its own, and that
 * breaks it off, too.
 *
 * MEMORY: PEAK_CHUNK slots at a time; beyond mark_memory= there is no snapshot.
 */
#include "collect/peak_snapshot.h"
#include "base/conf.h"
#include "collect/walk_pause.h"
#include "collect/memory.h"
#include "collect/output.h"
#include "collect/server.h"
#include "collect/sums.h"
#include "collect/viewer.h"
#include "record/peak.h"
#include "record/slots.h"

#include <memtop/wire.h>

#define EVERY_NS SECOND
#define SHARE 50u   /* of the time, one part at most */
#define PATIENCE 2u /* tries */
#define PART_BYTES 32768u
#define HEAD_BYTES 128u
#define ENTRY_BYTES 45u

struct peak_slot {
	struct tally then;
	uint32_t changed; /* serial of the snapshot that it last differed in; 0 = never met */
};

struct peak_chunk {
	struct peak_slot slot[SUM_CHUNK];
};

bool peak_snapshot_init(struct server *s)
{
	s->peak.chunk = memory_map(SUM_CHUNKS * sizeof(*s->peak.chunk));
	return s->peak.chunk;
}

static struct peak_slot *make_slot(struct peak_snapshot *p, slot_id id)
{
	struct peak_chunk **c = &p->chunk[id / SUM_CHUNK];

	if (!*c && p->bytes + sizeof(**c) <= mt_conf.mark_memory) {
		*c = memory_map(sizeof(**c));
		p->bytes += *c ? sizeof(**c) : 0;
	}
	return *c ? &(*c)->slot[id % SUM_CHUNK] : NULL;
}

/* A slot that the pass has not met began after it, and no viewer knows it. False: no memory, or no
 * counters that can be. */
static bool take_slot(struct server *s, slot_id id, const struct tally *is)
{
	struct peak_snapshot *p = &s->peak;
	struct sum room;

	if ((!is->alloc_blocks && !is->free_blocks) || !sums_at(&s->sums, id, &room))
		return true;
	/* Threads that share a state do not wait for each other's copy: it may lack an event. */
	bool sound = is->free_blocks <= is->alloc_blocks && is->free_bytes <= is->alloc_bytes;
	struct peak_slot *to = sound ? make_slot(p, id) : NULL;
	if (!to)
		return false;
	if (memcmp(&to->then, is, sizeof(*is))) {
		to->then = *is;
		to->changed = p->serial + 1;
	}
	p->then.alloc_blocks += is->alloc_blocks;
	p->then.alloc_bytes += is->alloc_bytes;
	p->then.free_blocks += is->free_blocks;
	p->then.free_bytes += is->free_bytes;
	return true;
}

static bool take_page(struct server *s, uint32_t number, uint32_t page)
{
	struct tally sum[PAGE_SLOTS];

	if (!mt_slots_at_peak(number, page, sum))
		return false;
	for (uint32_t i = 0; i < PAGE_SLOTS; i++)
		if (!take_slot(s, page * PAGE_SLOTS + i, &sum[i]))
			return false;
	return true;
}

static bool take_pages(struct server *s, uint32_t number)
{
	uint32_t pages = (mt_slots_count() + PAGE_SLOTS - 1) / PAGE_SLOTS, walk = s->peak.walk;
	struct walk_pause pause = { 0, 0 };

	for (uint32_t i = SLOT_ROOT / PAGE_SLOTS; i < pages; i++) {
		walk_pause_take(s, &pause, PAGE_SLOTS);
		if (s->peak.walk != walk || !take_page(s, number, i))
			return false;
	}
	return true;
}

static bool walk(struct server *s, uint32_t number)
{
	uint32_t mine = ++s->peak.walk;

	s->peak.whole = false;
	s->peak.walking = true;
	memset(&s->peak.then, 0, sizeof(s->peak.then));
	bool whole = take_pages(s, number);
	if (s->peak.walk == mine)
		s->peak.walking = false;
	return whole;
}

/* Threads publish in steps: their peak is exact to the steps' sum. Where it is off by more, a
 * thread lost its cpu while it began the peak, and the heap fell: the next rise counts. */
static void compare(struct server *s, uint32_t number)
{
	uint64_t live = s->peak.then.alloc_bytes - s->peak.then.free_bytes;

	if (live > s->sums.peak_bytes) {
		s->sums.seen_peak = s->sums.peak_bytes = live;
		s->sums.seen_peak_ns = s->sums.peak_ns = s->peak.time_ns;
	}
	if (live + live / PEAK_SHARE + s->sums.peak_error < s->sums.peak_bytes)
		mt_peak_correct(number, (int64_t)live);
}

static bool is_watched(const struct server *s)
{
	for (int i = 0; i < VIEWERS_MAX; i++)
		if (s->viewer[i].state == VIEWER_OPEN)
			return true;
	return false;
}

bool peak_snapshot_take(struct server *s)
{
	uint64_t time_ns, now = server_now();
	uint32_t number = mt_peak_newest(&time_ns);

	if (!number || (s->peak.whole && number == s->peak.number))
		return true;
	/* One that began after the pass may have slots that the pass has not met. */
	if ((number != s->sums.peak_number || s->peak.walking) && !s->over) {
		s->peak.broken += !s->peak.walking;
		return false;
	}
	bool whole = walk(s, number);
	s->peak.broken = whole ? 0 : s->peak.broken + 1;
	uint64_t took = server_now() - now;
	s->peak.next_ns = now + (took * SHARE > EVERY_NS ? took * SHARE : EVERY_NS);
	if (!whole)
		return false;
	s->peak.number = number;
	s->peak.time_ns = time_ns;
	s->peak.whole = true;
	s->peak.serial++;
	compare(s, number);
	return true;
}

static bool is_due(const struct server *s)
{
	return s->over || (server_now() >= s->peak.next_ns && is_watched(s));
}

void peak_snapshot_before_pass(const struct server *s)
{
	mt_peak_hold(s->peak.broken >= PATIENCE && is_due(s));
}

void peak_snapshot_tick(struct server *s)
{
	if (is_due(s))
		peak_snapshot_take(s);
	if (!s->peak.walking)
		mt_peak_hold(false);
}

static struct mtw_out begin_part(struct server *s)
{
	return (struct mtw_out){ s->scratch + HEAD_BYTES, s->scratch + SCRATCH_BYTES, false };
}

static void send_part(struct server *s, struct viewer *v, const struct mtw_out *entries,
		      uint64_t count, unsigned flags)
{
	const struct peak_snapshot *p = &s->peak;
	size_t len = (size_t)(entries->at - (s->scratch + HEAD_BYTES));
	struct mtw_out o = { s->scratch, s->scratch + HEAD_BYTES, false };

	mtw_put(&o, p->serial);
	mtw_put(&o, flags);
	mtw_put(&o, p->time_ns);
	mtw_put(&o, p->then.alloc_blocks);
	mtw_put(&o, p->then.alloc_bytes);
	mtw_put(&o, p->then.free_blocks);
	mtw_put(&o, p->then.free_bytes);
	mtw_put(&o, count);
	memmove(o.at, s->scratch + HEAD_BYTES, len);
	viewer_frame(v, MTW_PEAK, s->scratch, (size_t)(o.at - s->scratch) + len);
}

static const struct peak_slot *slot_at(const struct peak_snapshot *p, slot_id id)
{
	const struct peak_chunk *c = p->chunk[id / SUM_CHUNK];

	return c ? &c->slot[id % SUM_CHUNK] : NULL;
}

/* From where the viewer stands. False: no room. */
static bool part(struct server *s, struct viewer *v)
{
	struct peak_at *at = &v->peak_at;
	size_t room = viewer_room(v);
	uint32_t before = 0, end = s->sums.slot_limit;
	uint64_t count = 0;

	if (room < 1024)
		return false;
	room = room - 512 < PART_BYTES ? room - 512 : PART_BYTES;
	unsigned flags = at->slot ? 0 : MTW_PART_FIRST;
	struct mtw_out o = begin_part(s);
	for (; at->slot < end; at->slot++) {
		const struct peak_slot *k = slot_at(&s->peak, at->slot);
		if (!k || k->changed <= at->had)
			continue;
		if ((size_t)(o.at - s->scratch) + ENTRY_BYTES > room)
			break;
		mtw_put(&o, at->slot - before);
		mtw_put(&o, k->then.alloc_blocks);
		mtw_put(&o, k->then.alloc_bytes);
		mtw_put(&o, k->then.free_blocks);
		mtw_put(&o, k->then.free_bytes);
		before = at->slot;
		count++;
	}
	send_part(s, v, &o, count, flags | (at->slot >= end ? MTW_PART_LAST : 0));
	if (at->slot >= end)
		at->had = at->serial;
	return true;
}

bool peak_snapshot_send(struct server *s, struct viewer *v)
{
	struct peak_at *at = &v->peak_at;

	if (!s->peak.whole)
		return true;
	if (at->serial != s->peak.serial) {
		at->serial = s->peak.serial;
		at->slot = 0;
	}
	while (at->had != at->serial)
		if (!part(s, v))
			return false;
	return true;
}
