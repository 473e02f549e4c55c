/* SPDX-License-Identifier: MIT */
#include "diff/diff.h"

#include "diff/stack_keys.h"
#include "diff/noise.h"
#include "diff/presence.h"

#include <math.h>
#include <stdlib.h>

#define FRAMES_MAX 512

const char *diff_value_name(enum diff_value v)
{
	static const char *const names[] = { "live", "blocks", "allocated", "blocks allocated" };

	return names[v];
}

const char *diff_kind_name(enum diff_kind k)
{
	static const char *const names[] = { "same", "grown", "shrunk", "new", "gone" };

	return names[k];
}

static uint64_t sum_of(const struct diff *d, const struct tally *sums, bool b, enum diff_value v)
{
	uint64_t sum = 0;

	for (size_t i = b ? d->sides_a : 0; i < (b ? d->sides_count : d->sides_a); i++)
		sum += diff_amount(&sums[i], v);
	return sum;
}

static size_t sessions(const struct diff *d, bool b)
{
	return b ? d->sides_count - d->sides_a : d->sides_a;
}

double diff_mean(const struct diff *d, const struct tally *sums, bool b, enum diff_value v)
{
	return (double)sum_of(d, sums, b, v) / (double)sessions(d, b);
}

/* The change, times the count of A's and of B's sessions: a whole number. */
static int64_t moved(const struct diff *d, const struct tally *sums, enum diff_value v)
{
	return (int64_t)(sum_of(d, sums, true, v) * sessions(d, false) -
			 sum_of(d, sums, false, v) * sessions(d, true));
}

double diff_change(const struct diff *d, const struct tally *sums, enum diff_value v)
{
	return (double)moved(d, sums, v) / (double)(sessions(d, false) * sessions(d, true));
}

void diff_rest_add(const struct diff *d, struct diff_rest *rest, const struct diff_row *row)
{
	rest->count++;
	rest->a += diff_mean(d, row->sums, false, d->value);
	rest->b += diff_mean(d, row->sums, true, d->value);
}

static bool on_side(const struct diff *d, const struct diff_row *r, bool b)
{
	for (size_t i = b ? d->sides_a : 0; i < (b ? d->sides_count : d->sides_a); i++)
		if (r->sums[i].alloc_blocks || r->sums[i].alloc_bytes)
			return true;
	return false;
}

static bool is_noise(const struct diff *d, const struct diff_row *r)
{
	uint64_t amounts[DIFF_SESSIONS_MAX];

	for (size_t i = 0; i < d->sides_count; i++)
		amounts[i] = diff_amount(&r->sums[i], d->value);
	return !noise_apart(amounts, d->sides_a, amounts + d->sides_a, sessions(d, true));
}

/* The agent keeps call paths as a peak begins, which is somewhere in the last 1 % of the rise. */
static bool lies_between_peaks(const struct diff *d, const struct diff_row *r)
{
	return fabs(diff_change(d, r->sums, DIFF_LIVE)) <= (double)d->lacked;
}

void diff_judge(const struct diff *d, struct diff_row *r)
{
	r->moved = moved(d, r->sums, d->value);
	if (!r->moved)
		return;
	r->kind = !on_side(d, r, false)  ? DIFF_NEW
		  : !on_side(d, r, true) ? DIFF_GONE
		  : r->moved > 0         ? DIFF_GROWN
					 : DIFF_SHRUNK;
	r->noise = (d->by_runs && is_noise(d, r)) || (d->lacked && lies_between_peaks(d, r));
}

