/* SPDX-License-Identifier: MIT
 *
 * conf.h - MEMTOP_OPTIONS, and the options that change at run time (server thread).
 */
#ifndef MT_BASE_CONF_H
#define MT_BASE_CONF_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

/* False: malformed; the message is printed, and the program stays unprofiled. */
extern struct conf mt_conf;
bool mt_conf_parse(const char *text);
/* What memtop itself says in MEMTOP_START: it skips options that this agent does not know. */
void mt_conf_told(const char *text);
void mt_conf_reset(void); /* as if none had been given */
/* options in force, in the syntax of MEMTOP_OPTIONS */
size_t mt_conf_print(char *buf, size_t size);
/* At run time. Returns NULL, or the error, as text. apply() returns the error of the resulting
 * filter; then the option is unchanged. */
const char *mt_conf_set(const char *name, const char *value, const char *(*apply)(void));

#pragma GCC visibility pop

#endif
