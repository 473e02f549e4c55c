/* SPDX-License-Identifier: MIT
 *
 * build.c - what the Makefile says of this build.
 */
#include "base/build.h"

#include <memtop/wire.h>

const char build_version[] = MEMTOP_VERSION;
const char build_prefix[] = MEMTOP_PREFIX;

_Static_assert(sizeof build_version <= MTW_NAME_MAX, "the mark of this build is too long");
