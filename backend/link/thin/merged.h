/* SPDX-License-Identifier: MIT
 *
 * merged.h - SAMPLES, SAMPLE_LIVE and PEAK of a group of ticks, of which the last one stays. Any
 * thread.
 *
 * Each of these frames says what differs from the one before. So those between are not left out,
 * but merged into the last one, as a reader merges them: the samples by the model's own code.
 * Parts of which the rest follows later stay as they came.
 */
#ifndef LINK_THIN_MERGED_H
#define LINK_THIN_MERGED_H

#include "link/thin/counts.h"
#include "link/thin/frames.h"
#include "model/history/samples.h"

struct merged {
	struct quota quota;
	struct samples samples; /* all that came, as a reader of all frames has them */
	uint32_t *fresh;        /* serials of which something came in this group */
	size_t fresh_count, fresh_room;
	struct counts peak; /* of whole PEAKs of this group */
	struct {
		uint32_t serial;
		uint64_t time_ns;
		struct tally sum;
	} last;               /* of these, what the last one says */
	struct frames coming; /* of a PEAK whose end is not here yet */
	bool begun;           /* coming */
};

/* Frames that this part knows. */
bool merged_takes(uint64_t type);
/* It joins the group. 1: it is to be held as it came, too; 0; -1: it is damaged. */
int merged_join(struct merged *x, const struct frames *f, size_t i);
/* It is written as it came, and the group is empty. 0; -1: it is damaged. */
int merged_pass(struct merged *x, uint64_t type, const uint8_t *payload, size_t len);
/* The group ends: what it has merged, frame by frame. fn's result is 0. */
void merged_put(struct merged *x,
		int (*fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len), void *arg);
void merged_clear(struct merged *x); /* another program begins; or the end */

#endif
