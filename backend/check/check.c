/* SPDX-License-Identifier: MIT
 *
 * check.c - what a check found, and its parts' life.
 */
#include "check/internal.h"

#include <stdlib.h>
#include <string.h>

struct check *check_new(const struct check_options *o)
{
	struct check *c = xcalloc(1, sizeof *c);

	c->options = *o;
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
		(struct check_process){ xstrdup(name), pid, xstrdup(state), false };
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

void check_whole(struct check *c, size_t process, const char *why)
{
	if (c->options.allow_incomplete) {
		check_note(c, why);
		return;
	}
	struct check_verdict *v = check_add(c, process, CHECK_WHOLE);
	v->failed = true;
	v->name = xstrdup("whole");
	v->where = xstrdup("");
	v->why = xstrdup(why);
}

void check_incomplete(struct check *c, const char *why)
{
	if (!c->process_count)
		check_add_process(c, "session", 0, "");
	check_whole(c, 0, why);
}

bool check_compare(struct check_verdict *v, int64_t found, uint64_t most)
{
	v->judged = true;
	v->found = found;
	v->most = most;
	v->failed = found > 0 && (uint64_t)found > most;
	return !v->failed;
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
