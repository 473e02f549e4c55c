/* SPDX-License-Identifier: MIT
 *
 * totals.c - processes of a tree that left no stacks: small short ones have their totals alone, and
 * some could not be followed at all.
 */
#include "check/judging.h"

#include <stdlib.h>

static const char *state_text(const struct process *p, char *buf, size_t size)
{
	char name[FORMAT_SIGNAL];

	if (p->state == PROCESS_EXITED && p->status_known)
		snprintf(buf, size, "exited with status %d", p->status);
	else if (p->state == PROCESS_SIGNALLED && p->status_known)
		snprintf(buf, size, "ended by %s", format_signal(p->status, name));
	else
		snprintf(buf, size, "%s",
			 p->state == PROCESS_EXECED       ? "replaced by another program"
			 : p->state == PROCESS_UNFOLLOWED ? "not followed"
			 : p->state == PROCESS_RUNNING    ? "running"
							  : "ended");
	return buf;
}

static uint64_t figure(const struct process *p, enum check_kind kind)
{
	uint64_t ns = check_own(p->end_ns, p->begin_ns);
	double s = ns > 1000000000u ? (double)ns / 1e9 : 1;

	switch (kind) {
	case CHECK_PEAK: return p->peak_bytes;
	case CHECK_BLOCKS: return p->live_blocks;
	case CHECK_RATE: return (uint64_t)((double)process_allocated(p) / s);
	default: return check_own(p->live_bytes, process_inherited(p));
	}
}

/* Blocks that a fork inherited are not told apart in its totals. */
static bool applies(const struct process *p, const struct limit *l)
{
	if (l->kind == CHECK_GROWTH || (limit_counts_blocks(l->kind) && p->inherited_bytes))
		return false;
	return p->state != PROCESS_EXECED || limit_outlives_exec(l->kind);
}

static void judge(struct check *c, size_t process, const struct process *p, const struct limit *l)
{
	struct check_verdict *v = check_add(c, process, l->kind);

	v->name = xasprintf("--%s %s", limit_option(l->kind), l->text);
	v->where = xstrdup("");
	v->blocks = (int64_t)p->live_blocks;
	if (!check_compare(v, (int64_t)figure(p, l->kind), l->most))
		v->why = xstrdup("only its totals were recorded: no stacks, no suppressions");
}

static void judge_limit(struct check *c, size_t process, const struct process *p,
			const struct limit *l)
{
	if (l->covers != COVERS_ALL)
		check_note(c,
			   "Some processes have only totals: limits of libraries and functions do "
			   "not cover them.");
	else if (l->kind == CHECK_LEAKED && p->state == PROCESS_RUNNING)
		check_runs_on(c, process, !p->parent);
	else if (applies(p, l))
		judge(c, process, p, l);
}

void check_judge_totals(struct check *c, const struct process *p)
{
	char state[64];
	size_t process = check_add_process(c, p->name, p->pid, state_text(p, state, sizeof state));

	if (p->state == PROCESS_UNFOLLOWED && !p->parent) {
		check_note(c, "The program that was started is static: only what it executed is "
			      "judged.");
		return;
	}
	if (p->state == PROCESS_UNFOLLOWED || p->state == PROCESS_STARTING) {
		check_not_whole(c, process,
				p->why ? p->why : "It was not followed: nothing of it is known.");
		return;
	}
	if (p->state == PROCESS_SIGNALLED)
		check_signalled(c, process, p->status, p->status_known, !p->parent);
	if (p->state == PROCESS_GONE)
		check_not_whole(c, process, "Its end was not seen: the figures are its last ones.");
	for (size_t i = 0; i < c->options.limit_count; i++)
		if (!c->options.limits[i].tree)
			judge_limit(c, process, p, &c->options.limits[i]);
	if (c->baseline_count && p->state != PROCESS_EXECED)
		baseline_judge_totals(c, process, p);
}

void check_judge_all_totals(struct check *c, const struct process *p, size_t processes)
{
	char state[64];

	snprintf(state, sizeof state, "%zu processes", processes);
	size_t process = check_add_process(c, "All", 0, state);
	c->processes[process].all = true;
	for (size_t i = 0; i < c->options.limit_count; i++) {
		const struct limit *l = &c->options.limits[i];
		if (l->tree && l->kind == CHECK_PEAK)
			check_error(c, process, l->kind, "--max-peak",
				    "no process has a session, so the peak of all is not known");
		else if (l->tree)
			judge_limit(c, process, p, l);
	}
}

void check_learn_totals(struct check *c, const struct process *p)
{
	if (p->state != PROCESS_UNFOLLOWED && p->state != PROCESS_EXECED)
		baseline_learn_totals(c, p);
}
