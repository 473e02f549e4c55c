/* SPDX-License-Identifier: MIT
 *
 * holders.h - in a report of All (processes/all.h): how many processes have live blocks of a stack,
 * a call site, an owner. Main thread only.
 */
#ifndef REPORT_HOLDERS_H
#define REPORT_HOLDERS_H

#include "processes/all.h"
#include "report/report.h"

struct heap_sites;

struct holders {
	const struct all *all; /* borrowed, as the report is */
	const struct report *report;
	struct heap_sites *sites;
	struct process_part *parts; /* room for all stacks */
};

/* all NULL: of one process, or (then `all` is NULL here) of a past instant; nobody asks then. */
void holders_init(struct holders *h, const struct report *r, const struct all *all);
void holders_release(struct holders *h);
size_t holders_of_stack(const struct holders *h, uint32_t stack);
size_t holders_of_site(const struct holders *h, uint32_t leaf); /* struct site's */
size_t holders_of_owner(const struct holders *h, const struct owner *o);

#endif
