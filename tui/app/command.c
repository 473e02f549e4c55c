/* SPDX-License-Identifier: MIT
 *
 * command.c - the command line: `:` and the name of a request (mark-named is MARK_NAMED), or one of
 * the few words that take an argument.
 */
#include "app/actions.h"
#include "app/config.h"
#include "app/source.h"

#include <limits.h>
#include <string.h>

/* Where the next NAME= begins behind this one's: a value may have spaces, as an expression of libs=
 * may. */
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
	if (watch_set_option(a->watch, setting, equals + 1))
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
	status_say("setting %s", text);
}

static void set_source(struct app *a, const char *text)
{
	if (!source_set_folders(text)) {
		status_error("source: too long");
		return;
	}
	status_say("source files: also searched below %s", text);
	app_act(a, VIEW_REFRESH);
}

static void write_config(struct app *a)
{
	struct config c = { .ascii = config_get(NULL)->ascii,
			    .mouse = a->mouse,
			    .percent = a->percent,
			    .units = text_units(),
			    .direct = owners_direct(a->owners, -1),
			    .inlined = query_inlined(a->query) };
	char path[4096];
	struct err err = { 0 };

	snprintf(c.theme, sizeof c.theme, "%s", a->theme.name);
	if (config_write(&c, path, sizeof path, &err))
		status_error("write-config: %s", err.text);
	else
		status_say("written to %s", path);
}

static void set_units(const char *word)
{
	enum units u;

	if (text_units_named(word, &u))
		action_set_units(u);
	else
		status_error("units: auto, mib or bytes");
}

static unsigned set_inlined(struct app *a, bool on)
{
	return view_tree_inlined(a->views[VIEW_TREE], on);
}

static void set_switch(struct app *a, const char *name, unsigned (*set)(struct app *, bool),
		       const char *word)
{
	if (!strcmp(word, "on") || !strcmp(word, "off"))
		app_act(a, set(a, !strcmp(word, "on")));
	else
		status_error("%s: on or off", name);
}

static void run_request(struct app *a, enum request r)
{
	unsigned bits = action_view_request(a, r);

	if (bits & VIEW_IGNORED)
		status_error("%s: not in this view", request_info(r)->name);
	else
		app_act(a, bits);
}

static void commanding(void *arg, enum prompt_event e, const char *text)
{
	struct app *a = arg;
	char word[64];
	enum request r;
	size_t len = strcspn(text, " ");
	const char *rest = text + len + strspn(text + len, " ");
	char path[PATH_MAX];

	if (e != PROMPT_DONE || !*text)
		return;
	snprintf(word, sizeof word, "%.*s", (int)(len < sizeof word ? len : sizeof word - 1), text);
	if (!strcmp(word, "set"))
		set_options(a, rest);
	else if (!strcmp(word, "mark") && *rest) {
		if (watch_mark(a->watch, rest))
			status_error("no mark set: no live link to the program");
	} else if (!strcmp(word, "every"))
		action_every(a, rest);
	else if (!strcmp(word, "at"))
		travel_command(a, rest);
	else if (!strcmp(word, "now"))
		travel_command(a, word);
	else if (!strcmp(word, "filter"))
		action_set_filter(a, rest);
	else if (!strcmp(word, "theme") && *rest)
		action_set_theme(a, action_path(rest, path));
	else if (!strcmp(word, "units") && *rest)
		set_units(rest);
	else if (!strcmp(word, "direct") && *rest)
		set_switch(a, word, action_set_direct, rest);
	else if (!strcmp(word, "inlined") && *rest)
		set_switch(a, word, set_inlined, rest);
	else if ((!strcmp(word, "save") || !strcmp(word, "w")) && *rest)
		action_save_as(a, action_path(rest, path));
	else if (!strcmp(word, "suppress") && *rest)
		action_suppress(a, action_path(rest, path));
	else if (!strcmp(word, "source") && *rest)
		set_source(a, rest);
	else if (!strcmp(word, "write-config"))
		write_config(a);
	else if (!strcmp(word, "q"))
		run_request(a, REQ_BACK);
	else if (request_named(word, &r))
		run_request(a, r);
	else
		status_error(":%s: no such command; Tab lists commands", word);
}

/* --- completion */

static const struct {
	const char *command, *words;
} arguments[] = {
	{ "set", "sample= min_size= max_size= libs= exclude= merge= depth= " },
	{ "every", "off " },
	{ "at", "now " },
	{ "mark", "" },
	{ "filter", "" },
	{ "theme", "" },
	{ "units", "auto mib bytes " },
	{ "direct", "on off " },
	{ "inlined", "on off " },
	{ "save", "" },
	{ "suppress", "" },
	{ "source", "" },
	{ "write-config", "" },
};
#define ARGUMENTS (sizeof arguments / sizeof arguments[0])

/* Those that begin with `word` are counted; true: this is the n-th, which is in
 * out[PROMPT_WORD]. */
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
	const char *const *names, *words = "";

	for (size_t i = 0; i < ARGUMENTS; i++)
		if (!strcmp(arguments[i].command, command))
			words = arguments[i].words;
	for (size_t len; (len = strcspn(words, " ")) > 0; words += len + 1)
		if (offer(words, len, word, n, &count, out))
			return true;
	themes = strcmp(command, "theme") ? 0 : theme_names(&names);
	for (size_t i = 0; i < themes; i++)
		if (offer(names[i], strlen(names[i]), word, n, &count, out))
			return true;
	return false;
}

static bool complete_command(const char *word, size_t n, char *out)
{
	size_t count = 0;
	char name[32];
	enum request r;

	for (size_t i = 0; i < ARGUMENTS; i++)
		if (offer(arguments[i].command, strlen(arguments[i].command), word, n, &count, out))
			return true;
	for (int i = 1; i < REQ_COUNT; i++) {
		request_word((enum request)i, name);
		bool twice = false;
		for (size_t k = 0; k < ARGUMENTS; k++)
			twice |= !strcmp(arguments[k].command, name);
		if (!twice && request_named(name, &r) &&
		    offer(name, strlen(name), word, n, &count, out))
			return true;
	}
	return false;
}

/* The first word is a command, the others are its arguments. */
static bool complete(void *arg, const char *word, size_t n, char *out)
{
	struct app *a = arg;
	char text[PROMPT_MAX * 4 + 1];

	prompt_text(&a->prompt, text);
	char *space = strchr(text, ' ');
	if (!space)
		return complete_command(word, n, out);
	*space = 0;
	return complete_argument(text, word, n, out);
}

void action_command(struct app *a)
{
	prompt_line(&a->prompt, ":", "", commanding, a);
	prompt_completes(&a->prompt, complete);
}
