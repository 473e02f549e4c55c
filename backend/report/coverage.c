/* SPDX-License-Identifier: MIT
 *
 * coverage.c - an attached agent's coverage of modules and of the time before it, for views and
 * reports.
 */
#include "report/coverage.h"
#include "model/model.h"

bool coverage_late(const struct model *m)
{
	return model_option(m, "attached") != NULL;
}

void coverage_before(const struct model *m, uint64_t *frees, uint64_t *bytes)
{
	*frees = *bytes = 0;
	if (coverage_late(m))
		model_loss(m, MTW_LOSS_UNKNOWN_FREE, frees, bytes);
}

const char *coverage_word(uint32_t flags)
{
	switch (flags & MTW_MODULE_HOOKS) {
	case MTW_MODULE_HOOKED: return "hooked";
	case MTW_MODULE_CALLS_NONE: return "calls no allocator";
	case MTW_MODULE_OWN: return "own allocator";
	case MTW_MODULE_ELSEWHERE: return "another allocator";
	case MTW_MODULE_SPARED: return "left alone";
	case MTW_MODULE_UNMATCHED: return "not matched";
	case MTW_MODULE_APART: return "a namespace of its own (dlmopen)";
	default: return NULL;
	}
}

bool coverage_lacks(uint32_t flags)
{
	/* Not a namespace's own libc: only the modules that call it are reported. */
	return (flags & (MTW_MODULE_OWN | MTW_MODULE_ELSEWHERE)) != 0 ||
	       (flags & MTW_MODULE_APART && !(flags & (MTW_MODULE_LIBC | MTW_MODULE_CXX)));
}

struct coverage_sums coverage_sums(const struct model *m)
{
	struct coverage_sums sums = { 0, 0, 0, 0 };

	for (uint32_t id = 0; id < model_module_count(m); id++) {
		const struct module *k = model_module(m, id);
		if (!k || !k->known || k->flags & MTW_MODULE_GONE)
			continue;
		sums.hooked += (k->flags & MTW_MODULE_HOOKED) != 0;
		sums.calls_none += (k->flags & MTW_MODULE_CALLS_NONE) != 0;
		sums.unmatched += (k->flags & MTW_MODULE_UNMATCHED) != 0;
		sums.not_hooked += coverage_lacks(k->flags);
	}
	return sums;
}
