/* SPDX-License-Identifier: MIT
 *
 * lists.h - a stack as a list of pcs, innermost first: from the judge (libunwind's unw_step), or
 * from a node of the agent's trie.
 */
#ifndef LISTS_H
#define LISTS_H

#define UNW_LOCAL_ONLY
#include "base/types.h"
#include "modules/maps.h"
#include "unwind/stacks.h"

#include <libunwind.h>
#include <memtop/wire.h>
#include <stdio.h>
#include <string.h>

#define DEEPEST 250
#define RESTORER_BYTES 9 /* mov $15, %rax; syscall */

struct list {
	int n;
	uintptr_t pc[DEEPEST + 8];
	bool exact[DEEPEST + 8]; /* interrupted there */
};

/*
 * The judge. Starts in the calling frame's caller or further out, where pc and sp are those of `r`.
 * `restorer`: what signal handlers return to, 0 = there are none. It tells where a signal came:
 * unw_is_signal_frame() mixes frames up when threads share its cache. That code may be interrupted
 * itself.
 */
static inline __attribute__((always_inline)) void list_judge(const struct regs *r,
							     uintptr_t restorer, struct list *out)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc, sp;
	bool met = false;

	out->n = 0;
	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		unw_get_reg(&cursor, UNW_REG_SP, &sp);
		met = met || (pc == r->pc && sp == r->sp);
		if (met && pc && out->n < DEEPEST) {
			out->exact[out->n] = out->n && restorer &&
					     out->pc[out->n - 1] - restorer < RESTORER_BYTES;
			out->pc[out->n++] = pc;
		}
	} while (unw_step(&cursor) > 0);
}

/* Of a node's path; returns the reason that it hangs under. */
static inline unsigned list_path(node_id node, struct list *out)
{
	out->n = 0;
	while (node) {
		const struct node *n = mt_stacks_node(node);
		const struct code *c = mt_stacks_code_at(node_code(n));
		if (c->kind == MTW_NODE_TRUNCATED)
			return (unsigned)c->offset;
		if (out->n < DEEPEST) {
			out->exact[out->n] = c->kind == MTW_NODE_SIGNAL;
			out->pc[out->n++] = c->pc;
		}
		node = node_parent(n);
	}
	return MTW_TRUNC_NONE;
}

static inline bool list_equal(const struct list *a, const struct list *b, bool kinds)
{
	if (a->n != b->n || memcmp(a->pc, b->pc, (size_t)a->n * sizeof(*a->pc)))
		return false;
	return !kinds || !memcmp(a->exact, b->exact, (size_t)a->n * sizeof(*a->exact));
}

static inline void list_print(FILE *to, const char *what, const struct list *l)
{
	fprintf(to, "  %-10s", what);
	for (int i = 0; i < l->n; i++) {
		struct module *m = mt_maps_find(l->pc[i]);
		const char *slash = m ? strrchr(m->path, '/') : NULL;
		fprintf(to, " %s%s+%lx", l->exact[i] ? "!" : "", slash ? slash + 1 : "?",
			(unsigned long)(l->pc[i] - (m ? m->bias : 0)));
	}
	fputc('\n', to);
}

#endif
