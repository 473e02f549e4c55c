/* SPDX-License-Identifier: MIT
 *
 * marks.c - marks: the epoch moves on, and what was live then is kept.
 *
 * Blocks say by their slot's epoch whether they were born before a mark. What viewers cannot work out
 * is how much of each slot was alive at the mark; so that is kept here, for the slots that changed since
 * the mark before:
 *
 *     live(mark, slot) = the entry of the newest kept mark <= mark that has one for this slot, else 0
 *
 * Entries are varints (+slot, blocks, bytes), ascending. Slots of epochs after the mark have nothing
 * to do with it; they are touched, so that the next mark finds them changed. A mark that is dropped
 * or reduced to its totals gives its entries to the next one, where that has none of its own.
 *
 * A viewer may be in the middle of a mark when it is merged: it starts again with the merged one. What
 * it had taken already is repeated or overruled, never contradicted.
 */
#include "server.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#define ENTRY_BYTES 25u
#define PART_BYTES 32768u

bool marks_init(struct server *s)
{
	s->mark = serve_map(MTW_MARKS_MAX * sizeof(*s->mark));
	return s->mark;
}

static struct mark *by_id(struct server *s, uint32_t id)
{
	struct mark *m = id && id <= s->mark_last ? &s->mark[id] : NULL;

	return m && !(m->flags & MTW_MARK_DROPPED) ? m : NULL;
}

/* The nearest one with entries of its own, before or after id; NULL = none. */
static struct mark *neighbour(struct server *s, uint32_t id, int step)
{
	for (id += (uint32_t)step; id && id <= s->mark_last; id += (uint32_t)step)
		if (s->mark[id].live)
			return &s->mark[id];
	return NULL;
}

static bool name_taken(struct server *s, const char *name, uint32_t but)
{
	static const char reserved[][6] = { "start", "peak", "end", "now" };

	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (!strcmp(name, reserved[i]))
			return true;
	for (uint32_t id = 1; id <= s->mark_last; id++)
		if (id != but && by_id(s, id) && !strcmp(s->mark[id].name, name))
			return true;
	return false;
}

