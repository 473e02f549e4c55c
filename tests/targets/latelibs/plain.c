/* SPDX-License-Identifier: MIT
 *
 * plain.c - one of late.c's libraries; tests.mk links it in several ways.
 */
#include "work.h"

/* For who looks malloc up by its address, in data and in code. */
void *(*const late_table[])(size_t) = { malloc };

void late_work(struct worker *w, int events)
{
	work(w, events);
}

void late_drop(struct worker *w, int unused)
{
	drop_all(w, unused);
}

/* What its constructor allocates is alive until the destructor. */
static void *kept;

__attribute__((constructor)) static void begin(void)
{
	kept = late_table[0](333);
}

__attribute__((destructor)) static void end(void)
{
	free(kept);
}
