/* SPDX-License-Identifier: MIT
 *
 * s_no_tables.c - writes machine code at run time and allocates through it, as a JIT's program
 * does:
 *   100 blocks of 1001 bytes  main > outer() > generated > middle() > generated > get(): each keeps
 *                             a frame pointer
 *   100 blocks of 1002 bytes  the same, the inner generated function leaves rbp alone
 *   100 blocks of 1003 bytes  the same, the inner one has a heap pointer in rbp
 *   100 blocks of 1004 bytes  asm_keeps() > get(): assembly without a table in the program itself
 *   100 blocks of 1005 bytes  asm_none() > get(): the same without a frame pointer
 */
#include "target.h"

#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)
__asm__(".text\n.type asm_keeps, @function\nasm_keeps:\npush %rbp\nmov %rsp, %rbp\nsub $16, "
	"%rsp\ncall *%rsi\nleave\nret\n"
	".size asm_keeps, .-asm_keeps\n"
	".type asm_none, @function\nasm_none:\nsub $8, %rsp\ncall *%rsi\nadd $8, %rsp\nret\n.size "
	"asm_none, .-asm_none\n");
typedef void (*body)(size_t);
void asm_keeps(size_t bytes, body to);
void asm_none(size_t bytes, body to);

static unsigned char *here;
static body through;

static void put(const char *bytes, size_t n)
{
	memcpy(here, bytes, n);
	here += n;
}

/* before; mov $to, %rax; call *%rax; after */
static body make(const char *before, size_t before_bytes, body to, const char *after,
		 size_t after_bytes)
{
	body made;

	memcpy(&made, &here, sizeof(made));
	put(before, before_bytes);
	put("\x48\xb8", 2);
	put((const char *)&to, sizeof(to));
	put("\xff\xd0", 2);
	put(after, after_bytes);
	return made;
}

#define MAKE(before, to, after) make(before, sizeof(before) - 1, to, after, sizeof(after) - 1)
#define KEEP "\x55\x48\x89\xe5\x48\x83\xec\x20"

__attribute__((noinline, noipa)) void get(size_t bytes)
{
	*(void *volatile *)&(void *){ NULL } = malloc(bytes);
	__asm__ volatile("");
}

__attribute__((noinline, noipa)) void middle(size_t bytes)
{
	through(bytes);
	__asm__ volatile("");
}

__attribute__((noinline, noipa)) void outer(size_t bytes, body generated, body inner)
{
	through = inner;
	for (int i = 0; i < 100; i++)
		generated(bytes);
}

int main(void)
{
	here = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *page = here;
	static char heap[64] __attribute__((aligned(16)));
	char held[] = "\x55\x48\x83\xec\x10\x48\xbd.......";
	void *at = heap + 16;

	memcpy(held + 7, &at, sizeof(at)); /* push %rbp; sub $16, %rsp; mov $at, %rbp */
	body keeps = MAKE(KEEP, get, "\xc9\xc3");
	body none = MAKE("\x48\x83\xec\x18", get, "\x48\x83\xc4\x18\xc3");
	body other = make(held, 15, get, "\x48\x83\xc4\x10\x5d\xc3", 6);
	body generated = MAKE(KEEP, middle, "\x48\x83\xc4\x20\x5d\xc3");
	if (page == MAP_FAILED || mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return 1;
	outer(1001, generated, keeps);
	outer(1002, generated, none);
	outer(1003, generated, other);
	for (int i = 0; i < 100; i++)
		asm_keeps(1004, get);
	for (int i = 0; i < 100; i++)
		asm_none(1005, get);
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
