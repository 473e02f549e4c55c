/* SPDX-License-Identifier: MIT
 *
 * build.h - what this build of memtop is called, and where it is installed. Any thread.
 *
 * The Makefile says both. build.c alone is compiled with them: when they change, one small file is
 * compiled again.
 */
#ifndef BASE_BUILD_H
#define BASE_BUILD_H

extern const char build_version[]; /* "0.2.0+43dd7ba1": the release + the build's own mark */
extern const char build_prefix[];  /* "/usr/local" */

#endif
