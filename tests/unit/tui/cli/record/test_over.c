/* SPDX-License-Identifier: MIT
 *
 * test_over.c - when a recording ends that no agent has answered yet. The agent is this process.
 */
#include "unit/backend/peer.h"

#include "cli/record/recording.h"

#include <memtop/wire.h>

static int listener;
static struct target target;

/* Its program ended long ago. */
static struct recording begun(void)
{
	struct watch_options o = { .wait = true };
	struct err err = { 0 };

	loop = loop_new(NULL);
	listener = peer_listen(&target);
	struct recording r = { .loop = loop,
			       .watch = watch_open(loop, &target, &o, &err),
			       .pid = 1,
			       .ended = true,
			       .ended_ns = 1 };
	CHECK(r.watch != NULL);
	return r;
}

static void leave(struct recording *r)
{
	watch_close(r->watch);
	loop_free(loop);
}

TEST(an_agent_that_waits_for_a_cpu_is_waited_for)
{
	struct recording r = begun();

	int agent = peer_accept(listener);
	peer_send(agent, MTW_MAGIC, 4); /* it runs, and has not greeted */
	CHECK_EQ(watch_peer(r.watch), (unsigned)getpid());
	CHECK(!record_over(&r));
	leave(&r);
	close(agent);
	close(listener);
}

TEST(where_nothing_listens_it_is_over)
{
	struct recording r = begun();

	close(listener);
	WAIT_FOR(watch_problem(r.watch) && !watch_peer(r.watch));
	CHECK(record_over(&r));
	leave(&r);
}
