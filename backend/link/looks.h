/* SPDX-License-Identifier: MIT
 *
 * looks.h - asks the agent again and again to scan its live blocks: which threads hold them
 * (MTW_KIND_THREADS), in what memory (MEMORY), since when (COHORTS). Main thread only.
 *
 * A session that is kept asks by itself, so that a recording has what a live view shows. A viewer
 * that shows one of these asks more often. Both keep the agent's time for scans small.
 */
#ifndef LINK_LOOKS_H
#define LINK_LOOKS_H

#include "link/conn.h"
#include "model/model.h"

struct look {
	/* now_ns() of the last question and answer; 0 = none */
	uint64_t asked_ns, answer_ns, took_ns;
	uint64_t wanted_ns;   /* now_ns() when somebody looked at it last; 0 = never */
	uint64_t answers;     /* model_answers() at the last answer */
	uint64_t blocks, rss; /* allocated and freed so far, and resident, when it was asked */
	enum { LOOK_BY_RHYTHM, LOOK_SOON, LOOK_NOW } due; /* soon: a mark was set */
};

/* All 0 at first. */
struct looks {
	bool kept;                      /* for a session: asks by itself */
	struct look of[MTW_KIND_COUNT]; /* that of AGES is not used: it is of some slots only */
	uint64_t request;               /* number of the last question */
	/* that of the last one about COHORTS that the session asked; 0 = none */
	uint64_t cohorts_kept;
	size_t cohorts_bytes; /* length of its answer so far */
	uint32_t mark;        /* the newest, when it was looked last */
};

/* Another link, or another program. */
void looks_begin(struct looks *l);
/* At each tick, and when something is wanted: asks for what is due. */
void looks_go_on(struct looks *l, struct conn *c, const struct model *m);
/* Somebody looks at it: soon, and in the next seconds again. */
void looks_want(struct looks *l, enum mtw_kind kind);
/* All, at once; looks_waiting() until they are here. */
void looks_all(struct looks *l);
bool looks_waiting(const struct looks *l);
/* Is this answer, the payload of a MTW_SCAN_COHORTS, the session's? Others come every few seconds,
 * and are many. */
bool looks_keep(struct looks *l, const uint8_t *payload, size_t len);
/* One question; -1: this agent does not know it, or it cannot be sent. `slots` sorted; none =
 * all. */
int looks_ask(struct looks *l, struct conn *c, const struct model *m, enum mtw_kind kind,
	      const uint32_t *slots, size_t count);
/* Why it is not known what an answer of this kind says, in a sentence: the same on every screen and
 * in every report. NULL: it is known. past: m is of an instant that is not the session's last;
 * live: there is a link that can be asked. */
const char *looks_missing(const struct model *m, enum mtw_kind kind, bool past, bool live);

#endif
