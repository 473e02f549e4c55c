/* SPDX-License-Identifier: MIT
 *
 * looks.c - see report/text/text.h. Figures are from the newest scan, with its time beside
 * them.
 */
#include "report/text/text.h"

#include "report/report.h"
#include "model/state/cohorts.h"

#include <stdlib.h>

static bool begin(const struct watch *w, const struct model *m, enum mtw_kind kind,
		  const char *title, FILE *out)
{
	const char *why = watch_missing(w, kind);

	if (why)
		fprintf(out, "\n%s\n", why);
	else
		fprintf(out, "\n%s, at %.1f s\n", title, (double)model_looked(m, kind) / 1e9);
	return !why;
}

void report_text_resident(const struct watch *w, const struct model *m, FILE *out)
{
	static const struct listing_column columns[] = { { NULL, LISTING_RIGHT, 10, 0 },
							 { NULL, LISTING_LEFT, 0, 3 } };
	const struct rss *now = model_rss_newest(m);
	char bytes[FORMAT_NUMBER];

	if (!begin(w, m, MTW_KIND_MEMORY, "Resident memory by part", out) || !now)
		return;
	struct listing *t = listing_new(columns, 2, 0);
	for (unsigned i = 0; i < MTW_MEMORY_COUNT; i++) {
		if (!now->bytes[i])
			continue;
		listing_row(t);
		listing_put(t, format_bytes(bytes, now->bytes[i]));
		listing_put(t, report_memory(i));
	}
	listing_row(t);
	listing_put(t, format_bytes(bytes, rss_all(now)));
	listing_put(t, "total");
	listing_end(t, out);
}

void report_text_ages(const struct watch *w, const struct model *m, FILE *out)
{
	static const struct {
		uint32_t below_s;
		const char *label;
	} steps[] = {
		{ 1, "younger than 1 s" },    { 10, "younger than 10 s" },
		{ 60, "younger than 1 min" }, { 600, "younger than 10 min" },
		{ 3600, "younger than 1 h" }, { UINT32_MAX, "older" },
	};
	static const struct listing_column columns[] = { { NULL, LISTING_RIGHT, 10, 0 },
							 { NULL, LISTING_RIGHT, 9, 2 },
							 { NULL, LISTING_LEFT, 0, 3 } };
	const struct cohorts *c = model_cohorts(m);
	char text[FORMAT_NUMBER];
	bool about = model_estimate(m);
	size_t n = 0, at = 0;

	if (!begin(w, m, MTW_KIND_COHORTS, "Live blocks by age", out) || !c)
		return;
	struct cohort *list = cohorts_by_age(c, &n);
	struct listing *t = listing_new(columns, 3, 0);
	for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
		struct cohort sum = { 0 };
		for (; at < n &&
		       (list[at].age_s < steps[k].below_s || steps[k].below_s == UINT32_MAX);
		     at++) {
			sum.blocks += list[at].blocks;
			sum.bytes += list[at].bytes;
		}
		if (!sum.blocks)
			continue;
		listing_row(t);
		listing_put(t, page_bytes(text, sum.bytes, about));
		listing_put(t, page_count(text, sum.blocks, about));
		listing_put(t, steps[k].label);
	}
	listing_end(t, out);
	free(list);
}
