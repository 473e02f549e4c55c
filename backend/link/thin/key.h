/* SPDX-License-Identifier: MIT
 *
 * key.h - key frames of a session that is thinned. Any thread.
 */
#ifndef LINK_THIN_KEY_H
#define LINK_THIN_KEY_H

#include "link/thin/stream.h"

/* The stream's next key frame, when its place is reached: copies or drops it. */
void thinned_key(struct thinned *s);

#endif
