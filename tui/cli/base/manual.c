/* SPDX-License-Identifier: MIT */
#include "cli/base/manual.h"

#include "base/base.h"
#include "screen/keys.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 256

static void put_char(char c, FILE *out)
{
	if (c == '\\')
		fputs("\\e", out);
	else if (c == '-')
		fputs("\\-", out);
	else
		putc(c, out);
}

static void put_text(const char *text, size_t len, FILE *out)
{
	for (size_t i = 0; i < len; i++)
		put_char(text[i], out);
}

static bool is_name(char c)
{
	return c && !strchr(" []|", c);
}

/* A synopsis: what the user replaces has capitals and is in italics; brackets are plain. */
static void put_synopsis(const char *s, FILE *out)
{
	while (*s) {
		size_t len = 0;

		while (is_name(s[len]) && strncmp(s + len, "...", 3) != 0)
			len++;
		if (len) {
			fputs(isupper((unsigned char)*s) ? "\\fI" : "\\fB", out);
			put_text(s, len, out);
			fputs("\\fR", out);
		} else {
			len = strncmp(s, "...", 3) ? 1 : 3;
			fwrite(s, 1, len, out);
		}
		s += len;
	}
}

/* Sentences, a line each; `x` and an option are in bold. */
static void put_sentences(const char *s, FILE *out)
{
	bool bold = false;

	/* A line must not begin like a request of roff. */
	if (*s == '.' || *s == '\'')
		fputs("\\&", out);
	for (const char *at = s; *at; at++) {
		bool begins = at == s || strchr(" (\"", at[-1]);
		size_t len = 0;

		if (*at == '`') {
			fputs(bold ? "\\fP" : "\\fB", out);
			bold = !bold;
		} else if (!bold && begins && *at == '-' && at[1] != ' ') {
			while (isalnum((unsigned char)at[len]) || at[len] == '-')
				len++;
			fputs("\\fB", out);
			put_text(at, len, out);
			fputs("\\fP", out);
			at += len - 1;
		} else if (*at == ' ' && at > s && at[-1] == '.' &&
			   (isupper((unsigned char)at[1]) || at[1] == '`' || at[1] == '^')) {
			putc('\n', out);
		} else if (*at == '\n') {
			fputs("\n.IP\n", out);
		} else {
			put_char(*at, out);
		}
	}
}

static bool same(const struct option_spec *a, const struct option_spec *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->help, b->help);
}

static bool has(const struct verb *v, const struct option_spec *o)
{
	for (const struct option_spec *own = v->options; own->name; own++)
		if (same(own, o))
			return true;
	return false;
}

static void put_verbs(const struct verb *const *verbs, const struct option_spec *o, FILE *out)
{
	const char *lead = "(";

	for (const struct verb *const *v = verbs; *v; v++) {
		if (!has(*v, o))
			continue;
		fprintf(out, "%s%s", lead, (*v)->name ? (*v)->name : "TARGET");
		lead = ", ";
	}
	fputs(")\n", out);
}

static void put_option(const struct verb *const *verbs, const struct option_spec *o, FILE *out)
{
	fputs(".TP\n\\fB", out);
	if (o->letter)
		fprintf(out, "\\-%c\\fR, \\fB", o->letter);
	fputs("\\-\\-", out);
	put_text(o->name, strlen(o->name), out);
	fputs("\\fR", out);
	if (o->value)
		fprintf(out, " \\fI%s\\fR", o->value);
	putc('\n', out);
	put_sentences(o->help, out);
	putc('\n', out);
	put_verbs(verbs, o, out);
	if (o->more) {
		fputs(".br\n", out);
		put_sentences(o->more, out);
		putc('\n', out);
	}
}

/*
 * Each row once, by name, with the verbs that have it. Inserted in order: rows of one name stay in
 * the verbs' order.
 */
static void put_options(const struct verb *const *verbs, FILE *out)
{
	const struct option_spec *list[OPTIONS_MAX];
	size_t count = 0;

	for (const struct verb *const *v = verbs; *v; v++)
		for (const struct option_spec *o = (*v)->options; o->name; o++) {
			size_t at = 0;

			while (at < count && !same(list[at], o))
				at++;
			if (at < count || count == OPTIONS_MAX)
				continue;
			for (; at && strcmp(list[at - 1]->name, o->name) > 0; at--)
				list[at] = list[at - 1];
			list[at] = o;
			count++;
		}
	for (size_t i = 0; i < count; i++)
		put_option(verbs, list[i], out);
}

static void put_keys(FILE *out)
{
	char *text = NULL;
	size_t len = 0;
	FILE *keys = open_memstream(&text, &len);

	if (!keys)
		return;
	keys_print(keys);
	fclose(keys);
	put_text(text, len, out);
	free(text);
}

void manual_print(const struct verb *const *verbs, FILE *out)
{
	fprintf(out, MANUAL_PART "synopsis\n");
	for (const struct verb *const *v = verbs; *v; v++)
		for (const char *const *s = (*v)->synopsis; *s; s++) {
			fputs("\\fBmemtop\\fR ", out);
			put_synopsis(*s, out);
			putc('\n', out);
		}
	fprintf(out, MANUAL_PART "options\n");
	put_options(verbs, out);
	fprintf(out, MANUAL_PART "keys\n");
	put_keys(out);
}
