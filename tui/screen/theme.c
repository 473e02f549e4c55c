/* SPDX-License-Identifier: MIT
 *
 * theme.c - parses and finds theme files. The search order: a path; $XDG_CONFIG_HOME/memtop/themes;
 * themes/ beside the binary or above it (a build tree); PREFIX/share/memtop/themes.
 */
#include "screen/theme.h"

#include "base/build.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THEME_BYTES_MAX 65536
#define THEMES_MAX 64

static struct theme current;

static const char *const role_names[ROLE_COUNT] = {
#define X(id, name) name,
	ROLES(X)
#undef X
};

void theme_plain(struct theme *t)
{
	snprintf(t->name, sizeof t->name, "plain");
	for (int r = 0; r < ROLE_COUNT; r++)
		t->styles[r] = (struct style){ COLOUR_DEFAULT, COLOUR_DEFAULT, 0 };
	static const int bold[] = { ROLE_HEADER_STRONG, ROLE_HEADER_WARNING, ROLE_HEADER_BAD,
				    ROLE_BAD,           ROLE_HEAD_SORTED,    ROLE_BORDER_FOCUS,
				    ROLE_KEY,           ROLE_PLUS,           ROLE_WARNING };
	for (size_t i = 0; i < sizeof bold / sizeof bold[0]; i++)
		t->styles[bold[i]].attrs = STYLE_BOLD;
	static const int inverse[] = { ROLE_TAB_ACTIVE, ROLE_SELECTED, ROLE_PROMPT };
	for (size_t i = 0; i < sizeof inverse / sizeof inverse[0]; i++)
		t->styles[inverse[i]].attrs = STYLE_REVERSE;
	t->styles[ROLE_DIM].attrs = STYLE_DIM;
	t->styles[ROLE_HIT].attrs = STYLE_UNDERLINE | STYLE_BOLD;
}

static bool parse_colour(const char *word, int *out)
{
	static const char *const names[] = { "black", "red",     "green", "yellow",
					     "blue",  "magenta", "cyan",  "white" };
	const char *plain = strncmp(word, "bright-", 7) ? word : word + 7;
	char *end;

	if (!strcmp(word, "default")) {
		*out = COLOUR_DEFAULT;
		return true;
	}
	for (int i = 0; i < 8; i++)
		if (!strcmp(plain, names[i])) {
			*out = i + (plain != word ? 8 : 0);
			return true;
		}
	if (word[0] == '#') {
		long v = strtol(word + 1, &end, 16);
		*out = COLOUR_RGB | (int)v;
		return strlen(word) == 7 && !*end;
	}
	long v = strtol(word, &end, 10);
	*out = (int)v;
	return *word >= '0' && *word <= '9' && !*end && v >= 0 && v < 256;
}

static bool parse_attribute(const char *word, unsigned *attrs)
{
	static const char *const names[] = { "bold", "dim", "underline", "reverse" };

	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(word, names[i])) {
			*attrs |= 1u << i;
			return true;
		}
	return false;
}

/* NULL, or why the line is wrong (in why[]). The line is cut into words. */
static const char *parse_line(char *line, struct theme *t, char *why, size_t size)
{
	char *save, *equals = strchr(line, '=');
	struct style style = { COLOUR_DEFAULT, COLOUR_DEFAULT, 0 };
	int role, part = 0;

	if (!equals) {
		snprintf(why, size, "not of the form role = fg bg attributes");
		return why;
	}
	*equals = 0;
	char *name = strtok_r(line, " \t", &save);
	for (role = 0; role < ROLE_COUNT; role++)
		if (name && !strcmp(name, role_names[role]))
			break;
	if (role == ROLE_COUNT) {
		snprintf(why, size, "no role \"%.40s\"", name ? name : "");
		return why;
	}
	for (char *word = strtok_r(equals + 1, " \t", &save); word;
	     word = strtok_r(NULL, " \t", &save)) {
		if (part < 2 && parse_colour(word, part ? &style.bg : &style.fg))
			part++;
		else if (parse_attribute(word, &style.attrs))
			part = 2;
		else {
			snprintf(why, size, "\"%.40s\" is neither a colour nor an attribute", word);
			return why;
		}
	}
	t->styles[role] = style;
	return NULL;
}

