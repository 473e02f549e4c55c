/* SPDX-License-Identifier: MIT
 *
 * maker.h - makes snapshots in a thread of its own, so that keys need not wait for them.
 *
 * While it works, columns and batch are its own: who gave them touches neither until maker_wait()
 * or maker_done() says so. One job at a time.
 */
#ifndef HEAP_MAKER_H
#define HEAP_MAKER_H

#include "heap/heap.h"

struct heap_maker;

struct heap_maker *maker_new(void);    /* NULL: no thread can be had */
void maker_free(struct heap_maker *m); /* waits; NULL: nothing */
/* Takes the batch into the columns, and makes a snapshot. Nothing is under way. */
void maker_begin(struct heap_maker *m, struct columns *c, struct heap_batch *b);
bool maker_busy(struct heap_maker *m); /* false: it is done, or has nothing to do */
/* Waits for what is under way; the caller holds the snapshot. NULL: nothing was. */
struct heap *maker_take(struct heap_maker *m);
/* How long the last job took, in ns. After maker_take(). */
uint64_t maker_cost(const struct heap_maker *m);

#endif
