/* SPDX-License-Identifier: MIT
 *
 * marks.c - marks: a mark begins the next epoch and keeps how much of each slot was live.
 *
 * A block's slot has an epoch, which shows whether the block is older than a mark. Viewers cannot
 * work out how much of each slot was alive at the mark, so the agent keeps that for the slots that
 * changed since the mark before (collect/slot_snapshots.c). Slots of later epochs have no part in
 * the mark; the agent touches them, so that the next mark finds them changed. When a mark is
 * dropped or reduced to its totals, the next mark takes over its entries for slots that the next
 * mark has no entry for.
 */
#include "collect/marks.h"
#include "base/conf.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "collect/memory.h"
#include "collect/server.h"
#include "collect/shared.h"
#include "collect/sums.h"
#include "collect/viewer.h"
#include "live/ticks.h"
#include "record/loss.h"

#include <linux/futex.h>
#include <memtop/wire.h>
#include <sys/syscall.h>

bool marks_init(struct marks *marks)
{
	marks->mark = memory_map(MTW_MARKS_MAX * sizeof(*marks->mark));
	return marks->mark;
}

static struct mark *by_id(struct marks *marks, uint32_t id)
{
	struct mark *m = id && id <= marks->last ? &marks->mark[id] : NULL;

	return m && !(m->flags & MTW_MARK_DROPPED) ? m : NULL;
}

/* The nearest one with entries of its own, before or after id; NULL = none. */
static struct mark *neighbour(struct marks *marks, uint32_t id, int step)
{
	for (id += (uint32_t)step; id && id <= marks->last; id += (uint32_t)step)
		if (marks->mark[id].kept.live)
			return &marks->mark[id];
	return NULL;
}

