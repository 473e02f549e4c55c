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

/* Shown now: asked for again and again, unless what is shown stands still. */
void looked_want(struct ui *ui, enum mtw_kind kind);
/* How old it is; 0 = of this instant, or there is none. */
uint64_t looked_ago(const struct ui *ui, enum mtw_kind kind);
/* ... where that is worth a word; else 0. */
uint64_t looked_long_ago(const struct ui *ui, enum mtw_kind kind);

#endif
