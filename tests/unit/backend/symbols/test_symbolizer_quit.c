/* SPDX-License-Identifier: MIT
 *
 * test_symbolizer_quit.c - quitting never waits for a debug file, and names on the screen never
 * wait for other names. This file replaces symbols/code_file.c: its look-ups block until the test
 * releases them.
 */
#include "check.h"
#include "symbols/symbolizer.h"

#include <pthread.h>

struct code_file {
	int unused;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
#define SEEN_PC 100u
#define MANY 600u
static bool looking, let_go, closed, rested, many_named, seen_named;
static int wakes, opened;
static unsigned named, named_before_seen;
static const uint8_t build_id[] = "1234";
static const struct code_where huge = { .path = "/huge", .build_id = build_id, .build_id_len = 4 };

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

struct code_file *code_file_open(const struct code_where *where, const struct code_places *places,
				 char **problem)
{
	(void)where;
	*problem = NULL;
	__atomic_add_fetch(&opened, 1, __ATOMIC_RELAXED);
	set(&looking);
	wait_until(&let_go);
	/* Whoever asked is gone, what it gave stays readable. */
	CHECK_STR(places->sysroot, "/root");
	CHECK_STR(places->dirs[0], "/debug");
	return xcalloc(1, sizeof(struct code_file));
}

void code_file_close(struct code_file *f)
{
	free(f);
	set(&closed);
}

void code_file_rest(struct code_file *f)
{
	CHECK(f != NULL);
	set(&rested);
}

bool code_file_table(struct code_file *f, uint64_t pc, struct code_frame *frame)
{
	(void)f, (void)pc;
	if (++named == MANY)
		set(&many_named);
	*frame = (struct code_frame){ .function = xstrdup("f") };
	return true;
}

size_t code_file_lines(struct code_file *f, uint64_t pc, struct code_frame *frames, size_t max)
{
	(void)f, (void)frames, (void)max;
	if (pc == SEEN_PC) {
		named_before_seen = named;
		set(&seen_named); /* that answer was given */
	}
	return 0;
}

bool code_file_has_dwarf(const struct code_file *f)
{
	(void)f;
	return true;
}

void code_file_give(struct code_file *f, const struct code_where *where, const char *path)
{
	(void)f, (void)where, (void)path;
}

bool code_file_stat(const struct code_file *f, struct code_stat *is)
{
	*is = (struct code_stat){ 1, 2, 3, 4 };
	return f != NULL;
}

uint64_t code_file_bytes(const struct code_file *f)
{
	(void)f;
	return 3;
}

static void wake(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&wakes, 1, __ATOMIC_RELAXED);
}

static struct symbolizer *ask_three(void)
{
	char root[] = "/root", dir[] = "/debug";
	const char *dirs[] = { dir };
	struct code_places places = { root, dirs, 1 };
	struct symbolizer *w = symbolizer_new(&places, NULL, wake, NULL, NULL);

	for (int i = 0; i < 3; i++) {
		struct symbolizer_job *job = xcalloc(1, sizeof *job);
		job->file = symbolizer_file_new(w, &huge);
		job->pc = (uint64_t)i;
		symbolizer_ask(w, job);
	}
	memset(root, 'x', sizeof root - 1);
	memset(dir, 'x', sizeof dir - 1);
	return w;
}

TEST(leaving_does_not_wait_for_a_look_up)
{
	struct symbolizer *w = ask_three();

	wait_until(&looking);
	symbolizer_free(w); /* returns, though nobody lets the look-up go */
	CHECK(!closed);
	set(&let_go);
	wait_until(&closed); /* the worker cleans up behind itself, and nobody is woken */
	CHECK_EQ(__atomic_load_n(&wakes, __ATOMIC_RELAXED), 0);
}

static void take_finals(struct symbolizer *w, int finals)
{
	while (finals) {
		struct symbolizer_answer *a = symbolizer_take(w, true);
		CHECK(a != NULL);
		finals -= a->final;
		if (a->final)
			free(a->job);
		symbolizer_answer_free(a);
	}
}

TEST(leaving_an_idle_worker_takes_all_along)
{
	struct symbolizer *w = ask_three();

	set(&let_go);
	take_finals(w, 3);
	CHECK(__atomic_load_n(&wakes, __ATOMIC_RELAXED) > 0);
	symbolizer_free(w);
	CHECK(closed);
}

