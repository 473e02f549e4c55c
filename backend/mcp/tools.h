/* SPDX-License-Identifier: MIT
 *
 * tools.h - the tools of `memtop mcp`: their descriptions, their arguments, their answers as text.
 * Main thread only.
 *
 * An answer is a text of at most max_bytes; a longer one is cut at a line, and its last line says
 * how to ask for the rest.
 */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "mcp/targets.h"

#include <jansson.h>

struct owners;
struct query;
struct tool_call {
	struct targets *targets;
	json_t *arguments;                    /* an object, or NULL */
	struct watch *watch;                  /* NULL for a tool that opens none */
	char word[TARGETS_WORD], process[64]; /* of tool_target() */
	FILE *out;
};

struct tool {
	const char *name, *title, *description;
	const char *properties; /* of its inputSchema, as JSON, without the common ones */
	bool targets;           /* it opens a target */
	bool changes;           /* it changes something: marks, files, processes */
	bool control;           /* it is there with --allow-control only */
	/* Writes the answer. 0; -1 and *err, which is a sentence for the model that asked. */
	int (*run)(struct tool_call *c, struct err *err);
};

/* A call's own query, with all names. */
struct tool_view {
	struct model *model;
	struct owners *owners;
	struct query *query;
};
void tool_view_open(struct tool_view *v, struct watch *w);
void tool_view_close(struct tool_view *v);
/* Text of the target, without control characters. */
void tool_put(FILE *out, const char *text);

/* mcp/list.c */
int tool_list_processes(struct tool_call *c, struct err *err);
/* mcp/answers.c */
int tool_report(struct tool_call *c, struct err *err);
int tool_tree(struct tool_call *c, struct err *err);
int tool_owners(struct tool_call *c, struct err *err);
int tool_sites(struct tool_call *c, struct err *err);
int tool_diff(struct tool_call *c, struct err *err);
int tool_mark(struct tool_call *c, struct err *err);
int tool_verdict(struct tool_call *c, struct err *err);
int tool_site_stacks(struct tool_call *c, struct err *err);
/* mcp/verbs.c */
int tool_diff_sessions(struct tool_call *c, struct err *err);
int tool_check(struct tool_call *c, struct err *err);
int tool_record(struct tool_call *c, struct err *err);
int tool_attach(struct tool_call *c, struct err *err);
int tool_detach(struct tool_call *c, struct err *err);

json_t *tools_list(const struct targets *t);
const struct tool *tools_find(const struct targets *t, const char *name); /* NULL = none */
json_t *tools_call(struct targets *t, const struct tool *tool, json_t *arguments);

/* Arguments: 0; -1 and *err when one has another type or is out of bounds. */

int tool_text(const struct tool_call *c, const char *name, const char **text, struct err *err);
int tool_number(const struct tool_call *c, const char *name, size_t least, size_t most,
		size_t *number, struct err *err);
/* target and process, or what they are when not given */
int tool_target(struct tool_call *c, struct err *err);
int tool_flag(const struct tool_call *c, const char *name, bool *flag, struct err *err);

#endif
