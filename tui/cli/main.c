/* SPDX-License-Identifier: MIT
 *
 * main.c - the verb table. The first word is a verb, or else the whole line is the bare live view:
 * `memtop TARGET`. A verb's own file has its options, its help and its work.
 */
#include "screen/keys.h"
#include "cli/base/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

const struct verb *const verbs[] = { &verb_run,  &verb_attach, &verb_adb,  &verb_record,
				     &verb_open, &verb_report, &verb_diff, &verb_check,
				     &verb_mark, &verb_detach, &verb_list, &verb_serve,
				     &verb_mcp,  NULL };

static void print_help(void)
{
	printf("usage: memtop VERB ...\n"
	       "       memtop TARGET\n"
	       "       memtop\n"
	       "\n"
	       "Shows the heap of a native program while it runs.\n"
	       "\n");
	printf("  %-10s %s\n", "(none)", "choose among the processes that have an agent");
	printf("  %-10s %s\n", "TARGET", verb_live.summary);
	for (const struct verb *const *v = verbs; *v; v++)
		printf("  %-10s %s\n", (*v)->name, (*v)->summary);
	printf("\nTARGET, the same for every verb:\n  :PORT, HOST:PORT   a forwarded TCP port\n  "
	       "@NAME, unix:PATH   a local socket\n  -p PID             a local process that has "
	       "the agent\n  FILE.mtop          a session file, under any name\n\nmemtop VERB "
	       "--help explains a verb.\n\nOptions of the live view:\n");
	for (const struct option_spec *const *o = verb_live.options; *o; o++)
		args_option_help(*o, stdout);
	printf("  %-24s %s\n  %-24s %s\n  %-24s %s\n", "-h, --help", "this page", "    --keys",
	       "all keys of the live view", "    --version", "memtop's version");
}

static const struct verb *find_verb(const char *word)
{
	for (const struct verb *const *v = verbs; *v; v++)
		if (!strcmp((*v)->name, word))
			return *v;
	return NULL;
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

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	const struct verb *v = find_verb(word);
	int skip = v ? 2 : 1;
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
		printf("memtop %s\n", MEMTOP_VERSION);
		return flush_output(0);
	}
	if (!strcmp(word, "--keys")) {
		keys_print(stdout);
		return flush_output(0);
	}
	if (!v)
		v = &verb_live;
	int rc = args_parse(v, argc - skip < 0 ? 0 : argc - skip, argv + (argc ? skip : 0), &a,
			    &err);
	if (rc < 0)
		rc = args_fail(&err, STATUS_USAGE);
	else
		rc = rc > 0 ? 0 : v->run(&a);
	free(a.operands);
	return flush_output(rc);
}
