/* SPDX-License-Identifier: MIT
 *
 * room.h - room for the large arrays of snapshots, which is used again: the kernel takes longer to
 * give fresh pages (24 ms for 42 MB) than a pass over the stacks (7 ms). Any thread.
 */
#ifndef HEAP_ROOM_H
#define HEAP_ROOM_H

#include <stddef.h>

void *room_take(size_t bytes); /* not cleared */
void room_give(void *p);       /* NULL: nothing */
/* Cleared; free() it. In pages of two megabytes, where the kernel has them: it gives them ten times
 * as fast, and finding a page takes as long as finding what is in it. */
void *room_large(size_t count, size_t size);
void room_forked(void); /* in a child: another thread may have been here */

#endif
