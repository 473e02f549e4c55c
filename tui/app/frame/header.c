/* SPDX-License-Identifier: MIT
 *
 * header.c - the lines above every view: the header (the target, and whether its numbers can be
 * trusted), the verdict or the reason that there is none, the totals, and live memory over time.
 * Parts that do not fit are left out whole, the least important first; warnings always stay.
 */
#include "views/ages.h"
#include "app/app.h"
#include "base/build.h"
#include "report/coverage.h"
#include "widgets/cells.h"
#include "app/frame/chrome.h"
#include "widgets/graph.h"
#include "widgets/mouse.h"
#include "report/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

struct part {
	enum role role;
	char text[160];
};

static struct part *add(struct part *parts, size_t *n, enum role r, const char *format, ...)
	PRINTF(4, 5);
static struct part *add(struct part *parts, size_t *n, enum role r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(parts[*n].text, sizeof parts[0].text, format, ap);
	va_end(ap);
	parts[*n].role = r;
	return &parts[(*n)++];
}

/* Draws parts left to right with `gap` columns between, as many as fit; returns the end. */
static int draw_parts(const struct area *a, int y, int x, int limit, const struct part *parts,
		      size_t n, int gap)
{
	for (size_t i = 0; i < n; i++) {
		int w = text_width(parts[i].text);
		if (i && x + w > limit)
			continue;
		draw_clip(a, y, x, limit - x, parts[i].role, CLIP_END, parts[i].text);
		x += w + gap;
	}
	return x;
}

static const char *target_name(const struct app *a)
{
	const struct program *p = model_program(a->ui.shown.model);

	return p && *p->name ? p->name : watch_target(a->ui.shown.watch)->text;
}

static const char *processes_key(char *out)
{
	return key_label(out, action_key(ACT_PROCESSES, 0));
}

/* "+4: P lists" */
static void add_others(const struct app *a, const struct area *s, struct part *parts, size_t *n)
{
	const struct others *o = &a->ui.others;
	char key[16], count[32];

	if (o->running)
		add(parts, n, ROLE_HEADER, "+%s: %s%s", format_count(count, o->running),
		    processes_key(key), s->w < 60 ? "" : " lists");
	else if (o->over)
		add(parts, n, ROLE_HEADER, "%s ended: %s", format_count(count, o->over),
		    processes_key(key));
}

static bool is_peak(const struct shown *of)
{
	const struct peak_instant *peak = model_peak(watch_now(of->watch));

	return peak && peak->time_ns == of->figures.at_ns;
}

/* "STOPPED 20 s, traced by gdb [4121]" */
static void add_stop(struct part *parts, size_t *n, const struct stop *p, uint64_t ns)
{
	char span[32], why[REPORT_STOP];

	add(parts, n, ROLE_HEADER_WARNING, "STOPPED %s%s", text_span(span, ns),
	    report_stop(p, why));
}

