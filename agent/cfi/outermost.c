/* SPDX-License-Identifier: MIT
 *
 * outermost.c - code without a caller whose unwind table does not say so: a stack that ends there
 * is complete.
 *
 * The loader's entry has no table. Nor has musl, which is built without tables: main and a thread's
 * function return into musl's code, which cannot be unwound, so every stack would seem cut. But
 * that code is recognisable: it passes the result on to exit() or pthread_exit(), which never
 * return, close to where libc starts programs or threads.
 */
#include "cfi/outermost.h"
#include "base/libc.h"
#include "base/prim_linux.h"
#include "base/stack_bounds.h"
#include "cfi/cfi.h"
#include "modules/maps.h"

#include <elf.h>
#include <link.h>
#include <memtop/wire.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define START_BYTES 64         /* the loader's entry code */
#define NEAR ((uintptr_t)1024) /* to what is compiled from the same source file */

/* The code that a coroutine of makecontext() returns to, which ends the stack. Its table does not
 * say so. It has no caller, so the byte before it belongs to no function. 0 = unknown. */
static uintptr_t coroutine_end, coroutine_end_bytes;

#if !defined(__BIONIC__) && (defined(__x86_64__) || defined(__aarch64__) || defined(__arm__))
static void never_run(void) {}

/* libc does not export its name, but makecontext() puts it under the stack that it makes, or into
 * the link register. */
void mt_cfi_init(void)
{
	ucontext_t context;
	struct cfi_row row;
	uint64_t stack[64];

	if (!LIBC(makecontext))
		return;
	memset(&context, 0, sizeof(context));
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	LIBC(makecontext)(&context, never_run, 0);
#if defined(__x86_64__)
	coroutine_end = *(const uintptr_t *)context.uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	coroutine_end = context.uc_mcontext.regs[30];
#else
	coroutine_end = pc_code(context.uc_mcontext.arm_lr);
#endif
	coroutine_end_bytes = 1;
	if (CFI_TABLES &&
	    mt_cfi_row(mt_maps_find(coroutine_end), coroutine_end, &row) == MTW_TRUNC_NONE &&
	    row.from == coroutine_end)
		coroutine_end_bytes = row.to - row.from;
}
#else
void mt_cfi_init(void) {}
#endif

bool mt_cfi_is_coroutine_end(uintptr_t pc, bool exact)
{
	return pc + !exact - coroutine_end < coroutine_end_bytes;
}

static bool is_loader_start(const struct module *m, uintptr_t pc)
{
	if (!m || m->start != mt_maps_loader_start)
		return false;
	uintptr_t entry = m->bias + ((const ElfW(Ehdr) *)m->start)->e_entry;
	return pc >= entry && pc - entry < START_BYTES;
}

#if defined(__x86_64__)
/* At `pc`: mov %eax, %edi; or mov %rax, %rdi; or movslq %eax, %rdi; then a call of `end`. */
static bool hands_on(uintptr_t pc, uintptr_t end)
{
	static const uint8_t moves[][3] = { { 0x89, 0xc7, 0xe8 },
					    { 0x48, 0x89, 0xc7 },
					    { 0x48, 0x63, 0xf8 } };
	const uint8_t *at = (const uint8_t *)pc;
	int32_t distance;

	if (!end || !mt_prim_readable(pc, 8))
		return false;
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		size_t call = i ? 3 : 2;
		if (memcmp(at, moves[i], 3) || at[call] != 0xe8)
			continue;
		memcpy(&distance, at + call + 1, sizeof(distance));
		return pc + call + 5 + (uintptr_t)(intptr_t)distance == end;
	}
	return false;
}

static bool is_near(uintptr_t pc, uintptr_t place)
{
	return pc - place + NEAR < 2 * NEAR;
}

static bool is_libc_start(uintptr_t pc)
{
	return (is_near(pc, (uintptr_t)LIBC(__libc_start_main)) &&
		hands_on(pc, (uintptr_t)LIBC(exit))) ||
	       (is_near(pc, (uintptr_t)LIBC(pthread_exit)) &&
		hands_on(pc, (uintptr_t)LIBC(pthread_exit)));
}
#else
static bool is_libc_start(uintptr_t pc)
{
	(void)pc;
	return false;
}
#endif

bool mt_cfi_is_start(const struct module *m, uintptr_t pc, bool exact)
{
	return is_loader_start(m, pc) || (!exact && is_libc_start(pc + 1));
}
