/* SPDX-License-Identifier: MIT
 *
 * test_index.c - .eh_frame without a search table: found in a file's memory, sorted, and searched.
 * The test builds tables byte by byte, valid and hostile, in the segments of a file that is not
 * loaded.
 */
#include "base/types.h"
#include "cfi/cfi.h"
#include "cfi/index.h"
#include "check.h"

#include <link.h>
#include <memtop/wire.h>
#include <string.h>
#include <sys/mman.h>

#if CFI_TABLES

#define TABLES ((size_t)64 << 10) /* bytes of the segment that they lie in */
#define CODE ((size_t)64 << 10)   /* of the one behind, which is code */

/* A file of two segments: tables, then code. */
static struct {
	struct module m;
	ElfW(Phdr) header[2];
	struct segment segment[2];
	uint8_t *low, *at, *code;
} file;

static void begin(void)
{
	memset(&file, 0, sizeof(file));
	file.low = mmap(NULL, TABLES + CODE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	CHECK(file.low != MAP_FAILED);
	file.code = file.low + TABLES;
	file.at = file.low + 4096;
	file.header[0] = (ElfW(Phdr)){ .p_type = PT_LOAD,
				       .p_flags = PF_R,
				       .p_vaddr = (uintptr_t)file.low,
				       .p_filesz = TABLES,
				       .p_memsz = TABLES };
	file.header[1] = (ElfW(Phdr)){ .p_type = PT_LOAD,
				       .p_flags = PF_R | PF_X,
				       .p_vaddr = (uintptr_t)file.code,
				       .p_filesz = CODE,
				       .p_memsz = CODE };
	file.segment[0] =
		(struct segment){ (uintptr_t)file.low, (uintptr_t)file.low + TABLES, true, false };
	file.segment[1] =
		(struct segment){ (uintptr_t)file.code, (uintptr_t)file.code + CODE, true, true };
	file.m.start = (uintptr_t)file.low;
	file.m.end = (uintptr_t)file.code + CODE;
	file.m.segment = file.segment;
	file.m.segments = 2;
	file.m.headers = file.header;
	file.m.header_count = 2;
}

static void put(const void *p, size_t bytes)
{
	memcpy(file.at, p, bytes);
	file.at += bytes;
}

static void put32(uint32_t v)
{
	put(&v, 4);
}

static void put_byte(uint8_t v)
{
	put(&v, 1);
}

/* From `from`, which is where a record's length stands, to here: padded, and told. */
static uint8_t *end_record(uint8_t *from)
{
	while ((file.at - from) % 4)
		put_byte(0);
	uint32_t len = (uint32_t)(file.at - from) - 4;
	memcpy(from, &len, 4);
	return from;
}

/* "zR": addresses of 4 bytes, relative to their place; CFA = sp + 8, the return address under
 * it. */
static uint8_t *cie(void)
{
	static const uint8_t text[] = { 1, 'z',  'R',  0,      1, 0x78,          CFI_RA,
					1, 0x1b, 0x0c, CFI_SP, 8, 0x80 | CFI_RA, 1 };
	uint8_t *from = file.at;

	put32(0);
	put32(0);
	put(text, sizeof(text));
	return end_record(from);
}

/* Of the code at `offset`, `bytes` long; it says that the CFA is sp + `frame`. */
static uint8_t *fde(const uint8_t *parent, int32_t offset, uint32_t bytes, uint8_t frame)
{
	uint8_t *from = file.at;

	put32(0);
	put32((uint32_t)(file.at - parent));
	put32((uint32_t)(file.code + offset - file.at));
	put32(bytes);
	put_byte(0);
	put_byte(0x0e);
	put_byte(frame);
	return end_record(from);
}

/* The CFA's offset from sp in the frame of the code at `offset`; 0: no table is about it. */
static int64_t frame_at(int32_t offset)
{
	struct cfi_row row;
	unsigned reason =
		mt_cfi_row(&file.m, (uintptr_t)file.code + (uintptr_t)(intptr_t)offset, &row);

	CHECK(reason == MTW_TRUNC_NONE || reason == MTW_TRUNC_NO_CFI);
	return reason == MTW_TRUNC_NONE ? row.state.cfa_value : 0;
}

static uint32_t entries(void)
{
	return mt_cfi_index(&file.m, 0)->count;
}

TEST(found_and_sorted)
{
	begin();
	uint8_t *c = cie();
	for (int i = 0; i < 500; i++) /* in no order */
		fde(c, (i * 37 % 500) * 64, 48, (uint8_t)(16 + i * 37 % 500 % 7 * 8));
	put32(0);
	for (int i = 0; i < 500; i++) {
		CHECK_EQ(frame_at(i * 64), 16 + i % 7 * 8);
		CHECK_EQ(frame_at(i * 64 + 47), 16 + i % 7 * 8);
		CHECK_EQ(frame_at(i * 64 + 48), 0);
	}
	CHECK_EQ(entries(), 500);
	CHECK(mt_cfi_index(&file.m, 0) == mt_cfi_index(&file.m, 0));
	CHECK_EQ(mt_cfi_index(&file.m, 0)->base, (uintptr_t)c);
}

TEST(none_is_there)
{
	begin();
	CHECK_EQ(frame_at(0), 0);
	CHECK_EQ(entries(), 0);
	begin(); /* a CIE alone, and one whose FDEs are of other code */
	cie();
	put32(0);
	uint8_t *c = cie();
	fde(c, -512, 64, 16);
	fde(c, (int32_t)CODE, 64, 16);
	put32(0);
	CHECK_EQ(frame_at(0), 0);
	CHECK_EQ(entries(), 0);
}

/* What looks like a CIE in front of it is passed, with what follows. */
TEST(behind_what_only_looks_like_one)
{
	begin();
	for (int i = 0; i < 50; i++)
		fde(cie(), (int32_t)CODE + i, 16, 24);
	put32(0);
	memset(file.at, 0xff, 64);
	file.at += 64;
	uint8_t *c = cie();
	fde(c, 128, 64, 32);
	put32(0);
	CHECK_EQ(frame_at(130), 32);
	CHECK_EQ(entries(), 1);
}

TEST(in_a_segment_of_code)
{
	begin();
	file.at = file.code + 4096;
	uint8_t *c = cie();
	fde(c, 0, 64, 40);
	put32(0);
	CHECK_EQ(frame_at(10), 40);
}

/* Never looked at: its pages would become the program's. */
TEST(not_in_a_segment_that_is_written_to)
{
	begin();
	file.header[0].p_flags |= PF_W;
	fde(cie(), 0, 64, 40);
	CHECK_EQ(frame_at(10), 0);
}

TEST(what_was_unmapped)
{
	begin();
	fde(cie(), 0, 64, 16);
	CHECK_EQ(munmap(file.low, TABLES), 0);
	CHECK_EQ(frame_at(10), 0);
	begin();
	file.at = file.low + TABLES - 4096 - 8; /* begins in front of a hole */
	fde(cie(), 0, 64, 16);
	CHECK_EQ(munmap(file.low + TABLES - 4096, 4096), 0);
	CHECK_EQ(frame_at(10), 0);
}

TEST(lengths_that_lie)
{
	static const uint32_t lengths[] = {
		1, 3, 5, 0x7fffffff, 0xfffffff0, 0xfffffffe, (uint32_t)TABLES
	};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		begin();
		uint8_t *c = cie();
		fde(c, 0, 64, 16);
		uint8_t *false_one = fde(c, 64, 64, 24);
		fde(c, 128, 64, 32);
		put32(0);
		memcpy(false_one, &lengths[i], 4);
		CHECK_EQ(frame_at(10), 16); /* what lies in front of it holds */
		CHECK(frame_at(74) == 0 || frame_at(74) == 24);
	}
}

