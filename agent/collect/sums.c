/* SPDX-License-Identifier: MIT
 *
 * sums.c - the central sums: the counters of the target's threads, added up once per pass.
 *
 *     s->sums.totals  = sum over slots of sum.now     at every moment, to the last byte
 *     module_live[m]  = sum of live bytes over slots whose owner is m
 *
 * because all three change together only, in changed(). Each sum carries the pass in which it last
 * differed; each group of 64 and each chunk of 4096 carries the newest of theirs. So a viewer's
 * update looks at the changes, not at everything.
 *
 * A slot's owner is the innermost module of its stack that is neither the agent, the C library nor
 * the C++ runtime. That is coarser than what viewers compute with symbols, and serves HISTORY only.
 */
#include "collect/sums.h"
#include "base/prim_linux.h"
#include "collect/bits.h"
#include "collect/memory.h"
#include "collect/proc.h"
#include "collect/server.h"
#include "collect/viewer.h"
#include "modules/maps.h"
#include "record/peak.h"
#include "record/slots.h"
#include "unwind/stacks.h"

#include <errno.h>
#include <memtop/wire.h>
#include <sys/syscall.h>

static uint32_t owner_of(slot_id id)
{
	const struct slot *slot = mt_slots_at(id);
	uint32_t wrappers = MTW_MODULE_AGENT | MTW_MODULE_LIBC | MTW_MODULE_CXX;

	for (node_id n = slot ? slot->node : 0; n;) {
		const struct node *node = mt_stacks_node(n);
		const struct code *code =
			node && node_code(node) ? mt_stacks_code_at(node_code(node)) : NULL;
		if (!code)
			break;
		if (code->kind == MTW_NODE_CODE || code->kind == MTW_NODE_SIGNAL) {
			const struct module *m = mt_maps_module(code->module);
			if (m &&
			    !(atomic_load_explicit(&m->xflags, memory_order_relaxed) & wrappers))
				return code->module;
		}
		n = node_parent(node);
	}
	return NO_OWNER;
}

static struct sum_chunk *make_chunk(struct sums *sums, slot_id id)
{
	struct sum_chunk **at = &sums->chunk[id / SUM_CHUNK];

	if (*at)
		return *at;
	struct sum_chunk *c = memory_map(sizeof(*c));
	if (c && !(c->narrow = memory_map(SUM_CHUNK * sizeof(*c->narrow)))) {
		memory_unmap(c, sizeof(*c));
		c = NULL;
	}
	return *at = c;
}

static struct sum from_narrow(const struct narrow_sum *n)
{
	return (struct sum){
		.now = { n->alloc_blocks, n->alloc_bytes, n->free_blocks, n->free_bytes },
		.changed = n->changed,
		.owner = n->owner,
	};
}

static bool widen(struct sum_chunk *c)
{
	struct sum *wide = memory_map(SUM_CHUNK * sizeof(*wide));

	if (!wide)
		return false;
	for (uint32_t i = 0; i < SUM_CHUNK; i++)
		wide[i] = from_narrow(&c->narrow[i]);
	memory_unmap(c->narrow, SUM_CHUNK * sizeof(*c->narrow));
	c->narrow = NULL;
	c->wide = wide;
	return true;
}

/* False: no memory. */
static bool put(struct sum_chunk *c, slot_id id, const struct sum *is)
{
	const struct tally *t = &is->now;
	bool fits = !((t->alloc_blocks | t->alloc_bytes | t->free_blocks | t->free_bytes) >> 32);

	if (!fits && !c->wide && !widen(c))
		return false;
	if (c->wide)
		c->wide[id % SUM_CHUNK] = *is;
	else
		c->narrow[id % SUM_CHUNK] = (struct narrow_sum){
			(uint32_t)t->alloc_blocks,
			(uint32_t)t->alloc_bytes,
			(uint32_t)t->free_blocks,
			(uint32_t)t->free_bytes,
			is->changed,
			is->owner,
		};
	return true;
}

const struct sum *sums_at(const struct sums *sums, slot_id id, struct sum *room)
{
	const struct sum_chunk *c = id < MTW_SLOTS_MAX ? sums->chunk[id / SUM_CHUNK] : NULL;

	if (!c)
		return NULL;
	if (c->wide)
		return c->wide[id % SUM_CHUNK].changed ? &c->wide[id % SUM_CHUNK] : NULL;
	*room = from_narrow(&c->narrow[id % SUM_CHUNK]);
	return room->changed ? room : NULL;
}

static void stamp(struct sums *sums, slot_id id, uint32_t pass)
{
	struct sum_chunk *c = sums->chunk[id / SUM_CHUNK];

	if (c->wide)
		c->wide[id % SUM_CHUNK].changed = pass;
	else
		c->narrow[id % SUM_CHUNK].changed = pass;
	c->group[id % SUM_CHUNK / SUM_GROUP] = pass;
	c->changed = pass;
}

void sums_touch(struct sums *sums, slot_id id)
{
	stamp(sums, id, sums->pass + 1);
}

static int64_t live_bytes(const struct tally *t)
{
	return (int64_t)(t->alloc_bytes - t->free_bytes);
}

/* Viewers that are still loading know how much of live they were told. */
static void tell_loading(struct server *s, slot_id id, int64_t more)
{
	for (int i = 0; i < VIEWERS_MAX; i++) {
		struct viewer *v = &s->viewer[i];
		if (v->state == VIEWER_OPEN && v->slot_known && bit_get(v->slot_known, id))
			v->live_sent += more;
	}
}

