/* SPDX-License-Identifier: MIT
 *
 * tree.c - see report/html/tree.h.
 *
 * Everything is written in columns, one list of numbers for each property: columns compress well,
 * and the page reads them into typed arrays.
 */
#include "report/html/tree.h"

#include "base/map.h"
#include "heap/merged.h"
#include "owners/names.h"
#include "report/html/calls.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	uint32_t node, owner, site, epoch; /* site: query_site_of() */
	bool estimate;
	struct tally sum;
};

struct html_tree {
	struct report *report;
	struct merged *merged;
	uint32_t *owner, *site; /* by stack */
	struct entry *entries;  /* by node, in its order */
	size_t entry_count, entry_room;
	uint32_t *of_slot;   /* entry, by arrival of slots; NO_ID = it never had a block */
	struct map owner_of; /* an owner's module -> its number */
};

int64_t html_tree_owner(const struct html_tree *t, uint32_t module)
{
	uint32_t number = map_get(&t->owner_of, module, NO_ID);

	return number == NO_ID ? -1 : (int64_t)number;
}

static void number_owners(struct html_tree *t)
{
	const struct owner *list = NULL;
	size_t n = owners_update(t->report->owners, &list);

	for (size_t i = 0; i < n; i++)
		map_set(&t->owner_of, list[i].module, (uint32_t)i);
}

/* Nodes arrived in the model's order. */
static void find_owners_and_sites(struct html_tree *t, struct query *q)
{
	const struct skeleton *s = t->report->heap->skeleton;

	t->owner = xmalloc((s->stacks + 1ul) * sizeof *t->owner);
	t->site = xmalloc((s->stacks + 1ul) * sizeof *t->site);
	for (uint32_t a = 0; a < s->nodes; a++) {
		uint32_t node = s->node_of[a], k = skeleton_first(s, node);

		if (!bit_of(s->stack_bits, node))
			continue;
		t->owner[k] =
			map_get(&t->owner_of,
				owners_of_node(t->report->owners, s->id[node])->module, NO_ID);
		t->site[k] = query_site_of(q, s->id[node]);
	}
}

/* A slot of a node, by what tells its entry from the node's others; slot: by arrival. */
struct part {
	uint32_t owner, site, epoch, slot;
};

static int compare_parts(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (a->epoch != b->epoch)
		return a->epoch < b->epoch ? -1 : 1;
	return (a->slot > b->slot) - (a->slot < b->slot);
}

static bool had_blocks(const struct columns *c, uint32_t slot)
{
	struct tally now = columns_now(c, slot);

	return now.alloc_blocks || now.alloc_bytes;
}

static uint32_t merged_node(const struct html_tree *t, uint32_t slot)
{
	const struct columns *c = t->report->columns;

	return t->merged->of_node[c->skeleton->node_of_stack[c->slots->stack[slot]]];
}

/* All slots that had blocks, by node: those of node n are parts end[n - 1] .. end[n] - 1. */
static struct part *parts_by_node(const struct html_tree *t, uint32_t *end)
{
	const struct columns *c = t->report->columns;
	struct part *list = xmalloc((c->slots->count + 1ul) * sizeof *list);
	uint32_t before = 0;

	for (uint32_t a = 0; a < c->slots->count; a++)
		end[merged_node(t, a)] += had_blocks(c, a);
	for (uint32_t n = 0; n < t->merged->count; n++) {
		uint32_t here = end[n];

		end[n] = before;
		before += here;
	}
	for (uint32_t a = 0; a < c->slots->count; a++) {
		uint32_t k = c->slots->stack[a];

		if (had_blocks(c, a))
			list[end[merged_node(t, a)]++] =
				(struct part){ t->owner[k], t->site[k], c->slots->epoch[a], a };
	}
	return list;
}

static void enter(struct html_tree *t, uint32_t node, const struct part *p, bool new)
{
	const struct columns *c = t->report->columns;

	if (new) {
		GROW(t->entries, t->entry_room, t->entry_count + 1);
		t->entries[t->entry_count++] = (struct entry){
			.node = node, .owner = p->owner, .site = p->site, .epoch = p->epoch
		};
	}
	struct entry *e = &t->entries[t->entry_count - 1];
	t->of_slot[p->slot] = (uint32_t)t->entry_count - 1;
	e->estimate |= bit_of(t->report->heap->sums->estimate_bits, c->slots->stack[p->slot]);
	struct tally now = columns_now(c, p->slot);
	tally_add(&e->sum, &now);
}

