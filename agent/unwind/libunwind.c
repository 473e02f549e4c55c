/* SPDX-License-Identifier: MIT
 *
 * libunwind.c - the reference engine: a libunwind unw_step walk for each stack.
 *
 * It is slow (half a microsecond a frame) and runs only when asked for by name, as the oracle of
 * tests and as a second opinion for odd code. libunwind is no dependency. If the program has it
 * loaded, its symbols are found there; otherwise the agent loads it when it starts with this
 * engine. The few types that the calls need are opaque blocks, larger than any version's.
 */
#include "unwind/libunwind.h"
#include "base/libc.h"
#include "base/stack_bounds.h"

#include <memtop/wire.h>

#define CURSOR_WORDS 512
#define CONTEXT_WORDS 256
#define REG_PC 16 /* x86-64 numbering of libunwind, that of DWARF */
#define REG_SP 7
#define SKIP_MAX 32 /* frames of the agent between here and the hook's caller */

static struct {
	int (*getcontext)(void *context);
	int (*init)(void *cursor, void *context);
	int (*step)(void *cursor);
	int (*get)(void *cursor, int reg, uintptr_t *value);
	int (*is_signal)(void *cursor);
} lib;

bool mt_unwind_libunwind_init(void)
{
#if defined(__x86_64__)
	void *handle = RTLD_DEFAULT;

	if (!LIBC(dlsym) || !LIBC(dlopen))
		return false;
	if (!LIBC(dlsym)(handle, "_ULx86_64_init_local")) {
		handle = LIBC(dlopen)("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
		if (!handle)
			return false;
	}
	*(void **)&lib.getcontext = LIBC(dlsym)(handle, "_Ux86_64_getcontext");
	*(void **)&lib.init = LIBC(dlsym)(handle, "_ULx86_64_init_local");
	*(void **)&lib.step = LIBC(dlsym)(handle, "_ULx86_64_step");
	*(void **)&lib.get = LIBC(dlsym)(handle, "_ULx86_64_get_reg");
	*(void **)&lib.is_signal = LIBC(dlsym)(handle, "_ULx86_64_is_signal_frame");
#endif
	return lib.getcontext && lib.init && lib.step && lib.get && lib.is_signal;
}

int mt_unwind_libunwind_walk(struct thread *t, const struct regs *r, uintptr_t *out, int max,
			     unsigned *reason)
{
	uint64_t context[CONTEXT_WORDS], cursor[CURSOR_WORDS];
	uintptr_t pc = 0, sp = 0;
	int n = 0, left = 1;

	(void)t;
	*reason = MTW_TRUNC_NO_CFI;
	if (lib.getcontext(context) || lib.init(cursor, context))
		return 0;
	for (int i = 0; i < SKIP_MAX && left > 0; i++) {
		lib.get(cursor, REG_SP, &sp);
		lib.get(cursor, REG_PC, &pc);
		if (sp >= r->sp && pc == r->pc)
			break;
		left = lib.step(cursor);
	}
	while (left > 0 && pc) {
		if (n == max) {
			*reason = MTW_TRUNC_DEPTH;
			return n;
		}
		/* It answers so for the frame that a signal interrupted. */
		out[n++] = pc | (lib.is_signal(cursor) > 0 ? PC_EXACT : 0);
		left = lib.step(cursor);
		if (left <= 0 || lib.get(cursor, REG_PC, &pc))
			break;
	}
	if (left >= 0)
		*reason = MTW_TRUNC_NONE;
	return n;
}
