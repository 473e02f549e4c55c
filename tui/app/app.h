/* SPDX-License-Identifier: MIT
 *
 * app.h - one live view: what it watches, which views it has, what the user chose. Main thread.
 *
 *   app/app.c      event wiring: loop -> keys, ticks, signals; when to query, when to draw
 *   app/shown.c    which process of the tree is shown; the others are kept as they were left
 *   app/actions.c  requests that belong to no single view: marks, diff, theme, help, back, quit
 *   app/chrome.c    what is drawn around every view: header, verdict, tabs, last line
 *
 * Views may read everything here; they change the base, filter or view only by the functions below.
 */
#ifndef APP_H
#define APP_H

#include "widgets/graph.h"
#include "link/budget.h"
#include "widgets/figures.h"
#include "app/find.h"
#include "app/others.h"
#include "app/process_rows.h"
#include "widgets/prompt.h"
#include "widgets/status.h"
#include "app/travel.h"
#include "app/tui.h"
#include "widgets/list_view.h"

struct loop_source;

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

/* Marks that set themselves: app/auto_mark.c. All 0: none. */
struct every {
	uint64_t ns, next_ns; /* by the clock: now_ns() of the next one */
	uint64_t bytes, live; /* by growth; live: at the last one */
};

/* Members that are a struct of their own, too, as the kernel's struct_group_tagged(): a->model is
 * a->shown.model. */
#define STRUCT_GROUP(tag, name, ...)                                                               \
	union {                                                                                    \
		struct {                                                                           \
			__VA_ARGS__                                                                \
		};                                                                                 \
		struct tag {                                                                       \
			__VA_ARGS__                                                                \
		} name;                                                                            \
	}

struct app {
	struct loop *loop;
	struct processes *processes; /* borrowed */
	struct watch *first;         /* of the process that was started or named; borrowed */
	const struct tui_options *options;
	/* Of the process that is shown; put away and brought back as one when another is
	 * (app/shown.c). */
	STRUCT_GROUP(shown, shown, struct watch *watch; /* borrowed from the processes */
		     struct model * model;     /* borrowed from the watch; may show the past */
		     struct symbols * symbols; /* borrowed from the watch */
		     struct owners * owners; struct query * query; struct figures figures;
		     struct budget budget;            /* --max-overhead */
		     struct view * views[VIEW_COUNT]; /* NULL: not in this session */
		     enum view_id current; struct find find; char filter[256];
		     struct graph_time time; /* what of it the graphs show */
		     struct travel travel;   /* to there */
	);
	uint32_t wanted;     /* the process that is shown as soon as its agent listens; 0 = none */
	struct shown **kept; /* put away; owned */
	size_t kept_count, kept_room;
	struct others others;
	struct {
		struct process_rows rows;
		int sort; /* enum process_sort */
		bool reverse;
	} process_list; /* views/processes.c: kept while it is not on the screen */
	uint64_t offered, offer_after_ns; /* app/offer.c */
	struct theme theme;

	struct view *page; /* help or detail, over the current view; NULL = none */
	struct prompt prompt;

	/* what the user chose */
	struct every every;
	bool percent; /* live sizes as shares of all that is live */
	/* at one time, that was seen: columns of sizes do not become narrower again */
	uint64_t most_held;
	bool paused;
	bool mouse; /* clicks are ours, not the terminal's */

	/* when what was done last, now_ns() */
	uint64_t key_ns, sort_ns, view_ns;
	uint64_t refresh_cost_ns; /* of the last refresh: a huge tree is queried less often */
	bool moved;               /* the model changed since the last refresh */
	bool due;                 /* ... in a way that does not wait for its turn */

	/* slices of what is being made anew (app/app.c) */
	size_t fixed_steps;   /* tests: of every slice (MEMTOP_TEST_STEPS); 0 = as many as fit */
	int building;         /* percent done of what is on the screen; -1 = that is whole */
	bool rows_whole;      /* ... as of the last refresh */
	bool working;         /* something is not: the verdict, too */
	bool resort_due;      /* sort when it is */
	uint64_t building_ns; /* when all of it began */
	struct loop_source *go_on;

