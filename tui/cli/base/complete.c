/* SPDX-License-Identifier: MIT */
#include "cli/base/complete.h"

#include "base/loop.h"
#include "base/procfs.h"
#include "base/sanitize.h"
#include "cli/base/verb.h"
#include "launch/launch.h"
#include "processes/processes.h"
#include "screen/theme.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What takes longer completes nothing: a key was pressed, and a user waits. */
#define SECONDS_MAX 2

struct completion {
	const struct args *a; /* of the other words */
	const char *word;     /* as far as it is typed, after `before` */
	const char *before;   /* "--name=": stands before each candidate */
	size_t before_len;
	int at;      /* the word's number after the verb */
	int skip;    /* words before that */
	int program; /* number of the first word of a program's command line */
};

/* A word with a control character is left out: no terminal takes it. */
void complete_add(struct completion *c, const char *word, const char *about)
{
	char clean[512], shown[256];

	if (strncmp(word, c->word, strlen(c->word)) != 0 ||
	    strcmp(sanitize_clean(clean, sizeof clean, word), word) != 0)
		return;
	printf("%.*s%s\t%s\n", (int)c->before_len, c->before, word,
	       sanitize_clean(shown, sizeof shown, about));
}

void complete_file(struct completion *c)
{
	(void)c;
	printf("\tfile\n");
}

void complete_folder(struct completion *c)
{
	(void)c;
	printf("\tfolder\n");
}

static void complete_command(struct completion *c)
{
	printf("\tcommand %d\n", c->skip + c->program);
}

void complete_theme(struct completion *c)
{
	const char *const *names;
	size_t n = theme_names(&names);

	for (size_t i = 0; i < n; i++)
		complete_add(c, names[i], "");
	complete_file(c);
}

static void add_agents(struct completion *c, bool addresses)
{
	struct agent_process *list = NULL;
	size_t n = launch_list(&list);

	for (size_t i = 0; i < n; i++) {
		char word[sizeof list->socket + 8];

		if (!addresses)
			snprintf(word, sizeof word, "%d", (int)list[i].pid);
		else if (list[i].through)
			continue;
		else
			snprintf(word, sizeof word, "%s%s", list[i].path ? "unix:" : "@",
				 list[i].socket);
		complete_add(c, word, list[i].name);
	}
	free(list);
}

void complete_agent_pid(struct completion *c)
{
	add_agents(c, false);
}

void complete_target(struct completion *c)
{
	add_agents(c, true);
	complete_file(c);
}

struct others {
	struct completion *c;
	struct agent_process *agents;
	size_t count;
};

static bool add_other(void *arg, pid_t pid)
{
	struct others *o = arg;
	char word[16], name[64] = "";
	struct proc_stat s;

	for (size_t i = 0; i < o->count; i++)
		if (o->agents[i].pid == pid)
			return false;
	if (pid == getpid() || (geteuid() && procfs_uid(pid) != (long)geteuid()) ||
	    !procfs_stat(pid, &s) || !s.has_memory)
		return false;
	procfs_name(pid, name, sizeof name);
	snprintf(word, sizeof word, "%d", (int)pid);
	complete_add(o->c, word, name);
	return false;
}

void complete_other_pid(struct completion *c)
{
	struct others o = { .c = c };

	o.count = launch_list(&o.agents);
	procfs_any(0, add_other, &o);
	free(o.agents);
}

void complete_process(struct completion *c)
{
	struct err unused;
	struct loop *loop = cmd_loop();
	struct processes *all =
		processes_new(loop, &(struct processes_options){ .follow = false }, &unused);
	const struct process *list;

	for (size_t i = 0; all && i < c->a->operand_count; i++) {
		if (!processes_read(all, c->a->operands[i]))
			continue;
		size_t n = processes_list(all, &list);

		for (size_t k = 0; k < n; k++) {
			char pid[16];

			snprintf(pid, sizeof pid, "%d", list[k].pid);
			complete_add(c, pid, list[k].name);
			complete_add(c, list[k].name, "");
		}
		break;
	}
	if (all)
		processes_free(all);
	loop_free(loop);
}

/* The target of the other words, or the session file `path`. */
static int find_target(const struct completion *c, const char *path, struct target *t)
{
	struct err unused;

	if (path)
		return cmd_file(path, t, &unused);
	if (c->a->last)
		return cmd_newest(c->a, t, &unused);
	if (c->a->pid)
		return target_parse_pid(c->a->pid, t, &unused);
	return c->a->operand_count ? target_parse(c->a->operands[0], t, &unused) : -1;
}

