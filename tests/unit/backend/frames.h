/* SPDX-License-Identifier: MIT
 *
 * frames.h - an agent's frames, written by hand: begin(), mtw_put() and the like into `out`, end().
 * The test defines sent(), which receives them. Include it once, after check.h.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include "wire/decode.h"

static uint8_t payload[70000];
static struct mtw_out out;

/* A frame is whole. */
static void sent(unsigned type, const uint8_t *bytes, size_t len);

static void begin(void)
{
	out = (struct mtw_out){ payload, payload + sizeof payload, false };
}

static void put_all(size_t n, const uint64_t *values)
{
	for (size_t i = 0; i < n; i++)
		mtw_put(&out, values[i]);
}
#define PUT(...)                                                                                   \
	put_all(sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), (uint64_t[]){ __VA_ARGS__ })

static void end(unsigned type)
{
	CHECK(!out.full);
	sent(type, payload, (size_t)(out.at - payload));
}

/* A frame of numbers only. */
#define NUMBERS(type, ...)                                                                         \
	do {                                                                                       \
		begin();                                                                           \
		PUT(__VA_ARGS__);                                                                  \
		end(type);                                                                         \
	} while (0)

static void hello_frame(unsigned pid, uint64_t start)
{
	begin();
	PUT(1, 0, pid, 0, start, 1000, 100000000, 64);
	mtw_put_string(&out, "x86_64");
	mtw_put_string(&out, "/usr/bin/made");
	mtw_put_string(&out, "0");
	mtw_put_string(&out, "");
	mtw_put(&out, 0);
	end(MTW_HELLO);
}

static void module_frame(void)
{
	begin();
	PUT(1, MTW_MODULE_MAIN, 0, 0x1000, 0x2000, 0, 0, 0);
	mtw_put_string(&out, "/nowhere/made");
	end(MTW_MODULE);
}

#endif
