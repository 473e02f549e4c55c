/* SPDX-License-Identifier: MIT
 *
 * regex.h - small regular expressions, for names of libraries: the agent matches with them, and
 * memtop checks them before a program starts.
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
#ifndef MEMTOP_REGEX_H
#define MEMTOP_REGEX_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REGEX_OPS 512
#define REGEX_SETS 16
#define REGEX_NESTED_MAX 16

enum regex_kind {
	REGEX_CHAR,
	REGEX_ANY,
	REGEX_SET,
	REGEX_BEGIN,
	REGEX_END,
	REGEX_JUMP,
	REGEX_SPLIT,
	REGEX_MATCH
};

struct regex_op {
	uint8_t kind;       /* enum regex_kind */
	uint8_t c;          /* the character of CHAR */
	uint16_t to, other; /* JUMP and SPLIT: where to go on; SET: number of the set */
};

struct regex {
	uint32_t count, sets;
	struct regex_op op[REGEX_OPS];
	uint8_t set[REGEX_SETS][32]; /* a bit for each character */
};

struct regex_parser {
	struct regex *r;
	const char *at;
	const char *wrong; /* the first thing */
	int nested;
};

static inline void regex_fail(struct regex_parser *p, const char *why)
{
	if (!p->wrong)
		p->wrong = why;
}

/* Makes room for a step at `where`: later steps move, and so do jumps to them. */
static inline struct regex_op *regex_insert(struct regex_parser *p, uint32_t where, uint8_t kind)
{
	struct regex *r = p->r;

	if (r->count >= REGEX_OPS) {
		regex_fail(p, "is too long an expression");
		return &r->op[0];
	}
	memmove(&r->op[where + 1], &r->op[where], (r->count - where) * sizeof(r->op[0]));
	r->count++;
	for (uint32_t i = 0; i < r->count; i++) {
		struct regex_op *o = &r->op[i];
		/* what led here leads to the new one */
		uint32_t moved = i > where ? where : where + 1;
		if (i != where && (o->kind == REGEX_JUMP || o->kind == REGEX_SPLIT)) {
			o->to = (uint16_t)(o->to + (o->to >= moved));
			o->other = (uint16_t)(o->other + (o->other >= moved));
		}
	}
	r->op[where] = (struct regex_op){ .kind = kind };
	return &r->op[where];
}

static inline struct regex_op *regex_append(struct regex_parser *p, uint8_t kind)
{
	return regex_insert(p, p->r->count, kind);
}

static inline void regex_parse_set(struct regex_parser *p)
{
	struct regex *r = p->r;
	uint8_t bits[32] = { 0 };
	bool invert = *p->at == '^';

	if (r->sets == REGEX_SETS) {
		regex_fail(p, "has too many brackets");
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
			regex_fail(p, "has a range that runs backwards");
		for (unsigned c = from; c <= to; c++)
			bits[c / 8] |= (uint8_t)(1u << c % 8);
	}
	if (!*p->at) {
		regex_fail(p, "has a [ that is not closed");
		return;
	}
	p->at++;
	for (int i = 0; i < 32; i++)
		r->set[r->sets][i] = invert ? (uint8_t)~bits[i] : bits[i];
	regex_append(p, REGEX_SET)->to = (uint16_t)r->sets++;
}

static inline void regex_parse_ways(struct regex_parser *p);

/* One character, set or group; false: there is none here. */
static inline bool regex_parse_atom(struct regex_parser *p)
{
	char c = *p->at;

	if (!c || c == '|' || c == ')' || p->wrong)
		return false;
	if (strchr("*+?", c)) {
		regex_fail(p, "repeats nothing with *, + or ?");
		return false;
	}
	if (c == '{') {
		regex_fail(p, "has a {, which is not known here; write \\{ for the character");
		return false;
	}
	p->at++;
	if (c == '[') {
		regex_parse_set(p);
	} else if (c == '(') {
		if (++p->nested > REGEX_NESTED_MAX)
			regex_fail(p, "is nested too deep");
		else
			regex_parse_ways(p);
		p->nested--;
		if (*p->at != ')')
			regex_fail(p, "has a ( that is not closed");
		else
			p->at++;
	} else if (c == '.') {
		regex_append(p, REGEX_ANY);
	} else if (c == '^') {
		regex_append(p, REGEX_BEGIN);
	} else if (c == '$') {
		regex_append(p, REGEX_END);
	} else {
		if (c == '\\' && !(c = *p->at++)) {
			regex_fail(p, "ends in a backslash");
			return false;
		}
		regex_append(p, REGEX_CHAR)->c = (uint8_t)c;
	}
	return !p->wrong;
}

