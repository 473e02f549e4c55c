/* SPDX-License-Identifier: MIT */
#include "report/gzip.h"

#include "base/base.h"

#include <stdlib.h>
#include <sys/types.h>
#include <zlib.h>

#define BUFFER 65536u

struct gzip {
	z_stream zip;
	FILE *out;
};

static void put(struct gzip *g, const char *data, size_t len, int flush)
{
	uint8_t chunk[16384];

	g->zip.next_in = (Bytef *)(uintptr_t)data;
	g->zip.avail_in = (uInt)len;
	do {
		g->zip.next_out = chunk;
		g->zip.avail_out = sizeof chunk;
		if (deflate(&g->zip, flush) == Z_STREAM_ERROR)
			BUG("deflate: the stream is in a wrong state");
		fwrite(chunk, 1, sizeof chunk - g->zip.avail_out, g->out);
	} while (!g->zip.avail_out);
}

static ssize_t on_write(void *gzip, const char *data, size_t len)
{
	put(gzip, data, len, Z_NO_FLUSH);
	return (ssize_t)len;
}

static int on_close(void *gzip)
{
	struct gzip *g = gzip;

	put(g, NULL, 0, Z_FINISH);
	deflateEnd(&g->zip);
	free(g);
	return 0;
}

FILE *gzip_open(FILE *out)
{
	struct gzip *g = xcalloc(1, sizeof *g);
	FILE *f = fopencookie(g, "w",
			      (cookie_io_functions_t){ .write = on_write, .close = on_close });

	g->out = out;
	if (!f || setvbuf(f, NULL, _IOFBF, BUFFER) ||
	    deflateInit2(&g->zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY))
		base_out_of_memory();
	return f;
}
