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

#include "base/procfs.h"
#include "launch/target.h"
#include "model/model.h"
#include "symbols/symbols.h"

struct expected;
struct loop;
struct watch;

struct watch_options {
	const char *who;         /* name for other viewers; NULL = user@host */
	const char *record_path; /* write the session to this file (record); NULL = no */
	bool record_whole;       /* never thin that file */
	/* write the session to this watch's file, as `stream`; NULL = no. Close this one first */
	struct watch *share;
	uint32_t stream;
	/* rules in addition to the session's (owners/expected.h); NULL = none. Copied */
	const struct expected *expected;
	/* live views: write a session to $XDG_STATE_HOME/memtop/, where so many stay; 0 = none */
	unsigned spool;
	bool wait;        /* retry until an agent answers (live view) */
	bool command;     /* asks for one thing and leaves: the agent always has a place */
	bool by_cpu;      /* ticks by the program's cpu time (MTW_CLIENT_BY_CPU) */
	bool brief;       /* ready with the first totals: the heap is nothing to it */
	bool paced;       /* model_set_paced(): somebody looks at it */
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
	WATCH_INTERVAL = 1u << 6, /* another interval is in force */
};

/* NULL and *err when it can never work; with o->wait a missing link is no error. Files are read
 * to their end (or their last whole block) before it returns. */
struct watch *watch_open(struct loop *loop, const struct target *t, const struct watch_options *o,
			 struct err *err);
void watch_close(struct watch *w);
/* TARGET_MADE: the frames of a session that memtop makes. -1 and *err: a frame is not one. The
 * second reports what came, after a tick. */
int watch_feed(struct watch *w, uint64_t type, const uint8_t *payload, size_t len, struct err *err);
void watch_fed(struct watch *w);
/* Its agent's frames wait until the next call, so that another thread can read the model. */
void watch_hold(struct watch *w, bool on);
void watch_on_change(struct watch *w, void (*fn)(void *arg, unsigned bits), void *arg);
bool watch_seen(const struct watch *w); /* somebody set that */

struct model *watch_model(struct watch *w);
struct symbols *watch_symbols(struct watch *w);
const struct expected *watch_expected(const struct watch *w); /* rules of the session */
/* Adds a rule, in a live session to its file, too; -1: invalid, or too many. */
int watch_expect(struct watch *w, const char *rule, bool on);
const struct target *watch_target(const struct watch *w);
/* process at the other end of a Unix socket; 0 = unknown */
unsigned watch_peer(const struct watch *w);
/* The program's pid where memtop runs; 0 = not known yet. *inner, if not NULL: its pid in a pid
 * namespace of its own, 0 = the same. A file, and another machine, have the program's own alone. */
unsigned watch_pid(const struct watch *w, unsigned *inner);
bool watch_live(const struct watch *w);          /* link is up */
bool watch_being_written(const struct watch *w); /* a session file that is still being written */
/* age of the shown state when the link does not keep it fresh; 0 = fresh */
uint64_t watch_stale_ns(const struct watch *w);
/* Why the agent is silent: its process is stopped, with the program or alone (enum mtw_stop); 0 =
 * not known. */
unsigned watch_stopped(const struct watch *w);
/* time without a byte; 0 = the link is alive */
uint64_t watch_silent_ns(const struct watch *w);
const char *watch_problem(const struct watch *w); /* one sentence, NULL = none */
const char *watch_notice(const struct watch *w);
/* percent, 100 = complete; after a reconnect, of model_coming() */
int watch_loading(const struct watch *w);
/* adds a warning, also for the session's reports; "" = none */
void watch_note(struct watch *w, const char *text);
size_t watch_warnings(const struct watch *w, const char *const **sentences);

/*
 * The past: watch_model() shows the session as of an instant (model_time()), while all else, and
 * watch_now(), continues. WATCH_INSTANT reports the arrival and the return. A new program ends it.
 * At the time of a mark, and of model_peak(), the heap is exactly what the agent kept of it, and
 * that needs no file.
 */
