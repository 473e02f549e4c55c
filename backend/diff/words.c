/* SPDX-License-Identifier: MIT
 *
 * words.c - what a diff found, as one sentence.
 */
#include "diff/diff.h"

#include "base/format.h"
#include "base/sanitize.h"
#include "diff/noise.h"

#include <math.h>
#include <string.h>

#define NAME_MAX_SHOWN 60

static const char *amount(const struct diff *d, char buf[FORMAT_NUMBER + 8], double n)
{
	char plain[FORMAT_NUMBER];

	if (d->value == DIFF_BLOCKS)
		snprintf(buf, FORMAT_NUMBER + 8, "%s block%s", format_count(plain, diff_round(n)),
			 format_s(diff_round(n)));
	else
		format_bytes(buf, diff_round(n));
	return buf;
}

const char *diff_noise_rule(const struct diff *d, char out[DIFF_RULE])
{
	char lacked[FORMAT_NUMBER], peaks[DIFF_RULE] = "";

	if (d->lacked)
		snprintf(peaks, sizeof peaks,
			 "call paths lack up to %s of a peak, and no smaller change counts",
			 format_bytes(lacked, d->lacked));
	snprintf(out, DIFF_RULE, "%s%s%s", d->by_runs ? NOISE_RULE : "",
		 d->by_runs && d->lacked ? "; " : "", peaks);
	return out;
}

/* The largest change of all, which is the first; NULL = none is beyond the noise. */
static const struct diff_row *changed_most(const struct diff_rows *rows)
{
	const struct diff_row *r = rows->count ? &rows->list[0] : NULL;

	return r && r->kind != DIFF_SAME && !r->noise ? r : NULL;
}

static bool is_change(const struct diff *d)
{
	return changed_most(&d->sites) || changed_most(&d->stacks) || changed_most(&d->owners) ||
	       (d->totals.kind != DIFF_SAME && !d->totals.noise);
}

/* A call site that several stacks share may be noise in all, while one of them changed. */
static const struct diff_row *place_changed_most(const struct diff *d)
{
	const struct diff_row *site = changed_most(&d->sites);

	return site ? site : changed_most(&d->stacks);
}

const char *diff_word(const struct diff *d)
{
	const struct diff_row *r = place_changed_most(d);
	int64_t moved = d->totals.noise && r ? r->moved : d->totals.moved;

	if (!is_change(d))
		return "SAME";
	return moved < 0 ? "SHRANK" : "GREW";
}

static void clean(char *out, const char *text)
{
	char whole[1024];

	sanitize_clean(whole, sizeof whole, text ? text : "?");
	snprintf(out, NAME_MAX_SHOWN, "%.*s", NAME_MAX_SHOWN - 1, whole);
	if (strlen(whole) >= NAME_MAX_SHOWN)
		strcpy(out + NAME_MAX_SHOWN - 4, "...");
}

/* "leaky < work +34.2K, new" */
static void add_site(const struct diff *d, char *out, size_t size)
{
	const struct diff_row *r = place_changed_most(d);
	char name[NAME_MAX_SHOWN], caller[NAME_MAX_SHOWN], n[FORMAT_NUMBER + 8];
	size_t at = strlen(out);

	if (!r)
		return;
	double by = diff_change(d, r->sums, d->value);
	clean(name, r->name);
	clean(caller, r->caller);
	snprintf(out + at, size - at, "  Changed most: %s%s%s %s%s, %s.", name,
		 r->caller ? " < " : "", r->caller ? caller : "", by < 0 ? "-" : "+",
		 amount(d, n, fabs(by)), diff_kind_name(r->kind));
}

void diff_sentence(const struct diff *d, char out[DIFF_SENTENCE])
{
	const char *holds = d->value == DIFF_ALLOCATED ? "allocated" : "holds";
	double a = diff_mean(d, d->totals.sums, false, d->value),
	       b = diff_mean(d, d->totals.sums, true, d->value);
	char one[FORMAT_NUMBER + 8], two[FORMAT_NUMBER + 8], by[FORMAT_NUMBER + 8];

	amount(d, one, a);
	amount(d, two, b);
	amount(d, by, fabs(b - a));
	if (!is_change(d) && d->totals.moved)
		snprintf(out, DIFF_SENTENCE, "SAME within the noise: A %s, B %s.", one, two);
	else if (!d->totals.moved)
		snprintf(out, DIFF_SENTENCE, "%s: A and B: %s.",
			 is_change(d) ? "SAME in all" : "SAME", one);
	else
		snprintf(out, DIFF_SENTENCE, "%s: B %s %s %s than A (A %s, B %s)%s.", diff_word(d),
			 holds, by, b > a ? "more" : "less", one, two,
			 d->totals.noise ? ", within the noise of the totals" : "");
	add_site(d, out, DIFF_SENTENCE);
}
