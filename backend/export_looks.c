/* SPDX-License-Identifier: MIT
 *
 * export_looks.c - see export_looks.h. Figures are of the newest look, whose time stands beside them.
 */
#include "export_looks.h"

#include "foreign.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

static const enum mtw_kind kinds[] = { MTW_KIND_THREADS, MTW_KIND_MEMORY, MTW_KIND_COHORTS };

static const struct rss *newest(const struct model *m)
{
	const struct rss *list;
	size_t n = model_rss(m, &list);

	return n ? &list[n - 1] : NULL;
}

static uint64_t all_of(const struct rss *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MTW_MEMORY_COUNT; i++)
		sum += r->bytes[i];
	return sum;
}

/* --- JSON */

json_t *export_json_text(const char *s)
{
	if (!s)
		return json_null();
	json_t *whole = json_string(s);
	if (whole)
		return whole;
	char *escaped = xmalloc(strlen(s) * 4 + 1), *at = escaped;

	while (*s) {
		int32_t cp;
		size_t n = foreign_decode(s, &cp);

		if (cp == FOREIGN_BAD)
			at += sprintf(at, "\\x%02x", (unsigned char)*s);
		else
			at = mempcpy(at, s, n);
		s += n;
	}
	*at = '\0';
	whole = json_string(escaped);
	free(escaped);
	return whole ? whole : json_null();
}

static json_t *part(unsigned what, const char *name, uint64_t bytes, uint64_t mappings)
{
	json_t *o = json_object();

	json_object_set_new(o, "part", json_string(report_memory(what)));
	json_object_set_new(o, "name", export_json_text(name));
	json_object_set_new(o, "bytes", json_integer((json_int_t)bytes));
	json_object_set_new(o, "mappings", json_integer((json_int_t)mappings));
	return o;
}

/* Parts without a name add up to rss_bytes; those with one are shares of them. */
json_t *export_json_resident(const struct model *m)
{
	const struct rss *now = newest(m);
	const struct rss_named *named;
	size_t n = model_rss_named(m, &named);
	json_t *o = json_object(), *parts = json_array();

	if (!now) {
		json_decref(parts);
		json_decref(o);
		return json_null();
	}
	for (unsigned i = 0; i < MTW_MEMORY_COUNT; i++)
		json_array_append_new(parts, part(i, NULL, now->bytes[i], now->mappings[i]));
	for (size_t i = 0; i < n; i++)
		json_array_append_new(parts, part(named[i].what, named[i].name, named[i].bytes, named[i].mappings));
	json_object_set_new(o, "time_s", json_real((double)now->time_ns / 1e9));
	json_object_set_new(o, "rss_bytes", json_integer((json_int_t)all_of(now)));
	json_object_set_new(o, "parts", parts);
	return o;
}

static int by_age(const void *a, const void *b)
{
	const struct cohort *x = a, *y = b;

	return x->age_s < y->age_s ? -1 : x->age_s > y->age_s;
}

/* One entry for each age, youngest first; owned by the caller. */
static struct cohort *sum_ages(const struct cohorts *c, size_t *count)
{
	struct cohort *list = xcalloc(c->count + 1, sizeof *list);
	size_t n = 0;

	if (c->count)
		memcpy(list, c->list, c->count * sizeof *list);
	qsort(list, c->count, sizeof *list, by_age);
	for (size_t i = 0; i < c->count; i++) {
		if (n && list[n - 1].age_s == list[i].age_s) {
			list[n - 1].blocks += list[i].blocks;
			list[n - 1].bytes += list[i].bytes;
		} else {
			list[n++] = list[i];
		}
	}
	*count = n;
	return list;
}

json_t *export_json_ages(const struct model *m)
{
	const struct cohorts *c = model_cohorts(m);
	size_t n = 0;

	if (!c)
		return json_null();
	struct cohort *list = sum_ages(c, &n);
	json_t *ages = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(ages, json_pack("{s:I,s:I,s:I}", "age_s", (json_int_t)list[i].age_s, "blocks",
						      (json_int_t)list[i].blocks, "bytes", (json_int_t)list[i].bytes));
	free(list);
	return json_pack("{s:f,s:o,s:I,s:I}", "time_s", (double)c->time_ns / 1e9, "live", ages, "unknown_blocks",
			 (json_int_t)c->left_blocks, "unknown_bytes", (json_int_t)c->left_bytes);
}

json_t *export_json_not_known(const struct watch *w)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		const char *why = watch_missing(w, kinds[i]);
		if (why)
			json_array_append_new(list, json_string(why));
	}
	return list;
}

/* --- text */

static bool begin(const struct watch *w, const struct model *m, enum mtw_kind kind, const char *title, FILE *out)
{
	const char *why = watch_missing(w, kind);

	if (why)
		fprintf(out, "\n%s\n", why);
	else
		fprintf(out, "\n%s, at %.1f s\n", title, (double)model_looked(m, kind) / 1e9);
	return !why;
}

void export_text_resident(const struct watch *w, const struct model *m, FILE *out)
{
	const struct rss *now = newest(m);
	char bytes[REPORT_NUMBER];

	if (!begin(w, m, MTW_KIND_MEMORY, "Resident memory, by what it consists of", out) || !now)
		return;
	for (unsigned i = 0; i < MTW_MEMORY_COUNT; i++)
		if (now->bytes[i])
			fprintf(out, "%10s   %s\n", report_bytes(bytes, now->bytes[i]), report_memory(i));
	fprintf(out, "%10s   all of it\n", report_bytes(bytes, all_of(now)));
}

void export_text_ages(const struct watch *w, const struct model *m, FILE *out)
{
	static const struct { uint32_t below_s; const char *label; } steps[] = {
		{ 1, "younger than 1 s" }, { 10, "younger than 10 s" }, { 60, "younger than 1 min" },
		{ 600, "younger than 10 min" }, { 3600, "younger than 1 h" }, { UINT32_MAX, "older" },
	};
	const struct cohorts *c = model_cohorts(m);
	char bytes[REPORT_NUMBER], blocks[REPORT_NUMBER];
	bool about = model_estimate(m);
	size_t n = 0, at = 0;

	if (!begin(w, m, MTW_KIND_COHORTS, "Live blocks by age", out) || !c)
		return;
	struct cohort *list = sum_ages(c, &n);
	for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
		struct cohort sum = { 0 };
		for (; at < n && (list[at].age_s < steps[k].below_s || steps[k].below_s == UINT32_MAX); at++) {
			sum.blocks += list[at].blocks;
			sum.bytes += list[at].bytes;
		}
		if (sum.blocks)
			fprintf(out, "%s%9s  %s%8s   %s\n", about ? "~" : " ", report_bytes(bytes, sum.bytes), about ? "~" : " ",
				report_count(blocks, sum.blocks), steps[k].label);
	}
	free(list);
}
