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
	h->parts = xmalloc((r->heap->skeleton->stacks + 1ul) * sizeof *h->parts);
}

void holders_release(struct holders *h)
{
	if (!h->all)
		return;
	heap_sites_drop(h->sites);
	free(h->parts);
}

static void add(const struct holders *h, size_t *n, uint32_t stack)
{
	h->parts[(*n)++] = (struct process_part){ 0, stack, stack + 1 };
}

static size_t count(const struct holders *h, size_t n)
{
	size_t holders = 0;

	all_holders(h->all, h->report->heap->skeleton, h->parts, n, &holders, 1);
	return holders;
}

size_t holders_of_stack(const struct holders *h, uint32_t stack)
{
	size_t n = 0;

	add(h, &n, stack);
	return count(h, n);
}

size_t holders_of_site(const struct holders *h, uint32_t leaf)
{
	const struct report *r = h->report;
	uint32_t site = NO_ID;
	size_t n = 0;

	for (uint32_t k = 0; k < r->heap->skeleton->stacks && site == NO_ID; k++)
		if (r->heap->skeleton->id[report_node(r, k)] == leaf)
			site = h->sites->of_stack[k];
	for (uint32_t k = 0; k < r->heap->skeleton->stacks; k++)
		if (h->sites->of_stack[k] == site)
			add(h, &n, k);
	return count(h, n);
}

size_t holders_of_owner(const struct holders *h, const struct owner *o)
{
	const struct report *r = h->report;
	size_t n = 0;

	for (uint32_t k = 0; k < r->heap->skeleton->stacks; k++)
		if (report_owner(r, k)->module == o->module)
			add(h, &n, k);
	return count(h, n);
}
