/* SPDX-License-Identifier: MIT
 *
 * memory.c - why the process is so large: its resident memory in parts that sum to it, the growth
 * of each, and one sentence that names the part to blame.
 *
 * The agent is asked while the view is shown, and occasionally for the session. Growth counts from
 * the answer nearest to the mark that starts the diff, else from the first answer.
 */
#include "views/table_view.h"
#include "views/views.h"
#include "widgets/graph.h"
#include "views/looked.h"
#include "report/report.h"
#include "owners/runtimes.h"

#include <stdlib.h>
#include <string.h>

#define NAMED_PART 200 /* names with less than one part in so many are not listed one by one */
#define TREND_MAX 64

struct memory_row {
	uint32_t what;  /* MTW_MEMORY_COUNT: the sum of all */
	char name[120]; /* "": the whole part */
	uint64_t bytes, mappings;
};

struct memory {
	struct table_view t;     /* first */
	struct memory_row *rows; /* owned */
	size_t count, room;
	struct rss now, then;       /* then: what growth counts from */
	struct rss past[TREND_MAX]; /* the newest ones, oldest first */
	size_t past_count;
	bool known, compared;
	uint32_t mark; /* that it counts from; 0: from the first answer */
};

/* In the sentence. */
static const char *const brief[MTW_MEMORY_COUNT + 1] = {
	[MTW_MEMORY_LIVE] = "live heap",
	[MTW_MEMORY_ROUNDING] = "rounding",
	[MTW_MEMORY_FREE] = "allocator free lists",
	[MTW_MEMORY_FILE] = "mapped files",
	[MTW_MEMORY_SHARED] = "shared memory",
	[MTW_MEMORY_STACK] = "thread stacks",
	[MTW_MEMORY_AGENT] = "memtop agent",
	[MTW_MEMORY_OTHER] = "other mappings",
	[MTW_MEMORY_COUNT] = "RSS",
};

static const char *label(uint32_t what)
{
	return what == MTW_MEMORY_COUNT ? "RSS, total" : report_memory(what);
}

static uint64_t bytes_of(const struct rss *r, uint32_t what)
{
	return what == MTW_MEMORY_COUNT ? rss_all(r) : r->bytes[what];
}

static uint64_t id_of(void *arg, size_t i)
{
	const struct memory_row *r = &((struct memory *)arg)->rows[i];
	uint64_t h = r->what + 1;

	for (const char *c = r->name; *c; c++)
		h = h * 0x100000001b3 ^ (unsigned char)*c;
	return h;
}

/* Of a name, its last part. */
static void add_row(struct memory *m, uint32_t what, const char *name, uint64_t bytes,
		    uint64_t mappings)
{
	const char *slash = strrchr(name, '/');

	GROW(m->rows, m->room, m->count + 1);
	m->rows[m->count] =
		(struct memory_row){ .what = what, .bytes = bytes, .mappings = mappings };
	snprintf(m->rows[m->count++].name, sizeof m->rows->name, "%.100s",
		 slash && slash[1] ? slash + 1 : name);
}

static int by_bytes(const void *a, const void *b)
{
	const struct memory_row *x = a, *y = b;

	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : strcmp(x->name, y->name);
}

/* The largest by name, below the part that they are a share of. */
static void add_named(struct memory *m, uint32_t what)
{
	const struct rss_named *list;
	size_t n = model_rss_named(m->t.v.ui->shown.model, &list), first = m->count;
	const struct program *p = model_program(m->t.v.ui->shown.model);

	for (size_t i = 0; i < n; i++) {
		/* The program's own file has the name that the header gives it. */
		bool main = p && p->exe && !strcmp(list[i].name, p->exe);
		if (list[i].what == what && list[i].bytes > rss_all(&m->now) / NAMED_PART)
			add_row(m, what, main ? p->name : list[i].name, list[i].bytes,
				list[i].mappings);
	}
	if (m->count > first)
		qsort(m->rows + first, m->count - first, sizeof *m->rows, by_bytes);
}

static void choose_base(struct memory *m, const struct rss *list, size_t n)
{
	const struct model *model = m->t.v.ui->shown.model;
	uint32_t base = model_base(model);
	const struct mark *mark = base ? model_mark(model, base) : NULL;
	const struct rss *from = mark ? model_rss_at(model, mark->time_ns) : NULL;

	m->mark = from ? base : 0;
	m->compared = n > 1;
	m->then = from ? *from : list[0];
}

static void refresh(struct view *v, bool resort)
{
	struct memory *m = (struct memory *)v;
	const struct rss *list;
	size_t n = model_rss(v->ui->shown.model, &list);

	(void)resort;
	looked_want(v->ui, MTW_KIND_MEMORY);
	m->count = 0;
	m->known = n > 0;
	if (n) {
		m->now = list[n - 1];
		m->past_count = n < TREND_MAX ? n : TREND_MAX;
		memcpy(m->past, list + n - m->past_count, m->past_count * sizeof *list);
		choose_base(m, list, n);
		for (uint32_t what = 0; what < MTW_MEMORY_COUNT; what++) {
			if (!m->now.bytes[what] && !m->then.bytes[what] && what != MTW_MEMORY_LIVE)
				continue;
			add_row(m, what, "", m->now.bytes[what], m->now.mappings[what]);
			add_named(m, what);
		}
		add_row(m, MTW_MEMORY_COUNT, "", rss_all(&m->now), 0);
	}
	table_view_update(v, m->rows, m->count, NULL);
}

