/* SPDX-License-Identifier: MIT
 *
 * wiped.h - memory that reads 0 in a forked child: see base/wiped.c.
 */
#ifndef MT_BASE_WIPED_H
#define MT_BASE_WIPED_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

void *mt_wiped_map(size_t bytes); /* zeroed, private; NULL = no memory */
extern bool mt_wiped_by_hand; /* this kernel does not clear the memory: call mt_wiped_look() now and
				 then */
void mt_wiped_look(void);     /* in a child for which no handler ran: clears the memory */

#pragma GCC visibility pop

#endif
