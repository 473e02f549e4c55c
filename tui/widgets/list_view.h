/* SPDX-License-Identifier: MIT
 *
 * list_view.h - what every view is, and the list that most of them scroll. Main thread.
 *
 * A view asks the backend's query functions for rows in refresh() and keeps them; draw() only draws
 * those rows, so a key costs a redraw and never a query. Rows that may take long to make are a
 * thread's (app/asker.c): until they are there, the view has its last ones. Handlers return bits;
 * loop/view_loop.c acts on them. A view never includes the wire or curses.
 *
 * Rows do not jump: a list remembers the id of the selected row and, when the rows moved, puts that
 * row back on the screen line where it was.
 */
#ifndef LIST_VIEW_H
#define LIST_VIEW_H

#include "screen/draw.h"
#include "screen/keys.h"
#include "widgets/cells.h"

struct ui;
struct view;

enum { HITS_NONE = -1, HITS_COME = -2 }; /* instead of a number of hits */
/* The first: while the text is typed, of the tree from the row that was selected before. */
enum hit { HIT_FIRST, HIT_NEXT, HIT_PREVIOUS };

enum {
	VIEW_DRAW = 1u << 0,    /* draw again from the rows at hand */
	VIEW_REFRESH = 1u << 1, /* query again, keeping the order */
	VIEW_RESORT = 1u << 2,  /* query again and sort */
	VIEW_CLOSE = 1u << 3,   /* close the page */
	VIEW_IGNORED = 1u << 4, /* not an action of this view */
	VIEW_ANEW = 1u << 5,    /* the rows' meaning changed: search again */
};

/* The row for y and e. */
struct view_row {
	uint32_t leaf; /* call path: the heaviest node that the row stands for */
	/* the row's own source line, borrowed like the row; NULL = the call path's */
	const char *file;
	uint32_t line;
};

struct table;

struct view_ops {
	const char *title; /* of a page; NULL: a view of the list (screen/view_list.h) */
	const enum focus *(*foci)(struct view *v); /* innermost first, FOCUS_NONE ends */
	/* fixed foci, returned by view_keys() and table_view_foci() */
	enum focus keys[3];
	/* Rows anew: refresh(); or ask(), make() in any thread, which uses the query and what ask()
	 * left for it, and nothing else of the view, and take(), unless others are wanted by then.
	 */
	void (*refresh)(struct view *v, bool resort);
	void (*ask)(struct view *v, bool resort);
	void (*make)(struct view *v);
	bool (*take)(struct view *v); /* false: it must be made again */
	void (*draw)(struct view *v, const struct area *a);
	unsigned (*action)(struct view *v, enum action r);
	bool no_filter;      /* the filter does not apply to its rows */
	const char *no_diff; /* why d does nothing here; NULL = d works */
	/* Its list of rows, as columns: the tables that it may have, and the number of the present
	 * one. NULL: it has none; the first. */
	const struct table *tables;
	size_t (*shows)(const struct view *v);
	/* The current sort, a column's `sort`. May be NULL. */
	int *(*sort)(struct view *v);
	/* The view comes to the front. May be NULL. */
	void (*enter)(struct view *v);
	/* Esc: leaves the innermost state; false = there was none. May be NULL. */
	bool (*escape)(struct view *v);
	/* The text right of the tabs. May be NULL. */
	void (*caption)(struct view *v, bool brief, char *out, size_t size);
	/* The selected row; false = none, or none of a call path. May be NULL. */
	bool (*row)(struct view *v, struct view_row *r);
	/* The / prompt and n N. HITS_COME: with the next answer, ui->ops->found() has them. May be
	 * NULL. */
	long (*search)(struct view *v, const char *text, size_t *pending);
	unsigned (*next_hit)(struct view *v, enum hit which);
	void (*free)(struct view *v);
};

struct view { /* first member of each view's own struct */
	const struct view_ops *ops;
	struct ui *ui; /* views/ui.h */
};

