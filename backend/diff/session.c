/* SPDX-License-Identifier: MIT */
#include "diff/session.h"

#include "base/map.h"
#include "session/session.h"
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>

#define A_NS 1000000000ull /* the times of A and B, which mean nothing */
#define B_NS 2000000000ull
#define EPOCH_A 0u
#define EPOCH_B 1u
#define LAST_PART 1u       /* of MARK_LIVE */
#define BATCH_BYTES 60000u /* of a frame; far below MTW_FRAME_MAX */

struct held {
	uint64_t blocks, bytes;
};

struct slot_of { /* of one node and epoch */
	uint32_t node, epoch;
	struct held born, gone, at_a;
};

struct writing {
	const struct diff *d;
	const struct diff_tree *tree;
	struct session_writer *file;
	struct err *err;
	int rc;
	/* a frame of many entries */
	uint8_t batch[MTW_FRAME_MAX];
	struct mtw_out out;
	uint64_t entries, last_id;
	struct map module_of; /* a role's address -> number + 1 */
	uint32_t module_count;
	uint64_t *offsets; /* by frame: what its nodes point to */
	struct map taken;  /* a location's hash */
	struct slot_of *slots;
	size_t slot_count, slot_room;
	uint64_t time_ns;
};

/* --- frames */

static void put_frame(struct writing *w, uint64_t type, const uint8_t *payload, size_t len)
{
	if (!w->rc)
		w->rc = session_frame(w->file, 0, w->time_ns, type, payload, len, w->err);
}

static void begin(struct writing *w)
{
	w->out = (struct mtw_out){ w->batch, w->batch + sizeof w->batch, false };
	w->entries = w->last_id = 0;
}

static void end(struct writing *w, uint64_t type)
{
	if (!w->out.full)
		put_frame(w, type, w->batch, (size_t)(w->out.at - w->batch));
}

/* A list begins with its count, which is known at its end. */
static void end_list(struct writing *w, uint64_t type, const uint64_t *head, size_t heads)
{
	size_t len = (size_t)(w->out.at - w->batch);
	uint8_t *whole = xmalloc(len + 64);
	struct mtw_out o = { whole, whole + len + 64, false };

	for (size_t i = 0; i < heads; i++)
		mtw_put(&o, head[i]);
	mtw_put(&o, w->entries);
	memcpy(o.at, w->batch, len);
	put_frame(w, type, whole, (size_t)(o.at - whole) + len);
	free(whole);
	begin(w);
}

static void put_id(struct writing *w, uint64_t id)
{
	mtw_put(&w->out, id - w->last_id);
	w->last_id = id;
	w->entries++;
}

static bool batch_full(const struct writing *w)
{
	return (size_t)(w->out.at - w->batch) >= BATCH_BYTES || w->entries >= MTW_BATCH_MAX;
}

/* --- the program */

static void put_hello(struct writing *w)
{
	const struct side *s = w->d->sides[w->d->sides_a];

	begin(w);
	mtw_put(&w->out, MTW_VERSION);
	mtw_put(&w->out, 0);
	mtw_put(&w->out, s->pid ? s->pid : 1);
	mtw_put(&w->out, 0);
	mtw_put(&w->out, s->start_unix_ns);
	mtw_put(&w->out, 0);
	mtw_put(&w->out, 0);
	mtw_put(&w->out, 64);
	mtw_put_string(&w->out, "");
	mtw_put_string(&w->out, s->program);
	mtw_put_string(&w->out, "");
	mtw_put_string(&w->out, "");
	mtw_put(&w->out, 0);
	end(w, MTW_HELLO);
}

/* --- code */

static uint32_t module_of(struct writing *w, const struct side_module *in)
{
	uint64_t key = (uint64_t)(uintptr_t)in->role;
	uint32_t number = map_get(&w->module_of, key, 0);

	if (number)
		return number - 1;
	map_set(&w->module_of, key, ++w->module_count);
	begin(w);
	mtw_put(&w->out, w->module_count - 1);
	mtw_put(&w->out, in->flags & ~(uint32_t)MTW_MODULE_GONE);
	for (int i = 0; i < 5; i++)
		mtw_put(&w->out, 0);
	mtw_put_bytes(&w->out, "", 0);
	mtw_put_string(&w->out, in->name);
	end(w, MTW_MODULE);
	return w->module_count - 1;
}

static uint8_t kind_of(const struct join_frame *f)
{
	return f->in || f->kind == MTW_NODE_TRUNCATED ? f->kind : MTW_NODE_NOWHERE;
}

/* The function's name, or what stands for it. */
static const char *name_of(const struct join_frame *f)
{
	return f->function ? f->function : f->name ? f->name : "?";
}

/* The offset in A's or B's build; where two functions have the same, the next that is free. */
static uint64_t free_offset(struct writing *w, const struct join_frame *f, uint32_t module)
{
	uint64_t at = f->offset, key;

	if (f->kind == MTW_NODE_TRUNCATED)
		return at;
	while (map_get(&w->taken, key = hash_mix(hash_mix(at) + module) ^ kind_of(f), 0))
		at++;
	map_set(&w->taken, key, 1);
	return at;
}

