/* SPDX-License-Identifier: MIT
 *
 * source.h - source files as the debug information names them, found on this machine. Main thread.
 *
 * A path is tried as it is (a relative one from the current folder), then below the user's folders
 * (:source DIR, or source = DIR in the configuration), the longest suffix first:
 * /build/x/src/tile.c is DIR/build/x/src/tile.c, ..., DIR/src/tile.c, DIR/tile.c. Only regular
 * files are opened.
 */
#ifndef SOURCE_H
#define SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_AROUND 3u /* lines shown before and after the wanted one */
#define SOURCE_LINES (2 * SOURCE_AROUND + 1)

/* "DIR:DIR"; false: too long. */
bool source_set_folders(const char *folders);
const char *source_folders(void);
/* False: not on this machine. */
bool source_find(const char *file, char *out, size_t size);

/* A few lines of a file, read again when it changed. All 0 at first. */
struct source_text {
	char *file, *path;         /* owned; as requested; as found, NULL = not on this machine */
	uint32_t line;             /* as asked for */
	uint32_t first, count;     /* lines: count of them, the first with this number */
	uint64_t changed_ns, size; /* of the file; changed_ns by the wall clock */
	char *lines[SOURCE_LINES]; /* owned; tabs expanded, common indentation removed */
};
void source_read(struct source_text *s, const char *file, uint32_t line);
void source_release(struct source_text *s);

#endif
