/* SPDX-License-Identifier: MIT
 *
 * scan.c - a call path's live blocks: their number, sizes, ages and threads.
 */
#include "widgets/cells.h"
#include "views/detail/detail.h"
#include "views/looked.h"
#include "model/columns.h"
#include "model/state/cohorts.h"

#include <stdlib.h>
#include <string.h>

#define BAR 24

const char *detail_about(const struct detail *d)
{
	return query_node(d->p.v.ui->shown.query, d->node, d->inclusive).sampled ? "~" : "";
}

static void add_bar(struct detail *d, const char *label, uint64_t blocks, uint64_t bytes,
		    uint64_t most)
{
	char bar[TEXT_MAX], one[32], two[32], size[40], count[40];

	snprintf(size, sizeof size, "%s%s", detail_about(d), text_bytes(one, bytes));
	snprintf(count, sizeof count, "%s%s", detail_about(d), format_count(two, blocks));
	page_add(&d->p, ROLE_NUMBER, "  %20s %*s %12s  %s", label, 9 + cells_wider(KIND_BYTES),
		 size, count, text_bar(bar, (double)bytes, (double)most, BAR));
}

static void add_sizes(struct detail *d, const struct scan_ages *s)
{
	uint64_t most = 0;
	char label[64], from[32], to[32];

	page_add(&d->p, ROLE_NORMAL, "%s", "");
	page_add(&d->p, ROLE_TITLE, "Sizes of live blocks");
	for (size_t i = 0; i < s->size_count; i++)
		most = s->sizes[i].bytes > most ? s->sizes[i].bytes : most;
	for (size_t i = 0; i < s->size_count; i++) {
		uint64_t low =
			s->sizes[i].key && s->sizes[i].key < 64 ? 1ull << s->sizes[i].key : 0;
		snprintf(label, sizeof label, "%s..%s", format_bytes(from, low),
			 format_bytes(to, low ? 2 * low - 1 : 1)); /* powers of two */
		add_bar(d, label, s->sizes[i].blocks, s->sizes[i].bytes, most);
	}
}

/* ": median 3 min, oldest 6 min" */
static const char *median(const struct scan_ages *s, uint64_t now, char *out, size_t size)
{
	uint64_t older = 0, oldest = 0, middle = 0;
	char one[32], two[32];

	for (size_t i = 0; i < s->birth_count; i++) {
		uint64_t age = now > s->births[i].key ? now - s->births[i].key : 0;
		oldest = i ? oldest : age;
		middle = older < s->blocks / 2 + 1 ? age : middle;
		older += s->births[i].blocks;
	}
	if (s->birth_count)
		snprintf(out, size, ": median %s, oldest %s", text_span(one, middle),
			 text_span(two, oldest));
	return out;
}

static void add_ages(struct detail *d, const struct scan_ages *s, uint64_t now)
{
	static const struct {
		uint64_t seconds;
		const char *label;
	} steps[] = {
		{ 1, "< 1 s" },      { 10, "< 10 s" },  { 60, "< 1 min" },
		{ 600, "< 10 min" }, { 3600, "< 1 h" }, { UINT64_MAX, "older" },
	};
	uint64_t bytes[6] = { 0 }, blocks[6] = { 0 }, most = 0;

	for (size_t i = 0; i < s->birth_count; i++) {
		uint64_t age = now > s->births[i].key ? (now - s->births[i].key) / 1000000000 : 0;
		int k = 0;
		while (age >= steps[k].seconds)
			k++;
		bytes[k] += s->births[i].bytes;
		blocks[k] += s->births[i].blocks;
	}
	for (int k = 0; k < 6; k++)
		most = bytes[k] > most ? bytes[k] : most;
	page_add(&d->p, ROLE_NORMAL, "%s", "");
	page_add(&d->p, ROLE_TITLE, "Ages of live blocks%s", median(s, now, (char[96]){ 0 }, 96));
	for (int k = 0; k < 6; k++)
		if (blocks[k])
			add_bar(d, steps[k].label, blocks[k], bytes[k], most);
}

static int by_bytes(const void *a, const void *b)
{
	const struct age_cell *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

#define THREADS_SHOWN 8

static void add_threads(struct detail *d, const struct scan_ages *s)
{
	const struct model *m = d->p.v.ui->shown.model;
	struct age_cell *by = xcalloc(s->thread_count + 1, sizeof *by), rest = { 0 };
	char label[64], n[32];

	memcpy(by, s->threads, s->thread_count * sizeof *by);
	qsort(by, s->thread_count, sizeof *by, by_bytes);
	for (size_t i = THREADS_SHOWN; i < s->thread_count; i++) {
		rest.key += by[i].blocks > 0;
		rest.blocks += by[i].blocks;
		rest.bytes += by[i].bytes;
	}
	uint64_t most = rest.bytes > by[0].bytes ? rest.bytes : by[0].bytes;
	page_add(&d->p, ROLE_NORMAL, "%s", "");
	page_add(&d->p, ROLE_TITLE, "Allocated by");
	for (size_t i = 0; i < s->thread_count && i < THREADS_SHOWN; i++) {
		const struct thread *t = model_thread(m, (uint32_t)by[i].key);
		if (!by[i].blocks)
			continue;
		if (t && t->known)
			snprintf(label, sizeof label, "%.30s %u", t->name, t->tid);
		else
			snprintf(label, sizeof label, "unknown");
		add_bar(d, label, by[i].blocks, by[i].bytes, most);
	}
	snprintf(label, sizeof label, "%s others", format_count(n, rest.key));
	if (rest.blocks)
		add_bar(d, label, rest.blocks, rest.bytes, most);
	free(by);
}

struct interval {
	uint32_t from, to;
	uint64_t epoch; /* the last one that it has */
	struct tally sum;
};

static bool is_mark(const struct mark *k)
{
	return k && k->known && !(k->flags & MTW_MARK_DROPPED);
}

/* Between successive marks, and from the last one to now; how many. */
static size_t intervals(const struct model *m, struct interval **out)
{
	size_t n = 0, room = 0;
	uint32_t before = 0;

	*out = NULL;
	for (uint32_t id = 1; id <= model_mark_limit(m); id++) {
		bool last = id == model_mark_limit(m);
		if (!last && !is_mark(model_mark(m, id)))
			continue;
		GROW(*out, room, n + 1);
		(*out)[n++] = (struct interval){
			.from = before,
			.to = last ? 0 : id,
			.epoch = last ? UINT64_MAX : model_mark(m, id)->epoch,
		};
		before = id;
	}
	return n;
}

/* To the first interval that ends with its epoch, or later. */
static void add_slot(struct interval *list, size_t n, const struct columns *c, uint32_t slot)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		size_t at = low + (high - low) / 2;
		if (list[at].epoch < columns_epoch(c, slot))
			low = at + 1;
		else
			high = at;
	}
	struct tally now = columns_now(c, slot);
	tally_add(&list[low].sum, &now);
}

