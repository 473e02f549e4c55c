/* SPDX-License-Identifier: MIT
 *
 * line.c - one line of a process tree: its figures, and how these grow.
 */
#include "processes/line.h"

#include <stdlib.h>

#define SILENT_NS 3000000000ull /* without figures: its agent does not run */
#define GROWTH_FROM 4           /* samples: less than three seconds cannot predict a minute */
#define GROWTH_LEAST_NS 3000000000ull
#define MINUTE_NS 60000000000ull
#define WINDOW 10u /* samples: as model_window() */

bool line_runs(const struct line *l)
{
	return l->p.state == PROCESS_STARTING || l->p.state == PROCESS_RUNNING ||
	       (l->p.state == PROCESS_UNFOLLOWED && !l->p.end_ns);
}

void line_say(char **slot, const char *text)
{
	char *copy = text && *text ? xstrdup(text) : NULL;

	free(*slot);
	*slot = copy;
}

void line_free(struct line *l)
{
	if (!l)
		return;
	free(l->path);
	free(l->title);
	free(l->why);
	free(l->socket);
	free(l->samples);
	for (size_t i = 0; i < l->mark_count; i++)
		free(l->marks_due[i].name);
	free(l->marks_due);
	free(l);
}

void line_title(struct line *l, const char *title)
{
	line_say(&l->title, title);
	l->p.title = l->title ? l->title : "";
}

void line_stream(struct line *l, uint32_t stream)
{
	l->stream = stream;
	l->p.recorded = stream != STREAM_NONE;
}

void line_figures(struct line *l, const struct tally *sum, uint64_t peak_bytes)
{
	struct tally t = *sum;

	/* What a process wrote of itself: more freed than allocated would be a live of 2^64. */
	if (t.free_bytes > t.alloc_bytes)
		t.free_bytes = t.alloc_bytes;
	if (t.free_blocks > t.alloc_blocks)
		t.free_blocks = t.alloc_blocks;
	l->p.sum = t;
	l->p.live_bytes = live_bytes(&t);
	l->p.live_blocks = live_blocks(&t);
	l->p.peak_bytes = peak_bytes > l->p.live_bytes ? peak_bytes : l->p.live_bytes;
}

static void add_sample(struct line *l)
{
	if (!l->samples)
		l->samples = xcalloc(SAMPLES, sizeof *l->samples);
	l->sample_at = (l->sample_at + 1) % SAMPLES;
	l->samples[l->sample_at] =
		(struct growth_sample){ l->ran_ns, l->p.live_bytes, l->p.sum.alloc_bytes };
	if (l->sample_count < SAMPLES)
		l->sample_count++;
}

static const struct growth_sample *sample_before(const struct line *l, unsigned steps)
{
	return &l->samples[(l->sample_at + SAMPLES - steps) % SAMPLES];
}

/* Its own server is silent when both are frozen (docker pause). */
static bool stands(const struct line *l, uint64_t now)
{
	if (l->p.watch)
		return l->p.stopped || watch_silent_ns(l->p.watch);
	return l->p.stopped || (l->stamp_ns && now > l->stamp_ns + SILENT_NS);
}

/* Each second, for a line with known figures: a relative's come with its watch. */
void line_measure(struct line *l, uint64_t now)
{
	if (!l->stamp_ns && !l->p.exact)
		return;
	uint64_t passed = l->measured_ns ? now - l->measured_ns : 0;
	l->measured_ns = now;
	if (stands(l, now))
		return;
	l->ran_ns += passed;
	add_sample(l);
	if (l->sample_count < 2)
		return;
	unsigned steps = l->sample_count - 1;
	const struct growth_sample *oldest = sample_before(l, steps),
				   *begin = sample_before(l, steps < WINDOW ? steps : WINDOW);
	double window = (double)(l->ran_ns - begin->ns) / 1e9,
	       all = (double)(l->ran_ns - oldest->ns) / 1e9;

	l->p.rate_known = true;
	if (window > 0 && !l->p.watch)
		l->p.rate = l->p.sum.alloc_bytes > begin->allocated
				    ? (double)(l->p.sum.alloc_bytes - begin->allocated) / window
				    : 0;
	l->p.growth_known = l->sample_count >= GROWTH_FROM && all > 0;
	if (l->p.growth_known)
		l->p.growth = ((double)l->p.live_bytes - (double)oldest->live) / all * 60;
}

void line_measured(struct process *p, const struct model *m)
{
	const struct point *points;
	size_t n = model_history(m, &points), first = n;
	uint64_t end = n ? model_running(m, points[n - 1].time_ns) : 0, since = end;

	while (first && end - since < MINUTE_NS)
		since = model_running(m, points[--first].time_ns);
	p->rate_known = n > 1;
	p->rate = p->rate_known ? model_rates(m).alloc_bytes : 0;
	p->growth_known = end - since >= GROWTH_LEAST_NS;
	p->growth =
		p->growth_known
			? ((double)points[n - 1].live_bytes - (double)points[first].live_bytes) /
				  (double)(end - since) * MINUTE_NS
			: 0;
}

void line_rest(struct line *l)
{
	free(l->samples);
	l->samples = NULL;
	l->sample_count = 0;
	l->p.rate = l->p.growth = 0;
	l->p.rate_known = l->p.growth_known = false;
}
