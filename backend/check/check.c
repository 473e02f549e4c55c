/* SPDX-License-Identifier: MIT
 *
 * check.c - what a check found, and its parts' life.
 */
#include "check/judging.h"

#include "base/format.h"
#include "owners/expected.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct check *check_new(const struct check_options *o)
{
	struct check *c = xcalloc(1, sizeof *c);

	c->options = *o;
	c->named = xcalloc(o->limit_count + 1, sizeof *c->named);
	c->used_own = xcalloc(EXPECTED_MAX, sizeof *c->used_own);
	c->used = xcalloc(SUPPRESSIONS_MAX, sizeof *c->used);
	return c;
}

static void release_stack(struct check_stack *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->frames[i].function);
		free(s->frames[i].module);
		free(s->frames[i].file);
	}
	free(s->frames);
	free(s->owner);
}

static void release_verdict(struct check_verdict *v)
{
	for (size_t i = 0; i < v->stack_count; i++)
		release_stack(&v->stacks[i]);
	free(v->stacks);
	free(v->name);
	free(v->where);
	free(v->why);
	free(v->window);
}

void heap_sums_release(struct heap_sums *h)
{
	side_free(h->side);
	free(h->name);
}

void check_free(struct check *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++)
		release_verdict(&c->verdicts[i]);
	for (size_t i = 0; i < c->process_count; i++) {
		free(c->processes[i].name);
		free(c->processes[i].state);
	}
	for (size_t i = 0; i < c->suppressed_count; i++)
		free(c->suppressed[i].name);
	for (size_t i = 0; i < c->note_count; i++)
		free(c->notes[i]);
	for (size_t i = 0; i < c->baseline_count; i++)
		heap_sums_release(&c->baseline[i]);
	string_pool_release(&c->pool);
	free(c->named);
	free(c->used_own);
	free(c->used);
	free(c->verdicts);
	free(c->processes);
	free(c->suppressed);
	free(c->notes);
	free(c->baseline);
	free(c);
}

void check_begin_baseline(struct check *c)
{
	c->baseline_sessions++;
}

struct check_verdict *check_add(struct check *c, size_t process, enum check_kind kind)
{
	GROW(c->verdicts, c->room, c->count + 1);
	c->verdicts[c->count] = (struct check_verdict){ .kind = kind, .process = process };
	return &c->verdicts[c->count++];
}

size_t check_add_process(struct check *c, const char *name, int pid, const char *state)
{
	GROW(c->processes, c->process_room, c->process_count + 1);
	c->processes[c->process_count] =
		(struct check_process){ xstrdup(name), pid, xstrdup(state), false, false };
	return c->process_count++;
}

void check_note(struct check *c, const char *text)
{
	for (size_t i = 0; i < c->note_count; i++)
		if (!strcmp(c->notes[i], text))
			return;
	GROW(c->notes, c->note_room, c->note_count + 1);
	c->notes[c->note_count++] = xstrdup(text);
}

void check_error(struct check *c, size_t process, enum check_kind kind, const char *name,
		 const char *why)
{
	struct check_verdict *v = check_add(c, process, kind);

	v->failed = v->error = true;
	v->name = xstrdup(name);
	v->where = xstrdup("");
	v->why = xstrdup(why);
}

void check_not_whole(struct check *c, size_t process, const char *why)
{
	if (c->options.allow_incomplete)
		check_note(c, why);
	else
		check_error(c, process, CHECK_WHOLE, limit_option(CHECK_WHOLE), why);
}

void check_runs_on(struct check *c, size_t process, bool first)
{
	const struct check_process *p = &c->processes[process];

	if (first || !c->options.first_only) {
		check_not_whole(
			c, process,
			"--max-leaked: the program has not ended, so nothing is alive at its "
			"exit.");
		return;
	}
	char *text =
		xasprintf("%s [%d] ran on: --max-leaked was not held against it.", p->name, p->pid);
	check_note(c, text);
	free(text);
}

/*
 * Whoever started a process ends it by these, and knows it: `yes | head`, or a server that a test
 * stops. The first process' starter is memtop, which sends none.
 */
static bool asks_to_end(int signal)
{
	return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGPIPE;
}

void check_signalled(struct check *c, size_t process, int signal, bool known, bool first)
{
	char name[FORMAT_SIGNAL];

	if (c->options.allow_crash || (!first && known && asks_to_end(signal)))
		return;
	char *why = xasprintf("%s ended it, so what it would have kept is not known; --allow-crash "
			      "accepts such an end",
			      known ? format_signal(signal, name) : "a signal");
	check_error(c, process, CHECK_CRASH, limit_option(CHECK_CRASH), why);
	free(why);
}

void check_vague(struct check *c, struct check_verdict *v, char *why_take)
{
	v->failed = v->error = !c->options.allow_incomplete;
	v->why = why_take;
}

void check_incomplete(struct check *c, const char *why)
{
	if (!c->process_count)
		check_add_process(c, "session", 0, "");
	check_not_whole(c, 0, why);
}

bool check_compare(struct check_verdict *v, int64_t found, uint64_t most)
{
	v->judged = true;
	v->found = found;
	v->most = most;
	v->failed = found > 0 && (uint64_t)found > most;
	return !v->failed;
}

size_t check_errors(const struct check *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		n += c->verdicts[i].error;
	return n;
}

size_t check_findings(const struct check *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		n += c->verdicts[i].failed;
	return n;
}

uint64_t check_own(uint64_t amount, uint64_t inherited)
{
	return amount > inherited ? amount - inherited : 0;
}
