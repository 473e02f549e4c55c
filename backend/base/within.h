/* SPDX-License-Identifier: MIT
 *
 * within.h - files below another root folder: a container's, a --sysroot. Any thread.
 */
#ifndef BASE_WITHIN_H
#define BASE_WITHIN_H

/*
 * Opens the file that a process with this root folder has at the path: links on the way, also
 * absolute ones, stay below the root. O_CLOEXEC is added. With O_NOFOLLOW a link as the last part
 * is refused. Linux before 5.6 follows none of the links with it, and all of them as from here
 * without it. -1 and errno.
 */
int within_open(const char *root, const char *path, int flags);

#endif
