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

#define CODEMAP_NAME_MAX 4096u  /* bytes of a name, with its NUL; longer ones are cut */
#define CODEMAP_LINE_MAX 65536u /* bytes; a longer line is skipped */
#define CODEMAP_LINES_MAX (1u << 22)
#define CODEMAP_READ_MAX (1u << 30) /* bytes of a file; the rest is ignored */
#define CODEMAP_SLICE (8u << 20)    /* bytes that one codemap_read() reads: some 30 ms */

struct codemap;
struct codemap *codemap_new(void);
void codemap_free(struct codemap *c);
void codemap_forget(struct codemap *c); /* another file follows */
/* Reads appended lines; starts over when the file got shorter or its old text changed. True:
 * there is more, call again. fd: of a regular file. */
bool codemap_read(struct codemap *c, int fd);
/* Grows with each codemap_read() that found a line or started over. */
uint64_t codemap_version(const struct codemap *c);
bool codemap_full(const struct codemap *c); /* a limit was reached: later lines are ignored */
/* The name of the code at pc; false: no line covers it. If the file changed since the last read,
 * clears the map: read again. */
bool codemap_name(struct codemap *c, int fd, uint64_t pc, char name[CODEMAP_NAME_MAX]);

#endif
