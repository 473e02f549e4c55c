/* SPDX-License-Identifier: MIT
 *
 * name.c - the forms of one name: what name_parts.h says is kept of it. They are cut out at its
 * brackets, since libiberty's own option to omit parameters keeps template arguments.
 */
#include "base/name_parts.h"

#include <ctype.h>
#include <string.h>

/* The name being shortened: at..end of the full one, and the short one so far. */
struct cut {
	const char *at, *end;
	char *out;
	size_t len;
	unsigned keep; /* NAME_... */
};

static void put(struct cut *c, const char *s, size_t n)
{
	memcpy(c->out + c->len, s, n);
	c->len += n;
}

/* Behind the bracket that closes the one at p. Arrows and shifts are no brackets. */
const char *name_skip(const char *p, const char *end)
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

/* Template arguments that nobody writes. */
static size_t default_argument(const char *s)
{
	static const char *const defaults[] = {
		", std::allocator<", ", std::char_traits<",    ", std::less<",
		", std::hash<",      ", std::default_delete<", ", std::equal_to<",
	};

	for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
		if (!strncmp(s, defaults[i], strlen(defaults[i])))
			return strlen(defaults[i]);
	return 0;
}

/* What stands in brackets, without namespaces and default arguments, and (but for NAME_NESTED)
 * without the arguments of its arguments. */
static void put_simple(struct cut *c, const char *s, const char *end)
{
	size_t from = c->len, n;

	while (s < end) {
		if (c->len > from && !strncmp(s, "::", 2)) {
			while (c->len > from && is_word(c->out[c->len - 1]))
				c->len--;
			s += 2;
		} else if ((n = default_argument(s)) != 0) {
			s = name_skip(s + n - 1, end);
		} else if (*s == '<' && !(c->keep & NAME_NESTED)) {
			s = name_skip(s, end);
		} else {
			put(c, s++, 1);
		}
	}
	while (c->len > from && c->out[c->len - 1] == ' ')
		c->len--;
}

/* The brackets at c->at, when they are kept. */
static void take_bracket(struct cut *c, bool kept)
{
	const char *end = name_skip(c->at, c->end);

	if (kept && c->keep & NAME_RAW) {
		put(c, c->at, (size_t)(end - c->at));
	} else if (kept && end - c->at > 1) {
		put(c, c->at, 1);
		put_simple(c, c->at + 1, end - 1);
		put(c, end - 1, 1);
	}
	c->at = end;
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
			take_bracket(c, c->keep & NAME_ARGUMENTS);
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
	const char *end = name_skip(c->at, c->end), *as = end > c->at ? end - 1 : end;
	int depth = 0;

	for (const char *p = c->at + 1; p + 4 < end; p++) {
		depth += *p == '<';
		depth -= *p == '>';
		if (depth == 0 && !memcmp(p, " as ", 4)) {
			as = p;
			break;
		}
	}
	struct cut inner = { c->at + 1, as, c->out, c->len, c->keep };
	shorten(&inner);
	c->len = inner.len;
	c->at = end;
}

/* {lambda(int)#1}: kept, without its parameters. */
static void take_brace(struct cut *c)
{
	const char *end = name_skip(c->at, c->end);

	while (c->at < end) {
		if (*c->at == '(') {
			take_bracket(c, c->keep & NAME_PARAMETERS);
			continue;
		}
		put(c, c->at, 1);
		c->at++;
	}
}

/* True: the name ends with them. */
static bool take_parameters(struct cut *c)
{
	if (c->len && c->out[c->len - 1] == '.') { /* Go: net/http.(*conn).serve */
		const char *end = name_skip(c->at, c->end);
		put(c, c->at, (size_t)(end - c->at));
		c->at = end;
		return false;
	}
	take_bracket(c, c->keep & NAME_PARAMETERS);
	while (starts(c, " const") || starts(c, " volatile")) {
		size_t n = starts(c, " const") ? 6 : 9;
		put(c, c->at, c->keep & NAME_VERSION ? n : 0);
		c->at += n;
	}
	return !starts(c, "::");
}

static void shorten(struct cut *c)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t begin = c->len; /* of the name; its return type stands before a space */

	while (c->at < c->end) {
		char ch = *c->at;
		if (ch == '<' && c->len == begin && !(c->keep & NAME_ARGUMENTS)) {
			take_impl(c);
		} else if (ch == '<') {
			take_bracket(c, c->keep & NAME_ARGUMENTS);
		} else if (ch == '[' && starts(c, "[abi:")) {
			take_bracket(c, c->keep & NAME_VERSION);
		} else if (starts(c, anonymous)) {
			put(c, anonymous, sizeof anonymous - 1);
			c->at += sizeof anonymous - 1;
		} else if (starts(c, "decltype") &&
			   (c->len == begin || !is_word(c->out[c->len - 1]))) {
			c->at += 8 + starts(&(struct cut){ c->at + 8, c->end, NULL, 0, 0 }, " ");
			c->at = c->at < c->end && *c->at == '(' ? name_skip(c->at, c->end) : c->at;
		} else if (ch == '(') {
			if (take_parameters(c))
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

/* " [clone .part.0] [clone .cold]" as ".part.0.cold" */
static void put_clones(struct cut *c, const char *s)
{
	for (; (s = strstr(s, "[clone ")) != NULL; s = strchr(s, ']')) {
		s += strlen("[clone ");
		put(c, s, strcspn(s, "]"));
		if (!strchr(s, ']'))
			return;
	}
}

char *name_form(const char *full, unsigned keep)
{
	size_t n = strlen(full);

	if (n && full[0] == '[' && full[n - 1] == ']') /* memtop's own words: "[no stacks: ...]" */
		return xstrdup(full);
	const char *clone = strstr(full, " [clone ");
	struct cut c = { full, clone ? clone : full + n, xmalloc(n + 1), 0, keep };

	shorten(&c);
	if (clone && keep & NAME_VERSION)
		put_clones(&c, clone);
	c.out[c.len] = '\0';
	if (!c.len)
		memcpy(c.out, full, n + 1);
	return c.out;
}

char *name_brief(const char *full)
{
	return name_form(full, 0);
}

const char *name_qualified(const char *full)
{
	const char *begin = full;
	int nested = 0;

	for (const char *c = full; *c; c++) {
		if (*c == '<' || *c == '[')
			nested++;
		else if ((*c == '>' && c > full && c[-1] != '-') || *c == ']')
			nested--;
		if (nested > 0)
			continue;
		/* What follows may hold '<', '(' or spaces of its own: the name has begun
		 * before. */
		if (!strncmp(c, "operator", 8) &&
		    (c == full || c[-1] == ':' || c[-1] == ' ' || c[-1] == '*' || c[-1] == '&'))
			break;
		if (*c == '(') {
			if (strncmp(c, "(anonymous", 10))
				break;
			c = strchr(c, ')');
			if (!c)
				break;
		} else if (*c == ' ') {
			begin = c + 1;
		}
	}
	return begin;
}
