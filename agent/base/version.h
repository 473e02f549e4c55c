/* SPDX-License-Identifier: MIT
 *
 * version.h - what this build of the agent is called.
 */
#ifndef MT_BASE_VERSION_H
#define MT_BASE_VERSION_H

extern const char mt_version[]; /* "0.2.0+43dd7ba1": the release + the build's own mark */

#endif
