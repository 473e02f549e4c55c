/* SPDX-License-Identifier: MIT
 *
 * actions.h - what keys and commands do outside any single view, file by file. Each reports its
 * result in the status line. Main thread.
 */
#ifndef ACTIONS_H
#define ACTIONS_H

#include "app/app.h"
#include "report/formats.h"

#include <limits.h>

/* --- app/dispatch.c */
unsigned action_key(struct app *a, int key); /* a key or a click; not of the prompt */

/* --- app/actions.c: to the view in front, else what is of all; VIEW_IGNORED: not in this view */
unsigned action_request(struct app *a, enum request r);

/* --- app/chrome.c: all of the screen */
void frame_draw(struct app *a);

/* --- app/search.c */
unsigned search_begin(struct app *a); /* the prompt */
unsigned search_next(struct app *a, bool backwards);
unsigned search_end(struct app *a); /* Esc: no row is a hit any more */

/* --- app/mark.c */
int mark_set(struct ui *ui, const char *name); /* in all processes; "" = without a name */
/* "60", "+10M", "off"; -1: it is none of these */
int mark_every(struct ui *ui, const char *text);
void mark_go_on(struct ui *ui); /* sets the one that is due by itself */

/* --- app/filter.c */
void filter_type(struct app *a);                 /* lets it be typed */
void filter_older(struct app *a);                /* only blocks older than ... */
int filter_set(struct app *a, const char *text); /* -1: it was not understood */
/* Only what the thread allocated. -1: that cannot be told. */
int filter_thread(struct app *a, uint32_t tid);

/* --- app/expect.c */
unsigned expect_site(struct ui *ui,
		     const struct site *s);       /* or not any more; in the session, too */
int expect_file(struct app *a, const char *path); /* a file of rules comes into effect */
int expect_save(struct ui *ui, const char *path); /* what is expected, as such a file */

/* --- app/save.c */
void save_ask(struct app *a); /* for a name */
void save_as(struct app *a, const char *path);
/* What was typed as a path, with the home folder in place of ~; typed itself, or in out. */
const char *save_path(const char *typed, char out[PATH_MAX]);

/* --- app/saver.c: a report */
void saver_start(struct app *a, const struct export_format *format, const char *path);
bool saver_naming(void); /* a report waits for names of what is shown */
void saver_stop(void);   /* leaves no half of one */

/* --- app/stack.c: of the selected row */
unsigned stack_copy(struct app *a);
unsigned stack_edit(struct app *a); /* the editor at its line */

/* --- app/command.c */
void command_type(struct app *a); /* opens the command line */

/* --- app/quit.c */
void quit_now(struct app *a, int status);
/* False = nothing runs that we started. */
bool quit_question(const struct app *a, char *out, size_t size);
/* Asks all that runs to end; a->leave_ns says how long it is waited for. */
void quit_stop(struct app *a);
/* ... and it did, or took too long. */
bool quit_over(const struct app *a, uint64_t now);

#endif
