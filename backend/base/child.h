/* SPDX-License-Identifier: MIT
 *
 * child.h - a forked child that goes on with the model of an instant, in its one thread, and ends
 * by _exit().
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#define CHILD_ENDED 1 /* the status of a child for which the memory runs out; it says nothing */

/* In the child: blocks signals and closes what others wait for the end of. only >= 0: of all
 * descriptors it keeps this one and stderr; -1: it keeps all but sockets. */
void child_begin(int only);

#endif
