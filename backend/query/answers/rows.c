/* SPDX-License-Identifier: MIT
 *
 * rows.c - the rows on screen: order, folding, open rows.
 *
 * Children that hold less than a thousandth of the whole fold into one row, "... 812 more", or "...
 * 12 more without memory", which has a number, too, so that it can be selected and opened. Rows are
 * sorted only on the caller's request: between requests they keep their order, and new ones come
 * last.
 */
#include "query/answers/rows.h"
#include "query/sites/ages.h"
#include "query/tree/group.h"
#include "query/tree/members.h"
#include "query/tree/places.h"
#include "query/tree/row.h"
#include "query/tree/tree.h"

#include <stdlib.h>
#include <string.h>

#define REST_MIN 3u /* fewer small children are shown */
#define DEPTH_MAX 2000u

void query_set_inverted(struct query *q, bool on)
{
	if (q->inverted == on)
		return;
	query_mine(q);
	q->inverted = on;
	q->zoom_depth = 0;
}

bool query_inverted(const struct query *q)
{
	return q->inverted;
}

void query_set_sort(struct query *q, enum query_column by, bool reverse)
{
	q->by = by;
	q->reverse = reverse;
}

/* The sort key; names have no figure, so live. */
int64_t rows_key(const struct query *q, uint32_t row)
{
	const struct trow *r = q->rows[row];
	const struct amounts *v = &r->incl;
	const struct change *c = &v->change;

	switch (q->by) {
	case BY_BLOCKS: return (int64_t)live_blocks(&v->sum);
	case BY_NET: return (int64_t)(c->born_bytes - c->gone_bytes);
	case BY_BORN: return (int64_t)c->born_bytes;
	case BY_GONE: return (int64_t)c->gone_bytes;
	case BY_SELF: return (int64_t)live_bytes(&r->self.sum);
	case BY_RATE: return (int64_t)v->rate.blocks;
	case BY_ALLOC: return (int64_t)v->sum.alloc_bytes;
	default: return (int64_t)live_bytes(&v->sum);
	}
}

static const char *short_name(const struct query *q, const struct trow *r)
{
	return r->fn == NO_ID ? "" : q->raw->names->function[r->fn].name;
}

/* Ages order rows, but do not tell which is the heaviest. */
static int64_t order_key(const struct query *q, uint32_t row)
{
	if (q->by == BY_AGE || q->by == BY_OLDEST)
		return ages_key(q, false, row, q->by, q->reverse);
	return rows_key(q, row);
}

static int by_key(const void *a, const void *b, void *query)
{
	const struct query *q = query;
	const uint32_t na = *(const uint32_t *)a, nb = *(const uint32_t *)b;
	const struct trow *x = q->rows[na], *y = q->rows[nb];
	int order = 0;

	if (q->by == BY_NAME) {
		order = strcmp(short_name(q, x), short_name(q, y));
	} else {
		int64_t kx = order_key(q, na), ky = order_key(q, nb);
		uint64_t lx = live_bytes(&x->incl.sum), ly = live_bytes(&y->incl.sum);
		order = kx != ky ? (kx < ky ? 1 : -1) : lx != ly ? (lx < ly ? 1 : -1) : 0;
	}
	if (q->reverse)
		order = -order;
	if (!order) /* the same for every viewer, whatever arrived first */
		order = strcmp(short_name(q, x), short_name(q, y));
	return order ? order : na < nb ? -1 : 1;
}

void rows_sort(struct query *q, struct trow *r)
{
	if (r->child_count > 1)
		qsort_r(r->children, r->child_count, sizeof *r->children, by_key, q);
	for (uint32_t i = 0; i < r->child_count; i++)
		q->rows[r->children[i]]->rank = i;
}

/* The weight that earns a row its own line, whatever the sort column. */
static uint64_t weight(const struct query *q, const struct trow *r)
{
	const struct amounts *v = &r->incl;
	/* Between two marks, the current live amount does not matter. */
	uint64_t w = q->until ? 0 : live_bytes(&v->sum);

	if (q->diffing) {
		w = w > v->change.gone_bytes ? w : v->change.gone_bytes;
		w = w > v->change.born_bytes ? w : v->change.born_bytes;
	}
	if (q->by == BY_ALLOC && v->sum.alloc_bytes > w)
		w = v->sum.alloc_bytes;
	return w;
}

bool rows_empty(const struct query *q, uint32_t row)
{
	return !weight(q, q->rows[row]);
}

