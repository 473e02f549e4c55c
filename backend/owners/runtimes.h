/* SPDX-License-Identifier: MIT
 *
 * runtimes.h - language runtimes with a heap of their own beside malloc's. Memory that they map
 * themselves is in no block, and a user who sees it grow must learn which tool shows it. Main
 * thread.
 */
#ifndef OWNERS_RUNTIMES_H
#define OWNERS_RUNTIMES_H

#include "model/model.h"

struct runtime {
	const char *heap;  /* "Python's own heap" */
	const char *shows; /* how to make it visible: "PYTHONMALLOC=malloc" */
	const char *seen;  /* the part of the program that memtop sees; NULL = all else */
};

/* Judged by the program's modules, their names and what linked them; NULL = none known. */
const struct runtime *runtime_of(const struct model *m);

#endif
