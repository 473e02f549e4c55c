/* SPDX-License-Identifier: MIT */
#include "link/when.h"

#include <stdlib.h>
#include <string.h>

#define NS 1000000000ull
#define SECONDS_MAX 1e9

/* 0:12:09, 12:09.250 */
static bool read_clock(const char *text, uint64_t *ns)
{
	unsigned long part[3] = { 0 };
	char *end = (char *)text;
	int n = 0;

	for (;; end++) {
		if (*end < '0' || *end > '9' || n == 3)
			return false;
		part[n++] = strtoul(end, &end, 10);
		if (*end != ':')
			break;
	}
	bool ms = *end == '.';
	double below = ms ? strtod(end, &end) : 0;
	if (*end || n < 2 || part[0] > SECONDS_MAX || part[1] > SECONDS_MAX ||
	    part[2] > SECONDS_MAX)
		return false;
	/* As a screen shows it: the instant lies within that millisecond. */
	*ns = (uint64_t)(below * 1e9 + 0.5) + (ms ? 999999 : 0);
	*ns += ((n == 3 ? part[0] * 3600 + part[1] * 60 : part[0] * 60) + part[n - 1]) * NS;
	return true;
}

/* 90s, 1.5m, 2h; without a letter, seconds. */
static bool read_span(const char *text, uint64_t *ns)
{
	static const uint64_t worth[] = { 1, 60, 3600 };
	char *end;
	double n = strtod(text, &end);
	const char *letter = *end ? strchr("smh", *end) : "s";

	if ((*text != '.' && (*text < '0' || *text > '9')) || end == text || !(n <= SECONDS_MAX) ||
	    !letter || (*end && end[1]))
		return false;
	*ns = (uint64_t)(n *
			 (double)worth[*letter == 's'   ? 0
				       : *letter == 'm' ? 1
							: 2] *
			 (double)NS);
	return true;
}

bool when_read(const struct model *m, uint64_t now_ns, const char *text, uint64_t *time_ns)
{
	int mark = model_mark_find(m, text);
	uint64_t span;

	if (mark > 0) {
		*time_ns = model_mark(m, (uint32_t)mark)->time_ns;
	} else if (!strcmp(text, "now") || !strcmp(text, "end")) {
		*time_ns = now_ns;
	} else if (!strcmp(text, "start")) {
		*time_ns = 1;
	} else if (!strcmp(text, "peak")) {
		*time_ns = model_peak(m) ? model_peak(m)->time_ns : model_totals(m)->peak_time_ns;
	} else if (*text == '-') {
		if (!read_span(text + 1, &span) || !span)
			return false;
		*time_ns = span < now_ns ? now_ns - span : 1;
	} else {
		return read_clock(text, time_ns) ||
		       (strpbrk(text, "smh") && read_span(text, time_ns));
	}
	return true;
}
