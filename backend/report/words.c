/* SPDX-License-Identifier: MIT
 *
 * words.c - enums and numbers as words of a report.
 */
#include "report/report.h"

#include "base/sanitize.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *report_state(uint32_t state, bool known)
{
	switch (state) {
	case MTW_EXITED: return known ? "exited" : "ended";
	case MTW_EXECED: return "exited";
	case MTW_SIGNALLED: return "signalled";
	case MTW_LINK_LOST: return "link_lost";
	case MTW_CUT: return "cut";
	case MTW_DETACHED: return "detached";
	default: return "running";
	}
}

/* NULL = it has not ended, or nothing is known of how. */
static const char *end_words(uint32_t state, int status, bool known, char buf[REPORT_END])
{
	char signal[FORMAT_SIGNAL];

	if (!known || (state != MTW_EXITED && state != MTW_SIGNALLED))
		return NULL;
	if (state == MTW_EXITED)
		snprintf(buf, REPORT_END, "exited with status %d", status);
	else
		snprintf(buf, REPORT_END, "ended by %s", format_signal(status, signal));
	return buf;
}

const char *report_pid(unsigned pid, unsigned inner, char buf[REPORT_PID])
{
	if (inner)
		snprintf(buf, REPORT_PID, "%u, %u inside", pid, inner);
	else
		snprintf(buf, REPORT_PID, "%u", pid);
	return buf;
}

const char *report_stop(const struct stop *p, char buf[REPORT_STOP])
{
	char name[MTW_COMM_MAX * 4 + 1];

	buf[0] = '\0';
	if (p->why == MTW_STOP_SIGNAL)
		snprintf(buf, REPORT_STOP, " by a signal");
	else if (p->why == MTW_STOP_FROZEN)
		snprintf(buf, REPORT_STOP, ", frozen");
	else if (p->why == MTW_STOP_TRACED && p->name[0])
		snprintf(buf, REPORT_STOP, ", traced by %s [%u]",
			 sanitize_clean(name, sizeof name, p->name), p->pid);
	else if (p->why == MTW_STOP_TRACED && p->pid)
		snprintf(buf, REPORT_STOP, ", traced by [%u]", p->pid);
	else if (p->why == MTW_STOP_TRACED)
		snprintf(buf, REPORT_STOP, ", traced");
	return buf;
}

/* The last stop is described: it is the one that is fresh in memory. */
char *report_stops(const struct model *m)
{
	const struct stops *x = model_stops(m);
	const struct stop *last = x->count ? &x->list[x->count - 1] : NULL;
	uint64_t times = 0, now = model_time(m);
	char span[FORMAT_SPAN], why[REPORT_STOP], *slept = NULL, *text = NULL;

	for (size_t i = 0; i < x->count; i++)
		times += x->list[i].times;
	if (x->slept_ns)
		slept = xasprintf("%sThe machine slept for %s; no time here counts that.",
				  times ? " " : "", format_span(span, x->slept_ns));
	if (!times)
		return slept;
	format_span(span, now - model_running(m, now));
	report_stop(last, why);
	if (times == 1)
		text = xasprintf("The program was stopped%s for %s, at %.1f s; rates, growth and "
				 "the verdict leave that out.%s",
				 why, span, (double)last->begin_ns / 1e9, slept ? slept : "");
	else
		text = xasprintf("The program was stopped %llu times for %s in all, last at %.1f s "
				 "(stopped%s); rates, growth and the verdict leave that out.%s",
				 (unsigned long long)times, span, (double)last->begin_ns / 1e9, why,
				 slept ? slept : "");
	free(slept);
	return text;
}

static const char *stopped_words(const struct model *m, char buf[REPORT_END])
{
	const struct stop *p = model_stopped(m);
	uint64_t now = model_time(m);
	char why[REPORT_STOP], span[FORMAT_SPAN];

	if (!p || now < p->begin_ns)
		return NULL;
	snprintf(buf, REPORT_END, "stopped for %s%s,", format_span(span, now - p->begin_ns),
		 report_stop(p, why));
	return buf;
}

const char *report_end(const struct model *m, char buf[REPORT_END])
{
	int status;
	bool known;
	uint32_t state = model_state(m, &status, &known);

	if (end_words(state, status, known, buf))
		return buf;
	return state == MTW_LINK_LOST                          ? "link lost"
	       : state == MTW_CUT                              ? "recording cut off"
	       : state == MTW_EXITED                           ? "ended (how is not known)"
	       : state == MTW_RUNNING && stopped_words(m, buf) ? buf
							       : report_state(state, known);
}

char *report_cut_end(const struct model *m)
{
	struct program_end end = model_cut_end(m);
	char buf[REPORT_END];
	const char *words = end_words(end.state, end.status, end.known, buf);

	if (model_state(m, NULL, NULL) != MTW_CUT)
		return NULL;
	if (end.state == MTW_RUNNING)
		return xstrdup("The program's end is not known: the file ends before.");
	return xasprintf("The program %s; the file ends before its last state.",
			 words ? words : "ended, and how is not known");
}

const char *report_shape(enum shape shape)
{
	static const char *const words[] = {
		[SHAPE_STEADY] = "steady",       [SHAPE_SLOWING] = "slowing",
		[SHAPE_STEP] = "step",           [SHAPE_FLAT] = "flat",
		[SHAPE_SAWTOOTH] = "saw-tooth",  [SHAPE_YOUNG] = "too soon",
		[SHAPE_SHRINKING] = "shrinking",
	};

	return words[shape];
}