struct growth {
	uint32_t what;
	int64_t bytes;
};

static int by_growth(const void *a, const void *b)
{
	const struct growth *x = a, *y = b;

	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : (int)x->what - (int)y->what;
}

/* The summary, where one part did most of the growth. */
static const char *verdict(const struct model *m, const struct growth *most, int64_t all)
{
	static char own[160];
	const struct runtime *r = runtime_of(m);

	if (all <= 0 || most->bytes * 2 < all)
		return "";
	switch (most->what) {
	case MTW_MEMORY_LIVE: return ": the program keeps more";
	case MTW_MEMORY_FREE: return ": fragmentation or a past peak, not a leak";
	case MTW_MEMORY_OTHER:
		if (!r)
			return ": mapped by the program itself, not by malloc";
		snprintf(own, sizeof own, ": %s, not malloc's%s%s; %s shows it", r->heap,
			 r->seen ? ": " : "", r->seen ? r->seen : "", r->shows);
		return own;
	case MTW_MEMORY_STACK: return ": more threads, or deeper stacks";
	case MTW_MEMORY_FILE: return ": pages of mapped files";
	case MTW_MEMORY_AGENT: return ": memtop's own memory";
	default: return "";
	}
}

/* Of a program of milliseconds, too. */
static char *span_words(char *out, uint64_t ns)
{
	return ns < 1000000000u ? text_span_short(out, ns) : text_span(out, ns);
}

static void sentence(const struct memory *m, char *out, size_t size)
{
	struct growth g[MTW_MEMORY_COUNT];
	char a[32], b[32], since[128] = "";
	int64_t all = (int64_t)(rss_all(&m->now) - rss_all(&m->then)),
		least = (int64_t)(rss_all(&m->now) / 1000);
	size_t n;

	n = (size_t)snprintf(out, size, "RSS %s", text_bytes(a, rss_all(&m->now)));
	if (!m->compared) {
		snprintf(out + n, size - n,
			 figures_over(&m->t.v.ui->shown.figures) || m->t.v.ui->shown.figures.past
				 ? ".  What grew is unknown: the agent scanned it only once."
				 : ".  What grows shows after the next scan, in a few seconds.");
		return;
	}
	if (m->mark)
		interval_mark_name(m->t.v.ui->shown.model, m->mark, since, sizeof since);
	bool same = all <= least && -all <= least;
	n += (size_t)snprintf(out + n, size - n, ", %s %s %s",
			      same ? "the same" : text_bytes_signed(a, all),
			      m->mark ? "since"
			      : same  ? "for"
				      : "in",
			      m->mark ? since : span_words(b, m->now.time_ns - m->then.time_ns));
	for (uint32_t i = 0; i < MTW_MEMORY_COUNT; i++)
		g[i] = (struct growth){ i, (int64_t)(m->now.bytes[i] - m->then.bytes[i]) };
	qsort(g, MTW_MEMORY_COUNT, sizeof g[0], by_growth);
	const char *between = ": ";
	for (int i = 0; i < MTW_MEMORY_COUNT && n < size; i++) {
		if (g[i].bytes <= least && -g[i].bytes <= least)
			continue;
		n += (size_t)snprintf(out + n, size - n, "%s%s %s%s", between,
				      text_bytes_signed(a, g[i].bytes), brief[g[i].what],
				      i == 0 ? verdict(m->t.v.ui->shown.model, &g[0], all) : "");
		between = i == 0 && *verdict(m->t.v.ui->shown.model, &g[0], all) ? "; " : ", ";
	}
	if (n < size)
		snprintf(out + n, size - n, ".");
}

static bool is_estimate(const struct line *l)
{
	const struct memory *m = l->view;

	return ((const struct memory_row *)l->row)->what <= MTW_MEMORY_FREE &&
	       m->t.v.ui->shown.figures.estimate;
}

static struct value resident(const struct line *l)
{
	const struct memory_row *r = l->row;

	return (struct value){ .n = (int64_t)r->bytes, .estimate = is_estimate(l) };
}

static struct value part(const struct line *l)
{
	const struct memory *m = l->view;

	return value_part(((const struct memory_row *)l->row)->bytes, rss_all(&m->now));
}

static struct value growth(const struct line *l)
{
	const struct memory *m = l->view;
	const struct memory_row *r = l->row;

	if (*r->name || !m->compared)
		return value_none();
	return (struct value){ .n = (int64_t)(bytes_of(&m->now, r->what) -
					      bytes_of(&m->then, r->what)),
			       .estimate = is_estimate(l) };
}

