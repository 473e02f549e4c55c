/* SPDX-License-Identifier: MIT
 *
 * calls.c - the names by which libmemtop-agent.so calls the C library (base/libc.h): each is a jump
 * to what loaded/find.c found, as the linker's own jumps are, but one that no other module's
 * function of that name gets into. A jump leaves all arguments and the return address as they are:
 * the loader's functions look at it, and __sigsetjmp keeps it.
 *
 * The first call of all finds everything. It precedes the program's constructors, or is part of the
 * dlopen that loaded the agent, so the loader's list does not change meanwhile.
 */
#include "base/libc.h"
#include "loaded/calls.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define DEFINE(name, otherwise) void *mt_call_##name;
LIBC_CALLS(DEFINE)

/* What libc_nonshared.a registers for. */
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;

/* clang-format off */
#define BEGIN(name) ".pushsection .text\n.balign 16\n.globl " name "\n.hidden " name "\n"          \
	".type " name ", %function\n" name ":\n.cfi_startproc\n"
#define END(name) ".cfi_endproc\n.size " name ", . - " name "\n.popsection\n"

#if defined(__x86_64__)
#define FIRST                                                                                      \
	"pushq %rax\npushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\n"       \
	"subq $8, %rsp\n.cfi_adjust_cfa_offset 64\ncall mt_libc_find\naddq $8, %rsp\n"             \
	"popq %r9\npopq %r8\npopq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\npopq %rax\n"              \
	".cfi_adjust_cfa_offset -64\nret\n"
#define JUMP(name, otherwise)                                                                      \
	__asm__(BEGIN(#name) "movq mt_call_" #name "(%rip), %r11\ntestq %r11, %r11\nje 1f\n"       \
		"jmp *%r11\n1: call mt_call_first\njmp " #name "\n" END(#name));
#elif defined(__aarch64__)
#define FIRST                                                                                      \
	"stp x29, x30, [sp, #-96]!\n.cfi_def_cfa_offset 96\n.cfi_offset 29, -96\n"                 \
	".cfi_offset 30, -88\nstp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\n"                      \
	"stp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\nstr x8, [sp, #80]\nbl mt_libc_find\n"       \
	"ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\n"                    \
	"ldp x6, x7, [sp, #64]\nldr x8, [sp, #80]\nldp x29, x30, [sp], #96\n"                      \
	".cfi_def_cfa_offset 0\nret\n"
#define JUMP(name, otherwise)                                                                      \
	__asm__(BEGIN(#name) "adrp x16, mt_call_" #name "\nldr x16, [x16, :lo12:mt_call_" #name    \
		"]\ncbz x16, 1f\nbr x16\n1: stp x29, x30, [sp, #-16]!\nbl mt_call_first\n"         \
		"ldp x29, x30, [sp], #16\nb " #name "\n" END(#name));
#else
#undef BEGIN
#undef END
#define BEGIN(name) ".pushsection .text\n.arm\n.balign 4\n.globl " name "\n.hidden " name "\n"     \
	".type " name ", %function\n" name ":\n.fnstart\n"
#define END(name) ".cantunwind\n.fnend\n.size " name ", . - " name "\n.popsection\n"
#define FIRST "push {r0-r3, ip, lr}\nbl mt_libc_find\npop {r0-r3, ip, pc}\n"
#define JUMP(name, otherwise)                                                                      \
	__asm__(BEGIN(#name) "ldr ip, 3f\n2: add ip, pc, ip\nldr ip, [ip]\ncmp ip, #0\nbxne ip\n"  \
		"push {ip, lr}\nbl mt_call_first\npop {ip, lr}\nb " #name "\n"                     \
		"3: .word mt_call_" #name " - (2b + 8)\n" END(#name));
#endif
/* clang-format on */

__asm__(BEGIN("mt_call_first") FIRST END("mt_call_first"));
LIBC_CALLS(JUMP)

static long zero(void)
{
	return 0;
}

static long minus_one(void)
{
	return -1;
}

static uintptr_t thread_pointer(void)
{
	return (uintptr_t)mt_thread_pointer();
}

static int *nobody(void)
{
	static int number;

	return &number;
}

void mt_calls_find(void *(*find)(const char *name))
{
#define FIND(name, otherwise)                                                                      \
	void *own_##name = find(#name);                                                            \
	mt_call_##name = own_##name ? own_##name : (void *)otherwise;
	LIBC_CALLS(FIND)
	(void)zero, (void)minus_one, (void)thread_pointer, (void)nobody;
}