/* The instant shown, and why it is not now. */
static void add_instant(const struct app *a, struct part *parts, size_t *n)
{
	const struct figures *f = &a->ui.shown.figures;
	char clock[32], span[32], signal[FORMAT_SIGNAL];
	uint64_t stale = watch_stale_ns(a->ui.shown.watch);
	bool file = watch_target(a->ui.shown.watch)->kind == TARGET_FILE;
	struct stop silent = { .why = stale ? watch_stopped(a->ui.shown.watch) : 0 };

	bool instant = f->past || figures_over(f) || file; /* stands still: with milliseconds */
	if (instant)
		graph_clock(clock, f, &a->ui.shown.time, f->at_ns);
	else
		text_clock(clock, f->at_ns);
	if (f->past)
		add(parts, n, ROLE_HEADER_WARNING, "PAST %s%s, %s ago",
		    is_peak(&a->ui.shown) ? "peak " : "", clock,
		    graph_ago(span, f, &a->ui.shown.time, f->time_ns - f->at_ns));
	else if (f->state == MTW_EXITED && f->status_known)
		add(parts, n, f->status ? ROLE_HEADER_BAD : ROLE_HEADER_STRONG, "EXITED %d at %s",
		    f->status, clock);
	else if (f->state == MTW_EXITED)
		add(parts, n, ROLE_HEADER_STRONG, "ENDED at %s", clock);
	else if (f->state == MTW_SIGNALLED)
		add(parts, n, ROLE_HEADER_BAD, "KILLED by %s at %s",
		    format_signal(f->status, signal), clock);
	else if (f->state == MTW_DETACHED)
		add(parts, n, ROLE_HEADER_STRONG, "DETACHED at %s", clock);
	else if (f->state == MTW_CUT)
		add(parts, n, ROLE_HEADER_WARNING, "CUT FILE to %s", clock);
	else if (file)
		add(parts, n, ROLE_HEADER_STRONG,
		    watch_being_written(a->ui.shown.watch) ? "FILE %s, still being written"
							   : "FILE %s",
		    clock);
	else if (!model_program(a->ui.shown.model))
		add(parts, n, ROLE_HEADER_WARNING, "WAITING");
	else if (silent.why)
		add_stop(parts, n, &silent, stale);
	else if (stale || f->state == MTW_LINK_LOST)
		add(parts, n, ROLE_HEADER_BAD, "STALE %s since %s", text_span(span, stale), clock);
	else if (!f->stop.times)
		add(parts, n, ROLE_HEADER_STRONG, "LIVE %s", clock);
	if (f->stop.times && !silent.why)
		add_stop(parts, n, &f->stop, f->at_ns - f->stop.begin_ns);
}

static void add_travel(const struct app *a, struct part *parts, size_t *n)
{
	const struct travel *t = &a->front.travel;
	char clock[32];

	if (travel_under_way(t) && !t->home)
		add(parts, n, ROLE_HEADER_WARNING, "going to %s",
		    graph_clock(clock, &a->ui.shown.figures, &a->ui.shown.time, t->to_ns));
	if (t->home)
		add(parts, n, ROLE_HEADER_WARNING, "reading %.0f%%",
		    floor(100.0 * (double)watch_instant(a->ui.shown.watch) /
			  (double)(t->to_ns + 1)));
}

static void add_loading(const struct app *a, struct part *parts, size_t *n)
{
	const struct figures *f = &a->ui.shown.figures;
	const struct totals *coming = model_coming(watch_now(a->ui.shown.watch));
	int loading = watch_loading(a->ui.shown.watch);
	uint64_t live = live_bytes(&f->totals.sum);
	char size[32];

	if (loading >= 100)
		return;
	if (coming && coming->time_ns) {
		add(parts, n, ROLE_HEADER_WARNING, "loading %d%%, %s live now", loading,
		    text_bytes(size, live_bytes(&coming->sum)));
	} else if (coming) {
		add(parts, n, ROLE_HEADER_WARNING, "loading");
	} else if (model_program(a->ui.shown.model)) {
		double known =
			live ? 100.0 * (double)f->totals.live_sent_bytes / (double)live : 100;
		add(parts, n, ROLE_HEADER_WARNING, "loading %d%% (%.0f%% of live)", loading,
		    floor(known));
	}
}

static void add_state(const struct app *a, struct part *parts, size_t *n)
{
	const struct figures *f = &a->ui.shown.figures;
	char span[32];

	add_instant(a, parts, n);
	add_travel(a, parts, n);
	if (f->final && watch_target(a->ui.shown.watch)->kind < TARGET_FILE && !f->past)
		add(parts, n, ROLE_HEADER_WARNING, "final");
	if (watch_unsaved(a->ui.shown.watch))
		add(parts, n, ROLE_HEADER_BAD, "NOT SAVED");
	add_loading(a, parts, n);
	if (a->ui.paused)
		add(parts, n, ROLE_HEADER_WARNING, "PAUSED +%s",
		    text_span(span, now_ns() - f->taken_ns));
}

