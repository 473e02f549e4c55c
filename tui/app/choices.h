/* SPDX-License-Identifier: MIT
 *
 * choices.h - display settings that apply to all processes and views. Each change is reported in
 * the status line. Main thread.
 */
#ifndef CHOICES_H
#define CHOICES_H

#include "screen/text.h"
#include "screen/theme.h"

struct app;

struct choices {
	struct theme theme;
	bool percent; /* live sizes in percent of all live bytes */
	bool mouse;   /* memtop takes clicks from the terminal */
};

int choices_theme(struct app *a, const char *name); /* -1: unknown name */
unsigned choices_next_theme(struct app *a);
void choices_units(enum units u);
unsigned choices_direct(struct app *a, bool on); /* libraries by direct caller, or by owner */
unsigned choices_mouse(struct app *a);           /* on or off */

#endif
