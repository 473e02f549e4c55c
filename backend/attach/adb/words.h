/* SPDX-License-Identifier: MIT
 *
 * words.h - what adb says, in our words. adb.h includes it.
 */
#ifndef ATTACH_ADB_WORDS_H
#define ATTACH_ADB_WORDS_H

#include "base/base.h"

/* Sets *err to "what: WHY; what to do", from a state of `adb devices` or from a complaint of adb
 * or of a tool on the device. Returns -1. */
int adb_explain(const char *what, const char *said, struct err *err);
/* The first line of text with content, sanitized. */
const char *adb_line(const char *text, char *buf, size_t size);

#endif
