/* SPDX-License-Identifier: MIT
 *
 * s_markup.c - a program with hostile names: functions whose symbols are markup and script, a
 * thread with a name of that kind. Usage: s_markup [anything]
 * The first function keeps 3 blocks of 1000 bytes, the second allocates and frees 5 of 2000.
 */
#include "target.h"

#include <stdlib.h>
#include <sys/prctl.h>

__attribute__((noinline, used)) void *hostile(size_t n) __asm__(
	"\"</script><img src=x onerror=alert(1)>\"");
__attribute__((noinline, used)) void *quoting(size_t n) __asm__("\"]]>'&amp;${1}<!--\"");

void *hostile(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

void *quoting(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

int main(void)
{
	prctl(PR_SET_NAME, "<b onclick=1>");
	for (int i = 0; i < 3; i++)
		keep(hostile(1000));
	for (int i = 0; i < 5; i++)
		free(quoting(2000));
	return 0;
}
