/* SPDX-License-Identifier: MIT
 *
 * crt.c - the start-up code that an NDK links into every program, for test programs on Android's
 * libc.
 */
#include <stddef.h>

typedef void (*function)(void);

/* struct structors_array_t of bionic: where the program's constructors and destructors are listed,
 * -1 first, 0 last. */
struct lists {
	const function *before, *begin, *end;
};

extern void __libc_init(void *args, void (*exit)(void), int (*main)(int, char **, char **),
			const struct lists *lists);
extern int main(int argc, char **argv, char **environment);
extern void begin(void *args);

static const function none[] = { (function)-1, NULL };
/* The linker calls what .init_array has; these are for static programs, and must be there. */
static const struct lists lists = { none, none, none };

__asm__(".text\n.globl _start\n.type _start,%function\n_start:\n"
#ifdef __aarch64__
	"mov x29, xzr\nmov x30, xzr\nmov x0, sp\nb begin\n"
#else
	"xor %ebp, %ebp\nmov %rsp, %rdi\nand $-16, %rsp\ncall begin\nhlt\n"
#endif
	".size _start, .-_start\n");

__attribute__((visibility("hidden"))) void begin(void *args)
{
	__libc_init(args, NULL, main, &lists);
}
