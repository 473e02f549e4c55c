/* SPDX-License-Identifier: MIT
 *
 * symbolizer.c - the symbolizer's thread, which all symbolizers of the same places share.
 *
 * All names from symbol tables come first (microseconds each), then lines and inlined frames (a
 * large unit takes a second, once). In both stages locations on screen come before the rest, and
 * of one symbolizer newer jobs before older ones; symbolizers take turns, except that the one which
 * the main thread waits for comes first. Answers for the screen overtake others, too. At most
 * WAITING_MAX answers of each wait to be taken, so that the loop, which has other work, never falls
 * far behind.
 *
 * The thread sees jobs and files, never the model. It blocks all signals: they belong to the loop.
 * Nothing can interrupt libdw, and the first look into a debug file of a gigabyte takes seconds. So
 * quitting waits LEAVE_MS at most, enough for an idle worker, and otherwise leaves everything to
 * the worker.
 */
#include "symbols/symbolizer.h"

#include "base/thread.h"
#include "symbols/symbols.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STAGES 2
#define WAITING_MAX 800u
#define GO_ON_AT 400u /* the worker is woken again: once for many answers */
#define LEAVE_MS 20
#define GATE_LOOK_MS 10
#define SLICES_MAX 256u /* of a map that changes faster than it is read */

/* long, because reading a gigabyte of DWARF again takes seconds */
unsigned symbolizer_rest_ms = 60000;

struct symbolizer {
	struct symbolizer *next; /* guarded by the worker's lock, but for `files` and `mapped` */
	struct worker *worker;
	void (*wake)(void *arg);
	void *arg;
	struct symbolizer_file *files; /* main thread, after symbolizer_free() the worker */
	/* worker only: the generated code whose map is kept; NULL = none */
	struct symbolizer_file *mapped;
	/* [1]: hurried */
	struct symbolizer_job *queues[2][STAGES];
	struct answers {
		struct symbolizer_answer *first, **tail;
	} answers[2];
	size_t waiting; /* answers in these */
	size_t open;    /* jobs without a final answer */
	bool gone;      /* symbolizer_free() was called: the worker frees it */
};

struct worker {
	struct worker *next; /* main thread only, like users and pid */
	unsigned users;
	pid_t pid;  /* a forked child has no such thread */
	char *gate; /* tests: see symbolizer_new() */
	pthread_t thread;
	struct code_store *store;  /* worker only */
	uint64_t rest_ns;          /* worker only: when a file's data may be freed; 0 = not yet */
	pthread_mutex_t lock;      /* guards what follows */
	pthread_cond_t work, done; /* done: an answer, or the end */
	struct symbolizer *clients;
	struct symbolizer *turn;    /* whose job was taken last; NULL = none's */
	struct symbolizer *awaited; /* the main thread waits for its answers */
	struct symbolizer *gone;    /* no clients any more */
	bool calm;                  /* symbolizer_calm() */
	bool stop, ended, left;     /* left: the worker frees all when it ends */
};

static struct worker *workers; /* with users; main thread only */

static void push(struct symbolizer *s, struct symbolizer_job *job)
{
	struct symbolizer_job **head = &s->queues[job->hurried][job->stage];

	job->next = *head;
	job->link = head;
	if (job->next)
		job->next->link = &job->next;
	*head = job;
}

static void unlink_job(struct symbolizer_job *job)
{
	*job->link = job->next;
	if (job->next)
		job->next->link = job->link;
	job->link = NULL;
}

