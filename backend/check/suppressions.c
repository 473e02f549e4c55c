/* SPDX-License-Identifier: MIT */
#include "check/suppressions.h"

#include "base/format.h"
#include "check/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_MAX_BYTES 8192u

struct suppressions {
	struct expected *own;
	struct rule *rules;
	size_t count, room;
};

struct suppressions *suppressions_new(void)
{
	struct suppressions *s = xcalloc(1, sizeof *s);

	s->own = expected_new();
	return s;
}

void suppressions_free(struct suppressions *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		rule_release(&s->rules[i]);
	free(s->rules);
	expected_free(s->own);
	free(s);
}

struct expected *suppressions_own(const struct suppressions *s)
{
	return s->own;
}

size_t suppressions_count(const struct suppressions *s)
{
	return s->count;
}

const char *suppressions_name(const struct suppressions *s, size_t i)
{
	return s->rules[i].name;
}

const char *suppressions_place(const struct suppressions *s, size_t i)
{
	return s->rules[i].place;
}

enum form { FORM_OWN, FORM_LSAN, FORM_VALGRIND };

struct reading {
	struct suppressions *s;
	const char *path;
	struct err *wrong;
	size_t line, begin, wrongs; /* begin: line of the rule's first */
	struct valgrind_reader valgrind;
};

static char *trimmed(char *line)
{
	char *end = line + strlen(line);

	line += strspn(line, " \t");
	while (end > line && strchr(" \t\r\n", end[-1]))
		*--end = '\0';
	return line;
}

static bool is_word(const char *line)
{
	size_t len = strspn(line, "abcdefghijklmnopqrstuvwxyz_");

	return len && line[len] == ':' && !strchr(line, '!');
}

static enum form form_of(const char *line)
{
	return !strcmp(line, "{") ? FORM_VALGRIND : is_word(line) ? FORM_LSAN : FORM_OWN;
}

static int cannot_read(const char *path, const char *why, struct err *err)
{
	return err_set(err, 2, "%s: cannot be read: %s; name a suppression file", path, why);
}

static void note_wrong(struct reading *r, const char *what)
{
	if (!r->wrongs++)
		err_set(r->wrong, 2, "%s:%zu: %s: it is ignored", r->path, r->line, what);
}

static void take(struct reading *r, struct rule *rule)
{
	struct suppressions *s = r->s;

	if (s->count == SUPPRESSIONS_MAX) {
		note_wrong(r, "too many suppressions");
		rule_release(rule);
		return;
	}
	GROW(s->rules, s->room, s->count + 1);
	rule->place = xasprintf("%s:%zu", r->path, r->begin);
	s->rules[s->count++] = *rule;
	*rule = (struct rule){ 0 };
}

static void read_lsan(struct reading *r, const char *line)
{
	struct rule rule;

	if (!*line || *line == '#')
		return;
	r->begin = r->line;
	if (lsan_read(line, &rule))
		take(r, &rule);
	else
		note_wrong(r, "not a suppression of leaks (leak:PATTERN)");
}

static void read_valgrind(struct reading *r, const char *line)
{
	if (!r->valgrind.at)
		r->begin = r->line;
	int rc = valgrind_read(&r->valgrind, line);

	if (rc > 0)
		take(r, &r->valgrind.rule);
	else if (rc < 0)
		note_wrong(r, "not a line of a valgrind suppression that memtop can use");
}

static void read_lines(struct reading *r, FILE *f, enum form form)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	while ((len = getline(&line, &room, f)) >= 0) {
		r->line++;
		if (strlen(line) != (size_t)len || (size_t)len > LINE_MAX_BYTES) {
			note_wrong(r, "not a line of text");
			r->valgrind.broken = true;
		} else if (form == FORM_LSAN) {
			read_lsan(r, trimmed(line));
		} else {
			read_valgrind(r, trimmed(line));
		}
	}
	free(line);
	if (r->valgrind.at) {
		note_wrong(r, "the last suppression has no }");
		rule_release(&r->valgrind.rule);
	}
}

/* From the first line that tells; an empty file is memtop's own. */
static enum form recognise(FILE *f)
{
	char *line = NULL;
	size_t room = 0;
	enum form form = FORM_OWN;

	while (getline(&line, &room, f) >= 0) {
		const char *text = trimmed(line);
		if (!*text || *text == '#')
			continue;
		form = form_of(text);
		break;
	}
	free(line);
	rewind(f);
	return form;
}

/* Neither a device without an end nor a pipe, which nobody may write and which can be read only
 * once. */
static int check_size(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st))
		return cannot_read(path, strerror(errno), err);
	if (!S_ISREG(st.st_mode))
		return cannot_read(path, "it is not a plain file", err);
	if (st.st_size > (off_t)SUPPRESSIONS_FILE_MAX)
		return cannot_read(path, "it is larger than 8M", err);
	return 0;
}

int suppressions_read(struct suppressions *s, const char *path, struct err *wrong, struct err *err)
{
	struct reading r = { .s = s, .path = path, .wrong = wrong };
	FILE *f = check_size(path, err) ? NULL : fopen(path, "re");

	if (!f)
		return err->status ? -1 : cannot_read(path, strerror(errno), err);
	enum form form = recognise(f);
	if (form != FORM_OWN)
		read_lines(&r, f, form);
	int failed = ferror(f) ? errno : 0;
	fclose(f);
	if (failed)
		return cannot_read(path, strerror(failed), err);
	if (form == FORM_OWN)
		return expected_read(s->own, path, wrong, err);
	if (r.wrongs > 1) {
		struct err first = *wrong;
		err_set(wrong, 2, "%s (and %zu more line%s)", first.text, r.wrongs - 1,
			format_s(r.wrongs - 1));
	}
	return 0;
}

#define FRAMES_MAX 512

size_t suppressions_match(const struct suppressions *s, const struct model *m,
			  const struct frame_out *frames, size_t count, bool *used)
{
	struct rule_frame seen[FRAMES_MAX];
	size_t n = 0;

	for (size_t i = 0; s->count && i < count && n < FRAMES_MAX; i++) {
		const struct frame_out *f = &frames[i];
		const struct module *k = model_module(m, f->module_id);

		if (!f->has_offset && !f->address && !f->module)
			continue; /* stands for frames that are not known */
		seen[n++] = (struct rule_frame){
			.function = f->function,
			.file = f->file,
			.module = f->module,
			.path = k ? k->path : NULL,
			.line = f->line,
			.libc = k && (k->flags & MTW_MODULE_LIBC),
			.inlined = f->inlined,
		};
	}
	size_t first = SIZE_MAX;
	for (size_t i = 0; i < s->count; i++) {
		const struct rule *r = &s->rules[i];
		if (first < i && used[i])
			continue;
		if (r->pattern ? lsan_matches(r, seen, n) : valgrind_matches(r, seen, n)) {
			used[i] = true;
			first = first < i ? first : i;
		}
	}
	return first;
}
