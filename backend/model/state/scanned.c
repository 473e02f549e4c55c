/* SPDX-License-Identifier: MIT */
#include "model/state/state.h"

#include <stdlib.h>
#include <string.h>

static struct age_cell *copy_cells(const struct age_cell *c, size_t n)
{
	struct age_cell *to = xcalloc(n, sizeof *to);

	if (n)
		memcpy(to, c, n * sizeof *to);
	return to;
}

void scanned_ages_clear(struct scanned_ages *x)
{
	free(x->now.births);
	free(x->now.sizes);
	free(x->now.threads);
	x->now = (struct scan_ages){ 0 };
	x->known = false;
}

void scanned_ages_apply(struct scanned_ages *x, const struct event *e)
{
	const struct scan_ages *a = &e->u.ages;

	scanned_ages_clear(x);
	x->now = *a;
	x->now.births = copy_cells(a->births, a->birth_count);
	x->now.sizes = copy_cells(a->sizes, a->size_count);
	x->now.threads = copy_cells(a->threads, a->thread_count);
	x->known = true;
}
