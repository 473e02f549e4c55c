/* SPDX-License-Identifier: MIT
 *
 * main.c - the verb table. The first word is a verb, or else the whole line is the bare live view:
 * `memtop TARGET`. A verb's own file has its options, its help and its work.
 */
#include "base/build.h"
#include "base/listing.h"
#include "cli/base/complete.h"
#include "cli/base/manual.h"
#include "screen/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

/* In the order of the help page and of the man page. */
static const struct verb *const verbs[] = { &verb_live,   &verb_run,  &verb_attach, &verb_adb,
					    &verb_record, &verb_open, &verb_report, &verb_diff,
					    &verb_check,  &verb_mark, &verb_detach, &verb_list,
					    &verb_serve,  &verb_mcp,  NULL };

static void put_row(struct listing *t, const char *word, const char *about)
{
	listing_row(t);
	listing_put(t, word);
	listing_put(t, about);
}

static void print_help(void)
{
	static const struct listing_column columns[] = { { NULL, LISTING_LEFT, 10, 2 },
							 { NULL, LISTING_LEFT, 0, 1 } };

	printf("usage: memtop VERB ...\n"
	       "       memtop TARGET\n"
	       "       memtop\n"
	       "\n"
	       "Shows the heap of a native program while it runs.\n"
	       "\n");
	struct listing *t = listing_new(columns, 2, 0);
	put_row(t, "(none)", "choose among the processes that have an agent");
	for (const struct verb *const *v = verbs; *v; v++)
		put_row(t, (*v)->name ? (*v)->name : "TARGET", (*v)->summary);
	listing_end(t, stdout);
	printf("\nTARGET, the same for every verb:\n  :PORT, HOST:PORT   a forwarded TCP port\n  "
	       "@NAME, unix:PATH   a local socket\n  -p PID             a local process that has "
	       "the agent\n  FILE.mtop          a session file, under any name\n\nmemtop VERB "
	       "--help explains a verb.\n\nOptions of the live view:\n");
	t = args_listing();
	for (const struct option_spec *o = verb_live.options; o->name; o++)
		args_option_help(o, t);
	put_row(t, "-h, --help", "this page");
	put_row(t, "    --keys", "all keys of the live view");
	put_row(t, "    --version", "memtop's version");
	listing_end(t, stdout);
}

/* Output that a full disk did not take is a failure, not a success. */
static int flush_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (status == 0) {
		warn("standard output: %s; only this output is lost", strerror(errno));
		return STATUS_UNREACHED;
	}
	return status;
}

/*
 * Fills standard descriptors that the caller closed with one that can be neither read nor written.
 * Otherwise a session file or a socket could get the number 0, 1 or 2, and messages would go into
 * it. A program started by run or record finds them closed, as memtop did.
 */
static void hold_standard_fds(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) != fd)
			exit(STATUS_OURS);
}

/*
 * Large blocks are always mapped, so that free returns them to the system. By default the C library
 * raises the limit with each large block freed, and the arrays of a first state leave unused holes
 * in the heap.
 */
static void give_back(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 4 << 20);
}

static int run_verb(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	const struct verb *v = args_verb(verbs, word);
	int skip = v->name ? 2 : 1;
	struct args a;
	struct err err = { 0 };

	hold_standard_fds();
	give_back();
	/* Not LC_ALL: numbers that are read or written stay the same in every country. */
	setlocale(LC_CTYPE, "");
	if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
		print_help();
		return flush_output(0);
	}
	if (!strcmp(word, "--version")) {
		printf("memtop %s\n", build_version);
		return flush_output(0);
	}
	if (!strcmp(word, "--keys")) {
		keys_print(stdout);
		return flush_output(0);
	}
	if (!strcmp(word, "--man")) {
		manual_print(verbs, stdout);
		return flush_output(0);
	}
	if (!strcmp(word, "--complete"))
		return flush_output(complete_words(verbs, argc - 2, argv + 2));
	int rc = args_parse(v, argc - skip < 0 ? 0 : argc - skip, argv + (argc ? skip : 0), &a,
			    &err);
	if (rc < 0)
		rc = args_fail(&err, STATUS_USAGE);
	else
		rc = rc > 0 ? 0 : v->run(&a);
	free(a.operands);
	return flush_output(rc);
}

#define STACK_BYTES ((size_t)8 << 20)

static struct {
	ucontext_t back, there;
	int argc;
	char **argv;
	int status;
} on_own_stack;

static void run_there(void)
{
	on_own_stack.status = run_verb(on_own_stack.argc, on_own_stack.argv);
}

/*
 * A stack of memtop's own where ulimit -s leaves too little. The limit itself stays: it may be a
 * hard one, and the programs that memtop starts must find it as it was.
 */
static bool map_stack(ucontext_t *u)
{
	struct rlimit l;
	pthread_attr_t threads;

	if (getrlimit(RLIMIT_STACK, &l) || l.rlim_cur >= STACK_BYTES || getcontext(u))
		return false;
	if (!pthread_getattr_default_np(&threads)) { /* theirs follow the limit, too */
		pthread_attr_setstacksize(&threads, STACK_BYTES);
		pthread_setattr_default_np(&threads);
		pthread_attr_destroy(&threads);
	}
	size_t guard = (size_t)sysconf(_SC_PAGESIZE);
	char *stack = mmap(NULL, guard + STACK_BYTES, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED || mprotect(stack + guard, STACK_BYTES, PROT_READ | PROT_WRITE))
		return false;
	u->uc_stack.ss_sp = stack + guard;
	u->uc_stack.ss_size = STACK_BYTES;
	return true;
}

int main(int argc, char **argv)
{
	if (!map_stack(&on_own_stack.there))
		return run_verb(argc, argv);
	on_own_stack.there.uc_link = &on_own_stack.back;
	on_own_stack.argc = argc;
	on_own_stack.argv = argv;
	makecontext(&on_own_stack.there, run_there, 0);
	swapcontext(&on_own_stack.back, &on_own_stack.there);
	return on_own_stack.status;
}
