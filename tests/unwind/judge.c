/* SPDX-License-Identifier: MIT
 *
 * judge.c - checks the agent in a real program: it compares the stack of every 97th block of each
 * thread with libunwind's unw_step. Most stacks are remembered ones; so it also compares every 7th
 * that had to be walked.
 *
 * It is the installed agent, except that its hooks end with mt_judge() (judged.c). The stack is
 * read from the live map, so the check covers every step from the registers to the entry:
 * remembered stacks, new walks, trie, slots. A truncated stack counts as a difference too. At the
 * end it appends a line to the file $JUDGE_LOG.
 */
#include "lists.h"
#include "base/self.h"
#include "base/types.h"
#include "live/live.h"
#include "record/slots.h"
#include "unwind/cache.h"
#include "unwind/unwind.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define EACH 97
#define EACH_WALKED 7
#define PRINTED 10

void *mt_judge(struct thread *t, void *p, uint64_t passes, uintptr_t pc, uintptr_t sp,
	       uintptr_t fp);

static _Atomic long stacks, remembered, frames, threads, differences;
static FILE *trouble; /* NULL until something differs */
static MT_TLS unsigned events, walks;
static MT_TLS bool told, judging; /* libunwind, or what prints, allocates */

static void differ(const char *what, unsigned reason, const struct list *judged,
		   const struct list *mine)
{
	const char *path = getenv("JUDGE_LOG");

	if (atomic_fetch_add(&differences, 1) >= PRINTED || !path)
		return;
	if (!trouble)
		trouble = fopen(path, "ae");
	if (!trouble)
		return;
	fprintf(trouble, "difference: %s (truncation %u)\n", what, reason);
	list_print(trouble, "libunwind", judged);
	list_print(trouble, "memtop", mine);
	fflush(trouble);
}

/* The agent's frames are no part of the program's stack: setenv() is its, and libc's, below, asks
 * for blocks. */
static void leave_out_agent(struct list *l)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden"))),
		_end[] __attribute__((visibility("hidden")));
	int n = 0;

	for (int i = 0; i < l->n; i++) {
		if (l->pc[i] >= (uintptr_t)__ehdr_start && l->pc[i] < (uintptr_t)_end)
			continue;
		l->exact[n] = l->exact[i];
		l->pc[n++] = l->pc[i];
	}
	l->n = n;
}

static __attribute__((noinline)) void judge(void *p, bool fresh, const struct regs *r)
{
	struct list judged, mine = { .n = 0 };
	struct block b;
	unsigned reason = 0;
	const char *what = "remembered";

	list_judge(r, 0, &judged);
	leave_out_agent(&judged);
	if (mt_live_peek(p, &b))
		reason = list_path(mt_slots_at(b.slot)->node, &mine);
	else
		what = "no such block";
	if (fresh)
		what = "walked";
	atomic_fetch_add(&stacks, 1);
	atomic_fetch_add(&remembered, !fresh);
	atomic_fetch_add(&frames, judged.n);
	if (reason || !judged.n || !list_equal(&judged, &mine, false))
		differ(what, reason, &judged, &mine);
}

void *mt_judge(struct thread *t, void *p, uint64_t passes, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	struct regs r = { pc, sp, fp };

	(void)t;
	if (judging)
		return p;
	bool due = !(++events % EACH);
	if (passes && !(++walks % EACH_WALKED))
		due = true;
	if (!due)
		return p;
	if (!told) {
		told = true;
		atomic_fetch_add(&threads, 1);
	}
	judging = true;
	judge(p, passes != 0, &r);
	judging = false;
	return p;
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("JUDGE_LOG");
	char line[256];
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
	int n = snprintf(line, sizeof(line),
			 "stacks %ld remembered %ld frames %ld threads %ld differences %ld\n",
			 atomic_load(&stacks), atomic_load(&remembered), atomic_load(&frames),
			 atomic_load(&threads), atomic_load(&differences));

	if (fd < 0 || write(fd, line, (size_t)n) != n)
		perror("judge");
	if (fd >= 0)
		close(fd);
}
