/* SPDX-License-Identifier: MIT
 *
 * clone.h - the clone(2) call that starts the server.
 */
#ifndef MT_BASE_CLONE_H
#define MT_BASE_CLONE_H

#pragma GCC visibility push(hidden)

/* clone(2) with all arguments, in glibc's order. Returns the child's tid, or -errno. */
int mt_prim_clone(int (*run)(void *), void *stack, int flags, void *arg, void *parent_tid,
		  void *tls, void *child_tid);

#pragma GCC visibility pop

#endif
