/* SPDX-License-Identifier: MIT
 *
 * lines.c - the lines of a process tree: made, sorted, summed.
 *
 * Ids are never reused. A line's parent usually has a lower id; only a target's own parent is found
 * later. A line in a cycle, as a corrupt file may have it, gets no parent. In a build that runs for
 * days the oldest lines that ended and never mattered are dropped; their figures stay in the sums.
 */
#include "processes/lines.h"

#include <limits.h>
#include <stdlib.h>

#define LINES_MAX 100000u
#define HOLDS_MORE 4         /* a process that only starts others holds one part in so many */
#define HOLDS_LEAST 0x10000u /* and so many bytes less */

struct line *lines_at(const struct processes *p, uint32_t id)
{
	return id && id <= p->count ? p->lines[id - 1] : NULL;
}

/* The sums over the tree, as a process. */
static const struct process *find_all(struct processes *p)
{
	struct processes_sum sum;
	struct process *row = &p->all_row;
	const struct line *first = lines_at(p, 1);

	processes_total(p, &sum);
	*row = (struct process){ .id = PROCESS_ALL,
				 .path = "",
				 .title = "",
				 .sum = sum.sum,
				 .exact = true,
				 .watch = row->watch };
	snprintf(row->name, sizeof row->name, "All");
	row->state = sum.running || !first ? PROCESS_RUNNING : first->p.state;
	row->status = first ? first->p.status : 0;
	row->status_known = first && first->p.status_known;
	row->live_bytes = sum.bytes.least;
	row->live_blocks = sum.blocks.least;
	for (size_t i = 0; i < p->count; i++) {
		const struct line *l = p->lines[i];
		if (l && l->p.end_ns > row->end_ns && !sum.running)
			row->end_ns = l->p.end_ns;
		if (l && line_runs(l)) {
			row->rate += l->p.rate;
			row->growth += l->p.growth;
			row->rate_known |= l->p.rate_known && !p->file;
			row->growth_known |= l->p.growth_known && !p->file;
		}
	}
	if (row->watch)
		row->peak_bytes = model_totals(watch_now(row->watch))->peak_bytes;
	if (row->watch && p->file) /* else it is not known of each */
		line_measured(row, watch_now(row->watch));
	/* two looks at different times */
	if (row->peak_bytes && row->peak_bytes < row->live_bytes)
		row->peak_bytes = row->live_bytes;
	return p->kept > 1 ? row : NULL;
}

const struct process *processes_find(const struct processes *p, uint32_t id)
{
	if (id == PROCESS_ALL)
		return find_all((struct processes *)p); /* only its scratch row */
	struct line *l = lines_at(p, id);

	return l ? &l->p : NULL;
}

void lines_state(struct processes *p, struct line *l, enum process_state state)
{
	if (l->p.state == state)
		return;
	l->p.state = state;
	l->changed_ns = now_ns();
	p->changed = true;
	if (!line_runs(l))
		line_rest(l);
}

