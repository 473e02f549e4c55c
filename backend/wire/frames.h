/* SPDX-License-Identifier: MIT
 *
 * frames.h - writes frames of the wire: for sessions that memtop makes itself (a diff, all
 * processes of a tree). Any thread.
 *
 * A frame is fields, or fields, a count and that many entries. Entries are put one by one, and
 * frames_list() ends the frame with their count before them:
 *
 *     frames_entry(f, slot), frames_value(f, ...)    for each; frames_full(f): end the frame here
 *
 * Frames of paths, slots and cells of any number: an entry each, which ends the frame when it is
 * full, and frames_rest() or frames_cells_end() at last.
 */
#ifndef WIRE_FRAMES_H
#define WIRE_FRAMES_H

#include "base/base.h"

#include <memtop/wire.h>

/* Takes a frame: 0, or what ends the writing. */
typedef int (*frames_fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len);

struct tally;

struct frames {
	frames_fn fn;
	void *arg;
	int rc;                    /* of fn, the first that is not 0: nothing is written after it */
	uint8_t *room;             /* owned; of both: */
	struct mtw_out head, body; /* the frame's fields; its entries */
	uint64_t count, last;      /* entries; the id of the last one */
};

void frames_init(struct frames *f, frames_fn fn, void *arg);
void frames_release(struct frames *f);
void frames_put(struct frames *f, uint64_t field);
void frames_put_all(struct frames *f, const uint64_t *fields, size_t count);
void frames_string(struct frames *f, const char *text); /* NULL: "" */
void frames_bytes(struct frames *f, const void *bytes, size_t len);
/* An entry: its id, which is above that of the entry before, then its values. */
void frames_entry(struct frames *f, uint64_t id);
void frames_point(struct frames *f); /* ... of an entry without an id */
void frames_value(struct frames *f, uint64_t v);
void frames_text(struct frames *f, const char *text); /* NULL: "" */
bool frames_full(const struct frames *f);
void frames_end(struct frames *f, uint64_t type);  /* without entries */
void frames_list(struct frames *f, uint64_t type); /* with those since the last frame, or none */
void frames_rest(struct frames *f, uint64_t type); /* if there are such */

void frames_tally(struct frames *f, const struct tally *t); /* four fields */
/* Of NODES; module: where it is of one. Of SLOTS, WEIGHED and COUNTS. */
void frames_node(struct frames *f, uint64_t id, uint64_t kind, uint64_t parent, uint64_t module,
		 uint64_t offset);
void frames_slot(struct frames *f, uint64_t id, uint64_t node, uint64_t epoch);
void frames_weighed(struct frames *f, uint64_t id);
void frames_counts(struct frames *f, uint64_t id, const struct tally *now);
void frames_counters(struct frames *f, uint64_t id, const struct tally *t); /* any frame's entry */
/* Of MARK_LIVE or SAMPLE_LIVE number so much; whole: all cells have come. */
void frames_cell(struct frames *f, uint64_t type, uint64_t number, uint64_t slot, uint64_t blocks,
		 uint64_t bytes);
void frames_cells_end(struct frames *f, uint64_t type, uint64_t number, bool whole);

#endif
