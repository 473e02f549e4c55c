/* SPDX-License-Identifier: MIT
 *
 * expected.c - see owners/expected.h. Rules are few and tested about once per call site, so a list
 * suffices.
 */
#include "owners/expected.h"
#include "base/atomic_file.h"
#include "base/format.h"
#include "base/name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUILD_ID_BYTES 8u /* of it in a key */

struct expected {
	struct expected_rule *rules; /* texts are owned */
	size_t count, room;
	uint64_t version;
};

struct expected *expected_new(void)
{
	struct expected *e = xcalloc(1, sizeof *e);

	e->version = 1;
	return e;
}

void expected_free(struct expected *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->count; i++)
		free((char *)(uintptr_t)e->rules[i].text);
	free(e->rules);
	free(e);
}

/* Is it a module and a function, without anything that a line cannot hold? */
static bool is_rule(const char *rule)
{
	const char *mark = strchr(rule, '!');

	if (!mark || mark == rule || !mark[1] || strlen(rule) >= 2 * EXPECTED_KEY_MAX)
		return false;
	for (const char *c = rule; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return true;
}

/* Moves the rule to the end, where the newest one is. */
static void move_last(struct expected *e, size_t at)
{
	struct expected_rule r = e->rules[at];

	memmove(e->rules + at, e->rules + at + 1, (--e->count - at) * sizeof r);
	e->rules[e->count++] = r;
}

int expected_set(struct expected *e, const char *rule, bool on)
{
	if (!is_rule(rule))
		return -1;
	for (size_t i = 0; i < e->count; i++)
		if (!strcmp(e->rules[i].text, rule)) {
			move_last(e, i);
			e->rules[e->count - 1].on = on;
			e->version++;
			return 0;
		}
	if (e->count == EXPECTED_MAX)
		return -1;
	GROW(e->rules, e->room, e->count + 1);
	e->rules[e->count++] = (struct expected_rule){ xstrdup(rule), on };
	e->version++;
	return 0;
}

void expected_take(struct expected *e, const struct expected *from)
{
	for (size_t i = 0; i < from->count; i++)
		expected_set(e, from->rules[i].text, from->rules[i].on);
}

/* Backtracks only to the last `*`: it can match whatever an earlier one could match in addition. */
static bool matches(const char *rule, const char *key)
{
	const char *star = NULL, *from = NULL;

	for (;;) {
		bool literal = *rule == '\\' && rule[1];
		char want = literal ? rule[1] : *rule;

		if (!literal && want == '*') {
			star = ++rule;
			from = key;
		} else if (want == *key) {
			if (!want)
				return true;
			rule += 1 + literal;
			key++;
		} else if (star && *from) {
			rule = star;
			key = ++from;
		} else {
			return false;
		}
	}
}

/* The key without parameters and template arguments; "" = it is the same. */
static void shorten(const char *key, char out[EXPECTED_KEY_MAX])
{
	const char *function = strchr(key, '!');

	out[0] = '\0';
	if (!function || !strpbrk(function, "(<"))
		return;
	char *brief = name_brief(function + 1);
	snprintf(out, EXPECTED_KEY_MAX, "%.*s%s", (int)(function + 1 - key), key, brief);
	free(brief);
}

static bool rule_has(const struct expected_rule *r, const char *key, const char *brief)
{
	return matches(r->text, key) || (*brief && matches(r->text, brief));
}

bool expected_has(const struct expected *e, const char *key)
{
	char brief[EXPECTED_KEY_MAX];

	if (e->count)
		shorten(key, brief);
	for (size_t i = e->count; i-- > 0;)
		if (rule_has(&e->rules[i], key, brief))
			return e->rules[i].on;
	return false;
}

void expected_mark_used(const struct expected *e, const char *key, bool *used)
{
	char brief[EXPECTED_KEY_MAX];

	shorten(key, brief);
	for (size_t i = 0; i < e->count; i++)
		used[i] |= rule_has(&e->rules[i], key, brief);
}

uint64_t expected_version(const struct expected *e)
{
	return e->version;
}

size_t expected_rules(const struct expected *e, const struct expected_rule **rules)
{
	*rules = e->rules;
	return e->count;
}

/* Length without the suffix that the compiler gives a copy. */
static size_t plain_length(const char *function)
{
	static const char *const added[] = {
		" [clone ", ".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm.",
	};
	size_t len = strlen(function);

	for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
		const char *at = strstr(function, added[i]);
		if (at && at > function && (size_t)(at - function) < len)
			len = (size_t)(at - function);
	}
	return len;
}

