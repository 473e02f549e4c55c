/* SPDX-License-Identifier: MIT
 *
 * looks.c - see link/looks.h.
 *
 * The interval between scans is short at first (every second instant of a young session has all
 * scans), then a fraction of the session's age, so that a file of days grows with events and not
 * with scans. No scan runs while the program neither allocates nor frees and its resident memory
 * stays the same. A scan waits a hundred times its last duration, so walks over millions of blocks
 * are rare. Scans run one after another, so that each is timed alone. Ages have the largest answers
 * (an entry for each call path, thread and age), so their size stretches their interval too.
 */
#include "link/looks.h"

#include "link/commands.h"

#define MS 1000000u
#define SECOND 1000000000ull
#define SOONEST_NS (100 * MS) /* ticks come as often */
#define PART 100       /* one in so many parts of the agent's time is spent on it, at most; */
#define PART_WANTED 20 /* ... while a viewer shows it, and in the first seconds */
#define FIRST_NS (2 * SECOND)
#define WANTED_NS (3 * SECOND) /* a view counts as shown for this time after it was drawn */
#define WANTED_EVERY_NS (2 * SECOND)
/* wanted ages, shown beside everything else, follow PART unless that is too seldom */
#define AGES_SELDOM_NS (30 * SECOND)
#define AGES_BYTES_S (16u << 10)          /* of a session's ages, before they are compressed */
#define PATIENCE_NS (10 * SECOND)         /* the agent may be busy with another one's */
#define COHORTS_PATIENCE_NS (90 * SECOND) /* ... and these are many on a slow link */

static const enum mtw_kind kinds[] = { MTW_KIND_THREADS, MTW_KIND_MEMORY, MTW_KIND_COHORTS };
#define KINDS (sizeof kinds / sizeof kinds[0])

void looks_begin(struct looks *l)
{
	*l = (struct looks){ .kept = l->kept, .request = l->request };
}

static uint64_t feature(enum mtw_kind kind)
{
	return kind == MTW_KIND_MEMORY    ? MTW_FEATURE_MEMORY
	       : kind == MTW_KIND_COHORTS ? MTW_FEATURE_COHORTS
					  : 0;
}

/* An older agent would end the link for a kind that it does not know. */
static bool knows(const struct model *m, enum mtw_kind kind)
{
	const struct program *p = model_program(m);

	return p && (p->features & feature(kind)) == feature(kind);
}

