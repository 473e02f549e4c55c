/* SPDX-License-Identifier: MIT
 *
 * s_art.c - calls as an app of ART makes them, on AArch64: native > compiled code > compiled code >
 * native > malloc. That code keeps no frame record and leaves x29 to main's caller's frames, as
 * ART's does, and has no unwind table.
 *   100 blocks of 1001 bytes  through code in a memfd named jit-cache
 *   100 blocks of 1002 bytes  through code in anonymous memory
 *   100 blocks of 1003 bytes  through code of a file that the loader lists: usage: s_art FILE.oat
 *   100 blocks of 1004 bytes  native code alone
 */
#include "target.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__aarch64__)
typedef void (*native)(size_t bytes);
typedef void (*managed)(size_t bytes, void *to, void *with, void *then);

/* sub sp, sp, #32; str x30, [sp, #24]; to(bytes, with, then); ldr x30, [sp, #24]; add sp, sp, #32;
 * ret */
static const uint32_t compiled[] = { 0xd10083ff, 0xf9000ffe, 0xaa0103e9, 0xaa0203e1, 0xaa0303e2,
				     0xd63f0120, 0xf9400ffe, 0x910083ff, 0xd65f03c0 };

__attribute__((noinline, noipa)) void get(size_t bytes)
{
	*(void *volatile *)&(void *){ NULL } = malloc(bytes);
	__asm__ volatile("");
}

__attribute__((noinline, noipa)) void invoke(managed code, size_t bytes)
{
	for (int i = 0; i < 100; i++)
		code(bytes, (void *)code, (void *)get, NULL);
	__asm__ volatile("");
}

__attribute__((noinline, noipa)) void call(native code, size_t bytes)
{
	for (int i = 0; i < 100; i++)
		code(bytes);
	__asm__ volatile("");
}

static managed made(int fd)
{
	int how = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, how, fd, 0);

	memcpy(at, compiled, sizeof(compiled));
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)at, (char *)at + sizeof(compiled));
	return (managed)at;
}

int main(int argc, char **argv)
{
	int fd = memfd_create("jit-cache", 0);
	void *oat = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!oat || fd < 0 || ftruncate(fd, 4096))
		return 1;
	invoke(made(fd), 1001);
	invoke(made(-1), 1002);
	invoke((managed)dlsym(oat, "compiled"), 1003);
	call(get, 1004);
	return 0;
}
#else
int main(void)
{
	return 0;
}
#endif
