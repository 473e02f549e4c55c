/* SPDX-License-Identifier: MIT
 *
 * room.h - room for large arrays, in pages of two megabytes where the kernel has them. Any thread;
 * free() it.
 *
 * Sums of a snapshot are written once, from the front: small pages take longer to come (24 ms for
 * 42 MB) than a pass over the stacks. Counters are touched anywhere: finding a small page takes as
 * long as finding what is in it.
 */
#ifndef HEAP_ROOM_H
#define HEAP_ROOM_H

#include <stddef.h>

void *room_take(size_t bytes);               /* not cleared */
void *room_large(size_t count, size_t size); /* cleared */

#endif
