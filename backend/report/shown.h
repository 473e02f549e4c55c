/* SPDX-License-Identifier: MIT
 *
 * shown.h - the stacks that a format for other tools writes, and the names of their frames. Main
 * thread only.
 *
 * Without a change: every stack, with its sums. Of a change: the stacks that changed.
 */
#ifndef REPORT_SHOWN_H
#define REPORT_SHOWN_H

#include "base/map.h"
#include "base/string_pool.h"
#include "report/frames.h"

struct shown_frame {
	uint32_t name;     /* number of its label */
	uint32_t location; /* the model's; NO_ID: stands for the missing rest */
	bool inlined;      /* into the frame that follows (outer) */
	bool site;         /* the call site */
	const char *file;  /* NULL = unknown */
	uint32_t line;
};

struct shown {
	struct report *report;
	struct report_stack *changed; /* of a change; owned */
	size_t count;
	bool changes;               /* net figures count */
	struct shown_frame *frames; /* REPORT_FRAMES: the last asked stack */
	struct report_frame *walked;
	struct string_pool texts;
	struct map numbers; /* label's address to its number */
	const char **labels;
	size_t label_count, label_room;
	uint32_t *label_of; /* by function of the report's names, + 1; 0 = none yet */
};

/* -1 and *err: the change cannot be told. */
int shown_open(struct shown *x, struct watch *w, const struct report_options *o, struct err *err);
/* Goes on with another process. The labels and their numbers stay. */
int shown_next(struct shown *x, struct watch *w, const struct report_options *o, struct err *err);
void shown_close(struct shown *x);

/* The stacks, in the report's order: i < count. */
static inline struct report_stack shown_stack(const struct shown *x, size_t i)
{
	return x->changes ? x->changed[i] : report_stack(x->report, x->report->order[i]);
}
/*
 * A stack's frames, innermost first, in x->frames; the last one of a cut stack is named "[cut:
 * REASON]". Frames of one function and file have one name, whatever their pc.
 */
size_t shown_frames(struct shown *x, uint32_t stack);
/* By frame of the report's names: its label; and room for one more. free() it. */
uint32_t *shown_names(struct shown *x);
/* A label's number, as in shown_frame.name; foreign text, which is cleaned and copied. */
uint32_t shown_label(struct shown *x, const char *text);

/* Live bytes; of a change, what it grew by. */
static inline int64_t shown_bytes(const struct shown *x, const struct report_stack *s)
{
	return x->changes ? (int64_t)(s->change.born_bytes - s->change.gone_bytes)
			  : (int64_t)live_bytes(&s->sum);
}
static inline int64_t shown_blocks(const struct shown *x, const struct report_stack *s)
{
	return x->changes ? (int64_t)(s->change.born_blocks - s->change.gone_blocks)
			  : (int64_t)live_blocks(&s->sum);
}

/* "memory of NAME [PID] at 12.3 s", "growth of NAME [PID] from m1 to now"; free() it. */
char *shown_title(const struct shown *x, const struct report_options *o);

#endif