TEST(ranges_that_lie)
{
	begin();
	uint8_t *c = cie();
	fde(c, 0, 64, 16);
	fde(c, 64, 0, 24);                  /* nothing */
	fde(c, 128, 0xfffffff0, 24);        /* more than there is */
	fde(c, (int32_t)CODE - 16, 64, 24); /* ... behind the end */
	fde(c, 256, 256, 32);
	fde(c, 256 + 64, 32, 40); /* within another's */
	fde(c, 256 + 64, 32, 48); /* the same once more */
	put32(0);
	CHECK_EQ(frame_at(10), 16);
	CHECK_EQ(frame_at(64), 0);
	CHECK_EQ(frame_at(130), 0);
	CHECK_EQ(frame_at((int32_t)CODE - 8), 0);
	CHECK_EQ(frame_at(260), 32);
	CHECK(frame_at(256 + 70) == 40 || frame_at(256 + 70) == 48);
}

/* Skips a record that points nowhere, to an unreadable CIE, or to itself. */
TEST(parents_that_lie)
{
	begin();
	uint8_t *c = cie(), *bad = cie();
	fde(c, 0, 64, 16);
	bad[9] = '?';
	fde(bad, 64, 64, 24);
	uint8_t *f = fde(c, 128, 64, 24);
	memset(f + 4, 0xff, 4);
	f = fde(c, 192, 64, 24);
	memcpy(f + 4, &(uint32_t){ 4 }, 4);
	fde(c, 256, 64, 32);
	put32(0);
	CHECK_EQ(frame_at(10), 16);
	CHECK_EQ(frame_at(70), 0);
	CHECK_EQ(frame_at(130), 0);
	CHECK_EQ(frame_at(200), 0);
	CHECK_EQ(frame_at(260), 32);
}