static void add_target(const struct app *a, const struct area *s, struct part *parts, size_t *n)
{
	unsigned inner, here = watch_pid(a->ui.shown.watch, &inner);
	char pid[REPORT_PID];

	if (s->w >= 60)
		add(parts, n, ROLE_HEADER_STRONG, "memtop");
	const char *all = watch_target(a->ui.shown.watch)->kind == TARGET_MADE ? "All of " : "";
	if (here && s->w >= 50)
		add(parts, n, ROLE_HEADER_STRONG, "%s%s [%s]", all, target_name(a),
		    report_pid(here, inner, pid));
	else
		add(parts, n, ROLE_HEADER_STRONG, "%s%s", all, target_name(a));
	add_others(a, s, parts, n);
}

/* Of a program that sleeps, a share of its own cpu time would be large and mean nothing. */
static const char *cost_text(const struct quality *q, char *out, size_t size)
{
	out[0] = '\0';
	if (!isnan(q->cost.both))
		snprintf(out, size, " ~%.1f%%", q->cost.both);
	else if (!isnan(q->of_a_core))
		snprintf(out, size, " ~%.1f%% of a core", q->of_a_core);
	return out;
}

/* Of the agent, where it is not memtop's own: which of two builds counts. */
static const char *other_version(const struct app *a, char *out, size_t size)
{
	const struct program *p = model_program(a->ui.shown.model);

	out[0] = '\0';
	if (p && p->agent_version && isdigit((unsigned char)*p->agent_version) &&
	    strcmp(p->agent_version, build_version))
		snprintf(out, size, "%s ", p->agent_version);
	return out;
}

/* Whether the figures can be trusted; what limits them comes before what they cost. */
static void add_trust(const struct app *a, struct part *parts, size_t *n)
{
	const struct figures *f = &a->ui.shown.figures;
	const struct recorded *filter = model_filter(a->ui.shown.model);
	const struct totals *t = &f->totals;
	char done[32], asked[32], memory[32], cost[32], recorded[120], share[QUALITY_TEXT];
	char version[80];

	if (f->lost_events)
		add(parts, n, ROLE_HEADER_BAD, "%s lost", format_count(done, f->lost_events));
	else
		add(parts, n, ROLE_HEADER, "0 lost");
	if (f->quality.cut_blocks)
		add(parts, n, ROLE_HEADER_WARNING, "stacks %s%%",
		    quality_share(share, f->quality.whole));
	if (filter)
		add(parts, n, ROLE_HEADER_WARNING, "%s",
		    report_filter(filter, true, recorded, sizeof recorded));
	else if (f->estimate)
		add(parts, n, ROLE_HEADER_WARNING, "~ partly sampled");
	if (f->symbols_done < f->symbols_asked)
		add(parts, n, ROLE_HEADER_WARNING, "symbols %s/%s",
		    format_count(done, f->symbols_done), format_count(asked, f->symbols_asked));
	if (t->time_ns)
		add(parts, n, ROLE_HEADER, "agent %s%s%s",
		    other_version(a, version, sizeof version),
		    text_bytes(memory, t->agent_memory_bytes),
		    cost_text(&f->quality, cost, sizeof cost));
	if (!filter && !f->estimate)
		add(parts, n, ROLE_HEADER, "every block");
	if (!f->quality.cut_blocks && !isnan(f->quality.whole))
		add(parts, n, ROLE_HEADER, "stacks %s%%", quality_share(share, f->quality.whole));
	if (!isnan(f->quality.remembered))
		add(parts, n, ROLE_HEADER, "cached %s%%",
		    quality_share(share, f->quality.remembered));
}

/* Draws the parts that fit from `x` on, the first at the right edge. */
static void draw_right_parts(const struct area *s, int x, const struct part *parts, size_t n)
{
	int width = 0;
	size_t fit = 0;

	while (fit < n && width + text_width(parts[fit].text) + 2 <= s->w - x)
		width += text_width(parts[fit++].text) + 2;
	x = s->w - width;
	for (size_t i = fit; i-- > 0; x += text_width(parts[i].text) + 2)
		draw_text(s, 0, x + 1, parts[i].role, parts[i].text);
}

