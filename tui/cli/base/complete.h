/* SPDX-License-Identifier: MIT
 *
 * complete.h - what may stand for a word of a command line that is being typed. The shells' scripts
 * in tui/completions call `memtop --complete AT WORD...`: the candidates for WORD number AT, from
 * 0, of those after "memtop". Main thread.
 *
 * Its output is a line for each candidate, WORD TAB ABOUT. A line that begins with a TAB asks the
 * shell for what it lists best: "file", "folder", or "command N", where the words from N on are a
 * command line of their own.
 */
#ifndef COMPLETE_H
#define COMPLETE_H

#include "cli/base/verbs.h"

/* The words after --complete. Returns the status. */
int complete_words(const struct verb *const *verbs, int argc, char **argv);

/* A candidate; one that does not begin as the word does is left out. about may be "". */
void complete_add(struct completion *c, const char *word, const char *about);

/* What an option's value or an operand may be: for the rows of options and verbs. */
complete_fn complete_file, complete_folder, complete_theme;
complete_fn complete_target;    /* an agent of this machine, or a session file */
complete_fn complete_agent_pid; /* with an agent */
complete_fn complete_other_pid; /* the user's processes without one */
complete_fn complete_process;   /* of the session file among the operands */
complete_fn complete_mark;      /* of the target among the operands */
complete_fn complete_marks;     /* A..B of it */
complete_fn complete_instant;   /* a mark of it, or the peak */
complete_fn complete_compared;  /* FILE@INSTANT */

#endif
