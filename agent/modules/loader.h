/* SPDX-License-Identifier: MIT
 *
 * loader.h - the loader's functions that a static program has not: weak, so that none is brought
 * into one. Test dlsym or dladdr before the first call of any.
 */
#ifndef MT_LOADER_H
#define MT_LOADER_H

#include <dlfcn.h>

#pragma weak dlsym
#pragma weak dlerror
#pragma weak dladdr
#ifdef __GLIBC__
#pragma weak dladdr1
#endif

#endif
