/* SPDX-License-Identifier: MIT
 *
 * regex.c - small regular expressions, for names of libraries.
 *
 * regcomp() allocates, takes locks and reads the locale. Hooks may do none of that, nor may the
 * server, which has no C library of its own. This matcher needs no memory but its two structs. It
 * takes these forms of POSIX extended expressions:
 *
 *     x   .   [abx-z]   [^...]   \x   (...)   a|b   x*   x+   x?   ^   $
 *
 * It lacks {n,m}, [[:class:]] and back references. An expression compiles into a program of a few
 * kinds of step, and matching follows all alternatives at once (Thompson, 1968): time is at most
 * program length times text length for any expression.
 */
#include "base/regex.h"

#include <string.h>

#define NESTED_MAX 16
#define SETS_MAX (sizeof(((struct regex *)0)->set) / sizeof(((struct regex *)0)->set[0]))

enum regex_kind { CHAR, ANY, SET, BEGIN, END, JUMP, SPLIT, MATCH };

struct parser {
	struct regex *r;
	const char *at;
	const char *wrong; /* the first thing */
	int nested;
};

static void fail(struct parser *p, const char *why)
{
	if (!p->wrong)
		p->wrong = why;
}

/* Makes room for a step at `where`: later steps move, and so do jumps to them. */
static struct regex_op *insert(struct parser *p, uint32_t where, uint8_t kind)
{
	struct regex *r = p->r;

	if (r->count >= REGEX_OPS) {
		fail(p, "is too long an expression");
		return &r->op[0];
	}
	memmove(&r->op[where + 1], &r->op[where], (r->count - where) * sizeof(r->op[0]));
	r->count++;
	for (uint32_t i = 0; i < r->count; i++) {
		struct regex_op *o = &r->op[i];
		/* what led here leads to the new one */
		uint32_t moved = i > where ? where : where + 1;
		if (i != where && (o->kind == JUMP || o->kind == SPLIT)) {
			o->to = (uint16_t)(o->to + (o->to >= moved));
			o->other = (uint16_t)(o->other + (o->other >= moved));
		}
	}
	r->op[where] = (struct regex_op){ .kind = kind };
	return &r->op[where];
}

static struct regex_op *append(struct parser *p, uint8_t kind)
{
	return insert(p, p->r->count, kind);
}

static void parse_set(struct parser *p)
{
	struct regex *r = p->r;
	uint8_t bits[32] = { 0 };
	bool invert = *p->at == '^';

	if (r->sets == SETS_MAX) {
		fail(p, "has too many brackets");
		return;
	}
	p->at += invert;
	const char *first = p->at;
	for (; *p->at && (*p->at != ']' || p->at == first); p->at++) {
		unsigned from = (unsigned char)*p->at, to = from;
		if (p->at[1] == '-' && p->at[2] && p->at[2] != ']') {
			to = (unsigned char)p->at[2];
			p->at += 2;
		}
		if (to < from)
			fail(p, "has a range that runs backwards");
		for (unsigned c = from; c <= to; c++)
			bits[c / 8] |= (uint8_t)(1u << c % 8);
	}
	if (!*p->at) {
		fail(p, "has a [ that is not closed");
		return;
	}
	p->at++;
	for (int i = 0; i < 32; i++)
		r->set[r->sets][i] = invert ? (uint8_t)~bits[i] : bits[i];
	append(p, SET)->to = (uint16_t)r->sets++;
}

static void parse_ways(struct parser *p);

/* One character, set or group; false: there is none here. */
static bool parse_atom(struct parser *p)
{
	char c = *p->at;

	if (!c || c == '|' || c == ')' || p->wrong)
		return false;
	if (strchr("*+?", c)) {
		fail(p, "repeats nothing with *, + or ?");
		return false;
	}
	if (c == '{') {
		fail(p, "has a {, which is not known here; write \\{ for the character");
		return false;
	}
	p->at++;
	if (c == '[') {
		parse_set(p);
	} else if (c == '(') {
		if (++p->nested > NESTED_MAX)
			fail(p, "is nested too deep");
		else
			parse_ways(p);
		p->nested--;
		if (*p->at != ')')
			fail(p, "has a ( that is not closed");
		else
			p->at++;
	} else if (c == '.') {
		append(p, ANY);
	} else if (c == '^') {
		append(p, BEGIN);
	} else if (c == '$') {
		append(p, END);
	} else {
		if (c == '\\' && !(c = *p->at++)) {
			fail(p, "ends in a backslash");
			return false;
		}
		append(p, CHAR)->c = (uint8_t)c;
	}
	return !p->wrong;
}

