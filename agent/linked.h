/* SPDX-License-Identifier: MIT
 *
 * linked.h - the agent as a part of the program itself, with the linker's --wrap: agent/linked/.
 */
#ifndef MT_LINKED_H
#define MT_LINKED_H

/* A function that --wrap leads to us, and where it is then. */
struct linked {
	const char *name;
	void *real; /* NULL: the program has none */
};

#pragma GCC visibility push(hidden)
/* Up to a name of NULL. The table itself is not there (NULL) where functions are found by the loader's order. */
extern const struct linked mt_linked[] __attribute__((weak));
#pragma GCC visibility pop

#endif
