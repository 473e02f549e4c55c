/* SPDX-License-Identifier: MIT
 *
 * command.c - the command line: `:` and an action's name (mark-named is MARK_NAMED), or one of the
 * few commands with an argument.
 */
#include "app/keys/keys.h"
#include "app/frame/chrome.h"
#include "app/actions.h"
#include "views/tree/tree.h"
#include "app/config.h"
#include "widgets/source.h"

#include <limits.h>
#include <memtop/options.h>
#include <string.h>

/* The start of the next NAME=: a value may contain spaces, as in an expression of libs=. */
static const char *next_setting(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";

	for (const char *space = strchr(text, ' '); space; space = strchr(space, ' ')) {
		space += strspn(space, " ");
		size_t len = strspn(space, letters);
		if (len && space[len] == '=')
			return space;
	}
	return text + strlen(text);
}

static int set_option(struct app *a, const char *text, size_t len)
{
	char setting[512], *equals;

	while (len && text[len - 1] == ' ')
		len--;
	snprintf(setting, sizeof setting, "%.*s", (int)len, text);
	equals = strchr(setting, '=');
	if (!equals || equals == setting || equals - setting > (long)MTW_NAME_MAX ||
	    len >= sizeof setting)
		return status_error("set: write NAME=VALUE, as in :set min_size=64 sample=64k");
	*equals = 0;
	if (ui_of_all(&a->ui) ? !processes_set_option(a->ui.processes, setting, equals + 1)
			      : watch_set_option(a->ui.shown.watch, setting, equals + 1))
		return status_error("set: no live link to the program");
	return 0;
}

static void set_options(struct app *a, const char *text)
{
	const char *at = text, *next;

	do {
		next = next_setting(at);
		if (set_option(a, at, (size_t)(next - at)))
			return;
	} while (*(at = next));
	status_say("setting %s%s", text, ui_of_all(&a->ui) ? " in each process" : "");
}

static void source(struct app *a, const char *text)
{
	if (!source_set_folders(text)) {
		status_error("source: too long");
		return;
	}
	status_say("source files: also searched below %s", text);
	front_act(a, VIEW_REFRESH);
}

static void write_config(struct app *a, const char *rest)
{
	struct config c = { .ascii = config_get(NULL)->ascii,
			    .mouse = a->choices.mouse,
			    .percent = a->choices.percent,
			    .units = text_units(),
			    .direct = owners_direct(a->ui.shown.owners, -1),
			    .inlined = query_inlined(a->ui.shown.query) };
	char path[4096];
	struct err err = { 0 };

	(void)rest;
	snprintf(c.theme, sizeof c.theme, "%s", a->choices.theme.name);
	if (config_write(&c, path, sizeof path, &err))
		status_error("write-config: %s", err.text);
	else
		status_say("written to %s", path);
}

static void units(struct app *a, const char *word)
{
	enum units u;

	(void)a;
	if (text_units_named(word, &u))
		choices_units(u);
	else
		status_error("units: auto, mib or bytes");
}

static unsigned set_inlined(struct app *a, bool on)
{
	struct view *tree = a->front.views[VIEW_TREE];
	unsigned bits = view_tree_inlined(tree, on);

	return front_view(a) == tree ? bits : bits & ~(unsigned)VIEW_ANEW;
}

static void set_switch(struct app *a, const char *name, unsigned (*set)(struct app *, bool),
		       const char *word)
{
	if (!strcmp(word, "on") || !strcmp(word, "off"))
		front_act(a, set(a, !strcmp(word, "on")));
	else
		status_error("%s: on or off", name);
}

static void run_action(struct app *a, enum action r)
{
	unsigned bits = a->action(a, r);

	if (bits & VIEW_IGNORED)
		status_error("%s: not in this view", action_info(r)->name);
	else
		front_act(a, bits);
}

static void direct(struct app *a, const char *word)
{
	set_switch(a, "direct", choices_direct, word);
}

static void inlined(struct app *a, const char *word)
{
	set_switch(a, "inlined", set_inlined, word);
}

static void mark(struct app *a, const char *name)
{
	mark_set_shown(&a->ui, name);
}

static void every(struct app *a, const char *text)
{
	mark_every(&a->ui, text);
}

static void window(struct app *a, const char *name)
{
	mark_window(&a->ui, name);
}

static void at(struct app *a, const char *text)
{
	travel_command(&a->ui.shown, text);
}

static void now(struct app *a, const char *rest)
{
	(void)rest;
	travel_command(&a->ui.shown, "now");
}

static void filter(struct app *a, const char *text)
{
	filter_set(a, text);
}

static void theme(struct app *a, const char *path)
{
	choices_theme(a, path);
}

static void suppress(struct app *a, const char *path)
{
	expect_file(a, path);
}

static void back(struct app *a, const char *rest)
{
	(void)rest;
	run_action(a, ACT_BACK);
}

