/* SPDX-License-Identifier: MIT
 *
 * watch.h - one watched target: a live link or a session file, with its model, symbols and spool.
 * tui/ and the verbs start here. Main thread only.
 *
 * A live watch reconnects by itself and writes every received frame to the spool. A link error is a
 * state, not a failure: watch_problem() has the sentence for the header.
 */
#ifndef LINK_WATCH_H
#define LINK_WATCH_H

#include "launch/target.h"
#include "model/model.h"
#include "symbols/symbols.h"

struct expected;
struct loop;
struct watch;

struct watch_options {
	const char *who;         /* shown to other viewers; NULL = user@host */
	const char *record_path; /* write the session to this file (record); NULL = no */
	/* keep the session in the file of this one, as `stream`; NULL = no. Closed after this
	 * one */
	struct watch *share;
	uint32_t stream;
	/* more rules than the session has (query/expected.h); NULL = none. Copied */
	const struct expected *expected;
	bool spool;       /* keep $XDG_STATE_HOME/memtop/ (live views) */
	bool wait;        /* keep trying when nobody answers yet (live view) */
	bool sliced;      /* large ticks are taken in by and by: somebody is at the keyboard */
	uint64_t tick_ns; /* 0 = agent's default */
	struct symbol_options symbols;
};

enum {
	WATCH_TICK = 1u << 0,   /* the model moved */
	WATCH_LINK = 1u << 1,   /* connected, lost, problem changed */
	WATCH_NOTICE = 1u << 2, /* watch_notice() has a sentence */
	WATCH_SYMBOLS = 1u << 3,
	WATCH_FINAL = 1u << 4,
	WATCH_INSTANT = 1u << 5,  /* watch_model() shows another instant, or the way to it ended */
	WATCH_INTERVAL = 1u << 6, /* changes count in the interval that was asked for */
};

/* NULL and *err when it cannot be at all; a link that is only not there yet is not an error when
 * o->wait. Files are read whole (or to their last whole block) before it returns. */
struct watch *watch_open(struct loop *loop, const struct target *t, const struct watch_options *o,
			 struct err *err);
void watch_close(struct watch *w);
void watch_on_change(struct watch *w, void (*fn)(void *arg, unsigned bits), void *arg);

struct model *watch_model(struct watch *w);
void watch_go_on(struct watch *w); /* with what was asked of the model (model_set_interval()) */
struct symbols *watch_symbols(struct watch *w);
const struct expected *watch_expected(const struct watch *w); /* rules of the session */
/* One more, of a live session for its file, too; -1: it is none, or there are too many. */
int watch_expect(struct watch *w, const char *rule, bool on);
const struct target *watch_target(const struct watch *w);
/* process at the other end of a Unix socket; 0 = unknown */
unsigned watch_peer(const struct watch *w);
bool watch_live(const struct watch *w);    /* link is up */
bool watch_growing(const struct watch *w); /* a session file whose writer is still at it */
/* how old what is shown is, when the link is not keeping it fresh; 0 = fresh */
uint64_t watch_stale_ns(const struct watch *w);
/* since when nothing came; 0 = the link is alive */
uint64_t watch_silent_ns(const struct watch *w);
const char *watch_problem(const struct watch *w); /* one sentence, NULL = none */
const char *watch_notice(const struct watch *w);
/* percent, 100 = complete; after a reconnect, of model_coming() */
int watch_loading(const struct watch *w);
/* one more warning, for this session's reports too; "" = none */
void watch_note(struct watch *w, const char *text);
size_t watch_warnings(const struct watch *w, const char *const **sentences);

/*
 * The past: watch_model() shows the session as it was at an instant (model_time()), while all else,
 * and watch_now(), goes on. Going there takes a while; WATCH_INSTANT tells of the arrival, and of
 * being back. What comes of another program ends it.
 */
/* -1: there is no way, *err says why */
int watch_travel(struct watch *w, uint64_t time_ns, struct err *err);
void watch_return(struct watch *w);
uint64_t watch_instant(const struct watch *w);           /* 0 = now */
int watch_travelled(const struct watch *w);              /* percent of the way; 100 = there */
const char *watch_travel_problem(const struct watch *w); /* "" = all is as it was asked for */
struct model *watch_now(struct watch *w); /* what is now; watch_model(), when that shows it */

/* Commands; -1 when there is no live link. Their effect arrives as frames. */
int watch_mark(struct watch *w, const char *name);
int watch_drop_mark(struct watch *w, uint32_t id);
int watch_rename_mark(struct watch *w, uint32_t id, const char *name);
int watch_set_option(struct watch *w, const char *name, const char *value);
/* the agent out of the process: MTW_DETACHED, or a problem that says why not */
int watch_detach(struct watch *w);
/* sorted slots */
int watch_scan(struct watch *w, enum mtw_kind kind, const uint32_t *slots, size_t count);
/* Threads, memory, cohorts: shown now, so asked again and again (link/looks.h). A session that is
 * kept asks by itself. */
void watch_want(struct watch *w, enum mtw_kind kind);
/* All three are asked at once, and waited for (runs the loop). */
void watch_look(struct watch *w, unsigned timeout_ms);
/* Why what they say is not known of what is shown: looks_missing(). NULL: it is. */
const char *watch_missing(const struct watch *w, enum mtw_kind kind);

/*
 * The session so far, to a file of the user's (whole: spool, symbols, index). May take seconds:
 * meant for a forked child, whose parent has called watch_save_begin() just before. 0; -1 and *err;
 * 1 when there is a good file but the session goes on past its end, *err says why.
 */
void watch_save_begin(struct watch *w);
int watch_save(struct watch *w, const char *path, struct err *err);
const char *watch_spool_path(const struct watch *w);
bool watch_keeps(const struct watch *w);    /* what comes goes into a file */
bool watch_may_keep(const struct watch *w); /* ... or will, once its agent has greeted */
/* A line of the process tree's table, into the file of w: MTW_S_TREE or MTW_S_PROCESS. */
void watch_keep_table(struct watch *w, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		      size_t len);
bool watch_named(const struct watch *w); /* no name that was asked for is outstanding */
/* Looks a last time when the program goes on, and ends record_path: index, trailer. 0; -1 and *err
 * (125, says how much is safely in it) when it could not be written whole, now or on the way. */
int watch_end_record(struct watch *w, struct err *err);
/* Waits (runs the loop) until complete, final, or timeout; for verbs without a screen. */
int watch_wait_complete(struct watch *w, unsigned timeout_ms, struct err *err);
/* The state and status that memtop itself saw of its child; written to the session. */
void watch_child_ended(struct watch *w, int wait_status);

#endif
