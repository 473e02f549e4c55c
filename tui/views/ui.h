/* SPDX-License-Identifier: MIT
 *
 * ui.h - what a view knows of memtop around it, and the requests that it may make. Main thread.
 *
 * A view reads all fields and writes only those whose comment says so. It asks for everything else:
 * by the bits that a handler returns (widgets/list_view.h), or by a request below. The app fills
 * both in; no view knows the app.
 */
#ifndef UI_H
#define UI_H

#include "process/every.h"
#include "process/others.h"
#include "process/process_rows.h"
#include "widgets/figures.h"
#include "widgets/graph.h"
#include "widgets/interval.h"
#include "widgets/list_view.h"
#include "widgets/prompt.h"
#include "widgets/status.h"

/* The shown process; all of it changes with the process. */
struct shown {
	struct watch *watch;     /* borrowed from the processes */
	struct model *model;     /* borrowed from the watch; may show the past */
	struct symbols *symbols; /* borrowed from the watch */
	struct owners *owners;
	struct query *query;
	struct figures figures;
	struct graph_time time; /* the graphs' time; a view with a graph changes it */
	char filter[256];       /* "" = none */
	char search[256];       /* "" = no search */
};

struct ui_ops;
struct diff_tree;

struct ui {
	const struct ui_ops *ops;
	struct shown shown;
	struct processes *processes; /* borrowed */
	/* what the shown session is a diff of; NULL = of one program; borrowed */
	const struct diff_tree *compared;
	struct others others; /* the other processes */
	/* state of the process page, kept while it is closed */
	struct process_list process_list;
	struct every every;
	char window[MTW_NAME_MAX + 1]; /* the open one of :window; "" = none */
	int output_fd;                 /* the started program's output file; -1 = none */
	struct prompt prompt;          /* a view may open it */
	bool paused;
	/* a refresh is due, as after a tick; a view may set it */
	bool moved;
};

typedef void ui_change_fn(struct ui *ui, uint32_t id);

/* A view's requests. All but one return the bits that its handler then returns. After a request for
 * another page or view the caller may be freed. */
struct ui_ops {
	unsigned (*show)(struct ui *ui, enum view_id v);
	unsigned (*show_node)(struct ui *ui, uint32_t node); /* selects it in the tree */
	/* The tree of a library's memory, of a thread's allocations. */
	unsigned (*show_owner)(struct ui *ui, uint32_t module, const char *name);
	unsigned (*show_thread)(struct ui *ui, uint32_t tid);
	int (*show_process)(struct ui *ui, uint32_t id); /* -1: impossible; the status line says
							  * why */
	/* The page of a call path; `stacks`: stacks summed in the row, leaf is the heaviest. */
	unsigned (*show_detail)(struct ui *ui, uint32_t leaf, bool inclusive, uint32_t stacks);
	unsigned (*choose_program)(struct ui *ui);               /* outside the tree */
	unsigned (*expect)(struct ui *ui, const struct site *s); /* toggles */
	/* Changes what the query answers to this view, before its next answer: at once unless one
	 * is made. */
	void (*later)(struct ui *ui, enum view_id of, ui_change_fn *fn, uint32_t id);
	void (*found)(struct ui *ui, size_t hits, size_t pending); /* what a search waits for */
};

bool ui_of_all(const struct ui *ui); /* all processes as one are shown */
/* An agent can be asked: the shown process' own, or of all any one. */
bool ui_linked(const struct ui *ui);
/* One sentence: why the view is empty. */
const char *ui_empty_reason(const struct ui *ui);
/* A thread filter is on: LIVE and BLOCKS count its threads; rates and totals since the start count
 * all threads. */
bool ui_of_threads(const struct ui *ui);

#endif
