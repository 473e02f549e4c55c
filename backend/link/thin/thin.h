/* SPDX-License-Identifier: MIT
 *
 * thin.h - the thinner copy of a session (session/session.h has the rule). Any thread.
 */
#ifndef LINK_THIN_THIN_H
#define LINK_THIN_THIN_H

#include "session/session.h"

/* A session_rewrite. */
int thin_file(struct session_thinning *job);

#endif
