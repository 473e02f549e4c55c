/* SPDX-License-Identifier: MIT
 *
 * replay.c - plays a session file into a model, up to an instant.
 *
 * Only frames of the program watched now are played: a program before an exec has call paths of its
 * own. An instant is a count of ticks (model_instants()). Playing ends right after that tick, so
 * that nothing shown, including resident memory and threads, comes from later. A mark and the
 * heap's peak lie between two ticks: their heap is what the current model keeps of them
 * (model/recall.c).
 *
 * Nobody looks at the ticks on the way: they are applied in bulk (model/bulk.c).
 *
 * All of it is done in slices of the loop, and each step of a slice is small: some heads of blocks
 * to find the key frames, a block of a key frame, a frame. Between two steps the
 * way may end, or lead elsewhere.
 */
#include "link/replay.h"

#include "base/loop.h"
#include "session/session.h"
#include "wire/decode.h"

#include <stdlib.h>

#define SLICE_NS 8000000u
#define HEADS 256u        /* of a step */
#define WORK_A_LOOK 1000u /* at the clock; a unit takes about a microsecond */
#define BYTES_A_UNIT 256u /* of a frame */
#define FEW_TICKS 3u      /* are applied one by one */

enum stage {
	FINDING,  /* the key frames of the file */
	STARTING, /* a key frame is unpacked */
	PLAYING,
};

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
	enum stage stage;
	uint64_t key_ticks; /* of the key frame that is unpacked or applied */
	uint32_t kept;      /* model_kept_at() of the target; NO_ID = its heap is the tick's */
	bool recalls;       /* no file is played: the current model has all of it */
	uint64_t beside_ns; /* of the recorded instant that a kept one was made from; 0 = none */
	bool ours;          /* the frames are of the program that is watched */
	bool in_key;        /* they are those of a key frame */
	bool seeded;
	bool ending;       /* all was played, and is being made current */
	uint64_t slice_ns; /* of work in a turn of the loop */
	uint64_t work;     /* replay_work(), beside the open file's */
	struct err problem;
};

