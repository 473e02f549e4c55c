/* SPDX-License-Identifier: MIT */
#include "model/state/state.h"

#include <memtop/wire.h>
#include <stdlib.h>
#include <string.h>

static void remove_at(struct notices *x, size_t i)
{
	free(x->list[i]);
	x->count--;
	memmove(&x->list[i], &x->list[i + 1], (x->count - i) * sizeof *x->list);
}

const char *notices_take(struct notices *x, const struct event *e)
{
	char *text = text_own(e->u.notice);

	for (size_t i = 0; i < x->count; i++)
		if (!strcmp(x->list[i], text))
			remove_at(x, i);
	if (x->count == NOTICES_MAX)
		remove_at(x, 0);
	return x->list[x->count++] = text;
}

int notices_write(const struct notices *x,
		  int (*fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len),
		  void *arg)
{
	uint8_t payload[MTW_STRING_MAX + 16];
	int rc = 0;

	for (size_t i = 0; i < x->count && !rc; i++) {
		struct mtw_out o = { payload, payload + sizeof payload, false };
		mtw_put_string(&o, x->list[i]);
		rc = fn(arg, MTW_NOTICE, payload, (size_t)(o.at - payload));
	}
	return rc;
}

void notices_clear(struct notices *x)
{
	while (x->count)
		free(x->list[--x->count]);
}
