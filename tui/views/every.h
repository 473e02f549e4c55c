/* SPDX-License-Identifier: MIT
 *
 * every.h - the interval of automatic marks, as chosen by :every. app/mark.c sets them. Main
 * thread.
 */
#ifndef EVERY_H
#define EVERY_H

#include <stddef.h>
#include <stdint.h>

struct every {                /* all 0: never */
	uint64_t ns, next_ns; /* by the clock: now_ns() of the next one */
	uint64_t bytes, live; /* by growth; live: at the last one */
};

/* "every 60 s, next in 12 s"; "" = never */
void every_words(const struct every *e, char *out, size_t size);

#endif
