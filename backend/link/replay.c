/* SPDX-License-Identifier: MIT
 *
 * replay.c - plays a session file into a model, up to an instant.
 *
 * Only frames of the program watched now are played: a program before an exec has call paths of its
 * own. An instant is a count of ticks (model_instants()). Playing ends right after that tick, so
 * that nothing shown, including resident memory and threads, comes from later. A mark and the
 * heap's peak lie between two ticks: their heap is what the current model keeps of them
 * (model/past.c).
 *
 *   begin()   main thread: a model of the program without counters, and the file
 *   play()    a thread, which has both until it is done: the frames up to the tick
 *   arrive()  main thread: a mark's heap; the model changes places with the shown one
 *
 * What was shown before stays, with its place in the file: a later instant is played from there on.
 */
#include "link/replay.h"

#include "base/loop.h"
#include "base/worker.h"
#include "session/session.h"
#include "wire/decode.h"

#include <stdatomic.h>
#include <stdlib.h>

struct leg {                         /* the thread's while it is under way, but for the atomics */
	struct session_reader *file; /* NULL: nothing goes on from the model */
	struct model *model;         /* owned */
	struct program_id {
		uint64_t pid, start_unix_ns;
	} of;           /* the program that is watched */
	uint64_t ticks; /* up to this one */
	bool begins;    /* nothing was played */
	bool from_start;
	bool ours;   /* the frames are of that program */
	bool in_key; /* they are those of a key frame */
	struct err problem;
	atomic_bool stop;
	atomic_uint_fast64_t reached_ns;
};

struct replay {
	struct loop *loop;
	struct model *shown, *now;   /* the same, or `now` is ours */
	struct session_reader *file; /* goes on from what is shown; NULL: nothing does */
	void (*moved)(void *arg);
	void *arg;
	struct worker *worker;           /* NULL: no thread can be had, or it was not needed yet */
	struct loop_source *done, *soon; /* of the worker; what was done in line */
	struct leg leg;
	bool under_way;
	bool waits; /* nothing of it is a thread's, or the loop's */
	struct instant to;
	uint32_t kept;      /* model_kept_at() of the target; NO_ID = its heap is the tick's */
	bool recalls;       /* no file is played: the current model has all of it */
	uint64_t beside_ns; /* of the recorded instant that a kept one was made from; 0 = none */
	struct err problem;
};

struct replay *replay_new(struct loop *loop, struct model *shown, void (*moved)(void *arg),
			  void *arg)
{
	struct replay *p = xcalloc(1, sizeof *p);

	p->loop = loop;
	p->shown = p->now = shown;
	p->moved = moved;
	p->arg = arg;
	return p;
}

static void close_file(struct session_reader **file)
{
	session_reader_free(*file);
	*file = NULL;
}

static void drop_leg(struct replay *p)
{
	model_free(p->leg.model);
	p->leg.model = NULL;
	close_file(&p->leg.file);
}

/* A leg that has left its key frame may be gone on with. */
static void stop(struct replay *p)
{
	if (!p->under_way)
		return;
	p->leg.stop = true;
	worker_wait(p->worker);
	p->leg.stop = p->under_way = false;
	loop_remove(p->soon);
	p->soon = NULL;
	if (p->leg.in_key)
		drop_leg(p);
}

void replay_free(struct replay *p)
{
	if (!p)
		return;
	stop(p);
	loop_remove(p->done);
	worker_free(p->worker);
	drop_leg(p);
	close_file(&p->file);
	if (replay_away(p)) {
		model_swap(p->shown, p->now);
		model_free(p->now);
	}
	free(p);
}

struct model *replay_now(const struct replay *p)
{
	return p->now;
}

bool replay_away(const struct replay *p)
{
	return p->now != p->shown;
}

const char *replay_problem(const struct replay *p)
{
	return p->problem.text;
}

uint64_t replay_beside(const struct replay *p)
{
	return p->beside_ns;
}

int replay_percent(const struct replay *p)
{
	uint64_t at = p->leg.reached_ns, to = p->to.time_ns;

	if (!p->under_way)
		return 100;
	return at >= to ? 99 : (int)(at * 100 / to);
}

