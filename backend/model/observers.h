/* SPDX-License-Identifier: MIT
 *
 * observers.h - the observers of changes and of notices. Main thread only.
 */
#ifndef MODEL_OBSERVERS_H
#define MODEL_OBSERVERS_H

#include "model/model.h"

#define OBSERVERS_MAX 8u

struct observers {
	struct {
		void (*fn)(void *, const struct model_delta *, size_t);
		void *arg;
	} list[OBSERVERS_MAX];
	size_t count;
	void (*on_notice)(void *arg, const char *text);
	void *notice_arg;
};

/* d NULL: anything may have changed */
void observers_tell(const struct observers *x, const struct model_delta *d, size_t count);

#endif
