/* SPDX-License-Identifier: MIT
 *
 * status.h - the one line that says what just happened, for some seconds. Main thread.
 */
#ifndef STATUS_H
#define STATUS_H

#include "screen/theme.h"

void status_say(const char *format, ...) PRINTF(1, 2);
/* Returns -1, so that a handler can end with it. */
int status_error(const char *format, ...) PRINTF(1, 2);
/* NULL when empty or expired. */
const char *status_text(enum role *r);
/* A key was pressed: removes a line older than a second. */
void status_key(void);
void status_clear(void);

#endif
