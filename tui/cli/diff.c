/* SPDX-License-Identifier: MIT
 *
 * diff.c - `memtop diff`: what changed between sessions, or between two instants of one.
 */
#include "cli/output.h"
#include "cli/verb.h"

#include "base/loop.h"
#include "diff/diff.h"
#include "link/go.h"
#include "processes/processes.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct diff_format {
	const char *name, *ending;
	int (*write)(const struct diff *d, FILE *out, struct err *err);
} formats[] = {
	{ "text", ".txt", diff_write_text },
	{ "json", ".json", diff_write_json },
	{ "folded", ".folded", diff_write_folded },
};
#define FORMAT_COUNT (sizeof formats / sizeof *formats)
#define FORMAT_WORDS "text, json or folded"

/* --- the command line */

static const struct diff_format *by_ending(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		size_t end = strlen(formats[i].ending);
		if (len > end && !strcmp(path + len - end, formats[i].ending))
			return &formats[i];
	}
	return NULL;
}

static const struct diff_format *pick_format(const struct args *a, struct err *err)
{
	const struct diff_format *found = !a->format && !a->output ? &formats[0]
					  : a->format              ? NULL
								   : by_ending(a->output);

	for (size_t i = 0; i < FORMAT_COUNT && a->format; i++)
		if (!strcmp(a->format, formats[i].name))
			found = &formats[i];
	if (!found && a->format)
		err_set(err, STATUS_USAGE, "--format %s: no such format; use " FORMAT_WORDS,
			a->format);
	else if (!found)
		err_set(err, STATUS_USAGE,
			"%s: the ending chooses no format; end it in .txt, .json or .folded, or "
			"give --format " FORMAT_WORDS,
			a->output);
	return found;
}

static int pick_value(const struct args *a, enum diff_value *value, struct err *err)
{
	*value = DIFF_LIVE;
	if (!a->value)
		return 0;
	for (enum diff_value v = DIFF_LIVE; v <= DIFF_ALLOCATED; v++) {
		if (!strcmp(a->value, diff_value_name(v))) {
			*value = v;
			return 0;
		}
	}
	return err_set(err, STATUS_USAGE,
		       "--value %s: no such value; use live, blocks or allocated", a->value);
}

/* How many operands are A's: those before "--", or the first of two. */
static int split(const struct args *a, size_t *count_a, struct err *err)
{
	size_t n = a->operand_count;

	*count_a = a->dashes ? a->dashes_at : 1;
	if (n > DIFF_SESSIONS_MAX)
		return err_set(err, STATUS_USAGE, "%zu sessions: too many; compare %u at most", n,
			       DIFF_SESSIONS_MAX);
	if (a->dashes && (!*count_a || *count_a == n))
		return err_set(err, STATUS_USAGE,
			       "--: a session is missing on one side of it; write memtop diff A1 "
			       "A2 -- B1 B2");
	if (n < 2)
		return err_set(err, STATUS_USAGE,
			       "diff: two sessions are needed; write memtop diff A.mtop B.mtop, or "
			       "A.mtop@m1 A.mtop@m2");
	if (!a->dashes && n > 2)
		return err_set(err, STATUS_USAGE,
			       "%s: more than two sessions; write -- between A's and B's",
			       a->operands[2]);
	return 0;
}

/* "run.mtop@m2" is an instant of run.mtop, unless there is a file of that name. */
static int read_operand(const char *word, struct target *t, char *when, size_t size,
			struct err *err)
{
	const char *at = strrchr(word, '@');

	*when = '\0';
	if (!at || at == word || access(word, F_OK) == 0)
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

/* --- sessions */

/* A mark keeps the exact amounts; other instants are played from the file. */
static int find(struct loop *loop, struct watch *w, const char *when, uint32_t *mark,
		struct err *err)
{
	int found = *when ? model_mark_find(watch_model(w), when) : 0;