static void add_marks(struct completion *c, const char *path, bool pair)
{
	struct target t;
	struct err unused;

	if (find_target(c, path, &t))
		return;
	struct loop *loop = cmd_loop();
	struct processes *all =
		processes_new(loop, &(struct processes_options){ .follow = false }, &unused);
	struct watch *w =
		all && !cmd_choose_process(c->a, all, &t, &unused)
			? watch_open(loop, &t, &(struct watch_options){ .command = true }, &unused)
			: NULL;

	if (w && watch_wait_complete(w, SECONDS_MAX * 1000, &unused) == 0) {
		const struct model *m = watch_model(w);

		for (uint32_t id = 0; id < model_mark_limit(m); id++) {
			const struct mark *k = model_mark(m, id);
			char number[16];

			if (!k || !k->known)
				continue;
			snprintf(number, sizeof number, "m%u", k->id);
			/* In A..B a name's own dots would end A. */
			if (!pair || !strstr(k->name, ".."))
				complete_add(c, *k->name ? k->name : number,
					     *k->name && strcmp(k->name, number) != 0 ? number
										      : "");
		}
	}
	if (w)
		watch_close(w);
	if (all)
		processes_free(all);
	loop_free(loop);
}

void complete_mark(struct completion *c)
{
	add_marks(c, NULL, false);
	complete_add(c, "start", "of the program");
}

void complete_instant(struct completion *c)
{
	add_marks(c, NULL, false);
	complete_add(c, "peak", "the highest point of the heap");
}

/* What is typed up to `end` stands before the candidates, too. */
static void skip_to(struct completion *c, const char *end)
{
	c->before_len += (size_t)(end - c->word);
	c->word = end;
}

void complete_marks(struct completion *c)
{
	const char *dots = strstr(c->word, "..");

	if (dots)
		skip_to(c, dots + 2);
	add_marks(c, NULL, true);
	complete_add(c, dots ? "now" : "start", "");
}

void complete_compared(struct completion *c)
{
	const char *at = strchr(c->word, '@');

	if (!at || at == c->word) {
		complete_target(c);
		return;
	}
	char *path = xstrndup(c->word, (size_t)(at - c->word));

	skip_to(c, at + 1);
	add_marks(c, path, false);
	complete_add(c, "peak", "the highest point of the heap");
	free(path);
}

static void add_options(struct completion *c, const struct verb *v)
{
	char word[64];

	for (const struct option_spec *o = v->options; o->name; o++) {
		snprintf(word, sizeof word, "--%s", o->name);
		complete_add(c, word, o->help);
	}
	complete_add(c, "--help", "the options of this verb");
}

/* The first word. True: it can only be one of these. */
static bool add_verbs(struct completion *c, const struct verb *const *verbs)
{
	bool found = !*c->word;

	for (; *verbs; verbs++) {
		if (!(*verbs)->name)
			continue;
		complete_add(c, (*verbs)->name, (*verbs)->summary);
		found = found || !strncmp((*verbs)->name, c->word, strlen(c->word));
	}
	if (!*c->word)
		add_agents(c, true);
	if (*c->word == '-') {
		complete_add(c, "--version", "memtop's version");
		complete_add(c, "--keys", "all keys of the live view");
	}
	return found;
}

static void add_words(struct completion *c, const struct verb *v, int argc, char **argv)
{
	struct args a;
	const struct option_spec *of;
	enum typed typed = args_typed(v, argc, argv, c->at, &a, &of);

	c->a = &a;
	c->program = c->at;
	for (int i = 0; typed == TYPED_PROGRAM && a.operand_count && i < argc; i++)
		if (argv[i] == a.operands[0])
			c->program = i;
	if (of && *c->word == '-' && c->word[1] == '-' && strchr(c->word, '='))
		skip_to(c, strchr(c->word, '=') + 1);
	if (of && of->complete)
		of->complete(c);
	else if (!of && typed == TYPED_ANY && *c->word == '-')
		add_options(c, v);
	else if (!of && typed != TYPED_PROGRAM && v->complete)
		v->complete(c);
	if (!of && (typed == TYPED_PROGRAM ||
		    (v->takes == TAKES_EITHER && !a.operand_count && *c->word != '-')))
		complete_command(c);
	free(a.operands);
}

static bool is_number(const char *s)
{
	return *s && strlen(s) < 6 && strspn(s, "0123456789") == strlen(s);
}

int complete_words(const struct verb *const *verbs, int argc, char **argv)
{
	int at = argc && is_number(argv[0]) ? atoi(argv[0]) : -1;

	argc--, argv++;
	if (at < 0 || at >= argc) {
		warn("--complete: no number of a word; the shells' scripts call --complete AT "
		     "WORD...");
		return STATUS_USAGE;
	}
	alarm(SECONDS_MAX);
	setlinebuf(stdout);
	const struct verb *v = args_verb(verbs, at ? argv[0] : "");
	int skip = v->name != NULL;
	struct completion c = {
		.word = argv[at], .before = argv[at], .at = at - skip, .skip = skip
	};

	if (at || !add_verbs(&c, verbs))
		add_words(&c, v, argc - skip, argv + skip);
	return 0;
}