/* Is the row unchanged between two instants, while rows are sorted by change? */
static bool unchanged(const struct query *q, const struct trow *c)
{
	const struct change *d = &c->incl.change;

	return q->diffing && (q->by == BY_NET || q->by == BY_BORN || q->by == BY_GONE) &&
	       !(d->born_blocks | d->born_bytes | d->gone_blocks | d->gone_bytes);
}

static uint32_t rest_row(struct query *q, uint32_t parent, uint32_t count)
{
	struct trow *r = q->rows[parent];

	if (!r->rest_row) {
		uint32_t number = row_new(q, parent, NO_ID, r->inverted);
		q->rows[number]->rest = true;
		r->rest_row = number;
	}
	struct trow *rest = q->rows[r->rest_row];
	rest->incl = rest->self = (struct amounts){ 0 };
	rest->valued = q->stamp;
	rest->rest_count = count;
	return r->rest_row;
}

static const char *keep_text(struct shown_rows *to, char *text)
{
	GROW(to->texts, to->text_room, to->text_count + 1);
	return to->texts[to->text_count++] = text;
}

static char *chain_name(struct query *q, uint32_t head, uint32_t tail, uint32_t *folded)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	*folded = 0;
	for (uint32_t at = head;; at = q->rows[at]->children[0]) {
		fprintf(f, "%s%s", *folded ? (q->inverted ? " < " : " > ") : "",
			short_name(q, q->rows[at]));
		++*folded;
		if (at == tail)
			break;
	}
	fclose(f);
	return text;
}

/* The most telling row of a chain: the last that is no mere wrapper. Inverted, the first: all
 * the rest called it. */
static uint32_t telling(struct query *q, uint32_t head, uint32_t tail, uint32_t *which)
{
	uint32_t best = q->inverted ? head : tail, count = 0;

	*which = 0;
	for (uint32_t at = head;; at = q->rows[at]->children[0]) {
		uint32_t fn = q->rows[at]->fn;
		count++;
		if (!q->inverted && fn != NO_ID && q->raw->names->function[fn].tells) {
			best = at;
			*which = count;
		}
		if (at == tail)
			break;
	}
	if (!*which)
		*which = q->inverted ? 1 : count;
	return best;
}

bool rows_hit(struct query *q, uint32_t fn)
{
	struct search *s = &q->search;

	if (!s->text || fn == NO_ID)
		return false;
	GROW(s->hit_of_fn, s->hit_room, (size_t)fn + 1);
	if (!s->hit_of_fn[fn]) {
		const struct heap_function *x = &q->raw->names->function[fn];
		s->hit_of_fn[fn] =
			filter_text_has(x->function, s->text) || filter_text_has(x->name, s->text)
				? 2
				: 1;
	}
	return s->hit_of_fn[fn] == 2;
}

static uint32_t location_of(const struct query *q, const struct trow *r)
{
	return q->raw->skeleton->location[r->heavy.node];
}

static uint32_t flags_of(struct query *q, uint32_t head, uint32_t tail)
{
	const struct trow *r = q->rows[tail];
	uint32_t flags = 0;

	if (r->rest)
		return ROW_REST;
	if (!tree_has_children(q, tail))
		flags |= ROW_LEAF;
	else if (r->open)
		flags |= ROW_OPEN;
	flags |= amounts_zero_flag(q->until, &r->incl);
	const struct heap_place *at_place = &q->raw->names->place[location_of(q, r)];
	query_look(q, location_of(q, r));
	if (at_place->pending)
		flags |= ROW_PENDING;
	if (at_place->kind == MTW_NODE_TRUNCATED)
		flags |= ROW_TRUNCATED;
	for (uint32_t at = head;; at = q->rows[at]->children[0]) {
		flags |= rows_hit(q, q->rows[at]->fn) ? ROW_HIT : 0;
		if (at == tail)
			return flags;
	}
}

static void fill_place(struct query *q, struct row *out, uint32_t telling, uint32_t end)
{
	const struct member *m = &q->rows[telling]->heavy, *leaf = &q->rows[end]->heavy;
	const struct heap_names *n = q->raw->names;
	uint32_t location = location_of(q, q->rows[telling]);
	const struct heap_place *at = &n->place[location];
	const struct heap_frame *f = &n->frames[n->first[location] + m->frame];

	out->function = n->function[f->function].function;
	out->file = f->file;
	out->line = f->line;
	out->module = at->module;
	out->flags |= f->inlined ? ROW_INLINED : 0;
	out->flags |= at->kind == MTW_NODE_NOWHERE ? ROW_GENERATED : 0;
	out->node = q->raw->skeleton->id[leaf->leaf];
	out->owner = owners_in(q->o, q->raw, leaf->leaf);
}

