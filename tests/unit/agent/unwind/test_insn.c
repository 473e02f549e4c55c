/* SPDX-License-Identifier: MIT
 *
 * test_insn.c - instruction lengths: a table of unusual ones, and a whole C library against
 * objdump.
 */
#include "check.h"
#include "unwind/insn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct insn read_one(const char *hex)
{
	uint8_t bytes[16] = { 0 };
	unsigned n = 0, v;
	struct insn i;

	for (; sscanf(hex, "%2x", &v) == 1; hex += hex[2] ? 3 : 2)
		bytes[n++] = (uint8_t)v;
	CHECK(mt_insn_read(bytes, n, &i));
	CHECK_EQ(i.bytes, n);
	CHECK(!mt_insn_read(bytes, n - 1, &i) || i.bytes < n); /* cut off */
	mt_insn_read(bytes, n, &i);
	return i;
}

TEST(fields_of_an_instruction_are_read)
{
	struct insn i = read_one("48 8b 65 f0"); /* mov -0x10(%rbp), %rsp */

	CHECK(i.op == 0x8b && i.mod == 1 && i.reg == 4 && i.rm == 5 && i.disp == -16 && i.wide);
	i = read_one("49 8b 65 f0"); /* mov -0x10(%r13), %rsp */
	CHECK(i.rm == 13);
	i = read_one("48 8b ac 24 80 00 00 00"); /* mov 0x80(%rsp), %rbp */
	CHECK(i.op == 0x8b && i.reg == 5 && i.sib_rsp && i.disp == 128);
	i = read_one("4a 8b 2c 24"); /* mov (%rsp,%r12,1), %rbp */
	CHECK(!i.sib_rsp);
	i = read_one("48 81 c4 e8 03 00 00"); /* add $1000, %rsp */
	CHECK(i.op == 0x81 && i.mod == 3 && i.reg == 0 && i.rm == 4 && i.imm == 1000);
	i = read_one("41 5d"); /* pop %r13 */
	CHECK(i.op == 0x5d && i.reg == 13);
	i = read_one("0f 85 00 ff ff ff");
	CHECK(i.map == 1 && i.op == 0x85 && i.imm == -256);
	i = read_one("e9 fb ff ff ff");
	CHECK(i.op == 0xe9 && i.imm == -5);
	i = read_one("48 8b 2d 10 00 00 00"); /* mov 0x10(%rip), %rbp: not at rbp */
	CHECK(i.rm == 0xff && i.reg == 5);
}

TEST(instructions_of_every_length_are_measured)
{
	static const char *const all[] = {
		"48 b8 01 02 03 04 05 06 07 08",
		"66 b8 01 02",
		"66 0f 1f 84 00 00 00 00 00",
		"f6 00 01",
		"f6 10",
		"66 f7 00 01 02",
		"48 a1 01 02 03 04 05 06 07 08",
		"c5 f8 77",
		"c5 fd 6f 06",
		"c4 e3 7d 39 c1 01",
		"62 f1 7c 48 10 06",
		"62 f3 7d 48 3a c1 01",
		"f3 0f 1e fa",
		"66 0f 3a 0f c1 08",
		"0f 38 00 c1",
		"c8 10 00 00",
		"6b c0 05",
	};
	struct insn i;

	for (size_t n = 0; n < sizeof(all) / sizeof(*all); n++)
		read_one(all[n]);
	CHECK(!mt_insn_read((const uint8_t *)"\x06", 1, &i));
	CHECK(!mt_insn_read((const uint8_t *)"\xea\0\0\0\0\0\0", 7, &i));
	CHECK(!mt_insn_read(
		(const uint8_t *)"\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66",
		16, &i));
	CHECK(!mt_insn_read((const uint8_t *)"", 0, &i));
}

/* "  address:\tbytes \ttext"; a long instruction goes on in a line without text. */
TEST(the_c_library_as_objdump_reads_it)
{
	FILE *in = popen("objdump -dw $(ldd /proc/$PPID/exe | awk '$3 ~ /libc\\.so/ { print $3 }') "
			 "2>/dev/null",
			 "r");
	unsigned long seen = 0, wrong = 0;
	char line[4096];

	CHECK(in != NULL);
	while (fgets(line, sizeof(line), in)) {
		char *tab = strchr(line, '\t'), *text = tab ? strchr(tab + 1, '\t') : NULL;
		uint8_t bytes[32];
		size_t n = 0;
		struct insn i;

		if (!text || strstr(text, "(bad)") || strstr(text, ".byte"))
			continue;
		for (char *at = tab + 1; at < text && n < sizeof(bytes); n++) {
			char *end;
			bytes[n] = (uint8_t)strtoul(at, &end, 16);
			if (end == at || end > text)
				break;
			at = end;
		}
		seen++;
		if (!mt_insn_read(bytes, n, &i) || i.bytes != n) {
			if (wrong++ < 10)
				printf("  %s", line);
		}
	}
	CHECK_EQ(pclose(in), 0);
	printf("  %lu instructions, %lu differ\n", seen, wrong);
	CHECK(seen > 100000);
	CHECK_EQ(wrong, 0);
}
