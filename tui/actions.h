/* SPDX-License-Identifier: MIT
 *
 * actions.h - what actions.c, press.c, stack.c, save.c, saver.c, offer.c, every.c, expect.c, filter.c and
 * command.c call of each other, and views. Main thread.
 * All say in the status line what happened.
 */
#ifndef ACTIONS_H
#define ACTIONS_H

#include "app.h"
#include "export.h"

#include <limits.h>

size_t action_mark(struct app *a, const char *name);       /* in all processes; how many took it */
bool leave_question(const struct app *a, char *out, size_t size); /* leave.c: false = nothing runs that we started */
void leave_stop(struct app *a);                            /* leave.c: asks all that runs to end; a->leave_ns says how long it is waited for */
bool leave_over(const struct app *a, uint64_t now);        /* leave.c: ... and it did, or took too long */
int action_show_process(struct app *a, uint32_t id);       /* shown.c: in all views, now or when it can be; -1: it cannot */
void action_save(struct app *a);                           /* save.c: asks for a name */
void action_save_as(struct app *a, const char *path);      /* save.c */
/* What was typed as a path, with the home folder in place of ~; typed itself, or in out. */
const char *action_path(const char *typed, char out[PATH_MAX]);
/* saver.c: a report. */
void saver_start(struct app *a, const struct export_format *format, const char *path);
bool saver_naming(void);                                   /* saver.c: a report waits for names of what is shown */
void saver_stop(void);                                     /* saver.c: leaves no half of one */
unsigned action_copy_stack(struct app *a);                 /* stack.c: of the selected row */
unsigned action_edit(struct app *a);                       /* stack.c: the editor at its line */
void action_command(struct app *a);                        /* command.c: opens the command line */
void action_filter(struct app *a);                         /* filter.c: lets it be typed */
void action_older(struct app *a);                          /* filter.c: only blocks older than ... */
unsigned action_zoom_thread(struct app *a, uint32_t tid);  /* filter.c: the tree of what it allocated */
int action_set_filter(struct app *a, const char *text);    /* filter.c; -1: it was not understood */
int action_set_theme(struct app *a, const char *name);
void action_set_units(enum units u);
unsigned action_set_direct(struct app *a, bool on);        /* libraries by direct caller, or by owner */
int action_suppress(struct app *a, const char *path);      /* expect.c: a file of rules comes into effect */
int action_save_rules(struct app *a, const char *path);    /* expect.c: what is expected, as such a file */
int action_every(struct app *a, const char *text);         /* every.c: "60", "+10M", "off"; -1: it is none of these */
void every_go_on(struct app *a);                           /* every.c: sets the mark that is due */
void offer_sampling(struct app *a);                        /* offer.c: when the agent costs too much */

#endif
