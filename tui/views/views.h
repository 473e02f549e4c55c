/* SPDX-License-Identifier: MIT
 *
 * views.h - the views' constructors and their other public functions. Main thread.
 */
#ifndef VIEWS_H
#define VIEWS_H

#include "views/ui.h"

/* One for each row of VIEWS. Output's: NULL where memtop did not start the program. */
#define VIEW_MAKER(X, id, name, ...) struct view *view_##name##_new(struct ui *ui);
VIEWS(VIEW_MAKER, )
#undef VIEW_MAKER

/* Pages. */

/* `here`: the foci of the current view, NULL = none; `output`: the Output view exists; `of_diff`:
 * of a diff of sessions, an action's line, NULL for one that it lacks; itself NULL = no such diff.
 */
typedef const char *help_line_fn(enum action r);
struct view *view_help_new(struct ui *ui, const enum focus *here, bool output,
			   help_line_fn *of_diff);
struct view *view_agent_new(struct ui *ui);
/* `choice`: beside the tree, too. */
struct view *view_processes_new(struct ui *ui, bool choice);
bool view_is_processes(const struct view *v);                  /* false: another view, or NULL */
struct view *view_columns_new(struct ui *ui, struct view *of); /* for a view with a table */

/* Of one view. */

/* Lines of the overview's graphs above the tabs; 0 = the screen is too low for them. */
int view_overview_graph_height(void);
bool view_sites_by_rate(const struct view *v); /* its sort */

#endif
