/* SPDX-License-Identifier: MIT
 *
 * late.c - a program that loads the agent late, on command, and counts its own allocations from
 * then on. tests/attach/test_late.py drives it.
 *
 * Reads commands from stdin, a letter and its argument a line, and answers each with one line, by
 * write() alone:
 *     a OPTIONS   memtop_attach; answers its result
 *     l PATH      loads a library of latelibs/; u: unloads the last one; L PATH: with RTLD_DEEPBIND
 *     M PATH      loads one into a namespace of its own, and works in it
 *     r N         THREADS threads make N events each, in every module in turn, then stand still;
 *                 answers the sums
 *     o PATH      from now on one thread more loads that library, works in it and unloads it again,
 *                 as long as r, h last
 *     h / s       threads make events until `s`; answers "sums", as r
 *     d           all blocks are freed; answers the sums
 *     f           forks; the child makes events, frees all of its blocks and exits; answers whether
 *                 it did so unharmed
 *     w           starts a thread for rounds of one malloc and one free; answers its id
 *     n N         that thread makes N rounds more; e: answers once it has made all
 *     x           becomes env, which prints its environment
 *     z           what is alive now is from before an attach to come; sums are 0
 *     q           ends
 * Usage: late AGENT
 */
#include "latelibs/work.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0 /* not everywhere */
#endif

#define N " %" PRIu64

enum { THREADS = 4, MODULES = 8, CONSTRUCTED = 333 };

static struct worker worker[THREADS + 1]; /* the last: of the thread that loads and unloads */
static char comes_and_goes[400];
static void *module[MODULES];
static work_fn *module_work[MODULES], *module_drop[MODULES];
static int modules;
static _Atomic int xstop;

static void answer(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(3);
}

static void answer_tid(void)
{
	char line[32];

	snprintf(line, sizeof(line), "%ld\n", (long)syscall(SYS_gettid));
	answer(line);
}

static void answer_sums(void)
{
	struct tally sum = { 0 };
	char line[256];

	for (int i = 0; i <= THREADS; i++) {
		const struct tally *t = &worker[i].tally;
		sum.alloc_blocks += t->alloc_blocks;
		sum.alloc_bytes += t->alloc_bytes;
		sum.free_blocks += t->free_blocks;
		sum.free_bytes += t->free_bytes;
		sum.before_blocks += t->before_blocks;
		sum.before_bytes += t->before_bytes;
		sum.wrong += t->wrong;
	}
	snprintf(line, sizeof(line), "sums" N N N N N N N "\n", sum.alloc_blocks, sum.alloc_bytes,
		 sum.free_blocks, sum.free_bytes, sum.before_blocks, sum.before_bytes, sum.wrong);
	answer(line);
}

static void all_modules(struct worker *w, int events)
{
	work(w, events);
	for (int i = 0; i < modules; i++)
		module_work[i](w, events);
}

struct order {
	struct worker *w;
	int events; /* 0 = until told */
};

static void *run(void *arg)
{
	const struct order *o = arg;

	if (o->events)
		all_modules(o->w, o->events);
	while (!o->events && !atomic_load(&xstop))
		all_modules(o->w, 50);
	return NULL;
}

/* What its constructor allocates and its destructor frees is counted here. */
static void *load_and_unload(void *arg)
{
	struct worker *w = arg;

	do {
		void *handle = dlopen(comes_and_goes, RTLD_LAZY | RTLD_LOCAL);
		if (!handle)
			_exit(5);
		w->tally.alloc_blocks++;
		w->tally.alloc_bytes += CONSTRUCTED;
		((work_fn *)dlsym(handle, "late_work"))(w, 100);
		((work_fn *)dlsym(handle, "late_drop"))(w, 0);
		if (dlclose(handle))
			_exit(6);
		w->tally.free_blocks++;
		w->tally.free_bytes += CONSTRUCTED;
		usleep(500); /* each load is a module of its own, for good: 65,535 of them */
	} while (!atomic_load(&xstop));
	return NULL;
}

static pthread_t thread[THREADS + 1];
static struct order order[THREADS];

static void start(int events)
{
	atomic_store(&xstop, 0);
	if (comes_and_goes[0] &&
	    pthread_create(&thread[THREADS], NULL, load_and_unload, &worker[THREADS]))
		_exit(4);
	for (int i = 0; i < THREADS; i++) {
		order[i] = (struct order){ &worker[i], events };
		if (pthread_create(&thread[i], NULL, run, &order[i]))
			_exit(4);
	}
}