TEST(an_idle_worker_lets_go_what_it_read)
{
	symbolizer_rest_ms = 1;
	struct symbolizer *w = ask_three();
	set(&let_go);
	take_finals(w, 3);
	wait_until(&rested);
	struct symbolizer_job *job = xcalloc(1, sizeof *job);
	job->file = symbolizer_file_new(w, &huge);
	symbolizer_ask(w, job);
	take_finals(w, 1);
	symbolizer_free(w);
	CHECK(closed);
}

static struct symbolizer_job *ask(struct symbolizer *w, uint64_t pc)
{
	struct symbolizer_job *job = xcalloc(1, sizeof *job);

	job->file = symbolizer_file_new(w, &huge);
	job->pc = pc;
	symbolizer_ask(w, job);
	return job;
}

TEST(what_is_on_the_screen_comes_first)
{
	enum { JOBS = 20000 };
	struct symbolizer *w = ask_three();
	struct symbolizer_job *seen = NULL;
	unsigned before = 0, finals = 0;

	wait_until(&looking); /* at one of the three: all others wait */
	for (uint64_t i = 0; i < JOBS; i++) {
		struct symbolizer_job *job = ask(w, SEEN_PC + i);
		seen = i == JOBS / 3 ? job : seen;
	}
	symbolizer_hurry(w, seen);
	set(&let_go);
	for (struct symbolizer_answer *a; (a = symbolizer_take(w, true));
	     symbolizer_answer_free(a)) {
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
	symbolizer_free(w);
}

/* The loop is far behind: a name on the screen overtakes answers that it has not read yet. */
TEST(what_is_on_the_screen_overtakes_answers)
{
	enum { JOBS = 20000 };
	struct symbolizer *w = ask_three();
	struct symbolizer_job *seen;
	unsigned before = 0;

	wait_until(&looking);
	seen = ask(w, SEEN_PC);
	for (uint64_t i = 1; i < JOBS; i++)
		ask(w, SEEN_PC + i);
	set(&let_go);
	wait_until(&many_named);
	symbolizer_hurry(w, seen);
	wait_until(&seen_named); /* after MANY others */
	while (seen) {
		struct symbolizer_answer *a = symbolizer_take(w, true);
		before += a->job != seen;
		if (a->job == seen)
			seen = NULL;
		if (a->final)
			free(a->job);
		symbolizer_answer_free(a);
	}
	CHECK(before < MANY);
	symbolizer_free(w);
}

/* A process ends while others are watched, also amid its own look-up. */
TEST(one_leaves_and_others_stay)
{
	struct symbolizer *first = ask_three(), *second = ask_three();

	wait_until(&looking);
	symbolizer_free(first);
	set(&let_go);
	take_finals(second, 3);
	struct symbolizer *third = ask_three();
	symbolizer_free(second);
	take_finals(third, 3);
	CHECK(!closed); /* the third one has it, too */
	CHECK_EQ(__atomic_load_n(&opened, __ATOMIC_RELAXED), 1);
	symbolizer_free(third);
	CHECK(closed);
}

static bool taking;
static pid_t taker;

static void *take_all_of(void *arg)
{
	taker = gettid();
	set(&taking);
	take_finals(arg, 4);
	return NULL;
}

static bool sleeps(const char *stat_path)
{
	char state = 0;
	FILE *f = fopen(stat_path, "r");

	CHECK(f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1);
	fclose(f);
	return state == 'S';
}

/* The loop waits for one process' names: those of all others come later. */
TEST(what_is_waited_for_comes_first)
{
	enum { JOBS = 2000 };
	struct symbolizer *of[3] = { ask_three(), ask_three(), ask_three() };
	pthread_t waiter;
	char path[64];

	wait_until(&looking);
	ask(of[1], SEEN_PC);
	for (uint64_t i = 1; i <= JOBS; i++) {
		ask(of[0], SEEN_PC + i);
		ask(of[2], SEEN_PC + i);
	}
	CHECK(!pthread_create(&waiter, NULL, take_all_of, of[1]));
	wait_until(&taking);
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)taker);
	while (!sleeps(path)) /* in symbolizer_take() */
		usleep(1000);
	set(&let_go);
	pthread_join(waiter, NULL);
	CHECK(named_before_seen <= 5); /* the four, and one that was under way */
	for (int i = 0; i < 3; i++)
		symbolizer_free(of[i]);
}
