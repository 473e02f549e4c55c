/* SPDX-License-Identifier: MIT
 *
 * encode_slots.c - slots with their paths and counts, in frames whose ids ascend.
 *
 * The server describes a slot in three parts: the nodes of its path that the viewer lacks, the slot
 * itself, its counts. It gathers them as numbers and writes a batch as NODES, SLOTS and COUNTS,
 * each sorted, so that an id costs a byte or two. Sorting keeps each node behind its parent,
 * because a parent always has the lower number.
 *
 * The first state sends slots by live bytes, heaviest first, from a list made when the viewer
 * connects (a counting sort by the highest bits: the order is right to a fourth). After that the
 * sweep serves, group by group, what changed since the group was last served. It marks a group
 * clean before the next one begins, so a sweep that had to stop continues there and reaches every
 * group.
 */
#include "encode/encode_slots.h"
#include "collect/bits.h"
#include "collect/memory.h"
#include "collect/output.h"
#include "collect/proc.h"
#include "collect/server.h"
#include "collect/sums.h"
#include "collect/viewer.h"
#include "modules/maps.h"
#include "record/filter.h"
#include "record/slots.h"
#include "unwind/stacks.h"
#include "unwind/unwind.h"

#include <memtop/wire.h>

#define BATCH_NODES 4096u
#define BATCH_SLOTS 2048u
#define CHAIN_MAX 4096u
#define NODE_BYTES 32u /* upper bounds of one entry; in NODES and in PROVEN */
#define SLOT_BYTES 28u /* in SLOTS and in WEIGHED */
#define COUNT_BYTES 45u
#define FRAME_BYTES 256u /* heads of the five frames, and the TOTALS and TICK that follow */
#define CLASSES 256u

struct slots_batch {
	uint32_t node[BATCH_NODES], slot[BATCH_SLOTS], count[BATCH_SLOTS];
	uint32_t nodes, slots, counts;
	uint32_t chain[CHAIN_MAX];
	uint32_t class[CLASSES];
};

bool encode_slots_init(struct server *s)
{
	s->batch = memory_map(sizeof(*s->batch));
	return s->batch;
}

/* Shell sort: small, in place, and the input is often nearly sorted. */
static void sort(uint32_t *a, uint32_t n)
{
	static const uint32_t gaps[] = { 1750, 701, 301, 132, 57, 23, 10, 4, 1 };

	for (unsigned g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++) {
		uint32_t gap = gaps[g];
		for (uint32_t i = gap; i < n; i++) {
			uint32_t v = a[i], j = i;
			for (; j >= gap && a[j - gap] > v; j -= gap)
				a[j] = a[j - gap];
			a[j] = v;
		}
	}
}

static void put_node(struct mtw_out *o, node_id id, uint32_t before)
{
	const struct node *n = mt_stacks_node(id);
	const struct code *c = mt_stacks_code_at(node_code(n));

	mtw_put(o, id - before);
	mtw_put(o, c->kind);
	mtw_put(o, node_parent(n));
	if (c->kind == MTW_NODE_CODE || c->kind == MTW_NODE_SIGNAL)
		mtw_put(o, c->module);
	mtw_put(o, c->offset);
}

/* Was its parent found by a frame pointer? */
static bool is_proven(node_id id)
{
	const struct node *n = mt_stacks_node(id);

	return node_parent(n) && mt_unwind_by_pointer(node_code(n)) &&
	       mt_stacks_code_at(node_code(mt_stacks_node(node_parent(n))))->kind !=
		       MTW_NODE_TRUNCATED;
}

static void flush_proven(struct server *s, struct viewer *v)
{
	struct slots_batch *b = s->batch;
	struct mtw_out o = { s->scratch, s->scratch + SCRATCH_BYTES, false };
	uint32_t before = 0, n = 0;

	for (uint32_t i = 0; i < b->nodes; i++)
		n += is_proven(b->node[i]);
	if (!n)
		return;
	mtw_put(&o, n);
	for (uint32_t i = 0; i < b->nodes; i++) {
		if (!is_proven(b->node[i]))
			continue;
		mtw_put(&o, b->node[i] - before);
		mtw_put(&o, MTW_BY_POINTER);
		before = b->node[i];
	}
	viewer_frame(v, MTW_PROVEN, s->scratch, (size_t)(o.at - s->scratch));
}