static void gather_entries(struct html_tree *t)
{
	uint32_t slots = t->report->columns->slots->count, first = 0;
	uint32_t *end = xcalloc(t->merged->count + 1ul, sizeof *end);
	struct part *list = parts_by_node(t, end);

	t->of_slot = xmalloc((slots + 1ul) * sizeof *t->of_slot);
	memset(t->of_slot, 0xff, slots * sizeof *t->of_slot);
	for (uint32_t n = 0; n < t->merged->count; first = end[n++]) {
		if (end[n] - first > 1)
			qsort(list + first, end[n] - first, sizeof *list, compare_parts);
		for (uint32_t i = first; i < end[n]; i++) {
			const struct part *p = &list[i];

			enter(t, n, p,
			      i == first || p->owner != p[-1].owner || p->site != p[-1].site ||
				      p->epoch != p[-1].epoch);
		}
	}
	free(end);
	free(list);
}

/* By frame: its function. */
static uint32_t *functions_of(const struct heap_names *n)
{
	uint32_t frames = n->first[n->locations];
	uint32_t *list = xmalloc((frames + 1ul) * sizeof *list);

	for (uint32_t i = 0; i < frames; i++)
		list[i] = n->frames[i].function;
	return list;
}

struct html_tree *html_tree_new(struct report *r, struct query *q)
{
	struct html_tree *t = xcalloc(1, sizeof *t);
	uint32_t *function = functions_of(r->names);

	t->report = r;
	t->merged = merged_new(r->heap->skeleton, r->names, function, r->names->functions);
	free(function);
	number_owners(t);
	find_owners_and_sites(t, q);
	gather_entries(t);
	return t;
}

void html_tree_free(struct html_tree *t)
{
	if (!t)
		return;
	merged_free(t->merged);
	map_release(&t->owner_of);
	free(t->owner);
	free(t->site);
	free(t->entries);
	free(t->of_slot);
	free(t);
}

static uint64_t of_entry(const struct entry *e, unsigned column)
{
	switch (column) {
	case 0: return e->node;
	case 1: return e->owner;
	case 2: return e->epoch;
	case 3: return e->estimate;
	case 4: return live_bytes(&e->sum);
	case 5: return live_blocks(&e->sum);
	case 6: return e->sum.alloc_bytes;
	case 7: return e->site;
	default: return e->sum.alloc_blocks;
	}
}

/* "node" as the difference to the entry before. */
static void put_entries(const struct html_tree *t, struct pack *out)
{
	static const char *const columns[] = {
		"node",        "owner",           "epoch", "sampled",         "live_bytes",
		"live_blocks", "allocated_bytes", "site",  "allocated_blocks"
	};

	pack_key(out, "entries");
	pack_open(out, '{');
	for (unsigned c = 0; c < sizeof columns / sizeof *columns; c++) {
		uint64_t before = 0;

		pack_key(out, columns[c]);
		pack_open(out, '[');
		for (size_t i = 0; i < t->entry_count; i++) {
			uint64_t v = of_entry(&t->entries[i], c);

			pack_size(out, v - (c ? 0 : before));
			before = v;
		}
		pack_close(out, ']');
	}
	pack_close(out, '}');
}

static const char *library_of(const struct html_tree *t, const struct heap_function *fn)
{
	const struct names *n = owners_names(t->report->owners);

	return fn->lib == NO_ID ? NULL : names_lib(n, fn->lib)->name;
}

/* The functions that the tree has, numbered as they first come in it. */
static void put_calls(const struct html_tree *t, struct pack *out)
{
	const struct heap_names *n = t->report->names;
	const struct merged *m = t->merged;
	uint32_t *number = xcalloc(n->functions + 1ul, sizeof *number); /* + 1 */
	uint32_t *frame = xmalloc(m->count * sizeof *frame);
	struct call_frame *frames = xcalloc(n->functions + 1ul, sizeof *frames);
	uint32_t count = 0;

	for (uint32_t i = 1; i < m->count; i++) {
		uint32_t f = n->frames[m->frame[i]].function;
		const struct heap_function *fn = &n->function[f];

		if (!number[f]) {
			frames[count] = (struct call_frame){ .name = fn->name,
							     .full = fn->function,
							     .library = library_of(t, fn) };
			number[f] = ++count;
		}
		frame[i] = number[f] - 1;
	}
	for (uint32_t i = 0; i < n->first[n->locations]; i++) {
		uint32_t is = number[n->frames[i].function];

		if (is && !frames[is - 1].file)
			frames[is - 1].file = n->frames[i].file;
	}
	html_calls_put(&(struct html_calls){ m->count, m->parent, frame, m->line, frames, count },
		       out);
	free(number);
	free(frame);
	free(frames);
}

void html_tree_put(const struct html_tree *t, struct pack *out)
{
	put_calls(t, out);
	put_entries(t, out);
}

