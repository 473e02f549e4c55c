/* SPDX-License-Identifier: MIT
 *
 * process_rows.c - see process/process_rows.h. Processes become units: one process, or a fold of
 * several. Units are sorted, by parent row or by a figure, and written out as rows.
 */
#include "process/process_rows.h"

#include "base/format.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE SIZE_MAX
#define OWN_ROWS 4    /* ended processes of one name that keep a row each */
#define LARGE_PART 20 /* a peak of one in so many parts of the largest one in the tree */

struct unit {
	size_t below;        /* index in the list of the row above; NOWHERE = none */
	size_t first, count; /* members[first..]; count 1 = a process */
	bool aside;          /* foldable units come after the others */
	uint64_t id;
	uint64_t value; /* sorted by this one, the largest first */
	size_t row;     /* its index in the rows before; NOWHERE = it is new */
};

struct making {
	const struct process *list;
	size_t count;
	bool *foldable;  /* per process */
	size_t *below;   /* per process */
	size_t *members; /* indices in the list, those of a unit together */
	struct unit *units;
	size_t unit_count;
	size_t *first_below; /* [below + 1]: the first unit there; by tree only */
	enum process_sort sort;
	bool reverse;
};

bool process_runs(const struct process *p)
{
	return p->state == PROCESS_RUNNING || p->state == PROCESS_STARTING ||
	       (p->state == PROCESS_UNFOLLOWED && !p->end_ns);
}

char *process_state_words(const struct process *p, char *out)
{
	switch (p->state) {
	case PROCESS_STARTING: snprintf(out, 32, "starting"); break;
	case PROCESS_RUNNING: snprintf(out, 32, p->stopped ? "stopped" : "running"); break;
	case PROCESS_EXITED:
		snprintf(out, 32, p->status_known ? "exited %d" : "ended", p->status);
		break;
	case PROCESS_SIGNALLED: format_signal(p->status, out); break;
	case PROCESS_EXECED: snprintf(out, 32, "exec'd"); break;
	case PROCESS_GONE: snprintf(out, 32, "gone"); break;
	case PROCESS_UNFOLLOWED: snprintf(out, 32, "not followed"); break;
	}
	return out;
}

static bool unfollowed(const struct process *p)
{
	return p->state == PROCESS_UNFOLLOWED;
}

static uint64_t largest(double x)
{
	return x > 0 ? (uint64_t)x : 0;
}

/* Running ones before others, where the figure is of now. */
static uint64_t value_of(const struct process *p, enum process_sort sort)
{
	uint64_t now = process_runs(p) ? 1ull << 63 : 0;

	switch (sort) {
	case PROCESSES_BY_LIVE: return now | p->live_bytes;
	case PROCESSES_BY_GROWTH: return now | (now ? largest(p->growth) : p->peak_bytes);
	case PROCESSES_BY_RATE: return now | (now ? largest(p->rate) : p->sum.alloc_bytes);
	case PROCESSES_BY_BLOCKS: return now | p->live_blocks;
	case PROCESSES_BY_PID: return (uint64_t)p->pid;
	case PROCESSES_BY_TIME: return p->begin_ns;
	default: return p->peak_bytes;
	}
}

static int by_name(const void *a, const void *b, void *making)
{
	const struct making *m = making;

	return strcmp(m->list[*(const size_t *)a].name, m->list[*(const size_t *)b].name);
}

/* Folds large or crashed processes that share their name with many others; sorts by name first. */
static void fold_many(struct making *m, size_t *large, size_t n)
{
	if (n)
		qsort_r(large, n, sizeof *large, by_name, m);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !by_name(&large[i], &large[end], m); end++)
			;
		for (size_t k = i; k < end && end - i > OWN_ROWS; k++)
			m->foldable[large[k]] = true;
	}
}

static uint64_t largest_peak(const struct making *m)
{
	uint64_t largest_of = 0;

	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].peak_bytes > largest_of)
			largest_of = m->list[i].peak_bytes;
	return largest_of;
}

/* A process that executed another program continues as that program, even the first one. */
static void find_foldable(struct making *m, uint32_t shown)
{
	size_t *large = m->members, n = 0; /* unused until the units are made */
	uint64_t is_large = largest_peak(m) / LARGE_PART;

	for (size_t i = 0; i < m->count; i++) {
		const struct process *p = &m->list[i];
		bool execed = p->state == PROCESS_EXECED;
		if (process_runs(p) || p->id == shown || (p->id == 1 && !execed))
			continue;
		if (p->state == PROCESS_SIGNALLED ||
		    (p->matters && !execed && p->peak_bytes >= is_large))
			large[n++] = i;
		else
			m->foldable[i] = true;
	}
	fold_many(m, large, n);
}

static int by_id(const void *a, const void *b, void *making)
{
	const struct making *m = making;
	const struct process *x = &m->list[*(const size_t *)a], *y = &m->list[*(const size_t *)b];

	return x->id < y->id ? -1 : x->id > y->id;
}

