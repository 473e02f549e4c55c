/* SPDX-License-Identifier: MIT */
#include "link/when.h"

#include <memtop/amount.h>
#include <stdio.h>

#define NS 1000000000ull
#define SECONDS_MAX 1000000000ull
#define SHOWN_NS 2000000ull /* a screen rounds to milliseconds, read_clock() reads their end */

/* 0:12:09, 12:09.250 */
static bool read_clock(const char *text, uint64_t *ns)
{
	uint64_t part, minutes = 0;
	const char *colon;
	char word[32];
	int n = 0;

	for (; (colon = strchr(text, ':')) != NULL; text = colon + 1, n++) {
		snprintf(word, sizeof word, "%.*s", (int)(colon - text), text);
		if (n == 2 || !mtw_amount(word, MTW_AMOUNT_COUNT, &part) || part > SECONDS_MAX)
			return false;
		minutes = minutes * 60 + part;
	}
	if (!n || !*text || text[strspn(text, "0123456789.")] || *text == '.' ||
	    !mtw_amount(text, MTW_AMOUNT_NS, &part) || part > SECONDS_MAX * NS ||
	    minutes > SECONDS_MAX / 60)
		return false;
	/* As a screen shows it: the instant lies within that millisecond. */
	*ns = minutes * 60 * NS + part + (strchr(text, '.') ? 999999 : 0);
	return true;
}

/* 90s, 1.5m, 2h; without a letter, seconds. */
static bool read_span(const char *text, uint64_t *ns)
{
	return mtw_amount(text, MTW_AMOUNT_NS, ns) && *ns <= SECONDS_MAX * NS;
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
		*time_ns = span > now_ns ? 0 : now_ns - span + (span == now_ns);
		return true;
	} else {
		if (!read_clock(text, time_ns) &&
		    !(strpbrk(text, "smhdSMHD") && read_span(text, time_ns)))
			return false;
		*time_ns += !*time_ns;
	}
	return true;
}

bool when_lies_in(uint64_t now_ns, const char *text, uint64_t time_ns, struct err *err)
{
	if (time_ns && time_ns < now_ns + SHOWN_NS)
		return true;
	if (!time_ns && !strcmp(text, "peak")) {
		err_set(err, 2, "peak: the program has not allocated anything up to here");
		return false;
	}
	err_set(err, 2,
		"%s: lies outside of the session, which ends after %.1f s; write " WHEN_WORDS, text,
		(double)now_ns / 1e9);
	return false;
}