static uint64_t size_of(const struct diff_row *r)
{
	return r->moved < 0 ? -(uint64_t)r->moved : (uint64_t)r->moved;
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct diff_row *a = pa, *b = pb;

	if (a->noise != b->noise)
		return a->noise - b->noise;
	if (size_of(a) != size_of(b))
		return size_of(a) > size_of(b) ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static void finish(const struct diff *d, struct diff_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		diff_judge(d, &rows->list[i]);
	if (d->by_runs && rows != &d->owners)
		presence_judge(d, rows, rows == &d->stacks ? diff_site : presence_by_owner);
	if (rows->count)
		qsort(rows->list, rows->count, sizeof *rows->list, compare_rows);
}

static const struct side_stack *stack_of(const struct join *j, size_t i)
{
	return &j->sides[j->list[i].side]->stacks[j->list[i].stack];
}

static void make_stacks(struct diff *d)
{
	const struct join *j = d->join;

	d->stacks.list = xcalloc(j->list_count + 1, sizeof *d->stacks.list);
	d->stacks.count = j->list_count;
	for (size_t i = 0; i < j->list_count; i++)
		d->stacks.list[i] = (struct diff_row){
			.sums = join_sums(j, i),
			.owner = stack_of(j, i)->owner,
			.stack = (uint32_t)i,
			.stacks = 1,
		};
	finish(d, &d->stacks);
}

/* Rows that sum stacks, by a key of each stack. */
struct summing {
	struct diff *d;
	struct diff_rows *rows;
	struct map of_key; /* -> row + 1 */
	size_t room, sums_room;
};

static struct diff_row *row_of(struct summing *x, uint64_t key)
{
	uint32_t number = map_get(&x->of_key, key, 0);
	size_t sides = x->d->sides_count;

	if (!number) {
		GROW(x->rows->list, x->room, x->rows->count + 1);
		GROW(x->rows->sums, x->sums_room, (x->rows->count + 1) * sides);
		number = (uint32_t)++x->rows->count;
		x->rows->list[number - 1] = (struct diff_row){ 0 };
		map_set(&x->of_key, key, number);
	}
	return &x->rows->list[number - 1];
}

/* Stacks come with the largest change first: the first of a row describes it. */
static void add_stack(struct summing *x, uint64_t key, const struct diff_row *stack)
{
	struct diff_row *row = row_of(x, key);
	struct tally *sums = &x->rows->sums[(size_t)(row - x->rows->list) * x->d->sides_count];

	if (!row->stacks++) {
		row->stack = stack->stack;
		row->owner = stack->owner;
	}
	for (size_t i = 0; i < x->d->sides_count; i++)
		tally_add(&sums[i], &stack->sums[i]);
}

static void end_sums(struct summing *x)
{
	for (size_t i = 0; i < x->rows->count; i++)
		x->rows->list[i].sums = &x->rows->sums[i * x->d->sides_count];
	finish(x->d, x->rows);
	map_release(&x->of_key);
}

static void make_owners(struct diff *d)
{
	struct summing x = { .d = d, .rows = &d->owners };

	for (size_t i = 0; i < d->stacks.count; i++) {
		const char *key = stack_of(d->join, d->stacks.list[i].stack)->owner_key;
		add_stack(&x, (uint64_t)(uintptr_t)key, &d->stacks.list[i]);
	}
	end_sums(&x);
}

/* The function's name without clones' marks; of code without a name, "libtile.so+0x1a40". */
static const char *site_key(const struct join *j, size_t joined)
{
	const struct joined *e = &j->list[joined];
	struct join_frame f;

	return !join_site(j, e->side, e->stack, &f) ? NULL : f.plain ? f.plain : f.name;
}

static void describe_site(struct diff *d, struct diff_row *row, struct join_frame *frames)
{
	size_t n = join_frames(d->join, row->stack, frames, FRAMES_MAX), i = 0;

	while (i < n && !frames[i].site)
		i++;
	if (i == n)
		return;
	row->name = frames[i].name;
	row->file = frames[i].file;
	row->line = frames[i].line;
	for (size_t c = i + 1; c < n; c++) {
		if (!row->caller || frames[c].tells)
			row->caller = frames[c].name;
		if (frames[c].tells)
			break;
	}
}

static void find_sites(struct diff *d)
{
	d->sites_of = xcalloc(d->join->list_count + 1, sizeof *d->sites_of);
	for (size_t i = 0; i < d->join->list_count; i++)
		d->sites_of[i] = hash_mix((uint64_t)(uintptr_t)site_key(d->join, i)) ^
				 (uint64_t)(uintptr_t)stack_of(d->join, i)->owner_key;
}

static void make_sites(struct diff *d)
{
	struct summing x = { .d = d, .rows = &d->sites };
	struct join_frame *frames = xcalloc(FRAMES_MAX, sizeof *frames);

	for (size_t i = 0; i < d->stacks.count; i++) {
		uint32_t joined = d->stacks.list[i].stack;
		add_stack(&x, diff_site(d, joined), &d->stacks.list[i]);
	}
	end_sums(&x);
	for (size_t i = 0; i < d->sites.count; i++)
		describe_site(d, &d->sites.list[i], frames);
	if (d->stacks.count)
		describe_site(d, &d->stacks.list[0], frames);
	free(frames);
}

static void make_totals(struct diff *d)
{
	struct tally *sums = xcalloc(d->sides_count, sizeof *sums);

	for (size_t i = 0; i < d->sides_count; i++)
		sums[i] = d->sides[i]->totals;
	d->totals.sums = sums;
	d->totals.stacks = (uint32_t)d->stacks.count;
	diff_judge(d, &d->totals);
}

struct diff *diff_new(const struct side *const *sides, size_t sides_a, size_t count,
		      enum diff_value value)
{
	struct diff *d = xcalloc(1, sizeof *d);

	if (!sides_a || sides_a >= count || count > DIFF_SESSIONS_MAX)
		BUG("%zu sessions, %zu of them A's", count, sides_a);
	d->sides = sides;
	d->sides_a = sides_a;
	d->sides_count = count;
	d->value = value;
	d->by_runs = sides_a >= NOISE_SESSIONS_MIN && count - sides_a >= NOISE_SESSIONS_MIN;
	for (size_t i = 0; i < count && value != DIFF_ALLOCATED; i++)
		if (sides[i]->peak_lacks > d->lacked)
			d->lacked = sides[i]->peak_lacks;
	d->judged = d->by_runs || d->lacked;
	d->join = join_new(sides, sides_a, count);
	find_sites(d);
	make_stacks(d);
	make_owners(d);
	make_sites(d);
	make_totals(d);
	return d;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	free(d->stacks.list);
	free(d->owners.list);
	free(d->owners.sums);
	free(d->sites.list);
	free(d->sites.sums);
	free((void *)(uintptr_t)d->totals.sums);
	free(d->sites_of);
	join_free(d->join);
	free(d);
}
