/* SPDX-License-Identifier: MIT
 *
 * stream.h - one stream of a session that is thinned (session/session.h has the rule). It is read
 * and written by itself:
 *
 *   open     frames since the last tick
 *   group    those of the ticks since the last one that was written
 *
 * Counters are cumulative, so a tick can be left out when the next one that stays has its counters,
 * too, as on a slow link; so do samples and the peak (link/thin/merged.h). A tick that stays and is
 * alone in its group is written as it came. Any thread.
 */
#ifndef LINK_THIN_STREAM_H
#define LINK_THIN_STREAM_H

#include "link/thin/counts.h"
#include "link/thin/frames.h"
#include "link/thin/merged.h"
#include "model/paths/event.h"
#include "session/session.h"

/* The ticks of a program: their numbers count those that were left out. */
struct program_ticks {
	uint64_t pid, start_unix_ns, read;
	uint64_t last; /* that came, and was not left out: of these behind it `read` has more */
	uint64_t *kept;
	size_t count, room;
};

struct thinned {
	uint32_t stream;
	struct frames open, group;
	struct counts counts; /* of the group */
	struct merged merged;
	bool has_tick; /* the group */
	/* ticks that are left out: of the group, and those that open says */
	uint64_t omits, omits_open;
	uint64_t tick_ns;    /* the last tick: its program's time, */
	uint64_t at_ns;      /* the file's; */
	uint64_t written_ns; /* the program's, of the last one that was written */
	bool complete;       /* such a tick came since the HELLO */
	struct program_ticks ticks;
	const char *from; /* the old file; */
	struct session_writer *out;
	struct err err; /* of writing */
	bool damaged;
	/* of the whole stream, from a first pass: */
	uint64_t end_ns;             /* file's time of the last tick */
	uint64_t peak_ns, totals_ns; /* of PEAK, and the peak in the last TOTALS */
	uint64_t *pins;              /* program's times whose instant stays, in order */
	size_t pin_count, pin_room;
	struct session_key *keys;
	size_t key_count, key_at;
};

void thinned_put(struct thinned *s, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		 size_t len);
/* The next frame, in the order of the file. */
void thinned_take(struct thinned *s, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		  size_t len);
/* Writes all that was read: the last tick stays. */
void thinned_drain(struct thinned *s);
void thinned_free(struct thinned *s);

/* Index of the first of n ascending numbers that is not below `value`; n = there is none. */
size_t thin_first(const uint64_t *list, size_t n, uint64_t value);

#endif
