/* SPDX-License-Identifier: MIT
 *
 * zstd_raw.h - bytes as a zstd frame without compression. Any thread.
 *
 * A frame is a header, blocks of at most 128 KiB with a header of three bytes each, and the lower
 * half of the content's XXH64: RFC 8878, sections 3.1.1 and 3.1.1.2.2 (raw blocks). Every zstd
 * reads it and verifies the checksum, and the agent needs no library.
 */
#ifndef MT_DUMP_ZSTD_RAW_H
#define MT_DUMP_ZSTD_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* bytes of the frame of `len` content bytes; len is at least 1 and below 2^32 */
size_t zstd_raw_size(size_t len);
/* Passes the frame to put() piece by piece; false as soon as put() is. */
bool zstd_raw_write(const uint8_t *content, size_t len,
		    bool (*put)(void *arg, const void *bytes, size_t len), void *arg);
uint64_t zstd_raw_xxh64(const uint8_t *p, size_t len); /* seed 0 */

#pragma GCC visibility pop

#endif
