/* SPDX-License-Identifier: MIT
 *
 * filter.c - the filter: typed, completed by Tab, or set by other keys.
 */
#include "app/actions.h"

#include <string.h>

#define CANDIDATES 200

static void do_filter(struct ui *ui, uint32_t unused)
{
	struct err err;

	(void)unused;
	query_set_filter(ui->shown.query, ui->shown.filter, &err);
}

int filter_set(struct app *a, const char *text)
{
	struct err err = { 0 };
	bool by_cohort;

	if (strlen(text) >= sizeof a->ui.shown.filter)
		return status_error("the filter is too long");
	if (query_check_filter(text, &by_cohort, &err))
		return status_error("%s", err.text);
	if (a->options->diff && by_cohort)
		return status_error("age and thread: not in a diff of two sessions");
	snprintf(a->ui.shown.filter, sizeof a->ui.shown.filter, "%s", text);
	asker_later(a, VIEW_COUNT, do_filter, 0);
	front_refresh(a, true);
	return 0;
}

struct candidates {
	const char *word; /* as it was typed */
	size_t wanted;    /* this one */
	char *out;        /* PROMPT_WORD bytes */
	size_t count;
	const char *seen[CANDIDATES];
};

/* Spaces separate words, so a name with a space cannot be one word. */
static void offer(struct candidates *c, const char *before, const char *name, bool anywhere)
{
	const char *typed = c->word + strlen(before);
	bool fits =
		name && *name && !strchr(name, ' ') &&
		(anywhere ? strcasestr(name, typed) != NULL : !strncmp(name, typed, strlen(typed)));

	for (size_t i = 0; fits && i < c->count; i++)
		fits = strcmp(c->seen[i], name) != 0;
	if (!fits || c->count == CANDIDATES)
		return;
	if (c->count == c->wanted)
		snprintf(c->out, PROMPT_WORD, "%s%s", before, name);
	c->seen[c->count++] = name;
}

/* The words for every session, then those that a diff lacks. */
static void offer_names(struct app *a, struct candidates *c)
{
	static const char *const words[] = { "lib:", "size>",   "grew", "new",
					     NULL,   "thread:", "age>", "age<" };
	const struct site *sites;
	size_t n = query_sites(a->ui.shown.query, BY_LIVE, false, false, &sites);

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (!words[i] && a->options->diff)
			break;
		offer(c, "", words[i], false);
	}
	for (size_t i = 0; *c->word && i < n; i++) {
		offer(c, "", sites[i].name, true);
		offer(c, "", sites[i].caller, true);
	}
}

/* The n-th completion of the typed word. */
static bool complete(void *arg, const char *word, size_t n, char *out)
{
	struct app *a = arg;
	struct candidates c = { .word = word, .wanted = n, .out = out };

	*out = 0;
	if (!strncmp(word, "lib:", 4)) {
		for (size_t i = 0; i < a->ui.shown.figures.owner_count; i++)
			offer(&c, "lib:", a->ui.shown.figures.owners[i].name, true);
	} else if (!strncmp(word, "thread:", 7)) {
		for (uint32_t i = 0; i < model_thread_count(a->ui.shown.model); i++) {
			const struct thread *t = model_thread(a->ui.shown.model, i);
			if (t && t->known)
				offer(&c, "thread:", t->name, true);
		}
	} else {
		offer_names(a, &c);
	}
	return *out;
}

/* "foo:bar" is a name to search, like "std::string"; a remark tells users who meant a filter
 * word. */
static void say_unknown_words(const char *text)
{
	char copy[sizeof((struct shown *)0)->filter], *save = NULL;

	snprintf(copy, sizeof copy, "%s", text);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		size_t n = strspn(w, "abcdefghijklmnopqrstuvwxyz");
		bool known = !strncmp(w, "lib:", 4) || !strncmp(w, "thread:", 7) ||
			     !strncmp(w, "age", 3) || !strncmp(w, "size>", 5);
		if (!known && n && strchr(":<>=", w[n]) && w[n] && strncmp(w + n, "::", 2) &&
		    w[n + 1])
			status_say("\"%s\" is matched as a name; filter words: lib: thread: age> "
				   "age< size> grew new",
				   w);
	}
}

static void filtering(void *arg, enum prompt_event e, const char *text)
{
	if (e == PROMPT_DONE && !filter_set(arg, text))
		say_unknown_words(text);
}

void filter_type(struct app *a)
{
	prompt_line(&a->ui.prompt, "Filter (Tab completes): ", a->ui.shown.filter, filtering, a);
	prompt_completes(&a->ui.prompt, complete);
}

/* Replaces the filter's words with this beginning by `word`; NULL: removes them. */
static int replace_word(struct app *a, const char *begin, const char *word)
{
	char text[2 * sizeof a->ui.shown.filter] = "", copy[sizeof a->ui.shown.filter],
			     *save = NULL;
	size_t n = 0;

	snprintf(copy, sizeof copy, "%s", a->ui.shown.filter);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		if (strncmp(w, begin, strlen(begin)) && n < sizeof text)
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", w);
	if (word && n < sizeof text)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", word);
	return filter_set(a, text);
}

static void older(void *arg, enum prompt_event e, const char *text)
{
	struct app *a = arg;
	char word[64];

	if (e != PROMPT_DONE)
		return;
	if (strchr(text, ' ')) {
		status_error("an age is one word: 60s, 5m, 2h");
		return;
	}
	snprintf(word, sizeof word, "age>%.50s", text);
	if (!replace_word(a, "age>", *text ? word : NULL) && *text)
		status_say("LIVE and BLOCKS count only blocks older than %s; a, Enter: all blocks",
			   text);
}

void filter_older(struct app *a)
{
	prompt_line(&a->ui.prompt, "Only blocks older than (60s, 5m, 2h; empty: all): ", "", older,
		    a);
}

int filter_thread(struct app *a, uint32_t tid)
{
	char word[32];

	if (!tid)
		return status_error("this row sums threads that could not be told apart");
	snprintf(word, sizeof word, "thread:%u", tid);
	return replace_word(a, "thread:", word);
}
