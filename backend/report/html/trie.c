/* SPDX-License-Identifier: MIT
 *
 * trie.c - see report/html/trie.h.
 *
 * Everything is written in columns, one list of numbers for each property: columns compress well,
 * and the page reads them into typed arrays.
 */
#include "report/html/trie.h"

#include "owners/names.h"
#include "report/html/calls.h"

#include <stdlib.h>

struct entry {
	uint32_t node, owner, site, epoch; /* site: query_site_of() */
	bool sampled;
	struct tally sum;
	uint32_t place;
};

struct html_trie {
	struct report *report;
	struct query *query;
	struct names *names;
	struct calls calls;
	uint32_t *of_node; /* by the model's dense index */
	struct entry *entries;
	size_t entry_count, entry_room;
	uint32_t *by_place;  /* entries, by their nodes' places */
	uint32_t *of_slot;   /* entry by the slot's id; NO_ID = it never had a block */
	struct map owner_of; /* an owner's module -> its number */
};

/* --- nodes */

static uint32_t frame_of(struct html_trie *t, const struct name_frame *f)
{
	const struct name_fn *fn = names_fn(t->names, f->fn);

	return calls_frame(
		&t->calls, f->fn,
		&(struct call_frame){
			.name = fn->name,
			.full = fn->function,
			.file = f->file,
			.library = fn->lib == NO_ID ? NULL : names_lib(t->names, fn->lib)->name,
		});
}

static void gather_nodes(struct html_trie *t)
{
	const struct model *m = t->report->model;
	uint32_t count = model_dense_count(m);

	t->of_node = xcalloc((size_t)count + 1, sizeof *t->of_node);
	calls_begin(&t->calls);
	for (uint32_t i = 1; i < count; i++) {
		const struct node *n = model_dense(m, i, NULL);
		const struct name_loc *at = names_loc(t->names, names_loc_of(t->names, i));
		uint32_t to = t->of_node[n->parent];

		for (uint32_t k = at->count; k-- > 0;)
			to = calls_child(&t->calls, to, frame_of(t, &at->frames[k]),
					 at->frames[k].line);
		t->of_node[i] = to;
	}
}

/* --- entries */

static void number_owners(struct html_trie *t)
{
	const struct owner *list = NULL;
	size_t n = owners_update(t->report->owners, &list);

	for (size_t i = 0; i < n; i++)
		map_set(&t->owner_of, list[i].module, (uint32_t)i);
}

int64_t html_trie_owner(const struct html_trie *t, uint32_t module)
{
	uint32_t number = map_get(&t->owner_of, module, NO_ID);

	return number == NO_ID ? -1 : (int64_t)number;
}

static void gather_entries(struct html_trie *t)
{
	const struct model *m = t->report->model;
	struct map held = { 0 }, of_site = { 0 }, of_epoch = { 0 };
	uint32_t held_count = 0, site_count = 0;

	t->of_slot = xcalloc((size_t)model_slot_count(m) + 1, sizeof *t->of_slot);
	for (uint32_t id = 0; id < model_slot_count(m); id++) {
		const struct slot *s = model_slot(m, id);

		t->of_slot[id] = NO_ID;
		if (!s || !s->known || (!s->now.alloc_blocks && !s->now.alloc_bytes))
			continue;
		uint32_t node = t->of_node[s->node];
		uint32_t owner = map_get(
			&t->owner_of, owners_of_index(t->report->owners, s->node)->module, NO_ID);
		uint64_t pair = (uint64_t)node << 32 | owner;
		uint32_t number = map_get(&held, pair, NO_ID);

		uint32_t leaf, site;

		if (number == NO_ID)
			map_set(&held, pair, number = held_count++);
		model_dense(m, s->node, &leaf);
		site = query_site_of(t->query, leaf);
		pair = (uint64_t)number << 32 | site;
		number = map_get(&of_site, pair, NO_ID);
		if (number == NO_ID)
			map_set(&of_site, pair, number = site_count++);
		pair = (uint64_t)number << 32 | s->epoch;
		if ((t->of_slot[id] = map_get(&of_epoch, pair, NO_ID)) == NO_ID) {
			map_set(&of_epoch, pair, t->of_slot[id] = (uint32_t)t->entry_count++);
			GROW(t->entries, t->entry_room, t->entry_count);
		}
		struct entry *e = &t->entries[t->of_slot[id]];
		e->node = node;
		e->owner = owner;
		e->site = site;
		e->epoch = s->epoch;
		e->sampled |= s->sampled;
		tally_add(&e->sum, &s->now);
	}
	map_release(&held);
	map_release(&of_site);
	map_release(&of_epoch);
}

/* By counting: a node has few entries. */
static void order_entries(struct html_trie *t)
{
	uint32_t *next = xcalloc(t->calls.node_count + 1, sizeof *next);

	t->by_place = xcalloc(t->entry_count + 1, sizeof *t->by_place);
	for (size_t i = 0; i < t->entry_count; i++)
		next[t->calls.nodes[t->entries[i].node].place + 1]++;
	for (size_t i = 1; i < t->calls.node_count; i++)
		next[i] += next[i - 1];
	for (uint32_t i = 0; i < t->entry_count; i++) {
		t->entries[i].place = next[t->calls.nodes[t->entries[i].node].place]++;
		t->by_place[t->entries[i].place] = i;
	}
	free(next);
}

