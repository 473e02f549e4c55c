/* SPDX-License-Identifier: MIT
 *
 * peak.c - the counters at the heap's peak, by slot.
 *
 * The agent sends what differs from the last peak that it sent whole. The parts of one wait until
 * the last has come, so that the peak which is known stays whole. A peak is later than the one
 * before, so its counters never shrink, and they add up to its own totals.
 */
#include "model/history/history.h"

#include <stdlib.h>
#include <string.h>

static bool shrinks(const struct tally *was, const struct tally *is)
{
	return is->alloc_blocks < was->alloc_blocks || is->alloc_bytes < was->alloc_bytes ||
	       is->free_blocks < was->free_blocks || is->free_bytes < was->free_bytes;
}

struct tally peak_of_slot(const struct peak *x, uint32_t index)
{
	return index < x->room ? x->then[index] : (struct tally){ 0 };
}

static int make_room(struct peak *x, struct quota *q, const struct trie *t, struct err *err)
{
	size_t had = x->room, more = t->slot_count > had ? t->slot_count - had + had / 2 : 0;

	if (!more)
		return 0;
	if (quota_take(q, more * sizeof *x->then, err))
		return -1;
	x->room += more;
	x->then = xrealloc(x->then, x->room * sizeof *x->then);
	memset(x->then + had, 0, more * sizeof *x->then);
	return 0;
}

/* The next one comes whole: over a new link. */
static void forget(struct peak *x, struct quota *q)
{
	q->bytes -= x->room * sizeof *x->then + x->coming_room * sizeof *x->coming;
	peak_clear(x);
}

static void release_coming(struct peak *x, struct quota *q)
{
	q->bytes -= x->coming_room * sizeof *x->coming;
	free(x->coming);
	x->coming = NULL;
	x->coming_count = x->coming_room = 0;
}

/* The parts are here. */
static int arrive(struct peak *x, struct quota *q, const struct trie *t, const struct event *e,
		  struct err *err)
{
	struct tally sum = x->whole ? x->at.sum : (struct tally){ 0 };
	const struct tally *say = &e->u.peak.sum;

	if (make_room(x, q, t, err))
		return -1;
	for (size_t i = 0; i < x->coming_count; i++) {
		struct tally *was = &x->then[x->coming[i].slot];
		struct tally more = tally_sub(&x->coming[i].then, was);
		tally_add(&sum, &more);
		*was = x->coming[i].then;
	}
	release_coming(x, q);
	if (memcmp(&sum, say, sizeof sum)) {
		forget(x, q);
		return err_set(err, 3,
			       "stream: the counters at the peak are not its totals; connect "
			       "again");
	}
	x->whole = true;
	x->at = (struct peak_instant){ e->u.peak.time_ns, sum };
	return 0;
}

static int take_cell(struct peak *x, struct quota *q, const struct trie *t, const struct event *e,
		     struct err *err)
{
	uint32_t index = idmap_get(&t->slot_ids, e->u.peak.slot);
	const struct tally *is = &e->u.peak.then;

	if (index == NO_ID)
		return err_set(err, 3,
			       "stream: the peak names slot %u, which was never named; connect "
			       "again",
			       e->u.peak.slot);
	struct tally was = peak_of_slot(x, index);
	if (shrinks(&was, is) || is->free_blocks > is->alloc_blocks ||
	    is->free_bytes > is->alloc_bytes)
		return err_set(err, 3,
			       "stream: the counters of slot %u at the peak shrink; connect again",
			       e->u.peak.slot);
	if (x->coming_count == x->coming_room) {
		size_t had = x->coming_room;
		GROW(x->coming, x->coming_room, x->coming_count + 1);
		if (quota_take(q, (x->coming_room - had) * sizeof *x->coming, err))
			return -1;
	}
	x->coming[x->coming_count++] = (struct peak_cell){ index, *is };
	return 0;
}

int peak_apply(struct peak *x, struct quota *q, const struct trie *t, const struct event *e,
	       struct err *err)
{
	if (e->u.peak.flags & MTW_PART_FIRST) {
		x->serial = e->u.peak.serial;
		x->coming_count = 0;
	}
	if (e->u.peak.serial != x->serial) /* its first part was not seen */
		return 0;
	if (e->u.peak.slot && take_cell(x, q, t, e, err))
		return -1;
	return e->u.peak.flags & MTW_PART_LAST ? arrive(x, q, t, e, err) : 0;
}

bool peak_adds_up(const struct peak *x)
{
	struct tally sum = { 0 };

	for (size_t i = 0; i < x->room; i++)
		tally_add(&sum, &x->then[i]);
	return !x->whole || !memcmp(&sum, &x->at.sum, sizeof sum);
}

void peak_clear(struct peak *x)
{
	free(x->then);
	free(x->coming);
	*x = (struct peak){ 0 };
}
