/* SPDX-License-Identifier: MIT
 *
 * pack.h - writes JSON into an html page: compressed (zlib) and in base64, so that no name can
 * end the element that holds it, and a page of 100,000 stacks stays small. Main thread only.
 *
 * Values follow each other; commas come by themselves. Errors of the stream stay in it
 * (report_flush()).
 */
#ifndef REPORT_HTML_PACK_H
#define REPORT_HTML_PACK_H

#include "base/base.h"

struct pack;

struct pack *pack_new(FILE *out);
void pack_end(struct pack *p); /* writes the rest, frees p */

/* '{' or '[', in a list or after a key; pack_close() takes the other half. */
void pack_open(struct pack *p, char bracket);
void pack_close(struct pack *p, char bracket);
void pack_key(struct pack *p, const char *key);
/* Foreign text, cleaned (base/sanitize.h); null for NULL. */
void pack_text(struct pack *p, const char *s);
void pack_number(struct pack *p, int64_t n);
void pack_size(struct pack *p, uint64_t n);
void pack_real(struct pack *p, double n); /* with three decimals, if it is not whole */
void pack_seconds(struct pack *p, uint64_t ns);
void pack_flag(struct pack *p, bool on); /* 0 or 1 */
void pack_null(struct pack *p);

#endif