/* wait: it has arrived on return. -1 and *err: impossible */
int watch_travel(struct watch *w, uint64_t time_ns, bool wait, struct err *err);
void watch_return(struct watch *w);
uint64_t watch_instant(const struct watch *w); /* 0 = now */
/* The warning that says which instant it is; NULL = now. */
const char *watch_instant_words(const struct watch *w);
int watch_travelled(const struct watch *w);              /* percent of the way; 100 = arrived */
const char *watch_travel_problem(const struct watch *w); /* "" = arrived as requested */
/* At the heap's peak: what the call paths there lack of it, as a peak begins anew only when the
 * heap grew by some 1 %. 0: nothing, or another instant. */
uint64_t watch_peak_lacks(const struct watch *w);
struct model *watch_now(struct watch *w); /* the current state's model; may be watch_model() */

/* Commands; -1 when there is no live link. Their effect arrives as frames. */
int watch_mark(struct watch *w, const char *name);
int watch_drop_mark(struct watch *w, uint32_t id);
int watch_rename_mark(struct watch *w, uint32_t id, const char *name);
int watch_set_option(struct watch *w, const char *name, const char *value);
/* Unloads the agent: MTW_DETACHED, or a problem with the reason. */
int watch_detach(struct watch *w);
/* sorted slots */
int watch_scan(struct watch *w, enum mtw_kind kind, const uint32_t *slots, size_t count);
/* A viewer shows threads, memory or cohorts: asks again and again (link/looks.h). A recorded
 * session asks by itself. */
void watch_want(struct watch *w, enum mtw_kind kind);
/* Asks all three at once, and waits for the answers and for sums that are whole (runs the loop).
 * patient: the time begins anew as long as the agent says that it reads its blocks. */
void watch_look(struct watch *w, unsigned timeout_ms, bool patient);
/* When to give up: so long after the agent's last word, if it reads its blocks; else `end`. */
uint64_t watch_until(const struct watch *w, uint64_t end, unsigned timeout_ms);
/* Why the shown state lacks that answer: looks_missing(). NULL: it has it. */
const char *watch_missing(const struct watch *w, enum mtw_kind kind);

/*
 * Saves the session so far to the user's file (spool, symbols, index). May take seconds: for a
 * forked child, whose parent has just called watch_save_begin(). 0; -1 and *err; 1 when the file is
 * good but ends before the session, *err says why.
 */
void watch_save_begin(struct watch *w);
int watch_save(struct watch *w, const char *path, struct err *err);
const char *watch_spool_path(const struct watch *w);
/* Why its session is no longer saved, and how much of it is: one sentence; NULL = it is. */
const char *watch_unsaved(const struct watch *w);
bool watch_keeps(const struct watch *w); /* frames go to a file */
/* number of its stream in that file, also after it moved to another line of a tree */
uint32_t watch_stream(const struct watch *w);
bool watch_may_keep(const struct watch *w); /* ... or will, once its agent has greeted */
/* A line of the process tree's table, into the file of w: MTW_S_TREE or MTW_S_PROCESS. */
void watch_keep_table(struct watch *w, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		      size_t len);
bool watch_named(const struct watch *w); /* no requested name is outstanding */
/* Asks for all scans a last time if the program still runs, and ends record_path: index,
 * trailer. 0; -1 and *err (125, says how much was saved) if any write failed, now or before. */
int watch_end_record(struct watch *w, struct err *err);
/* Its agent is at it, but hardly gets to run: procfs_lags(). A wait for its answer goes on. */
bool watch_lags(const struct watch *w, struct procfs_pace *pace);
/* 1 complete, or final, or with options.brief the totals are there; 0 not yet; -1 and *err: nobody
 * answers, and the watch does not wait. */
int watch_ready(const struct watch *w, struct err *err);
/* Waits (runs the loop) until complete, final, or timeout; for verbs without a screen. */
int watch_wait_complete(struct watch *w, unsigned timeout_ms, struct err *err);
/* The state and status that memtop itself saw of its child; written to the session. */
void watch_child_ended(struct watch *w, int wait_status);

#endif
