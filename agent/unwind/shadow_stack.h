/* SPDX-License-Identifier: MIT
 *
 * shadow_stack.h - the functions that a thread of an instrumented program is inside:
 * hooks/instrument.c keeps them, unwind/shadow_stack.c makes stacks of them.
 */
#ifndef MT_UNWIND_SHADOW_STACK_H
#define MT_UNWIND_SHADOW_STACK_H

#include "base/types.h"

struct unwind_cache;

enum link { LINK_UNKNOWN = 0, LINK_DIRECT, LINK_INLINED };

struct entry {
	uintptr_t sp;   /* pc in the function's body, as the enter hook got it */
	uintptr_t site; /* where the function returns to */
	uintptr_t fn;
	uintptr_t body; /* return address of the enter hook */
	uintptr_t fp;   /* frame pointer register in the body */
	union {
		struct {
			/* the path from the outermost frame to `site`; 0 = not yet known */
			node_id node;
			uint16_t frames; /* of that path */
			uint8_t reason;  /* enum mtw_truncation below which it hangs */
			uint8_t link;    /* enum link: how it hangs on the entry before */
		};
		uint64_t path;
	};
};

/* A call of malloc from the last entry's function. A call with the same registers, the same return
 * address in `slot` and the same path of that entry has the same stack. */
struct memo {
	uintptr_t pc, sp, fp;
	uintptr_t last_sp, last_fp, last_body;
	const uintptr_t *slot;
	node_id outer, node;
	uint32_t generation; /* of the maps */
};

#define MEMOS 32u

struct shadow {
	struct entry *top; /* the next one's place */
	struct entry *end;
	uint64_t over; /* functions entered beyond the end */
	size_t bytes;  /* of this mapping */
	struct memo memo[MEMOS];
	struct entry entry[];
};

#define SHADOW_FIRST_BYTES ((size_t)16 << 10)

#pragma GCC visibility push(hidden)

extern bool mt_shadow_on; /* functions are tracked: the enter hook tests this first */

/* The engine "instrument": see unwind/engine.h. */
int mt_unwind_instrument_walk(struct thread *t, const struct regs *r, uintptr_t *out, int max,
			      unsigned *reason);
/* NO_NODE (unwind/cache.h): its own stack is empty. */
node_id mt_unwind_instrument_capture(struct unwind_cache *u, const struct regs *r);
void mt_unwind_instrument_end(struct thread *t);

#pragma GCC visibility pop

#endif
