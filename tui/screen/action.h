/* SPDX-License-Identifier: MIT
 *
 * action.h - the list of actions: name, focus, keys and line in the help page. The enum, the key
 * table, the help page and the key hints are all generated from it, so they always agree.
 *
 * A key is looked up in the foci of the view from the innermost to FOCUS_GLOBAL; two actions of
 * one focus never share a key (a test checks it).
 */
#ifndef ACTION_H
#define ACTION_H

#include "screen/view_list.h"

enum focus {
	FOCUS_NONE,
	FOCUS_GLOBAL,
	FOCUS_LIST,
	FOCUS_TREE,
	FOCUS_SITES,
	FOCUS_LIBS,
	FOCUS_MARKS,
	FOCUS_THREADS,
	FOCUS_COLUMNS,
	FOCUS_GRAPH,
	FOCUS_TEXT /* pages that are read: help, detail, output */,
	FOCUS_HOLDERS,
	FOCUS_PROCESSES,
	FOCUS_CHOOSER,
	FOCUS_COUNT,
};

/* Those of the views come first, so that a view's number gives its action. */
#define VIEW_REQUEST(X, id, name, keys, title, brief, columns, help, of_diff)                      \
	X(id, GLOBAL, keys, "", help)

/* X(name, focus, "keys", "short" in the last line or "", "help") */
#define ACTIONS(X)                                                                                 \
	VIEWS(VIEW_REQUEST, X)                                                                     \
	X(MARK, GLOBAL, "s", "Mark", "mark a snapshot now")                                        \
	X(MARK_NAMED, GLOBAL, "S", "", "mark a snapshot, with a name")                             \
	X(DIFF, GLOBAL, "d", "Diff", "diff against the newest mark; again: diff off")              \
	X(DIFF_TWO, GLOBAL, "D", "", "choose two marks to diff")                                   \
	X(SEARCH, GLOBAL, "/", "Find", "search as you type")                                       \
	X(NEXT_HIT, GLOBAL, "n", "", "next hit")                                                   \
	X(PREV_HIT, GLOBAL, "N", "", "previous hit")                                               \
	X(FILTER, GLOBAL, "\\ <F4>", "Filter",                                                     \
	  "filter by function, library or file; also lib:ssl size>64k age>60s thread:io grew new") \
	X(OLDER, GLOBAL, "a", "", "only blocks older than an age (age> in the filter)")            \
	X(SAVE, GLOBAL, "w", "Save",                                                               \
	  "save: NAME.txt, .json, .pb.gz ..., a report; NAME.mtop, the session; NAME.supp, "       \
	  "suppressions")                                                                          \
	X(PAUSE, GLOBAL, "p", "Pause", "pause the display; the data keeps flowing")                \
	X(INSTANT_BACK, GLOBAL, "[", "", "back one recorded instant, in every view")               \
	X(INSTANT_ON, GLOBAL, "]", "",                                                             \
	  "forward one instant, past the last: live again (Esc: live at once)")                    \
	X(INSTANT_PEAK, GLOBAL, "H", "",                                                           \
	  "the heap at its highest, the peak (:at peak); again: live")                             \
	X(PROCESSES, GLOBAL, "P", "",                                                              \
	  "the program's processes: LIVE and growth of each; Enter shows one in all views")        \
	X(AGENT, GLOBAL, "A", "Agent", "the agent: its cost, the quality of its stacks")           \
	X(PERCENT, GLOBAL, "%", "", "LIVE in percent of all, or in bytes")                         \
	X(DIRECT, GLOBAL, "L", "",                                                                 \
	  "libraries by direct caller of the allocator; again: by owner (:direct on, off)")        \
	X(UNITS, GLOBAL, "u", "", "sizes in K, M or G; in M; in bytes (:units auto, mib, bytes)")  \
	X(COPY, GLOBAL, "y", "", "copy the row's stack to the terminal's clipboard and to a file") \
	X(EDIT, GLOBAL, "e", "", "open the editor ($EDITOR) at the row's source line")             \
	X(CHURN, GLOBAL, "T", "",                                                                  \
	  "Sites by calls/s: most frequent call sites, with LIFE; again: by LIVE")                 \
	X(COLUMNS, GLOBAL, "c", "", "choose the columns of this view")                             \
	X(THEME, GLOBAL, "t", "", "next theme")                                                    \
	X(MOUSE, GLOBAL, "M", "", "mouse on, or off: the terminal then selects text")              \
	X(REDRAW, GLOBAL, "^L", "", "redraw the screen")                                           \
	X(DETACH, GLOBAL, "", "", ":detach takes out the agent that memtop attach loaded")         \
	X(SUSPEND, GLOBAL, "^Z", "", "suspend memtop; the target runs on")                         \
	X(FOCUS_NEXT, GLOBAL, "<Tab>", "", "next part of the screen: list, graph, other half")     \
	X(FOCUS_PREV, GLOBAL, "<S-Tab>", "", "previous part of the screen")                        \
	X(COMMAND, GLOBAL, ":", "", "command line; Tab completes")                                 \
	X(HELP, GLOBAL, "? <F1>", "Help", "this page (not h: that moves left)")                    \
	X(ESCAPE, GLOBAL, "<Esc>", "",                                                             \
	  "close the innermost prompt, page, search, zoom or filter; never quits")                 \
	X(BACK, GLOBAL, "q <F10>", "Back",                                                         \
	  "go back; in a main view: quit (asks first while a program runs)")                       \
	X(QUIT, GLOBAL, "Q", "Quit", "quit; a program under memtop run runs on")                   \
	X(UP, LIST, "<Up> k", "", "up")                                                            \
	X(DOWN, LIST, "<Down> j", "", "down")                                                      \
	X(PAGE_UP, LIST, "<PgUp> ^B", "", "a page up")                                             \
	X(PAGE_DOWN, LIST, "<PgDn> ^F", "", "a page down")                                         \
	X(HALF_UP, LIST, "^U", "", "half a page up")                                               \
	X(HALF_DOWN, LIST, "^D", "", "half a page down")                                           \
	X(FIRST, LIST, "<Home> g", "", "first row")                                                \
	X(LAST, LIST, "<End> G", "", "last row")                                                   \
	X(SORT_LEFT, LIST, "<", "", "sort by the column to the left")                              \
	X(SORT_RIGHT, LIST, ">", "", "sort by the column to the right")                            \
	X(REVERSE, LIST, "r", "", "reverse the order")                                             \
	X(TREE_TOGGLE, TREE, "<Enter> <Space>", "Open", "open or close; on a leaf: detail")        \
	X(TREE_RIGHT, TREE, "<Right> l", "", "open, and go to the first child")                    \
	X(TREE_LEFT, TREE, "<Left> h", "", "close, or go to the parent")                           \
	X(TREE_UNFOLD, TREE, ".", "", "unfold a chain of single children, or fold it again")       \
	X(TREE_MORE, TREE, "+ =", "", "open one level")                                            \
	X(TREE_LESS, TREE, "-", "", "close")                                                       \
	X(TREE_ALL, TREE, "*", "", "open all below (at most 5,000 rows)")                          \
	X(TREE_NONE, TREE, "C", "", "close all")                                                   \
	X(TREE_HEAVY, TREE, "z", "", "follow the heaviest child to the first fork")                \
	X(INVERT, TREE, "i", "Invert",                                                             \
	  "invert the tree: from the allocation up, or from the entry down")                       \
	X(INLINED, TREE, "I", "",                                                                  \
	  "inlined functions: separate rows, or merged into their caller (:inlined on, off)")      \
	X(ZOOM, TREE, "o", "", "zoom into the row's subtree")                                      \
	X(ZOOM_LIB, TREE, "O", "", "zoom into the row's library")                                  \
	X(ZOOM_OUT, TREE, "<BS>", "", "zoom out")                                                  \
	X(DETAIL, TREE, "v", "Detail",                                                             \
	  "detail of the row: figures, stack, source with LIVE by line, sizes, ages")              \
	X(SITE_TREE, SITES, "<Enter> <Space> <Right> l", "Tree", "show the site in the tree")      \
	X(SITE_DETAIL, SITES, "v", "Detail",                                                       \
	  "detail of the site: figures, stack, source with LIVE by line, sizes, ages")             \
	X(EXPECT, SITES, "x", "",                                                                  \
	  "mark the site as expected (not a finding; saved in the session), or unmark it")         \
	X(SITE_ZOOM, SITES, "O", "", "show the site's library in the tree")                        \
	X(LIB_TREE, LIBS, "<Enter> <Space> <Right> l o", "Tree", "show the library in the tree")   \
	X(PICK, MARKS, "<Space>", "Pick A, B", "pick the marks to compare: first A, then B")       \
	X(MARK_TREE, MARKS, "<Enter> <Right> l", "Tree",                                           \
	  "show the change from A to B in the tree")                                               \
	X(RENAME, MARKS, "R", "Rename", "rename the mark")                                         \
	X(DELETE, MARKS, "<Del>", "Delete", "delete the mark")                                     \
	X(THREAD_TREE, THREADS, "<Enter> <Space> <Right> l o", "Tree",                             \
	  "show the thread's blocks in the tree")                                                  \
	X(COLUMN_TOGGLE, COLUMNS, "<Space> <Enter>", "Show, hide", "show the column, or hide it")  \
	X(EARLIER, GRAPH, "<Left> h", "Earlier",                                                   \
	  "an earlier instant; the legend shows its values")                                       \
	X(LATER, GRAPH, "<Right> l", "Later", "a later instant")                                   \
	X(EARLIEST, GRAPH, "<Home> g", "", "the start of the graph")                               \
	X(NOW, GRAPH, "<End> G", "Now", "now")                                                     \
	X(ZOOM_IN_TIME, GRAPH, "+ =", "Less time", "show less time in the graphs")                 \
	X(ZOOM_OUT_TIME, GRAPH, "-", "More time", "show more time in the graphs")                  \
	X(TEXT_UP, TEXT, "<Up> k", "", "up")                                                       \
	X(TEXT_DOWN, TEXT, "<Down> j", "", "down")                                                 \
	X(TEXT_PAGE_UP, TEXT, "<PgUp> ^B", "", "a page up")                                        \
	X(TEXT_PAGE_DOWN, TEXT, "<PgDn> ^F <Space>", "", "a page down")                            \
	X(TEXT_HALF_UP, TEXT, "^U", "", "half a page up")                                          \
	X(TEXT_HALF_DOWN, TEXT, "^D", "", "half a page down")                                      \
	X(TEXT_FIRST, TEXT, "<Home> g", "", "first line")                                          \
	X(TEXT_LAST, TEXT, "<End> G", "", "last line; from there, follow the output")              \
	X(HOLDER_SHOW, HOLDERS, "<Enter>", "Process",                                              \
	  "show the process that holds some of it at this row; Tab: the next one")                 \
	X(PROCESS_SHOW, PROCESSES, "<Enter>", "Show",                                              \
	  "show this process in all views; on a folded row: open or close it")                     \
	X(PROCESS_OPEN, PROCESSES, "<Right> l + =", "", "open a folded row")                       \
	X(PROCESS_CLOSE, PROCESSES, "<Left> h -", "", "close it")                                  \
	X(PROCESS_TOGGLE, PROCESSES, "<Space>", "", "open or close it")                            \
	X(PROCESS_ORDER, PROCESSES, "o", "Order", "next order: tree, growth, LIVE, PEAK, IN ALL")  \
	X(CHOOSE, CHOOSER, "<Enter> <Space> <Right> l", "Watch", "watch this process")

enum action {
	ACT_NONE,
#define X(name, focus, keys, brief, help) ACT_##name,
	ACTIONS(X)
#undef X
		ACT_COUNT,
};

static inline enum action action_of_view(enum view_id v)
{
	return (enum action)(ACT_NONE + 1 + (int)v);
}
/* VIEW_COUNT: it shows none. */
static inline enum view_id view_of_action(enum action r)
{
	return r > ACT_NONE && r <= ACT_NONE + VIEW_COUNT ? (enum view_id)(r - ACT_NONE - 1)
							  : VIEW_COUNT;
}

#endif
