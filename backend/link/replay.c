/* SPDX-License-Identifier: MIT
 *
 * replay.c - plays a session file into a model, up to an instant.
 *
 * Only frames of the program watched now are played: a program before an exec has call paths of its
 * own. An instant is a count of ticks (model_instants()). Playing ends right after that tick, so
 * that nothing shown, including resident memory and threads, comes from later. The heap's peak lies
 * between two ticks, and is made from the agent's snapshot instead (model/recall.c).
 *
 * Nobody looks at the ticks on the way: they are applied in bulk (model/bulk.c).
 */
#include "link/replay.h"

#include "base/loop.h"
#include "session/session.h"
#include "wire/decode.h"

#include <stdlib.h>
#include <string.h>

#define SLICE_NS 8000000u
#define SEED_STEPS 4096u
#define FRAMES_A_LOOK 16 /* at the clock */
#define FEW_TICKS 3u     /* are applied one by one */

struct replay {
	struct loop *loop;
	struct model *shown, *now; /* the same, or `now` is ours */
	/* owned: the incomplete model; NULL = later instants go into `shown` */
	struct model *making;
	struct session_reader *file; /* NULL = nothing was played */
	struct loop_source *slice;   /* NULL = nothing is under way */
	void (*moved)(void *arg);
	void *arg;
	struct instant to;
	bool peak;   /* towards the heap's peak: no file is played */
	bool ours;   /* the frames are of the program that is watched */
	bool in_key; /* they are those of a key frame */
	bool seeded;
	bool ending; /* all was played, and is being made current */
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

static void stop(struct replay *p)
{
	loop_remove(p->slice);
	p->slice = NULL;
}

static void drop_file(struct replay *p)
{
	stop(p);
	model_free(p->making);
	p->making = NULL;
	session_reader_free(p->file);
	p->file = NULL;
	p->problem.text[0] = '\0';
}

void replay_free(struct replay *p)
{
	if (!p)
		return;
	drop_file(p);
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

static struct model *playing(const struct replay *p)
{
	return p->making ? p->making : p->shown;
}

int replay_percent(const struct replay *p)
{
	uint64_t at = p->slice ? model_time(playing(p)) : 1, to = p->slice ? p->to.time_ns : 1;

	return p->slice && at >= to ? 99 : (int)(at * 100 / (to + !to));
}

/* Frees the data that observers may still use last. */
static void show(struct replay *p, struct model *with)
{
	struct model *left = with;

	model_swap(p->shown, with);
	if (with == p->now)
		p->now = p->shown;
	else if (!replay_away(p))
		p->now = with, left = NULL;
	p->moved(p->arg);
	model_free(left);
}

void replay_return(struct replay *p)
{
	bool under_way = p->slice != NULL;

	drop_file(p);
	if (replay_away(p))
		show(p, p->now);
	else if (under_way)
		p->moved(p->arg);
}

/* --- playing */

static bool same_program(const struct replay *p, const struct event *e)
{
	const struct program *now = model_program(p->now);

	return now && now->pid == e->u.hello.pid && now->start_unix_ns == e->u.hello.start_unix_ns;
}

static int on_event(void *arg, const struct event *e, struct err *err)
{
	struct replay *p = arg;

	if (e->type == MTW_HELLO)
		p->ours = same_program(p, e);
	if (!p->ours || e->type == MTW_NOTICE)
		return 0;
	return model_apply(playing(p), e, err);
}

static void make_new(struct replay *p)
{
	p->making = model_new();
	model_set_still(p->making);
	model_want_interval(p->making, p->shown);
	p->ours = p->seeded = p->in_key = false;
}

static void start_over(struct replay *p)
{
	p->problem.text[0] = '\0';
	session_rewind(p->file);
	model_free(p->making);
	make_new(p);
	model_bulk_begin(p->making);
}

/* 1: arrived; 0: more frames follow; -1: impossible to continue. */
static int play_frame(struct replay *p)
{
	const uint8_t *payload;
	uint64_t time_ns, type;
	size_t len;

	if (model_ticks_read(playing(p)) >= p->to.ticks)
		return 1;
	int rc = session_next(p->file, &time_ns, &type, &payload, &len, &p->problem);
	if (rc == 0 && session_more(p->file))
		return 0;
	if (rc == 0)
		err_set(&p->problem, 3, "the session file ends there");
	if (rc <= 0)
		return -1;
	if (type == MTW_S_SYMBOL || type == MTW_S_GENERATED || type == MTW_S_NOTE)
		return 0; /* names hold at any time */
	if (type == MTW_S_KEY)
		p->in_key = false;
	if (p->in_key && p->seeded &&
	    (type == MTW_NODES || type == MTW_SLOTS || type == MTW_PROVEN))
		return 0; /* the model has them all */
	rc = wire_read(type, payload, len, on_event, p, &p->problem);
	if (rc && p->in_key) { /* this memtop does not take its frames: the stream has it all */
		start_over(p);
		return 0;
	}
	return rc;
}

/* Adds all call paths first, so that later ones have their places, too. */
static int make_ready(struct replay *p)
{
	if (!p->making || p->seeded || !model_program(p->making))
		return 1;
	int rc = model_seed(p->making, p->now, SEED_STEPS, &p->problem);
	p->seeded = rc == 1;
	return rc;
}

static void arrive(struct replay *p)
{
	struct err none = { 0 };
	struct model *made = p->making;

	stop(p);
	if (made && !model_complete(made)) { /* nothing of it can be shown */
		drop_file(p);
		err_set(&p->problem, 3, "the session file does not reach back that far");
		p->moved(p->arg);
		return;
	}
	p->making = NULL;
	if (!made) {
		p->moved(p->arg);
		return;
	}
	/* The stream went on meanwhile. */
	while (model_seed(made, p->now, SIZE_MAX, &none) == 0)
		;
	show(p, made);
}

static int step(struct replay *p)
{
	if (p->peak)
		return model_recall_peak(p->making, p->now, SEED_STEPS, &p->problem);
	int rc = make_ready(p);
	return rc == 1 ? play_frame(p) : rc;
}

static void on_slice(void *arg)
{
	struct replay *p = arg;
	uint64_t end = now_ns() + SLICE_NS;
	struct err last = { 0 };
	int rc = p->ending;

	for (unsigned n = 1; !rc && (n % FRAMES_A_LOOK || now_ns() < end); n++)
		rc = step(p);
	if (rc && !p->ending && model_bulk_end(playing(p), &last) && !*p->problem.text)
		p->problem = last;
	p->ending = rc;
	if (rc && model_go_on(playing(p), end))
		arrive(p);
	else
		loop_timer_set(p->slice, 0);
}

static void begin(struct replay *p)
{
	p->problem.text[0] = '\0';
	p->ending = false;
	if (!p->slice)
		p->slice = loop_timer(p->loop, 0, false, on_slice, p);
}

/* Is the key frame of the program that is watched? Its first frames tell. */
static bool is_ours(struct replay *p)
{
	struct err none = { 0 };
	const uint8_t *payload;
	uint64_t time_ns, type;
	size_t len;

	while (session_next(p->file, &time_ns, &type, &payload, &len, &none) > 0) {
		if (wire_read(type, payload, len, on_event, p, &none))
			return false;
		if (type == MTW_HELLO)
			return p->ours;
	}
	return false;
}

/* Begins at the last key frame before the wanted instant. */
static void start_late(struct replay *p, uint64_t ticks)
{
	const struct session_key *keys;
	size_t n = session_keys(p->file, &keys);

	while (n && keys[n - 1].ticks > ticks)
		n--;
	if (!n || !session_start_at(p->file, &keys[n - 1]))
		return;
	model_bulk_begin(p->making);
	p->in_key = is_ours(p);
	if (p->in_key)
		return;
	session_rewind(p->file);
	model_free(p->making);
	make_new(p);
}

void replay_go_to_peak(struct replay *p)
{
	drop_file(p);
	make_new(p);
	p->peak = true;
	p->to = (struct instant){ .time_ns = model_peak(p->now)->time_ns };
	begin(p);
}

/* Would a key frame save much of the way on? Each follows several times its own size. */
static bool is_far(const struct replay *p, uint64_t ticks)
{
	const struct session_key *keys;
	size_t n = session_keys(p->file, &keys), between = 0;

	while (n && keys[n - 1].ticks > ticks)
		n--;
	for (; n && keys[n - 1].ticks > model_ticks_read(playing(p)); n--)
		between++;
	return between > 1;
}

int replay_go(struct replay *p, const char *path, uint32_t stream, uint64_t time_ns,
	      struct err *err)
{
	const struct instant *list;
	size_t n = model_instants(p->now, &list), at = model_instant_at(p->now, time_ns);

	if (!n)
		return err_set(err, 3, "the first state is still loading; try again");
	struct instant to = list[at == SIZE_MAX ? 0 : at];
	if (!p->file || !(p->making || replay_away(p)) || model_ticks_read(playing(p)) > to.ticks ||
	    is_far(p, to.ticks)) {
		drop_file(p);
		p->file = session_open(path, stream, err);
		if (!p->file)
			return -1;
		make_new(p);
		start_late(p, to.ticks);
		p->peak = false;
	}
	if (p->making || to.ticks - model_ticks_read(p->shown) > FEW_TICKS)
		model_bulk_begin(playing(p));
	p->to = to;
	begin(p);
	return 0;
}