static void put_symbol(struct writing *w, uint32_t frame, uint32_t module)
{
	const struct join_frame *f = &w->tree->frames[frame];
	uint8_t kind = kind_of(f);

	if (kind == MTW_NODE_TRUNCATED)
		return;
	begin(w);
	if (kind != MTW_NODE_NOWHERE)
		mtw_put(&w->out, module);
	mtw_put(&w->out, w->offsets[frame]);
	if (kind != MTW_NODE_NOWHERE)
		mtw_put(&w->out, kind == MTW_NODE_SIGNAL);
	mtw_put(&w->out, f->file ? SYMBOL_DWARF : SYMBOL_TABLE);
	mtw_put(&w->out, 1);
	mtw_put_string(&w->out, name_of(f));
	mtw_put_string(&w->out, f->file);
	mtw_put(&w->out, f->line);
	mtw_put(&w->out, 0);
	end(w, kind == MTW_NODE_NOWHERE ? MTW_S_GENERATED : MTW_S_SYMBOL);
}

/* Once for each frame: it is one line of a function. */
static void put_code(struct writing *w)
{
	w->offsets = xcalloc(w->tree->frame_count + 1, sizeof *w->offsets);
	for (uint32_t i = 0; i < w->tree->frame_count; i++) {
		const struct join_frame *f = &w->tree->frames[i];
		uint32_t module = f->in ? module_of(w, f->in) : NO_ID;

		w->offsets[i] = free_offset(w, f, module);
		put_symbol(w, i, module);
	}
}

/* Parents come before their children, as the wire wants it. */
static void put_nodes(struct writing *w)
{
	const struct skeleton *s = w->tree->calls.skeleton;

	begin(w);
	for (uint32_t i = 1; i < s->nodes; i++) {
		const struct join_frame *f = &w->tree->frames[s->location[i]];
		uint8_t kind = kind_of(f);

		put_id(w, i);
		mtw_put(&w->out, kind);
		mtw_put(&w->out, kind == MTW_NODE_TRUNCATED ? 0 : s->parent[i]);
		if (kind == MTW_NODE_CODE || kind == MTW_NODE_SIGNAL)
			mtw_put(&w->out,
				map_get(&w->module_of, (uint64_t)(uintptr_t)f->in->role, 1) - 1);
		mtw_put(&w->out, w->offsets[s->location[i]]);
		if (batch_full(w))
			end_list(w, MTW_NODES, NULL, 0);
	}
	end_list(w, MTW_NODES, NULL, 0);
}

/* --- amounts */

static struct held mean_held(const struct diff *d, const struct tally *sums, bool b)
{
	struct held h = { diff_whole(diff_mean(d, sums, b, DIFF_BLOCKS)),
			  diff_whole(diff_mean(d, sums, b, DIFF_LIVE)) };

	if (h.bytes && !h.blocks) /* less than half a block on average */
		h.blocks = 1;
	return h;
}

static void add_slot(struct writing *w, struct slot_of slot)
{
	GROW(w->slots, w->slot_room, w->slot_count + 1);
	w->slots[w->slot_count++] = slot;
}

static struct held less(struct held x, struct held y)
{
	return (struct held){ x.blocks - y.blocks, x.bytes - y.bytes };
}

/* x has at least y's blocks and bytes, and more of both or of neither. */
static bool covers(struct held x, struct held y)
{
	return x.blocks >= y.blocks && x.bytes >= y.bytes &&
	       (x.blocks > y.blocks) == (x.bytes > y.bytes);
}

static void add_node(struct writing *w, uint32_t node, struct held a, struct held b)
{
	struct held none = { 0, 0 };
	bool more = covers(b, a), less_or_same = covers(a, b);
	struct held born = more ? less(b, a) : less_or_same ? none : b;

	if (a.blocks)
		add_slot(w, (struct slot_of){
				    .node = node,
				    .epoch = EPOCH_A,
				    .born = a,
				    .gone = more           ? none
					    : less_or_same ? less(a, b)
							   : a,
				    .at_a = a,
			    });
	if (born.blocks)
		add_slot(w, (struct slot_of){ .node = node, .epoch = EPOCH_B, .born = born });
}

/* A node's own amounts: those of the joined stacks that end there. */
static void make_slots(struct writing *w)
{
	const struct diff_tree *t = w->tree;
	const struct skeleton *s = t->calls.skeleton;
	struct tally own[DIFF_SESSIONS_MAX];

	for (uint32_t k = 0; k < s->stacks; k++) {
		for (size_t i = 0; i < w->d->sides_count; i++)
			own[i] = heap_of_stack(t->heaps[i], k);
		add_node(w, s->node_of_stack[k], mean_held(w->d, own, false),
			 mean_held(w->d, own, true));
	}
}

static bool is_estimate(const struct diff *d)
{
	for (size_t i = 0; i < d->sides_count; i++)
		if (d->sides[i]->estimate)
			return true;
	return false;
}

