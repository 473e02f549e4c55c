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

#define PROGRESS_NS 1000000000ull

static bool has_place(const struct recording *r)
{
	const char *term = getenv("TERM");

	return !r->pid && isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb");
}

/* Never as wide as the terminal: a full line would wrap. */
static void draw(const char *text)
{
	struct winsize size;
	int width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;

	fprintf(stderr, "\r%.*s\033[K", width - 1, text);
	fflush(stderr);
}

void record_progress(struct recording *r)
{
	const struct model *m = watch_model(r->watch);
	const struct tally *sum = &model_totals(m)->sum;
	char text[256], heap[FORMAT_NUMBER], rate[FORMAT_NUMBER], size[FORMAT_NUMBER];
	uint64_t now = now_ns(), since = now - r->progress_ns,
		 seconds = model_time(m) / PROGRESS_NS;
	struct stat st;

	if (!has_place(r) || (r->progress_ns && since < PROGRESS_NS))
		return;
	double passed = r->progress_ns ? (double)since / 1e9 : 0;
	uint64_t bytes = sum->alloc_bytes - r->progress_bytes;

	snprintf(text, sizeof text, "%llu:%02llu:%02llu  heap %s  allocates %s/s  file %s",
		 (unsigned long long)seconds / 3600, (unsigned long long)seconds / 60 % 60,
		 (unsigned long long)seconds % 60, format_bytes(heap, live_bytes(sum)),
		 passed > 0 ? format_bytes(rate, (uint64_t)((double)bytes / passed)) : "-",
		 format_bytes(size, stat(r->path, &st) ? 0 : (uint64_t)st.st_size));
	draw(text);
	r->progress_ns = now;
	r->progress_bytes = sum->alloc_bytes;
}

void record_progress_clear(struct recording *r)
{
	if (r->progress_ns)
		draw("");
	r->progress_ns = 0;
}
