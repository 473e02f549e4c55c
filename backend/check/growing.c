/* SPDX-License-Identifier: MIT
 *
 * growing.c - --no-growing: the gate is the verdict on growth, in the words of a report and of the
 * live view. A process too short for a verdict is not judged.
 */
#include "check/judging.h"

#include <stdlib.h>

static uint32_t stack_of_leaf(const struct report *r, uint32_t leaf)
{
	const struct skeleton *s = r->heap->skeleton;

	return skeleton_first(s, skeleton_find(s, leaf));
}

/* The heaviest stack of the call site that grew most. */
static void copy_growing(struct judging *j, struct query *q, uint32_t site, struct check_verdict *v)
{
	const struct site *list;
	size_t n = site ? query_sites(q, BY_LIVE, false, false, &list) : 0, i = 0;

	while (i < n && list[i].id != site)
		i++;
	if (i == n)
		return;
	uint32_t stack = stack_of_leaf(j->report, list[i].leaf);
	struct tally held = heap_of_stack(j->report->heap, stack);
	v->stacks = xcalloc(1, sizeof *v->stacks);
	v->stack_count = 1;
	judging_copy(j, stack, v->stacks);
	v->stacks->bytes = (int64_t)live_bytes(&held);
	v->stacks->blocks = (int64_t)live_blocks(&held);
}

void growing_judge(struct judging *j)
{
	struct query *q = query_new(j->model, watch_symbols(j->watch), j->report->owners);
	struct verdict growth;

	query_expect(q, watch_expected(j->watch));
	if (query_growth(q, &growth)) {
		struct check_verdict *v = check_add(j->check, j->process, CHECK_GROWING);

		v->name = xasprintf("--%s", limit_option(CHECK_GROWING));
		v->where = xstrdup("");
		v->failed = growth.kind == V_GROWING;
		v->why = xstrdup(growth.text);
		if (v->failed)
			copy_growing(j, q, growth.site, v);
		j->check->growth_judged = true;
	}
	query_free(q);
}

/* Such a gate would hold whatever the program does. */
void growing_end(struct check *c)
{
	static const char why[] = "no process ran long enough for a verdict on growth, which takes "
				  "20 s";

	if (!c->options.no_growing || c->growth_judged)
		return;
	if (!c->process_count)
		check_add_process(c, "session", 0, "");
	if (c->options.allow_incomplete)
		check_note(c, why);
	else
		check_error(c, 0, CHECK_GROWING, "--no-growing", why);
}