	struct loop_source *sources[12];
	size_t source_count;
	FILE *key_log;
	/* the child was asked to end: leave then, or with its last state; 0 = no */
	uint64_t leave_ns;
	bool quit;
	int status; /* what tui_run() returns */
};

/* --- app/app.c */
struct view *app_view(struct app *a);                 /* the page, or the current view */
void app_refresh(struct app *a, bool resort);         /* query again (does not draw) */
void app_act(struct app *a, unsigned bits);           /* what a handler returned */
void app_show(struct app *a, enum view_id v);         /* bring a view to the front */
void app_open_page(struct app *a, struct view *page); /* takes it */
void app_close_page(struct app *a);
void app_watch(struct app *a, struct watch *w); /* show this process, as it was left */
void app_quit(struct app *a, int status);

/* --- app/shown.c: w's process takes the place of the one that is shown; true: it was shown
 * before */
bool shown_change(struct app *a, struct watch *w);
void shown_go_on(struct app *a); /* the processes changed: the one that is wanted may be there */
void shown_release(struct app *a);

/* --- app/actions.c */
unsigned action_request(struct app *a, enum request r);
/* What BORN, GONE, NET count: from a mark's id (0 = start) to one's (0 = now). 0, 0: no diff. */
unsigned action_set_interval(struct app *a, uint32_t from, uint32_t to);
bool action_diffing(const struct app *a);
bool action_between(const struct app *a); /* it ends at a mark, not now */
/* "since m2 warm" or "m1 .. m3 after 2k"; brief: without the marks' own names. */
void action_interval_name(const struct app *a, bool brief, char *out, size_t size);
/* Of the interval that was asked for, and percent worked out; -1: rows count in it. */
int action_counting(const struct app *a, bool brief, char *out, size_t size);
/* "m2" or "m2 warm" */
void action_mark_name(const struct app *a, uint32_t mark, char *out, size_t size);
/* Shows a trie node in the tree, selected. */
unsigned action_show_node(struct app *a, uint32_t node);

/* --- app/dispatch.c: to the view in front, or to app/actions.c */
unsigned action_key(struct app *a, int key); /* a key or a click; not of the prompt */
unsigned action_view_request(struct app *a, enum request r); /* VIEW_IGNORED: not in this view */

/* --- app/expect.c: the site is expected, or not any more; in the session, too */
unsigned action_expect(struct app *a, const struct site *s);

/* --- app/filter.c: LIVE and BLOCKS are of some threads' blocks; rates and what was ever allocated
 * are of all threads */
bool filter_of_threads(const struct app *a);

/* --- app/auto_mark.c */
/* "every 60 s, next in 12 s"; "" = none */
void auto_mark_words(const struct app *a, char *out, size_t size);

/* --- app/chrome.c */
void frame_draw(struct app *a);
/* Lines of the overview's graphs above the tabs; 0 = the screen is too low for them. */
int frame_graph_height(void);
/* Why there is nothing to see, in one sentence. */
const char *frame_empty_reason(const struct app *a);

/* --- v_*.c: the views' makers */
struct view *view_overview_new(struct app *a);
struct view *view_tree_new(struct app *a);
struct view *view_sites_new(struct app *a);
struct view *view_libs_new(struct app *a);
struct view *view_marks_new(struct app *a);
struct view *view_threads_new(struct app *a);
struct view *view_memory_new(struct app *a);
struct view *view_output_new(struct app *a);
struct view *view_help_new(struct app *a);
struct view *view_agent_new(struct app *a);
struct view *view_processes_new(struct app *a);
bool view_is_processes(const struct view *v); /* false: another view, or NULL */
struct view *view_columns_new(struct app *a); /* of the current view, which has a table */
/* `stacks`: how many the row stands for; this one is the heaviest. */
struct view *view_detail_new(struct app *a, uint32_t leaf, bool inclusive, uint32_t stacks);
void view_tree_select_node(struct view *v, uint32_t node);
unsigned view_tree_inlined(struct view *v, bool on); /* inlined functions are rows */
void view_tree_zoom_owner(struct view *v, uint32_t module, const char *name);
void view_marks_pick(struct view *v);
bool view_sites_by_rate(const struct view *v); /* what it is sorted by */

#endif
