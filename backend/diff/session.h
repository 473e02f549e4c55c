/* SPDX-License-Identifier: MIT
 *
 * session.h - a diff as a session file: the mark DIFF_SESSION_MARK is what A holds, the end is what
 * B holds. So everything that shows the growth since a mark shows a diff. Main thread only.
 *
 *   a node's id = its number in the tree, which is by line
 *   NET of a node since the mark = B's live amounts there - A's
 *
 * Amounts of a side with several sessions are means, rounded at each node. Of a node that both
 * sides have, the larger amount's surplus is born or gone. What neither side holds is left out, and
 * so is all else than live memory, code and names: the file is for a view that knows it.
 */
#ifndef DIFF_SESSION_H
#define DIFF_SESSION_H

#include "diff/tree.h"

#define DIFF_SESSION_MARK 1u

int diff_write_session(const struct diff_tree *t, const char *path, struct err *err);

#endif
