/* SPDX-License-Identifier: MIT
 *
 * loss.h - events that could not be counted, by reason: enum mtw_loss. Any thread.
 */
#ifndef MT_RECORD_LOSS_H
#define MT_RECORD_LOSS_H

#include "base/compiler.h"
#include "base/types.h"

#pragma GCC visibility push(hidden)

MT_COLD void mt_record_loss(unsigned reason, uint64_t bytes);
void mt_record_losses_restart(void); /* sets all to 0, while no thread counts */
void mt_record_losses(unsigned reason, uint64_t *events, uint64_t *bytes);

#pragma GCC visibility pop

#endif
