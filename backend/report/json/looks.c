/* SPDX-License-Identifier: MIT
 *
 * looks.c - see report/json/json.h. Figures are from the newest scan, with its time beside
 * them.
 */
#include "report/json/json.h"

#include "report/json/values.h"
#include "report/report.h"
#include "model/state/cohorts.h"

#include <stdlib.h>

static json_t *part(unsigned what, const char *name, uint64_t bytes, uint64_t mappings)
{
	json_t *o = json_object();

	json_object_set_new(o, "part", json_string(report_memory(what)));
	json_object_set_new(o, "name", report_json_text(name));
	json_object_set_new(o, "bytes", json_integer((json_int_t)bytes));
	json_object_set_new(o, "mappings", json_integer((json_int_t)mappings));
	return o;
}

/* Parts without a name add up to rss_bytes; those with one are shares of them. */
json_t *report_json_resident(const struct model *m)
{
	const struct rss *now = model_rss_newest(m);
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
		json_array_append_new(parts, part(named[i].what, named[i].name, named[i].bytes,
						  named[i].mappings));
	json_object_set_new(o, "time_s", json_real((double)now->time_ns / 1e9));
	json_object_set_new(o, "rss_bytes", json_integer((json_int_t)rss_all(now)));
	json_object_set_new(o, "parts", parts);
	return o;
}

json_t *report_json_ages(const struct model *m)
{
	const struct cohorts *c = model_cohorts(m);
	size_t n = 0;

	if (!c)
		return json_null();
	struct cohort *list = cohorts_by_age(c, &n);
	json_t *ages = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(ages,
				      json_pack("{s:I,s:I,s:I}", "age_s", (json_int_t)list[i].age_s,
						"blocks", (json_int_t)list[i].blocks, "bytes",
						(json_int_t)list[i].bytes));
	free(list);
	return json_pack("{s:f,s:o,s:I,s:I}", "time_s", (double)c->time_ns / 1e9, "live", ages,
			 "unknown_blocks", (json_int_t)c->left_blocks, "unknown_bytes",
			 (json_int_t)c->left_bytes);
}

json_t *report_json_not_known(const struct watch *w)
{
	const char *why[REPORT_LOOKS];
	size_t n = report_not_known(w, why);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(why[i]));
	return list;
}
