/* SPDX-License-Identifier: MIT
 *
 * slot_snapshots.c - how much of each slot was alive at given instants: a chain of instants, each
 * with the changes since the one before.
 *
 *     live(instant, slot) = the entry of the newest kept instant <= it that has one for this slot,
 *     else 0
 *
 * Entries are varints (+slot, blocks, bytes), ascending. An instant that is given up passes its
 * entries to the next one, where that has none of its own; to the first one only those that hold
 * something, or the first would grow with every slot that ever was. Marks are one such chain
 * (collect/marks.c), the samples that growth is judged by another (collect/samples.c).
 *
 * If a merge hits the instant that a viewer is receiving, the viewer starts again with the merged
 * one. Entries that it already has are repeated or replaced, never contradicted.
 */
#include "collect/slot_snapshots.h"
#include "collect/memory.h"
#include "collect/output.h"
#include "collect/server.h"
#include "collect/viewer.h"
#include "record/slots.h"

#include <memtop/wire.h>

#define ENTRY_BYTES 25u
#define PART_BYTES 32768u

struct taking {
	uint32_t since; /* pass */
	uint64_t epoch; /* slots of later ones have no entry */
	kept_later later;
	void *arg;
	struct mtw_out *o; /* NULL = entries are counted alone */
	uint64_t entries;
	uint32_t before;
};

static void visit(struct sums *sums, struct taking *t, slot_id id)
{
	struct sum room;
	const struct sum *sum = sums_at(sums, id, &room);

	if (!sum || sum->changed <= t->since)
		return;
	uint64_t blocks = sum->now.alloc_blocks - sum->now.free_blocks;
	bool later = mt_slots_at(id)->epoch > t->epoch;
	if (later && t->o)
		t->later(sums, t->arg, id, sum);
	if (later || (!t->since && !blocks))
		return;
	t->entries++;
	if (!t->o)
		return;
	mtw_put(t->o, id - t->before);
	mtw_put(t->o, blocks);
	mtw_put(t->o, sum->now.alloc_bytes - sum->now.free_bytes);
	t->before = id;
}

static void walk(struct sums *sums, struct taking *t)
{
	for (uint32_t g = 0; g * SUM_GROUP < sums->slot_limit; g++) {
		const struct sum_chunk *c = sums->chunk[g / (SUM_CHUNK / SUM_GROUP)];
		if (!c || c->group[g % (SUM_CHUNK / SUM_GROUP)] <= t->since)
			continue;
		for (slot_id id = g * SUM_GROUP; id < (g + 1) * SUM_GROUP; id++)
			visit(sums, t, id);
	}
}

static bool keep(struct snapshot *k, const uint8_t *buf, size_t len, size_t *total)
{
	/* An empty one is kept as well: it says that nothing changed since the one before. */
	k->mapped = len ? len : 1;
	k->live = memory_map(k->mapped);
	if (!k->live)
		return false;
	memcpy(k->live, buf, len);
	k->bytes = len;
	*total += k->mapped;
	return true;
}

void snapshot_forget(struct snapshot *k, size_t *total)
{
	if (!k->live)
		return;
	*total -= k->mapped;
	memory_unmap(k->live, k->mapped);
	k->live = NULL;
	k->bytes = k->mapped = 0;
}

bool snapshot_take(struct sums *sums, struct snapshot *k, uint32_t since, uint64_t epoch,
		   kept_later later, void *arg, size_t *total)
{
	struct taking count = { .since = since, .epoch = epoch }, t = count;

	k->pass = sums->pass;
	walk(sums, &count);
	size_t size = count.entries * ENTRY_BYTES + 1;
	uint8_t *buf = memory_map(size);
	struct mtw_out o = { buf, buf ? buf + size : NULL, false };
	t.later = later;
	t.arg = arg;
	t.o = &o;
	walk(sums, &t); /* without memory, too: for `later` */
	bool ok = buf && keep(k, buf, (size_t)(o.at - buf), total);
	memory_unmap(buf, size);
	return ok;
}

