/* SPDX-License-Identifier: MIT
 *
 * view_list.h - the views with a tab, one row each. The enum, the actions that show them
 * (screen/action.h, and through these the help page, the last line, the command line and the man
 * page), the tabs, the makers (app/shown.c), what a diff of sessions has, and the views whose
 * columns can be hidden come from it. A new view is its file, its row, and the question that it
 * answers in views/help.c.
 *
 * A row's place is the digit of its tab. There are nine, and Output's stays.
 */
#ifndef VIEW_LIST_H
#define VIEW_LIST_H

#include <stdbool.h>

/* V(X, ID, name of view_NAME_new(), "keys", "title", "brief": the tab in 80 columns, columns can be
 * hidden, "help", "help in a diff of sessions" or NULL); X goes to V as it is */
/* clang-format off */
#define VIEWS(V, X)                                                                                \
	V(X, OVERVIEW, overview, "1 <F5>",  "Overview", "Over",  true,                             \
	  "Overview: is it growing, how fast, where", NULL)                                        \
	V(X, TREE,     tree,     "2 <F6>",  "Tree",     "Tree",  true,                             \
	  "Tree: the call tree of live memory", "Tree: what changed, by call path")                \
	V(X, SITES,    sites,    "3 <F7>",  "Sites",    "Sites", true,                             \
	  "Sites: a flat list of what allocates", "Sites: what changed, by call site")             \
	V(X, LIBS,     libs,     "4 <F8>",  "Libs",     "Libs",  true,                             \
	  "Libs: live memory by owner library", "Libs: what changed, by owner library")            \
	V(X, MARKS,    marks,    "5 <F9>",  "Marks",    "Marks", false,                            \
	  "Marks: snapshots and what changed between them", NULL)                                  \
	V(X, THREADS,  threads,  "6",       "Threads",  "Thr",   true,                             \
	  "Threads: who allocates, and whose blocks are alive", NULL)                              \
	V(X, MEMORY,   memory,   "7 <F11>", "Memory",   "Mem",   true,                             \
	  "Memory: what the process' resident memory consists of", NULL)                           \
	V(X, OUTPUT,   output,   "8 <F12>", "Output",   "Out",   false,                            \
	  "Output of the program (under memtop run)", NULL)
/* clang-format on */

enum view_id {
#define VIEW_ID(X, id, ...) VIEW_##id,
	VIEWS(VIEW_ID, )
#undef VIEW_ID
		VIEW_COUNT, /* none of them */
};

struct view_info {
	const char *title, *brief;
	bool columns; /* they can be hidden */
	/* its line in the help of a diff of sessions; NULL = a diff has no such view */
	const char *of_diff;
};

const struct view_info *view_info(enum view_id v); /* screen/keys.c */

#endif
