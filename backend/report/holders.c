/* SPDX-License-Identifier: MIT */
#include "report/holders.h"

#include "heap/sites.h"

#include <stdlib.h>

void holders_init(struct holders *h, const struct report *r, const struct all *all)
{
	/* of a past instant it is not known */
	if (all && r->model != watch_now(all_watch(all)))
		all = NULL;
	*h = (struct holders){ .all = all, .report = r };
	if (!all)
		return;
	h->sites = heap_sites_new(r->heap->skeleton, r->names);
	h->ids = xmalloc((r->heap->skeleton->stacks + 1ul) * sizeof *h->ids);
}

void holders_release(struct holders *h)
{
	if (!h->all)
		return;
	heap_sites_drop(h->sites);
	free(h->ids);
}

static uint32_t id_of(const struct report *r, uint32_t stack)
{
	return r->heap->skeleton->id[report_node(r, stack)];
}

size_t holders_of_stack(const struct holders *h, uint32_t stack)
{
	uint32_t id = id_of(h->report, stack);

	return all_holders(h->all, &id, 1);
}

size_t holders_of_site(const struct holders *h, uint32_t leaf)
{
	const struct report *r = h->report;
	uint32_t site = NO_ID;
	size_t n = 0;

	for (uint32_t k = 0; k < r->heap->skeleton->stacks && site == NO_ID; k++)
		if (id_of(r, k) == leaf)
			site = h->sites->of_stack[k];
	for (uint32_t k = 0; k < r->heap->skeleton->stacks; k++)
		if (h->sites->of_stack[k] == site)
			h->ids[n++] = id_of(r, k);
	return all_holders(h->all, h->ids, n);
}

size_t holders_of_owner(const struct holders *h, const struct owner *o)
{
	const struct report *r = h->report;
	size_t n = 0;

	for (uint32_t k = 0; k < r->heap->skeleton->stacks; k++)
		if (report_owner(r, k)->module == o->module)
			h->ids[n++] = id_of(r, k);
	return all_holders(h->all, h->ids, n);
}
