/* SPDX-License-Identifier: MIT */
#include "widgets/source.h"

#include "base/base.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES_MAX 1000000u /* of a file */
#define TEXT_BYTES 512u    /* of a line */
#define TAB 8u

static char folders[1024];

bool source_set_folders(const char *to)
{
	if (strlen(to) >= sizeof folders)
		return false;
	strcpy(folders, to);
	return true;
}

const char *source_folders(void)
{
	return folders;
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0;
}

/* The ends of a path below one folder. */
static bool find_below(const char *folder, int len, const char *file, char *out, size_t size)
{
	const char *home = len > 1 && !strncmp(folder, "~/", 2) ? getenv("HOME") : NULL;

	if (home) {
		folder++;
		len--;
	}
	while (*file == '/')
		file++;
	while (*file) {
		if (snprintf(out, size, "%s%.*s/%s", home ? home : "", len, folder, file) <
			    (int)size &&
		    is_file(out))
			return true;
		file += strcspn(file, "/");
		file += strspn(file, "/");
	}
	return false;
}

bool source_find(const char *file, char *out, size_t size)
{
	if (snprintf(out, size, "%s", file) < (int)size && is_file(out))
		return true;
	for (const char *f = folders; *f;) {
		size_t len = strcspn(f, ":");
		if (len && find_below(f, (int)len, file, out, size))
			return true;
		f += len + (f[len] == ':');
	}
	return false;
}

static void forget_lines(struct source_text *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->lines[i]);
	s->count = 0;
}

void source_release(struct source_text *s)
{
	forget_lines(s);
	free(s->file);
	free(s->path);
	*s = (struct source_text){ 0 };
}

static char *without_tabs(const char *text)
{
	char *out = xmalloc(strlen(text) * TAB + 1);
	size_t at = 0;

	for (; *text; text++)
		do
			out[at++] = *text == '\t' ? ' ' : *text;
		while (*text == '\t' && at % TAB);
	while (at && out[at - 1] == ' ')
		at--;
	out[at] = '\0';
	return out;
}

static void take_indent(struct source_text *s)
{
	size_t indent = SIZE_MAX;

	for (uint32_t i = 0; i < s->count; i++) {
		size_t blanks = strspn(s->lines[i], " ");
		if (s->lines[i][blanks])
			indent = blanks < indent ? blanks : indent;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		size_t len = strlen(s->lines[i]), cut = indent < len ? indent : len;
		memmove(s->lines[i], s->lines[i] + cut, len - cut + 1);
	}
}

static void read_lines(struct source_text *s, FILE *f)
{
	char text[TEXT_BYTES];
	uint32_t number = 0;

	s->first = s->line > SOURCE_AROUND ? s->line - SOURCE_AROUND : 1;
	while (number < LINES_MAX && s->count < SOURCE_LINES && number < s->line + SOURCE_AROUND &&
	       fgets(text, sizeof text, f)) {
		bool whole = strchr(text, '\n') != NULL;
		text[strcspn(text, "\r\n")] = 0;
		if (++number >= s->first)
			s->lines[s->count++] = without_tabs(text);
		for (int c; !whole && (c = fgetc(f)) != EOF && c != '\n';)
			;
	}
	take_indent(s);
}

/* Not waiting for what is no plain file after all. */
static FILE *open_file(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fdopen(fd, "r");
	if (fd >= 0)
		close(fd);
	return NULL;
}

void source_read(struct source_text *s, const char *file, uint32_t line)
{
	char path[PATH_MAX];
	struct stat st = { 0 };
	bool same = s->file && !strcmp(s->file, file) && s->line == line;
	FILE *f = source_find(file, path, sizeof path) ? open_file(path, &st) : NULL;
	uint64_t changed = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;

	if (!same || !f || !s->path || strcmp(s->path, path) || s->changed_ns != changed ||
	    s->size != (uint64_t)st.st_size) {
		char *name = xstrdup(file); /* file may be s->file */
		source_release(s);
		s->file = name;
		s->line = line;
		s->path = f ? xstrdup(path) : NULL;
		s->changed_ns = changed;
		s->size = (uint64_t)st.st_size;
		if (f)
			read_lines(s, f);
	}
	if (f)
		fclose(f);
}