	*mark = 0;
	if (found > 0 && model_mark_says(watch_model(w), (uint32_t)found))
		*mark = (uint32_t)found;
	return !*when || *mark ? 0 : go_to(loop, w, when, err);
}

static struct side *side_of(struct loop *loop, struct watch *w, const char *word, const char *when,
			    struct string_pool *pool, struct err *err)
{
	uint32_t mark;

	if (watch_problem(w))
		warn("%s", watch_problem(w)); /* cut: what was saved is compared all the same */
	return find(loop, w, when, &mark, err) ? NULL : side_new(w, mark, word, pool, err);
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
	struct processes *p =
		processes_new(loop, &(struct processes_options){ .follow = false }, err);
	struct watch *w =
		p && !cmd_choose_process(a, p, &t, err) ? cmd_open_whole(loop, &t, a, err) : NULL;
	if (w)
		s = side_of(loop, w, word, when, pool, err);
	if (p)
		processes_free(p);
	if (w)
		watch_close(w);
	loop_free(loop);
	return s;
}

/* --- output */

struct job {
	const struct diff *diff;
	const struct diff_format *format;
};

static int write_diff(void *arg, FILE *out, struct err *err)
{
	const struct job *job = arg;

	return job->format->write(job->diff, out, err);
}

static int compare(const struct args *a, const struct side *const *sides, size_t count_a,
		   enum diff_value value, const struct diff_format *f, struct err *err)
{
	struct diff *d = diff_new(sides, count_a, a->operand_count, value);
	int rc = output_write(a->output, write_diff, &(struct job){ d, f }, err);

	diff_free(d);
	return rc;
}

/* A slip of the hand: `diff -o a.mtop b.mtop`. */
static int refuse_session(const char *path, struct err *err)
{
	if (!path || !session_file(path))
		return 0;
	return err_set(err, STATUS_USAGE,
		       "%s: is a session, which a diff does not overwrite; choose another -o",
		       path);
}

static int diff_run(const struct args *a)
{
	struct err err = { 0 };
	struct string_pool pool = { 0 };
	struct side *sides[DIFF_SESSIONS_MAX] = { NULL };
	const struct diff_format *f;
	enum diff_value value;
	size_t count_a, n = 0;

	if (refuse_session(a->output, &err) || split(a, &count_a, &err) ||
	    pick_value(a, &value, &err) || !(f = pick_format(a, &err)))
		return args_fail(&err, STATUS_USAGE);
	while (n < a->operand_count && (sides[n] = read_side(a, a->operands[n], &pool, &err)))
		n++;
	int rc = n < a->operand_count
			 ? -1
			 : compare(a, (const struct side *const *)sides, count_a, value, f, &err);
	if (rc)
		rc = args_fail(&err, STATUS_UNREACHED);
	for (size_t i = 0; i < n; i++)
		side_free(sides[i]);
	string_pool_release(&pool);
	return rc;
}

static const char *const synopsis[] = { "diff [OPTION...] A B", "diff [OPTION...] A... -- B...",
					NULL };
static const struct option_spec opt_value = {
	0,
	"value",
	"VALUE",
	"what is compared: live (default), blocks or allocated",
	offsetof(struct args, value),
	false
};
static const struct option_spec opt_format = {
	'f',  "format", "NAME", "text (default), json or folded", offsetof(struct args, format),
	false
};
static const struct option_spec opt_output = {
	'o',
	"output",
	"FILE",
	"write here; .txt, .json or .folded chooses the format",
	offsetof(struct args, output),
	false
};
static const struct option_spec *const options[] = { &opt_value,   &opt_format,  &opt_output,
						     &opt_process, &opt_symbols, &opt_sysroot,
						     NULL };

const struct verb verb_diff = {
	.name = "diff",
	.synopsis = synopsis,
	.summary = "show what changed between sessions, or between two instants",
	.details =
		"A and B are targets, or instants of them: FILE@MARK, FILE@peak, FILE@0:12:09. "
		"Without an instant\nthe last state counts. Stacks are the same where build-ids "
		"and offsets agree, else function names.\nWith two or more sessions on each side "
		"of --, differences that runs of one build have, too, are\ncalled noise.\n",
	.options = options,
	.run = diff_run,
};
