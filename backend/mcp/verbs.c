/* SPDX-License-Identifier: MIT
 *
 * verbs.c - tools that are verbs of memtop: the call's arguments become a command line, this same
 * program runs it, and what it prints is the answer. So a tool and its verb cannot differ.
 *
 * A program that `record` starts may outlive the call. Its errors go into a file without a name: a
 * pipe would end it once nobody reads.
 */
#include "mcp/tools.h"

#include "base/sanitize.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 1024u
#define RECORD_SECONDS 60u
#define RECORD_MOST 3600u

extern char **environ;

struct line {
	char *words[WORDS_MAX + 1]; /* owned; ends with NULL */
	size_t count;
	bool too_long;
};

static void put_take(struct line *l, char *word_take)
{
	if (l->count < WORDS_MAX)
		l->words[l->count++] = word_take;
	else
		free(word_take);
	l->too_long |= l->count == WORDS_MAX;
}

static void put(struct line *l, const char *word)
{
	put_take(l, xstrdup(word));
}

/* The verb's name, and what all verbs get of memtop mcp's own command line. */
static void line_begin(struct line *l, const struct tool_call *c, const char *verb)
{
	const struct symbol_options *s = targets_symbols(c->targets);

	*l = (struct line){ .count = 0 };
	put(l, "memtop");
	put(l, verb);
	if (!strcmp(verb, "attach") || !strcmp(verb, "detach"))
		return;
	for (size_t i = 0; i < s->dir_count; i++)
		put_take(l, xasprintf("--symbols=%s", s->dirs[i]));
	if (s->sysroot)
		put_take(l, xasprintf("--sysroot=%s", s->sysroot));
}

static void line_release(struct line *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->words[i]);
}

/* "max_leaked": "64K" becomes --max-leaked=64K; a list becomes several. option: its name, NULL =
 * the words themselves. */
static int put_words(struct line *l, const struct tool_call *c, const char *name,
		     const char *option, struct err *err)
{
	json_t *v = json_object_get(c->arguments, name);
	size_t n = json_is_array(v) ? json_array_size(v) : v != NULL;

	for (size_t i = 0; i < n; i++) {
		json_t *one = json_is_array(v) ? json_array_get(v, i) : v;
		const char *word = json_string_value(one);

		if (!word || !*word)
			return err_set(err, 2, "%s: neither a text nor a list of texts", name);
		if (option)
			put_take(l, xasprintf("--%s=%s", option, word));
		else
			put(l, word);
	}
	return 0;
}

/* None may look like an option. */
static int put_operands(struct line *l, const struct tool_call *c, const char *name,
			struct err *err)
{
	size_t first = l->count;

	if (put_words(l, c, name, NULL, err))
		return -1;
	if (l->count == first)
		return err_set(err, 2, "%s: missing", name);
	for (size_t i = first; i < l->count; i++)
		if (*l->words[i] == '-')
			return err_set(err, 2, "%s: %.100s: not a target", name, l->words[i]);
	return 0;
}

/* Never a program: a verb that takes either would start it. */
static int put_target(struct line *l, struct tool_call *c, struct err *err)
{
	const char *word = c->word;
	struct target t;

	if (tool_target(c, err) || targets_parse(word, &t, err))
		return -1;
	if (*word == '-')
		return err_set(err, 2, "target: %.100s: not a target", word);
	if (strspn(word, "0123456789") == strlen(word))
		put(l, "-p");
	put(l, word);
	return 0;
}

struct done {
	FILE *out, *said; /* its output and its errors; NULL = none */
	int status;
};

static int spawn(char *const *words, const struct done *d, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t none, all;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (d->out)
		posix_spawn_file_actions_adddup2(&files, fileno(d->out), 1);
	else
		posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&files, fileno(d->said), 2);
	posix_spawnattr_init(&how);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setsigdefault(&how, &all);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int rc = posix_spawn(pid, "/proc/self/exe", &files, &how, words, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	return rc;
}

static void copy_lines(FILE *from, FILE *to)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	rewind(from);
	while ((n = getline(&line, &room, from)) > 0) {
		size_t len = line[n - 1] == '\n' ? (size_t)n - 1 : (size_t)n;

		sanitize_put(to, line, len);
		fputc('\n', to);
	}
	free(line);
}

static int say_failed(FILE *said, int status, struct err *err)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		base_out_of_memory();
	copy_lines(said, out);
	if (fclose(out))
		base_out_of_memory();
	while (len && text[len - 1] == '\n')
		text[--len] = '\0';
	const char *why = strncmp(text, "memtop: ", 8) ? text : text + 8;
	int rc = *why ? err_set(err, 3, "%s", why) : err_set(err, 3, "ended by status %d", status);
	free(text);
	return rc;
}

