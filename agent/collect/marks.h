/* SPDX-License-Identifier: MIT
 *
 * marks.h - epochs, and what was live at their marks. Server thread.
 */
#ifndef MT_COLLECT_MARKS_H
#define MT_COLLECT_MARKS_H

#include "base/types.h"
#include "collect/slot_snapshots.h"

#include <memtop/wire.h>

#pragma GCC visibility push(hidden)

struct server;
struct viewer;

struct mark {
	uint32_t id;      /* 0 = unused */
	uint32_t flags;   /* MTW_MARK_* */
	uint32_t changed; /* serial of the last change, for viewers */
	uint64_t epoch, time_ns, rss_bytes;
	struct tally then; /* of slots with epoch <= this one */
	struct snapshot kept;
	char name[MTW_NAME_MAX + 1], set_by[MTW_NAME_MAX + 1];
};

struct marks {
	struct mark *mark; /* [MTW_MARKS_MAX], by id */
	uint32_t last, serial;
	size_t bytes; /* mapped by all marks' snapshots */
};

bool marks_init(struct marks *marks);
/* 0: there is no room for another mark */
uint32_t marks_set(struct server *s, const char *name, const char *who, uint64_t epoch);
bool marks_drop(struct marks *marks, uint32_t id);
bool marks_rename(struct server *s, uint32_t id, const char *name);
void marks_requests(struct server *s); /* makes the marks that the program's threads request */
bool marks_send(struct server *s, struct viewer *v); /* MARK_LIVE; true = nothing is left */

#pragma GCC visibility pop

#endif
