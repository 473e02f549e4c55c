/* SPDX-License-Identifier: MIT
 *
 * model.h - one session's data, as plain arrays indexed by the wire's ids. Main thread only.
 *
 * Only model_apply() changes it, by events that wire/decode.c decoded (live or from a file). An
 * event that contradicts the session (an unknown id, counters that shrink) is an error and leaves
 * what the model shows unchanged. Events between two ticks are held back and take effect together
 * at the tick, so that a reader always sees one consistent state: totals = sum over slots of counts
 * (when `complete`) Not here: call paths and their counters (model/columns.h has them, and makes
 * snapshots), names (symbols/symbols.h), owners (owners/owner.h), rows on a screen (query/query.h).
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "model/paths/types.h"

struct model;
struct event; /* model/paths/event.h */

struct model *model_new(void);
void model_free(struct model *m);
/* Clears everything for another program. Keeps the object. */
void model_clear(struct model *m);
/* Another thread reads the model: whoever changes it calls end(arg) first, which waits for that
 * thread, and calls this with NULL. */
void model_read_apart(struct model *m, void (*end)(void *arg), void *arg);
int model_apply(struct model *m, const struct event *e, struct err *err);

/*
 * model/past.c: a model of another instant. model_seed() gives `m`, which is new or of the same
 * program, the modules, nodes and slots of `from`; new ones have no counters. model_swap()
 * exchanges the contents of two models: model_ticks() of both moves.
 */
int model_seed(struct model *m, const struct model *from, struct err *err);
void model_swap(struct model *a, struct model *b);
/* The interval to take, as soon as its marks have arrived. */
void model_want_interval(struct model *m, const struct model *as);
/*
 * The instants whose heap a model keeps by slot: marks, by id, and the heap's peak.
 * model_kept_at(): the one at exactly that time; NO_ID = none.
 * model_recall() makes `m`, of the last tick before, one of that instant; a new one gets all that
 * `from` knows of it.
 */
#define KEPT_PEAK 0u
uint32_t model_kept_at(const struct model *m, uint64_t time_ns);
int model_recall(struct model *m, const struct model *from, uint32_t mark, struct err *err);

/* Paced: no new snapshot (model_heap() in model/columns.h) until some time after the last, so that
 * they take a third of a core at most. For a view. model_behind(): then a newer one is due later.
 */
void model_set_paced(struct model *m, bool on);
bool model_paced(const struct model *m);
bool model_behind(const struct model *m);
/* Moves with each snapshot that users wait for, which is made at once: the first one, and that of
 * another program. */
uint64_t model_awaited(const struct model *m);
/* A worker has more to take in than it gets done: a link's frames wait in the socket, where the
 * agent joins what they say, and not here. Until it is done. */
bool model_full(const struct model *m);
/* In a forked child: snapshots are made in line. Before the fork: model_columns(), so that no
 * worker has half of them. */
void model_forked(struct model *m);

/* At the end of a file: the counters behind its last tick are looked at, too. -1 and *err: they
 * contradict the session. */
int model_catch_up(struct model *m, struct err *err);

/*
 * model/dump.c: the whole model as frames, for a session's key frame; a new model takes them. Only
 * while model_dumps(): between two ticks, with nothing there in part, and no worker with half of it
 * (else model_full() until it has none): a fork of this moment may do it.
 * model_dump_end() comes last, after frames of the caller's own. fn's result, when it is not 0,
 * ends the writing and is returned.
 */
bool model_dumps(const struct model *m);
int model_dump(const struct model *m,
	       int (*fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len), void *arg);
int model_dump_end(const struct model *m,
		   int (*fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len),
		   void *arg);

/*
 * Read access: borrowed, valid until the next model_apply(). Ids past the count give NULL; an id
 * below it that never came (ids may be sparse) gives an object whose `known` is false.
 */
const struct program *model_program(const struct model *m); /* NULL = no agent has answered yet */
const struct totals *model_totals(const struct model *m);
/* The part of the totals that a fork inherited: allocated before it, in its parents, and freed
 * since their start. False: not known (yet): an older agent's fork, or a state that is not whole.
 */
bool model_inherited(const struct model *m, struct tally *sum);
/* The counters at the heap's peak are known (heap/peak.h); NULL = the agent has not sent them.
 * Their sum is that of the peak in model_totals(), within a hundredth and its error, or less if it
 * says so. */
const struct peak_instant *model_peak(const struct model *m);
uint32_t model_state(const struct model *m, int *status, bool *known); /* enum mtw_state */
/* for a lost link, memtop's own waitpid */
void model_set_state(struct model *m, uint32_t state, int status, bool known);
/* For a cut file: the state becomes MTW_CUT where more was to come. model_cut_end(): what the file
 * says of the program's end, which came after its last state; MTW_RUNNING = nothing. */
