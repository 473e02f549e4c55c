/* SPDX-License-Identifier: MIT */
#include "cli/compare/compare.h"

#include "base/loop.h"
#include "link/goto_instant.h"
#include "cli/base/verb.h"
#include "processes/processes.h"
#include "report/between.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Does the word name an instant of a target? */
static const char *instant_of(const char *word)
{
	const char *at = strrchr(word, '@');

	return !at || at == word || access(word, F_OK) == 0 ? NULL : at;
}

static char *word_at(const char *word, const char *when)
{
	return when && !instant_of(word) ? xasprintf("%s@%s", word, when) : xstrdup(word);
}

/* --since and --between: two instants of one target. */
static int read_interval(const struct args *a, struct comparison *c, struct err *err)
{
	const char *option = a->since ? "--since" : "--between";
	struct between b;

	if (a->since && a->between)
		return err_set(err, STATUS_USAGE, "--between: not with --since; give one of them");
	if (a->operand_count != 1 || instant_of(a->operands[0]))
		return err_set(err, STATUS_USAGE,
			       "%s: compares two instants of one session; name it, without an @",
			       option);
	if (a->between && a->at)
		return err_set(err, STATUS_USAGE,
			       "--at: not with --between, which has both ends; give "
			       "one of them");
	if (a->between && between_parse(a->between, &b, err))
		return -1;
	c->words[0] = word_at(a->operands[0], a->since ? a->since : b.from);
	c->words[1] = a->since ? word_at(a->operands[0], a->at)
		      : b.to   ? word_at(a->operands[0], b.to)
			       : xasprintf("%s@%s.end", a->operands[0], b.from);
	c->count = 2;
	c->count_a = 1;
	return 0;
}

static int read_sides(const struct args *a, struct comparison *c, const char *command,
		      struct err *err)
{
	size_t n = a->operand_count;

	/* those before "--", or the first of two */
	c->count_a = a->dashes ? a->dashes_at : 1;
	if (n > DIFF_SESSIONS_MAX)
		return err_set(err, STATUS_USAGE, "%zu sessions: too many; compare %u at most", n,
			       DIFF_SESSIONS_MAX);
	if (a->dashes && (!c->count_a || c->count_a == n))
		return err_set(err, STATUS_USAGE,
			       "--: a session is missing on one side of it; write memtop %s A1 "
			       "A2 -- B1 B2",
			       command);
	if (n < 2)
		return err_set(err, STATUS_USAGE,
			       "%s: two sessions are needed; write memtop %s A.mtop B.mtop, or "
			       "A.mtop@m1 A.mtop@m2",
			       command, command);
	if (!a->dashes && n > 2)
		return err_set(err, STATUS_USAGE,
			       "%s: more than two sessions; write -- between A's and B's",
			       a->operands[2]);
	for (; c->count < n; c->count++)
		c->words[c->count] = word_at(a->operands[c->count], a->at);
	return 0;
}

int compare_words(struct comparison *c, const struct args *a, const char *command, struct err *err)
{
	*c = (struct comparison){ .count = 0 };
	return a->since || a->between ? read_interval(a, c, err) : read_sides(a, c, command, err);
}

/* "run.mtop@m2" is an instant of run.mtop, unless there is a file of that name. */
static int read_operand(const char *word, struct target *t, char *when, size_t size,
			struct err *err)
{
	const char *at = instant_of(word);

	*when = '\0';
	if (!at)
		return target_parse(word, t, err);
	if (!at[1] || strlen(at + 1) >= size)
		return err_set(err, STATUS_USAGE,
			       "%s: no instant follows the @; write FILE@MARK or FILE@0:12:09",
			       word);
	snprintf(when, size, "%s", at + 1);
	char *target = xstrndup(word, (size_t)(at - word));
	int rc = target_parse(target, t, err);
	free(target);
	return rc;
}

static struct side *side_of(struct watch *w, const char *word, const char *when,
			    struct string_pool *pool, struct err *err)
{
	if (watch_problem(w))
		warn("%s", watch_problem(w)); /* cut: what was saved is compared all the same */
	if (*when && goto_instant(w, when, err))
		return NULL;
	return side_new(w, &(struct side_options){ .label = word }, pool);
}

static struct side *read_side(const struct args *a, const char *word, struct string_pool *pool,
			      struct err *err)
{
	struct target t;
	char when[256];
	struct side *s = NULL;

	if (read_operand(word, &t, when, sizeof when, err))
		return NULL;
	struct loop *loop = cmd_loop();
	struct source of = { 0 };
	struct args args = *a;
	args.at = *when ? when : NULL;
	if (!cmd_open_source(loop, &of, &t, &args, err))
		s = side_of(of.watch, word, when, pool, err);
	cmd_close_source(&of);
	loop_free(loop);
	return s;
}

int compare_begin(struct comparison *c, const struct args *a, enum diff_value value,
		  struct err *err)
{
	size_t read = 0;

	while (read < c->count && (c->sides[read] = read_side(a, c->words[read], &c->pool, err)))
		read++;
	if (read < c->count)
		return -1;
	c->diff = diff_new((const struct side *const *)c->sides, c->count_a, c->count, value);
	return 0;
}

void compare_end(struct comparison *c)
{
	diff_free(c->diff);
	for (size_t i = 0; i < c->count; i++) {
		side_free(c->sides[i]);
		free(c->words[i]);
	}
	string_pool_release(&c->pool);
}
