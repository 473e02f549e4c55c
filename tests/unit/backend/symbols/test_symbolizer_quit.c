/* SPDX-License-Identifier: MIT
 *
 * test_symbolizer_quit.c - quitting never waits for a debug file, and names on the screen never
 * wait for other names. This file replaces symbols/dwfl.c: its look-ups block until the test
 * releases them.
 */
#include "check.h"
#include "base/loop.h"
#include "symbols/symbolizer.h"

#include <pthread.h>

struct symdw_file {
	int unused;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
#define SEEN_PC 100u
#define MANY 600u
static bool looking, let_go, closed, rested, many_named, seen_named;
static int wakes;

static void set(bool *what)
{
	pthread_mutex_lock(&lock);
	*what = true;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
}

static void wait_until(const bool *what)
{
	pthread_mutex_lock(&lock);
	while (!*what)
		pthread_cond_wait(&moved, &lock);
	pthread_mutex_unlock(&lock);
}

struct symdw_file *symdw_open(const struct symdw_where *where, const struct symdw_places *places,
			      char **problem)
{
	(void)where;
	*problem = NULL;
	set(&looking);
	wait_until(&let_go);
	/* Whoever asked is gone, what it gave stays readable. */
	CHECK_STR(places->sysroot, "/root");
	CHECK_STR(places->dirs[0], "/debug");
	return xcalloc(1, sizeof(struct symdw_file));
}

void symdw_close(struct symdw_file *f)
{
	free(f);
	set(&closed);
}

void symdw_rest(struct symdw_file *f)
{
	CHECK(f != NULL);
	set(&rested);
}

bool symdw_table(struct symdw_file *f, uint64_t pc, struct symdw_frame *frame)
{
	static unsigned named;

	(void)f, (void)pc;
	if (++named == MANY)
		set(&many_named);
	*frame = (struct symdw_frame){ .function = xstrdup("f") };
	return true;
}

size_t symdw_lines(struct symdw_file *f, uint64_t pc, struct symdw_frame *frames, size_t max)
{
	(void)f, (void)frames, (void)max;
	if (pc == SEEN_PC)
		set(&seen_named); /* that answer was given */
	return 0;
}

bool symdw_has_dwarf(const struct symdw_file *f)
{
	(void)f;
	return true;
}

void symdw_give(struct symdw_file *f, const struct symdw_where *where, const char *path)
{
	(void)f, (void)where, (void)path;
}

static void wake(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&wakes, 1, __ATOMIC_RELAXED);
}

static struct sym_worker *ask_three(void)
{
	char root[] = "/root", dir[] = "/debug";
	const char *dirs[] = { dir };
	struct symdw_places places = { root, dirs, 1 };
	struct symdw_where where = { .path = "/huge" };
	struct sym_worker *w = sym_worker_new(&places, NULL, wake, NULL, NULL);

	for (int i = 0; i < 3; i++) {
		struct sym_job *job = xcalloc(1, sizeof *job);
		job->file = sym_file_new(w, &where);
		job->pc = (uint64_t)i;
		sym_ask(w, job);
	}
	memset(root, 'x', sizeof root - 1);
	memset(dir, 'x', sizeof dir - 1);
	return w;
}

TEST(leaving_does_not_wait_for_a_look_up)
{
	struct sym_worker *w = ask_three();

	wait_until(&looking);
	sym_worker_free(w); /* returns, though nobody lets the look-up go */
	CHECK(!closed);
	set(&let_go);
	wait_until(&closed); /* the worker cleans up behind itself, and nobody is woken */
	CHECK_EQ(__atomic_load_n(&wakes, __ATOMIC_RELAXED), 0);
}

static void take_finals(struct sym_worker *w, int finals)
{
	while (finals) {
		struct sym_answer *a = sym_take(w, true);
		CHECK(a != NULL);
		finals -= a->final;
		if (a->final)
			free(a->job);
		sym_answer_free(a);
	}
}

TEST(leaving_an_idle_worker_takes_all_along)
{
	struct sym_worker *w = ask_three();

	set(&let_go);
	take_finals(w, 3);
	CHECK(__atomic_load_n(&wakes, __ATOMIC_RELAXED) > 0);
	sym_worker_free(w);
	CHECK(closed);
}

TEST(an_idle_worker_lets_go_what_it_read)
{
	struct symdw_where where = { .path = "/huge" };

	sym_rest_ms = 1;
	struct sym_worker *w = ask_three();
	set(&let_go);
	take_finals(w, 3);
	wait_until(&rested);
	struct sym_job *job = xcalloc(1, sizeof *job);
	job->file = sym_file_new(w, &where);
	sym_ask(w, job);
	take_finals(w, 1);
	sym_worker_free(w);
	CHECK(closed);
}

static struct sym_job *ask(struct sym_worker *w, uint64_t pc)
{
	struct sym_job *job = xcalloc(1, sizeof *job);

	job->file = sym_file_new(w, &(struct symdw_where){ .path = "/huge" });
	job->pc = pc;
	sym_ask(w, job);
	return job;
}

TEST(what_is_on_the_screen_comes_first)
{
	enum { JOBS = 20000 };
	struct sym_worker *w = ask_three();
	struct sym_job *seen = NULL;
	unsigned before = 0, finals = 0;

	wait_until(&looking); /* at one of the three: all others wait */
	for (uint64_t i = 0; i < JOBS; i++) {
		struct sym_job *job = ask(w, SEEN_PC + i);
		seen = i == JOBS / 3 ? job : seen;
	}
	sym_hurry(w, seen);
	set(&let_go);
	for (struct sym_answer *a; (a = sym_take(w, true)); sym_answer_free(a)) {
		CHECK(!a->job->waiting || !a->final); /* in their order */
		before += seen != NULL && a->job != seen;
		if (a->job == seen)
			seen = NULL;
		finals += a->final;
		if (a->final)
			free(a->job);
	}
	CHECK(before <= 1);
	CHECK_EQ(finals, JOBS + 3);
	sym_worker_free(w);
}

/* The loop is far behind: a name on the screen overtakes answers that it has not read yet. */
TEST(what_is_on_the_screen_overtakes_answers)
{
	enum { JOBS = 20000 };
	struct sym_worker *w = ask_three();
	struct sym_job *seen;
	unsigned before = 0;

	wait_until(&looking);
	seen = ask(w, SEEN_PC);
	for (uint64_t i = 1; i < JOBS; i++)
		ask(w, SEEN_PC + i);
	set(&let_go);
	wait_until(&many_named);
	sym_hurry(w, seen);
	wait_until(&seen_named); /* after MANY others */
	while (seen) {
		struct sym_answer *a = sym_take(w, true);
		before += a->job != seen;
		if (a->job == seen)
			seen = NULL;
		if (a->final)
			free(a->job);
		sym_answer_free(a);
	}
	CHECK(before < MANY);
	sym_worker_free(w);
}
