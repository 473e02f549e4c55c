/* SPDX-License-Identifier: MIT */
#include "report/json/values.h"

#include "base/sanitize.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

json_t *report_json_text(const char *s)
{
	if (!s)
		return json_null();
	json_t *whole = json_string(s);
	if (whole)
		return whole;
	char *escaped = xmalloc(strlen(s) * 4 + 1), *at = escaped;

	while (*s) {
		int32_t cp;
		size_t n = sanitize_decode(s, &cp);

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

json_t *report_json_build_id(const struct module *m)
{
	char hex[2 * MTW_BUILD_ID_MAX + 1];

	if (!m || !m->build_id_len)
		return json_null();
	for (uint32_t i = 0; i < m->build_id_len; i++)
		sprintf(hex + 2 * i, "%02x", m->build_id[i]);
	return json_string(hex);
}

static void put_escaped(FILE *out, uint32_t unit)
{
	fprintf(out, "\\u%04" PRIX32, unit);
}

/* Outside of strings JSON is ASCII, so an escape is right wherever such a character stands. */
static int put(const char *text, size_t size, void *out)
{
	const char *end = text + size, *from = text;

	while (text < end) {
		int32_t shown, cp;

		if (*text > 0 && *text < 0x7f) {
			text++;
			continue;
		}
		size_t len = sanitize_decode(text, &cp);
		sanitize_char(text, &shown);
		if (shown < 0 && cp >= 0) {
			fwrite(from, 1, (size_t)(text - from), out);
			if (cp > 0xffff) {
				put_escaped(out, 0xd800 + ((uint32_t)cp - 0x10000) / 0x400);
				cp = 0xdc00 + (cp - 0x10000) % 0x400;
			}
			put_escaped(out, (uint32_t)cp);
			from = text + len;
		}
		text += len;
	}
	fwrite(from, 1, (size_t)(end - from), out);
	return 0;
}

void report_json_put(FILE *out, json_t *value_take, size_t flags)
{
	if (!value_take || json_dump_callback(value_take, put, out, flags | JSON_ENCODE_ANY))
		base_out_of_memory();
	json_decref(value_take);
}

char *report_json_line(json_t *value_take)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		base_out_of_memory();
	report_json_put(out, value_take, JSON_COMPACT);
	if (fclose(out))
		base_out_of_memory();
	return text;
}
