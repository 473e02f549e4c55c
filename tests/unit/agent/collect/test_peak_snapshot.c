/* SPDX-License-Identifier: MIT
 *
 * test_peak_snapshot.c - viewers are served while the snapshot of the peak is taken, and what they
 * or the target's end do meanwhile leaves a whole one.
 */
#include "base/state.h"
#include "check.h"
#include "collect/memory.h"
#include "collect/peak_snapshot.h"
#include "collect/server.h"
#include "record/peak.h"
#include "record/slots.h"
#include "record/slots_fast.h"
#include "record/thread.h"
#include "unwind/stacks.h"

#include <signal.h>
#include <sys/time.h>

#define SLOTS 400000u
#define BYTES 100u

static unsigned pauses;
static bool ends, turns;

/* A walk looks at the clock now and then: for it, seconds pass. */
static void hurry(int number)
{
	(void)number;
	mt_start_ns -= SECOND;
}

static void set_hurry(unsigned us)
{
	struct itimerval every = { { 0, us }, { 0, us } };

	signal(SIGALRM, hurry);
	setitimer(ITIMER_REAL, &every, NULL);
}

/* All blocks of a slot are replaced by a little more: a new peak, where none is held back. */
static void turn_over(void)
{
	struct thread *t = mt_thread_self();
	slot_id s = SLOT_ROOT + 1;

	for (unsigned i = 0; i < 10000; i++) {
		mt_slots_alloc(t, s, BYTES);
		mt_slots_free(t, s, BYTES);
	}
	mt_slots_alloc(t, s, BYTES);
}

/* As the server's loop does: a tick in the middle of the walk, or the end. */
static void pause_once(struct server *s)
{
	pauses++;
	if (s->over)
		return;
	if (turns)
		turn_over();
	s->over = ends;
	peak_snapshot_tick(s);
}

static struct server *make(void)
{
	struct server *s = calloc(1, sizeof(*s));
	struct thread *t = mt_thread_self();

	memory_forget(); /* those of this program's own server did not come along the fork */
	CHECK(sums_init(&s->sums) && peak_snapshot_init(s));
	s->serve_meanwhile = pause_once;
	s->viewer[0].state = VIEWER_OPEN;
	for (unsigned i = 0; i < SLOTS; i++)
		mt_slots_alloc(
			t,
			mt_slots_of(mt_stacks_child(0, mt_stacks_code(0x1000 + i, MTW_NODE_NOWHERE),
						    NEED_WHOLE)),
			BYTES);
	mt_peak_begin((int64_t)SLOTS * BYTES);
	sums_pass(s, true);
	return s;
}

static void check_whole(const struct server *s)
{
	CHECK(s->peak.whole && !s->peak.walking);
	CHECK_EQ(s->peak.serial, 1);
	CHECK(s->peak.then.alloc_blocks >= SLOTS && s->peak.then.alloc_bytes >= SLOTS * BYTES);
	CHECK_EQ(s->peak.then.alloc_bytes, s->sums.totals.alloc_bytes);
}

TEST(viewers_are_served_meanwhile)
{
	struct server *s = make();

	ends = false;
	set_hurry(200);
	peak_snapshot_tick(s);
	set_hurry(0);
	CHECK(pauses > 0);
	check_whole(s);
	uint32_t walks = s->peak.walk;
	CHECK_EQ(walks, 1); /* the ticks in between have begun none */
	CHECK(peak_snapshot_take(s) && s->peak.walk == walks);
}

TEST(the_target_ends_meanwhile)
{
	struct server *s = make();

	ends = true;
	set_hurry(200);
	peak_snapshot_tick(s);
	set_hurry(0);
	CHECK(pauses > 0);
	check_whole(s);
	CHECK_EQ(s->peak.walk, 2); /* that of the end broke the first one off */
}

/* A new peak begins in the middle of each walk, until one is held back. */
TEST(the_heap_turns_over_meanwhile)
{
	struct server *s = make();
	unsigned tries = 0;

	turns = true;
	set_hurry(200);
	for (; !s->peak.whole && tries < 10; tries++) {
		s->peak.next_ns = 0;
		peak_snapshot_before_pass(s);
		sums_pass(s, false);
		peak_snapshot_tick(s);
	}
	set_hurry(0);
	CHECK(s->peak.whole && tries > 1 && tries < 10);
}