/* Lengths of 64 bits: 0xffffffff, then 8 bytes. */
TEST(records_with_lengths_of_64_bits)
{
	begin();
	uint8_t *c = cie();
	fde(c, 0, 64, 16);
	uint8_t *from = file.at;
	put32(0xffffffff);
	put32(0);
	put32(0);
	uint8_t *body = file.at;
	put32((uint32_t)(file.at - c));
	put32((uint32_t)(file.code + 64 - file.at));
	put32(64);
	put_byte(0);
	put_byte(0x0e);
	put_byte(24);
	put_byte(0);
	uint64_t len = (uint64_t)(file.at - body);
	memcpy(from + 4, &len, 8);
	uint8_t *next = fde(c, 128, 64, 32);
	put32(0);
	CHECK_EQ(frame_at(10), 16);
	CHECK_EQ(frame_at(70), 24);
	CHECK_EQ(frame_at(130), 32);
	begin(); /* ... that say more than there is */
	c = cie();
	fde(c, 0, 64, 16);
	put32(0xffffffff);
	put32(0xffffffff);
	put32(0xffffffff);
	next = fde(c, 128, 64, 32);
	CHECK_EQ(frame_at(10), 16);
	CHECK_EQ(frame_at(130), 0);
	CHECK(next > c);
}

/* No terminator: what follows the section is no table, and the segment's end is the end. */
TEST(without_an_end)
{
	begin();
	file.at = file.low + TABLES - 4096;
	uint8_t *c = cie();
	fde(c, 0, 64, 16);
	while (file.at < file.low + TABLES)
		put32(0x41424344);
	CHECK_EQ(frame_at(10), 16);
	begin();
	file.at = file.low + TABLES - 4096;
	c = cie();
	while (file.low + TABLES - file.at >= 24)
		fde(c, 0, 64, 16);
	CHECK_EQ(frame_at(10), 16);
}

/* Each record might begin a table, but no table exists: the search gives up. */
TEST(a_segment_of_nothing_but_beginnings)
{
	begin();
	file.at = file.low;
	while (file.low + TABLES - file.at >= 32)
		cie();
	CHECK_EQ(frame_at(10), 0);
	CHECK_EQ(entries(), 0);
}

/* All bytes that a table can have: it is read to its end, or not, and nothing else happens. */
TEST(random_tables_are_read_to_an_end)
{
	uint32_t seed = 12345;

	for (int round = 0; round < 300; round++) {
		begin();
		uint8_t *c = cie();
		for (int i = 0; i < 40; i++)
			fde(c, i * 64, 64, 16);
		put32(0);
		for (int i = 0; i < 1 + round % 9; i++) {
			seed = seed * 1664525 + 1013904223;
			file.low[4096 + (seed >> 8) % (size_t)(file.at - file.low - 4096)] =
				(uint8_t)(seed >> 3);
		}
		for (int i = 0; i < 40; i++) {
			struct cfi_row row;
			mt_cfi_row(&file.m, (uintptr_t)file.code + (uintptr_t)i * 64 + 5, &row);
		}
		CHECK(entries() <= 2 * 40);
		CHECK_EQ(munmap(file.low, TABLES + CODE), 0);
	}
}

/* .eh_frame_hdr that leads to it, and has no table of its own: nothing is looked for. */
TEST(a_header_without_a_table)
{
	begin();
	fde(cie(), 0, 64, 24); /* would be found first */
	put32(0);
	uint8_t *c = cie();
	fde(c, 0, 64, 16);
	put32(0);
	uint8_t *header = file.at;
	put_byte(1);
	put_byte(0x1b);
	put_byte(0xff);
	put_byte(0xff);
	put32((uint32_t)(c - file.at));
	file.m.eh_frame_hdr = (uintptr_t)header;
	CHECK_EQ(frame_at(10), 16);
}

#endif
