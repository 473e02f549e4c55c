/* SPDX-License-Identifier: MIT
 *
 * compared.c - see app/frame/chrome.h. Every line but the first is of exact amounts; the rows
 * below round the means of several sessions.
 */
#include "app/frame/chrome.h"

#include "base/format.h"
#include "diff/formats/formats.h"
#include "screen/text.h"

#include <math.h>
#include <string.h>

#define BESIDE "  " /* between two parts of a line */

static size_t sessions(const struct diff *d, bool b)
{
	return b ? d->sides_count - d->sides_a : d->sides_a;
}

/* "B new.mtop", "B mean of 3: new1.mtop ..." ; a long path loses its middle. */
static int draw_side(const struct diff *d, bool b, const struct area *s, int x, int room)
{
	const struct side *first = d->sides[b ? d->sides_a : 0];
	char lead[48], label[700];

	if (sessions(d, b) > 1)
		snprintf(lead, sizeof lead, "%c, mean of %zu: ", b ? 'B' : 'A', sessions(d, b));
	else
		snprintf(lead, sizeof lead, "%c: ", b ? 'B' : 'A');
	int used = draw_clip(s, 0, x, room, ROLE_HEADER_STRONG, CLIP_END, lead);
	snprintf(label, sizeof label, "%.600s%s", first->label, sessions(d, b) > 1 ? " ..." : "");
	return used + draw_clip(s, 0, x + used, room - used, ROLE_HEADER, CLIP_MIDDLE, label);
}

void compared_header(const struct diff *d, const struct area *s)
{
	int x = 1;

	draw_fill(s, 0, 0, -1, ROLE_HEADER);
	if (s->w >= 60)
		x += draw_text(s, 0, x, ROLE_HEADER_STRONG, "memtop diff") + 2;
	int half = (s->w - x - 2) / 2;
	x += draw_side(d, false, s, x, half) + 2;
	draw_side(d, true, s, x, s->w - x);
}

void compared_verdict(const struct diff *d, const struct area *s, int y)
{
	static const struct {
		const char *word;
		enum role role;
		enum glyph glyph;
	} looks[] = {
		{ "GREW", ROLE_WARNING, GLYPH_GROWS },
		{ "SHRANK", ROLE_GOOD, GLYPH_DOWN },
		{ "SAME", ROLE_GOOD, GLYPH_FLAT },
	};
	char text[DIFF_SENTENCE];
	size_t i = 0;

	while (i + 1 < sizeof looks / sizeof *looks && strcmp(looks[i].word, diff_word(d)))
		i++;
	diff_sentence(d, text);
	draw_text(s, y, 1, looks[i].role, text_glyph(looks[i].glyph));
	draw_clip(s, y, 3, s->w - 3, looks[i].role, CLIP_END, text);
}

static bool is_estimate(const struct diff *d)
{
	for (size_t i = 0; i < d->sides_count; i++)
		if (d->sides[i]->estimate)
			return true;
	return false;
}

static const char *amount(const struct diff *d, char buf[40], double n, enum diff_value v)
{
	char plain[FORMAT_NUMBER];
	uint64_t whole = diff_round(fabs(n));

	if (v == DIFF_BLOCKS)
		format_count(plain, whole);
	else
		text_bytes(plain, whole);
	snprintf(buf, 40, "%s%s", whole && is_estimate(d) ? "~" : "", plain);
	return buf;
}

