/* SPDX-License-Identifier: MIT
 *
 * conf.h - MEMTOP_OPTIONS, and the options that change at run time (server thread).
 */
#ifndef MT_BASE_CONF_H
#define MT_BASE_CONF_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

/* False: malformed, the line was printed, stay unprofiled. */
extern struct conf mt_conf;
bool mt_conf_parse(const char *text);
void mt_conf_reset(void);                     /* as if none had been given */
size_t mt_conf_print(char *buf, size_t size); /* options in force, as they would be typed */
/* At run time; NULL, or what is wrong: apply() says that of the filter that comes of it, which is
 * then as it was. */
const char *mt_conf_set(const char *name, const char *value, const char *(*apply)(void));

#pragma GCC visibility pop

#endif