static struct timespec clock_at(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

/* That stage's next job of s which may run now; NULL. Locked. */
static struct symbolizer_job *next_job(struct symbolizer *s, int hurried, int stage)
{
	struct symbolizer_job *job = s->queues[hurried][stage];

	if (!job || (!hurried && s->waiting >= WAITING_MAX))
		return NULL;
	unlink_job(job);
	return job;
}

/* Of the symbolizers in turn, from the one after the last. Locked. */
static struct symbolizer_job *next_in_turn(struct worker *w, int hurried, int stage)
{
	struct symbolizer *from = w->turn && w->turn->next ? w->turn->next : w->clients, *s = from;
	struct symbolizer_job *job = NULL;

	while (s && !(job = next_job(s, hurried, stage))) {
		s = s->next ? s->next : w->clients;
		if (s == from)
			break;
	}
	if (job)
		w->turn = s;
	return job;
}

/* Takes the next job out; NULL when none may run yet. *s: whose. Locked. */
static struct symbolizer_job *pick(struct worker *w, struct symbolizer **s)
{
	struct symbolizer_job *job = NULL;

	for (int i = 0; i < 2 * STAGES && w->awaited && !job; i++)
		job = next_job(w->awaited, i % 2 == 0, i / 2);
	*s = w->awaited;
	for (int i = 0; i < 2 * STAGES && !job; i++) {
		job = next_in_turn(w, i % 2 == 0, i / 2);
		*s = w->turn;
	}
	return job;
}

static struct symbolizer_answer *answer_new(struct symbolizer_job *job, int source,
					    const struct code_frame *frames, size_t count)
{
	struct symbolizer_answer *a = xcalloc(1, sizeof *a + count * sizeof *frames);

	a->job = job;
	a->source = source;
	a->count = count;
	if (count)
		memcpy(a->frames, frames, count * sizeof *frames);
	return a;
}

/* NULL: a slice of a large map was read; other jobs get their turn before the next. */
static struct symbolizer_answer *work_on_generated(struct worker *w, struct symbolizer *s,
						   struct symbolizer_job *job)
{
	struct symbolizer_file *file = job->file;
	struct code_frame frame;

	if (s->mapped != file) {
		if (s->mapped)
			perfmap_free(s->mapped->map);
		if (s->mapped)
			s->mapped->map = NULL;
		file->map = perfmap_new(&file->where, code_store_places(w->store));
		s->mapped = file;
	}
	int rc = perfmap_name(file->map, job->pc, job->look, &frame);
	job->look = false;
	if (rc < 0 && job->slices++ < SLICES_MAX)
		return NULL;
	struct symbolizer_answer *a =
		answer_new(job, rc > 0 ? SYMBOL_TABLE : SYMBOL_NONE, &frame, rc > 0);
	a->version = perfmap_version(file->map);
	a->problem = perfmap_problem(file->map);
	a->final = true;
	return a;
}

/* Of this thread; a busy machine is no reason to keep a file. */
static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whether a file may rest. */
static void look_soon(struct worker *w)
{
	uint64_t most = symbolizer_rest_ms * 1000000ull,
		 at = now_ns() + (most < CODE_REST_LEAST_NS ? most : CODE_REST_LEAST_NS);

	if (!w->rest_ns || w->rest_ns > at)
		w->rest_ns = at;
}

/* Not locked: the slow part. */
static struct symbolizer_answer *work_on(struct worker *w, struct symbolizer_job *job)
{
	struct symbolizer_file *file = job->file;
	struct code_frame frames[CODE_FRAMES_MAX];
	struct symbolizer_answer *a;

	struct code_where where = { .path = file->path,
				    .build_id = file->build_id,
				    .build_id_len = file->build_id_len,
				    .low = file->low,
				    .high = file->high,
				    .vdso = file->vdso };
	memcpy(where.pids, file->pids, sizeof where.pids);
	if (!file->opened)
		file->opened = code_store_take(w->store, &where, &file->problem);
	struct code_file *code = code_store_use(file->opened);
	uint64_t began = own_cpu_ns();
	if (job->given && !file->has_given) {
		file->has_given = true;
		code_file_give(code, &where, file->given);
		free(file->problem);
		file->problem = NULL;
	}
	if (job->stage == 0) {
		size_t n = code_file_table(code, job->pc, frames);
		a = answer_new(job, n ? SYMBOL_TABLE : SYMBOL_NONE, frames, n);
	} else {
		size_t n = code_file_lines(code, job->pc, frames, CODE_FRAMES_MAX);
		a = answer_new(job, n ? SYMBOL_DWARF : SYMBOL_NONE, frames, n);
		a->final = true;
		a->no_dwarf = !code_file_has_dwarf(code);
	}
	if (a->final && file->problem)
		a->problem = xstrdup(file->problem);
	code_store_took(file->opened, own_cpu_ns() - began);
	look_soon(w);
	return a;
}

/* Locked, so that no wake-up follows after s was freed. */
static void give(struct symbolizer *s, struct symbolizer_answer *a)
{
	/* Answers to one job stay in order. */
	struct answers *to = &s->answers[a->job->hurried && !a->job->waiting];
	bool first = !s->waiting++;

	*to->tail = a;
	to->tail = &a->next;
	a->job->waiting++;
	if (a->final) {
		s->open--;
	} else {
		a->job->stage++;
		push(s, a->job);
	}
	pthread_cond_signal(&s->worker->done);
	if (first && !s->gone)
		s->wake(s->arg);
}

static struct symbolizer_answer *take_answer(struct symbolizer *s)
{
	struct answers *from = &s->answers[s->answers[1].first != NULL];
	struct symbolizer_answer *a = from->first;

	if (!a)
		return NULL;
	from->first = a->next;
	if (!from->first)
		from->tail = &from->first;
	a->job->waiting--;
	if (s->waiting-- == GO_ON_AT)
		pthread_cond_signal(&s->worker->work);
	return a;
}

static void release(struct worker *w, struct symbolizer *s)
{
	struct symbolizer_answer *a;

	while ((a = take_answer(s))) {
		if (a->final)
			free(a->job);
		symbolizer_answer_free(a);
	}
	for (int i = 0; i < 2 * STAGES; i++)
		for (struct symbolizer_job *job; (job = s->queues[i % 2][i / 2]);) {
			unlink_job(job);
			free(job);
		}
	while (s->files) {
		struct symbolizer_file *f = s->files;
		s->files = f->next;
		if (f->opened)
			code_store_give_back(w->store, f->opened);
		perfmap_free(f->map);
		free(f->path);
		free(f->given);
		free(f->problem);
		free(f);
	}
	free(s);
}

/* Frees what left meanwhile. Locked, but not while it frees. */
static void release_gone(struct worker *w)
{
	for (struct symbolizer *s; (s = w->gone);) {
		w->gone = s->next;
		pthread_mutex_unlock(&w->lock);
		release(w, s);
		pthread_mutex_lock(&w->lock);
	}
}

static void worker_release(struct worker *w)
{
	for (struct symbolizer *s; (s = w->gone);) {
		w->gone = s->next;
		release(w, s);
	}
	code_store_free(w->store);
	free(w->gate);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->work);
	pthread_cond_destroy(&w->done);
	free(w);
}

