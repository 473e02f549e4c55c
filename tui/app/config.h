/* SPDX-License-Identifier: MIT
 *
 * config.h - the user's file: $XDG_CONFIG_HOME/memtop/config, or ~/.config/memtop/config. Main
 * thread.
 *
 *     theme = light
 *     mouse = no              # yes
 *     percent = yes           # no
 *     direct = yes            # no: libraries by owner
 *     inlined = no            # yes: inlined functions are rows of the tree
 *     units = bytes           # auto: K, M, G as it fits; mib
 *     ascii = yes             # as the locale says
 *     source = ~/src          # folders with source files, DIR:DIR (:source)
 *     hide tree = AGE, SELF   # columns (c)
 *     key mark = m <F2>       # instead of the keys that memtop --keys lists for :mark
 *
 * '#' begins a comment. A wrong line is reported and skipped. Command-line options override the
 * file.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include "screen/text.h"

struct config {
	char theme[256]; /* "" = none is named */
	bool ascii, mouse, percent, direct, inlined;
	enum units units;
};

/* The first call reads the file and applies its keys (screen/keys.h). *said receives the first
 * wrong line; said may be NULL. */
const struct config *config_get(struct err *said);
/* Writes c and the changed keys. -1 and *err on failure; *path is set in both cases. */
int config_write(const struct config *c, char *path, size_t size, struct err *err);

#endif
