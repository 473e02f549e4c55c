/* SPDX-License-Identifier: MIT */
#include "diff/session.h"

#include "base/map.h"
#include "session/session.h"
#include "symbols/symbols.h"
#include "wire/frames.h"

#include <stdlib.h>
#include <string.h>

#define A_NS 1000000000ull /* the times of A and B, which mean nothing */
#define B_NS 2000000000ull
#define EPOCH_A 0u
#define EPOCH_B 1u

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
	struct frames out;
	struct map module_of; /* a role's address -> number + 1 */
	uint32_t module_count;
	uint64_t *offsets; /* by frame: what its nodes point to */
	struct map taken;  /* a location's hash */
	struct slot_of *slots;
	size_t slot_count, slot_room;
	uint64_t time_ns;
};

static int put_frame(void *arg, uint64_t type, const uint8_t *payload, size_t len)
{
	struct writing *w = arg;

	return session_frame(w->file, 0, w->time_ns, type, payload, len, w->err);
}

static void put_hello(struct writing *w)
{
	const struct side *s = w->d->sides[w->d->sides_a];

	frames_put(&w->out, MTW_VERSION);
	frames_put(&w->out, 0);
	frames_put(&w->out, s->pid ? s->pid : 1);
	frames_put(&w->out, 0);
	frames_put(&w->out, s->start_unix_ns);
	frames_put(&w->out, 0);
	frames_put(&w->out, 0);
	frames_put(&w->out, 64);
	frames_string(&w->out, "");
	frames_string(&w->out, s->program);
	frames_string(&w->out, "");
	frames_string(&w->out, "");
	frames_put(&w->out, 0);
	frames_end(&w->out, MTW_HELLO);
}

static uint32_t module_of(struct writing *w, const struct side_module *in)
{
	uint64_t key = (uint64_t)(uintptr_t)in->role;
	uint32_t number = map_get(&w->module_of, key, 0);

	if (number)
		return number - 1;
	map_set(&w->module_of, key, ++w->module_count);
	frames_put(&w->out, w->module_count - 1);
	frames_put(&w->out, in->flags & ~(uint32_t)MTW_MODULE_GONE);
	for (int i = 0; i < 5; i++)
		frames_put(&w->out, 0);
	frames_bytes(&w->out, "", 0);
	frames_string(&w->out, in->name);
	frames_end(&w->out, MTW_MODULE);
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
	if (kind != MTW_NODE_NOWHERE)
		frames_put(&w->out, module);
	frames_put(&w->out, w->offsets[frame]);
	if (kind != MTW_NODE_NOWHERE)
		frames_put(&w->out, kind == MTW_NODE_SIGNAL);
	frames_put(&w->out, f->file ? SYMBOL_DWARF : SYMBOL_TABLE);
	frames_put(&w->out, 1);
	frames_string(&w->out, name_of(f));
	frames_string(&w->out, f->file);
	frames_put(&w->out, f->line);
	frames_put(&w->out, 0);
	frames_end(&w->out, kind == MTW_NODE_NOWHERE ? MTW_S_GENERATED : MTW_S_SYMBOL);
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

	for (uint32_t i = 1; i < s->nodes; i++) {
		const struct join_frame *f = &w->tree->frames[s->location[i]];
		uint8_t kind = kind_of(f);

		bool in = kind == MTW_NODE_CODE || kind == MTW_NODE_SIGNAL;

		frames_node(&w->out, i, kind, kind == MTW_NODE_TRUNCATED ? 0 : s->parent[i],
			    in ? map_get(&w->module_of, (uint64_t)(uintptr_t)f->in->role, 1) - 1
			       : 0,
			    w->offsets[s->location[i]]);
	}
	frames_rest(&w->out, MTW_NODES);
}

static struct held mean_held(const struct diff *d, const struct tally *sums, bool b)
{
	struct held h = { diff_round(diff_mean(d, sums, b, DIFF_BLOCKS)),
			  diff_round(diff_mean(d, sums, b, DIFF_LIVE)) };

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

	for (size_t i = 0; i < w->slot_count; i++)
		frames_slot(&w->out, i + 1, w->slots[i].node, w->slots[i].epoch);
	frames_rest(&w->out, MTW_SLOTS);
	for (size_t i = 0; i < w->slot_count && weighed; i++)
		frames_weighed(&w->out, i + 1);
	frames_rest(&w->out, MTW_WEIGHED);
}

static void put_counts(struct writing *w)
{
	for (size_t i = 0; i < w->slot_count; i++) {
		const struct slot_of *s = &w->slots[i];
		frames_counts(&w->out, i + 1,
			      &(struct tally){ s->born.blocks, s->born.bytes, s->gone.blocks,
					       s->gone.bytes });
	}
	frames_rest(&w->out, MTW_COUNTS);
}

static void put_live_at_a(struct writing *w)
{
	for (size_t i = 0; i < w->slot_count; i++)
		if (w->slots[i].epoch == EPOCH_A)
			frames_cell(&w->out, MTW_MARK_LIVE, DIFF_SESSION_MARK, i + 1,
				    w->slots[i].at_a.blocks, w->slots[i].at_a.bytes);
	frames_cells_end(&w->out, MTW_MARK_LIVE, DIFF_SESSION_MARK, true);
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
	frames_put(&w->out, DIFF_SESSION_MARK);
	frames_put(&w->out, EPOCH_A);
	frames_put(&w->out, 0);
	frames_put(&w->out, A_NS);
	frames_string(&w->out, "A");
	frames_string(&w->out, "memtop");
	frames_put(&w->out, t->a.blocks);
	frames_put(&w->out, t->a.bytes);
	frames_put(&w->out, 0);
	frames_put(&w->out, 0);
	frames_put(&w->out, 0);
	frames_end(&w->out, MTW_MARK);
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

	frames_put_all(&w->out, fields, sizeof fields / sizeof *fields);
	frames_end(&w->out, MTW_TOTALS);
}

static void put_end(struct writing *w)
{
	frames_put(&w->out, MTW_EXITED);
	frames_put(&w->out, 0);
	frames_put(&w->out, B_NS);
	frames_put(&w->out, 0);
	frames_end(&w->out, MTW_STATE);
	frames_put(&w->out, 1);
	frames_put(&w->out, B_NS);
	frames_put(&w->out, MTW_TICK_COMPLETE | MTW_TICK_FINAL);
	frames_end(&w->out, MTW_TICK);
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
	frames_init(&w->out, put_frame, w);
	put_all(w);
	int rc = session_close(file, w->out.rc ? NULL : err) || w->out.rc ? -1 : 0;
	frames_release(&w->out);
	map_release(&w->module_of);
	map_release(&w->taken);
	free(w->offsets);
	free(w->slots);
	free(w);
	return rc;
}