static void flush_nodes(struct server *s, struct viewer *v)
{
	struct slots_batch *b = s->batch;
	struct mtw_out o = { s->scratch, s->scratch + SCRATCH_BYTES, false };
	uint32_t before = 0;

	if (!b->nodes)
		return;
	sort(b->node, b->nodes);
	mtw_put(&o, b->nodes);
	for (uint32_t i = 0; i < b->nodes; i++) {
		put_node(&o, b->node[i], before);
		before = b->node[i];
	}
	viewer_frame(v, MTW_NODES, s->scratch, (size_t)(o.at - s->scratch));
	flush_proven(s, v);
	b->nodes = 0;
}

/* Which of the slots of this batch hold estimates. */
static void flush_weighed(struct server *s, struct viewer *v)
{
	struct slots_batch *b = s->batch;
	struct mtw_out o = { s->scratch, s->scratch + SCRATCH_BYTES, false };
	uint32_t before = 0, n = 0;

	for (uint32_t i = 0; i < b->slots; i++)
		n += mt_slots_at(b->slot[i])->rate != 0;
	if (!n)
		return;
	mtw_put(&o, n);
	for (uint32_t i = 0; i < b->slots; i++) {
		uint64_t sample = mt_filter_rate(mt_slots_at(b->slot[i])->rate);
		if (!sample)
			continue;
		mtw_put(&o, b->slot[i] - before);
		mtw_put(&o, sample);
		before = b->slot[i];
	}
	viewer_frame(v, MTW_WEIGHED, s->scratch, (size_t)(o.at - s->scratch));
}

static void flush_slots(struct server *s, struct viewer *v)
{
	struct slots_batch *b = s->batch;
	struct mtw_out o = { s->scratch, s->scratch + SCRATCH_BYTES, false };
	uint32_t before = 0;

	if (!b->slots)
		return;
	sort(b->slot, b->slots);
	mtw_put(&o, b->slots);
	for (uint32_t i = 0; i < b->slots; i++) {
		const struct slot *slot = mt_slots_at(b->slot[i]);
		mtw_put(&o, b->slot[i] - before);
		mtw_put(&o, slot->node);
		mtw_put(&o, slot->epoch);
		before = b->slot[i];
	}
	viewer_frame(v, MTW_SLOTS, s->scratch, (size_t)(o.at - s->scratch));
	flush_weighed(s, v);
	b->slots = 0;
}

static void flush_counts(struct server *s, struct viewer *v)
{
	struct slots_batch *b = s->batch;
	struct mtw_out o = { s->scratch, s->scratch + SCRATCH_BYTES, false };
	uint32_t before = 0;

	if (!b->counts)
		return;
	sort(b->count, b->counts);
	mtw_put(&o, b->counts);
	for (uint32_t i = 0; i < b->counts; i++) {
		struct sum room;
		const struct tally *t = &sums_at(&s->sums, b->count[i], &room)->now;
		mtw_put(&o, b->count[i] - before);
		mtw_put(&o, t->alloc_blocks);
		mtw_put(&o, t->alloc_bytes);
		mtw_put(&o, t->free_blocks);
		mtw_put(&o, t->free_bytes);
		before = b->count[i];
	}
	viewer_frame(v, MTW_COUNTS, s->scratch, (size_t)(o.at - s->scratch));
	b->counts = 0;
}

static void flush(struct server *s, struct viewer *v)
{
	flush_nodes(s, v);
	flush_slots(s, v);
	flush_counts(s, v);
}

static size_t waiting(const struct slots_batch *b)
{
	return (size_t)b->nodes * NODE_BYTES + b->slots * SLOT_BYTES + b->counts * COUNT_BYTES +
	       FRAME_BYTES;
}

/* False: no space for it now. */
static bool put_module(struct server *s, struct viewer *v, uint32_t id)
{
	struct module *m = mt_maps_module(id);
	struct mtw_out o = { s->scratch, s->scratch + SCRATCH_BYTES, false };

	if (!m)
		return true;
	if (!s->sums.module_seen[id])
		proc_file_of(m); /* met since the pass */
	uint32_t flags = atomic_load_explicit(&m->xflags, memory_order_acquire);
	uint64_t unloaded = atomic_load_explicit(&m->xunloaded_ns, memory_order_acquire);
	const char *path = m->file ? m->file : m->path;
	if (waiting(s->batch) + strlen(path) + 256 > viewer_space(v))
		return false;
	mtw_put(&o, id);
	mtw_put(&o, flags | (unloaded ? MTW_MODULE_GONE : 0));
	mtw_put(&o, m->bias);
	mtw_put(&o, m->start);
	mtw_put(&o, m->end);
	mtw_put(&o, m->loaded_ns);
	mtw_put(&o, unloaded);
	mtw_put_bytes(&o, m->build_id, m->build_id_len);
	mtw_put_string(&o, path);
	viewer_frame(v, MTW_MODULE, s->scratch, (size_t)(o.at - s->scratch));
	return true;
}