enum argument {
	MAY,  /* there may be one */
	MUST, /* without one it is the action of this name, if there is one */
	PATH, /* it must be; ~ is the home folder */
};

/* "depth= ": those that may change while a program runs. */
#define SET_true(name) name "= "
#define SET_false(name)
#define SET(name, member, kind, low, high, run_time, choice) SET_##run_time(#name)

static const struct command {
	const char *name;
	void (*run)(struct app *a, const char *argument);
	enum argument argument;
	const char *words; /* that Tab offers for an argument; NULL: nor does it offer the name */
} commands[] = {
	{ "set", set_options, MAY, MTW_OPTIONS(SET) },
	{ "every", every, MAY, "off " },
	{ "window", window, MAY, "" },
	{ "at", at, MAY, "peak now " },
	{ "now", now, MAY, NULL },
	{ "mark", mark, MUST, "" },
	{ "filter", filter, MAY, "" },
	{ "theme", theme, PATH, "" },
	{ "units", units, MUST, "auto mib bytes " },
	{ "direct", direct, MUST, "on off " },
	{ "inlined", inlined, MUST, "on off " },
	{ "save", save_as, PATH, "" },
	{ "w", save_as, PATH, NULL },
	{ "suppress", suppress, PATH, "" },
	{ "source", source, MUST, "" },
	{ "write-config", write_config, MAY, "" },
	{ "q", back, MAY, NULL },
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static const struct command *command_named(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* A diff of two sessions has none, nor its time. */
static bool needs_program(const struct command *c)
{
	return c->run == set_options || c->run == every || c->run == window || c->run == at ||
	       c->run == now || c->run == mark || c->run == suppress || c->run == inlined;
}

static void commanding(void *arg, enum prompt_event e, const char *text)
{
	struct app *a = arg;
	char word[64], path[PATH_MAX];
	enum action r;
	size_t len = strcspn(text, " ");
	const char *rest = text + len + strspn(text + len, " ");

	if (e != PROMPT_DONE || !*text)
		return;
	snprintf(word, sizeof word, "%.*s", (int)(len < sizeof word ? len : sizeof word - 1), text);
	const struct command *c = command_named(word);
	if (c && a->options->diff && needs_program(c))
		status_error("%s: not in a diff of two sessions", word);
	else if (c && (*rest || c->argument == MAY))
		c->run(a, c->argument == PATH ? save_path(rest, path) : rest);
	else if (action_named(word, &r))
		run_action(a, r);
	else
		status_error(":%s: no such command; Tab lists commands", word);
}

/* Counts the names that begin with `word`; true: this is the n-th, now in out[PROMPT_WORD]. */
static bool offer(const char *name, size_t len, const char *word, size_t n, size_t *count,
		  char *out)
{
	if (len < strlen(word) || strncmp(name, word, strlen(word)) || (*count)++ != n)
		return false;
	snprintf(out, PROMPT_WORD, "%.*s", (int)len, name);
	return true;
}

static bool complete_argument(const char *command, const char *word, size_t n, char *out)
{
	size_t count = 0, themes;
	const struct command *c = command_named(command);
	const char *const *names, *words = c && c->words ? c->words : "";

	for (size_t len; (len = strcspn(words, " ")) > 0; words += len + 1)
		if (offer(words, len, word, n, &count, out))
			return true;
	themes = strcmp(command, "theme") ? 0 : theme_names(&names);
	for (size_t i = 0; i < themes; i++)
		if (offer(names[i], strlen(names[i]), word, n, &count, out))
			return true;
	return false;
}

/* What works here, in the order of the tables. */
static bool complete_command(const struct app *a, const char *word, size_t n, char *out)
{
	const struct diff_tree *diff = a->options->diff;
	size_t count = 0;
	char name[32];
	enum action r;

	for (size_t i = 0; i < COMMANDS; i++)
		if (commands[i].words && !(diff && needs_program(&commands[i])) &&
		    offer(commands[i].name, strlen(commands[i].name), word, n, &count, out))
			return true;
	for (int i = 1; i < ACT_COUNT; i++) {
		action_word((enum action)i, name);
		if (!command_named(name) && !(diff && !compared_help((enum action)i)) &&
		    action_named(name, &r) && offer(name, strlen(name), word, n, &count, out))
			return true;
	}
	return false;
}

/* The first word is a command, the others are its arguments. */
static bool complete(void *arg, const char *word, size_t n, char *out)
{
	struct app *a = arg;
	char text[PROMPT_MAX * 4 + 1];

	prompt_text(&a->ui.prompt, text);
	char *space = strchr(text, ' ');
	if (!space)
		return complete_command(a, word, n, out);
	*space = 0;
	return complete_argument(text, word, n, out);
}

void command_type(struct app *a)
{
	prompt_line(&a->ui.prompt, ":", "", commanding, a);
	prompt_completes(&a->ui.prompt, complete);
}