struct program_end {
	uint32_t state; /* enum mtw_state */
	int status;
	bool known;
};
void model_set_cut(struct model *m);
struct program_end model_cut_end(const struct model *m);
/* Nothing follows what the model has: it is a past instant, or a file was read to its end. */
void model_set_still(struct model *m);
bool model_still(const struct model *m);
bool model_complete(const struct model *m); /* a tick with MTW_TICK_COMPLETE was applied */
/* The last tick was such a one: sums over slots equal the totals, and are not smaller. */
bool model_whole(const struct model *m);
bool model_final(const struct model *m);
/* After a reconnect to the same process, while its new state is incomplete: its totals so far
 * (time_ns 0 = none yet). All else stays the last complete state. NULL = the model is current. */
const struct totals *model_coming(const struct model *m);
/* Percent of the live map that the agent's walk has read, plus 1, by its last word; 0 = no walk is
 * under way. Not bound to ticks: the last walks have none. */
uint64_t model_walked(const struct model *m);
uint64_t model_time(const struct model *m);  /* time of the last tick, ns since start */
uint64_t model_ticks(const struct model *m); /* ticks applied: changes with every visible change */
uint64_t model_arrivals(
	const struct model *m); /* events of call paths: moves while a state comes */
/* Locations, numbered from 0 in order of arrival; the root's is nowhere: kind 0, no module. */
uint32_t model_location_count(const struct model *m);
const struct location *model_location(const struct model *m, uint32_t number);
/* NO_ID: no node points to it */
uint32_t model_location_find(const struct model *m, uint32_t module, uint64_t offset, uint8_t kind);
uint32_t model_module_count(const struct model *m);
uint64_t model_module_changes(const struct model *m); /* of paths and flags */
const struct module *model_module(const struct model *m, uint32_t id);
uint32_t model_thread_count(const struct model *m);
const struct thread *model_thread(const struct model *m, uint32_t index);
/* ids are 1..limit-1; dropped ones have the flag */
uint32_t model_mark_limit(const struct model *m);
const struct mark *model_mark(const struct model *m, uint32_t id);
/* "m2", "2", a name; -1 = none */
int model_mark_find(const struct model *m, const char *name_or_id);
uint32_t model_newest_mark(const struct model *m); /* 0 = none */
void model_loss(const struct model *m, unsigned reason, uint64_t *events, uint64_t *bytes);
const struct effort *model_effort(const struct model *m); /* all 0 = not reported */
size_t model_memory(const struct model *m, const struct memory_part **parts); /* 0 = not reported */
/* live+freed blocks of such stacks */
uint64_t model_truncated(const struct model *m, unsigned reason);
/* likewise, for stacks with frames found by frame pointers */
uint64_t model_by_pointer(const struct model *m);
size_t model_process(const struct model *m, uint64_t *rss, uint64_t *virt, uint32_t *threads,
		     uint32_t *children);
const char *model_option(const struct model *m, const char *name); /* NULL = not reported */
/* by time; none: every block, always */
size_t model_filters(const struct model *m, const struct recorded **list);
const struct recorded *model_filter(const struct model *m); /* current; NULL = every block */
bool model_estimate(const struct model *m);                 /* totals have a sampled share */
/* the mark's totals have a sampled share */
bool model_mark_estimate(const struct model *m, uint32_t id);
const struct scan_ages *model_ages(const struct model *m);
/* Answers to memory scans, oldest first, thinned; and all names of the newest one. */
size_t model_rss(const struct model *m, const struct rss **list);
const struct rss *model_rss_newest(const struct model *m); /* NULL = none */
size_t model_rss_named(const struct model *m, const struct rss_named **list);
/* The answer nearest to a time, at most RSS_NEAR_NS away; NULL = none. */
const struct rss *model_rss_at(const struct model *m, uint64_t time_ns);
/* Session time, ns, of the newest answer to a scan of this kind; 0 = none. */
uint64_t model_looked(const struct model *m, enum mtw_kind kind);
/* moves with each answer, also with an empty one */
uint64_t model_answers(const struct model *m, enum mtw_kind kind);
/* Instants at which the session is complete, by time, each once; of very many, every second one,
 * fourth ... */
size_t model_instants(const struct model *m, const struct instant **list);
/* the last one up to a time; SIZE_MAX = none */
size_t model_instant_at(const struct model *m, uint64_t time_ns);
/* The session was thinned: of the instants up to the last of these ticks, which are counted as in
 * struct instant and ascend, only theirs stay. */
void model_keep_instants(struct model *m, const uint64_t *ticks, size_t n);
uint64_t model_ticks_read(const struct model *m);
/* of the newest scan; NULL = none requested, or not arrived yet */
const struct cohorts *model_cohorts(const struct model *m);
uint64_t model_cohort_scans(const struct model *m); /* moves with each answer */
/* ns that all rates are counted over, of running time: the last ten seconds, and up to one more;
 * less after a start, more when ticks are rare. 0: there is none yet. */
uint64_t model_window(const struct model *m);
/* so many in the window are so many a second */
double model_per_second(const struct model *m, uint64_t count);
struct rates model_rates(const struct model *m);
/* What a thread did in the window; false: not known. i < model_thread_count() */
bool model_thread_rate(const struct model *m, uint32_t i, struct rate *rate);

