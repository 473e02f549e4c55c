/* SPDX-License-Identifier: MIT
 *
 * made_file.h - a whole file read, and written again with bytes changed. Include it once, after
 * check.h.
 */
#ifndef MADE_FILE_H
#define MADE_FILE_H

#include <stdlib.h>
#include <sys/stat.h>

static inline size_t made_load(const char *path, uint8_t **bytes)
{
	FILE *f = fopen(path, "r");
	struct stat st;

	CHECK(f && fstat(fileno(f), &st) == 0);
	*bytes = malloc((size_t)st.st_size);
	CHECK_EQ(fread(*bytes, 1, (size_t)st.st_size, f), st.st_size);
	fclose(f);
	return (size_t)st.st_size;
}

static inline void made_store(const char *path, const uint8_t *bytes, size_t len)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fwrite(bytes, 1, len, f) == len && fclose(f) == 0);
}

#endif
