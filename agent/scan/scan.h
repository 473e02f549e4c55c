/* SPDX-License-Identifier: MIT
 *
 * scan.h - threads, ages and memory from the live map, at viewers' requests. Server thread.
 */
#ifndef MT_SCAN_SCAN_H
#define MT_SCAN_SCAN_H

#include "base/types.h"

#include <memtop/wire.h>

#pragma GCC visibility push(hidden)

struct server;
struct viewer;
struct mtw_in;

/* Requests cohorts of these n slots, 0 = of all. False: malformed (in->bad), or no memory. */
bool scan_ask(struct viewer *v, uint64_t request, enum mtw_kind kind, struct mtw_in *in,
	      uint64_t n);
void scan_run(struct server *s);         /* when one waits */
bool scan_waits(const struct server *s); /* a scan was requested, and none is running */
/* the target is gone: makes the final scans of threads, ages and memory */
void scan_last(struct server *s);

#pragma GCC visibility pop

#endif
