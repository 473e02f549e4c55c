/* SPDX-License-Identifier: MIT */

#include "model/state/state.h"

#include <stdlib.h>
#include <string.h>

int modules_apply(struct modules *x, const struct event *e, const char *main, struct err *err)
{
	uint32_t id = e->u.module.id;

	if (id >= MTW_MODULES_MAX)
		return err_set(err, 3, "stream: module %u is out of range; connect again", id);
	GROW(x->list, x->room, (size_t)id + 1);
	if (id >= x->count)
		x->count = (size_t)id + 1;
	struct module *k = &x->list[id];
	x->changes += !k->known || k->flags != e->u.module.flags;
	/* Names are kept by others until the module's path changes, so it is replaced only then. */
	if (!k->path || strlen(k->path) != e->u.module.path.len ||
	    memcmp(k->path, e->u.module.path.s, e->u.module.path.len)) {
		x->changes++;
		free(k->path);
		free(k->name);
		k->path = text_own(e->u.module.path);
		bool is_main = e->u.module.flags & MTW_MODULE_MAIN && main && *main;
		k->name = xstrdup(is_main ? main : program_last_part(k->path));
	}
	k->known = true;
	k->flags = e->u.module.flags;
	k->bias = e->u.module.bias;
	k->start = e->u.module.start;
	k->end = e->u.module.end;
	k->loaded_ns = e->u.module.loaded_ns;
	k->unloaded_ns = e->u.module.unloaded_ns;
	k->build_id_len = (uint32_t)e->u.module.build_id.len;
	memcpy(k->build_id, e->u.module.build_id.s, e->u.module.build_id.len);
	return 0;
}

bool modules_know(const struct modules *x, uint32_t id)
{
	return id < x->count && x->list[id].known;
}

void modules_clear(struct modules *x)
{
	for (size_t i = 0; i < x->count; i++) {
		free(x->list[i].path);
		free(x->list[i].name);
	}
	x->count = 0;
	x->changes++;
	if (x->room)
		memset(x->list, 0, x->room * sizeof *x->list);
}
