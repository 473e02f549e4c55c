/* SPDX-License-Identifier: MIT
 *
 * fp_evidence.c - does code without an unwind table keep a frame pointer? Its instructions tell.
 *
 * Generated code (V8, HotSpot), Go, Free Pascal and hand-written assembly come without tables. Most
 * of it keeps frame records: `push %rbp; mov %rsp, %rbp` at the start of a function. An rbp that
 * points to a plausible record is no proof. Code without records may leave rbp alone: then it is
 * the record of a frame further out, and the callers in between would be missing silently. Or it
 * uses rbp as a general register, and locals where an older call left a record look exactly like
 * one. So the agent reads the code itself, from the return address to the function's end: its
 * return to the caller shows what rbp is (unwind/epilogue.c). Without an answer the stack ends
 * there.
 *
 * The step itself must hold as well. The record is aligned, outside of sp, in the same stack, and
 * no further away than any frame is large. The return address is behind a call instruction (or is
 * one of HotSpot's interpreter entries) and in executable memory: in such a segment of a module,
 * or, outside modules, where the server saw executable memory (modules/generated.c: a hook opens no
 * file). Code mapped since the server's last look is believed if the same reading proves it; the
 * server looks again within a second.
 *
 * Cost: none where there are tables. The first walk of a frame takes some microseconds, later ones
 * a lookup. A stack that recurs is compared by its words like any other (unwind/incremental.c): the
 * record's two words are pairs, and rbp counts as used.
 */
#include "unwind/fp_evidence.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "cfi/cfi.h"
#include "modules/generated.h"
#include "modules/maps.h"
#include "modules/segments.h"
#include "unwind/epilogue.h"

#include <memtop/wire.h>
#include <string.h>

_Atomic uint32_t mt_unwind_evidence_age = 1;

#define WORD sizeof(uintptr_t)
#define PAGE ((uintptr_t)4096)
#define SITES 1024u                     /* power of two */
#define FRAME_MOST ((uintptr_t)1 << 20) /* bytes of a frame, as base/stack_bounds.c has it */
#define ARGUMENTS_MOST ((uintptr_t)64 << 10)
#define LOWEST ((uintptr_t)65536) /* no code is mapped below */
#define SAME_BYTES 16u
#define PERIOD_NS 1000000000u

/* What is known about one return address. */
enum {
	SITE_RETURN = 1,                /* asked: does a call return here? */
	SITE_RETURNS = 2,               /* ... yes */
	SITE_TABLE = 4,                 /* ... and an unwind table covers it */
	SITE_FRAME = 8,                 /* asked: is rbp the frame pointer? */
	SITE_BASE = EPILOGUE_BASE << 4, /* ... what the code's epilogue says */
	SITE_AT = EPILOGUE_AT << 4,
	SITE_POPS = EPILOGUE_POPS << 4,
	SITE_OWN = EPILOGUE_OWN << 4,
};

struct site {
	uintptr_t pc; /* 0 = empty */
	/* mt_unwind_evidence_age at the look; 0 = in a module: valid until the maps change */
	uint32_t age;
	uint32_t facts; /* SITE_* */
	int32_t saved;
	uint8_t code[SAME_BYTES]; /* what stood at pc, outside modules, up to the page's end */
};

static _Atomic bool xread;  /* code outside modules was read since the age moved */
static uint64_t expired_ns; /* server only */
static bool allowed;        /* set once, before the first capture */

void mt_unwind_evidence_allow(bool on)
{
	allowed = on;
}

bool mt_unwind_evidence_allowed(void)
{
	return allowed;
}

void mt_unwind_evidence_remember(struct known *known)
{
	struct site *sites = mt_prim_map(SITES * sizeof(*sites), false);

	if (sites)
		mt_arena_range((uintptr_t)sites, SITES * sizeof(*sites), PART_CACHES);
	known->sites = sites;
}

void mt_unwind_evidence_forget(struct known *known)
{
	if (known->sites)
		memset(known->sites, 0, SITES * sizeof(*known->sites));
}

