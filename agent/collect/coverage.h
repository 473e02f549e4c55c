/* SPDX-License-Identifier: MIT
 *
 * coverage.h - attached: which modules' calls are hooked. Server thread.
 */
#ifndef MT_COLLECT_COVERAGE_H
#define MT_COLLECT_COVERAGE_H

#pragma GCC visibility push(hidden)

void coverage_look(void); /* unloads are held */

#pragma GCC visibility pop

#endif
