/* SPDX-License-Identifier: MIT
 *
 * ages.h - the one rule of age: how far apart what is kept of a time stays, in memory and in files.
 * Any thread.
 *
 *   up to 1 minute     everything
 *   up to 10 minutes   1 second
 *   up to 2 hours      10 seconds
 *   up to a day        1 minute
 *   older              10 minutes
 *
 * Time is divided into cells of that length, of which each keeps the first that is in it. Each
 * length divides the next. So who thins early, and who thins late, keep the same in the end.
 */
#ifndef BASE_AGES_H
#define BASE_AGES_H

#include <stdbool.h>
#include <stdint.h>

#define AGES_FINE_NS (7200ull * 1000000000) /* rows of a graph end there: older points are few */

/* Length of a cell in ns; 0 = everything stays. */
uint64_t ages_apart(uint64_t age_ns);
uint64_t ages_whole_ns(void); /* everything younger stays */
/* Does what is so old stay? before_ns: time of the last one that stayed; times: of longer cells. */
bool ages_keep(uint64_t age_ns, uint64_t before_ns, uint64_t time_ns, uint64_t times);

#endif
