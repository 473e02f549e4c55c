/* SPDX-License-Identifier: MIT
 *
 * viewer.h - one connection: its buffers, and how far it was served.
 *
 * All of it belongs to the server's only thread. What was served is kept as passes (change numbers,
 * see collect/server.h) and bitmaps, never as queued data: a viewer that is slow costs nothing but
 * these.
 */
#ifndef MT_VIEWER_H
#define MT_VIEWER_H

#include "base/agent.h"
#include "collect/cohorts.h"
#include "memtop/wire.h"

#define VIEWERS_MAX 16
#define OUT_BYTES (256u << 10) /* encoded and not yet written, per viewer */
#define IN_BYTES (MTW_CLIENT_FRAME_MAX + 32u)

struct server;

enum viewer_state { VIEWER_FREE, VIEWER_OPEN, VIEWER_CLOSING };

struct scan_request { /* that waits for its turn: collect/scan.c */
	bool waits;
	uint64_t request;
	uint64_t *slots; /* bitmap, NULL = all */
};

struct snapshot_at { /* how far one is sent: collect/slot_snapshots.c */
	uint32_t id, version, slot;
	size_t offset;
	bool whole;
};

struct viewer {
	enum viewer_state state;
	int fd, index;
	bool tcp;          /* the token was proved; else credentials were checked */
	uint64_t since_ns; /* let in, or last progress when closing */
	char who[MTW_NAME_MAX + 1];
	uint64_t tick_ns;

	uint8_t *map; /* everything below that is an array lies in it */
	size_t map_bytes;
	uint8_t *in, *out;
	size_t in_len, out_at, out_len; /* out: out_len bytes from out_at wait to be written */
	struct scan_request scan[MTW_KIND_COUNT];
	uint64_t produced, written, acked; /* bytes since the greeting, or PROOF */
	uint64_t window, probe, probe_ns;  /* window grows when `probe` is acknowledged soon */

	/* served so far */
	bool hello, history, complete, final;
	uint32_t last_scans; /* so many of server.last are sent */
	struct cohorts_at last_cohorts;
	bool wants; /* something is left that did not fit */
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
	uint32_t samples_sent; /* 1 + the number of the list that was sent */

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

/* A place; HELLO is next. NULL: *why, and fd stays the caller's. */
struct viewer *viewer_enter(struct server *s, int fd, const char **why);
/* Takes what came behind its CLIENT frame: less than IN_BYTES. */
void viewer_hear(struct server *s, struct viewer *v, const void *bytes, size_t len);
void viewer_read(struct server *s, struct viewer *v);
void viewer_write(struct server *s, struct viewer *v);
void viewer_close(struct server *s, struct viewer *v);
void viewer_error(struct server *s, struct viewer *v, unsigned code, const char *text);
void viewer_frame(struct viewer *v, unsigned type, const void *payload, size_t len);
size_t viewer_room(const struct viewer *v);  /* bytes that may be produced now */
size_t viewer_space(const struct viewer *v); /* ... that fit, whatever the window says */

#endif
