/* SPDX-License-Identifier: MIT
 *
 * verdict.c - line 2 of the live view in a JSON report, and beside it the verdict on growth alone:
 * what a program's state is does not tell what its heap did.
 */
#include "report/json/json.h"

#include "report/json/values.h"

/* The call site that the verdict names; null: none. */
static json_t *named_site(struct query *q, uint32_t id)
{
	const struct site *list;
	size_t n = id ? query_sites(q, BY_LIVE, false, false, &list) : 0, i = 0;
	json_t *o = json_object();

	while (i < n && list[i].id != id)
		i++;
	if (i == n) {
		json_decref(o);
		return json_null();
	}
	set(o, "function", report_json_text(list[i].name));
	set(o, "caller", report_json_text(list[i].caller));
	set(o, "file", report_json_text(list[i].file));
	set(o, "line", list[i].line ? number(list[i].line) : json_null());
	set(o, "library", report_json_text(list[i].owner ? list[i].owner->name : NULL));
	return o;
}

/* Unknown values are null. */
static json_t *judged(struct query *q, const struct verdict *v)
{
	json_t *o = json_object();

	set(o, "word", report_json_text(v->word));
	set(o, "text", report_json_text(v->text));
	set(o, "per_minute", v->rated ? json_integer(v->per_minute) : json_null());
	set(o, "over_s", v->rated ? seconds(v->over_ns) : json_null());
	set(o, "at_s", v->rated ? seconds(v->at_ns) : json_null());
	set(o, "needed_s", v->needed_ns ? seconds(v->needed_ns) : json_null());
	set(o, "share_percent",
	    v->share_percent < 0 ? json_null() : json_integer(v->share_percent));
	set(o, "site", named_site(q, v->site));
	return o;
}

json_t *report_json_verdict(const struct report *r, struct query *q)
{
	struct verdict v, growth;
	bool known;
	int status;
	uint32_t state = model_state(r->model, &status, &known);

	query_verdict(q, &v);
	query_growth(q, &growth);
	json_t *o = judged(q, &v);
	set(o, "state", json_string(report_state(state, known)));
	set(o, "growth", judged(q, &growth));
	return o;
}