/* A scrolled list of rows with ids. */

#define LIST_NONE SIZE_MAX

struct list {
	const void *rows;      /* an array, for a table; borrowed from the view */
	size_t count, at, top; /* rows; the selected one; the first on screen */
	int height;            /* rows on screen, as last drawn */
	uint64_t id;           /* of the selected row */
	bool touched;          /* the user chose a row; until then the first one is selected */
	bool first;            /* the user chose the first row, whichever that is */
};

typedef uint64_t list_id_fn(void *arg, size_t index);
typedef size_t list_find_fn(void *arg,
			    uint64_t id); /* LIST_NONE = gone; NULL: search by list_id_fn */

/* New rows are there. */
void list_update(struct list *l, size_t count, list_id_fn *id, list_find_fn *find, void *arg);
/* Selects a row and scrolls to it. */
void list_select(struct list *l, size_t index, list_id_fn *id, void *arg);
/* The user acted on the selected row: it stays selected, though nobody moved to it. */
void list_hold(struct list *l);
/* Movement actions; false = another action. */
bool list_action(struct list *l, enum action r, list_id_fn *id, void *arg);
/* Selects the next matching row, wrapping around; stays when no row matches. */
void list_next(struct list *l, bool backwards, bool (*matches)(void *arg, size_t row),
	       list_id_fn *id, void *arg);
/* For view_ops: returns .keys. */
const enum focus *view_keys(struct view *v);
/* Before drawing: sets the number of rows that fit. */
void list_fit(struct list *l, int height);

/* A list drawn as columns. */

#define TABLE_COLUMNS_MAX 16

/* A column in a table. */
struct table_column {
	const struct column *is;
	short rank; /* the highest is dropped first; 0 = never */
	/* 0 = the column's own; if that is 0, too, it takes what is left (one per table) */
	short width;
	/* from 110 columns on; 0 = the column's own, if any. With width 0: the preferred width */
	short wide;
};

/* SHOW(live, rank, width, wide) is column_live; what is left out is 0. */
#define SHOW(name, ...)                                                                            \
	{                                                                                          \
		.is = &column_##name, __VA_ARGS__                                                  \
	}

struct table {
	enum view_id view; /* whose columns the user may hide; VIEW_COUNT = nobody's */
	const struct table_column *columns;
	size_t count;
	size_t row_size;                    /* in list.rows */
	bool (*dim)(void *arg, size_t row); /* may be NULL */
	list_id_fn *id;
	bool (*hit)(void *arg, size_t row); /* matches the search; NULL = no search */
};

/* The members in their order, without the count; `type` is a row's. */
#define TABLE(of, list, type, ...)                                                                 \
	{                                                                                          \
		of, list, sizeof(list) / sizeof *(list), sizeof(type), __VA_ARGS__                 \
	}

/* The area's first line is the head. `reverse`: the least first. `focus`: this list takes the
 * keys. */
void table_draw(const struct table *t, const struct area *a, struct list *l, void *arg, int sort,
		bool reverse, bool focus);
/* Heads use column.direct (libraries by direct caller) until the next call. */
void table_direct(bool on);
/* The column is in the table, and there is room for it. */
bool table_shows(const struct table *t, int width, const struct column *column);
/* A column's text has it, or an id is it. */
bool table_finds(const struct table *t, const struct list *l, void *arg, size_t row,
		 const char *text);
/* The column with `sort`; NULL = the table has none. */
const struct column *table_sorted_by(const struct table *t, int sort);
/* The sort of the column beside the one with `sort`, shown or not; then: the sort's column is
 * shown. */
int table_sort_next(const struct table *t, int sort, int step);
bool table_shows_sort(const struct table *t, int sort);
/* The sort of the next shown column. */
int table_sort_beside(const struct table *t, int sort, int step);

static inline const struct table *view_table(const struct view *v)
{
	return &v->ops->tables[v->ops->shows ? v->ops->shows(v) : 0];
}

#endif
