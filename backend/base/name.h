/* SPDX-License-Identifier: MIT
 *
 * name.h - the one shortener of functions' names, in full as demangled: of C++, Rust and Go; other
 * names lose their middle. Pure, any thread.
 *
 * A name that is too wide loses its parameters and template arguments first, then its namespaces
 * from the left, then the middle of its class, then of its function. Of names that are shown
 * together (names_fit()), those that would read the same take back what tells them apart:
 * "vector<int>::push_back", "f.cold". Where no room is left for that, a number that belongs to the
 * whole name ends them: "push_back#3f2".
 */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include "base/base.h"

/* Without return type, parameters, template arguments and versions: "std::vector::push_back".
 * free() it. memtop's own words ("[no stacks: ...]") stay. */
char *name_brief(const char *full);
/* Where the qualified name begins in a demangled function: after its return type. */
const char *name_qualified(const char *full);

/* s, foreign text, in so many columns; `dots` stand for what was cut out of a word. free() it. */
char *name_fit(const char *s, size_t columns, const char *dots);

struct name_item {
	const char *name; /* as it is shown where there is room; foreign text, borrowed */
	const char *full; /* the same in full, which tells functions apart; NULL = name. Borrowed */
	size_t columns;
	bool other; /* no function's name, or several: it loses its middle */
	char *text; /* of names_fit(): what is shown */
};

/* Two items of different functions never get the same text, as long as columns are eight or more.
 */
void names_fit(struct name_item *list, size_t count, const char *dots);
void names_release(struct name_item *list, size_t count); /* their texts */

#endif