/* At most max bytes, not in the middle of a UTF-8 character. */
static size_t cut(const char *text, size_t max)
{
	size_t len = strlen(text);

	if (len <= max)
		return len;
	while (max && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

static void give_name(struct server *s, struct mark *m, const char *wanted)
{
	char base[MTW_NAME_MAX + 1], name[MTW_NAME_MAX + 1], suffix[12] = "";

	if (wanted[0])
		mt_format(base, cut(wanted, MTW_NAME_MAX) + 1, "%s", wanted);
	else
		mt_format(base, sizeof(base), "m%u", m->id);
	for (unsigned n = 2;; n++) {
		size_t tail = strlen(suffix), head = cut(base, MTW_NAME_MAX - tail);
		memcpy(name, base, head);
		memcpy(name + head, suffix, tail + 1);
		if (!name_taken(s, name, m->id))
			break;
		mt_format(suffix, sizeof(suffix), "-%u", n);
	}
	memcpy(m->name, name, sizeof(name));
}

static void subtract(struct tally *from, const struct tally *t)
{
	from->alloc_blocks -= t->alloc_blocks;
	from->alloc_bytes -= t->alloc_bytes;
	from->free_blocks -= t->free_blocks;
	from->free_bytes -= t->free_bytes;
}

/*
 * One walk over what changed since `since`. With o == NULL it counts the entries; else it writes
 * them, takes slots of later epochs out of m->then, and touches those.
 */
static uint64_t walk(struct server *s, struct mark *m, uint32_t since, struct mtw_out *o)
{
	uint64_t n = 0;
	uint32_t before = 0;

	for (uint32_t g = 0; g * SUM_GROUP < s->slot_limit; g++) {
		const struct sum_chunk *c = s->chunk[g / (SUM_CHUNK / SUM_GROUP)];
		if (!c || c->group[g % (SUM_CHUNK / SUM_GROUP)] <= since)
			continue;
		for (slot_id id = g * SUM_GROUP; id < (g + 1) * SUM_GROUP; id++) {
			const struct sum *sum = sums_at(s, id);
			if (!sum || sum->changed <= since)
				continue;
			uint64_t blocks = sum->now.alloc_blocks - sum->now.free_blocks;
			bool later = mt_slots_at(id)->epoch > m->epoch;
			if (o && later) {
				subtract(&m->then, &sum->now);
				sums_touch(s, id);
			}
			if (later || (!since && !blocks))
				continue;
			n++;
			if (!o)
				continue;
			mtw_put(o, id - before);
			mtw_put(o, blocks);
			mtw_put(o, sum->now.alloc_bytes - sum->now.free_bytes);
			before = id;
		}
	}
	return n;
}

static void keep_live(struct server *s, struct mark *m, uint8_t *buf, size_t len)
{
	/* An empty one is kept as well: it says that nothing changed since the mark before. */
	m->live_mapped = len ? len : 1;
	m->live = serve_map(m->live_mapped);
	if (!m->live) {
		m->flags |= MTW_MARK_TOTALS_ONLY;
		return;
	}
	memcpy(m->live, buf, len);
	m->live_bytes = len;
	s->mark_bytes += m->live_mapped;
}

static void forget_live(struct server *s, struct mark *m)
{
	if (!m->live)
		return;
	s->mark_bytes -= m->live_mapped;
	serve_unmap(m->live, m->live_mapped);
	m->live = NULL;
	m->live_bytes = m->live_mapped = 0;
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

/* m's entries go to the next mark; where that has its own, its own count. */
static void merge_into_next(struct server *s, struct mark *m)
{
	struct mark *to = neighbour(s, m->id, 1);
	size_t size = to ? m->live_bytes + to->live_bytes + 64 : 0;
	uint8_t *buf = to && m->live ? serve_map(size) : NULL;

	if (buf) {
		struct mtw_in a = { m->live, m->live + m->live_bytes, false };
		struct mtw_in b = { to->live, to->live + to->live_bytes, false };
		struct mtw_out o = { buf, buf + size, false };
		struct entry old = { 0, 0, 0 }, new = { 0, 0, 0 };
		uint64_t before = 0;
		next_entry(&a, &old);
		next_entry(&b, &new);
		while (old.slot != UINT64_MAX || new.slot != UINT64_MAX) {
			const struct entry *e = old.slot < new.slot ? &old : &new;
			bool both = old.slot == new.slot;
			mtw_put(&o, e->slot - before);
			mtw_put(&o, e->blocks);
			mtw_put(&o, e->bytes);
			before = e->slot;
			if (e == &old || both)
				next_entry(&a, &old);
			if (e == &new)
				next_entry(&b, &new);
		}
		forget_live(s, to);
		keep_live(s, to, buf, (size_t)(o.at - buf));
		to->live_version++;
		serve_unmap(buf, size);
	}
	forget_live(s, m);
}

/* Beyond mark_memory the oldest keep their totals only. */
static void stay_within_memory(struct server *s)
{
	while (s->mark_bytes > mt_conf.mark_memory) {
		struct mark *m = neighbour(s, 0, 1);
		if (!m)
			return;
		mt_record_loss(MTW_LOSS_MARKS, m->live_bytes);
		m->flags |= MTW_MARK_TOTALS_ONLY;
		m->changed = ++s->mark_serial;
		merge_into_next(s, m);
	}
}

uint32_t marks_set(struct server *s, const char *name, const char *who, uint64_t epoch)
{
	if (s->mark_last + 1 >= MTW_MARKS_MAX)
		return 0;
	if (!s->over)
		mt_live_advance(serve_now(), true);
	sums_pass(s, false);
	const struct mark *last = neighbour(s, s->mark_last + 1, -1);
	uint32_t since = last ? last->pass : 0;
	struct mark *m = &s->mark[++s->mark_last];
	m->id = s->mark_last;
	m->epoch = epoch;
	m->time_ns = s->pass_ns;
	m->pass = s->pass;
	m->rss_bytes = s->rss_bytes;
	m->then = s->totals;
	memcpy(m->set_by, who, cut(who, MTW_NAME_MAX));
	give_name(s, m, name);
	size_t size = walk(s, m, since, NULL) * ENTRY_BYTES + 1;
	uint8_t *buf = serve_map(size);
	struct mtw_out o = { buf, buf ? buf + size : NULL, false };
	walk(s, m, since, &o);
	if (buf)
		keep_live(s, m, buf, (size_t)(o.at - buf));
	else
		m->flags |= MTW_MARK_TOTALS_ONLY;
	serve_unmap(buf, size);
	m->changed = ++s->mark_serial;
	stay_within_memory(s);
	return m->id;
}

bool marks_drop(struct server *s, uint32_t id)
{
	struct mark *m = by_id(s, id);

	if (!m)
		return false;
	merge_into_next(s, m);
	m->flags |= MTW_MARK_DROPPED;
	m->changed = ++s->mark_serial;
	return true;
}

bool marks_rename(struct server *s, uint32_t id, const char *name)
{
	struct mark *m = by_id(s, id);

	if (!m)
		return false;
	give_name(s, m, name);
	m->changed = ++s->mark_serial;
	return true;
}

/* In the order of their epochs. A thread that waited too long is not told, but its mark is set. */
void marks_requests(struct server *s)
{
	for (;;) {
		struct mark_request *first = NULL;
		for (int i = 0; i < MARK_REQUESTS; i++) {
			struct mark_request *q = &s->shared->mark[i];
			uint32_t state = atomic_load(&q->xstate);
			if ((state == REQUEST_READY || state == REQUEST_ABANDONED) &&
			    (!first || q->epoch < first->epoch))
				first = q;
		}
		if (!first)
			return;
		first->id = marks_set(s, first->name, "the program", first->epoch);
		uint32_t is = REQUEST_READY;
		if (atomic_compare_exchange_strong(&first->xstate, &is, REQUEST_DONE))
			mt_prim_call(SYS_futex, (long)&first->xstate, FUTEX_WAKE, 1, 0, 0, 0);
		else
			atomic_store(&first->xstate, REQUEST_FREE);
	}
}

/* One part of m's entries from where this viewer stands. False: no room. */
static bool send_part(struct server *s, struct viewer *v, const struct mark *m)
{
	size_t room = viewer_room(v);
	struct mtw_in in = { m->live + v->mark_offset, m->live + m->live_bytes, false };
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
	bool last = count.at >= count.end;
	mtw_put(&o, m->id);
	mtw_put(&o, last);
	mtw_put(&o, n);
	e.slot = v->mark_slot;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t before = e.slot;
		next_entry(&in, &e);
		mtw_put(&o, i ? e.slot - before : e.slot);
		mtw_put(&o, e.blocks);
		mtw_put(&o, e.bytes);
	}
	viewer_frame(v, MTW_MARK_LIVE, s->scratch, (size_t)(o.at - s->scratch));
	v->mark_offset = (size_t)(in.at - m->live);
	v->mark_slot = (uint32_t)e.slot;
	if (last)
		v->mark_live[m->id] = 1 + m->live_version;
	return true;
}

bool marks_send(struct server *s, struct viewer *v)
{
	for (uint32_t id = 1; id <= s->mark_last; id++) {
		const struct mark *m = &s->mark[id];
		/* Its frame went out first, else there was no room for that either. */
		if (!m->live || v->mark_live[id] == 1 + m->live_version)
			continue;
		if (v->mark_sent[id] != m->changed)
			return false;
		if (v->mark_at != id || v->mark_version != m->live_version) {
			v->mark_at = id;
			v->mark_version = m->live_version;
			v->mark_offset = v->mark_slot = 0;
		}
		while (v->mark_live[id] != 1 + m->live_version)
			if (!send_part(s, v, m))
				return false;
	}
	return true;
}
