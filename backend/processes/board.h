/* SPDX-License-Identifier: MIT
 *
 * board.h - memtop's end of the board (memtop/board.h): creates it, and returns copies of its
 * records. Main thread only.
 *
 * Every process of the tree can write anything to the board. In a returned copy strings end, enums
 * are valid, and times lie between the board's creation and now. No other field is checked here.
 */
#ifndef PROCESSES_BOARD_H
#define PROCESSES_BOARD_H

#include "base/base.h"

#include <memtop/board.h>

struct shared_board;

struct board_rule {
	uint64_t bytes, ns, alloc_bytes;
}; /* as in the board's head: which processes matter */

/* NULL and *err: memfd failed */
struct shared_board *shared_board_new(const struct board_rule *rule, struct err *err);
void shared_board_free(struct shared_board *b);              /* no server lingers from now on */
const char *shared_board_path(const struct shared_board *b); /* "/proc/PID/fd/N" */
/* a part of the mapping's name in /proc/PID/maps, unique to this board */
const char *shared_board_name(const struct shared_board *b);
bool shared_board_moved(struct shared_board *b); /* a state changed since the last call */
uint64_t shared_board_missed(const struct shared_board *b);
/* Record `index` as it is now: 1. 0: it is free; -1: it is being written, look again later. */
int shared_board_copy(const struct shared_board *b, uint32_t index, struct board_record *r);
/* The life `serial` of record `index` in `state` has been copied: the record may be reused. */
void shared_board_release(struct shared_board *b, uint32_t index, uint32_t serial, uint32_t state);

#endif