static void changed(void *arg, slot_id id)
{
	struct server *s = arg;
	struct sum_chunk *c = make_chunk(&s->sums, id);
	struct sum room, is = { .changed = 0 };

	if (!c)
		return;
	const struct sum *was = sums_at(&s->sums, id, &room);
	bool is_new = !was;
	if (was)
		is = *was;
	struct tally then = is.now;
	mt_slots_sum(id, &is.now);
	if (!memcmp(&is.now, &then, sizeof(then)))
		return;
	if (is_new)
		is.owner = owner_of(id);
	if (!put(c, id, &is))
		return;
	if (is_new) {
		s->sums.slots_seen++;
		if (id >= s->sums.slot_limit)
			s->sums.slot_limit = id + 1;
	}
	int64_t more = live_bytes(&is.now) - live_bytes(&then);
	s->sums.totals.alloc_blocks += is.now.alloc_blocks - then.alloc_blocks;
	s->sums.totals.alloc_bytes += is.now.alloc_bytes - then.alloc_bytes;
	s->sums.totals.free_blocks += is.now.free_blocks - then.free_blocks;
	s->sums.totals.free_bytes += is.now.free_bytes - then.free_bytes;
	if (is.owner != NO_OWNER)
		s->sums.module_live[is.owner] += more;
	if (more)
		tell_loading(s, id, more);
	stamp(&s->sums, id, s->sums.pass);
}

void sums_pass(struct server *s, bool all)
{
	uint64_t peak_ns;

	s->sums.pass++;
	s->sums.pass_ns = server_now();
	s->sums.peak_number = mt_peak_newest(&peak_ns);
	/* A forked child's first collection: its parent's server has all counts up to then. */
	mt_slots_collect(all || s->sums.pass == 1, changed, s);
	mt_slots_peak(&s->sums.peak_bytes, &s->sums.peak_error, &s->sums.peak_ns);
	/* Threads publish in steps; a pass's own sum is exact, and may be higher. */
	uint64_t live = s->sums.totals.alloc_bytes - s->sums.totals.free_bytes;
	if (live > s->sums.seen_peak) {
		s->sums.seen_peak = live;
		s->sums.seen_peak_ns = s->sums.pass_ns;
		mt_peak_rise((int64_t)live, s->over);
	}
	if (s->sums.seen_peak > s->sums.peak_bytes) {
		s->sums.peak_bytes = s->sums.seen_peak;
		s->sums.peak_ns = s->sums.seen_peak_ns;
	}
}

/* A module that came, went or was flagged. Ids are never reused, and appear in order. */
void sums_modules(struct sums *sums)
{
	uint32_t count = mt_maps_count();

	for (uint32_t i = 0; i < count && i < MTW_MODULES_MAX; i++) {
		struct module *m = mt_maps_module(i);
		if (!m)
			continue;
		if (!sums->module_seen[i])
			proc_file_of(m);
		/* What of it may change, folded: 1 keeps "seen" apart from "never seen". */
		uint32_t is =
			1u | atomic_load_explicit(&m->xflags, memory_order_acquire) << 1 |
			(atomic_load_explicit(&m->xunloaded_ns, memory_order_acquire) ? 1u << 31
										      : 0);
		if (sums->module_seen[i] != is) {
			sums->module_seen[i] = is;
			sums->module_changed[i] = sums->pass;
			sums->module_pass = sums->pass;
		}
	}
	sums->modules_seen = count;
}

/* record/thread.c learns of an end when the state finds its next owner; the kernel knows at
 * once. */
static bool is_gone(const struct target *target, int tid)
{
	return tid && mt_prim_call(SYS_tgkill, target->pid, tid, 0, 0, 0, 0) == -ESRCH;
}

void sums_threads(struct server *s)
{
	bool look = s->sums.pass_ns >= s->sums.threads_next_ns && !s->over;
	uint32_t count;

	if (look)
		s->sums.threads_next_ns = s->sums.pass_ns + SECOND;
	count = mt_thread_count();
	count = count < MTW_THREADS_MAX ? count : MTW_THREADS_MAX;
	for (uint32_t i = 0; i < count; i++) {
		struct thread_row *row = &s->sums.thread[i];
		struct thread_info now;
		if (row->over)
			continue;
		if (look && !row->gone)
			mt_thread_refresh(i);
		if (!mt_thread_info(i, &now))
			continue;
		if (look && !row->gone && !now.ended && is_gone(&s->target, now.tid)) {
			row->gone = true;
			mt_thread_gone(i);
		}
		row->over = now.ended;
		now.ended |= row->gone;
		if (i == 0 && !now.done.alloc_blocks && !now.done.free_blocks)
			continue; /* nobody is without an index */
		if (!row->changed || memcmp(&row->info.done, &now.done, sizeof(now.done)) ||
		    row->info.ended != now.ended || strcmp(row->info.name, now.name)) {
			row->info = now;
			row->changed = s->sums.pass;
			s->sums.thread_pass = s->sums.pass;
		}
	}
	s->sums.thread_limit = count;
}

bool sums_init(struct sums *sums)
{
	sums->chunk = memory_map(SUM_CHUNKS * sizeof(*sums->chunk));
	sums->module_live = memory_map(MTW_MODULES_MAX * sizeof(*sums->module_live));
	sums->module_changed = memory_map(MTW_MODULES_MAX * sizeof(*sums->module_changed));
	sums->module_seen = memory_map(MTW_MODULES_MAX * sizeof(*sums->module_seen));
	sums->thread = memory_map(MTW_THREADS_MAX * sizeof(*sums->thread));
	return sums->chunk && sums->module_live && sums->module_changed && sums->module_seen &&
	       sums->thread;
}
