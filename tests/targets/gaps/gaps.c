/* SPDX-License-Identifier: MIT
 *
 * gaps.c - a program with gaps between its segments, as linked for larger pages: test_gaps.py
 * builds it in many ways.
 *
 * `gaps [LIBRARY...]`: keeps 1001 bytes allocated by leaf < middle < outer < main, 2002 by
 * leaf_of_gap that code in the program's gap called; each library (gap_lib.c) does the same with
 * 3003 and 4004. Then the libraries are loaded a second time: 5005 bytes each. It prints where the
 * code in each gap returns to. With GAPS_WAIT set it goes on until it is killed.
 */
#include "gap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

void *kept[64];
static int count;

KEEP void keep(size_t bytes)
{
	kept[count++] = malloc(bytes);
}

KEEP static void leaf(size_t bytes)
{
	keep(bytes);
	__asm__ volatile("" ::: "memory");
}

KEEP static void middle(size_t bytes)
{
	volatile char room[200];

	room[0] = 0;
	leaf(bytes + (size_t)room[0]);
	__asm__ volatile("" ::: "memory");
}

KEEP static void outer(size_t bytes)
{
	middle(bytes);
	__asm__ volatile("" ::: "memory");
}

static size_t wanted;

KEEP static void leaf_of_gap(void)
{
	keep(wanted);
	__asm__ volatile("" ::: "memory");
}

KEEP static void through(void (*code)(void (*)(void)), const char *whose, size_t bytes)
{
	if (!code) {
		printf("%s: no gap\n", whose);
		return;
	}
	wanted = bytes;
	code(leaf_of_gap);
	printf("%s: %#lx\n", whose, (unsigned long)(uintptr_t)code + 6);
}

static void load(const char *name, int again)
{
	void *library = dlopen(name, RTLD_NOW);
	void (*run)(size_t, void (*)(size_t));
	void *(*gap)(void);

	if (!library) {
		puts(dlerror());
		exit(1);
	}
	*(void **)&run = dlsym(library, "gap_lib_run");
	*(void **)&gap = dlsym(library, "gap_lib_code");
	run(again ? 5005 : 3003, keep);
	if (!again)
		through((void (*)(void (*)(void)))gap(), "library", 4004);
	if (!again)
		dlclose(library);
}

int main(int argc, char **argv)
{
	outer(1001);
	through(code_in_gap((void *)(uintptr_t)main), "program", 2002);
	for (int again = 0; again < 2; again++)
		for (int i = 1; i < argc; i++)
			load(argv[i], again);
	outer(6006);
	fflush(stdout);
	while (getenv("GAPS_WAIT")) {
		usleep(1000);
		free(malloc(77));
	}
	return 0;
}
