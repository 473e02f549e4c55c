/* SPDX-License-Identifier: MIT
 *
 * log.h - the access log: any thread writes lines, one thread takes them away in batches.
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>
#include <stddef.h>

void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *log_thread(void *unused); /* until log_stop() */
void log_stop(void);

#endif