struct html_trie *html_trie_new(struct report *r, struct query *q)
{
	struct html_trie *t = xcalloc(1, sizeof *t);

	t->report = r;
	t->query = q;
	owners_refresh(r->owners);
	t->names = owners_names(r->owners);
	gather_nodes(t);
	calls_order(&t->calls);
	number_owners(t);
	gather_entries(t);
	order_entries(t);
	return t;
}

void html_trie_free(struct html_trie *t)
{
	if (!t)
		return;
	calls_release(&t->calls);
	map_release(&t->owner_of);
	free(t->of_node);
	free(t->entries);
	free(t->by_place);
	free(t->of_slot);
	free(t);
}

/* --- writing */

static uint64_t of_entry(const struct html_trie *t, const struct entry *e, unsigned column)
{
	switch (column) {
	case 0: return t->calls.nodes[e->node].place;
	case 1: return e->owner;
	case 2: return e->epoch;
	case 3: return e->sampled;
	case 4: return live_bytes(&e->sum);
	case 5: return live_blocks(&e->sum);
	case 6: return e->sum.alloc_bytes;
	case 7: return e->site;
	default: return e->sum.alloc_blocks;
	}
}

/* "node" as the difference to the entry before. */
static void put_entries(const struct html_trie *t, struct pack *out)
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
			uint64_t v = of_entry(t, &t->entries[t->by_place[i]], c);

			pack_size(out, v - (c ? 0 : before));
			before = v;
		}
		pack_close(out, ']');
	}
	pack_close(out, '}');
}

void html_trie_put(const struct html_trie *t, struct pack *out)
{
	calls_put(&t->calls, out);
	put_entries(t, out);
}

/* --- instants */

struct cells {
	const struct html_trie *trie;
	struct pack *out;
	bool begun;
	uint32_t instant;
	int64_t *bytes, *blocks; /* by entry, of this instant */
	bool *touched;
	uint32_t *list; /* entries that were touched */
	size_t count;
};

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

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
	qsort(c->list, c->count, sizeof *c->list, by_number);
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
		c->touched[c->list[i]] = false;
	}
	c->count = 0;
}

/* To the instant that is being gathered. */
static void add_cell(struct cells *c, uint32_t slot, int64_t bytes, int64_t blocks)
{
	uint32_t of = c->trie->of_slot[slot];

	if (of == NO_ID)
		return;
	uint32_t entry = c->trie->entries[of].place;
	if (!c->touched[entry])
		c->list[c->count++] = entry;
	c->touched[entry] = true;
	c->bytes[entry] += bytes;
	c->blocks[entry] += blocks;
}

static bool on_cell(void *arg, uint32_t instant, const struct slot *s, const struct live *was,
		    const struct live *is)
{
	struct cells *c = arg;

	if (!c->begun || instant != c->instant)
		put_instant(c);
	c->begun = true;
	c->instant = instant;
	add_cell(c, s->id, (int64_t)(is->bytes - was->bytes), (int64_t)(is->blocks - was->blocks));
	return true;
}

static void put_walk(struct cells *c, const char *key, uint32_t last_mark)
{
	const struct model *m = c->trie->report->model;
	struct mark_walk walk = { 0 };

	pack_key(c->out, key);
	pack_open(c->out, '[');
	c->begun = false;
	if (last_mark)
		mark_walk(m, &walk, last_mark, on_cell, c);
	else
		sample_walk(m, &walk, on_cell, c);
	mark_walk_end(&walk);
	put_instant(c);
	pack_close(c->out, ']');
}

/* The heap's peak, in the form of the other instants: the only one of its kind. */
static void put_peak(struct cells *c)
{
	const struct model *m = c->trie->report->model;

	pack_key(c->out, "peak_cells");
	pack_open(c->out, '[');
	c->begun = model_peak(m) != NULL;
	c->instant = 0;
	for (uint32_t id = 0; c->begun && id < model_slot_count(m); id++) {
		struct tally then = model_peak_of_slot(m, id);

		if (live_blocks(&then))
			add_cell(c, id, (int64_t)live_bytes(&then), (int64_t)live_blocks(&then));
	}
	put_instant(c);
	pack_close(c->out, ']');
}

void html_trie_put_instants(const struct html_trie *t, struct pack *out)
{
	const struct model *m = t->report->model;
	size_t n = t->entry_count + 1;
	struct cells c = { .trie = t, .out = out };
	uint32_t newest = model_mark_limit(m) ? model_mark_limit(m) - 1 : 0;

	c.bytes = xcalloc(n, sizeof *c.bytes);
	c.blocks = xcalloc(n, sizeof *c.blocks);
	c.touched = xcalloc(n, sizeof *c.touched);
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
