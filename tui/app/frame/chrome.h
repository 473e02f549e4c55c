/* SPDX-License-Identifier: MIT
 *
 * chrome.h - draws the whole screen: the header, the tabs, the view in front, the last line. Main
 * thread.
 */
#ifndef CHROME_H
#define CHROME_H

struct app;

void frame_draw(struct app *a);

#endif
