/* SPDX-License-Identifier: MIT
 *
 * actions.h - what keys and commands do outside any single view, file by file. Each reports its
 * result in the status line. Main thread.
 */
#ifndef ACTIONS_H
#define ACTIONS_H

#include "app/app.h"
#include "report/formats/formats.h"

#include <limits.h>

/* app/search.c. */
unsigned search_begin(struct app *a); /* opens the prompt */
unsigned search_next(struct app *a, enum hit which);
unsigned search_end(struct app *a); /* Esc: ends the search */

/* app/mark.c. */
int mark_set(struct ui *ui, const char *name);       /* in all processes; "" = without a name */
int mark_set_shown(struct ui *ui, const char *name); /* in the shown process alone */
/* "60", "+10M", "off"; -1: not understood */
int mark_every(struct ui *ui, const char *text);
int mark_window(struct ui *ui, const char *name); /* begins a window, or ends the open one */
void mark_go_on(struct ui *ui);                   /* sets an automatic mark that is due */

/* app/filter.c. */
void filter_type(struct app *a);                 /* opens the prompt */
void filter_older(struct app *a);                /* only blocks older than ... */
int filter_set(struct app *a, const char *text); /* -1: not understood */
/* Only the thread's allocations. -1: unknown. */
int filter_thread(struct app *a, uint32_t tid);

/* app/expect.c. */
unsigned expect_site(struct ui *ui, const struct site *s); /* toggles, in the session too */
int expect_file(struct app *a, const char *path);          /* loads a rules file */
int expect_save(struct ui *ui, const char *path);          /* writes a rules file */

/* app/save.c. */
void save_ask(struct app *a); /* for a name */
void save_as(struct app *a, const char *path);
/* The typed path with ~ expanded. Returns typed or out. */
const char *save_path(const char *typed, char out[PATH_MAX]);

/* app/saver.c: a report. */
void saver_start(struct app *a, const struct report_format *format, const char *path);
bool saver_naming(void); /* a report waits for names of the shown process */
void saver_stop(void);   /* leaves no partial file */

/* app/stack.c: the selected row. */
unsigned stack_copy(struct app *a);
unsigned stack_edit(struct app *a); /* opens the editor at its line */

/* app/quit.c. */
void quit_now(struct app *a, int status);
/* False = no started process runs. */
bool quit_question(const struct app *a, char *out, size_t size);
/* Asks every running process to end; a->leave_ns is the deadline. */
void quit_stop(struct app *a);
/* They ended, or the deadline passed. */
bool quit_over(const struct app *a, uint64_t now);

#endif
