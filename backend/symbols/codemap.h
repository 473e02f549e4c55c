/* SPDX-License-Identifier: MIT
 *
 * codemap.h - the lines of a map of generated code ("START SIZE name", hex), by address. No global
 * state; one thread at a time.
 *
 * Another program writes the file while memtop reads it. So it is read in slices, with bounds for
 * its size, its lines and a line's length; malformed lines are skipped. Where lines overlap the
 * latest wins, as in perf. Only addresses are kept (16 bytes a line); names are read from the file
 * on demand.
 */
#ifndef SYMBOLS_CODEMAP_H
#define SYMBOLS_CODEMAP_H

#include "base/base.h"

#define CODEMAP_NAME_MAX                                                                           \
	4096u                   /* bytes of a name, with its end; the rest of a longer one is cut  \
				 */
#define CODEMAP_LINE_MAX 65536u /* bytes; a longer line is skipped */
#define CODEMAP_LINES_MAX (1u << 22)
#define CODEMAP_READ_MAX (1u << 30) /* bytes of a file; the rest is ignored */
#define CODEMAP_SLICE (8u << 20)    /* bytes that one codemap_read() reads: some 30 ms */

struct codemap;
struct codemap *codemap_new(void);
void codemap_free(struct codemap *c);
void codemap_forget(struct codemap *c); /* another file follows */
/*
 * Reads what was appended; starts over when the file is shorter than before, or its text before
 * that differs. True: there is more, call again. fd: of a regular file.
 */
bool codemap_read(struct codemap *c, int fd);
/* One more with each codemap_read() that found a line or started over. */
uint64_t codemap_version(const struct codemap *c);
bool codemap_full(const struct codemap *c); /* a bound was met: later lines are left out */
/* The name of the code at pc; false: no line has it. If the file changed since it was read, all is
 * forgotten: read again. */
bool codemap_name(struct codemap *c, int fd, uint64_t pc, char name[CODEMAP_NAME_MAX]);

#endif
