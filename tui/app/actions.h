/* SPDX-License-Identifier: MIT
 *
 * actions.h - what app/actions.c, app/dispatch.c, app/stack.c, app/save.c, app/saver.c,
 * app/offer.c, app/auto_mark.c, app/expect.c, app/filter.c and app/command.c call of each other,
 * and views. Main thread. All say in the status line what happened.
 */
#ifndef ACTIONS_H
#define ACTIONS_H

#include "app/app.h"
#include "report/formats.h"

#include <limits.h>

size_t action_mark(struct app *a, const char *name); /* in all processes; how many took it */
/* app/quit.c: false = nothing runs that we started */
bool quit_question(const struct app *a, char *out, size_t size);
/* app/quit.c: asks all that runs to end; a->leave_ns says how long it is waited for */
void quit_stop(struct app *a);
/* app/quit.c: ... and it did, or took too long */
bool quit_over(const struct app *a, uint64_t now);
/* app/shown.c: in all views, now or when it can be; -1: it cannot */
int action_show_process(struct app *a, uint32_t id);
void action_save(struct app *a);                      /* app/save.c: asks for a name */
void action_save_as(struct app *a, const char *path); /* app/save.c */
/* What was typed as a path, with the home folder in place of ~; typed itself, or in out. */
const char *action_path(const char *typed, char out[PATH_MAX]);
/* app/saver.c: a report. */
void saver_start(struct app *a, const struct export_format *format, const char *path);
bool saver_naming(void); /* app/saver.c: a report waits for names of what is shown */
void saver_stop(void);   /* app/saver.c: leaves no half of one */
unsigned action_copy_stack(struct app *a); /* app/stack.c: of the selected row */
unsigned action_edit(struct app *a);       /* app/stack.c: the editor at its line */
void action_command(struct app *a);        /* app/command.c: opens the command line */
void action_filter(struct app *a);         /* app/filter.c: lets it be typed */
void action_older(struct app *a);          /* app/filter.c: only blocks older than ... */
/* app/filter.c: the tree of what it allocated */
unsigned action_zoom_thread(struct app *a, uint32_t tid);
/* app/filter.c; -1: it was not understood */
int action_set_filter(struct app *a, const char *text);
int action_set_theme(struct app *a, const char *name);
void action_set_units(enum units u);
unsigned action_set_direct(struct app *a, bool on); /* libraries by direct caller, or by owner */
/* app/expect.c: a file of rules comes into effect */
int action_suppress(struct app *a, const char *path);
/* app/expect.c: what is expected, as such a file */
int action_save_rules(struct app *a, const char *path);
/* app/auto_mark.c: "60", "+10M", "off"; -1: it is none of these */
int action_every(struct app *a, const char *text);
void auto_mark_go_on(struct app *a); /* app/auto_mark.c: sets the mark that is due */
void offer_sampling(struct app *a);  /* app/offer.c: when the agent costs too much */

#endif
