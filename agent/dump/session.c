/* SPDX-License-Identifier: MIT */
#include "dump/session.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/syscalls.h"
#include "collect/memory.h"
#include "dump/zstd_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <memtop/wire.h>
#include <string.h>

#define MAGIC "MEMTOPS\n"
#define HEAD 16u
#define BLOCK_HEAD 32u
#define ENTRY 24u
#define TIME_BYTES 32u /* S_TIME, the first frame of each block */

static void number(uint8_t *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static bool put(void *arg, const void *bytes, size_t len)
{
	struct session *f = arg;
	const char *at = bytes;

	while (len && !f->failed) {
		long n = mt_prim_call(SYS_write, f->fd, (long)at, (long)len, 0, 0, 0);
		if (n == -EINTR)
			continue;
		if (n <= 0) {
			f->failed = n ? n : -EIO;
			break;
		}
		at += n;
		len -= (size_t)n;
		f->size += (uint64_t)n;
	}
	return !f->failed;
}

long session_begin(struct session *f, const char *path, size_t raw_room)
{
	uint8_t head[HEAD] = MAGIC "\1";

	*f = (struct session){ .fd = -1, .raw_room = raw_room + TIME_BYTES };
	f->block = memory_map(SESSION_BLOCKS * sizeof(*f->block));
	f->raw = memory_map(f->raw_room);
	mt_format(f->part, sizeof(f->part), "%s.part", path);
	f->fd = f->block && f->raw
			? (int)mt_prim_call(SYS_openat, AT_FDCWD, (long)f->part,
					    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
					    0600, 0, 0)
			: -ENOMEM;
	if (f->fd < 0) {
		long why = f->fd;
		f->part[0] = 0; /* it is another's */
		session_release(f);
		return why;
	}
	put(f, head, sizeof(head));
	return 0;
}

static size_t put_time(uint8_t *to, uint64_t ns)
{
	uint8_t payload[10];
	struct mtw_out p = { payload, payload + sizeof(payload), false };
	struct mtw_out o = { to, to + TIME_BYTES, false };

	mtw_put(&p, ns);
	mtw_put(&o, MTW_S_TIME);
	mtw_put_bytes(&o, payload, (size_t)(p.at - payload));
	return (size_t)(o.at - to);
}

void session_block(struct session *f, uint64_t ns, const uint8_t *frames, size_t len)
{
	uint8_t head[BLOCK_HEAD] = "BLK1";
	size_t n = put_time(f->raw, ns);

	if (f->failed || !len)
		return;
	if (f->count == SESSION_BLOCKS || n + len > f->raw_room) {
		f->failed = -EFBIG;
		return;
	}
	memcpy(f->raw + n, frames, len);
	f->block[f->count++] = (struct session_block){ f->size, ns };
	number(head + 4, zstd_raw_size(n + len), 4);
	number(head + 8, n + len, 4);
	number(head + 12, ns, 8);
	number(head + 20, ns, 8);
	if (put(f, head, sizeof(head)))
		zstd_raw_write(f->raw, n + len, put, f);
}

/* CRC-32C (Castagnoli), as backend/session/format.h's. */
static uint32_t crc(uint32_t sum, const uint8_t *p, size_t len)
{
	while (len--) {
		sum ^= *p++;
		for (int i = 0; i < 8; i++)
			sum = sum >> 1 ^ (sum & 1 ? 0x82f63b78u : 0);
	}
	return sum;
}

static void put_index(struct session *f)
{
	uint8_t head[8] = "IDX1", entry[ENTRY], trailer[16], sum[4];
	uint32_t all = UINT32_MAX;

	number(trailer, f->size, 8);
	memcpy(trailer + 8, "MEMTOPE\n", 8);
	number(head + 4, (uint64_t)f->count * ENTRY, 4);
	put(f, head, sizeof(head));
	for (uint32_t i = 0; i < f->count; i++) {
		number(entry, f->block[i].offset, 8);
		number(entry + 8, f->block[i].ns, 8);
		number(entry + 16, f->block[i].ns, 8);
		all = crc(all, entry, sizeof(entry));
		put(f, entry, sizeof(entry));
	}
	number(sum, ~all, 4);
	put(f, sum, sizeof(sum));
	put(f, trailer, sizeof(trailer));
}

/* A full disk may show itself only when the file is closed. */
long session_end(struct session *f)
{
	put_index(f);
	long closed = mt_prim_call(SYS_close, f->fd, 0, 0, 0, 0, 0);
	f->fd = -1;
	f->failed = f->failed ? f->failed : closed;
	return f->failed;
}

/* Only a session, or an empty file, is written over: never a device, a link, or another's text. */
static bool may_replace(const char *path)
{
	char head[8] = "";
	call_stat st;

	if (mt_prim_call(CALL_FSTATAT, AT_FDCWD, (long)path, (long)&st, AT_SYMLINK_NOFOLLOW, 0,
			 0) != 0)
		return true; /* there is none */
	if ((st.st_mode & S_IFMT) != S_IFREG)
		return false;
	long fd = st.st_size ? mt_prim_call(SYS_openat, AT_FDCWD, (long)path,
					    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0, 0, 0)
			     : -1;
	if (fd >= 0) {
		mt_prim_call(SYS_read, fd, (long)head, sizeof(head), 0, 0, 0);
		mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
	}
	return !st.st_size || !memcmp(head, MAGIC, sizeof(head));
}

/* A link fails where the name is taken. Some file systems know no links. */
long session_name(struct session *f, const char *path, bool replace)
{
	long from = (long)f->part, to = (long)path, at = AT_FDCWD;
	call_stat st;

	if (replace && !may_replace(path))
		return -EEXIST;
	long rc = replace ? -EPERM : mt_prim_call(SYS_linkat, at, from, at, to, 0, 0);
	if (!rc)
		return 0; /* session_release() removes the other name */
	if (rc == -EEXIST || (!replace && mt_prim_call(CALL_FSTATAT, at, to, (long)&st,
						       AT_SYMLINK_NOFOLLOW, 0, 0) == 0))
		return -EEXIST;
	return mt_prim_call(SYS_renameat, at, from, at, to, 0, 0);
}

void session_release(struct session *f)
{
	if (f->fd >= 0)
		mt_prim_call(SYS_close, f->fd, 0, 0, 0, 0, 0);
	if (f->part[0])
		mt_prim_call(SYS_unlinkat, AT_FDCWD, (long)f->part, 0, 0, 0, 0);
	memory_unmap(f->block, SESSION_BLOCKS * sizeof(*f->block));
	memory_unmap(f->raw, f->raw_room);
	*f = (struct session){ .fd = -1 };
}