/* Frees the data of files that were not asked for long. Locked, but not while it frees. */
static void rest(struct worker *w)
{
	bool freed;

	if (!w->rest_ns || w->rest_ns > now_ns())
		return;
	pthread_mutex_unlock(&w->lock);
	w->rest_ns = code_store_rest(w->store, symbolizer_rest_ms * 1000000ull, &freed);
	if (freed)
		malloc_trim(0); /* free() keeps libdw's memory, between live blocks */
	pthread_mutex_lock(&w->lock);
}

/* Locked, except while it waits. */
static void wait_for_work(struct worker *w)
{
	struct timespec t = clock_at(w->rest_ns);

	if (w->rest_ns)
		pthread_cond_timedwait(&w->work, &w->lock, &t);
	else
		pthread_cond_wait(&w->work, &w->lock);
}

/* Locked, except while it waits. */
static void wait_at_gate(struct worker *w)
{
	while (w->gate && !w->stop && access(w->gate, F_OK)) {
		struct timespec t = clock_at(now_ns() + GATE_LOOK_MS * 1000000ull);
		pthread_cond_timedwait(&w->work, &w->lock, &t);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct symbolizer *s;
	bool calm = false;

	pthread_mutex_lock(&w->lock);
	wait_at_gate(w);
	while (!w->stop) {
		if (w->calm && !calm)
			thread_nice(THREAD_NAMES_NICE);
		calm = w->calm;
		release_gone(w);
		rest(w);
		if (w->stop || w->gone)
			continue;
		struct symbolizer_job *job = pick(w, &s);
		if (!job) {
			wait_for_work(w);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		struct symbolizer_answer *a =
			job->file->generated ? work_on_generated(w, s, job) : work_on(w, job);
		pthread_mutex_lock(&w->lock);
		if (a)
			give(s, a);
		else
			push(s, job);
	}
	w->ended = true;
	bool left = w->left;
	pthread_cond_signal(&w->done);
	pthread_mutex_unlock(&w->lock);
	if (left)
		worker_release(w);
	return NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static struct worker *worker_new(const struct code_places *places, const char *gate,
				 struct err *err)
{
	struct worker *w = xcalloc(1, sizeof *w);
	pthread_condattr_t attr;

	w->pid = getpid();
	w->gate = gate ? xstrdup(gate) : NULL;
	w->store = code_store_new(places);
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->done, &attr);
	pthread_cond_init(&w->work, &attr);
	pthread_condattr_destroy(&attr);
	int rc = thread_start(&w->thread, work, w);
	if (!rc)
		return w;
	err_set(err, 125, "symbols: cannot start a thread: %s; raise the process limit",
		strerror(rc));
	worker_release(w);
	return NULL;
}

static struct worker *worker_for(const struct code_places *places, const char *gate,
				 struct err *err)
{
	struct worker *w = workers;

	while (w && !(w->pid == getpid() && same_text(w->gate, gate) &&
		      code_store_searches(w->store, places)))
		w = w->next;
	if (!w && (w = worker_new(places, gate, err))) {
		w->next = workers;
		workers = w;
	}
	return w;
}

struct symbolizer *symbolizer_new(const struct code_places *places, const char *gate,
				  void (*wake)(void *arg), void *arg, struct err *err)
{
	struct worker *w = worker_for(places, gate, err);

	if (!w)
		return NULL;
	struct symbolizer *s = xcalloc(1, sizeof *s);
	s->worker = w;
	s->wake = wake;
	s->arg = arg;
	for (int i = 0; i < 2; i++)
		s->answers[i].tail = &s->answers[i].first;
	w->users++;
	pthread_mutex_lock(&w->lock);
	s->next = w->clients;
	w->clients = s;
	pthread_mutex_unlock(&w->lock);
	return s;
}

void symbolizer_calm(struct symbolizer *s)
{
	pthread_mutex_lock(&s->worker->lock);
	s->worker->calm = true;
	pthread_mutex_unlock(&s->worker->lock);
}

/* Its symbolizers are gone. */
static void worker_free(struct worker *w)
{
	struct timespec until = clock_at(now_ns() + LEAVE_MS * 1000000ull);
	struct worker **at = &workers;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->work);
	while (!w->ended && pthread_cond_timedwait(&w->done, &w->lock, &until) == 0)
		;
	w->left = !w->ended;
	bool left = w->left;
	if (left)
		pthread_detach(w->thread);
	pthread_mutex_unlock(&w->lock);
	if (left)
		return;
	pthread_join(w->thread, NULL);
	worker_release(w);
}

void symbolizer_free(struct symbolizer *s)
{
	struct worker *w = s ? s->worker : NULL;

	if (!s)
		return;
	pthread_mutex_lock(&w->lock);
	struct symbolizer **at = &w->clients;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (w->turn == s)
		w->turn = NULL;
	if (w->awaited == s)
		w->awaited = NULL;
	s->gone = true;
	s->next = w->gone;
	w->gone = s;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
	if (!--w->users)
		worker_free(w);
}

/* After an exec the agent has another server process, and nothing else has changed: the build-id
 * says so. */
static bool same_place(const struct symbolizer_file *f, const struct code_where *where)
{
	if (f->build_id_len && f->pids[0] && f->pids[0] == where->pids[0])
		return true;
	return f->low == where->low && f->high == where->high &&
	       !memcmp(f->pids, where->pids, sizeof f->pids);
}

/* Each file is opened once, however often it was loaded. */
struct symbolizer_file *symbolizer_file_new(struct symbolizer *s, const struct code_where *where)
{
	for (struct symbolizer_file *f = s->files; f; f = f->next)
		if (!f->generated && !strcmp(f->path, where->path) &&
		    f->build_id_len == where->build_id_len && f->vdso == where->vdso &&
		    !memcmp(f->build_id, where->build_id, f->build_id_len) && same_place(f, where))
			return f;
	struct symbolizer_file *f = xcalloc(1, sizeof *f);
	f->path = xstrdup(where->path);
	f->build_id_len =
		where->build_id_len < sizeof f->build_id ? where->build_id_len : sizeof f->build_id;
	if (f->build_id_len)
		memcpy(f->build_id, where->build_id, f->build_id_len);
	f->low = where->low;
	f->high = where->high;
	f->vdso = where->vdso;
	memcpy(f->pids, where->pids, sizeof f->pids);
	f->next = s->files;
	s->files = f;
	return f;
}

void symbolizer_file_give(struct symbolizer_file *f, char *path)
{
	f->given = path;
}

struct symbolizer_file *symbolizer_generated_new(struct symbolizer *s,
						 const struct perfmap_where *where)
{
	struct symbolizer_file *f = xcalloc(1, sizeof *f);

	f->generated = true;
	f->where = *where;
	f->path = xstrdup("");
	f->next = s->files;
	s->files = f;
	return f;
}

void symbolizer_ask(struct symbolizer *s, struct symbolizer_job *job)
{
	struct worker *w = s->worker;

	job->stage = 0;
	pthread_mutex_lock(&w->lock);
	push(s, job);
	s->open++;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
}

void symbolizer_hurry(struct symbolizer *s, struct symbolizer_job *job)
{
	struct worker *w = s->worker;

	pthread_mutex_lock(&w->lock);
	bool waits = job->link != NULL;
	if (waits)
		unlink_job(job);
	job->hurried = true;
	if (waits)
		push(s, job);
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
}

struct symbolizer_answer *symbolizer_take(struct symbolizer *s, bool wait)
{
	struct worker *w = s->worker;

	pthread_mutex_lock(&w->lock);
	w->awaited = wait ? s : NULL;
	while (wait && !s->waiting && s->open)
		pthread_cond_wait(&w->done, &w->lock);
	struct symbolizer_answer *a = take_answer(s);
	if (!a)
		w->awaited = NULL;
	pthread_mutex_unlock(&w->lock);
	return a;
}

void symbolizer_answer_free(struct symbolizer_answer *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->frames[i].function);
		free(a->frames[i].file);
	}
	free(a->problem);
	free(a);
}