int looks_ask(struct looks *l, struct conn *c, const struct model *m, enum mtw_kind kind,
	      const uint32_t *slots, size_t count)
{
	return knows(m, kind) ? command_scan(c, ++l->request, kind, slots, count) : -1;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t between(uint64_t v, uint64_t least, uint64_t most)
{
	return v < least ? least : v > most ? most : v;
}

/* The time between two questions of the session: by its age, and by an answer's time and size. */
static uint64_t gap(const struct looks *l, enum mtw_kind kind, uint64_t age)
{
	bool ages = kind == MTW_KIND_COHORTS;
	uint64_t early = larger(age / 2, SOONEST_NS);
	uint64_t late = ages ? between(age / 32, 2 * SECOND, 60 * SECOND)
			     : between(age / 128, SECOND, 10 * SECOND);
	uint64_t by_size = ages ? l->cohorts_bytes * SECOND / AGES_BYTES_S : 0;

	return larger(early < late ? early : late,
		      larger(l->of[kind].took_ns * (age < FIRST_NS ? PART_WANTED : PART), by_size));
}

static uint64_t gap_wanted(const struct look *k, enum mtw_kind kind)
{
	uint64_t every = k->took_ns * PART_WANTED, seldom = k->took_ns * PART;

	if (kind == MTW_KIND_COHORTS && every < AGES_SELDOM_NS)
		every = seldom < AGES_SELDOM_NS ? seldom : AGES_SELDOM_NS;
	return larger(every, WANTED_EVERY_NS);
}

static uint64_t events(const struct model *m)
{
	const struct tally *t = &model_totals(m)->sum;

	return t->alloc_blocks + t->free_blocks;
}

static uint64_t resident(const struct model *m)
{
	uint64_t rss = 0, virt;
	uint32_t threads, children;

	model_process(m, &rss, &virt, &threads, &children);
	return rss;
}

static bool waits(const struct look *k)
{
	return k->asked_ns > k->answer_ns;
}

static void hear(struct look *k, uint64_t answers, uint64_t now)
{
	if (k->answers == answers)
		return;
	k->answers = answers;
	k->took_ns = waits(k) ? now - k->asked_ns : k->took_ns;
	k->answer_ns = now;
}

/* Is an answer awaited, and not given up? */
static bool under_way(const struct looks *l, const struct model *m, uint64_t now)
{
	for (size_t i = 0; i < KINDS; i++) {
		uint64_t patience =
			kinds[i] == MTW_KIND_COHORTS ? COHORTS_PATIENCE_NS : PATIENCE_NS;
		if (waits(&l->of[kinds[i]]) &&
		    (now - l->of[kinds[i]].asked_ns < patience || model_walked(m)))
			return true;
	}
	return false;
}

/* *session: the session's own question is due. */
static bool is_due(const struct looks *l, enum mtw_kind kind, const struct model *m, uint64_t now,
		   bool *session)
{
	const struct look *k = &l->of[kind];
	uint64_t since = now - k->asked_ns;
	bool moved = !k->asked_ns || k->blocks != events(m) || k->rss != resident(m);
	bool wanted = k->wanted_ns && now - k->wanted_ns < WANTED_NS;

	*session = l->kept &&
		   (k->due || !k->asked_ns || (moved && since >= gap(l, kind, model_time(m))));
	if (k->due)
		return k->due == LOOK_NOW || !k->asked_ns || since >= k->took_ns * PART_WANTED;
	return *session || (wanted && (!k->asked_ns || since >= gap_wanted(k, kind)));
}

static void ask(struct looks *l, struct conn *c, const struct model *m, enum mtw_kind kind,
		bool session, uint64_t now)
{
	struct look *k = &l->of[kind];

	k->due = LOOK_BY_RHYTHM;
	if (looks_ask(l, c, m, kind, NULL, 0))
		return;
	k->asked_ns = now;
	k->blocks = events(m);
	k->rss = resident(m);
	if (kind == MTW_KIND_COHORTS && session) {
		l->cohorts_kept = l->request;
		l->cohorts_bytes = 0;
	}
}

static void be_due(struct looks *l, int when)
{
	for (size_t i = 0; i < KINDS; i++)
		l->of[kinds[i]].due = when;
}

void looks_go_on(struct looks *l, struct conn *c, const struct model *m)
{
	uint64_t now = now_ns();
	bool session;

	if (!conn_up(c) || !model_complete(m) || model_coming(m) || model_final(m))
		return;
	if (model_newest_mark(m) != l->mark && l->kept)
		be_due(l, LOOK_SOON);
	l->mark = model_newest_mark(m);
	for (size_t i = 0; i < KINDS; i++)
		hear(&l->of[kinds[i]], model_answers(m, kinds[i]), now);
	for (size_t i = 0; i < KINDS && !under_way(l, m, now); i++)
		if (is_due(l, kinds[i], m, now, &session))
			ask(l, c, m, kinds[i], session, now);
}

void looks_want(struct looks *l, enum mtw_kind kind)
{
	l->of[kind].wanted_ns = now_ns();
}

void looks_all(struct looks *l)
{
	be_due(l, LOOK_NOW);
}

bool looks_waiting(const struct looks *l)
{
	for (size_t i = 0; i < KINDS; i++)
		if (l->of[kinds[i]].due || waits(&l->of[kinds[i]]))
			return true;
	return false;
}

bool looks_keep(struct looks *l, const uint8_t *payload, size_t len)
{
	struct mtw_in in = { payload, payload + len, false };
	uint64_t request = mtw_get(&in);

	if (request && request != l->cohorts_kept)
		return false; /* those of the end come unasked, as 0 */
	l->cohorts_bytes += len;
	return true;
}

static const char *reason(const struct model *m, enum mtw_kind kind, bool past, bool live)
{
	static char text[64]; /* main thread only */

	if (!knows(m, kind))
		return "this agent's version cannot tell";
	if (kind == MTW_KIND_MEMORY && model_answers(m, kind))
		return "the agent sees no /proc/PID/smaps";
	if (past)
		return "the agent had not scanned the heap by then";
	if (live && model_walked(m)) {
		snprintf(text, sizeof text, "the agent has read %llu %% of its blocks so far",
			 (unsigned long long)model_walked(m) - 1);
		return text;
	}
	return live ? "the agent has not answered yet"
		    : "the session was cut, or the link was lost, before the agent's first scan";
}

const char *looks_missing(const struct model *m, enum mtw_kind kind, bool past, bool live)
{
	static const char *const what[MTW_KIND_COUNT] = {
		[MTW_KIND_THREADS] = "LIVE of each thread",
		[MTW_KIND_AGES] = "The age of blocks",
		[MTW_KIND_MEMORY] = "The resident memory by part",
		[MTW_KIND_COHORTS] = "The age and thread of blocks",
	};
	static char texts[MTW_KIND_COUNT][200]; /* main thread only */

	if (model_looked(m, kind) || !model_program(m))
		return NULL;
	snprintf(texts[kind], sizeof texts[kind], "%s is not known: %s.", what[kind],
		 reason(m, kind, past, live));
	return texts[kind];
}
