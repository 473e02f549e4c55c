/* SPDX-License-Identifier: MIT
 *
 * coverage.h - what an agent that came late (memtop attach) sees of a program, and what it misses.
 */
#ifndef REPORT_COVERAGE_H
#define REPORT_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

/* Was the agent attached late, so that it missed the time before? False also while unknown. */
bool coverage_late(const struct model *m);

/* Frees and reallocs so far of blocks from before the attach, and their usable bytes. */
void coverage_before(const struct model *m, uint64_t *frees, uint64_t *bytes);

/* A module's coverage by its MTW_MODULE_* flags, in two or three words; NULL: unknown or
 * unremarkable. */
const char *coverage_word(uint32_t flags);

/* The module makes allocation calls that memtop does not see, and no filter excludes it. */
bool coverage_lacks(uint32_t flags);

/* Loaded modules: hooked, left out by libs= or exclude=, and those with coverage_lacks(). */
struct coverage_sums {
	size_t hooked, calls_none, unmatched, not_hooked;
};
struct coverage_sums coverage_sums(const struct model *m);

#endif
