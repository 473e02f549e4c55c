/* SPDX-License-Identifier: MIT
 *
 * linger.c - the server's entries on the board for its process, and its wait for memtop after the
 * process has ended.
 *
 * The board has every process's figures but not its stacks. memtop connects to those that matter
 * while they run. A process may end before that, and only its server has the rest. So the server of
 * a process that mattered stays for up to linger_ns if no viewer was there at the end. That of the
 * program that memtop started stays longer, until memtop has come once. The process itself is gone
 * by then and waits for nothing, and its memory is given back first (target_release()). Its record
 * names the socket, because after an exec the usual name belongs to the next program.
 */
#include "server/linger.h"
#include "base/conf.h"
#include "base/prim_linux.h"
#include "collect/memory.h"
#include "server/service.h"
#include "collect/sums.h"
#include "follow/board.h"
#include "server/listen.h"

#include <linux/futex.h>
#include <memtop/wire.h>
#include <sys/syscall.h>

#define AWAITED_NS (60 * SECOND) /* for the memtop that started the program */

static struct board_figures figures(const struct sums *sums)
{
	return (struct board_figures){ sums->totals, sums->peak_bytes };
}

/* Its abstract name; "" = none. */
static const char *socket_of(const struct listening *listening)
{
	const char *name = listening->names[listening->name_at];

	return listening->fd >= 0 && !listening->port && name[0] == '@' ? name + 1 : "";
}

void linger_tell(struct server *s)
{
	struct board_figures f = figures(&s->sums);

	mt_board_tell(&f, s->target.exe,
		      s->target.exec_pending ? NULL : socket_of(&s->service->listening));
}

static unsigned end_of(const struct session_state *state, uint32_t *status)
{
	*status = state->known ? state->status : 0;
	switch (state->what) {
	case MTW_EXITED: return state->known ? BOARD_EXIT : BOARD_UNKNOWN;
	case MTW_SIGNALLED: return state->known ? BOARD_SIGNAL : BOARD_UNKNOWN;
	case MTW_EXECED: return BOARD_EXEC;
	default: return BOARD_UNKNOWN;
	}
}

/* The memtop that started the program has not come yet, whoever else has: on a busy machine it may
 * get no cpu for as long as the program waited for it. */
static bool is_awaited(const struct server *s)
{
	return mt_conf.wait_ns && mt_conf.wait_for && !atomic_load(&s->shared->xviewer_futex);
}

/* A viewer already connected gets the final state as always. A target that waits for its server's
 * end must not wait for this. */
static bool wanted(const struct server *s, bool viewers, const struct board_figures *f)
{
	return s->state.what != MTW_DETACHED && !s->thread_mode &&
	       !(s->target.announced && s->target.pid == 1) && mt_board_linger_ns() &&
	       (is_awaited(s) || (!viewers && mt_board_mattered(f)));
}

/* A target that announced its end may wait for its server's. */
static void let_target_go(struct server *s)
{
	atomic_store(&s->shared->xfinal_futex, 1);
	mt_prim_call(SYS_futex, (long)&s->shared->xfinal_futex, FUTEX_WAKE, 16, 0, 0, 0);
}

void linger_begin(struct server *s, bool viewers)
{
	struct board_figures f = figures(&s->sums);
	uint32_t status;

	s->service->lingering.is = wanted(s, viewers, &f) && listen_again(s);
	if (s->service->lingering.is) {
		s->service->lingering.until_ns =
			s->service->over_ns + (is_awaited(s) ? AWAITED_NS : mt_board_linger_ns());
		let_target_go(s);
	}
	unsigned how = end_of(&s->state, &status);
	mt_board_ended(&f, how, status, s->service->lingering.is,
		       socket_of(&s->service->listening));
}

/* A viewer that has the final state is what it waited for. */
void linger_check(struct server *s, uint64_t now)
{
	bool taken = s->last_taken && !is_awaited(s);

	if (!s->service->lingering.is ||
	    (!taken && now < s->service->lingering.until_ns && mt_board_linger_ns()))
		return;
	s->service->lingering.is = false;
	listen_close(&s->service->listening, true);
	mt_board_lingered();
}
