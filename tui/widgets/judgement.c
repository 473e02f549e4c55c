/* SPDX-License-Identifier: MIT */
#include "widgets/judgement.h"

#include "screen/text.h"

#include <string.h>

static enum role role_of(const struct diff_judgement *j)
{
	if (j->noise || j->kind == DIFF_SAME)
		return ROLE_DIM;
	return j->kind == DIFF_SHRUNK || j->kind == DIFF_GONE ? ROLE_MINUS : ROLE_PLUS;
}

void judgement_cell(struct cell c, const struct diff_judgement *j)
{
	if (!j->none)
		cell_text(c, role_of(j), j->noise ? "noise" : diff_kind_name(j->kind));
}

static const char *range(const struct diff_judgement *j, bool b, char out[80])
{
	char low[32], high[32];

	text_bytes(low, j->low[b]);
	text_bytes(high, j->high[b]);
	if (strcmp(low, high))
		snprintf(out, 80, "%s to %s", low, high);
	else
		snprintf(out, 80, "%s", low);
	return out;
}

void judgement_words(const struct diff *d, const struct diff_judgement *j, char *out, size_t size)
{
	char a[80], b[80];

	*out = 0;
	if (d->by_runs && !j->none)
		snprintf(out, size, "%s: A's %zu sessions hold %s, B's %zu hold %s.",
			 j->kind == DIFF_SAME ? "No change"
			 : j->noise           ? "Noise"
					      : "A change",
			 d->sides_a, range(j, false, a), d->sides_count - d->sides_a,
			 range(j, true, b));
}
