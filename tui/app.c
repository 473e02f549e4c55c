/* SPDX-License-Identifier: MIT
 *
 * app.c - the live view's event wiring.
 */
#include "tui.h"

#include "loop.h"

int tui_run(struct loop *loop, struct watch *w, const struct tui_options *o)
{
	(void)w;
	(void)o;
	loop_run(loop);
	return 0;
}

int tui_choose(struct loop *loop, const struct tui_options *o, struct target *t)
{
	(void)loop;
	(void)o;
	(void)t;
	return 0;
}
