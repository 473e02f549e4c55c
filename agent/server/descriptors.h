/* SPDX-License-Identifier: MIT
 *
 * descriptors.h - closes the descriptors that the server inherited.
 */
#ifndef MT_SERVER_DESCRIPTORS_H
#define MT_SERVER_DESCRIPTORS_H

#pragma GCC visibility push(hidden)

void descriptors_close(void); /* every one of the caller's table, inherited by the server */

#pragma GCC visibility pop

#endif