static void mark_name(uint32_t id, const char *otherwise, char *out, size_t size)
{
	if (id)
		snprintf(out, size, "m%u", id);
	else
		snprintf(out, size, "%s", otherwise);
}

void detail_survival(struct detail *d)
{
	const struct model *m = d->p.v.ui->shown.model;
	struct interval *list;
	size_t n = intervals(m, &list);
	char from[16], to[16], label[40], one[32], two[32], bar[TEXT_MAX];

	const struct columns *c = n > 1 && d->slots_whole ? model_columns(m) : NULL;
	for (size_t i = 0; c && i < d->slot_count; i++) {
		uint32_t slot = slots_find(c->slots, d->slots[i]);
		if (slot != NO_ID)
			add_slot(list, n, c, slot);
	}
	if (n > 1 && d->slots_whole) {
		page_add(&d->p, ROLE_NORMAL, "%s", "");
		page_add(&d->p, ROLE_TITLE,
			 "Survival: how many blocks allocated between two marks are alive now");
	}
	for (size_t i = 0; n > 1 && d->slots_whole && i < n; i++) {
		const struct tally *t = &list[i].sum;
		double part =
			t->alloc_blocks ? (double)live_blocks(t) / (double)t->alloc_blocks : 0;
		if (!t->alloc_blocks)
			continue;
		mark_name(list[i].from, "start", from, sizeof from);
		mark_name(list[i].to, "now", to, sizeof to);
		snprintf(label, sizeof label, "%s .. %s", from, to);
		page_add(&d->p, ROLE_NUMBER, "  %20s %6.1f%% %9s of %-9s %s", label, part * 100,
			 format_count(one, live_blocks(t)), format_count(two, t->alloc_blocks),
			 text_bar(bar, part, 1, BAR));
	}
	free(list);
}

void detail_scan(struct detail *d, const struct scan_ages *s)
{
	add_sizes(d, s);
	add_ages(d, s, d->p.v.ui->shown.figures.time_ns);
	add_threads(d, s);
}

static int by_key(const void *a, const void *b)
{
	const struct age_cell *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static void add_cohort(struct scan_ages *s, const struct cohort *x, uint64_t now)
{
	uint64_t age = x->age_s * 1000000000ull;

	s->births[s->birth_count++] =
		(struct age_cell){ now > age ? now - age : 0, x->blocks, x->bytes };
	s->blocks += x->blocks;
	s->bytes += x->bytes;
	s->threads[s->thread_count++] = (struct age_cell){ x->thread, x->blocks, x->bytes };
}

/* One entry for each thread. */
static void join_threads(struct scan_ages *s)
{
	size_t n = 0;

	qsort(s->threads, s->thread_count, sizeof *s->threads, by_key);
	for (size_t i = 0; i < s->thread_count; i++) {
		if (n && s->threads[n - 1].key == s->threads[i].key) {
			s->threads[n - 1].blocks += s->threads[i].blocks;
			s->threads[n - 1].bytes += s->threads[i].bytes;
		} else {
			s->threads[n++] = s->threads[i];
		}
	}
	s->thread_count = n;
}

void detail_looked(struct detail *d)
{
	const struct ui *ui = d->p.v.ui;
	const struct cohorts *c = model_cohorts(ui->shown.model);
	struct scan_ages s = { 0 };
	struct cohort x;
	char ago[32];

	page_add(&d->p, ROLE_NORMAL, "%s", "");
	if (!c || !d->slots_whole) {
		const char *why = watch_missing(ui->shown.watch, MTW_KIND_COHORTS);
		page_add(&d->p, ROLE_DIM, "%s",
			 why ? why
			     : "Ages and threads: not shown, too many call paths run through this "
			       "row");
		return;
	}
	s.births = xcalloc(c->count + 1, sizeof *s.births);
	s.threads = xcalloc(c->count + 1, sizeof *s.threads);
	for (size_t i = 0; i < d->slot_count; i++)
		for (struct cohort_at at = cohorts_of_slot(c, d->slots[i]);
		     cohorts_next(c, &at, &x) && x.slot == d->slots[i];)
			add_cohort(&s, &x, c->time_ns);
	qsort(s.births, s.birth_count, sizeof *s.births, by_key);
	join_threads(&s);
	page_add(&d->p, ROLE_DIM,
		 "From the agent's last scan, %s before; sizes are known only while the program "
		 "runs",
		 text_ago(ago, looked_ago(ui, MTW_KIND_COHORTS)));
	add_ages(d, &s, c->time_ns);
	add_threads(d, &s);
	free(s.births);
	free(s.threads);
}
