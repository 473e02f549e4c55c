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

#include "views/every.h"
#include "views/others.h"
#include "views/process_rows.h"
#include "widgets/figures.h"
#include "widgets/graph.h"
#include "widgets/interval.h"
#include "widgets/list_view.h"
#include "widgets/prompt.h"
#include "widgets/status.h"

enum view_id {
	VIEW_OVERVIEW,
	VIEW_TREE,
	VIEW_SITES,
	VIEW_LIBS,
	VIEW_MARKS,
	VIEW_THREADS,
	VIEW_MEMORY,
	VIEW_OUTPUT,
	VIEW_COUNT,
};

/* Of the process that is shown: all of it changes when another one is. */
struct shown {
	struct watch *watch;     /* borrowed from the processes */
	struct model *model;     /* borrowed from the watch; may show the past */
	struct symbols *symbols; /* borrowed from the watch */
	struct owners *owners;
	struct query *query;
	struct figures figures;
	struct graph_time time; /* what of it the graphs show; a view with a graph changes it */
	char filter[256];       /* "" = none */
	char search[256];       /* "" = nothing is searched for */
};

struct ui_ops;

struct ui {
	const struct ui_ops *ops;
	struct shown shown;
	struct processes *processes; /* borrowed */
	struct others others;        /* the processes beside the shown one */
	/* kept, and changed by their page, which is not always there */
	struct process_list process_list;
	struct every every;
	struct prompt prompt; /* a view may open it */
	bool paused;
	int building; /* percent done of what is on the screen; -1 = that is whole */
	/* another refresh is due, as a tick makes it; a view may set it */
	bool moved;
};

/* What a view asks for; all but one return what its handler returns then. What asks for another
 * page or view may be gone by then. */
struct ui_ops {
	unsigned (*show)(struct ui *ui, enum view_id v);
	unsigned (*show_node)(struct ui *ui, uint32_t node); /* in the tree, selected */
	/* The tree of what a library owns, of what a thread allocated. */
	unsigned (*show_owner)(struct ui *ui, uint32_t module, const char *name);
	unsigned (*show_thread)(struct ui *ui, uint32_t tid);
	int (*show_process)(struct ui *ui, uint32_t id); /* -1: it cannot be, which was said */
	/* The page of a call path; `stacks`: how many the row stands for, it is the heaviest. */
	unsigned (*show_detail)(struct ui *ui, uint32_t leaf, bool inclusive, uint32_t stacks);
	unsigned (*choose_program)(struct ui *ui);               /* another one, beside the tree */
	unsigned (*expect)(struct ui *ui, const struct site *s); /* or not any more */
};

/* Why there is nothing to see, in one sentence. */
const char *ui_empty_reason(const struct ui *ui);
/* LIVE and BLOCKS are of some threads' blocks; rates and what was ever allocated are of all
 * threads. */
bool ui_of_threads(const struct ui *ui);

#endif
