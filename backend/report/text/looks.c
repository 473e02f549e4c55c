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
	const struct rss *now = model_rss_newest(m);
	char bytes[FORMAT_NUMBER];

	if (!begin(w, m, MTW_KIND_MEMORY, "Resident memory by part", out) || !now)
		return;
	for (unsigned i = 0; i < MTW_MEMORY_COUNT; i++)
		if (now->bytes[i])
			fprintf(out, "%10s   %s\n", format_bytes(bytes, now->bytes[i]),
				report_memory(i));
	fprintf(out, "%10s   total\n", format_bytes(bytes, rss_all(now)));
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
	const struct cohorts *c = model_cohorts(m);
	char bytes[FORMAT_NUMBER], blocks[FORMAT_NUMBER];
	bool about = model_estimate(m);
	size_t n = 0, at = 0;

	if (!begin(w, m, MTW_KIND_COHORTS, "Live blocks by age", out) || !c)
		return;
	struct cohort *list = cohorts_by_age(c, &n);
	for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
		struct cohort sum = { 0 };
		for (; at < n &&
		       (list[at].age_s < steps[k].below_s || steps[k].below_s == UINT32_MAX);
		     at++) {
			sum.blocks += list[at].blocks;
			sum.bytes += list[at].bytes;
		}
		if (sum.blocks)
			fprintf(out, "%s%9s  %s%8s   %s\n", about ? "~" : " ",
				format_bytes(bytes, sum.bytes), about ? "~" : " ",
				format_count(blocks, sum.blocks), steps[k].label);
	}
	free(list);
}
