/* SPDX-License-Identifier: MIT
 *
 * demangle.c - demangling by libiberty, and short names for rows.
 *
 * Only names with a mangled prefix go to the demangler, with the options of __cxa_demangle: it
 * takes other names ("i", "main") for types. The short form is cut from the full one at its
 * brackets, since libiberty's own option to omit parameters keeps template arguments.
 */
#include "symbols/demangle.h"

#include "base/base.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

char *demangle(const char *raw)
{
	char *name = rust_demangle(raw, DMGL_PARAMS);

	if (!name && raw[0] == '_' && raw[1] == 'Z')
		name = cplus_demangle_v3(raw, DMGL_PARAMS | DMGL_TYPES);
	if (!name)
		return xstrdup(raw);
	char *copy = xstrdup(name); /* libiberty's own allocator may differ under a sanitizer */
	free(name);
	return copy;
}

/* The name being shortened: at..end of the full one, and the short one so far. */
struct cut {
	const char *at, *end;
	char *out;
	size_t len;
};

static void put(struct cut *c, const char *s, size_t n)
{
	memcpy(c->out + c->len, s, n);
	c->len += n;
}

/* Behind the bracket that closes the one at p. Arrows and shifts are no brackets. */
static const char *skip_bracket(const char *p, const char *end)
{
	char stack[64];
	size_t depth = 0;

	for (; p < end; p++) {
		char close = *p == '<'   ? '>'
			     : *p == '(' ? ')'
			     : *p == '{' ? '}'
			     : *p == '[' ? ']'
					 : 0;
		if (*p == '-' && p + 1 < end && p[1] == '>') {
			p++;
		} else if (close) {
			if (depth == sizeof stack)
				return end;
			stack[depth++] = close;
		} else if (depth && *p == stack[depth - 1]) {
			if (--depth == 0)
				return p + 1;
		} else if (depth && stack[depth - 1] == '>' && strchr(")}]", *p)) {
			/* "operator<" or a comparison inside: the outer bracket closes it, too. */
			while (depth && stack[depth - 1] == '>')
				depth--;
			p--;
		}
	}
	return end;
}

static bool starts(const struct cut *c, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(c->end - c->at) >= n && !memcmp(c->at, word, n);
}

static bool is_word(char ch)
{
	return isalnum((unsigned char)ch) || ch == '_' || ch == '$';
}

/* operator+, operator(), operator new[], operator unsigned int: up to the parameters. */
static void take_operator(struct cut *c)
{
	put(c, c->at, 8);
	c->at += 8;
	if (starts(c, "()")) {
		put(c, "()", 2);
		c->at += 2;
		return;
	}
	if (c->at < c->end && strchr("<>=!+-*/%^&|~,[", *c->at)) {
		while (c->at < c->end && strchr("<>=!+-*/%^&|~,[]", *c->at)) {
			put(c, c->at, 1);
			c->at++;
		}
		if (starts(c, " <"))
			c->at++;
		return;
	}
	while (c->at < c->end && *c->at != '(') {
		if (*c->at == '<') {
			c->at = skip_bracket(c->at, c->end);
			continue;
		}
		put(c, c->at, 1);
		c->at++;
	}
}

static void shorten(struct cut *c);

/* "<alloc::vec::Vec<T> as Drop>::drop": of the brackets, the type before " as ". */
static void take_impl(struct cut *c)
{
	const char *end = skip_bracket(c->at, c->end), *as = end > c->at ? end - 1 : end;
	int depth = 0;

	for (const char *p = c->at + 1; p + 4 < end; p++) {
		depth += *p == '<';
		depth -= *p == '>';
		if (depth == 0 && !memcmp(p, " as ", 4)) {
			as = p;
			break;
		}
	}
	struct cut inner = { c->at + 1, as, c->out, c->len };
	shorten(&inner);
	c->len = inner.len;
	c->at = end;
}

/* {lambda(int)#1}: kept, without its parameters. */
static void take_brace(struct cut *c)
{
	const char *end = skip_bracket(c->at, c->end);

	while (c->at < end) {
		if (*c->at == '(') {
			c->at = skip_bracket(c->at, end);
			continue;
		}
		put(c, c->at, 1);
		c->at++;
	}
}

static void shorten(struct cut *c)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t begin = c->len; /* of the name; its return type stands before a space */

	while (c->at < c->end) {
		char ch = *c->at;
		if (ch == '<' && c->len == begin) {
			take_impl(c);
		} else if (ch == '<' || (ch == '[' && starts(c, "[abi:"))) {
			c->at = skip_bracket(c->at, c->end);
		} else if (starts(c, anonymous)) {
			put(c, anonymous, sizeof anonymous - 1);
			c->at += sizeof anonymous - 1;
		} else if (starts(c, "decltype") &&
			   (c->len == begin || !is_word(c->out[c->len - 1]))) {
			c->at += 8 + starts(&(struct cut){ c->at + 8, c->end, NULL, 0 }, " ");
			c->at = c->at < c->end && *c->at == '(' ? skip_bracket(c->at, c->end)
								: c->at;
		} else if (ch == '(') {
			c->at = skip_bracket(c->at, c->end);
			while (starts(c, " const") || starts(c, " volatile"))
				c->at += starts(c, " const") ? 6 : 9;
			if (!starts(c, "::"))
				return;
		} else if (ch == '{') {
			take_brace(c);
		} else if (ch == ' ') {
			c->len = begin;
			c->at++;
		} else if (starts(c, "operator") &&
			   (c->len == begin || !is_word(c->out[c->len - 1])) &&
			   (c->at + 8 >= c->end || !is_word(c->at[8]))) {
			take_operator(c);
		} else {
			put(c, &ch, 1);
			c->at++;
		}
	}
}

char *demangle_short(const char *full)
{
	size_t n = strlen(full);

	if (full[0] == '[' && full[n - 1] == ']') /* memtop's own words: "[no stacks: ...]" */
		return xstrdup(full);
	const char *clone = strstr(full, " [clone ");
	struct cut c = { full, clone ? clone : full + n, xmalloc(n + 1), 0 };

	shorten(&c);
	c.out[c.len] = '\0';
	if (!c.len)
		memcpy(c.out, full, n + 1);
	return c.out;
}
