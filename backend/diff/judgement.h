/* SPDX-License-Identifier: MIT
 *
 * judgement.h - is what a row of the live view shows a change, or noise? Of the rows that the view
 * has on a diff's session (diff/session.h): the call tree from either end, call sites, owners, as
 * the filter has them. Main thread only.
 *
 * The rule is diff_judge()'s, on the exact amounts of each session: the view's own are rounded
 * means.
 */
#ifndef DIFF_JUDGEMENT_H
#define DIFF_JUDGEMENT_H

#include "diff/tree.h"
#include "query/query.h"

struct diff_judgement {
	enum diff_kind kind;
	bool noise;
	bool none;                /* not judged: a row of several small ones */
	uint64_t low[2], high[2]; /* of A's sessions, and of B's */
};

/* Each fills `count` judgements, in the order of the rows. The time they take follows the count of
 * stacks. */
void diff_judge_rows(const struct diff_tree *t, struct query *q, const struct row *rows,
		     size_t count, struct diff_judgement *out);
void diff_judge_sites(const struct diff_tree *t, struct query *q, const struct site *sites,
		      size_t count, struct diff_judgement *out);
void diff_judge_owners(const struct diff_tree *t, struct owners *o, const struct owner *list,
		       size_t count, struct diff_judgement *out);
/* inclusive: with all below the node. */
void diff_judge_node(const struct diff_tree *t, uint32_t node, bool inclusive,
		     struct diff_judgement *out);

/* What B holds by line of a source file, each stack at its own line, where the session shows joined
 * stacks at one: the mean of B's sessions. *list, in order, is the caller's. */
size_t diff_lines(const struct diff *d, const char *file, struct source_line **list);

#endif