static void parse_sequence(struct parser *p)
{
	for (;;) {
		uint32_t start = p->r->count;
		if (!parse_atom(p))
			return;
		for (; strchr("*+?", *p->at) && *p->at && !p->wrong; p->at++) {
			struct regex_op *o;
			if (*p->at == '+') { /* again, or on */
				o = append(p, SPLIT);
				o->to = (uint16_t)start;
				o->other = (uint16_t)p->r->count;
				continue;
			}
			o = insert(p, start, SPLIT); /* through it, or past it */
			if (*p->at == '*')
				append(p, JUMP)->to = (uint16_t)start;
			o->to = (uint16_t)(start + 1);
			o->other = (uint16_t)p->r->count;
		}
	}
}

static void parse_ways(struct parser *p)
{
	uint32_t start = p->r->count;

	parse_sequence(p);
	while (*p->at == '|' && !p->wrong) {
		p->at++;
		/* SPLIT first second; first; JUMP end; second */
		insert(p, start, SPLIT)->to = (uint16_t)(start + 1);
		uint32_t jump = p->r->count;
		append(p, JUMP);
		p->r->op[start].other = (uint16_t)p->r->count;
		uint32_t second = p->r->count;
		parse_sequence(p);
		p->r->op[jump].to = (uint16_t)p->r->count;
		if (*p->at == '|')
			start = second; /* a|b|c is a|(b|c) */
	}
}

const char *mt_regex_compile(struct regex *r, const char *text)
{
	struct parser p = { .r = r, .at = text };

	r->count = r->sets = 0;
	parse_ways(&p);
	if (*p.at == ')')
		fail(&p, "has a ) without a (");
	append(&p, MATCH);
	if (p.wrong)
		r->count = 0;
	return p.wrong;
}

struct ways {
	uint64_t set[REGEX_OPS / 64];
};

/* Step i and all that is reached from it without a character. True: the end. */
static bool add(const struct regex *r, struct ways *w, uint32_t i, const char *text, const char *at)
{
	uint16_t stack[REGEX_OPS];
	uint32_t depth = 0;

	for (;;) {
		bool seen = w->set[i / 64] >> (i % 64) & 1;
		const struct regex_op *o = &r->op[i];
		w->set[i / 64] |= 1ull << i % 64;
		if (!seen && o->kind == MATCH)
			return true;
		if (!seen && (o->kind == JUMP || o->kind == SPLIT)) {
			if (o->kind == SPLIT && depth < REGEX_OPS)
				stack[depth++] = o->other;
			i = o->to;
			continue;
		}
		if (!seen && ((o->kind == BEGIN && at == text) || (o->kind == END && !*at))) {
			i++;
			continue;
		}
		if (!depth)
			return false;
		i = stack[--depth];
	}
}

static bool takes(const struct regex *r, const struct regex_op *o, uint8_t c)
{
	return o->kind == ANY || (o->kind == CHAR && o->c == c) ||
	       (o->kind == SET && r->set[o->to][c / 8] >> (c % 8) & 1);
}

bool mt_regex_match(const struct regex *r, const char *text)
{
	struct ways now = { { 0 } };

	if (!r->count)
		return false;
	for (const char *at = text;; at++) {
		struct ways next = { { 0 } };
		if (add(r, &now, 0, text, at)) /* it may begin here */
			return true;
		if (!*at)
			return false;
		for (uint32_t i = 0; i < r->count; i++)
			if (now.set[i / 64] >> (i % 64) & 1 && takes(r, &r->op[i], (uint8_t)*at) &&
			    add(r, &next, i + 1, text, at + 1))
				return true;
		now = next;
	}
}