static void put_slots(struct writing *w)
{
	bool weighed = is_estimate(w->d);

	for (size_t from = 0, to; from < w->slot_count; from = to) {
		begin(w);
		for (to = from; to < w->slot_count && !batch_full(w); to++) {
			put_id(w, to + 1);
			mtw_put(&w->out, w->slots[to].node);
			mtw_put(&w->out, w->slots[to].epoch);
		}
		end_list(w, MTW_SLOTS, NULL, 0);
		for (size_t i = from; i < to && weighed; i++) {
			put_id(w, i + 1);
			mtw_put(&w->out, 1);
		}
		if (weighed)
			end_list(w, MTW_WEIGHED, NULL, 0);
	}
}

static void put_counts(struct writing *w)
{
	begin(w);
	for (size_t i = 0; i < w->slot_count; i++) {
		put_id(w, i + 1);
		mtw_put(&w->out, w->slots[i].born.blocks);
		mtw_put(&w->out, w->slots[i].born.bytes);
		mtw_put(&w->out, w->slots[i].gone.blocks);
		mtw_put(&w->out, w->slots[i].gone.bytes);
		if (batch_full(w))
			end_list(w, MTW_COUNTS, NULL, 0);
	}
	end_list(w, MTW_COUNTS, NULL, 0);
}

static void put_live_at_a(struct writing *w)
{
	begin(w);
	for (size_t i = 0; i < w->slot_count; i++) {
		if (w->slots[i].epoch != EPOCH_A)
			continue;
		put_id(w, i + 1);
		mtw_put(&w->out, w->slots[i].at_a.blocks);
		mtw_put(&w->out, w->slots[i].at_a.bytes);
		if (batch_full(w))
			end_list(w, MTW_MARK_LIVE, (uint64_t[]){ DIFF_SESSION_MARK, 0 }, 2);
	}
	end_list(w, MTW_MARK_LIVE, (uint64_t[]){ DIFF_SESSION_MARK, LAST_PART }, 2);
}

struct totals_of {
	struct held a, born, gone;
};

static void add_held(struct held *to, struct held more)
{
	to->blocks += more.blocks;
	to->bytes += more.bytes;
}

static struct totals_of totals(const struct writing *w)
{
	struct totals_of t = { 0 };

	for (size_t i = 0; i < w->slot_count; i++) {
		add_held(&t.a, w->slots[i].at_a);
		add_held(&t.born, w->slots[i].born);
		add_held(&t.gone, w->slots[i].gone);
	}
	return t;
}

static void put_mark(struct writing *w, const struct totals_of *t)
{
	begin(w);
	mtw_put(&w->out, DIFF_SESSION_MARK);
	mtw_put(&w->out, EPOCH_A);
	mtw_put(&w->out, 0);
	mtw_put(&w->out, A_NS);
	mtw_put_string(&w->out, "A");
	mtw_put_string(&w->out, "memtop");
	mtw_put(&w->out, t->a.blocks);
	mtw_put(&w->out, t->a.bytes);
	mtw_put(&w->out, 0);
	mtw_put(&w->out, 0);
	mtw_put(&w->out, 0);
	end(w, MTW_MARK);
}

static void put_totals(struct writing *w, const struct totals_of *t)
{
	uint64_t b = t->born.bytes - t->gone.bytes, peak = b > t->a.bytes ? b : t->a.bytes;
	const uint64_t fields[] = { B_NS,
				    t->born.blocks,
				    t->born.bytes,
				    t->gone.blocks,
				    t->gone.bytes,
				    peak,
				    0,
				    b == peak ? B_NS : A_NS,
				    0,
				    0,
				    0,
				    0,
				    w->slot_count,
				    w->slot_count,
				    b };

	begin(w);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		mtw_put(&w->out, fields[i]);
	end(w, MTW_TOTALS);
}

static void put_end(struct writing *w)
{
	begin(w);
	mtw_put(&w->out, MTW_EXITED);
	mtw_put(&w->out, 0);
	mtw_put(&w->out, B_NS);
	mtw_put(&w->out, 0);
	end(w, MTW_STATE);
	begin(w);
	mtw_put(&w->out, 1);
	mtw_put(&w->out, B_NS);
	mtw_put(&w->out, MTW_TICK_COMPLETE | MTW_TICK_FINAL);
	end(w, MTW_TICK);
}

static void put_all(struct writing *w)
{
	make_slots(w);
	struct totals_of t = totals(w);

	w->time_ns = A_NS;
	put_hello(w);
	put_code(w);
	put_mark(w, &t);
	w->time_ns = B_NS;
	put_nodes(w);
	put_slots(w);
	put_counts(w);
	put_live_at_a(w);
	put_totals(w, &t);
	put_end(w);
}

int diff_write_session(const struct diff_tree *t, const char *path, struct err *err)
{
	struct session_writer *file = session_create(path, 0, err);

	if (!file)
		return -1;
	struct writing *w = xcalloc(1, sizeof *w);
	w->d = t->d;
	w->tree = t;
	w->file = file;
	w->err = err;
	put_all(w);
	int rc = session_close(file, w->rc ? NULL : err) || w->rc ? -1 : 0;
	map_release(&w->module_of);
	map_release(&w->taken);
	free(w->offsets);
	free(w->slots);
	free(w);
	return rc;
}
