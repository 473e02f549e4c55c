/* SPDX-License-Identifier: MIT
 *
 * values.h - the values of a JSON report, for the files that build its objects. Main thread
 * only.
 */
#ifndef REPORT_JSON_VALUES_H
#define REPORT_JSON_VALUES_H

#include "model/model.h"

#include <jansson.h>
#include <math.h>

/* any bytes: invalid UTF-8 becomes \xNN; NULL becomes null */
json_t *report_json_text(const char *s);
json_t *report_json_build_id(const struct module *m); /* NULL becomes null */
/*
 * Writes a value with jansson's flags. Control codes (C1) and characters that hide or reorder their
 * neighbours are escaped: a terminal may show the text.
 */
void report_json_put(FILE *out, json_t *value_take, size_t flags);
/* The same as one line; the caller frees it. */
char *report_json_line(json_t *value_take);

static inline json_t *number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static inline json_t *seconds(uint64_t ns)
{
	return json_real((double)ns / 1e9);
}

static inline void set(json_t *object, const char *key, json_t *value_take)
{
	json_object_set_new(object, key, value_take);
}

static inline void set_live(json_t *object, const struct tally *t)
{
	set(object, "live_bytes", number(live_bytes(t)));
	set(object, "live_blocks", number(live_blocks(t)));
}

static inline void set_tally(json_t *object, const struct tally *t)
{
	set_live(object, t);
	set(object, "allocated_bytes", number(t->alloc_bytes));
	set(object, "allocated_blocks", number(t->alloc_blocks));
}

/* null: unknown. */
static inline json_t *percent(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

#endif
