/* SPDX-License-Identifier: MIT
 *
 * maps_kind.h - tells a loaded object's kind by its name.
 */
#ifndef MT_MODULES_MAPS_KIND_H
#define MT_MODULES_MAPS_KIND_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

uint32_t mt_maps_kind(const char *path); /* MTW_MODULE_LIBC, _CXX or _VDSO; 0 = none of them */

#pragma GCC visibility pop

#endif