void mt_unwind_evidence_expire(uint64_t now_ns)
{
	/* the first look is not waited for */
	bool soon = expired_ns && now_ns - expired_ns < PERIOD_NS;

	if (soon || !atomic_load_explicit(&xread, memory_order_relaxed))
		return;
	expired_ns = now_ns;
	atomic_store_explicit(&xread, false, memory_order_relaxed);
	mt_generated_look();
	atomic_fetch_add_explicit(&mt_unwind_evidence_age, 1, memory_order_relaxed);
	mt_maps_invalidate();
}

#if defined(__x86_64__)
/* call rel32; call r/m64 of 2, 3, 4, 6, 7 bytes; rel32 through a prefix ends as the first does. */
bool mt_unwind_evidence_call(uintptr_t pc)
{
	const uint8_t *at = (const uint8_t *)pc;

	if (pc < LOWEST || !mt_prim_readable(pc - 7, 8))
		return false;
	if (at[-5] == 0xe8)
		return true;
	for (unsigned bytes = 2; bytes <= 7; bytes++)
		if (at[-(int)bytes] == 0xff && (at[1 - (int)bytes] & 0x38) == 0x10)
			return true;
	return false;
}

static struct site *place(struct known *known, uintptr_t pc)
{
	return known->sites ? &known->sites[(pc * 0x9e3779b97f4a7c15u) >> 32 & (SITES - 1)] : NULL;
}

static struct site recall(struct known *known, uintptr_t pc)
{
	const struct site *s = place(known, pc);

	if (s && s->pc == pc &&
	    (!s->age ||
	     s->age == atomic_load_explicit(&mt_unwind_evidence_age, memory_order_relaxed)))
		return *s;
	return (struct site){ .pc = pc };
}

/* A capture in a signal handler that interrupts this one finds no entry, or a whole one. */
static void keep(struct known *known, const struct site *s)
{
	struct site *to = place(known, s->pc);

	if (!to)
		return;
	to->pc = 0;
	atomic_signal_fence(memory_order_seq_cst);
	to->age = s->age;
	to->facts = s->facts;
	to->saved = s->saved;
	memcpy(to->code, s->code, sizeof(to->code));
	atomic_signal_fence(memory_order_seq_cst);
	to->pc = s->pc;
}

/* HotSpot's interpreter: mov -16(%rbp), %rsp; from JDK 21 on: mov -16(%rbp), %rcx; lea
 * (%rbp,%rcx,8), %rsp. */
static bool is_interpreter_entry(uintptr_t pc)
{
	static const uint8_t absolute[] = { 0x48, 0x8b, 0x65, 0xf0 };
	static const uint8_t relative[] = { 0x48, 0x8b, 0x4d, 0xf0, 0x48, 0x8d, 0x64, 0xcd, 0x00 };

	return pc >= LOWEST && mt_prim_readable(pc, sizeof(relative)) &&
	       (!memcmp((const void *)pc, absolute, sizeof(absolute)) ||
		!memcmp((const void *)pc, relative, sizeof(relative)));
}

/* Up to the end of its page: the next one may not be mapped. */
static size_t same_bytes(uintptr_t pc)
{
	size_t rest = PAGE - (pc & (PAGE - 1));

	return rest < SAME_BYTES ? rest : SAME_BYTES;
}

/*
 * Was generated code replaced in place since it was read? Where a proof led to it the thread is
 * about to return there, so it is mapped. A false table may lead to where code was unmapped: that
 * is asked.
 */
static bool is_same(const struct site *s, bool proven)
{
	size_t bytes = same_bytes(s->pc);

	return !s->age || ((proven || mt_prim_readable(s->pc, bytes)) &&
			   !memcmp((const void *)s->pc, s->code, bytes));
}

static void note_age(struct site *s, const struct module *m)
{
	if (m)
		return;
	s->age = atomic_load_explicit(&mt_unwind_evidence_age, memory_order_relaxed);
	atomic_store_explicit(&xread, true, memory_order_relaxed);
}