/* "Live A 1.2M  B 1.3M  +0.1M" */
static int draw_amounts(const struct diff *d, const char *name, enum diff_value v,
			const struct area *s, int y, int x)
{
	const struct tally *sums = d->totals.sums;
	double by = diff_change(d, sums, v);
	bool judged = v == d->value && d->judged && by != 0;
	char a[40], b[40], net[40], text[180];

	snprintf(text, sizeof text, "%s A %s" BESIDE "B %s" BESIDE "%s%s%s", name,
		 amount(d, a, diff_mean(d, sums, false, v), v),
		 amount(d, b, diff_mean(d, sums, true, v), v),
		 diff_round(fabs(by)) == 0 ? ""
		 : by < 0                  ? "-"
					   : "+",
		 amount(d, net, by, v),
		 !judged           ? ""
		 : d->totals.noise ? " (noise)"
				   : " (a change)");
	if (x > 1 && x + text_width(text) > s->w)
		return x;
	return x + draw_clip(s, y, x, s->w - x, ROLE_NUMBER, CLIP_END, text) + 4;
}

static size_t count_warnings(const struct diff *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->sides_count; i++)
		n += d->sides[i]->warning_count;
	return n;
}

void compared_totals(const struct diff *d, const struct area *s, int y)
{
	int x = draw_amounts(d, "Live", DIFF_LIVE, s, y, 1);
	char text[80];

	x = draw_amounts(d, "Blocks", DIFF_BLOCKS, s, y, x);
	x = draw_amounts(d, "Allocated", DIFF_ALLOCATED, s, y, x);
	snprintf(text, sizeof text, "%zu warning%s: w diff.txt lists them", count_warnings(d),
		 format_s(count_warnings(d)));
	if (count_warnings(d) && x + text_width(text) <= s->w)
		draw_text(s, y, x, ROLE_WARNING, text);
}

/* The actions that need a program, its marks, its threads or its time. */
static bool lacks(enum action r)
{
	switch (action_info(r)->focus) {
	case FOCUS_MARKS:
	case FOCUS_THREADS:
	case FOCUS_GRAPH:
	case FOCUS_HOLDERS:
	case FOCUS_PROCESSES:
	case FOCUS_CHOOSER: return true;
	default: break;
	}
	switch (r) {
	case ACT_INSTANT_BACK:
	case ACT_INSTANT_ON:
	case ACT_INSTANT_PEAK:
	case ACT_MARK:
	case ACT_MARK_NAMED:
	case ACT_DIFF:
	case ACT_DIFF_TWO:
	case ACT_OLDER:
	case ACT_PAUSE:
	case ACT_PROCESSES:
	case ACT_CHURN:
	case ACT_DETACH:
	case ACT_AGENT:
	case ACT_PERCENT:    /* of LIVE, which no column shows */
	case ACT_INLINED:    /* the session's inlined functions are rows like all others */
	case ACT_FOCUS_NEXT: /* a view is one list */
	case ACT_FOCUS_PREV:
	case ACT_EXPECT: return true;
	default: return false;
	}
}

const char *compared_help(enum action r)
{
	if (view_of_action(r) != VIEW_COUNT)
		return view_info(view_of_action(r))->of_diff;
	switch (r) {
	case ACT_FILTER:
		return "filter by function, library or file; also lib:ssl size>64k grew new";
	case ACT_SAVE: return "save the diff: " DIFF_ENDING_WORDS;
	case ACT_BACK: return "go back; in the tree: quit, after a question";
	case ACT_QUIT: return "quit";
	case ACT_SUSPEND: return "suspend memtop";
	case ACT_DETAIL:
	case ACT_SITE_DETAIL: return "detail of the row: what A and B hold, stack, source";
	default: return lacks(r) ? NULL : action_info(r)->help;
	}
}

const char *compared_views(char *out, size_t size)
{
	size_t n = 0, left = 0;

	for (int v = 0; v < VIEW_COUNT; v++)
		left += view_info((enum view_id)v)->of_diff != NULL;
	for (int v = 0; v < VIEW_COUNT && n < size; v++)
		if (view_info((enum view_id)v)->of_diff)
			n += (size_t)snprintf(out + n, size - n, "%s%d %s",
					      !n          ? ""
					      : left == 1 ? " and "
							  : ", ",
					      v + 1, view_info((enum view_id)v)->title),
				left--;
	return out;
}
