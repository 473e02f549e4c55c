/* SPDX-License-Identifier: MIT
 *
 * looked.h - the time of the agent's last scan, where it differs from the instant on screen.
 * Session time, ns. Main thread.
 */
#ifndef LOOKED_H
#define LOOKED_H

#include <memtop/wire.h>
#include <stdint.h>

struct ui;

/* The scan is on screen: repeats it, unless the session stands still. */
void looked_want(struct ui *ui, enum mtw_kind kind);
/* Age of the scan; 0 = of this instant, or no scan. */
uint64_t looked_ago(const struct ui *ui, enum mtw_kind kind);
/* The same when worth showing; else 0. */
uint64_t looked_long_ago(const struct ui *ui, enum mtw_kind kind);

#endif