static void ask_frame(struct site *s, const struct module *m)
{
	if (s->facts & SITE_FRAME)
		return;
	note_age(s, m);
	s->facts |= SITE_FRAME | mt_epilogue_read(s->pc, m, &s->saved) << 4;
	if (!m && is_interpreter_entry(s->pc))
		s->facts |= SITE_BASE;
	if (!m && s->facts & (SITE_BASE | SITE_AT))
		memcpy(s->code, (const void *)s->pc, same_bytes(s->pc));
}

/* Does a call return to it? */
static void ask_return(struct site *s)
{
	const struct module *m = mt_maps_find(s->pc - 1);
	struct cfi_row row;

	s->facts |= SITE_RETURN;
	note_age(s, m);
	enum runs runs = m ? RUNS_YES : mt_generated_runs(s->pc - 1);
	if (runs == RUNS_NOT)
		return;
	if (m ? !mt_maps_runs(m, s->pc - 1)
	      : !mt_unwind_evidence_call(s->pc) && !is_interpreter_entry(s->pc))
		return;
	if (m && !mt_unwind_evidence_call(s->pc))
		return;
	if (runs != RUNS_YES)
		ask_frame(s, NULL);
	if (m && mt_cfi_row(m, s->pc - 1, &row) == MTW_TRUNC_NONE)
		s->facts |= SITE_TABLE;
	if (runs == RUNS_YES || s->facts & (SITE_BASE | SITE_AT))
		s->facts |= SITE_RETURNS;
}

/* Both words of a record at bp lie outwards of sp, on the same stack. */
static bool is_record(struct known *known, uintptr_t sp, uintptr_t bp)
{
	const struct bounds *b = &known->at[0];

	return !(bp & (WORD - 1)) && bp >= sp && bp - sp <= FRAME_MOST &&
	       unwind_readable(known, bp) && unwind_readable(known, bp + WORD) &&
	       unwind_in(b, sp - WORD) && unwind_in(b, bp) && unwind_in(b, bp + WORD);
}

/*
 * Does bp point at the frame's record? popped: sp is further out than it seems. Only code that
 * takes rbp from its own record goes with such callees (V8's).
 */
static bool is_base(const struct site *s, uintptr_t sp, uintptr_t bp, bool popped)
{
	uintptr_t at = sp + (uintptr_t)(intptr_t)s->saved;

	if (s->facts & SITE_BASE)
		return true;
	return s->facts & SITE_AT && (bp == at || (popped && s->facts & SITE_OWN && bp > at &&
						   bp - at <= ARGUMENTS_MOST));
}

bool mt_unwind_evidence_leave(struct known *known, uintptr_t pc, uintptr_t sp, uintptr_t bp,
			      struct caller *to)
{
	struct site s = recall(known, pc);
	bool proven = known->proven_sp == sp;

	known->proven_sp = 0;
	if (!is_record(known, sp, bp))
		return false;
	if (s.facts & (SITE_BASE | SITE_AT) && unlikely(!is_same(&s, proven)))
		s = (struct site){ .pc = pc };
	if (!(s.facts & SITE_FRAME)) {
		ask_frame(&s, mt_maps_find(pc - 1));
		keep(known, &s);
	}
	if (!is_base(&s, sp, bp, proven && known->popped))
		return false;
	uint32_t facts = s.facts;
	*to = (struct caller){ ((const uintptr_t *)bp)[1], bp + 2 * WORD, *(const uintptr_t *)bp };
	if (to->pc < LOWEST || to->pc & PC_EXACT || unwind_in(&known->at[0], to->pc))
		return false;
	s = recall(known, to->pc);
	if (!(s.facts & SITE_RETURN)) {
		ask_return(&s);
		keep(known, &s);
	}
	if (!(s.facts & SITE_RETURNS) || (facts & SITE_POPS && s.facts & SITE_TABLE))
		return false;
	known->proven_sp = to->sp;
	known->popped = facts & SITE_POPS;
	return true;
}
#else
bool mt_unwind_evidence_call(uintptr_t pc)
{
	return pc >= LOWEST;
}

bool mt_unwind_evidence_leave(struct known *known, uintptr_t pc, uintptr_t sp, uintptr_t bp,
			      struct caller *to)
{
	(void)known, (void)pc, (void)sp, (void)bp, (void)to;
	return false;
}
#endif