static void draw_trend(const struct line *l, struct cell c)
{
	const struct memory *m = l->view;
	const struct memory_row *r = l->row;
	uint64_t values[TREND_MAX];

	for (size_t i = 0; i < m->past_count; i++)
		values[i] = bytes_of(&m->past[i], r->what);
	if (!*r->name)
		graph_spark(c.a, c.y, c.x, c.w, ROLE_ALLOC, values, m->past_count);
}

static void draw_share(const struct line *l, struct cell c)
{
	const struct memory *m = l->view;
	const struct memory_row *r = l->row;
	char bar[TEXT_MAX];

	if (!*r->name && r->what != MTW_MEMORY_COUNT)
		draw_clip(c.a, c.y, c.x, c.w, ROLE_ALLOC, CLIP_END,
			  text_bar(bar, (double)r->bytes, (double)rss_all(&m->now), c.w));
}

static void draw_name(const struct line *l, struct cell c)
{
	const struct memory *m = l->view;
	const struct memory_row *r = l->row;
	char text[200], count[32];

	if (*r->name)
		snprintf(text, sizeof text, "    %s", r->name);
	else if (c.w < (int)strlen(label(MTW_MEMORY_FREE)))
		snprintf(text, sizeof text, "%s", brief[r->what]);
	else if (r->what == MTW_MEMORY_STACK && r->mappings)
		snprintf(text, sizeof text, "%s (%s)", label(r->what),
			 format_count(count, r->mappings));
	else if (r->what == MTW_MEMORY_FREE && !m->now.bytes[MTW_MEMORY_ROUNDING])
		/* The allocator is not glibc's, so its parts are unknown. */
		snprintf(text, sizeof text, "allocator: rounding, free lists, its own");
	else
		snprintf(text, sizeof text, "%s", label(r->what));
	cell_text(c, *r->name ? ROLE_PLACE : ROLE_NAME, text);
}

static COLUMN(resident, "RESIDENT", 9, -1, KIND_BYTES, .value = resident);
static COLUMN(part, "%", 4, -1, KIND_PART, .value = part);
static COLUMN(growth, "NET", 9, -1, KIND_NET, .value = growth);
static COLUMN(trend, "TREND", 12, -1, KIND_OWN, .wide = 24, .own = draw_trend);
static COLUMN(share, "SHARE", 12, -1, KIND_OWN, .wide = 30, .own = draw_share);
static COLUMN(name, "OF WHAT", 0, -1, KIND_OWN, .own = draw_name);

static const struct table_column columns[] = {
	SHOW(resident), SHOW(part, 3), SHOW(growth), SHOW(trend, 4), SHOW(share, 2), SHOW(name),
};

static bool dim(void *arg, size_t row)
{
	return ((const struct memory *)arg)->rows[row].bytes == 0;
}

static const struct table table = TABLE(VIEW_MEMORY, columns, struct memory_row, dim, id_of, NULL);

static void draw(struct view *v, const struct area *a)
{
	struct memory *m = (struct memory *)v;
	char text[600];
	int lines = a->h >= 8 ? 3 : 0;
	struct area list = area_sub(a, lines, 0, a->h - lines, -1),
		    top = area_sub(a, 0, 0, lines, -1);

	if (!m->known) {
		const char *why = watch_missing(v->ui->shown.watch, MTW_KIND_MEMORY);
		draw_words(a, 1, 1, ROLE_WARNING, why ? why : ui_empty_reason(v->ui));
		return;
	}
	sentence(m, text, sizeof text);
	if (lines)
		draw_words(&top, 0, 1, ROLE_NORMAL, text);
	table_view_draw(v, &list);
}

static void caption(struct view *v, bool in_brief, char *out, size_t size)
{
	struct memory *m = (struct memory *)v;
	char span[32], since[128];
	uint64_t age = looked_long_ago(v->ui, MTW_KIND_MEMORY);

	if (!m->known)
		return;
	if (m->mark)
		interval_mark_name(v->ui->shown.model, m->mark, since, sizeof since);
	else
		text_span(since, m->now.time_ns - m->then.time_ns);
	if (m->compared)
		snprintf(out, size, "NET %s %s", m->mark ? "since" : "over", since);
	if (age && !in_brief)
		snprintf(out + strlen(out), size - strlen(out), "  as of %s ago",
			 text_ago(span, age));
}

static void free_view(struct view *v)
{
	free(((struct memory *)v)->rows);
	table_view_free(v);
}

static const struct view_ops ops = {
	.no_filter = true,
	.tables = &table,
	.foci = view_keys,
	.keys = { FOCUS_LIST },
	.refresh = refresh,
	.draw = draw,
	.action = table_view_action,
	.caption = caption,
	.free = free_view,
};

struct view *view_memory_new(struct ui *ui)
{
	struct memory *m = xcalloc(1, sizeof *m);

	m->t.v = (struct view){ &ops, ui };
	return &m->t.v;
}
