/* SPDX-License-Identifier: MIT
 *
 * keys.c - see screen/keys.h. The table is screen/action.h's; its key strings are parsed once, at
 * first use.
 */
#include "screen/keys.h"

#include "base/ascii.h"
#include "base/listing.h"

#include <stdlib.h>
#include <string.h>

#define KEYS_PER_REQUEST 6

static const struct action_info infos[ACT_COUNT] = {
#define X(name, focus, keys, brief, help)                                                          \
	[ACT_##name] = { #name, FOCUS_##focus, keys, brief, help },
	ACTIONS(X)
#undef X
};

static const struct view_info views[] = {
#define X(action, id, name, keys, title, brief, columns, help, of_diff)                            \
	{ title, brief, columns, of_diff },
	VIEWS(X, )
#undef X
};

const struct view_info *view_info(enum view_id v)
{
	return &views[v];
}

static const struct {
	const char *word, *shown;
	int key;
} named[] = {
	{ "Up", "Up", KEY_UP_ },          { "Down", "Down", KEY_DOWN_ },
	{ "Left", "Left", KEY_LEFT_ },    { "Right", "Right", KEY_RIGHT_ },
	{ "PgUp", "PgUp", KEY_PGUP },     { "PgDn", "PgDn", KEY_PGDN },
	{ "Home", "Home", KEY_HOME_ },    { "End", "End", KEY_END_ },
	{ "BS", "Backspace", KEY_BS },    { "Del", "Del", KEY_DEL },
	{ "Tab", "Tab", KEY_TAB_ },       { "S-Tab", "S-Tab", KEY_BACKTAB },
	{ "Enter", "Enter", KEY_RETURN }, { "Space", "Space", ' ' },
	{ "Esc", "Esc", KEY_ESCAPE },
};
#define NAMED (sizeof named / sizeof named[0])

static int parsed[ACT_COUNT][KEYS_PER_REQUEST];
static bool ready;

int key_parse(const char *name, size_t len)
{
	if (len == 1)
		return (unsigned char)name[0];
	if (len == 2 && name[0] == '^' && name[1] >= '@' && name[1] <= '_')
		return name[1] - '@';
	if (len < 3 || name[0] != '<' || name[len - 1] != '>')
		return KEY_NOTHING;
	if (name[1] == 'F' && len <= 5 && name[2] >= '1' && name[2] <= '9') {
		char *end;
		long n = strtol(name + 2, &end, 10);
		return n <= 24 && end == name + len - 1 ? KEY_FN + (int)n : KEY_NOTHING;
	}
	for (size_t i = 0; i < NAMED; i++)
		if (strlen(named[i].word) == len - 2 && !memcmp(named[i].word, name + 1, len - 2))
			return named[i].key;
	return KEY_NOTHING;
}

static void prepare(void)
{
	for (int r = 1; r < ACT_COUNT; r++) {
		size_t n = 0;
		for (const char *at = infos[r].keys; *at;) {
			size_t len = strcspn(at, " ");
			if (n == KEYS_PER_REQUEST || !(parsed[r][n++] = key_parse(at, len)))
				BUG("keys of %s: \"%s\"", infos[r].name, infos[r].keys);
			at += len;
			at += strspn(at, " ");
		}
	}
	ready = true;
}

const struct action_info *action_info(enum action r)
{
	return &infos[r];
}

int action_key(enum action r, size_t n)
{
	if (!ready)
		prepare();
	return n < KEYS_PER_REQUEST ? parsed[r][n] : KEY_NOTHING;
}

static enum action lookup(enum focus f, int key)
{
	for (int r = 1; r < ACT_COUNT; r++)
		if (infos[r].focus == f)
			for (size_t n = 0; n < KEYS_PER_REQUEST && parsed[r][n]; n++)
				if (parsed[r][n] == key)
					return (enum action)r;
	return ACT_NONE;
}

enum action action_of_key(const enum focus *foci, int key)
{
	if (!ready)
		prepare();
	for (; *foci != FOCUS_NONE; foci++) {
		enum action r = lookup(*foci, key);
		if (r)
			return r;
	}
	return lookup(FOCUS_GLOBAL, key);
}

char *key_label(char *out, int key)
{
	for (size_t i = 0; i < NAMED; i++)
		if (named[i].key == key)
			return strcpy(out, named[i].shown);
	if (key > KEY_FN)
		snprintf(out, 16, "F%d", key - KEY_FN);
	else if (key < 32)
		snprintf(out, 16, "^%c", key + '@');
	else
		snprintf(out, 16, "%c", key);
	return out;
}

const char *focus_title(enum focus f)
{
	static const char *const titles[FOCUS_COUNT] = {
		[FOCUS_GLOBAL] = "Everywhere",
		[FOCUS_LIST] = "In a list",
		[FOCUS_TREE] = "In the tree",
		[FOCUS_SITES] = "In Overview and Sites",
		[FOCUS_LIBS] = "In Libs",
		[FOCUS_MARKS] = "In Marks",
		[FOCUS_THREADS] = "In Threads",
		[FOCUS_COLUMNS] = "In the list of columns",
		[FOCUS_GRAPH] = "In a graph",
		[FOCUS_TEXT] = "On a page of text",
		[FOCUS_HOLDERS] = "In the detail of a row of all processes",
		[FOCUS_PROCESSES] = "In the program's processes",
		[FOCUS_CHOOSER] = "In the list of processes",
	};

	return titles[f];
}

char *action_keys(enum action r, char *out, size_t size)
{
	char key[16];
	int k;

	*out = 0;
	for (size_t n = 0; (k = action_key(r, n)) != KEY_NOTHING; n++) {
		size_t len = strlen(out);
		snprintf(out + len, size - len, "%s%s", n ? " " : "", key_label(key, k));
	}
	return out;
}

bool action_named(const char *word, enum action *r)
{
	char name[32];

	for (int i = 1; i < ACT_COUNT; i++)
		if (!strcmp(action_word((enum action)i, name), word)) {
			*r = (enum action)i;
			return true;
		}
	return false;
}

/* Another action of r's focus with this key; else ACT_NONE. */
static enum action other_owner(enum action r, int key)
{
	for (int i = 1; i < ACT_COUNT; i++)
		for (size_t n = 0;
		     i != (int)r && infos[i].focus == infos[r].focus && n < KEYS_PER_REQUEST; n++)
			if (parsed[i][n] == key)
				return (enum action)i;
	return ACT_NONE;
}

bool action_set_keys(enum action r, const char *keys, char *why, size_t size)
{
	int wanted[KEYS_PER_REQUEST] = { 0 };
	size_t n = 0;

	if (!ready)
		prepare();
	for (const char *at = keys + strspn(keys, " "); *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");
		int key = n < KEYS_PER_REQUEST ? key_parse(at, len) : KEY_NOTHING;
		char word[32];
		if (key == KEY_NOTHING) {
			snprintf(why, size,
				 n < KEYS_PER_REQUEST ? "\"%.*s\" is not a key"
						      : "\"%.*s\" is one key too many",
				 (int)(len < 40 ? len : 40), at);
			return false;
		}
		enum action owner = other_owner(r, key);
		if (owner) {
			snprintf(why, size, "%.*s is already the key of :%s", (int)len, at,
				 action_word(owner, word));
			return false;
		}
		wanted[n++] = key;
		at += len;
	}
	memcpy(parsed[r], wanted, sizeof wanted);
	return true;
}

static void write_key(int key, char *out, size_t size)
{
	for (size_t i = 0; i < NAMED; i++)
		if (named[i].key == key) {
			snprintf(out, size, "<%s>", named[i].word);
			return;
		}
	if (key > KEY_FN)
		snprintf(out, size, "<F%d>", key - KEY_FN);
	else if (key < 32)
		snprintf(out, size, "^%c", key + '@');
	else
		snprintf(out, size, "%c", key);
}

char *action_keys_written(enum action r, char *out, size_t size)
{
	char key[16];

	*out = 0;
	for (size_t n = 0; action_key(r, n) != KEY_NOTHING; n++) {
		size_t len = strlen(out);
		write_key(action_key(r, n), key, sizeof key);
		snprintf(out + len, size - len, "%s%s", n ? " " : "", key);
	}
	return out;
}

/* As the command line has it: mark-named. */
char *action_word(enum action r, char *out)
{
	size_t n = 0;

	for (const char *c = infos[r].name; *c && n < 31; c++)
		out[n++] = *c == '_' ? '-' : ascii_lower(*c);
	out[n] = 0;
	return out;
}

void keys_print(FILE *out)
{
	static const struct listing_column columns[] = { { NULL, LISTING_LEFT, 18, 2 },
							 { NULL, LISTING_LEFT, 15, 1 },
							 { NULL, LISTING_LEFT, 0, 1 } };
	char keys[96], name[32];

	for (int f = 1; f < FOCUS_COUNT; f++) {
		struct listing *t = listing_new(columns, 3, 0);
		fprintf(out, "%s%s\n", f > 1 ? "\n" : "", focus_title((enum focus)f));
		for (int r = 1; r < ACT_COUNT; r++) {
			if (infos[r].focus != (enum focus)f)
				continue;
			listing_row(t);
			listing_put(t, action_keys((enum action)r, keys, sizeof keys));
			fprintf(listing_cell(t), ":%s", action_word((enum action)r, name));
			listing_put(t, infos[r].help);
		}
		listing_end(t, out);
	}
}
