/* SPDX-License-Identifier: MIT
 *
 * openmetrics.h - the figures of followed processes as OpenMetrics 1.0, or in the older text format
 * of Prometheus. Main thread only.
 *
 * Names, types and labels are a contract (memtop-serve(7)). Per process there are some fifty
 * series, and one per owner, at most `top` + 1: the rest is summed as owner="other".
 */
#ifndef SERVE_OPENMETRICS_H
#define SERVE_OPENMETRICS_H

#include "serve/fleet.h"

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define CLASSIC_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct openmetrics_options {
	size_t top;   /* owners of each process */
	long pid;     /* this process alone; 0 = all */
	bool classic; /* the older format: no state sets, no units, no end mark */
};

void openmetrics_write(struct fleet *f, const struct openmetrics_options *o, FILE *out);
/* Does a client that sends this Accept header (NULL = none) want the older format? */
bool openmetrics_classic(const char *accept);
/* A label's value: any bytes become clean UTF-8, with \, " and line ends escaped; cut to fit. */
char *openmetrics_label(char *buf, size_t size, const char *text);

#endif
