/* SPDX-License-Identifier: MIT
 *
 * stream.h - one stream of a session that is thinned (session/session.h has the rule). It is read
 * and written by itself:
 *
 *   open     frames since the last tick
 *   group    those of the ticks since the last one that was written
 *
 * Counters are cumulative, so a tick can be left out when the next one that stays has its counters,
 * too, as on a slow link; so do samples and the peak (link/thin/merged.c). A tick that stays and is
 * alone in its group is written as it came. Any thread.
 */
#ifndef LINK_THIN_STREAM_H
#define LINK_THIN_STREAM_H

#include "model/paths/event.h"
#include "session/session.h"
#include "model/paths/types.h"
#include "base/base.h"
#include "model/history/history.h"
#include "wire/frames.h"

#include <memtop/wire.h>

/* counts.c: counters of slots from several frames: of each slot the last. */

struct count {
	uint32_t slot;
	uint32_t nth; /* of the list: the last one of a slot wins */
	struct tally now;
};

struct counts {
	struct count *list;
	size_t count, room, unique;
};

void counts_add(struct counts *c, uint32_t slot, const struct tally *now);
void counts_settle(struct counts *c); /* in the order of their slots, the last of each */
void counts_drop(struct counts *c);   /* all of them; the memory stays */
void counts_free(struct counts *c);

/* held.c: frames that are held back. */

struct held_frame {
	uint64_t time_ns, type;
	size_t at, len; /* in bytes */
};

struct held {
	struct held_frame *list;
	size_t count, room;
	uint8_t *bytes;
	size_t len, bytes_room;
};

void held_add(struct held *f, uint64_t time_ns, uint64_t type, const uint8_t *payload, size_t len);
void held_drop(struct held *f); /* all of them; the memory stays */
void held_free(struct held *f);
/* A number of the payload; 0: it has no such. */
uint64_t held_number(const struct held *f, size_t i, unsigned nth);
/* The next one of the type behind i; SIZE_MAX = none. */
size_t held_next(const struct held *f, size_t i, uint64_t type);

/*
 * --- merged.c: SAMPLES, SAMPLE_LIVE and PEAK of a group of ticks, of which the last one stays.
 *
 * Each of these frames says what differs from the one before. So those between are not left out,
 * but merged into the last one, as a reader merges them: the samples by the model's own code.
 * Parts of which the rest follows later stay as they came.
 */

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
	} last;             /* of these, what the last one says */
	struct held coming; /* of a PEAK whose end is not here yet */
	bool begun;         /* coming */
};

/* Frames that this part knows. */
bool merged_takes(uint64_t type);
/* It joins the group. 1: it is to be held as it came, too; 0; -1: it is damaged. */
int merged_join(struct merged *x, const struct held *f, size_t i);
/* It is written as it came, and the group is empty. 0; -1: it is damaged. */
int merged_pass(struct merged *x, uint64_t type, const uint8_t *payload, size_t len);
/* The group ends: what it has merged. */
void merged_put(struct merged *x, struct frames *to);
void merged_clear(struct merged *x); /* another program begins; or the end */

/* The ticks of a program: their numbers count those that were left out. */
struct program_ticks {
	uint64_t pid, start_unix_ns, read;
	uint64_t last; /* that came, and was not left out: of these behind it `read` has more */
};

struct thinned {
	struct session_ticks *of; /* borrowed; its kept are written here */
	struct held open, group;
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
	struct frames *to; /* borrowed, of all streams: into `out`, at at_ns */
	struct err err;    /* of writing */
	bool damaged;
	size_t key_at; /* of its keys */
};

/* A frames_fn of `to`; arg: a stream. */
int thinned_write(void *arg, uint64_t type, const uint8_t *payload, size_t len);
/* The next frame, in the order of the file. */
void thinned_take(struct thinned *s, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		  size_t len);
/* Writes all that was read: the last tick stays. */
void thinned_drain(struct thinned *s);
void thinned_release(struct thinned *s);

/* Index of the first of n ascending numbers that is not below `value`; n = there is none. */
size_t thin_first(const uint64_t *list, size_t n, uint64_t value);

/* key.c: key frames of a session that is thinned. */

/* The stream's next key frame, when its place is reached: copies or drops it. */
void thinned_key(struct thinned *s);

#endif
