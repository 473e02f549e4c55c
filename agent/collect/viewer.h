/* SPDX-License-Identifier: MIT
 *
 * viewer.h - one connection: its buffers, and how far it was served.
 *
 * All of it belongs to the server's only thread. Progress is kept as passes (change numbers, see
 * collect/server.h) and bitmaps, never as queued data, so a slow viewer costs no more memory.
 */
#ifndef MT_COLLECT_VIEWER_H
#define MT_COLLECT_VIEWER_H

#include "base/arena.h"
#include "base/types.h"
#include "collect/cohorts.h"
#include "collect/peak_snapshot.h"
#include "collect/scan_requests.h"
#include "collect/slot_snapshots.h"
#include <memtop/wire.h>

#define WATCHING_MAX 16 /* clients at a time that stay, and with commands: */
#define VIEWERS_MAX (WATCHING_MAX + 8)
#define OUT_BYTES (256u << 10) /* encoded and not yet written, per viewer */
#define IN_BYTES (MTW_CLIENT_FRAME_MAX + 32u)

enum viewer_state { VIEWER_FREE, VIEWER_OPEN, VIEWER_CLOSING };

struct viewer {
	enum viewer_state state;
	int fd, index;
	bool tcp;          /* the token was proved; else credentials were checked */
	bool command;      /* it asks for one thing and leaves; or a dump */
	bool prompt;       /* it acknowledges within a second */
	bool by_cpu;       /* its ticks are due by the target's cpu time */
	uint32_t unread_s; /* seconds without the acknowledgement that was due */
	uint64_t since_ns; /* let in, or last progress when closing */
	char who[MTW_NAME_MAX + 1];
	uint64_t tick_ns;
	uint64_t tick_at_ns,
		tick_cpu_ns; /* by_cpu: when, and at what cpu time, the last one was due */

	uint8_t *map; /* everything below that is an array lies in it */
	size_t map_bytes;
	uint8_t *in, *out;
	size_t in_len, out_at, out_len; /* out: out_len bytes from out_at wait to be written */
	struct scan_request scan[MTW_KIND_COUNT];
	uint64_t produced, written, acked; /* bytes since the greeting, or PROOF */
	/* the window grows when `probe` is acknowledged quickly */
	uint64_t window, probe, probe_ns;

	/* served so far */
	bool hello, history, complete, final;
	uint32_t last_scans; /* number of server.last that were sent */
	struct cohorts_at last_cohorts;
	bool wants; /* some data did not fit */
	bool quiet; /* little was under way when this pump began */
	uint32_t seq, state_serial, option_serial, filters_sent, notice_serial, process_pass;
	uint64_t effort_allocations;
	uint64_t memory_of[PART_COUNT]; /* as sent last */
	uint32_t module_pass, module_begun, module_count, module_at;
	uint32_t thread_pass, thread_begun, thread_at;
	uint64_t loss[MTW_LOSS_COUNT][2];
	uint32_t *mark_sent; /* [MTW_MARKS_MAX] serial of the change that was sent */
	uint32_t *mark_live; /* [MTW_MARKS_MAX] 1 + live_version that was sent whole */
	struct snapshot_at mark_at, sample_at;
	struct peak_at peak_at;
	uint32_t samples_sent; /* 1 + the number of the list that was sent */
	uint32_t stops_sent;   /* number of that list; 0: empty */

	uint64_t *slot_known, *node_known; /* bitmaps */
	uint32_t *clean;                   /* [GROUPS] pass up to which a group was served */
	uint32_t sweep, sweep_left;        /* next group, groups left of this round */
	uint32_t swept;                    /* pass of the last whole round with nothing left */
	uint32_t *list;                    /* first state: slots, heaviest first; NULL = done */
	size_t list_bytes;
	/* ids from list_limit on are the sweep's */
	uint32_t list_count, list_at, list_before, list_limit;
	uint64_t slots_sent;
	int64_t live_sent;
};

#endif