/* Sends new entries, and changes in rounds like the threads'. */
void encode_slots_modules(struct server *s, struct viewer *v)
{
	if (v->module_at == 0) {
		if (s->sums.module_pass <= v->module_pass)
			return;
		v->module_begun = s->sums.pass;
	}
	for (; v->module_at < s->sums.modules_seen; v->module_at++) {
		uint32_t id = v->module_at;
		if (id < v->module_count && s->sums.module_changed[id] <= v->module_pass)
			continue;
		if (!put_module(s, v, id)) {
			v->wants = true;
			return;
		}
		if (id >= v->module_count)
			v->module_count = id + 1;
	}
	v->module_pass = v->module_begun;
	v->module_at = 0;
}

/* The module that a node names precedes it. */
static bool have_module(struct server *s, struct viewer *v, node_id id)
{
	const struct code *c = mt_stacks_code_at(node_code(mt_stacks_node(id)));

	if (c->kind != MTW_NODE_CODE && c->kind != MTW_NODE_SIGNAL)
		return true;
	while (v->module_count <= c->module) {
		if (!put_module(s, v, v->module_count))
			return false;
		v->module_count++;
	}
	return true;
}

/* The unknown part of a path into the batch. False: not within `room`; nothing was added. */
static bool add_path(struct server *s, struct viewer *v, node_id stack, size_t room)
{
	struct slots_batch *b = s->batch;
	uint32_t n = 0;

	for (node_id id = stack; id && !bit_get(v->node_known, id);
	     id = node_parent(mt_stacks_node(id))) {
		if (n == CHAIN_MAX) {
			/* Deeper than the list: the outer part first. */
			if (!add_path(s, v, id, room))
				return false;
			return add_path(s, v, stack, room);
		}
		b->chain[n++] = id;
	}
	if (waiting(b) + (size_t)n * NODE_BYTES > room)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!have_module(s, v, b->chain[i]))
			return false;
	while (n) {
		if (b->nodes == BATCH_NODES)
			flush_nodes(s, v);
		b->node[b->nodes++] = b->chain[--n];
		bit_set(v->node_known, b->chain[n]);
	}
	return true;
}

/* One slot with whatever it needs. False: not within the room that is left. */
static bool add_slot(struct server *s, struct viewer *v, slot_id id, const struct sum *sum,
		     size_t room)
{
	struct slots_batch *b = s->batch;
	bool known = bit_get(v->slot_known, id);

	if (b->counts == BATCH_SLOTS || b->slots == BATCH_SLOTS)
		flush(s, v);
	if (waiting(b) + SLOT_BYTES + COUNT_BYTES > room)
		return false;
	if (!known) {
		if (!add_path(s, v, mt_slots_at(id)->node, room - SLOT_BYTES - COUNT_BYTES))
			return false;
		b->slot[b->slots++] = id;
		bit_set(v->slot_known, id);
		v->slots_sent++;
		v->live_sent += (int64_t)(sum->now.alloc_bytes - sum->now.free_bytes);
	}
	b->count[b->counts++] = id;
	return true;
}

/* 0 = nothing alive, then by the highest bit and the two below it. */
static unsigned class_of(const struct sum *sum)
{
	uint64_t live = sum->now.alloc_bytes - sum->now.free_bytes;

	if (!live)
		return 0;
	unsigned top = 63u - (unsigned)__builtin_clzll(live);
	return top * 4 +
	       (top >= 2 ? (unsigned)(live >> (top - 2)) & 3 : (unsigned)(live << (2 - top)) & 3);
}

