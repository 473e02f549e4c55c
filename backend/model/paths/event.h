/* SPDX-License-Identifier: MIT
 *
 * event.h - one frame of the wire, decoded: wire/decode.c makes it and model_apply() takes it.
 * Strings are borrowed from the payload and are not NUL-terminated (see len).
 */
#ifndef MODEL_PATHS_EVENT_H
#define MODEL_PATHS_EVENT_H

#include "model/paths/types.h"

struct text {
	const char *s;
	size_t len;
};
/* a copy for the caller */
static inline char *text_own(struct text t)
{
	return xstrndup(t.s, t.len);
}

/* clang-format off */
/* what: enum mtw_memory, or a later version's */
struct rss_read { uint64_t what, bytes, mappings; struct text name; };

struct event {
	uint32_t type;               /* enum mtw_type */
	union {
		struct { uint64_t version, features, pid, uid, start_unix_ns, now_ns, tick_ns;
			 uint64_t word_bits; struct text arch, exe, agent_version, options;
			 struct text args[MTW_ARGS_MAX]; size_t arg_count;
			 bool forked, inherits_apart; struct tally before;
			 uint64_t first_epoch; } hello;
		struct { uint64_t code; struct text text; } error;
		struct totals totals;
		struct { uint64_t seq, time_ns; uint32_t flags; } tick;
		struct { uint32_t state; uint64_t status, time_ns; bool known; } state;
		struct { uint32_t id, flags; uint64_t bias, start, end, loaded_ns, unloaded_ns;
			 struct text build_id, path; } module;
		struct { uint32_t id, kind, parent, module; uint64_t offset; } node;
		struct { uint32_t id, node; uint64_t epoch; } slot;
		struct { uint32_t slot; struct tally now; } counts;
		struct { uint32_t index, tid; bool ended; struct text name;
			 struct tally done; } thread;
		struct { uint64_t rss, virt, threads, children; } process;
		struct { uint32_t id, flags; uint64_t epoch, time_ns, rss_bytes;
			 struct text name, set_by; struct tally totals; } mark;
		/* SAMPLE_LIVE, too: mark is the serial. end: the last part, without a cell */
		struct { uint32_t mark, slot; uint64_t blocks, bytes; bool end; } mark_live;
		struct { uint32_t flags; size_t count;
			 struct sample_figures list[MTW_SAMPLES_MAX]; } samples;
		struct stops stops;
		/* one per slot; slot 0: none. flags: FIRST in the first event of the first part,
		 * LAST in the last one of the last */
		struct { uint32_t serial, flags, slot; uint64_t time_ns;
			 struct tally sum, then; } peak;
		/* one per point */
		struct { uint64_t interval_ns; uint32_t owners[MTW_HISTORY_OWNERS_MAX];
			 size_t owner_count; bool first; struct point point;
			 uint64_t owner_bytes[MTW_HISTORY_OWNERS_MAX]; } history;
		struct { uint32_t reason; uint64_t events, bytes; } loss;
		struct effort effort;
		struct { struct { struct text name; uint64_t bytes; } parts[MTW_PARTS_MAX];
			 size_t count; } memory;
		struct { struct text name, value, who; } option;
		struct { uint32_t index; uint64_t since_ns, sample, min_size, max_size, merge;
			 struct text libs, exclude, who; } filter;
		struct { uint32_t slot; uint64_t sample; } weighed;
		struct { uint32_t node; uint64_t by; } proven;
		struct text notice;
		struct { uint64_t request; uint32_t thread; uint64_t blocks, bytes; } scan_thread;
		struct scan_ages ages;       /* arrays borrowed for the call */
		struct { uint64_t request, time_ns; size_t count;
			 struct rss_read *parts; /* borrowed for the call */ } rss;
		struct { uint64_t request, time_ns, left_blocks, left_bytes; uint32_t flags;
			 size_t count; struct cohort *list; /* borrowed for the call */ } cohorts;
		struct { uint64_t time_ns; } s_time;
		/* S_GENERATED, too: of module NO_ID, kind NOWHERE */
		struct { uint32_t module, kind; uint64_t offset; uint32_t source; size_t count;
			 struct { struct text function, file; uint32_t line;
				  bool inlined; } frames[64]; } s_symbol;
		struct { uint32_t state; uint64_t status; } s_exit;
		struct { struct text key; bool on; } s_expected;
		struct text s_note;
		struct { struct text version, target; uint64_t unix_ns; } s_meta;
		struct { uint64_t time_ns, ticks; uint32_t flags;
			 uint64_t looked_ns[MTW_KIND_COUNT], answers[MTW_KIND_COUNT]; } s_key;
		struct instant s_instant;    /* one per instant */
		struct { uint64_t ticks; } s_omitted;
		struct { uint64_t spacing_ns; struct point point; } s_point;
		/* first: begins a part; slot 0: the part alone */
		struct { uint64_t begin_ns; struct tally before, change; uint32_t slot;
			 bool first; } s_window;
		/* first: begins the list; thread 0: the list alone */
		struct { struct tally then; uint32_t thread; bool first; } s_window_thread;
	} u;
};
/* clang-format on */

#endif
