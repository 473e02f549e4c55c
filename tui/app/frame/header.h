/* SPDX-License-Identifier: MIT
 *
 * header.h - the lines above every view, each on row y of the screen; for app/frame/chrome.c alone.
 * Main thread, while the terminal is on.
 */
#ifndef HEADER_H
#define HEADER_H

#include "screen/draw.h"

struct app;
struct shown;

/* Row 0. */
void frame_header(const struct app *a, const struct area *s);
void frame_verdict(const struct app *a, const struct area *s, int y);
void frame_totals(const struct shown *of, const struct area *s, int y);
/* For views without a large graph: live memory over time and the largest owners. */
void frame_strip(const struct shown *of, const struct area *s, int y);

#endif