static void finish(int events)
{
	if (!events)
		atomic_store(&xstop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	atomic_store(&xstop, 1);
	if (comes_and_goes[0])
		pthread_join(thread[THREADS], NULL);
	answer_sums();
}

static void drop_everything(void)
{
	for (int i = 0; i < THREADS; i++) {
		drop_all(&worker[i], 0);
		for (int m = 0; m < modules; m++)
			module_drop[m](&worker[i], 0);
	}
	answer_sums();
}

static void before(void)
{
	for (int i = 0; i <= THREADS; i++) {
		memset(&worker[i].tally, 0, sizeof(worker[i].tally));
		for (int b = 0; b < BLOCKS; b++)
			worker[i].block[b].before = worker[i].block[b].p != NULL;
	}
	answer("ok\n");
}

static void attach(const char *agent, const char *options)
{
	static int (*memtop_attach)(const char *);
	char line[32];

	if (!memtop_attach) {
		void *handle = dlopen(agent, RTLD_NOW | RTLD_LOCAL);
		if (!handle) {
			answer(dlerror());
			answer("\n");
			return;
		}
		memtop_attach = (int (*)(const char *))dlsym(handle, "memtop_attach");
	}
	snprintf(line, sizeof(line), "%d\n", memtop_attach(options));
	answer(line);
}

static void load(const char *path, int how)
{
	void *handle = modules < MODULES ? dlopen(path, RTLD_LAZY | RTLD_LOCAL | how) : NULL;

	if (!handle) {
		answer("not loaded\n");
		return;
	}
	module[modules] = handle;
	module_work[modules] = (work_fn *)dlsym(handle, "late_work");
	module_drop[modules++] = (work_fn *)dlsym(handle, "late_drop");
	answer("ok\n");
}

/* Into a namespace of its own: its allocations are another libc's, and in no sum. */
static void load_apart(const char *path)
{
	static struct worker apart = { .random = 1 };
#ifdef LM_ID_NEWLM
	void *handle = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
#else
	void *handle = NULL; /* musl, bionic: there is one namespace */

	(void)path;
#endif

	if (!handle) {
		answer("not loaded\n");
		return;
	}
	((work_fn *)dlsym(handle, "late_work"))(&apart, 500);
	((work_fn *)dlsym(handle, "late_drop"))(&apart, 0);
	answer(apart.tally.wrong ? "wrong\n" : "ok\n");
}

static int rounds[2] = { -1, -1 };
static _Atomic int xleft;

static void *make_rounds(void *unused)
{
	char byte;

	answer_tid();
	while (read(rounds[0], &byte, 1) == 1) {
		void *volatile p = malloc(24);
		free(p);
		atomic_fetch_sub(&xleft, 1);
	}
	return unused;
}

static void start_rounds(void)
{
	pthread_t id;

	if (pipe(rounds) || pthread_create(&id, NULL, make_rounds, NULL))
		_exit(4);
}

static void more_rounds(int n)
{
	atomic_fetch_add(&xleft, n);
	for (; n; n--)
		if (write(rounds[1], "", 1) != 1)
			_exit(3);
	answer("ok\n");
}

static void await_rounds(void)
{
	while (atomic_load(&xleft))
		usleep(1000);
	answer("ok\n");
}

static void fork_child(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < THREADS; i++) {
			all_modules(&worker[i], 500);
			drop_all(&worker[i], 0);
			if (worker[i].tally.wrong)
				_exit(1);
		}
		_exit(0);
	}
	waitpid(pid, &status, 0);
	answer(status ? "the child failed\n" : "ok\n");
}

/* A line without its end; stdio would allocate. */
static int next_line(char *line, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && read(0, line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = 0;
	return n > 0;
}

int main(int argc, char **argv)
{
	char line[512];

	for (int i = 0; i <= THREADS; i++)
		worker[i].random = 12345u + (unsigned)i;
	while (argc > 1 && next_line(line, sizeof(line))) {
		const char *rest = line[1] ? line + 2 : "";
		switch (line[0]) {
		case 'a': attach(argv[1], rest); break;
		case 'l': load(rest, 0); break;
		case 'L': load(rest, RTLD_DEEPBIND); break;
		case 'M': load_apart(rest); break;
		case 'u': answer(dlclose(module[--modules]) ? "not unloaded\n" : "ok\n"); break;
		case 'r':
			start(atoi(rest));
			finish(atoi(rest));
			break;
		case 'h':
			start(0);
			answer("ok\n");
			break;
		case 's': finish(0); break;
		case 'o':
			snprintf(comes_and_goes, sizeof(comes_and_goes), "%s", rest),
				answer("ok\n");
			break;
		case 'd': drop_everything(); break;
		case 'z': before(); break;
		case 'f': fork_child(); break;
		case 'w': start_rounds(); break;
		case 'n': more_rounds(atoi(rest)); break;
		case 'e': await_rounds(); break;
		case 'x': execl("/usr/bin/env", "env", NULL); break;
		default: return 0;
		}
	}
	return 0;
}