void frame_header(const struct app *a, const struct area *s)
{
	const struct figures *f = &a->ui.shown.figures;
	const struct target *target = watch_target(a->ui.shown.watch);
	struct part left[10], right[12];
	size_t n = 0, m = 0;

	draw_fill(s, 0, 0, -1, ROLE_HEADER);
	add_target(a, s, left, &n);
	add_state(a, left, &n);
	if (f->children && !a->ui.others.running)
		add(right, &m, ROLE_HEADER, f->children == 1 ? "+%u child" : "+%u children",
		    f->children);
	add_trust(a, right, &m);
	if (target->text[0] && !a->options->child && a->ui.shown.watch == a->first)
		add(right, &m, ROLE_HEADER, "via %s", target->text);
	int x = draw_parts(s, 0, 1, s->w, left, n, 2);
	if (model_program(a->ui.shown.model))
		draw_right_parts(s, x, right, m);
}

/* columns: in less, another process that matters more has all of the line */
#define VERDICT_LEAST 30

/* Draws, at the right, another process worth a look. Returns the rest of the line. */
static struct area draw_hint(const struct app *a, const struct area *s, int y)
{
	struct area left = *s;
	char text[160], key[16];

	/* of all, the verdict names it */
	if (!a->ui.others.hint[0] ||
	    (ui_of_all(&a->ui) && a->ui.shown.figures.verdict.kind != V_WATCHING))
		return left;
	snprintf(text, sizeof text, "%s; %s", a->ui.others.hint, processes_key(key));
	int wide = text_width(text), x = s->w - wide - 1;
	if (x < VERDICT_LEAST)
		x = 1;
	draw_clip(s, y, x, s->w - x, ROLE_WARNING, CLIP_END, text);
	mouse_action(s, y, x, wide, ACT_PROCESSES);
	left.w = x - 1;
	return left;
}

void frame_verdict(const struct app *a, const struct area *line, int y)
{
	const struct area rest = draw_hint(a, line, y), *s = &rest;
	static const struct {
		enum role role;
		enum glyph glyph;
	} looks[] = {
		[V_WATCHING] = { ROLE_DIM, GLYPH_DOT },
		[V_FLAT] = { ROLE_GOOD, GLYPH_FLAT },
		[V_GROWING] = { ROLE_BAD, GLYPH_GROWS },
		[V_FILLING] = { ROLE_WARNING, GLYPH_SLOWING },
		[V_STEP] = { ROLE_WARNING, GLYPH_STEP },
		[V_SHRINKING] = { ROLE_GOOD, GLYPH_DOWN },
		[V_RSS_GROWING] = { ROLE_WARNING, GLYPH_GROWS },
		[V_ENDED] = { ROLE_NORMAL, GLYPH_DOT },
		[V_EMPTY] = { ROLE_DIM, GLYPH_DOT },
	};
	const struct verdict *v = &a->ui.shown.figures.verdict;
	const char *problem = watch_problem(a->ui.shown.watch);

	if (problem && !watch_live(a->ui.shown.watch) && !a->ui.shown.figures.final &&
	    a->ui.shown.figures.state != MTW_CUT) {
		draw_clip(s, y, 1, s->w - 1, ROLE_BAD, CLIP_END, problem);
		return;
	}
	if (!model_program(a->ui.shown.model)) {
		draw_clip(s, y, 1, s->w - 1, ROLE_WARNING, CLIP_END, ui_empty_reason(&a->ui));
		return;
	}
	draw_text(s, y, 1, looks[v->growth].role, text_glyph(looks[v->growth].glyph));
	draw_clip(s, y, 3, s->w - 3, looks[v->growth].role, CLIP_END, v->text);
}

#define PEAK_NEAR 50 /* a recent peak above by less than this part counts as the current one */
/* columns; in less, what is born and what goes is worth more than how many bytes that is */
#define TOTALS_WIDE 100