/*
 * The interval of changes: from a mark's id, or 0 = start (everything was born), to another's, or 0
 * = now. Snapshots have what was born and gone in it. -1 when a mark is unknown or kept only its
 * totals. When a mark goes, the interval is start to now again.
 */
int model_set_interval(struct model *m, uint32_t from, uint32_t to);
/*
 * An end of an interval (0 or 1: two at a time) where no mark is: what is live in `then`, `m`
 * itself or one of another instant. Its number, which is no mark's, until the end's next one; NO_ID
 * and *err. model_end_find(): of a mark, or of such an end by its name; NO_ID = none.
 */
uint32_t model_pin(struct model *m, unsigned end, const struct model *then, const char *name,
		   struct err *err);
uint32_t model_end_find(const struct model *m, const char *word);
uint64_t model_intervals(const struct model *m); /* moves when another interval takes effect */
/*
 * The session is a diff of two (diff/session.h): the interval is from A to B. What was born or gone
 * within a run is not known then.
 */
void model_set_of_sessions(struct model *m);
bool model_of_sessions(const struct model *m);
uint32_t model_base(const struct model *m);
uint32_t model_until(const struct model *m);
static inline bool model_diffing(const struct model *m)
{
	return model_base(m) || model_until(m);
}
/* Snapshots say what was born and gone since this mark, too, of all slots together (`since` in
 * heap/heap.h); 0, or a mark that does not say: no more. */
void model_count_since(struct model *m, uint32_t mark);
/* is live known by slot at this mark? 0 = start */
bool model_mark_says(const struct model *m, uint32_t id);
/* The newest mark up to which live is known by slot at all marks that keep it. */
uint32_t model_marks_whole(const struct model *m);
/* Moves when amounts at a whole mark change: a mark was dropped, reduced to its totals, or sent
 * again. A new mark does not move it. */
uint64_t model_marks_chain(const struct model *m);
/*
 * Live amounts at marks, from the oldest on: calls fn for each slot that differs from the mark
 * before, until fn returns false. The next call continues there, while model_marks_chain() stays
 * the same and `last` is whole. True: all marks up to `last` are done. Start with { 0 };
 * mark_walk_end() at any time.
 */
struct mark_walk {
	struct live *held; /* by arrival of slots */
	uint32_t mark, slots;
	struct cell_at at; /* in its cells */
	bool missed;       /* cells of slots that came after the snapshot: a newer one has them */
};
struct slots; /* heap/slots.h; fn gets the slot's order of arrival in them */
typedef bool (*mark_walk_fn)(void *arg, uint32_t mark, uint32_t slot, const struct live *was,
			     const struct live *is);
bool mark_walk(const struct model *m, const struct slots *slots, struct mark_walk *w, uint32_t last,
	       mark_walk_fn fn, void *arg);
void mark_walk_end(struct mark_walk *w);

/* The agent's samples, oldest first: growth is judged by them, so every viewer gets the same
 * (model/history/samples.c). */
size_t model_samples(const struct model *m, const struct sample **list);
/* false: the agent takes none, or has not reported yet */
bool model_samples_told(const struct model *m);
/* the live amounts at each sample are known by slot */
bool model_samples_by_slot(const struct model *m);
uint64_t model_samples_generation(const struct model *m); /* moves when samples change */
/* As mark_walk(), over all samples while the generation stays the same; fn gets the serial. */
bool sample_walk(const struct model *m, const struct slots *slots, struct mark_walk *w,
		 mark_walk_fn fn, void *arg);

/* When the program could not run. */
const struct stops *model_stops(const struct model *m);
const struct stop *model_stopped(const struct model *m); /* now; NULL = it runs, or has ended */
/*
 * THE CLOCK of rates, growth and verdicts: running time is session time up to an instant without
 * stops. It never falls, and up to the last tick it never changes later: windows may keep it.
 */
uint64_t model_running(const struct model *m, uint64_t ns);

/* Points oldest first, denser the younger they are (model/history/series.c): the agent's history,
 * then memtop's own ticks. */
size_t model_history(const struct model *m, const struct point **points);
bool model_check(const struct model *m, struct err *err); /* all invariants */

/* Live bytes of the agent's own owners at the first points of the history, in the order of
 * *modules; NULL past those. */
size_t model_history_owners(const struct model *m, const uint32_t **modules);
const uint64_t *model_history_owner_bytes(const struct model *m, size_t point);
/* Epochs are compared through this: changes when marks arrived, went or were completed. */
uint64_t model_marks_generation(const struct model *m);
uint64_t model_resets(const struct model *m); /* how often the model was cleared */

/* Notices from the agent or other viewers; called from model_apply(). */
void model_on_notice(struct model *m, void (*fn)(void *arg, const char *text), void *arg);
/* those so far, each once, the newest last; of many the last ones */
size_t model_notices(const struct model *m, const char *const **sentences);

#endif