struct entry {
	uint64_t slot, blocks, bytes;
};

static bool next_entry(struct mtw_in *in, struct entry *e)
{
	if (in->at >= in->end) {
		e->slot = UINT64_MAX;
		return false;
	}
	e->slot += mtw_get(in);
	e->blocks = mtw_get(in);
	e->bytes = mtw_get(in);
	return true;
}

/* Both, by slot; the newer one's where both have it. first: those that hold nothing say nothing. */
static void overlay(const struct snapshot *older, const struct snapshot *newer, bool first,
		    struct mtw_out *o)
{
	struct mtw_in a = { older->live, older->live + older->bytes, false };
	struct mtw_in b = { newer->live, newer->live + newer->bytes, false };
	struct entry old = { 0, 0, 0 }, new = { 0, 0, 0 };
	uint64_t before = 0;

	next_entry(&a, &old);
	next_entry(&b, &new);
	while (old.slot != UINT64_MAX || new.slot != UINT64_MAX) {
		const struct entry *e = old.slot < new.slot ? &old : &new;
		bool both = old.slot == new.slot;
		if (!first || e->blocks || e->bytes) {
			mtw_put(o, e->slot - before);
			mtw_put(o, e->blocks);
			mtw_put(o, e->bytes);
			before = e->slot;
		}
		if (e == &old || both)
			next_entry(&a, &old);
		if (e == &new)
			next_entry(&b, &new);
	}
}

bool snapshot_merge(struct snapshot *older, struct snapshot *to, bool first, size_t *total)
{
	size_t size = older->bytes + to->bytes + 64;

	if (!older->live || !to->live)
		return true;
	uint8_t *buf = memory_map(size);
	if (!buf)
		return false;
	struct mtw_out o = { buf, buf + size, false };
	overlay(older, to, first, &o);
	snapshot_forget(to, total);
	bool ok = keep(to, buf, (size_t)(o.at - buf), total);
	to->version++;
	memory_unmap(buf, size);
	return ok;
}

/* One part of k's entries from where this viewer stands. False: no room. */
static bool send_part(struct server *s, struct viewer *v, unsigned type, const struct snapshot *k,
		      struct snapshot_at *at)
{
	size_t room = viewer_room(v);
	struct mtw_in in = { k->live + at->offset, k->live + k->bytes, false };
	struct mtw_in count = in;
	struct entry e = { 0, 0, 0 };
	uint64_t n = 0;

	if (room < 512)
		return false;
	room = room - 256 < PART_BYTES ? room - 256 : PART_BYTES;
	while (count.at < count.end && (size_t)(count.at - in.at) + ENTRY_BYTES < room) {
		next_entry(&count, &e);
		n++;
	}
	struct mtw_out o = { s->scratch, s->scratch + SCRATCH_BYTES, false };
	at->whole = count.at >= count.end;
	mtw_put(&o, at->id);
	mtw_put(&o, at->whole);
	mtw_put(&o, n);
	e.slot = at->slot;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t before = e.slot;
		next_entry(&in, &e);
		mtw_put(&o, i ? e.slot - before : e.slot);
		mtw_put(&o, e.blocks);
		mtw_put(&o, e.bytes);
	}
	viewer_frame(v, type, s->scratch, (size_t)(o.at - s->scratch));
	at->offset = (size_t)(in.at - k->live);
	at->slot = (uint32_t)e.slot;
	return true;
}

bool snapshot_send(struct server *s, struct viewer *v, unsigned type, uint32_t id,
		   const struct snapshot *k, struct snapshot_at *at)
{
	if (at->id != id || at->version != k->version || at->whole)
		*at = (struct snapshot_at){ .id = id, .version = k->version };
	while (!at->whole)
		if (!send_part(s, v, type, k, at))
			return false;
	return true;
}