void replay_return(struct replay *p)
{
	bool under_way = p->under_way;

	stop(p);
	drop_leg(p);
	close_file(&p->file);
	p->problem.text[0] = '\0';
	if (!replay_away(p)) {
		if (under_way)
			p->moved(p->arg);
		return;
	}
	struct model *left = p->now;
	model_swap(p->shown, left);
	p->now = p->shown;
	p->moved(p->arg);
	model_free(left); /* observers may use it until then */
}

static int on_event(void *arg, const struct event *e, struct err *err)
{
	struct leg *g = arg;

	if (e->type == MTW_HELLO)
		g->ours = e->u.hello.pid == g->of.pid &&
			  e->u.hello.start_unix_ns == g->of.start_unix_ns;
	return g->ours ? model_apply(g->model, e, err) : 0;
}

/* Frames that the model has already, or that hold at any time. */
static bool passes_over(const struct leg *g, uint64_t type)
{
	return type == MTW_S_SYMBOL || type == MTW_S_GENERATED || type == MTW_S_NOTE ||
	       (g->in_key && (type == MTW_NODES || type == MTW_SLOTS || type == MTW_PROVEN));
}

/* 1: arrived; 0: more frames follow; -1: impossible to continue. */
static int play_frame(struct leg *g)
{
	const uint8_t *payload;
	uint64_t time_ns, type;
	size_t len;

	if (model_ticks_read(g->model) >= g->ticks)
		return 1;
	int rc = session_next(g->file, &time_ns, &type, &payload, &len, &g->problem);
	if (rc == 0 && session_more(g->file))
		return 0;
	if (rc == 0)
		err_set(&g->problem, 3, "the session file ends there");
	if (rc <= 0)
		return -1;
	if (passes_over(g, type))
		return 0;
	if (wire_read(type, payload, len, on_event, g, &g->problem) || (g->in_key && !g->ours))
		return -1;
	g->in_key = g->in_key && type != MTW_S_KEY;
	g->reached_ns = model_time(g->model);
	return 0;
}

/* The thread. */
static void play(void *arg)
{
	struct leg *g = arg;
	struct err last = { 0 };
	int rc = 0;

	if (g->begins && g->from_start)
		session_rewind(g->file);
	else if (g->begins)
		g->in_key = session_start_near(g->file, g->ticks, &g->stop);
	g->begins = g->stop;
	while (!rc && !g->stop)
		rc = play_frame(g);
	if (model_catch_up(g->model, &last) && !*g->problem.text)
		g->problem = last;
}

/* A model of the program, and a file that is read from a key frame on, or from its start. */
static int new_leg(struct replay *p, struct session_reader *file, bool from_start, struct err *err)
{
	const struct program *of = model_program(p->now);
	struct leg *g = &p->leg;

	model_free(g->model);
	g->file = file;
	g->model = model_new();
	model_set_still(g->model);
	g->begins = true;
	g->from_start = from_start;
	g->ours = g->in_key = false;
	g->of = (struct program_id){ of->pid, of->start_unix_ns };
	g->reached_ns = 0;
	return model_seed(g->model, p->now, err);
}

/* The leg's model becomes the shown one. What was shown goes on from its place later, or is now. */
static void show(struct replay *p)
{
	struct session_reader *file = p->file;

	model_want_interval(p->leg.model, p->shown);
	model_swap(p->shown, p->leg.model);
	p->file = p->leg.file;
	p->leg.file = file;
	if (!replay_away(p)) {
		p->now = p->leg.model;
		p->leg.model = NULL;
	}
}

/* At a mark: from the last tick before to the mark itself, which no later tick goes on from. */
static int leave_ticks(struct replay *p, struct err *err)
{
	if (p->kept == NO_ID || !(p->recalls || model_complete(p->leg.model)))
		return 0;
	if (!p->recalls)
		p->beside_ns = model_time(p->leg.model);
	close_file(&p->leg.file);
	return model_recall(p->leg.model, p->now, p->kept, err);
}

static void arrive(struct replay *p)
{
	struct err none = { 0 }, why = { 0 };

	p->problem = p->leg.problem;
	if (leave_ticks(p, &why) && !*p->problem.text)
		p->problem = why;
	if (model_complete(p->leg.model)) {
		model_seed(p->leg.model, p->now, &none); /* the stream went on meanwhile */
		show(p);
	} else { /* nothing of it can be shown */
		drop_leg(p);
		err_set(&p->problem, 3, "the session file does not reach back that far");
	}
	p->moved(p->arg);
}

