/* SPDX-License-Identifier: MIT */
#include "model/state/state.h"

#include <stdlib.h>
#include <string.h>

int options_apply(struct options *x, const struct event *e, struct err *err)
{
	char *name = text_own(e->u.option.name);
	size_t i = 0;

	while (i < x->count && strcmp(x->list[i].name, name))
		i++;
	if (i == OPTIONS_MAX) {
		free(name);
		return err_set(err, 3, "stream: more than %u options; connect again", OPTIONS_MAX);
	}
	if (i == x->count) {
		x->list[x->count++] = (struct option){ name, NULL, NULL };
	} else {
		free(name);
		free(x->list[i].value);
	}
	x->list[i].value = text_own(e->u.option.value);
	free(x->list[i].who);
	x->list[i].who = text_own(e->u.option.who);
	return 0;
}

const char *options_value(const struct options *x, const char *name)
{
	for (size_t i = 0; i < x->count; i++)
		if (!strcmp(x->list[i].name, name))
			return x->list[i].value;
	return NULL;
}

void options_clear(struct options *x)
{
	for (size_t i = 0; i < x->count; i++) {
		free(x->list[i].name);
		free(x->list[i].value);
		free(x->list[i].who);
	}
	x->count = 0;
}
