/* SPDX-License-Identifier: MIT
 *
 * test_modules.c - the modules of a process: a file with a gap between its segments, and another
 * one in that gap.
 */
#include "check.h"
#include "attach/ptrace/modules.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 64u /* from the first segment to the last */

static size_t page;

/* Two segments of one page each, `apart` pages from start to start. */
static int make_file(unsigned apart)
{
	struct {
		ElfW(Ehdr) head;
		ElfW(Phdr) ph[2];
	} file;
	char name[] = "/tmp/memtop-test-XXXXXX";
	int fd = mkstemp(name);

	memset(&file, 0, sizeof(file));
	memcpy(file.head.e_ident, ELFMAG, SELFMAG);
	file.head.e_ident[EI_CLASS] = ELFCLASS64;
	file.head.e_phoff = sizeof(file.head);
	file.head.e_phentsize = sizeof(file.ph[0]);
	file.head.e_phnum = 2;
	for (unsigned i = 0; i < 2; i++)
		file.ph[i] = (ElfW(Phdr)){ .p_type = PT_LOAD,
					   .p_flags = PF_R | PF_X,
					   .p_offset = i * page,
					   .p_vaddr = i * apart * page,
					   .p_filesz = page,
					   .p_memsz = page };
	CHECK(fd >= 0 && !unlink(name));
	CHECK(write(fd, &file, sizeof(file)) == (ssize_t)sizeof(file) &&
	      !ftruncate(fd, (off_t)(2 * page)));
	return fd;
}

static void load(char *at, unsigned apart)
{
	int fd = make_file(apart);

	for (unsigned i = 0; i < 2; i++)
		CHECK(mmap(at + i * apart * page, page, PROT_READ | PROT_EXEC,
			   MAP_PRIVATE | MAP_FIXED, fd, (off_t)(i * page)) != MAP_FAILED);
	close(fd);
}

TEST(a_gap_is_another_files)
{
	struct inject_modules m;

	page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, PAGES * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     *in = at + 8 * page;
	CHECK(at != MAP_FAILED);
	load(at, PAGES - 1);
	load(in, 4);
	CHECK(!inject_modules_read(getpid(), &m));
	const struct inject_module *outer = inject_module_at(&m, (uintptr_t)at),
				   *inner = inject_module_at(&m, (uintptr_t)in);
	CHECK(outer && inner && inner != outer);
	CHECK(outer->start == (uintptr_t)at && outer->end == (uintptr_t)at + PAGES * page &&
	      outer->segments == 2);
	CHECK(inner->start == (uintptr_t)in && inner->end == (uintptr_t)in + 5 * page);
	CHECK(inject_module_at(&m, (uintptr_t)at + (PAGES - 1) * page) == outer);
	CHECK(inject_module_at(&m, (uintptr_t)in + 4 * page) == inner);
	CHECK(!inject_module_at(&m, (uintptr_t)at + page) &&
	      !inject_module_at(&m, (uintptr_t)in + page));
	const struct inject_module *program = inject_module_at(&m, (uintptr_t)make_file);
	CHECK(program && program->program && !inner->program);
	inject_modules_release(&m);
}
