/* SPDX-License-Identifier: MIT
 *
 * chrome.h - draws the whole screen: the header, the tabs, the view in front, the last line. Main
 * thread.
 */
#ifndef CHROME_H
#define CHROME_H

#include "screen/draw.h"
#include "diff/tree.h"
#include "screen/keys.h"

struct app;

void frame_draw(struct app *a);

/* header.c: the lines above every view, each on row y of the screen; for app/frame/chrome.c
 * alone. Main thread, while the terminal is on. */

struct app;
struct shown;

/* Row 0. */
void frame_header(const struct app *a, const struct area *s);
void frame_verdict(const struct app *a, const struct area *s, int y);
void frame_totals(const struct shown *of, const struct area *s, int y);
/* For views without a large graph: live memory over time and the largest owners. */
void frame_strip(const struct shown *of, const struct area *s, int y);

/* compared.c: the lines above every view for a diff of two sessions, and what such a view
 * lacks. Main thread; the drawing only while the terminal is on. */

/* Row 0: which session is A, and which is B. */
void compared_header(const struct diff *d, const struct area *s);
void compared_verdict(const struct diff *d, const struct area *s, int y);
void compared_totals(const struct diff *d, const struct area *s, int y);
/* An action's line in the help page; NULL = a diff lacks it: it needs a program, or its time. */
const char *compared_help(enum action r);
/* The views that a diff has: "2 Tree, 3 Sites and 4 Libs". Returns out. */
const char *compared_views(char *out, size_t size);

#endif