static int run_line(struct line *l, struct done *d, struct err *err)
{
	int status = 0;
	pid_t pid;

	if (l->too_long)
		return err_set(err, 2, "more than %u words", WORDS_MAX - 1);
	int rc = d->said ? spawn(l->words, d, &pid) : errno;
	if (rc)
		return err_set(err, 3, "memtop %s cannot be run: %s; set TMPDIR", l->words[1],
			       strerror(rc));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	d->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

static void close_both(struct done *d)
{
	if (d->out)
		fclose(d->out);
	if (d->said)
		fclose(d->said);
}

/* What a verb prints that starts nothing; most: its largest status with an answer. */
static int answer(struct tool_call *c, struct line *l, int most, struct err *err)
{
	struct done d = { .out = tmpfile(), .said = tmpfile() };
	int rc = run_line(l, &d, err);

	if (!rc && d.status > most)
		rc = say_failed(d.said, d.status, err);
	if (!rc) {
		copy_lines(d.said, c->out);
		if (d.out)
			copy_lines(d.out, c->out);
	}
	close_both(&d);
	return rc;
}

int tool_diff_sessions(struct tool_call *c, struct err *err)
{
	struct line l;

	line_begin(&l, c, "diff");
	int rc = put_words(&l, c, "value", "value", err) ||
		 put_words(&l, c, "format", "format", err) ||
		 put_words(&l, c, "process", "process", err) || put_operands(&l, c, "a", err);
	if (!rc)
		put(&l, "--");
	rc = rc || put_operands(&l, c, "b", err) ? -1 : answer(c, &l, 0, err);
	line_release(&l);
	return rc;
}

int tool_check(struct tool_call *c, struct err *err)
{
	static const struct {
		const char *name, *option;
	} options[] = { { "max_leaked", "max-leaked" }, { "max_live", "max-live" },
			{ "max_peak", "max-peak" },     { "max_blocks", "max-blocks" },
			{ "max_rate", "max-rate" },     { "max_growth", "max-growth" },
			{ "between", "between" },       { "baseline", "baseline" },
			{ "tolerance", "tolerance" },   { "suppress", "suppress" },
			{ "process", "process" },       { "format", "format" } };
	struct line l;
	int rc = 0;

	line_begin(&l, c, "check");
	for (size_t i = 0; i < sizeof options / sizeof *options && !rc; i++)
		rc = put_words(&l, c, options[i].name, options[i].option, err);
	if (json_is_true(json_object_get(c->arguments, "no_growing")))
		put(&l, "--no-growing");
	rc = rc || put_target(&l, c, err) ? -1 : answer(c, &l, 1, err);
	line_release(&l);
	return rc;
}

/* One of both is there. */
static int put_recorded(struct line *l, struct tool_call *c, struct err *err)
{
	if (!json_object_get(c->arguments, "command"))
		return put_target(l, c, err);
	if (json_object_get(c->arguments, "target"))
		return err_set(err, 2, "target: cannot be combined with command");
	put(l, "--");
	return put_words(l, c, "command", NULL, err);
}

/* Was the file written since? */
static bool is_newer(const char *path, const struct stat *before)
{
	struct stat now;

	return !stat(path, &now) &&
	       (now.st_ino != before->st_ino || now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
		now.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

int tool_record(struct tool_call *c, struct err *err)
{
	struct done d = { .said = tmpfile() };
	const char *output = "";
	size_t seconds = RECORD_SECONDS;
	struct stat before = { .st_ino = 0 };
	struct line l;

	line_begin(&l, c, "record");
	int rc = tool_text(c, "output", &output, err) ||
		 tool_number(c, "seconds", 1, RECORD_MOST, &seconds, err);
	if (!rc && (strlen(output) < 6 || strcmp(output + strlen(output) - 5, ".mtop")))
		rc = err_set(err, 2, "output: %.100s: not a FILE.mtop", output);
	if (!rc) {
		put_take(&l, xasprintf("--output=%s", output));
		put_take(&l, xasprintf("--for=%zu", seconds));
		stat(output, &before);
		rc = put_recorded(&l, c, err) || run_line(&l, &d, err);
	}
	if (!rc && !is_newer(output, &before))
		rc = say_failed(d.said, d.status, err);
	if (!rc) {
		copy_lines(d.said, c->out);
		fprintf(c->out, "status %d; the session is in ", d.status);
		sanitize_put(c->out, output, strlen(output));
		fputc('\n', c->out);
	}
	line_release(&l);
	close_both(&d);
	return rc ? -1 : 0;
}

static int by_pid(struct tool_call *c, const char *verb, const char *option, struct err *err)
{
	char pid[24];
	size_t n = 0;
	struct line l;

	if (tool_number(c, "pid", 1, INT32_MAX, &n, err))
		return -1;
	if (!n)
		return err_set(err, 2, "pid: missing");
	line_begin(&l, c, verb);
	if (option)
		put(&l, option);
	snprintf(pid, sizeof pid, "%zu", n);
	put(&l, pid);
	int rc = answer(c, &l, 0, err);
	line_release(&l);
	return rc;
}

int tool_attach(struct tool_call *c, struct err *err)
{
	return by_pid(c, "attach", "--no-view", err);
}

int tool_detach(struct tool_call *c, struct err *err)
{
	return by_pid(c, "detach", NULL, err);
}
