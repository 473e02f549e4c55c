/* SPDX-License-Identifier: MIT
 *
 * limits.h - the limits of `memtop check`, as a user writes them. No state; any thread.
 *
 *   limit = [lib:PATTERN[?]= | fn:PATTERN[?]=] AMOUNT   "10M", "lib:ssl=2M", "fn:parse_*?=1000"
 *           all= | all: before it                        "all=100M", "all:lib:ssl=20M"
 *
 * One with `all` is held against all processes of a tree together (processes/all.h), another one
 * against each process.
 * A limit covers the whole heap, the stacks of an owner (lib:), or the stacks that pass through a
 * function (fn:). `*` stands for any text. A library's pattern without `*` may match a part of the
 * name; a function's must match the whole name, with or without its parameters. A name that no
 * process has fails, because the limit would hold whatever the program does; `?` allows it.
 */
#ifndef CHECK_LIMITS_H
#define CHECK_LIMITS_H

#include "base/base.h"

enum check_kind {
	CHECK_LIVE,
	CHECK_PEAK,
	CHECK_LEAKED, /* alive at exit */
	CHECK_GROWTH, /* between two marks */
	CHECK_BLOCKS,
	CHECK_RATE, /* allocated per second */
	CHECK_LIMITS,
	CHECK_BASELINE = CHECK_LIMITS, /* against another session */
	CHECK_GROWING,                 /* the verdict on growth */
	CHECK_WHOLE,                   /* is the session whole? */
	CHECK_CRASH,                   /* did a signal end the process? */
	CHECK_KINDS
};

struct limit {
	enum check_kind kind;
	enum { COVERS_ALL, COVERS_LIBRARY, COVERS_FUNCTION } covers;
	char *text;    /* owned; as given */
	char *where;   /* owned; "lib:ssl", "" = the whole heap */
	bool tree;     /* of all processes together */
	char *pattern; /* owned; see check/pattern.h; NULL = the whole heap */
	bool optional; /* no process needs to have the name */
	uint64_t most; /* bytes, or limit_counts_blocks(); of CHECK_RATE bytes per second */
};

const char *limit_option(enum check_kind kind); /* "max-live" */
bool limit_counts_blocks(enum check_kind kind); /* else bytes */
/* Holds it for a process that exec replaced by another program? What was alive then is no leak. */
bool limit_outlives_exec(enum check_kind kind);
/* 0, then the caller releases it; -1 and *err (2): not a limit. */
int limit_parse(struct limit *l, enum check_kind kind, const char *text, struct err *err);
void limit_release(struct limit *l);

/* What a figure may exceed the baseline's by: a share of it, plus bytes. */
struct tolerance {
	double share; /* 0.05 */
	uint64_t bytes;
};
#define TOLERANCE_DEFAULT "5%,1K"
/* "5%", "64K" or "5%,64K"; a part that is not given keeps its default. */
int tolerance_parse(struct tolerance *t, const char *text, struct err *err);
/* the most that a figure may be, which was `before` */
uint64_t tolerance_most(const struct tolerance *t, uint64_t before);

#endif