void expected_key(char out[EXPECTED_KEY_MAX], const struct module *m, const char *function,
		  uint64_t offset)
{
	char id[2 * BUILD_ID_BYTES + 2] = "";
	const char *module = m ? m->name : "?";

	for (uint32_t i = 0; m && i < m->build_id_len && i < BUILD_ID_BYTES; i++)
		sprintf(id + (i ? 1 + 2 * i : 0), i ? "%02x" : "@%02x", m->build_id[i]);
	if (function)
		snprintf(out, EXPECTED_KEY_MAX, "%.255s!%.*s", module, (int)plain_length(function),
			 function);
	else
		snprintf(out, EXPECTED_KEY_MAX, "%.255s!+0x%" PRIx64 "%s", module, offset, id);
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

void expected_rule_of(char out[2 * EXPECTED_KEY_MAX], const char *key)
{
	while (*key) {
		if (*key == '*' || *key == '\\')
			*out++ = '\\';
		*out++ = *key++;
	}
	*out = '\0';
}

static char *trimmed(char *line)
{
	char *end = line + strlen(line);

	line += strspn(line, " \t");
	while (end > line && strchr(" \t\r\n", end[-1]))
		*--end = '\0';
	return line;
}

static bool take_line(struct expected *e, char *line)
{
	bool off = !strncmp(line, "not", 3) && (line[3] == ' ' || line[3] == '\t');

	if (off)
		line += 4 + strspn(line + 4, " \t");
	else if (!*line || *line == '#')
		return true;
	return expected_set(e, line, !off) == 0;
}

int expected_read(struct expected *e, const char *path, struct err *wrong, struct err *err)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0, number = 0, wrongs = 0;
	ssize_t len;

	if (!f)
		return err_set(
			err, 2,
			"%s: cannot be read: %s; name a suppression file, as w NAME.supp writes it",
			path, strerror(errno));
	while ((len = getline(&line, &room, f)) >= 0) {
		number++;
		if (strlen(line) == (size_t)len && take_line(e, trimmed(line)))
			continue;
		if (!wrongs++)
			err_set(wrong, 2, "%s:%zu: %s", path, number,
				e->count == EXPECTED_MAX
					? "too many suppressions: the rest is ignored"
					: "not a suppression (MODULE!FUNCTION): this line is "
					  "ignored");
	}
	int failed = ferror(f) ? errno : 0;
	free(line);
	fclose(f);
	if (failed)
		return err_set(
			err, 2,
			"%s: cannot be read: %s; name a suppression file, as w NAME.supp writes it",
			path, strerror(failed));
	if (wrongs > 1) {
		struct err first = *wrong;
		err_set(wrong, 2, "%s (and %zu more line%s)", first.text, wrongs - 1,
			format_s(wrongs - 1));
	}
	return 0;
}

int expected_write(const struct expected *e, const char *path, struct err *err)
{
	struct replacement r;

	if (atomic_file_begin(&r, path, err))
		return -1;
	FILE *f = atomic_file_stream(&r);
	bool bad = !f;
	if (f) {
		fprintf(f, "# memtop suppressions, for --suppress FILE: MODULE!FUNCTION of "
			   "expected call sites, * is any text\n");
		for (size_t i = 0; i < e->count; i++)
			fprintf(f, "%s%s\n", e->rules[i].on ? "" : "not ", e->rules[i].text);
		bad = ferror(f) != 0;
		bad |= fclose(f) != 0;
	}
	if (!bad)
		return atomic_file_end(&r, err);
	err_set(err, 3, "%s: cannot be written: %s; choose another place", path, strerror(errno));
	if (f)
		atomic_file_give_up(&r);
	return -1;
}
