/* SPDX-License-Identifier: MIT */
#include "modules/hook_list.h"
#include "modules/object.h"

struct hook_list mt_hooks;

bool mt_hooks_have(const void *hook)
{
	for (size_t i = 0; i < mt_hooks.count; i++)
		if (mt_hooks.hook[i].hook == hook)
			return true;
	return false;
}

void mt_hooks_calls(const struct object *o, bool hooked)
{
	mt_rebind_calls(o, mt_hooks.hook, mt_hooks.count, !hooked);
}
