/* SPDX-License-Identifier: MIT
 *
 * config.c - see app/config.h. The file is written under another name and renamed, so it is never
 * half written.
 */
#include "app/config.h"

#include "base/atomic_file.h"
#include "widgets/columns.h"
#include "screen/keys.h"
#include "widgets/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct config config = { .mouse = true, .inlined = true };
static struct err wrong; /* the first line that is */
static unsigned wrongs;

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

static bool set_units(const char *value, char *why, size_t size)
{
	if (text_units_named(value, &config.units))
		return true;
	snprintf(why, size, "\"%.40s\" is neither auto, mib nor bytes", value);
	return false;
}

static bool set_key(const char *name, const char *keys, char *why, size_t size)
{
	enum action r;

	if (!action_named(name, &r)) {
		snprintf(why, size, "no action \"%.40s\"; memtop --keys lists the names", name);
		return false;
	}
	return action_set_keys(r, keys, why, size);
}

static bool take_line(char *name, char *value, char *why, size_t size)
{
	if (!strcmp(name, "theme") && strlen(value) < sizeof config.theme)
		return strcpy(config.theme, value);
	if (!strcmp(name, "source") && source_set_folders(value))
		return true;
	if (!strcmp(name, "ascii"))
		return yes_or_no(value, &config.ascii, why, size);
	if (!strcmp(name, "mouse"))
		return yes_or_no(value, &config.mouse, why, size);
	if (!strcmp(name, "percent"))
		return yes_or_no(value, &config.percent, why, size);
	if (!strcmp(name, "direct"))
		return yes_or_no(value, &config.direct, why, size);
	if (!strcmp(name, "inlined"))
		return yes_or_no(value, &config.inlined, why, size);
	if (!strcmp(name, "units"))
		return set_units(value, why, size);
	if (!strncmp(name, "key", 3) && (name[3] == ' ' || name[3] == '\t'))
		return set_key(trimmed(name + 4), value, why, size);
	if (!strncmp(name, "hide", 4) && (name[4] == ' ' || name[4] == '\t'))
		return columns_set(trimmed(name + 5), value, why, size);
	snprintf(why, size, "no setting \"%.40s\"", name);
	return false;
}

/* True: it was a longer line; what is left of it is passed over. */
static bool too_long(const char *line, FILE *f)
{
	int c = 0;

	if (strchr(line, '\n') || feof(f))
		return false;
	while ((c = fgetc(f)) != EOF && c != '\n')
		;
	return true;
}

static void read_file(const char *path, FILE *f)
{
	char line[1024], why[160];

	for (unsigned number = 1; fgets(line, sizeof line, f); number++) {
		bool cut = too_long(line, f), good = false;
		char *name = trimmed(line), *equals = strchr(name, '=');
		if (!*name || *name == '#')
			continue;
		snprintf(why, sizeof why,
			 cut ? "the line is too long" : "not of the form name = value");
		if (equals && !cut) {
			char *value = equals + 1 + strspn(equals + 1, " \t");
			/* The key '#' begins no comment. */
			char *comment = *value ? strstr(value + 1, " #") : NULL;
			if (comment)
				*comment = 0;
			*equals = 0;
			good = take_line(trimmed(name), trimmed(value), why, sizeof why);
		}
		if (!good && !wrongs++)
			err_set(&wrong, 2, "%s:%u: %s", path, number, why);
	}
	if (ferror(f))
		err_set(&wrong, 2, "%s: cannot be read: %s", path, strerror(errno));
}

/* A pipe would be waited for. */
static FILE *open_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fdopen(fd, "r");
	if (fd >= 0) {
		close(fd);
		errno = EINVAL;
	}
	return NULL;
}

const struct config *config_get(struct err *said)
{
	static bool done;
	char dir[PATH_MAX], path[PATH_MAX + 8];

	if (!done && folder(dir, sizeof dir) == 0) {
		snprintf(path, sizeof path, "%s/config", dir);
		FILE *f = open_file(path);
		if (f) {
			read_file(path, f);
			fclose(f);
		} else if (errno != ENOENT && errno != ENOTDIR) {
			err_set(&wrong, 2, "%s: cannot be read: %s", path,
				errno == EINVAL ? "not a file" : strerror(errno));
		}
	}
	done = true;
	if (said && wrongs > 1)
		err_set(said, 2, "%s (and %u more line%s)", wrong.text, wrongs - 1,
			format_s(wrongs - 1));
	else if (said && wrong.text[0])
		*said = wrong;
	return &config;
}

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
	char keys[128], word[32];

	fprintf(f, "# written by memtop (:write-config)\n");
	if (c->theme[0])
		fprintf(f, "theme = %s\n", c->theme);
	fprintf(f, "mouse = %s\npercent = %s\n", c->mouse ? "yes" : "no",
		c->percent ? "yes" : "no");
	fprintf(f, "direct = %s\ninlined = %s\n", c->direct ? "yes" : "no",
		c->inlined ? "yes" : "no");
	fprintf(f, "units = %s\n", text_units_word(c->units));
	if (c->ascii)
		fprintf(f, "ascii = yes\n");
	if (*source_folders())
		fprintf(f, "source = %s\n", source_folders());
	columns_write(f);
	/* Unbinds first, so that other actions may take the keys in any order. */
	for (int pass = 0; pass < 2; pass++)
		for (int r = 1; r < ACT_COUNT; r++) {
			action_keys_written((enum action)r, keys, sizeof keys);
			if (strcmp(keys, action_info((enum action)r)->keys) && (pass == 0 || *keys))
				fprintf(f, "key %s =%s%s\n", action_word((enum action)r, word),
					pass ? " " : "", pass ? keys : "");
		}
}

int config_write(const struct config *c, char *path, size_t size, struct err *err)
{
	char dir[PATH_MAX];
	struct replacement r;

	path[0] = 0;
	if (folder(dir, sizeof dir))
		return err_set(err, 2, "no folder for it; set HOME or XDG_CONFIG_HOME");
	make_folder(dir);
	snprintf(path, size, "%s/config", dir);
	if (atomic_file_begin(&r, path, err))
		return -1;
	FILE *f = atomic_file_stream(&r);
	bool bad = !f;
	if (f) {
		put(f, c);
		bad = ferror(f) != 0;
		bad |= fclose(f) != 0;
	}
	if (!bad)
		return atomic_file_end(&r, err);
	err_set(err, 2, "%s: cannot be written: %s", path, strerror(errno));
	if (f)
		atomic_file_give_up(&r);
	return -1;
}