static inline void regex_parse_sequence(struct regex_parser *p)
{
	for (;;) {
		uint32_t start = p->r->count;
		if (!regex_parse_atom(p))
			return;
		for (; strchr("*+?", *p->at) && *p->at && !p->wrong; p->at++) {
			struct regex_op *o;
			if (*p->at == '+') { /* again, or on */
				o = regex_append(p, REGEX_SPLIT);
				o->to = (uint16_t)start;
				o->other = (uint16_t)p->r->count;
				continue;
			}
			o = regex_insert(p, start, REGEX_SPLIT); /* through it, or past it */
			if (*p->at == '*')
				regex_append(p, REGEX_JUMP)->to = (uint16_t)start;
			o->to = (uint16_t)(start + 1);
			o->other = (uint16_t)p->r->count;
		}
	}
}

static inline void regex_parse_ways(struct regex_parser *p)
{
	uint32_t start = p->r->count;

	regex_parse_sequence(p);
	while (*p->at == '|' && !p->wrong) {
		p->at++;
		/* REGEX_SPLIT first second; first; REGEX_JUMP end; second */
		regex_insert(p, start, REGEX_SPLIT)->to = (uint16_t)(start + 1);
		uint32_t jump = p->r->count;
		regex_append(p, REGEX_JUMP);
		p->r->op[start].other = (uint16_t)p->r->count;
		uint32_t second = p->r->count;
		regex_parse_sequence(p);
		p->r->op[jump].to = (uint16_t)p->r->count;
		if (*p->at == '|')
			start = second; /* a|b|c is a|(b|c) */
	}
}

/* NULL, or the error in the text, as the end of a sentence about it. */
static inline const char *mtw_regex_compile(struct regex *r, const char *text)
{
	struct regex_parser p = { .r = r, .at = text };

	r->count = r->sets = 0;
	regex_parse_ways(&p);
	if (*p.at == ')')
		regex_fail(&p, "has a ) without a (");
	regex_append(&p, REGEX_MATCH);
	if (p.wrong)
		r->count = 0;
	return p.wrong;
}

struct regex_ways {
	uint64_t set[REGEX_OPS / 64];
};

/* Step i and all that is reached from it without a character. True: the end. */
static inline bool regex_add(const struct regex *r, struct regex_ways *w, uint32_t i,
			     const char *text, const char *at)
{
	uint16_t stack[REGEX_OPS];
	uint32_t depth = 0;

	for (;;) {
		bool seen = w->set[i / 64] >> (i % 64) & 1;
		const struct regex_op *o = &r->op[i];
		w->set[i / 64] |= 1ull << i % 64;
		if (!seen && o->kind == REGEX_MATCH)
			return true;
		if (!seen && (o->kind == REGEX_JUMP || o->kind == REGEX_SPLIT)) {
			if (o->kind == REGEX_SPLIT && depth < REGEX_OPS)
				stack[depth++] = o->other;
			i = o->to;
			continue;
		}
		if (!seen &&
		    ((o->kind == REGEX_BEGIN && at == text) || (o->kind == REGEX_END && !*at))) {
			i++;
			continue;
		}
		if (!depth)
			return false;
		i = stack[--depth];
	}
}

static inline bool regex_takes(const struct regex *r, const struct regex_op *o, uint8_t c)
{
	return o->kind == REGEX_ANY || (o->kind == REGEX_CHAR && o->c == c) ||
	       (o->kind == REGEX_SET && r->set[o->to][c / 8] >> (c % 8) & 1);
}

/* matches anywhere in the text, as grep -E does */
static inline bool mtw_regex_match(const struct regex *r, const char *text)
{
	struct regex_ways now = { { 0 } };

	if (!r->count)
		return false;
	for (const char *at = text;; at++) {
		struct regex_ways next = { { 0 } };
		if (regex_add(r, &now, 0, text, at)) /* it may begin here */
			return true;
		if (!*at)
			return false;
		for (uint32_t i = 0; i < r->count; i++)
			if (now.set[i / 64] >> (i % 64) & 1 &&
			    regex_takes(r, &r->op[i], (uint8_t)*at) &&
			    regex_add(r, &next, i + 1, text, at + 1))
				return true;
		now = next;
	}
}

#endif
