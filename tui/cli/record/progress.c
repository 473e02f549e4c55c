/* SPDX-License-Identifier: MIT
 *
 * progress.c - the line of progress of a recording: time, heap, rate, size of the file.
 */
#include "cli/record/recording.h"

#include "base/format.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull
#define LINES_NS (10 * SECOND_NS) /* between whole lines; the first comes after a second */

static bool has_place(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb");
}

/* Never as wide as the terminal: a full line would wrap. */
static void draw(const char *text)
{
	struct winsize size;
	int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;

	fprintf(stderr, "\r%.*s\033[K", width - 1, text);
	fflush(stderr);
}

/* Of all processes. */
static void amounts(const struct recording *r, uint64_t *live, uint64_t *allocated, uint64_t *ns)
{
	struct processes_sum all = { 0 };
	const struct model *m = watch_model(r->watch);
	const struct tally *sum = &model_totals(m)->sum;

	if (r->processes)
		processes_total(r->processes, &all);
	*live = all.lines > 1 ? all.bytes.least : live_bytes(sum);
	*allocated = all.lines > 1 ? all.sum.alloc_bytes : sum->alloc_bytes;
	*ns = all.lines > 1 ? processes_time_ns(r->processes) : model_time(m);
}

static void describe(struct recording *r, char *text, size_t room)
{
	char heap[FORMAT_NUMBER], rate[FORMAT_NUMBER] = "-", size[FORMAT_NUMBER];
	struct progress *p = &r->progress;
	uint64_t seconds, live, allocated, now = now_ns();
	struct stat st;

	amounts(r, &live, &allocated, &seconds);
	seconds /= SECOND_NS;
	if (p->looked_ns && allocated >= p->allocated)
		format_bytes(rate, (uint64_t)((double)(allocated - p->allocated) /
					      ((double)(now - p->looked_ns) / 1e9)));
	snprintf(text, room, "%llu:%02llu:%02llu  heap %s  allocates %s/s  file %s",
		 (unsigned long long)seconds / 3600, (unsigned long long)seconds / 60 % 60,
		 (unsigned long long)seconds % 60, format_bytes(heap, live), rate,
		 format_bytes(size, stat(r->path, &st) ? 0 : (uint64_t)st.st_size));
	p->allocated = allocated;
	p->looked_ns = now;
}

void record_progress(struct recording *r)
{
	struct progress *p = &r->progress;
	bool lines = r->pid || !has_place(), first = lines && !p->looked_ns;
	char text[256];

	if ((lines && !p->wanted) || now_ns() < p->due_ns)
		return;
	describe(r, text, sizeof text);
	p->due_ns = p->looked_ns + (lines && !first ? LINES_NS : SECOND_NS);
	if (!lines)
		draw(text);
	else if (!first)
		warn("%s", text);
	p->drawn = !lines;
}

void record_progress_clear(struct recording *r)
{
	if (!r->progress.drawn)
		return;
	draw("");
	r->progress.drawn = false;
	r->progress.due_ns = 0;
}