static bool is_reserved(const char *name)
{
	static const char reserved[][6] = { "start", "peak", "end", "now" };

	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (!strcmp(name, reserved[i]))
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

/* base, or base-n, n from 2 on; cut in the middle where that is too long. The name's length. */
static size_t numbered(char *name, const char *base, uint32_t n)
{
	char suffix[12] = "";

	if (n > 1)
		mt_format(suffix, sizeof(suffix), "-%u", n);
	size_t tail = strlen(suffix), head = cut(base, MTW_NAME_MAX - tail);
	memcpy(name, base, head);
	memcpy(name + head, suffix, tail + 1);
	return head + tail;
}

/* Which n has numbered() this name from? 0: it is another one. */
static uint32_t number_of(const char *name, const char *base)
{
	char made[MTW_NAME_MAX + 1];
	size_t len = strlen(name), at = len;
	uint32_t n = 0;

	if (!strcmp(name, base))
		return 1;
	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	for (size_t i = at; i < len && n < MTW_MARKS_MAX; i++)
		n = n * 10 + (uint32_t)(name[i] - '0');
	if (n < 2 || n > MTW_MARKS_MAX)
		return 0;
	return numbered(made, base, n) == len && !strcmp(made, name) ? n : 0;
}

/* One pass over the marks, however many have that name: a program may set the same one each
 * second. */
static void give_name(struct server *s, struct mark *m, const char *wanted)
{
	char base[MTW_NAME_MAX + 1];
	uint64_t taken[MTW_MARKS_MAX / 64 + 1] = { 0 };
	uint32_t n = 1;

	if (wanted[0])
		mt_format(base, cut(wanted, MTW_NAME_MAX) + 1, "%s", wanted);
	else
		mt_format(base, sizeof(base), "m%u", m->id);
	for (uint32_t id = 1; id <= s->marks.last; id++) {
		uint32_t of = id != m->id && by_id(&s->marks, id)
				      ? number_of(s->marks.mark[id].name, base)
				      : 0;
		taken[of / 64] |= (uint64_t)1 << of % 64;
	}
	if (is_reserved(base))
		taken[0] |= 2;
	while (taken[n / 64] >> n % 64 & 1)
		n++;
	numbered(m->name, base, n);
}

static void subtract(struct tally *from, const struct tally *t)
{
	from->alloc_blocks -= t->alloc_blocks;
	from->alloc_bytes -= t->alloc_bytes;
	from->free_blocks -= t->free_blocks;
	from->free_bytes -= t->free_bytes;
}

/* The counts of a slot of a later epoch are not the mark's; the next mark finds it changed. */
static void leave_to_next(struct sums *sums, void *arg, slot_id id, const struct sum *sum)
{
	struct mark *m = arg;

	subtract(&m->then, &sum->now);
	sums_touch(sums, id);
}

/* m's entries go to the next mark, except for slots that the next mark has an entry for. */
static void merge_into_next(struct marks *marks, struct mark *m)
{
	struct mark *to = neighbour(marks, m->id, 1);

	bool first = !neighbour(marks, m->id, -1);

	if (to && !snapshot_merge(&m->kept, &to->kept, first, &marks->bytes)) {
		to->flags |= MTW_MARK_TOTALS_ONLY;
		to->changed = ++marks->serial;
		snapshot_forget(&to->kept, &marks->bytes);
	}
	snapshot_forget(&m->kept, &marks->bytes);
}

/* Beyond mark_memory the oldest keep their totals only. */
static void stay_within_memory(struct marks *marks)
{
	while (marks->bytes > mt_conf.mark_memory) {
		struct mark *m = neighbour(marks, 0, 1);
		if (!m)
			return;
		mt_record_loss(MTW_LOSS_MARKS, m->kept.bytes);
		m->flags |= MTW_MARK_TOTALS_ONLY;
		m->changed = ++marks->serial;
		merge_into_next(marks, m);
	}
}

uint32_t marks_set(struct server *s, const char *name, const char *who, uint64_t epoch)
{
	if (s->marks.last + 1 >= MTW_MARKS_MAX)
		return 0;
	if (!s->over)
		mt_live_advance(server_now(), true);
	sums_pass(s, false);
	const struct mark *last = neighbour(&s->marks, s->marks.last + 1, -1);
	uint32_t since = last ? last->kept.pass : 0;
	struct mark *m = &s->marks.mark[++s->marks.last];
	m->id = s->marks.last;
	m->epoch = epoch;
	m->time_ns = s->sums.pass_ns;
	m->rss_bytes = s->figures.rss_bytes;
	m->then = s->sums.totals;
	memcpy(m->set_by, who, cut(who, MTW_NAME_MAX));
	give_name(s, m, name);
	if (!snapshot_take(&s->sums, &m->kept, since, epoch, leave_to_next, m, &s->marks.bytes))
		m->flags |= MTW_MARK_TOTALS_ONLY;
	m->changed = ++s->marks.serial;
	stay_within_memory(&s->marks);
	return m->id;
}

bool marks_drop(struct marks *marks, uint32_t id)
{
	struct mark *m = by_id(marks, id);

	if (!m)
		return false;
	merge_into_next(marks, m);
	m->flags |= MTW_MARK_DROPPED;
	m->changed = ++marks->serial;
	return true;
}

bool marks_rename(struct server *s, uint32_t id, const char *name)
{
	struct mark *m = by_id(&s->marks, id);

	if (!m)
		return false;
	give_name(s, m, name);
	m->changed = ++s->marks.serial;
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

bool marks_send(struct server *s, struct viewer *v)
{
	for (uint32_t id = 1; id <= s->marks.last; id++) {
		const struct mark *m = &s->marks.mark[id];
		/* The mark's own frame goes first: without room for that there is none for this. */
		if (!m->kept.live || v->mark_live[id] == 1 + m->kept.version)
			continue;
		if (v->mark_sent[id] != m->changed ||
		    !snapshot_send(s, v, MTW_MARK_LIVE, id, &m->kept, &v->mark_at))
			return false;
		v->mark_live[id] = 1 + m->kept.version;
	}
	return true;
}