bool encode_slots_list(struct server *s, struct viewer *v)
{
	struct slots_batch *b = s->batch;
	struct sum room;
	uint32_t at = 0;

	v->list_limit = s->sums.slot_limit ? s->sums.slot_limit : 1;
	v->list_bytes = s->sums.slots_seen * sizeof(uint32_t) + 4;
	v->list = memory_map(v->list_bytes);
	if (!v->list)
		return false;
	memset(b->class, 0, sizeof(b->class));
	for (slot_id id = 1; id < v->list_limit; id++) {
		const struct sum *sum = sums_at(&s->sums, id, &room);
		if (sum)
			b->class[class_of(sum)]++;
	}
	for (unsigned c = CLASSES; c-- > 0;) {
		uint32_t n = b->class[c];
		b->class[c] = at;
		at += n;
	}
	for (slot_id id = 1; id < v->list_limit; id++) {
		const struct sum *sum = sums_at(&s->sums, id, &room);
		if (sum)
			v->list[b->class[class_of(sum)]++] = id;
	}
	v->list_count = at;
	return true;
}

/* Slots that were first seen while the list went out, where the sweep took them for the list's. */
static void end_list(struct sums *sums, struct viewer *v)
{
	memory_unmap(v->list, v->list_bytes);
	v->list = NULL;
	struct sum room;
	for (slot_id id = 1; id < sums->slot_limit; id++)
		if (sums_at(sums, id, &room) && !bit_get(v->slot_known, id))
			v->clean[id / SUM_GROUP] = v->swept = 0;
}

void encode_slots_first(struct server *s, struct viewer *v, size_t room)
{
	encode_slots_modules(s, v);
	size_t have = viewer_room(v);
	room = room < have ? room : have;
	uint64_t limit = v->produced + room;
	struct sum sum;

	for (; v->list_at < v->list_count; v->list_at++) {
		slot_id id = v->list[v->list_at];
		size_t left = limit > v->produced ? (size_t)(limit - v->produced) : 0;
		if (left < FRAME_BYTES || !add_slot(s, v, id, sums_at(&s->sums, id, &sum), left))
			break;
	}
	flush(s, v);
	/* A path that is longer than a whole empty window must go all the same. */
	if (v->list_at < v->list_count && v->quiet && v->list_at == v->list_before) {
		slot_id id = v->list[v->list_at];
		v->list_at += add_slot(s, v, id, sums_at(&s->sums, id, &sum), viewer_space(v));
		flush(s, v);
	}
	v->list_before = v->list_at;
	if (v->list_at == v->list_count)
		end_list(&s->sums, v);
}

/* Sends the changes in group g since this viewer was served. False: did not fit whole. */
static bool sweep_group(struct server *s, struct viewer *v, uint32_t g)
{
	slot_id id = g * SUM_GROUP;
	uint64_t limit = v->produced + viewer_room(v);
	struct slots_batch *b = s->batch;
	struct sum room;

	for (unsigned i = 0; i < SUM_GROUP; i++, id++) {
		const struct sum *sum = sums_at(&s->sums, id, &room);
		if (!sum || sum->changed <= v->clean[g] ||
		    (!bit_get(v->slot_known, id) && id < v->list_limit && v->list))
			continue;
		size_t left = limit > v->produced ? (size_t)(limit - v->produced) : 0;
		if (left >= FRAME_BYTES && add_slot(s, v, id, sum, left))
			continue;
		/* As above: the first that is due, and it alone would not fit. */
		if (!v->quiet || b->counts || !add_slot(s, v, id, sum, viewer_space(v)))
			return false;
		v->quiet = false;
	}
	v->clean[g] = s->sums.pass;
	return true;
}

bool encode_slots_sweep(struct server *s, struct viewer *v)
{
	uint32_t groups = (s->sums.slot_limit + SUM_GROUP - 1) / SUM_GROUP;
	bool done = true;

	encode_slots_modules(s, v);
	if (v->swept == s->sums.pass)
		return v->module_at == 0;
	if (v->sweep >= groups)
		v->sweep = 0;
	for (uint32_t left = groups; left && done; left--) {
		uint32_t g = v->sweep;
		const struct sum_chunk *c = s->sums.chunk[g / (SUM_CHUNK / SUM_GROUP)];
		if (c && c->group[g % (SUM_CHUNK / SUM_GROUP)] > v->clean[g])
			done = sweep_group(s, v, g);
		if (done)
			v->sweep = g + 1 < groups ? g + 1 : 0;
	}
	flush(s, v);
	if (done)
		v->swept = s->sums.pass;
	return done && v->module_at == 0;
}
