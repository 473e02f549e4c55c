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

/* An agent that was attached: it saw nothing of what was before. False also while nothing is known
 * of it. */
bool hooked_late(const struct model *m);

/* Frees and reallocs of blocks that were allocated before it came, so far, and their usable
 * bytes. */
void hooked_before(const struct model *m, uint64_t *frees, uint64_t *bytes);

/* A module's, by its MTW_MODULE_* flags, in two or three words; NULL: not said, or there is nothing
 * to say. */
const char *hooked_word(uint32_t flags);

/* Its calls of allocation functions are not seen, though it makes some, and nobody asked for
 * that. */
bool hooked_not(uint32_t flags);

/* Loaded modules: hooked, left out by libs= or exclude=, and those that hooked_not() is true of. */
struct hooked_sums {
	size_t hooked, calls_none, unmatched, not_hooked;
};
struct hooked_sums hooked_sums(const struct model *m);

#endif