static void begin(struct replay *p);

static void finish(struct replay *p)
{
	p->under_way = false;
	if (!p->waits) /* else there may be none: a forked child */
		worker_wait(p->worker);
	if (p->leg.in_key && !new_leg(p, p->leg.file, true, &p->leg.problem))
		begin(p); /* the key frame is of another program, or of a later memtop */
	else
		arrive(p);
}

/* It may have been a leg that was stopped. */
static void on_done(void *arg, unsigned events)
{
	struct replay *p = arg;

	(void)events;
	worker_heard(p->worker);
	if (p->under_way && !p->soon && !worker_busy(p->worker))
		finish(p);
}

static void on_soon(void *arg)
{
	struct replay *p = arg;

	loop_remove(p->soon);
	p->soon = NULL;
	finish(p);
}

static bool has_thread(struct replay *p)
{
	if (p->done || getenv("MEMTOP_TEST_SYNC"))
		return p->done != NULL;
	p->worker = p->worker ? p->worker : worker_new();
	if (p->worker && worker_fd(p->worker) >= 0)
		p->done = loop_fd(p->loop, worker_fd(p->worker), LOOP_READ, on_done, p);
	return p->done != NULL;
}

static void begin(struct replay *p)
{
	p->under_way = true;
	p->problem.text[0] = p->leg.problem.text[0] = '\0';
	if (!p->recalls && !p->waits && has_thread(p)) {
		worker_begin(p->worker, play, &p->leg);
		return;
	}
	if (!p->recalls)
		play(&p->leg);
	if (p->waits)
		finish(p);
	else
		p->soon = loop_timer(p->loop, 0, false, on_soon, p);
}

/* Would a key frame save much of the way on? Each follows several times its own size. */
static bool is_far(const struct leg *g, uint64_t ticks)
{
	const struct session_key *keys;
	size_t n = session_keys(g->file, &keys), between = 0;

	while (n && keys[n - 1].ticks > ticks)
		n--;
	for (; n && keys[n - 1].ticks > model_ticks_read(g->model); n--)
		between++;
	return between > 1;
}

static bool goes_on(const struct leg *g, const char *path, bool live, uint64_t ticks)
{
	return g->file && g->model && !g->begins && model_ticks_read(g->model) <= ticks &&
	       !(live && session_replaced(g->file, path)) && !is_far(g, ticks);
}

/* Plays on, or from a key frame. */
static int set_out(struct replay *p, const char *path, uint32_t stream,
		   const struct session_writer *w, struct err *err)
{
	if (p->leg.file && w)
		session_learn_keys(p->leg.file, w);
	if (goes_on(&p->leg, path, w != NULL, p->leg.ticks))
		return 0;
	drop_leg(p);
	struct session_reader *file = session_open(path, stream, err);
	if (!file)
		return -1;
	if (w)
		session_learn_keys(file, w);
	return new_leg(p, file, false, err);
}

int replay_go(struct replay *p, const char *path, uint32_t stream, const struct session_writer *w,
	      uint64_t time_ns, bool wait, struct err *err)
{
	const struct instant *list;
	size_t n = model_instants(p->now, &list), at = model_instant_at(p->now, time_ns);
	uint32_t kept = model_kept_at(p->now, time_ns);
	bool recorded = path && model_complete(p->now) && n;

	if (!recorded && kept == NO_ID)
		return err_set(err, 3, "the first state is still loading; try again");
	stop(p);
	p->waits = wait;
	p->beside_ns = 0;
	p->kept = kept;
	p->recalls = kept != NO_ID && (kept == KEPT_PEAK || !recorded || at == SIZE_MAX);
	p->to = p->recalls ? (struct instant){ .time_ns = time_ns } : list[at == SIZE_MAX ? 0 : at];
	p->leg.ticks = p->to.ticks;
	if (p->recalls) {
		drop_leg(p);
		p->leg.model = model_new();
		model_set_still(p->leg.model);
	} else if (set_out(p, path, stream, w, err)) {
		return -1;
	}
	begin(p);
	return 0;
}
