/* SPDX-License-Identifier: MIT
 *
 * instant.c - the words for the past instant that a watch shows. Main thread only.
 */
#include "link/watch_state.h"

#include "base/format.h"

static bool at_peak(const struct watch *w)
{
	const struct peak_instant *peak = model_peak(w->in.model);

	return peak && model_time(w->shown) == peak->time_ns;
}

/* mark_memory= may have had no room for the last one. */
static bool is_highest(const struct peak_instant *peak, const struct totals *t)
{
	return live_bytes(&peak->sum) + t->peak_error_bytes + t->peak_bytes / 64 >= t->peak_bytes;
}

uint64_t watch_peak_lacks(const struct watch *w)
{
	const struct peak_instant *peak = model_peak(w->in.model);
	const struct totals *t = model_totals(w->in.model);

	return at_peak(w) && is_highest(peak, t) && live_bytes(&peak->sum) < t->peak_bytes
		       ? t->peak_bytes - live_bytes(&peak->sum)
		       : 0;
}

/* Of the heap's peak: how much of it the snapshot has. */
static char *say_peak(const struct watch *w)
{
	const struct peak_instant *peak = model_peak(w->in.model);
	const struct totals *t = model_totals(w->in.model);
	char live[FORMAT_NUMBER], most[FORMAT_NUMBER], error[FORMAT_NUMBER], lacks[FORMAT_NUMBER];

	format_bytes(live, live_bytes(&peak->sum));
	format_bytes(most, t->peak_bytes);
	format_bytes(error, t->peak_error_bytes);
	format_bytes(lacks, watch_peak_lacks(w));
	if (!is_highest(peak, t))
		return xasprintf("This is the heap at an earlier peak, %.1f s after the program's "
				 "start: %s; the call paths of the highest one (%s) are not kept.",
				 (double)peak->time_ns / 1e9, live, most);
	if (!watch_peak_lacks(w))
		return xasprintf("This is the heap at its peak, %.1f s after the program's start: "
				 "%s (known to within %s).",
				 (double)peak->time_ns / 1e9, live, error);
	return xasprintf("This is the heap %s below its peak of %s (known to within %s), %.1f s "
			 "after the program's start.",
			 lacks, most, error, (double)peak->time_ns / 1e9);
}

/* No snapshot: an instant before the peak is shown. */
static char *say_before_peak(const struct model *shown, const struct totals *t)
{
	char live[FORMAT_NUMBER], most[FORMAT_NUMBER];

	format_bytes(live, live_bytes(&model_totals(shown)->sum));
	format_bytes(most, t->peak_bytes);
	return xasprintf("The call paths at the heap's peak (%s, %.1f s after the program's start) "
			 "are not in this session; this is the last state before it, with %s.",
			 most, (double)t->peak_time_ns / 1e9, live);
}

static char *say_mark(const struct watch *w, const struct mark *k)
{
	uint64_t beside = replay_beside(w->past);
	double at = (double)k->time_ns / 1e9, end = (double)model_time(w->in.model) / 1e9;

	if (!beside)
		return xasprintf("At the mark %s the live figures are exact: %.1f s after the "
				 "program's start, of %.1f s. Of threads and scans nothing is "
				 "known then.",
				 k->name, at, end);
	return xasprintf("At the mark %s the live figures are exact: %.1f s after the program's "
			 "start, of %.1f s. Threads, scans and resident memory are those of the "
			 "recorded instant at %.3f s, %.0f ms before it.",
			 k->name, at, end, (double)beside / 1e9,
			 (double)(k->time_ns - beside) / 1e6);
}

char *watch_say_instant(const struct watch *w)
{
	const struct model *now = w->in.model;
	uint32_t mark = model_kept_at(now, model_time(w->shown));

	if (mark == KEPT_PEAK)
		return say_peak(w);
	if (mark != NO_ID)
		return say_mark(w, model_mark(now, mark));
	if (!model_peak(now) && w->wanted_ns == model_totals(now)->peak_time_ns)
		return say_before_peak(w->shown, model_totals(now));
	return xasprintf("This is the state %.1f s after the program's start; the session goes on "
			 "until %.1f s.",
			 (double)model_time(w->shown) / 1e9, (double)model_time(now) / 1e9);
}
