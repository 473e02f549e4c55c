/* SPDX-License-Identifier: MIT
 *
 * every.h - the words for automatic marks, as chosen by :every. Main thread.
 */
#ifndef EVERY_H
#define EVERY_H

#include "processes/every.h"

/* "every 60 s, next in 12 s"; "" = never */
void every_words(const struct every *e, char *out, size_t size);

#endif
