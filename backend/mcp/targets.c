/* SPDX-License-Identifier: MIT
 *
 * targets.c - see mcp/targets.h.
 *
 * A watch stays open between calls, so that a second question about a large program is cheap. One
 * that lost its process is opened again; where that fails, its last state answers.
 */
#include "mcp/targets.h"

#include "launch/launch.h"
#include "link/goto_instant.h"
#include "processes/all.h"
#include "owners/expected.h"

#include <stdlib.h>
#include <string.h>

#define OPEN_MAX 8u
#define PATIENCE_MS 20000u
#define TICK_NS 1000000000ull

struct opened {
	char word[TARGETS_WORD], process[64];
	struct watch *watch;
	uint64_t used; /* the call's number */
};

struct targets {
	struct loop *loop;
	struct targets_options options;
	struct opened opened[OPEN_MAX];
	uint64_t calls;
};

struct targets *targets_new(struct loop *loop, const struct targets_options *o)
{
	struct targets *t = xcalloc(1, sizeof *t);

	t->loop = loop;
	t->options = *o;
	return t;
}

void targets_free(struct targets *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < OPEN_MAX; i++)
		watch_close(t->opened[i].watch);
	free(t);
}

struct loop *targets_loop(const struct targets *t)
{
	return t->loop;
}

const char *targets_who(const struct targets *t)
{
	return t->options.who;
}

const struct symbol_options *targets_symbols(const struct targets *t)
{
	return &t->options.symbols;
}

bool targets_control(const struct targets *t)
{
	return t->options.control;
}

int targets_default(const struct targets *t, char *word, struct err *err)
{
	struct agent_process *list;

	if (t->options.target) {
		snprintf(word, TARGETS_WORD, "%s", t->options.target);
		return 0;
	}
	size_t n = launch_list(&list);
	if (n == 1)
		snprintf(word, TARGETS_WORD, "%d", (int)list->pid);
	free(list);
	if (n == 1)
		return 0;
	return err_set(
		err, 2,
		n ? "target: %zu processes have an agent; name one, list_processes lists them"
		  : "target: %zu processes have an agent; start a program with memtop run "
		    "PROG, or load the agent with memtop attach PID",
		n);
}

int targets_parse(const char *word, struct target *t, struct err *err)
{
	if (!strncmp(word, "-p", 2)) /* as the command line has it */
		word += 2 + strspn(word + 2, " ");
	if (*word && strspn(word, "0123456789") == strlen(word))
		return target_parse_pid(word, t, err);
	return target_parse(word, t, err);
}

/* A session file may have several processes. */
static int choose_process(struct targets *ts, const char *process, struct target *t,
			  struct err *err)
{
	if (t->kind != TARGET_FILE)
		return *process ? err_set(err, 2,
					  "process: %s: works only with a session file; give the "
					  "pid as target",
					  process)
				: 0;
	struct processes *p = processes_new(ts->loop, &(struct processes_options){ 0 }, err);
	if (!p)
		return -1;
	int rc = 0;
	if (processes_read(p, t->name))
		rc = processes_choose(p, *process ? process : NULL, t, err);
	else if (*process)
		rc = err_set(err, 2, "process: %s: this session has only one process", process);
	processes_free(p);
	return rc;
}

/* All processes of a session file as one, where they are asked for, or what it begins with. NULL:
 * they are not, or *failed. */
static struct watch *open_all(struct targets *ts, const struct target *t, const char *process,
			      const struct watch_options *o, bool *failed, struct err *err)
{
	bool named = !strcmp(process, "all"), file = t->kind == TARGET_FILE;
	struct processes *p =
		file && (named || !*process)
			? processes_new(ts->loop, &(struct processes_options){ 0 }, err)
			: NULL;
	struct watch *w = NULL;

	*failed = p && named && !processes_read(p, t->name);
	if (*failed)
		err_set(err, 2, "process: all: this session has only one process");
	else if (p && (named || (processes_read(p, t->name) && processes_begin_with_all(p))))
		*failed = !(w = all_take_watch(all_of_file(ts->loop, p, t, o, err)));
	if (p)
		processes_free(p);
	return w;
}

/* Of which nothing has come yet. */
static struct watch *begin_watch(struct targets *ts, const char *word, const char *process,
				 struct err *err)
{
	struct watch_options o = { .who = ts->options.who,
				   .tick_ns = TICK_NS,
				   .expected = ts->options.rules,
				   .symbols = ts->options.symbols };
	struct target t;

	if (targets_parse(word, &t, err))
		return NULL;
	bool failed;
	struct watch *all = open_all(ts, &t, process, &o, &failed, err);
	if (all || failed)
		return all;
	if (choose_process(ts, process, &t, err))
		return NULL;
	return watch_open(ts->loop, &t, &o, err);
}

static struct watch *open_watch(struct targets *ts, const char *word, const char *process,
				struct err *err)
{
	struct watch *w = begin_watch(ts, word, process, err);

	if (w && watch_wait_complete(w, PATIENCE_MS, err)) {
		watch_close(w);
		w = NULL;
	}
	return w;
}

static struct opened *place_of(struct targets *ts, const char *word, const char *process)
{
	struct opened *oldest = ts->opened;

	for (struct opened *o = ts->opened; o < ts->opened + OPEN_MAX; o++) {
		if (o->watch && !strcmp(o->word, word) && !strcmp(o->process, process))
			return o;
		if (o->used < oldest->used)
			oldest = o;
	}
	watch_close(oldest->watch);
	*oldest = (struct opened){ .watch = NULL };
	snprintf(oldest->word, sizeof oldest->word, "%s", word);
	snprintf(oldest->process, sizeof oldest->process, "%s", process);
	return oldest;
}

static bool current(const struct watch *w)
{
	if (watch_target(w)->kind == TARGET_MADE)
		return model_final(watch_now((struct watch *)w));
	return watch_target(w)->kind == TARGET_FILE ? !watch_being_written(w) : watch_live(w);
}

struct watch *targets_open(struct targets *ts, const char *word, const char *process,
			   struct err *err)
{
	struct opened *o = place_of(ts, word, process);
	o->used = ++ts->calls;
	if (o->watch && current(o->watch))
		return o->watch;
	struct watch *w = open_watch(ts, word, process, err);
	if (w) {
		watch_close(o->watch);
		o->watch = w;
	}
	return o->watch;
}

struct watch *targets_at(struct targets *ts, const char *word, const char *process,
			 const char *when, struct err *err)
{
	struct watch *w = open_watch(ts, word, process, err);

	if (w && goto_instant(w, when, err)) {
		watch_close(w);
		w = NULL;
	}
	return w;
}

struct watch *targets_ask(struct targets *ts, const char *word, bool *close, struct err *err)
{
	*close = false;
	for (struct opened *o = ts->opened; o < ts->opened + OPEN_MAX; o++)
		if (o->watch && !strcmp(o->word, word) && !*o->process && current(o->watch))
			return o->watch;
	struct watch *w = begin_watch(ts, word, "", err);
	*close = w;
	return w;
}