size_t theme_parse(const char *text, struct theme *t,
		   void (*wrong)(void *arg, size_t line, const char *why), void *arg)
{
	size_t bad = 0, number = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");
		char *line = xstrndup(text, len), why[160];
		char *first = line + strspn(line, " \t\r");
		number++;
		first[strcspn(first, "\r")] = 0;
		if (*first && (*first != '#') && parse_line(first, t, why, sizeof why)) {
			bad++;
			if (wrong)
				wrong(arg, number, why);
		}
		free(line);
		text += len + (text[len] == '\n');
	}
	return bad;
}

static size_t folders(char out[][PATH_MAX], size_t max)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char exe[PATH_MAX];
	size_t n = 0;
	ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);

	if (config && *config)
		snprintf(out[n++], PATH_MAX, "%.4000s/memtop/themes", config);
	else if (home && *home)
		snprintf(out[n++], PATH_MAX, "%.4000s/.config/memtop/themes", home);
	if (len > 0) {
		exe[len] = 0;
		for (int up = 0; up < 3 && n + 1 < max; up++) {
			char *slash = strrchr(exe, '/');
			if (!slash || slash == exe)
				break;
			*slash = 0;
			if (up == 1) /* PREFIX/bin/memtop, wherever PREFIX is */
				snprintf(out[n++], PATH_MAX, "%.4000s/share/memtop/themes", exe);
			else
				snprintf(out[n++], PATH_MAX, "%.4000s/themes", exe);
		}
	}
	snprintf(out[n++], PATH_MAX, "%s/share/memtop/themes", build_prefix);
	return n;
}

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text;

	if (!f)
		return NULL;
	text = xcalloc(1, THEME_BYTES_MAX + 1);
	if (fread(text, 1, THEME_BYTES_MAX, f) == 0 && ferror(f)) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

struct complaint {
	const char *path;
	struct err *err;
	size_t count;
};

static void complain(void *arg, size_t line, const char *why)
{
	struct complaint *c = arg;

	if (c->count++ == 0)
		err_set(c->err, 0, "%s:%zu: %s", c->path, line, why);
}

int theme_load(const char *name, struct theme *t, struct err *err)
{
	char where[8][PATH_MAX], path[PATH_MAX + 128];
	size_t n = folders(where, 8);
	char *text = NULL;

	name = name ? name : "dark";
	if (strchr(name, '/')) {
		snprintf(path, sizeof path, "%s", name);
		text = read_text(path);
	}
	for (size_t i = 0; !text && !strchr(name, '/') && i < n; i++) {
		snprintf(path, sizeof path, "%.*s/%.100s.theme", PATH_MAX - 1, where[i], name);
		text = read_text(path);
	}
	if (!text)
		return err_set(err, 2,
			       "theme \"%s\": no such file in themes/; t in the live view cycles "
			       "through all themes",
			       name);
	struct complaint c = { path, err, 0 };
	theme_plain(t);
	snprintf(t->name, sizeof t->name, "%.60s", name);
	theme_parse(text, t, complain, &c);
	free(text);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t theme_names(const char *const **list)
{
	static char *names[THEMES_MAX];
	static size_t count;
	char where[8][PATH_MAX];

	for (size_t i = 0; i < count; i++)
		free(names[i]);
	count = 0;
	for (size_t i = 0, n = folders(where, 8); i < n; i++) {
		DIR *dir = opendir(where[i]);
		struct dirent *e;
		while (dir && (e = readdir(dir)) && count < THEMES_MAX) {
			size_t len = strlen(e->d_name), known = 0;
			if (len < 7 || strcmp(e->d_name + len - 6, ".theme"))
				continue;
			char *found = xstrndup(e->d_name, len - 6);
			while (known < count && strcmp(names[known], found))
				known++;
			if (known == count)
				names[count++] = found;
			else
				free(found);
		}
		if (dir)
			closedir(dir);
	}
	qsort(names, count, sizeof names[0], by_name);
	*list = (const char *const *)names;
	return count;
}

void theme_use(const struct theme *t)
{
	current = *t;
}

const struct theme *theme_current(void)
{
	return &current;
}