static uint64_t without(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* The process that forked it, as far as it is known; a damaged file may say anything. */
static const struct line *forked_by(const struct processes *p, const struct line *l)
{
	return l->p.forked ? lines_at(p, l->p.parent) : NULL;
}

#define NOW UINT64_MAX

/* It had begun, and had not ended. */
static bool ran_at(const struct line *l, uint64_t time_ns)
{
	return l->p.begin_ns <= time_ns && (!l->p.end_ns || l->p.end_ns > time_ns);
}

static bool runs_at(const struct line *l, uint64_t time_ns)
{
	return time_ns == NOW ? line_runs(l) : ran_at(l, time_ns);
}

/* For each line the process that counts its memory: itself, while it runs, else the oldest running
 * one of its forks, their forks, and so on. Who is watched first has the first number: a fork may
 * come before its parent. */
static uint32_t *oldest_of_forks(const struct processes *p, uint64_t time_ns)
{
	uint32_t *oldest = xcalloc(p->count + 1, sizeof *oldest);

	for (uint32_t id = 1; id <= p->count; id++) {
		const struct line *l = lines_at(p, id), *up = l;
		if (!l || !runs_at(l, time_ns))
			continue;
		oldest[id] = id;
		for (size_t n = 0; n < p->count && (up = forked_by(p, up)) && !runs_at(up, time_ns);
		     n++)
			if (!oldest[up->p.id])
				oldest[up->p.id] = id;
	}
	return oldest;
}

/*
 * The process that inherited what an older running one has, too: l, or the fork that l descends
 * from. What it inherited counts there. NULL: l counts all that it has. A daemon's starter ends,
 * and the daemon counts what both had; a server's first process ends, and its oldest worker counts
 * it. oldest: of oldest_of_forks(); NULL = nothing runs, each counts beside its parent.
 */
static const struct line *sharing(const struct processes *p, const struct line *l,
				  const uint32_t *oldest)
{
	const struct line *at = l, *parent;

	if (!oldest)
		return l->p.forked ? l : NULL;
	for (size_t n = 0; n < p->count && (parent = forked_by(p, at)); n++, at = parent)
		if (oldest[parent->p.id] && oldest[parent->p.id] != l->p.id)
			return at;
	return NULL;
}

/* Its frees hit inherited blocks, all of them, or its own as far as there are any. */
static void add_live(struct live_range *sum, uint64_t live, uint64_t inherited, uint64_t own)
{
	sum->least += without(live, inherited);
	sum->most += live < own ? live : own;
}

static void add_own(const struct line *l, const struct line *shares, struct processes_sum *sum)
{
	if (!shares) {
		add_live(&sum->bytes, l->p.live_bytes, 0, UINT64_MAX);
		add_live(&sum->blocks, l->p.live_blocks, 0, UINT64_MAX);
	} else if (shares == l && l->p.inherited_known) {
		add_live(&sum->bytes, without(l->p.live_bytes, l->p.inherited_live_bytes), 0,
			 UINT64_MAX);
		add_live(&sum->blocks, without(l->p.live_blocks, l->p.inherited_live_blocks), 0,
			 UINT64_MAX);
	} else {
		const struct process *of = &shares->p;
		add_live(&sum->bytes, l->p.live_bytes, of->inherited_bytes,
			 process_allocated(&l->p) +
				 without(l->p.inherited_bytes, of->inherited_bytes));
		add_live(&sum->blocks, l->p.live_blocks, of->inherited_blocks,
			 process_allocated_blocks(&l->p) +
				 without(l->p.inherited_blocks, of->inherited_blocks));
	}
}

uint64_t process_inherited(const struct process *p)
{
	return p->inherited_known ? p->inherited_live_bytes : p->inherited_bytes;
}

uint64_t process_allocated_blocks(const struct process *p)
{
	return without(p->sum.alloc_blocks, p->before_blocks);
}

uint64_t process_allocated(const struct process *p)
{
	return without(p->sum.alloc_bytes, p->before_bytes);
}

bool lines_is_large(const struct processes *p, const struct line *l)
{
	uint64_t held = p->options.matter_bytes, churn = p->options.matter_alloc_bytes;

	return l->p.peak_bytes >= held + l->p.inherited_bytes ||
	       (churn && process_allocated(&l->p) >= churn);
}

static void add_sum(const struct line *l, struct processes_sum *sum)
{
	struct tally t = l->p.sum;

	t.alloc_blocks = process_allocated_blocks(&l->p);
	t.alloc_bytes = process_allocated(&l->p);
	tally_add(&sum->sum, &t);
	sum->lines += !l->hidden;
	sum->running += !l->hidden && line_runs(l);
	sum->unfollowed += l->p.state == PROCESS_UNFOLLOWED;
}

static bool any_runs(const struct processes *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i] && !p->lines[i]->hidden && line_runs(p->lines[i]))
			return true;
	return false;
}

/* Does the tree's live amount have what this one holds? */
static bool is_held(const struct line *l, bool running)
{
	return (!running || line_runs(l)) && l->p.state != PROCESS_EXECED;
}

static bool was_held(const struct line *l, bool running, uint64_t time_ns)
{
	return l->p.begin_ns <= time_ns && is_held(l, false) && (!running || ran_at(l, time_ns));
}

static void find_shares(const struct processes *p, uint64_t time_ns, struct line_share *shares)
{
	bool running = any_runs(p);
	uint32_t *oldest = running ? oldest_of_forks(p, time_ns) : NULL;

	for (uint32_t id = 1; id <= p->count; id++) {
		const struct line *l = lines_at(p, id), *at = l ? sharing(p, l, oldest) : NULL;
		bool held =
			l && (time_ns == NOW ? is_held(l, running) : was_held(l, running, time_ns));
		shares[id] = (struct line_share){ held, at ? at->p.id : 0 };
	}
	free(oldest);
}

