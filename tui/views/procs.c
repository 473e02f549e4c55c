/* SPDX-License-Identifier: MIT */
#include "views/procs.h"

#include "model/columns.h"
#include "screen/term.h"

#include <stdlib.h>

static bool lacking; /* a row was drawn that nobody counted */

bool procs_known(const struct ui *ui)
{
	return ui_of_all(ui) && !ui->shown.figures.past;
}

void procs_add(struct procs_parts *to, size_t row, uint32_t first, uint32_t end)
{
	struct process_part *last = to->count ? &to->list[to->count - 1] : NULL;

	if (last && last->row == row && last->end == first) {
		last->end = end;
		return;
	}
	GROW(to->list, to->room, to->count + 1);
	to->list[to->count++] = (struct process_part){ (uint32_t)row, first, end };
}

static int by_row(const void *a, const void *b)
{
	const struct process_part *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* Includes a screen of rows above and below, so that moving there needs no new count. */
void procs_take(struct procs *p, struct view *v, const struct list *l, procs_rows_fn *fn)
{
	size_t height = l->height > 0 ? (size_t)l->height : (size_t)term_rows();
	size_t end = l->top + 2 * height;
	struct heap *h = model_heap(v->ui->shown.model);
	struct procs_parts parts = { .skeleton = h->skeleton };

	p->first = l->top > height ? l->top - height : 0;
	end = end < l->count ? end : l->count;
	p->count = procs_known(v->ui) && end > p->first ? end - p->first : 0;
	if (!p->count)
		return;
	GROW(p->ids, p->room, p->count);
	GROW(p->of, p->of_room, p->count);
	for (size_t i = 0; i < p->count; i++)
		p->ids[i] = view_table(v)->id(v, p->first + i);
	fn(v, p->first, end, &parts);
	if (parts.count)
		qsort(parts.list, parts.count, sizeof *parts.list, by_row);
	processes_holders(v->ui->processes, h->skeleton, parts.list, parts.count, p->of, p->count);
	free(parts.list);
}

size_t procs_at(const struct procs *p, size_t row, uint64_t id)
{
	if (row >= p->first && row - p->first < p->count && p->ids[row - p->first] == id)
		return p->of[row - p->first];
	lacking = true;
	return SIZE_MAX;
}

bool procs_lack(void)
{
	bool lack = lacking;

	lacking = false;
	return lack;
}

void procs_release(struct procs *p)
{
	free(p->ids);
	free(p->of);
}