struct replay *replay_new(struct loop *loop, struct model *shown, void (*moved)(void *arg),
			  void *arg)
{
	struct replay *p = xcalloc(1, sizeof *p);

	p->loop = loop;
	p->slice_ns = getenv("MEMTOP_TEST_STEPS") ? 0 : SLICE_NS;
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
	p->work = replay_work(p);
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

uint64_t replay_work(const struct replay *p)
{
	return p->work + (p->file ? session_work(p->file) : 0);
}

const char *replay_problem(const struct replay *p)
{
	return p->problem.text;
}

uint64_t replay_beside(const struct replay *p)
{
	return p->beside_ns;
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
	if (!p->ours)
		return 0;
	return model_apply(playing(p), e, err);
}

static void make_new(struct replay *p)
{
	model_free(p->making);
	p->making = model_new();
	model_set_still(p->making);
	model_want_interval(p->making, p->shown);
	p->ours = p->seeded = p->in_key = p->ending = false;
	p->problem.text[0] = '\0';
}

/* From the file's start. */
static void start_over(struct replay *p)
{
	session_rewind(p->file);
	make_new(p);
	model_bulk_begin(p->making);
	p->stage = PLAYING;
}

/* Begins at the last key frame before the wanted instant. */
static int find(struct replay *p)
{
	const struct session_key *keys;

	if (!session_find_keys(p->file, HEADS))
		return 0;
	size_t n = session_keys(p->file, &keys);
	while (n && keys[n - 1].ticks > p->to.ticks)
		n--;
	if (n) {
		session_start(p->file, &keys[n - 1]);
		p->key_ticks = keys[n - 1].ticks;
		p->stage = STARTING;
	} else {
		start_over(p);
	}
	return 0;
}

static int unpack(struct replay *p)
{
	int rc = session_start_on(p->file);

	if (rc < 0)
		start_over(p);
	if (rc > 0) {
		p->in_key = true;
		p->stage = PLAYING;
	}
	return 0;
}

/* Frames that the model made from a key frame has already, or that hold at any time. */
static bool passes_over(const struct replay *p, uint64_t type)
{
	return type == MTW_S_SYMBOL || type == MTW_S_GENERATED || type == MTW_S_NOTE ||
	       (p->in_key && p->seeded &&
		(type == MTW_NODES || type == MTW_SLOTS || type == MTW_PROVEN));
}

/* 1: arrived; 0: more frames follow; -1: impossible to continue. */
static int play_frame(struct replay *p)
{
	const uint8_t *payload;
	uint64_t time_ns, type;
	size_t len;

	if (model_ticks_read(playing(p)) >= p->to.ticks)
		return 1;
	if (!session_near(p->file))
		return 0;
	int rc = session_next(p->file, &time_ns, &type, &payload, &len, &p->problem);
	if (rc == 0 && session_more(p->file))
		return 0;
	if (rc == 0)
		err_set(&p->problem, 3, "the session file ends there");
	if (rc <= 0)
		return -1;
	p->work += 1 + len / BYTES_A_UNIT;
	if (passes_over(p, type))
		return 0;
	rc = wire_read(type, payload, len, on_event, p, &p->problem);
	/* Of another program, or with frames that this memtop does not take: the stream has it
	 * all. */
	if (p->in_key && (rc || !p->ours)) {
		start_over(p);
		return 0;
	}
	p->in_key = p->in_key && type != MTW_S_KEY;
	return rc;
}

/* Adds all call paths first, so that later ones have their places, too. */
static int make_ready(struct replay *p)
{
	if (!p->making || p->seeded || !model_program(p->making))
		return 1;
	p->seeded = !model_seed(p->making, p->now, &p->problem);
	return p->seeded ? 1 : -1;
}

/* At a mark: from the last tick before to the mark itself, which no later tick goes on from. */
static void leave_ticks(struct replay *p)
{
	struct err why = { 0 };

	if (p->kept == NO_ID || p->recalls || !model_complete(playing(p)))
		return;
	p->beside_ns = model_time(playing(p));
	if (model_recall_heap(playing(p), p->now, p->kept, &why) && !*p->problem.text)
		p->problem = why;
	p->work = replay_work(p);
	session_reader_free(p->file);
	p->file = NULL;
}

static void arrive(struct replay *p)
{
	struct err none = { 0 };
	struct model *made = p->making;

	stop(p);
	leave_ticks(p);
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
	model_seed(made, p->now, &none);
	show(p, made);
}

static int step(struct replay *p)
{
	if (p->recalls)
		return model_recall(p->making, p->now, p->kept, &p->problem) ? -1 : 1;
	if (p->stage != PLAYING)
		return p->stage == FINDING ? find(p) : unpack(p);
	int rc = make_ready(p);
	return rc == 1 ? play_frame(p) : rc;
}

static void on_slice(void *arg)
{
	struct replay *p = arg;
	uint64_t end = now_ns() + p->slice_ns, look = replay_work(p) + WORK_A_LOOK;
	struct err last = { 0 };
	int rc = p->ending;

	for (; !rc && (replay_work(p) < look || now_ns() < end); rc = step(p))
		if (replay_work(p) >= look)
			look = replay_work(p) + WORK_A_LOOK;
	p->ending = rc;
	if (rc) {
		if (model_bulk_end(playing(p), &last) && !*p->problem.text)
			p->problem = last;
		arrive(p);
		return;
	}
	loop_timer_set(p->slice, 0);
}

static void begin(struct replay *p)
{
	p->problem.text[0] = '\0';
	p->ending = false;
	p->beside_ns = 0;
	if (!p->slice)
		p->slice = loop_timer(p->loop, 0, false, on_slice, p);
}

void replay_recall(struct replay *p, uint32_t kept)
{
	drop_file(p);
	make_new(p);
	p->stage = PLAYING;
	p->recalls = true;
	p->kept = kept;
	p->to = (struct instant){ .time_ns = model_kept_time(p->now, kept) };
	begin(p);
}

/* What playing goes on from. */
static uint64_t ticks_reached(const struct replay *p)
{
	if (p->making && (p->in_key || p->stage == STARTING))
		return p->key_ticks;
	return model_ticks_read(playing(p));
}

/* Would a key frame save much of the way on? Each follows several times its own size. */
static bool is_far(const struct replay *p, uint64_t ticks)
{
	const struct session_key *keys;
	size_t between = 0;

	if (!session_find_keys(p->file, 0))
		return false;
	size_t n = session_keys(p->file, &keys);
	while (n && keys[n - 1].ticks > ticks)
		n--;
	for (; n && keys[n - 1].ticks > ticks_reached(p); n--)
		between++;
	return between > 1;
}

static bool goes_on(const struct replay *p, const char *path, bool live, uint64_t ticks)
{
	return p->file && (p->making || replay_away(p)) && ticks_reached(p) <= ticks &&
	       !(live && session_replaced(p->file, path)) && !is_far(p, ticks);
}

int replay_go(struct replay *p, const char *path, uint32_t stream, const struct session_writer *w,
	      uint64_t time_ns, struct err *err)
{
	const struct instant *list;
	size_t n = model_instants(p->now, &list), at = model_instant_at(p->now, time_ns);

	if (!n)
		return err_set(err, 3, "the first state is still loading; try again");
	struct instant to = list[at == SIZE_MAX ? 0 : at];
	if (p->file && w)
		session_learn_keys(p->file, w);
	if (!goes_on(p, path, w != NULL, to.ticks)) {
		drop_file(p);
		p->file = session_open(path, stream, err);
		if (!p->file)
			return -1;
		if (w)
			session_learn_keys(p->file, w);
		make_new(p);
		p->stage = FINDING;
		p->recalls = false;
	}
	p->kept = model_kept_at(p->now, time_ns);
	if (p->making || to.ticks - model_ticks_read(p->shown) > FEW_TICKS)
		model_bulk_begin(playing(p));
	p->to = to;
	begin(p);
	return 0;
}
