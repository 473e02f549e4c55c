/* SPDX-License-Identifier: MIT */
#include "report/json/values.h"

#include "base/sanitize.h"

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
