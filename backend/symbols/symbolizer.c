/* SPDX-License-Identifier: MIT
 *
 * symbolizer.c - the symbolizer's thread.
 *
 * All names from symbol tables come first (microseconds each), then lines and inlined frames (a
 * large unit takes a second, once). In both stages locations on screen come before the rest, and
 * newer jobs before older ones. Answers for the screen overtake others, too. At most WAITING_MAX
 * answers wait to be taken, so that the loop, which has other work, never falls far behind.
 *
 * The thread sees jobs and files, never the model. It blocks all signals: they belong to the loop.
 * Nothing can interrupt libdw, and the first look into a debug file of a gigabyte takes seconds. So
 * quitting waits LEAVE_MS at most, enough for an idle worker, and otherwise leaves everything to
 * the worker.
 */
#include "symbols/symbolizer.h"

#include "symbols/symbols.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STAGES 2
#define WAITING_MAX 800u
#define LEAVE_MS 20
#define GATE_LOOK_MS 10
#define SLICES_MAX 256u /* of a map that changes faster than it is read */

/* long, because reading a gigabyte of DWARF again takes seconds */
unsigned symbolizer_rest_ms = 60000;

struct symbolizer {
	struct code_places places; /* owned, immutable */
	const char *gate;          /* tests: see symbolizer_new() */
	void (*wake)(void *arg);
	void *arg;
	pthread_t thread;
	struct symbolizer_file *files;  /* main thread makes them, freed at the end */
	struct symbolizer_file *opened; /* worker only, as what follows */
	struct perfmap *map;            /* names of the generated code of `mapped` */
	const struct symbolizer_file *mapped;
	bool read;                 /* a module's file was read since the data was last freed */
	uint64_t worked_ns;        /* the last time */
	pthread_mutex_t lock;      /* guards what follows */
	pthread_cond_t work, done; /* done: an answer, or the end */
	/* [1]: hurried */
	struct symbolizer_job *queues[2][STAGES];
	struct answers {
		struct symbolizer_answer *first, **tail;
	} answers[2];
	size_t waiting;         /* answers in these */
	size_t open;            /* jobs without a final answer */
	bool stop, ended, left; /* left: the worker frees all when it ends */
};

static void push(struct symbolizer *w, struct symbolizer_job *job)
{
	struct symbolizer_job **head = &w->queues[job->hurried][job->stage];

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

/* Takes the next job out; NULL when none may run yet. Locked. */
static struct symbolizer_job *pick(struct symbolizer *w)
{
	for (int i = 0; i < 2 * STAGES; i++) {
		struct symbolizer_job *job = w->queues[i % 2 == 0][i / 2];
		if (!job || (!job->hurried && w->waiting >= WAITING_MAX))
			continue;
		unlink_job(job);
		return job;
	}
	return NULL;
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
static struct symbolizer_answer *work_on_generated(struct symbolizer *w, struct symbolizer_job *job)
{
	struct code_frame frame;

	if (w->mapped != job->file) {
		perfmap_free(w->map);
		w->map = perfmap_new(&job->file->where, &w->places);
		w->mapped = job->file;
	}
	int rc = perfmap_name(w->map, job->pc, job->look, &frame);
	job->look = false;
	if (rc < 0 && job->slices++ < SLICES_MAX)
		return NULL;
	struct symbolizer_answer *a =
		answer_new(job, rc > 0 ? SYMBOL_TABLE : SYMBOL_NONE, &frame, rc > 0);
	a->version = perfmap_version(w->map);
	a->problem = perfmap_problem(w->map);
	a->final = true;
	return a;
}

/* Not locked: the slow part. */
static struct symbolizer_answer *work_on(struct symbolizer *w, struct symbolizer_job *job)
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
	if (!file->tried) {
		file->tried = true;
		file->opened = code_file_open(&where, &w->places, &file->problem);
		file->next_opened = w->opened;
		w->opened = file;
	}
	if (job->given && !file->has_given) {
		file->has_given = true;
		code_file_give(file->opened, &where, file->given);
		free(file->problem);
		file->problem = NULL;
	}
	if (job->stage == 0) {
		size_t n = code_file_table(file->opened, job->pc, frames);
		a = answer_new(job, n ? SYMBOL_TABLE : SYMBOL_NONE, frames, n);
	} else {
		size_t n = code_file_lines(file->opened, job->pc, frames, CODE_FRAMES_MAX);
		a = answer_new(job, n ? SYMBOL_DWARF : SYMBOL_NONE, frames, n);
		a->final = true;
		a->no_dwarf = !code_file_has_dwarf(file->opened);
	}
	if (a->final && file->problem)
		a->problem = xstrdup(file->problem);
	return a;
}

/* Locked, so that no wake-up follows after the worker was released. */
static void give(struct symbolizer *w, struct symbolizer_answer *a)
{
	bool first = !w->waiting++;
	/* Answers to one job stay in order. */
	struct answers *to = &w->answers[a->job->hurried && !a->job->waiting];

	*to->tail = a;
	to->tail = &a->next;
	a->job->waiting++;
	if (a->final) {
		w->open--;
	} else {
		a->job->stage++;
		push(w, a->job);
	}
	pthread_cond_signal(&w->done);
	if (first && !w->stop)
		w->wake(w->arg);
}

static void worker_release(struct symbolizer *w)
{
	struct symbolizer_answer *a;

	while ((a = symbolizer_take(w, false))) {
		if (a->final)
			free(a->job);
		symbolizer_answer_free(a);
	}
	for (int i = 0; i < 2 * STAGES; i++)
		for (struct symbolizer_job *job; (job = w->queues[i % 2][i / 2]);) {
			unlink_job(job);
			free(job);
		}
	while (w->files) {
		struct symbolizer_file *next = w->files->next;
		code_file_close(w->files->opened);
		free(w->files->path);
		free(w->files->given);
		free(w->files->problem);
		free(w->files);
		w->files = next;
	}
	perfmap_free(w->map);
	for (size_t i = 0; i < w->places.dir_count; i++)
		free((char *)w->places.dirs[i]);
	free((void *)w->places.dirs);
	free((char *)w->places.sysroot);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->work);
	pthread_cond_destroy(&w->done);
	free(w);
}

