/* SPDX-License-Identifier: MIT
 *
 * suppressions.h - stacks whose memory a gate leaves out: memtop's own rules (owners/expected.h),
 * LeakSanitizer's and valgrind's files. Main thread only.
 *
 *   LeakSanitizer   leak:PATTERN     a function, source file or module of any frame has it in it;
 *                                    * any text, ^ the beginning, $ the end
 *   valgrind        { NAME  Memcheck:Leak  fun:F  obj:M  src:FILE:LINE  ... }
 *                                    frames from the allocation on; * and ?; ... any frames
 *
 * A file's form shows in its first line that is neither empty nor a comment. Of a valgrind file
 * only Memcheck's leaks count, and match-leak-kinds is ignored: memtop does not tell reachable
 * blocks from others. valgrind names the allocation function as the innermost frame; memtop's
 * stacks begin at its caller, so a leading allocation function is skipped.
 */
#ifndef CHECK_SUPPRESSIONS_H
#define CHECK_SUPPRESSIONS_H

#include "owners/expected.h"
#include "query/query.h"

struct suppressions;

#define SUPPRESSIONS_MAX 4096u           /* of LeakSanitizer and valgrind, together */
#define SUPPRESSIONS_FILE_MAX (8u << 20) /* bytes */

struct suppressions *suppressions_new(void);
void suppressions_free(struct suppressions *s);
/* Adds a file's rules. *wrong: its first invalid line, which is ignored. -1 and *err (2): the file
 * cannot be read. */
int suppressions_read(struct suppressions *s, const char *path, struct err *wrong, struct err *err);
/* Those in memtop's own form. */
struct expected *suppressions_own(const struct suppressions *s);
/* All others, in the order of their files; name: "leak:parse_*", or valgrind's NAME. */
size_t suppressions_count(const struct suppressions *s);
const char *suppressions_name(const struct suppressions *s, size_t i);
const char *suppressions_place(const struct suppressions *s, size_t i); /* "a.supp:12" */
/* The first of the others that matches a stack; SIZE_MAX = none. Frames: query_stack(). Sets
 * used[i] of all that match it. */
size_t suppressions_match(const struct suppressions *s, const struct model *m,
			  const struct frame_out *frames, size_t count, bool *used);

#endif