void lines_total(const struct processes *p, bool (*counts)(void *arg, const struct line *l),
		 void *arg, struct processes_sum *sum)
{
	struct line_share *shares = xcalloc(p->count + 1, sizeof *shares);

	find_shares(p, NOW, shares);
	*sum = p->dropped;
	for (uint32_t id = 1; id <= p->count; id++) {
		const struct line *l = lines_at(p, id);
		if (!l || (counts && !counts(arg, l)))
			continue;
		add_sum(l, sum);
		if (shares[id].held)
			add_own(l, lines_at(p, shares[id].with), sum);
	}
	free(shares);
}

void processes_total(const struct processes *p, struct processes_sum *sum)
{
	lines_total(p, NULL, NULL, sum);
}

void lines_shares(const struct processes *p, struct line_share *shares)
{
	find_shares(p, NOW, shares);
}

void lines_shares_at(const struct processes *p, uint64_t time_ns, struct line_share *shares)
{
	find_shares(p, time_ns, shares);
}

static uint32_t root_of(const struct processes *p, const struct line *l)
{
	const struct line *up;

	for (size_t n = 0; n < p->count && (up = forked_by(p, l)); n++)
		l = up;
	return l->p.id;
}

static bool is_ancestor(const struct processes *p, const struct line *l, uint32_t id)
{
	for (size_t n = 0; n < p->count && (l = forked_by(p, l)); n++)
		if (l->p.id == id)
			return true;
	return false;
}

uint64_t lines_heir_from(const struct processes *p, uint32_t id)
{
	const struct line *l = lines_at(p, id);
	uint32_t root = root_of(p, l);
	uint64_t from = 0;

	for (uint32_t i = 1; i <= p->count && root != id; i++) {
		const struct line *q = lines_at(p, i);
		if (!q || i == id || root_of(p, q) != root || (i > id && !is_ancestor(p, l, i)))
			continue;
		uint64_t end = line_runs(q) ? UINT64_MAX : q->p.end_ns;
		from = end > from ? end : from;
	}
	return from;
}

/* Drops the oldest line that ended and never mattered. */
static void make_room(struct processes *p)
{
	while (p->kept >= LINES_MAX && p->drop_at < p->count) {
		struct line **slot = &p->lines[p->drop_at++];
		if (!*slot || line_runs(*slot) || (*slot)->p.matters || (*slot)->p.watch ||
		    (*slot)->p.id == 1)
			continue;
		add_sum(*slot, &p->dropped);
		line_free(*slot);
		*slot = NULL;
		p->kept--;
	}
}

struct line *lines_add(struct processes *p, uint32_t parent, uint64_t begin_ns)
{
	struct line *l = xcalloc(1, sizeof *l), *above = lines_at(p, parent);

	make_room(p);
	GROW(p->lines, p->room, p->count + 1);
	p->lines[p->count++] = l;
	p->kept++;
	l->record = BOARD_NONE;
	l->stream = STREAM_NONE;
	l->changed_ns = now_ns();
	l->p.id = (uint32_t)p->count;
	l->p.parent = above ? parent : 0;
	l->p.path = l->p.title = "";
	l->p.begin_ns = begin_ns > p->origin_ns ? begin_ns - p->origin_ns : 0;
	p->ordered = false;
	p->changed = true;
	return l;
}

#define NOT_REACHED UINT_MAX

static void forget_depths(struct processes *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i])
			p->lines[i]->p.depth = NOT_REACHED;
}

/* Returns whether there were any. */
static bool cut_loops(struct processes *p)
{
	bool cut = false;

	for (size_t i = 0; i < p->count; i++) {
		if (!p->lines[i] || p->lines[i]->p.depth != NOT_REACHED)
			continue;
		p->lines[i]->p.parent = 0;
		cut = true;
	}
	return cut;
}

/* Orders parents first: below each, its children by id. No recursion: a tree may be as deep as
 * it has lines. */
