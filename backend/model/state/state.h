/* SPDX-License-Identifier: MIT
 *
 * state.h - what a model keeps besides paths, slots and history: the program, its modules and
 * threads, and the agent's figures about itself. A part is a struct, what applies an event to it,
 * and what clears it. Main thread only.
 */
#ifndef MODEL_STATE_STATE_H
#define MODEL_STATE_STATE_H

#include "model/paths/event.h"
#include "model/history/history.h"

/* program.c: the program of a session. */

/* HELLO comes from this process */
bool program_same(const struct program *p, const struct event *e);
/* fills an empty program from HELLO */
void program_take(struct program *p, const struct event *e);
void program_free(struct program *p);
/* of a path; empty only for an empty path */
const char *program_last_part(const char *path);

/* modules.c: the modules of the program. */

struct modules {
	struct module *list; /* by id */
	size_t count, room;
	uint64_t changes; /* of what names depend on */
};

/* main: the main program's name; NULL = unknown. -1 and *err */
int modules_apply(struct modules *x, const struct event *e, const char *main, struct err *err);
bool modules_know(const struct modules *x, uint32_t id);
void modules_clear(struct modules *x);

/* threads.c: the threads of the program. */

struct threads {
	struct thread *list; /* by index */
	size_t count, room;
	uint64_t scan_request;
};

int threads_apply(struct threads *x, const struct event *e, struct err *err);
int threads_scanned(struct threads *x, const struct event *e, struct err *err);
/* by the thread so far, as rates count it */
struct rate thread_done(const struct threads *x, uint32_t index);
/* ... by each: the number in *list, which the caller frees */
size_t threads_done(const struct threads *x, struct rate **list);
void threads_clear(struct threads *x);

/* options.c: the agent's options, as the agent reports them. */

#define OPTIONS_MAX 256u

struct option {
	char *name, *value, *who;
};

struct options {
	struct option list[OPTIONS_MAX];
	size_t count;
};

int options_apply(struct options *x, const struct event *e, struct err *err);
const char *options_value(const struct options *x, const char *name); /* NULL = not reported */
void options_clear(struct options *x);

/* filters.c: the filters of recording, and since when each holds. */

struct filters {
	struct recorded *list; /* by time */
	size_t count, room;
};

int filters_apply(struct filters *x, const struct event *e, struct err *err);
void filters_clear(struct filters *x);

/* figures.c: the agent's figures about itself and the process. */

struct figures {
	uint64_t loss_events[MTW_LOSS_COUNT], loss_bytes[MTW_LOSS_COUNT];
	struct effort effort;
	struct memory_part parts[MTW_PARTS_MAX];
	size_t part_count;
	uint64_t rss, virt;
	uint32_t process_threads, process_children;
};

int figures_loss(struct figures *x, const struct event *e, struct err *err);
void figures_process(struct figures *x, const struct event *e);
void figures_memory(struct figures *x, const struct event *e);

/* notices.c: the agent's sentences for the person at the viewer. */

#define NOTICES_MAX 32u /* the oldest ones go */

struct notices {
	char *list[NOTICES_MAX]; /* owned; each once, the newest last */
	size_t count;
};

const char *notices_take(struct notices *x, const struct event *e); /* the sentence, lent */
/* As MTW_NOTICE frames. fn's result, when it is not 0, ends the writing and is returned. */
int notices_write(const struct notices *x,
		  int (*fn)(void *arg, uint64_t type, const uint8_t *payload, size_t len),
		  void *arg);
void notices_clear(struct notices *x);

/* rss.c: the breakdown of resident memory, for each time that a viewer asked. */

struct rss_answers {
	struct rss *list;
	struct rss_named *named; /* of the newest */
	size_t count, room, named_count;
};

/* marks: the answers next to these stay. True: the answer has data. */
bool rss_apply(struct rss_answers *x, const struct marks *marks, const struct event *e);
const struct rss *rss_at(const struct rss_answers *x, uint64_t time_ns); /* see model_rss_at() */
void rss_clear(struct rss_answers *x);

/* scanned.c: the ages of live blocks, as of the newest scan. */

struct scanned_ages {
	struct scan_ages now;
	bool known;
};

void scanned_ages_apply(struct scanned_ages *x, const struct event *e);
void scanned_ages_clear(struct scanned_ages *x);

#endif