/* Locked, except while it frees the files' data. */
static void wait_for_work(struct symbolizer *w)
{
	uint64_t rest_ns = w->read ? w->worked_ns + symbolizer_rest_ms * 1000000ull : 0;

	if (rest_ns && rest_ns <= now_ns()) {
		w->read = false;
		pthread_mutex_unlock(&w->lock);
		for (struct symbolizer_file *f = w->opened; f; f = f->next_opened)
			code_file_rest(f->opened);
		malloc_trim(0); /* free() keeps libdw's memory, between live blocks */
		pthread_mutex_lock(&w->lock);
		return;
	}
	struct timespec t = clock_at(rest_ns);
	if (rest_ns)
		pthread_cond_timedwait(&w->work, &w->lock, &t);
	else
		pthread_cond_wait(&w->work, &w->lock);
}

/* Locked, except while it waits. */
static void wait_at_gate(struct symbolizer *w)
{
	while (w->gate && !w->stop && access(w->gate, F_OK)) {
		struct timespec t = clock_at(now_ns() + GATE_LOOK_MS * 1000000ull);
		pthread_cond_timedwait(&w->work, &w->lock, &t);
	}
}

static void *worker(void *arg)
{
	struct symbolizer *w = arg;

	pthread_mutex_lock(&w->lock);
	wait_at_gate(w);
	while (!w->stop) {
		struct symbolizer_job *job = pick(w);
		if (!job) {
			wait_for_work(w);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		struct symbolizer_answer *a =
			job->file->generated ? work_on_generated(w, job) : work_on(w, job);
		if (!job->file->generated) {
			w->read = true;
			w->worked_ns = now_ns();
		}
		pthread_mutex_lock(&w->lock);
		if (a)
			give(w, a);
		else
			push(w, job);
	}
	w->ended = true;
	bool left = w->left;
	pthread_cond_signal(&w->done);
	pthread_mutex_unlock(&w->lock);
	if (left)
		worker_release(w);
	return NULL;
}

static void copy_places(struct code_places *to, const struct code_places *from)
{
	const char **dirs = xcalloc(from->dir_count, sizeof *dirs);

	for (size_t i = 0; i < from->dir_count; i++)
		dirs[i] = xstrdup(from->dirs[i]);
	*to = (struct code_places){ from->sysroot ? xstrdup(from->sysroot) : NULL, dirs,
				    from->dir_count };
}

struct symbolizer *symbolizer_new(const struct code_places *places, const char *gate,
				  void (*wake)(void *arg), void *arg, struct err *err)
{
	struct symbolizer *w = xcalloc(1, sizeof *w);
	pthread_condattr_t attr;
	sigset_t all, old;

	copy_places(&w->places, places);
	w->gate = gate;
	w->wake = wake;
	w->arg = arg;
	for (int i = 0; i < 2; i++)
		w->answers[i].tail = &w->answers[i].first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->done, &attr);
	pthread_cond_init(&w->work, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int rc = pthread_create(&w->thread, NULL, worker, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!rc)
		return w;
	err_set(err, 125, "symbols: cannot start a thread: %s; raise the process limit",
		strerror(rc));
	worker_release(w);
	return NULL;
}

void symbolizer_free(struct symbolizer *w)
{
	struct timespec until = clock_at(now_ns() + LEAVE_MS * 1000000ull);

	if (!w)
		return;
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
struct symbolizer_file *symbolizer_file_new(struct symbolizer *w, const struct code_where *where)
{
	for (struct symbolizer_file *f = w->files; f; f = f->next)
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
	f->next = w->files;
	w->files = f;
	return f;
}

void symbolizer_file_give(struct symbolizer_file *f, char *path)
{
	f->given = path;
}

struct symbolizer_file *symbolizer_generated_new(struct symbolizer *w,
						 const struct perfmap_where *where)
{
	struct symbolizer_file *f = xcalloc(1, sizeof *f);

	f->generated = true;
	f->where = *where;
	f->path = xstrdup("");
	f->next = w->files;
	w->files = f;
	return f;
}

void symbolizer_ask(struct symbolizer *w, struct symbolizer_job *job)
{
	job->stage = 0;
	pthread_mutex_lock(&w->lock);
	push(w, job);
	w->open++;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
}

void symbolizer_hurry(struct symbolizer *w, struct symbolizer_job *job)
{
	pthread_mutex_lock(&w->lock);
	bool waits = job->link != NULL;
	if (waits)
		unlink_job(job);
	job->hurried = true;
	if (waits)
		push(w, job);
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
}

struct symbolizer_answer *symbolizer_take(struct symbolizer *w, bool wait)
{
	pthread_mutex_lock(&w->lock);
	while (wait && !w->waiting && w->open)
		pthread_cond_wait(&w->done, &w->lock);
	struct answers *from = &w->answers[w->answers[1].first != NULL];
	struct symbolizer_answer *a = from->first;
	if (a) {
		from->first = a->next;
		if (!from->first)
			from->tail = &from->first;
		a->job->waiting--;
		if (w->waiting-- == WAITING_MAX)
			pthread_cond_signal(&w->work);
	}
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
