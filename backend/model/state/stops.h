/* SPDX-License-Identifier: MIT
 *
 * stops.h - the clock that leaves out when the program could not run. Pure.
 */
#ifndef MODEL_STATE_STOPS_H
#define MODEL_STATE_STOPS_H

#include "model/paths/types.h"

/* Session time up to `ns` without stops. Never falls as ns grows. */
uint64_t stops_running(const struct stops *x, uint64_t ns);
const struct stop *stops_open(const struct stops *x);         /* it is stopped; NULL = it runs */
struct stops stops_up_to(const struct stops *x, uint64_t ns); /* those known at that instant */

#endif
