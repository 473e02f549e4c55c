/* SPDX-License-Identifier: MIT */
#include "process/every.h"

#include "screen/text.h"

void every_words(const struct every *e, char *out, size_t size)
{
	uint64_t now = now_ns();
	char one[32], two[32];

	*out = 0;
	if (e->ns)
		snprintf(out, size, "every %s, next in %s", text_span(one, e->ns),
			 text_span(two, e->next_ns > now ? e->next_ns - now : 0));
	else if (e->bytes)
		snprintf(out, size, "every +%s, next at %s", text_bytes(one, e->bytes),
			 text_bytes(two, e->live + e->bytes));
}
