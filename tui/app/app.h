/* SPDX-License-Identifier: MIT
 *
 * app.h - one live view: what it watches, its views and the user's choices. Each part has its own
 * header; app/actions.h declares the functions of the other files in this folder. Main thread.
 */
#ifndef APP_H
#define APP_H

#include "app/choices.h"
#include "app/offer.h"
#include "app/shown.h"
#include "app/tui.h"
#include "views/views.h"

struct sources {
	struct loop_source *list[12];
	size_t count;
};

struct app {
	struct ui ui; /* first: views' requests are called with it */
	struct front front;
	struct kept kept;
	struct loop *loop;
	struct watch *first; /* of the process that was started or named; borrowed */
	const struct tui_options *options;
	/* Callbacks, so that lower files call no upper ones: the shown process changed; a request
	 * was typed */
	void (*on_change)(void *app, unsigned bits);
	unsigned (*request)(struct app *a, enum request r);
	uint32_t wanted;   /* the process to show once its agent listens; 0 = none */
	struct view *page; /* help or detail, over the current view; NULL = none */
	struct choices choices;
	struct offer offer;
	struct timing timing;
	struct building building;
	/* largest live size seen so far, so that size columns never get narrower */
	uint64_t most_held;
	struct sources sources;
	FILE *key_log;
	/* the child was asked to end: leave then, or with its last state; 0 = no */
	uint64_t leave_ns;
	bool quit;
	int status; /* what tui_run() returns */
};

/* The open page, else the current view. */
static inline struct view *front_view(const struct app *a)
{
	return a->page ? a->page : a->front.views[a->front.current];
}

#endif
