/* SPDX-License-Identifier: MIT
 *
 * settle.c - see link/settle.h.
 *
 * Recorded instants lie a tick apart, and a mark between two of them. The agent kept each slot's
 * live blocks at the mark. The difference to the instant before goes in as events, as if the agent
 * had sent them at the mark: a slot that holds more allocated at least that, one that holds less
 * freed at least that. So every sum, owner and call site follows, and no figure shrinks.
 */
#include "link/settle.h"

#include "model/paths/event.h"

#include <stdlib.h>

struct settling {
	struct model *shown;
	struct live *at; /* by slot id, at the mark */
	uint32_t slots;
	struct tally more; /* what the instant lacks */
	struct err *err;
};

static void keep_live(void *arg, uint32_t slot, const struct change *c)
{
	struct settling *x = arg;

	if (slot < x->slots)
		x->at[slot] = (struct live){ c->born_blocks, c->born_bytes };
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static int settle_slot(struct settling *x, uint32_t id)
{
	const struct slot *s = model_slot(x->shown, id);

	if (!s || !s->known)
		return 0;
	uint64_t blocks = live_blocks(&s->now), bytes = live_bytes(&s->now);
	struct tally more = { above(x->at[id].blocks, blocks), above(x->at[id].bytes, bytes),
			      above(blocks, x->at[id].blocks), above(bytes, x->at[id].bytes) };
	struct event e = { .type = MTW_COUNTS, .u.counts = { id, s->now } };

	if (!(more.alloc_blocks | more.alloc_bytes | more.free_blocks | more.free_bytes))
		return 0;
	tally_add(&x->more, &more);
	tally_add(&e.u.counts.now, &more);
	return model_apply(x->shown, &e, x->err);
}

static int put_totals(struct settling *x, const struct mark *k)
{
	struct event e = { .type = MTW_TOTALS, .u.totals = *model_totals(x->shown) };
	struct totals *t = &e.u.totals;

	tally_add(&t->sum, &x->more);
	if (live_bytes(&t->sum) > t->peak_bytes) {
		t->peak_bytes = live_bytes(&t->sum);
		t->peak_time_ns = k->time_ns;
	}
	return model_apply(x->shown, &e, x->err);
}

/* Whole when it returns, however much changed. */
static int put_tick(struct settling *x, const struct mark *k)
{
	uint64_t now = model_time(x->shown);
	struct event e = { .type = MTW_TICK,
			   .u.tick = { .time_ns = k->time_ns > now ? k->time_ns : now,
				       .flags = MTW_TICK_COMPLETE } };

	if (model_apply(x->shown, &e, x->err))
		return -1;
	return 0;
}

static void note(struct watch *w, const struct mark *k, uint64_t instant_ns)
{
	bool after = instant_ns > k->time_ns;
	char *text =
		xasprintf("At the mark %s the live figures are exact. %s, threads and "
			  "resident memory are those of the %s instant at %.3f s, %.0f ms "
			  "%s it.",
			  k->name, after ? "Allocated" : "Allocated, freed",
			  after ? "present" : "recorded", (double)instant_ns / 1e9,
			  (double)(after ? instant_ns - k->time_ns : k->time_ns - instant_ns) / 1e6,
			  after ? "after" : "before");

	watch_note(w, text);
	free(text);
}

int settle_at_mark(struct watch *w, uint32_t mark, struct err *err)
{
	const struct model *now = watch_now(w);
	const struct mark *k = model_mark(now, mark);
	struct settling x = { .shown = watch_model(w), .err = err };
	uint64_t instant = model_time(x.shown);
	int rc = -1;

	x.slots = model_slot_count(x.shown);
	x.at = xcalloc(x.slots + 1u, sizeof *x.at);
	if (model_between(now, 0, mark, keep_live, &x)) {
		err_set(err, 2,
			"%s: this mark kept only its totals, not its stacks; name an instant "
			"instead, or raise mark_memory=",
			k->name);
		goto out;
	}
	for (uint32_t id = 0; id < x.slots; id++)
		if (settle_slot(&x, id))
			goto out;
	if ((x.shown != now && model_recall_marks(x.shown, now, k->time_ns, err)) ||
	    put_totals(&x, k) || put_tick(&x, k))
		goto out;
	note(w, k, instant);
	rc = 0;
out:
	free(x.at);
	return rc;
}