void frame_totals(const struct shown *of, const struct area *s, int y)
{
	const struct figures *f = &of->figures;
	const struct totals *t = &f->totals;
	const char *about = f->estimate ? "~" : "";
	uint64_t live = live_bytes(&t->sum);
	struct part parts[8];
	size_t n = 0;
	char one[32], two[TEXT_BLOCKS], span[32];

	/* Live excludes blocks from before the attach, so its share of RSS would be wrong. */
	bool late = coverage_late(of->model);
	/* they need not have ended together: the sum may be above the peak */
	bool ends = watch_target(of->watch)->kind == TARGET_MADE && figures_over(f) && !f->past;

	add(parts, &n, ROLE_NUMBER, "Live %s%s  %s%s%s", about, text_bytes(one, live), about,
	    text_blocks(two, live_blocks(&t->sum)),
	    late   ? " since the attach"
	    : ends ? " at their ends"
		   : "");
	if (f->rss_bytes && (s->w < TOTALS_WIDE || late))
		add(parts, &n, ROLE_NUMBER, "RSS %s", text_bytes(one, f->rss_bytes));
	else if (f->rss_bytes)
		add(parts, &n, ROLE_NUMBER, "RSS %s (live is %.0f %%)",
		    text_bytes(one, f->rss_bytes), 100.0 * (double)live / (double)f->rss_bytes);
	if (!figures_rated(f)) {
		add(parts, &n, ROLE_DIM, "Alloc -");
		add(parts, &n, ROLE_DIM, "Free -");
	} else if (!figures_over(f) && s->w < TOTALS_WIDE) {
		add(parts, &n, ROLE_ALLOC, "Alloc %s%s/s", about,
		    text_short(one, f->rates.alloc_blocks));
		add(parts, &n, ROLE_FREE, "Free %s%s/s", about,
		    text_short(one, f->rates.free_blocks));
	} else if (!figures_over(f)) {
		add(parts, &n, ROLE_ALLOC, "Alloc %s%s/s %s%s/s", about,
		    text_short(one, f->rates.alloc_blocks), about,
		    text_bytes(two, (uint64_t)f->rates.alloc_bytes));
		add(parts, &n, ROLE_FREE, "Free %s%s/s %s%s/s", about,
		    text_short(one, f->rates.free_blocks), about,
		    text_bytes(two, (uint64_t)f->rates.free_bytes));
	}
	bool near = t->peak_bytes - t->peak_bytes / PEAK_NEAR <= live &&
		    t->peak_time_ns + 2000000000 > f->at_ns;
	if (!ends && (t->peak_bytes <= live || near))
		add(parts, &n, ROLE_NUMBER, "Peak %s%s now", about, text_bytes(one, t->peak_bytes));
	else
		add(parts, &n, ROLE_NUMBER, "Peak %s%s %s ago", about,
		    text_bytes(one, t->peak_bytes),
		    text_span(span, f->at_ns > t->peak_time_ns ? f->at_ns - t->peak_time_ns : 0));
	int gap = 4, width = 1;
	for (size_t i = 0; i < n; i++)
		width += text_width(parts[i].text) + (i ? gap : 0);
	while (gap > 2 && width > s->w) {
		gap--;
		width -= (int)n - 1;
	}
	draw_parts(s, y, 1, s->w, parts, n, gap);
}

void frame_strip(const struct shown *of, const struct area *s, int y)
{
	const struct figures *f = &of->figures;
	int w = s->w / 3, x = w + 2;
	char span[32];
	uint64_t live = live_bytes(&f->totals.sum);

	graph_strip(s, y, 1, w, f, &of->time);
	graph_span(span, graph_window(f, &of->time));
	x += draw_text(s, y, x, ROLE_DIM, span) + 2;
	for (size_t i = 0; i < f->owner_count && live; i++) {
		char text[96];
		double part = 100.0 * (double)live_bytes(&f->owners[i].amounts.sum) / (double)live;
		snprintf(text, sizeof text, "%c %.40s %.0f%%", f->owners[i].letter,
			 f->owners[i].name, part);
		int wide = text_width(text);
		if (x + wide >= s->w || part < 0.5)
			break;
		draw_text(s, y, x, draw_owner_role(f->owners[i].letter), text);
		x += wide + 2;
	}
}