static void order_from_roots(struct processes *p)
{
	uint32_t *child = xcalloc(p->count + 1, sizeof *child),
		 *next = xcalloc(p->count + 1, sizeof *next);
	uint32_t *stack = xcalloc(p->count + 1, sizeof *stack);
	size_t depth = 0;

	forget_depths(p);
	for (size_t id = p->count; id > 0; id--) {
		const struct line *l = p->lines[id - 1];
		uint32_t above = l && lines_at(p, l->p.parent) ? l->p.parent : 0;
		if (!l)
			continue;
		next[id] = child[above];
		child[above] = (uint32_t)id;
	}
	GROW(p->order, p->order_room, p->count + 1);
	p->order_count = 0;
	for (uint32_t id = child[0]; id || depth;) {
		if (!id) {
			id = stack[--depth];
			continue;
		}
		p->lines[id - 1]->p.depth = (unsigned)depth;
		if (!p->lines[id - 1]->hidden)
			p->order[p->order_count++] = id;
		stack[depth++] = next[id];
		id = child[id];
	}
	free(child);
	free(next);
	free(stack);
}

static void put_in_order(struct processes *p)
{
	order_from_roots(p);
	if (cut_loops(p))
		order_from_roots(p);
	p->ordered = true;
}

size_t processes_list(const struct processes *p, const struct process **list)
{
	struct processes *mine = (struct processes *)p; /* only its scratch list */

	if (!p->ordered)
		put_in_order(mine);
	GROW(mine->list, mine->list_room, p->order_count + 1);
	for (size_t i = 0; i < p->order_count; i++) {
		struct line *l = p->lines[p->order[i] - 1];
		if (p->file && l->p.watch && line_runs(l))
			line_measured(&l->p, watch_now(l->p.watch));
		mine->list[i] = l->p;
	}
	*list = mine->list;
	return p->order_count;
}

size_t processes_count(const struct processes *p)
{
	const struct process *list;

	return processes_list(p, &list);
}

const struct process *processes_grows_more(const struct processes *p, uint32_t id)
{
	const struct line *shown = lines_at(p, id), *most = shown;

	for (size_t i = 0; shown && i < p->count; i++) {
		const struct line *l = p->lines[i];
		if (l && !l->hidden && line_runs(l) && l->p.growth > most->p.growth)
			most = l;
	}
	return shown && most != shown && most->p.growth > 0 ? &most->p : NULL;
}

static bool holds_much_more(uint64_t others, uint64_t one)
{
	return others >= one + HOLDS_LEAST && others / HOLDS_MORE >= one;
}

bool processes_only_starts(const struct processes *p, uint32_t id)
{
	const struct line *one = lines_at(p, id);
	struct processes_sum sum;
	bool ready = false;

	for (size_t i = 0; i < p->count && !ready; i++) {
		const struct line *l = p->lines[i];
		ready = l && l != one && !l->hidden && l->p.watch && line_runs(l) &&
			model_complete(watch_now(l->p.watch));
	}
	if (!ready || !one)
		return false;
	processes_total(p, &sum);
	return !line_runs(one) || holds_much_more(sum.bytes.least, one->p.live_bytes);
}

bool processes_begin_with_all(const struct processes *p)
{
	const struct line *started = lines_at(p, 1);
	uint64_t most = 0, others = 0;
	size_t n = 0;

	for (size_t i = 0; started && i < p->count; i++) {
		const struct line *l = p->lines[i];
		if (!l || l->hidden || !l->p.recorded)
			continue;
		if (l->p.pid == started->p.pid) { /* the programs that it executed, too */
			most = l->p.peak_bytes > most ? l->p.peak_bytes : most;
		} else {
			others += without(l->p.peak_bytes, l->p.inherited_bytes);
			n++;
		}
	}
	return n > 1 && holds_much_more(others, most);
}

uint64_t processes_time_ns(const struct processes *p)
{
	return p->file ? p->file_ns : now_ns() - p->origin_ns;
}

uint64_t processes_missed(const struct processes *p)
{
	return p->board ? shared_board_missed(p->board) : p->file_missed;
}

size_t processes_running(const struct processes *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += p->lines[i] && (p->lines[i]->p.state == PROCESS_RUNNING ||
				     p->lines[i]->p.state == PROCESS_STARTING);
	return n;
}

void processes_rule(const struct processes *p, char *text, size_t size)
{
	double mib = 1048576, churn = (double)p->options.matter_alloc_bytes / mib;
	int len = snprintf(text, size, "lived %.3g s%s held %.1fM",
			   (double)p->options.matter_ns / 1e9, churn ? "," : " or",
			   (double)p->options.matter_bytes / mib);

	if (churn && (size_t)len < size)
		snprintf(text + len, size - (size_t)len, " or allocated %.1fM", churn);
}