struct cells {
	const struct html_tree *tree;
	struct pack *out;
	bool begun;
	uint32_t instant;
	int64_t *bytes, *blocks; /* by entry, of this instant */
	uint64_t *touched;       /* entries that it has */
	uint32_t *list;          /* the same, while it is written */
	size_t count;
};

static void put_column(const struct cells *c, const char *name, const int64_t *values)
{
	pack_key(c->out, name);
	pack_open(c->out, '[');
	for (size_t i = 0; i < c->count; i++)
		pack_number(c->out, values[c->list[i]]);
	pack_close(c->out, ']');
}

static void put_instant(struct cells *c)
{
	if (!c->begun)
		return;
	for (uint32_t i = 0; i <= c->tree->entry_count / 64; i++)
		for (uint64_t left = c->touched[i]; left; left &= left - 1)
			c->list[c->count++] = i * 64 + (uint32_t)__builtin_ctzll(left);
	pack_open(c->out, '{');
	pack_key(c->out, "id");
	pack_size(c->out, c->instant);
	pack_key(c->out, "entry");
	pack_open(c->out, '[');
	for (size_t i = 0; i < c->count; i++)
		pack_size(c->out, c->list[i] - (i ? c->list[i - 1] : 0));
	pack_close(c->out, ']');
	put_column(c, "bytes", c->bytes);
	put_column(c, "blocks", c->blocks);
	pack_close(c->out, '}');
	for (size_t i = 0; i < c->count; i++) {
		c->bytes[c->list[i]] = c->blocks[c->list[i]] = 0;
		c->touched[c->list[i] / 64] = 0;
	}
	c->count = 0;
}

/* To the instant that is being gathered. */
static void add_cell(struct cells *c, uint32_t slot, int64_t bytes, int64_t blocks)
{
	uint32_t entry = c->tree->of_slot[slot];

	if (entry == NO_ID)
		return;
	c->touched[entry / 64] |= 1ull << entry % 64;
	c->bytes[entry] += bytes;
	c->blocks[entry] += blocks;
}

static bool on_cell(void *arg, uint32_t instant, uint32_t slot, const struct live *was,
		    const struct live *is)
{
	struct cells *c = arg;

	if (!c->begun || instant != c->instant)
		put_instant(c);
	c->begun = true;
	c->instant = instant;
	add_cell(c, slot, (int64_t)(is->bytes - was->bytes), (int64_t)(is->blocks - was->blocks));
	return true;
}

static void put_walk(struct cells *c, const char *key, uint32_t last_mark)
{
	const struct model *m = c->tree->report->model;
	const struct slots *slots = c->tree->report->columns->slots;
	struct mark_walk walk = { 0 };

	pack_key(c->out, key);
	pack_open(c->out, '[');
	c->begun = false;
	if (last_mark)
		mark_walk(m, slots, &walk, last_mark, on_cell, c);
	else
		sample_walk(m, slots, &walk, on_cell, c);
	mark_walk_end(&walk);
	put_instant(c);
	pack_close(c->out, ']');
}

/* The heap's peak, in the form of the other instants: the only one of its kind. */
static void put_peak(struct cells *c)
{
	const struct model *m = c->tree->report->model;
	struct peak_at at = { 0 };
	struct peak_cell cell;

	pack_key(c->out, "peak_cells");
	pack_open(c->out, '[');
	c->begun = model_peak(m) != NULL;
	c->instant = 0;
	while (c->begun && peak_next(&c->tree->report->columns->peak, &at, &cell))
		if (live_blocks(&cell.then))
			add_cell(c, cell.slot, (int64_t)live_bytes(&cell.then),
				 (int64_t)live_blocks(&cell.then));
	put_instant(c);
	pack_close(c->out, ']');
}

void html_tree_put_instants(const struct html_tree *t, struct pack *out)
{
	const struct model *m = t->report->model;
	size_t n = t->entry_count + 1;
	struct cells c = { .tree = t, .out = out };
	uint32_t newest = model_mark_limit(m) ? model_mark_limit(m) - 1 : 0;

	c.bytes = xcalloc(n, sizeof *c.bytes);
	c.blocks = xcalloc(n, sizeof *c.blocks);
	c.touched = xcalloc(n / 64 + 1, sizeof *c.touched);
	c.list = xcalloc(n, sizeof *c.list);
	if (newest) {
		put_walk(&c, "mark_cells", newest);
	} else {
		pack_key(out, "mark_cells");
		pack_open(out, '[');
		pack_close(out, ']');
	}
	if (model_samples_by_slot(m)) {
		put_walk(&c, "sample_cells", 0);
	} else {
		pack_key(out, "sample_cells");
		pack_open(out, '[');
		pack_close(out, ']');
	}
	put_peak(&c);
	free(c.bytes);
	free(c.blocks);
	free(c.touched);
	free(c.list);
}