static size_t index_of(const struct making *m, const size_t *ordered, uint32_t id)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t mid = (low + high) / 2;
		if (m->list[ordered[mid]].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->count && m->list[ordered[low]].id == id ? ordered[low] : NOWHERE;
}

/* Parents come before their children. */
static void find_below(struct making *m)
{
	size_t *ordered = m->members;

	for (size_t i = 0; i < m->count; i++)
		ordered[i] = i;
	qsort_r(ordered, m->count, sizeof *ordered, by_id, m);
	for (size_t i = 0; i < m->count; i++) {
		size_t parent =
			m->list[i].parent ? index_of(m, ordered, m->list[i].parent) : NOWHERE;
		m->below[i] = parent == NOWHERE || parent >= i ? NOWHERE
			      : m->foldable[parent]            ? m->below[parent]
							       : parent;
	}
}

/* Members of one fold are equal, but for their peaks and ids. */
static int compare_fold(const struct making *m, size_t i, size_t k)
{
	const struct process *x = &m->list[i], *y = &m->list[k];

	if (m->foldable[i] != m->foldable[k])
		return m->foldable[i] ? 1 : -1;
	if (!m->foldable[i])
		return i < k ? -1 : 1;
	if (m->below[i] != m->below[k])
		return m->below[i] < m->below[k] ? -1 : 1;
	if (unfollowed(x) != unfollowed(y))
		return unfollowed(x) ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int by_fold(const void *a, const void *b, void *making)
{
	const struct making *m = making;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	const struct process *x = &m->list[i], *y = &m->list[k];
	int c = compare_fold(m, i, k);

	if (c)
		return c;
	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? 1 : -1;
	return x->id < y->id ? -1 : 1;
}

/* Made of its members' common properties, so it stays the same while others join. */
static uint64_t fold_id(const struct making *m, size_t i)
{
	const struct process *p = &m->list[i];
	/* FNV-1a */
	uint64_t hash =
		14695981039346656037ull ^ (m->below[i] == NOWHERE ? 0 : m->list[m->below[i]].id);

	for (const char *c = p->name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 1099511628211ull;
	return PROCESS_FOLD | hash << 1 | unfollowed(p);
}

static uint64_t allocated_by(const struct making *m, size_t first, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = first; i < first + count; i++)
		sum += process_allocated(&m->list[m->members[i]]);
	return sum;
}

static void add_unit(struct making *m, size_t first, size_t count)
{
	size_t i = m->members[first];
	const struct process *p = &m->list[i];
	bool by_peak = m->foldable[i] && m->sort == PROCESSES_BY_TREE;

	m->units[m->unit_count++] = (struct unit){
		.below = m->sort == PROCESSES_BY_TREE ? m->below[i] : NOWHERE,
		.first = first,
		.count = count,
		.aside = by_peak,
		.id = count > 1 ? fold_id(m, i) : p->id,
		.value = m->sort == PROCESSES_BY_ALLOCATED         ? allocated_by(m, first, count)
			 : m->sort != PROCESSES_BY_TREE || by_peak ? value_of(p, m->sort)
								   : 0,
		.row = NOWHERE,
	};
}

static void make_units(struct making *m)
{
	for (size_t i = 0; i < m->count; i++)
		m->members[i] = i;
	qsort_r(m->members, m->count, sizeof *m->members, by_fold, m);
	for (size_t i = 0, end; i < m->count; i = end) {
		for (end = i + 1; end < m->count && m->foldable[m->members[i]] &&
				  !compare_fold(m, m->members[i], m->members[end]);
		     end++)
			;
		add_unit(m, i, end - i);
	}
}

struct row_index {
	uint64_t id;
	size_t at;
};

static int by_row_id(const void *a, const void *b)
{
	const struct row_index *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void find_rows(struct making *m, const struct process_rows *r)
{
	struct row_index *rows = xcalloc(r->count + 1, sizeof *rows);

	for (size_t i = 0; i < r->count; i++)
		rows[i] = (struct row_index){ r->rows[i].id, i };
	if (r->count)
		qsort(rows, r->count, sizeof *rows, by_row_id);
	for (size_t i = 0; i < m->unit_count; i++) {
		struct row_index key = { m->units[i].id, 0 };
		const struct row_index *was =
			r->count ? bsearch(&key, rows, r->count, sizeof key, by_row_id) : NULL;
		m->units[i].row = was ? was->at : NOWHERE;
	}
	free(rows);
}

static int compare_units(const void *a, const void *b, void *making)
{
	const struct making *m = making;
	const struct unit *x = a, *y = b;
	int c = 0;

	if (x->below != y->below)
		return x->below + 1 < y->below + 1 ? -1 : 1; /* NOWHERE first */
	if (x->aside != y->aside)
		return x->aside ? 1 : -1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->value != y->value)
		c = x->value < y->value ? 1 : -1;
	else
		c = x->id < y->id ? -1 : x->id > y->id;
	return m->reverse && m->sort != PROCESSES_BY_TREE ? -c : c;
}

static void sort_units(struct making *m)
{
	qsort_r(m->units, m->unit_count, sizeof *m->units, compare_units, m);
	for (size_t i = 0; i <= m->count; i++)
		m->first_below[i] = NOWHERE;
	for (size_t i = m->unit_count; i-- > 0;)
		m->first_below[m->units[i].below + 1] = i;
}

static bool is_open(const struct process_rows *r, uint64_t fold)
{
	for (size_t i = 0; i < r->open_count; i++)
		if (r->open[i] == fold)
			return true;
	return false;
}

static size_t add_row(struct process_rows *r, uint64_t id, unsigned depth, const struct process *p,
		      uint64_t allocated)
{
	GROW(r->rows, r->room, r->count + 1);
	struct process_row *row = &r->rows[r->count];

	*row = (struct process_row){ .id = id, .depth = depth, .p = *p };
	/* a fork's live blocks may be older than what it allocated: freed is what the two differ by
	 */
	row->amounts.sum.alloc_bytes = allocated;
	row->amounts.sum.free_bytes = allocated - p->live_bytes;
	row->amounts.sum.alloc_blocks = p->live_blocks;
	if (p->state == PROCESS_STARTING || unfollowed(p))
		row->amounts.live = row->amounts.in_all = KNOWN_NONE;
	row->p.path = row->p.why = NULL;
	return r->count++;
}

static void add_fold(struct process_rows *r, const struct making *m, const struct unit *u,
		     unsigned depth)
{
	const size_t *members = &m->members[u->first];
	struct process all = { .state = m->list[*members].state,
			       .peak_bytes = m->list[*members].peak_bytes };
	bool open = is_open(r, u->id);

	memcpy(all.name, m->list[*members].name, sizeof all.name);
	size_t at = add_row(r, u->id, depth, &all, allocated_by(m, u->first, u->count));
	r->rows[at].folded = u->count;
	r->rows[at].amounts.live = KNOWN_NONE;
	r->rows[at].open = open;
	for (size_t i = 0; open && i < u->count; i++)
		add_row(r, m->list[members[i]].id, depth + 1, &m->list[members[i]],
			process_allocated(&m->list[members[i]]));
}

static void add_below(struct process_rows *r, const struct making *m, size_t below, unsigned depth)
{
	for (size_t i = m->first_below[below + 1]; i < m->unit_count && m->units[i].below == below;
	     i++) {
		const struct unit *u = &m->units[i];
		size_t at = m->members[u->first];
		if (u->count > 1) {
			add_fold(r, m, u, depth);
			continue;
		}
		add_row(r, u->id, depth, &m->list[at], process_allocated(&m->list[at]));
		if (m->sort == PROCESSES_BY_TREE && !m->foldable[at])
			add_below(r, m, at, depth + 1);
	}
}

void process_rows_make(struct process_rows *r, const struct process *list, size_t count,
		       uint32_t shown, enum process_sort sort, bool reverse, bool resort)
{
	struct making m = { .list = list, .count = count, .sort = sort, .reverse = reverse };

	m.foldable = xcalloc(count + 1, sizeof *m.foldable);
	m.below = xcalloc(count + 1, sizeof *m.below);
	m.members = xcalloc(count + 1, sizeof *m.members);
	m.units = xcalloc(count + 1, sizeof *m.units);
	m.first_below = xcalloc(count + 1, sizeof *m.first_below);
	if (count) {
		find_foldable(&m, shown);
		find_below(&m);
		make_units(&m);
		if (!resort && sort != PROCESSES_BY_TREE)
			find_rows(&m, r);
		sort_units(&m);
	}
	r->count = 0;
	if (count)
		add_below(r, &m, NOWHERE, 0);
	free(m.foldable);
	free(m.below);
	free(m.members);
	free(m.units);
	free(m.first_below);
}

void process_rows_all(struct process_rows *r, const struct process *all)
{
	size_t at = add_row(r, all->id, 0, all, process_allocated(all));
	struct process_row row = r->rows[at];

	memmove(r->rows + 1, r->rows, at * sizeof *r->rows);
	r->rows[0] = row;
}

void process_rows_open(struct process_rows *r, uint64_t fold, bool open)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->open_count; i++)
		if (r->open[i] != fold)
			r->open[kept++] = r->open[i];
	r->open_count = kept;
	if (open) {
		GROW(r->open, r->open_room, kept + 1);
		r->open[r->open_count++] = fold;
	}
}

void process_rows_release(struct process_rows *r)
{
	free(r->rows);
	free(r->open);
	*r = (struct process_rows){ 0 };
}