const char *report_memory(unsigned what)
{
	static const char *const words[MTW_MEMORY_COUNT] = {
		[MTW_MEMORY_LIVE] = "live blocks, resident",
		[MTW_MEMORY_ROUNDING] = "rounding to size classes",
		[MTW_MEMORY_FREE] = "allocator: free lists, its own",
		[MTW_MEMORY_FILE] = "mapped files (code, data)",
		[MTW_MEMORY_SHARED] = "shared memory",
		[MTW_MEMORY_STACK] = "thread stacks",
		[MTW_MEMORY_AGENT] = "memtop agent",
		[MTW_MEMORY_OTHER] = "other mappings of the program",
	};

	return words[what < MTW_MEMORY_COUNT ? what : MTW_MEMORY_OTHER];
}

const char *report_truncation(uint32_t reason)
{
	static const char *const words[] = {
		[MTW_TRUNC_NONE] = NULL,
		[MTW_TRUNC_NO_CFI] = "no unwind table for the code",
		[MTW_TRUNC_BAD_CFI] = "an unwind rule led to a bad place",
		[MTW_TRUNC_DEPTH] = "the depth limit",
		[MTW_TRUNC_NODES] = "the memory limit of the call tree",
		[MTW_TRUNC_REENTRY] = "allocated by a signal handler inside a capture",
		[MTW_TRUNC_SWITCHED] = "a stack without an end mark",
		[MTW_TRUNC_EARLY] = "allocated before the agent could unwind",
	};

	if (reason >= sizeof words / sizeof *words)
		return "a reason that this memtop does not know";
	return words[reason];
}

const char *report_loss(unsigned reason)
{
	static const char *const words[] = {
		[MTW_LOSS_SHADOW] = "a block could not be entered in the live map (no memory)",
		[MTW_LOSS_SLOTS] =
			("a block was booked to an earlier mark of its stack, or without "
			 "one (out of slots)"),
		[MTW_LOSS_UNKNOWN_FREE] =
			"a block was freed that was allocated before the agent came",
		[MTW_LOSS_UNSEEN_FREE] =
			"a block had been freed past the agent (healed when its address came back)",
		[MTW_LOSS_THREADS] = ("a thread beyond the limit has no number of its own: its "
				      "blocks are those of \"other threads\""),
		[MTW_LOSS_MARKS] = "a mark was reduced to its totals (mark_memory)",
	};

	return reason < sizeof words / sizeof *words ? words[reason]
						     : "a loss that this memtop does not know";
}

/* Frees of blocks from before the agent, and threads that share a number: no block is missing. */
bool report_loses(unsigned reason)
{
	return reason != MTW_LOSS_UNKNOWN_FREE && reason != MTW_LOSS_THREADS;
}

uint64_t report_lost(const struct model *m, uint64_t *bytes)
{
	uint64_t events = 0;

	*bytes = 0;
	for (unsigned i = 0; i < MTW_LOSS_COUNT; i++) {
		uint64_t e, b;

		if (!report_loses(i))
			continue;
		model_loss(m, i, &e, &b);
		events += e;
		*bytes += b;
	}
	return events;
}

static void join(char *buf, size_t size, const char *format, ...) PRINTF(3, 4);
static void join(char *buf, size_t size, const char *format, ...)
{
	size_t len = strlen(buf);
	va_list ap;

	if (len && len + 2 < size)
		len += (size_t)snprintf(buf + len, size - len, ", ");
	va_start(ap, format);
	if (len < size)
		vsnprintf(buf + len, size - len, format, ap);
	va_end(ap);
}

const char *report_filter(const struct recorded *f, bool brief, char *buf, size_t size)
{
	char n[FORMAT_NUMBER];

	buf[0] = '\0';
	if (f && f->sample)
		join(buf, size, brief ? "~1 in %s" : "samples every %s (numbers are estimates)",
		     format_bytes(n, f->sample));
	if (f && f->min_size)
		join(buf, size, brief ? ">=%s" : "blocks of %s and more",
		     format_bytes(n, f->min_size));
	if (f && f->max_size)
		join(buf, size, brief ? "<=%s" : "blocks of %s and less",
		     format_bytes(n, f->max_size));
	if (f && *f->libs)
		join(buf, size, brief ? "libs %.40s" : "owners that match %.255s", f->libs);
	if (f && *f->exclude)
		join(buf, size, brief ? "not %.40s" : "owners that do not match %.255s",
		     f->exclude);
	if (f && f->merge)
		join(buf, size, brief ? "outer %llu" : "the %llu outermost frames of each stack",
		     (unsigned long long)f->merge);
	if (!buf[0])
		snprintf(buf, size, "every block");
	return buf;
}

const char *report_range(char buf[REPORT_RANGE], const struct live_range *bytes)
{
	char least[FORMAT_NUMBER], most[FORMAT_NUMBER];
	bool one = !strcmp(format_bytes(least, bytes->least), format_bytes(most, bytes->most));

	snprintf(buf, REPORT_RANGE, "%s%s%s", least, one ? "" : " to ", one ? "" : most);
	return buf;
}

static const char *const values[VALUE_COUNT] = {
	[VALUE_LIVE] = "live",           [VALUE_BLOCKS] = "blocks",
	[VALUE_ALLOCATED] = "allocated", [VALUE_ALLOCATIONS] = "allocations",
	[VALUE_TEMPORARY] = "temporary", [VALUE_GROWTH] = "growth",
};

const char *report_value_name(enum report_value v)
{
	return values[v];
}

int report_value_by_name(const char *name, enum report_value *v, struct err *err)
{
	for (unsigned i = VALUE_DEFAULT + 1; i < VALUE_COUNT; i++) {
		if (!strcmp(values[i], name)) {
			*v = (enum report_value)i;
			return 0;
		}
	}
	return err_set(err, 2,
		       "%s: no such value; use live, blocks, allocated, allocations, temporary or "
		       "growth",
		       name);
}