static void emit(struct query *q, uint32_t head, uint32_t tail, uint32_t shown_parent,
		 uint32_t depth)
{
	struct shown_rows *to = &q->shown.rows;

	GROW(to->rows, to->room, to->count + 1);
	GROW(q->shown.place, q->shown.place_room, q->row_count + 1);
	struct trow *r = q->rows[tail];
	struct row *out = &to->rows[to->count];

	*out = (struct row){
		.id = head,
		.parent = shown_parent,
		.depth = depth,
		.folded = 1,
		.named = 1,
	};
	for (uint32_t at = tail; at != head; at = q->rows[at]->parent)
		q->rows[at]->tail = 0;
	q->rows[head]->tail = tail;
	out->flags = flags_of(q, head, tail);
	out->amounts = r->incl;
	filter_known(q, &out->amounts);
	out->self = r->self.sum;
	out->self_estimate = r->self.sampled != 0;
	out->paths = r->rest ? r->rest_count : (uint32_t)r->member_count;
	out->module = NO_ID;
	if (r->rest) {
		out->name = keep_text(to, xasprintf("... %u %s", r->rest_count,
						    unchanged(q, r)       ? "unchanged"
						    : rows_empty(q, tail) ? "more without memory"
									  : "more"));
		out->owner = NULL;
		out->node = 0;
	} else {
		out->name = head == tail ? short_name(q, r)
					 : keep_text(to, chain_name(q, head, tail, &out->folded));
		fill_place(q, out, telling(q, head, tail, &out->named), q->inverted ? head : tail);
	}
	q->shown.place[head] = (uint32_t)++to->count;
}

static void walk(struct query *q, uint32_t row, uint32_t shown, uint32_t depth, bool resort);

/* The chain of `head` used to end further in: if it was open there, the rows between stay open. */
static void stay_open(struct query *q, uint32_t head, uint32_t tail)
{
	uint32_t was = q->rows[head]->tail, at = was;

	if (!was || was == tail || q->rows[was]->gone || !q->rows[was]->open)
		return;
	while (at != tail && q->rows[at]->parent != NO_ID)
		at = q->rows[at]->parent;
	for (; at == tail && was != tail; was = q->rows[was]->parent)
		q->rows[q->rows[was]->parent]->open = true;
}

/* Names may have joined the children of an open row, so that the chain goes on through it: its end
 * is open in its place. */
static void open_further(struct query *q, uint32_t head, uint32_t tail)
{
	for (uint32_t at = tail;; at = q->rows[at]->parent) {
		q->rows[tail]->open |= q->rows[at]->forked;
		q->rows[at]->forked = false;
		if (at == head)
			return;
	}
}

static void show(struct query *q, uint32_t child, uint32_t shown, uint32_t depth, bool resort)
{
	uint32_t tail = tree_tail(q, child);

	tree_value(q, tail);
	stay_open(q, child, tail);
	stay_open(q, tail, tail);
	open_further(q, child, tail);
	emit(q, child, tail, shown, depth);
	if (q->rows[tail]->open)
		walk(q, tail, child, depth + 1, resort);
}

/* The limit for small rows, from all stacks, since both trees hold the same. */
static uint64_t small_below(struct query *q)
{
	tree_value(q, ROOT_DOWN);
	return weight(q, q->rows[ROOT_DOWN]) / 1000 + 1;
}

static bool small(const struct query *q, const struct trow *c, uint64_t floor)
{
	if (unchanged(q, c))
		return true;
	if (q->by == BY_RATE && c->incl.rate.blocks > q->rows[row_root(q)]->incl.rate.blocks / 1000)
		return false;
	return weight(q, c) < floor;
}

/* Returns the number of small ones. */
static uint32_t value_children(struct query *q, const struct trow *r, uint64_t floor)
{
	uint32_t count = 0;

	for (size_t i = 0; i < r->child_count; i++) {
		tree_value(q, r->children[i]);
		const struct trow *c = q->rows[r->children[i]];
		count += c->incl.sum.alloc_blocks && small(q, c, floor);
	}
	return count;
}

/* Shows a small row when it is open and changed, until it is closed, and when it or a row below
 * is searched for. */
static bool worth_a_line(struct query *q, const struct trow *c, uint64_t floor)
{
	return c->wanted || (c->open && !unchanged(q, c)) || !small(q, c, floor) ||
	       rows_hit(q, c->fn);
}

static bool some_shown(const struct query *q, const struct trow *r)
{
	for (size_t i = 0; i < r->child_count; i++)
		if (r->children[i] < q->shown.was_room && q->shown.was[r->children[i]])
			return true;
	return false;
}

