/* SPDX-License-Identifier: MIT
 *
 * config.c - see config.h. Written as a new file that takes the old one's name: it is never half.
 */
#include "config.h"

#include "keys.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct config config = { .mouse = true };

/* The folder; -1 when there is no home. */
static int folder(char *out, size_t size)
{
	const char *given = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (given && *given)
		snprintf(out, size, "%.3000s/memtop", given);
	else if (home && *home)
		snprintf(out, size, "%.3000s/.config/memtop", home);
	else
		return -1;
	return 0;
}

static char *trimmed(char *s)
{
	char *end = s + strlen(s);

	s += strspn(s, " \t");
	while (end > s && strchr(" \t\r\n", end[-1]))
		*--end = 0;
	return s;
}

static bool yes_or_no(const char *value, bool *to, char *why, size_t size)
{
	bool yes = !strcmp(value, "yes");

	if (!yes && strcmp(value, "no")) {
		snprintf(why, size, "\"%.40s\" is neither yes nor no", value);
		return false;
	}
	*to = yes;
	return true;
}

static bool set_key(const char *name, const char *keys, char *why, size_t size)
{
	enum request r;

	if (!request_named(name, &r)) {
		snprintf(why, size, "nothing is called \"%.40s\"; memtop --keys lists the names", name);
		return false;
	}
	return request_set_keys(r, keys, why, size);
}

static bool take_line(char *name, char *value, char *why, size_t size)
{
	if (!strcmp(name, "theme") && strlen(value) < sizeof config.theme)
		return strcpy(config.theme, value);
	if (!strcmp(name, "ascii"))
		return yes_or_no(value, &config.ascii, why, size);
	if (!strcmp(name, "mouse"))
		return yes_or_no(value, &config.mouse, why, size);
	if (!strcmp(name, "percent"))
		return yes_or_no(value, &config.percent, why, size);
	if (!strncmp(name, "key ", 4))
		return set_key(trimmed(name + 4), value, why, size);
	snprintf(why, size, "there is no \"%.40s\"", name);
	return false;
}

static void read_file(const char *path, FILE *f, struct err *said)
{
	char line[1024], why[160];

	for (unsigned number = 1; fgets(line, sizeof line, f); number++) {
		char *name = trimmed(line), *equals = strchr(name, '=');
		bool good = false;
		if (!*name || *name == '#')
			continue;
		snprintf(why, sizeof why, "not of the form name = value");
		if (equals) {
			char *comment = strstr(equals, " #");
			if (comment)
				*comment = 0;
			*equals = 0;
			good = take_line(trimmed(name), trimmed(equals + 1), why, sizeof why);
		}
		if (!good && said && !said->text[0])
			err_set(said, 2, "%s:%u: %s; the rest of it counts", path, number, why);
	}
}

const struct config *config_get(struct err *said)
{
	static bool done;
	char dir[PATH_MAX], path[PATH_MAX + 8];

	if (done || folder(dir, sizeof dir))
		return &config;
	done = true;
	snprintf(path, sizeof path, "%s/config", dir);
	FILE *f = fopen(path, "re");
	if (f) {
		read_file(path, f, said);
		fclose(f);
	} else if (errno != ENOENT && errno != ENOTDIR && said) {
		err_set(said, 2, "%s: cannot be read: %s", path, strerror(errno));
	}
	return &config;
}

/* --- writing */

/* The folder and the one above it; that they are there already is fine. */
static void make_folder(char *dir)
{
	char *slash = strrchr(dir, '/');

	*slash = 0;
	mkdir(dir, 0700);
	*slash = '/';
	mkdir(dir, 0700);
}

static void put(FILE *f, const struct config *c)
{
	char keys[128], own[128], word[32];

	fprintf(f, "# written by memtop (:write-config)\n");
	if (c->theme[0])
		fprintf(f, "theme = %s\n", c->theme);
	fprintf(f, "mouse = %s\npercent = %s\n", c->mouse ? "yes" : "no", c->percent ? "yes" : "no");
	if (c->ascii)
		fprintf(f, "ascii = yes\n");
	for (int r = 1; r < REQ_COUNT; r++) {
		request_keys_written((enum request)r, keys, sizeof keys);
		snprintf(own, sizeof own, "%s", request_info((enum request)r)->keys);
		if (strcmp(keys, own))
			fprintf(f, "key %s = %s\n", request_word((enum request)r, word), keys);
	}
}

int config_write(const struct config *c, char *path, size_t size, struct err *err)
{
	char dir[PATH_MAX], part[PATH_MAX + 16];

	path[0] = 0;
	if (folder(dir, sizeof dir))
		return err_set(err, 2, "there is no home for it; set HOME or XDG_CONFIG_HOME");
	make_folder(dir);
	snprintf(path, size, "%s/config", dir);
	snprintf(part, sizeof part, "%s/config.new", dir);
	FILE *f = fopen(part, "we");
	if (!f)
		return err_set(err, 2, "%s: cannot be written: %s", part, strerror(errno));
	put(f, c);
	bool bad = ferror(f);
	bad |= fclose(f) != 0;
	if (bad || rename(part, path)) {
		err_set(err, 2, "%s: cannot be written: %s", path, strerror(errno));
		unlink(part);
		return -1;
	}
	return 0;
}
