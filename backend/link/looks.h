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
	uint64_t wanted_ns;   /* now_ns() of a viewer's last look; 0 = never */
	uint64_t answers;     /* model_answers() at the last answer */
	uint64_t blocks, rss; /* allocated and freed so far, and resident, at the question */
	enum { LOOK_BY_RHYTHM, LOOK_SOON, LOOK_NOW } due; /* soon: a mark was set */
};

/* All 0 at first. */
struct looks {
	bool kept;                      /* for a session: asks by itself */
	struct look of[MTW_KIND_COUNT]; /* AGES is unused: it covers only some slots */
	uint64_t request;               /* number of the last question */
	/* the session's last question about COHORTS; 0 = none */
	uint64_t cohorts_kept;
	size_t cohorts_bytes; /* length of its answer so far */
	uint32_t mark;        /* the newest at the last check */
};

/* Another link, or another program. */
void looks_begin(struct looks *l);
/* Sends the questions that are due. Call it at each tick and after looks_want(). */
void looks_go_on(struct looks *l, struct conn *c, const struct model *m);
/* A viewer shows it: ask soon, and again in the next seconds. */
void looks_want(struct looks *l, enum mtw_kind kind);
/* Asks all at once; looks_waiting() until the answers are here. */
void looks_all(struct looks *l);
bool looks_waiting(const struct looks *l);
/* Is this MTW_SCAN_COHORTS payload the session's answer? Viewers' answers come every few seconds
 * and are many. */
bool looks_keep(struct looks *l, const uint8_t *payload, size_t len);
/* Sends one question; -1: this agent does not know it, or the link is down. `slots` sorted; none
 * = all. */
int looks_ask(struct looks *l, struct conn *c, const struct model *m, enum mtw_kind kind,
	      const uint32_t *slots, size_t count);
/* Why no answer of this kind is known, in a sentence that every screen and report shares. NULL:
 * it is known. past: m is not at the session's last instant; live: there is a link to ask. */
const char *looks_missing(const struct model *m, enum mtw_kind kind, bool past, bool live);

#endif