static void walk(struct query *q, uint32_t row, uint32_t shown, uint32_t depth, bool resort)
{
	struct amounts rest = { 0 };
	uint64_t floor = small_below(q);
	uint32_t folded = 0;

	group_build(q, row);
	struct trow *r = q->rows[row];
	uint32_t few = value_children(q, r, floor);
	if (depth > DEPTH_MAX)
		return;
	if (resort || !some_shown(q, r))
		rows_sort(q, r);
	for (size_t i = 0; i < r->child_count; i++) {
		struct trow *c = q->rows[r->children[i]];
		if (!c->incl.sum.alloc_blocks) /* nothing ever came through here with this filter */
			continue;
		if (few >= REST_MIN && !r->more && !worth_a_line(q, c, floor)) {
			amounts_add(&rest, &c->incl);
			folded++;
		} else {
			show(q, r->children[i], shown, depth, resort);
		}
	}
	if (folded) {
		uint32_t number = rest_row(q, row, folded);
		q->rows[number]->incl = rest;
		emit(q, number, number, shown, depth);
	}
}

static uint32_t top_row(struct query *q)
{
	while (q->zoom_depth) {
		uint32_t top = row_now(q, q->zoom[q->zoom_depth - 1]);
		if (top)
			return top;
		q->zoom_depth--;
	}
	return row_root(q);
}

static void fill(struct query *q, bool resort)
{
	struct shown *to = &q->shown;

	for (size_t i = 0; i < to->rows.text_count; i++)
		free(to->rows.texts[i]);
	to->rows.text_count = to->rows.count = 0;
	uint32_t *place = to->was;
	size_t room = to->was_room;
	to->was = to->place;
	to->was_room = to->place_room;
	to->place = place;
	to->place_room = room;
	if (room)
		memset(place, 0, room * sizeof *place);
	uint32_t top = top_row(q);
	if (q->zoom_depth)
		show(q, top, 0, 0, resort);
	else
		walk(q, top, 0, 0, resort);
}

size_t query_rows(struct query *q, bool resort, const struct row **rows)
{
	do {
		tree_now(q);
		fill(q, resort);
	} while (query_ask(q));
	*rows = q->shown.rows.rows;
	return q->shown.rows.count;
}

void query_rows_keep(struct query *q)
{
	struct shown *s = &q->shown;
	struct shown_rows next = s->kept;

	s->kept = s->rows;
	s->rows = next;
}

/* A chain was one line, open or closed like its end: its remaining parts get the same state. */
static void agree(struct query *q, uint32_t head)
{
	uint32_t tail = q->rows[head]->tail, at = tail;

	if (!tail || q->rows[tail]->gone)
		return;
	while (at != head && q->rows[at]->parent != NO_ID)
		at = q->rows[at]->parent;
	for (; at == head && tail != head; tail = q->rows[tail]->parent)
		q->rows[q->rows[tail]->parent]->open = q->rows[tail]->open;
}

void query_set_inlined(struct query *q, bool on)
{
	if (q->merged == !on)
		return;
	query_mine(q);
	tree_now(q);
	for (uint32_t i = ROOT_UP + 1; i < q->row_count; i++)
		if (!q->rows[i]->gone)
			agree(q, i);
	for (uint32_t i = ROOT_UP + 1; i < q->row_count; i++) {
		q->rows[i]->witness.all |= q->merged;
		q->rows[i]->tail = 0;
	}
	q->merged = !on;
	q->structure++;
	q->stamp++; /* a row's own amount changes */
	q->passing++;
	places_find(q);
}

bool query_inlined(const struct query *q)
{
	return !q->merged;
}

bool query_row_nodes(const struct query *q, row_id id, query_node_fn *fn, void *arg)
{
	uint32_t number = row_now(q, id);
	const struct trow *r = q->rows[q->rows[number]->tail ? q->rows[number]->tail : number];
	const struct skeleton *s = q->raw->skeleton;

	for (uint32_t i = 0; r->placed == q->structure && i < r->member_count; i++)
		fn(arg, s->id[r->inverted ? r->members[i].leaf : r->members[i].node], !r->inverted);
	return !r->rest;
}

bool query_passes(const struct query *q, uint32_t leaf)
{
	uint32_t n = q->raw ? skeleton_find(q->raw->skeleton, leaf) : NO_ID;

	return filter_passed(q, n);
}

size_t query_index(const struct query *q, row_id id)
{
	const struct shown *s = &q->shown;
	uint32_t number = row_now(q, id);

	return number && number < s->place_room && s->place[number] ? s->place[number] - 1
								    : SIZE_MAX;
}
