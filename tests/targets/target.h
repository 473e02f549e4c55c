/* SPDX-License-Identifier: MIT
 *
 * target.h - code shared by the tests' targets.
 */
#ifndef TARGET_H
#define TARGET_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A failure is visible in the exit status and on stderr, with nothing allocated on the way. */
#define EXPECT(cond)                                                                               \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			static const char text[] = __FILE__ ": not true: " #cond "\n";             \
			fwrite(text, 1, sizeof(text) - 1, stderr);                                 \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Alive at exit, and reachable. */
static inline void keep(void *p)
{
	static struct chain {
		void *block;
	} kept[64];
	static int count;

	*(void *volatile *)&kept[count++ % 64].block = p;
}

#endif
