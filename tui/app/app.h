/* SPDX-License-Identifier: MIT
 *
 * app.h - one live view: what it watches, its views and the user's choices. app/actions.h
 * declares the functions of the other files in this folder. Main thread.
 */
#ifndef APP_H
#define APP_H

#include "app/tui.h"
#include "views/views.h"
#include "views/ui.h"
#include "app/travel.h"
#include "link/budget.h"
#include "screen/text.h"
#include "screen/theme.h"

#include <stdint.h>

/* find.c: the search (ui.shown.search) in the view or page in front. It repeats
 * while names and rows still arrive. app/search.c owns the prompt. */

struct find {
	long hits;    /* or HITS_NONE */
	bool coming;  /* with the next answer: find_found() */
	bool selects; /* ... selects one of them, else counts only */
	enum hit which;
	bool tells;         /* ... and says how many they are */
	size_t pending;     /* unresolved names */
	bool typing;        /* the prompt is open */
	uint64_t looked_ns; /* time of the last search */
};

/* v: the view or page in front. To act on. */
unsigned find_look(struct find *f, struct view *v, bool selects, enum hit which);
void find_found(struct find *f, struct view *v, size_t hits, size_t pending);
void find_say(struct find *f);                      /* how many there are, now or then */
unsigned find_anew(struct find *f, struct view *v); /* the rows' meaning changed */
/* After a refresh: the typed text may match new rows. newer: of another snapshot. To act on. */
unsigned find_follow(struct find *f, struct view *v, bool newer);
/* Ends the search without redrawing the view's hits. */
void find_forget(struct find *f, struct ui *ui);

static inline bool find_on(const struct find *f, const struct ui *ui) /* rows may be hits */
{
	return ui->shown.search[0] && f->hits >= 0;
}

/* front.c: brings a view or page to the front, refreshes it, and acts on what its handlers
 * return. */

struct app;
struct loop_source;

/* The shown process's state that views do not see (they see struct shown). */
struct front {
	struct view *views[VIEW_COUNT]; /* NULL: not in this session */
	enum view_id current;
	struct find find;
	struct travel travel; /* replays to the graphs' cursor */
	struct budget budget; /* --max-overhead */
};

/* Times of the last key, sort, ...: now_ns(). */
struct timing {
	uint64_t start_ns, key_ns, sort_ns, view_ns;
	bool due;      /* refresh without waiting for the next turn */
	bool unsorted; /* rows were refreshed since they were sorted */
};

void front_refresh(struct app *a, bool resort);    /* query again (does not draw) */
void front_rows(struct app *a, bool resort);       /* the rows alone */
void front_act(struct app *a, unsigned bits);      /* acts on a handler's bits */
void front_show(struct app *a, enum view_id v);    /* bring a view to the front */
void front_open(struct app *a, struct view *page); /* takes it */
void front_close(struct app *a);                   /* the page */

/* asker.c: the answers that views show. Those that take long are made by a thread, while the
 * last ones are drawn and the cursor moves in them. */

struct worker;
struct asker {
	struct worker *worker; /* NULL: none yet, or there can be none (tried) */
	bool tried;
	struct loop_source *done, *rest; /* rest: until the next answer begins */
	enum {
		ASKER_IDLE,
		ASKER_WORKS,
		ASKER_MADE /* what it made is not taken yet */
	} state;
	bool again, resort, figures; /* ask again, and sort, with new figures */
	struct {
		ui_change_fn *fn;
		uint32_t id;
	} * later;
	size_t later_count, later_room;
	/* How often other rows were wanted of each view; the last: of all views. */
	uint64_t changes[VIEW_COUNT + 1];
	uint64_t wanted[VIEW_COUNT]; /* what each view's rows are of */
	unsigned by_key; /* 1 + the view in which the last key asked for other rows; 0 = none */
	/* of the answer under way: */
	bool apart; /* the thread makes it, or has */
	enum view_id of;
	uint64_t asked;
	struct verdict verdict;
	uint64_t cost_ns; /* of the last one */
};

/* See struct ui_ops; of VIEW_COUNT: of all views. */
void asker_later(struct app *a, enum view_id of, ui_change_fn *fn, uint32_t id);
/* Begins an answer, or has one follow the one under way. figures: takes them, too. */
void asker_ask(struct app *a, bool figures, bool resort);
void asker_finish(struct app *a); /* what is asked for is shown when it returns */
void asker_settle(void *app);     /* waits for the thread; nothing is taken */
void asker_drop(struct app *a);   /* what is under way is of no use */
void asker_end(struct app *a);
/* A key asks for other rows of the view. */
void asker_by_key(struct app *a, enum view_id of);
/* Keys are meant for rows that are still to come: the last key asked for them, or there are none.
 */
bool asker_is_awaited(const struct app *a);
static inline bool asker_works(const struct asker *k)
{
	return k->state != ASKER_IDLE || k->again;
}

/* shown.c: which process of the tree is shown. */

struct kept_process {
	struct shown shown;
	struct front front;
};

/* The saved state of processes shown earlier. */
struct kept {
	struct kept_process **list; /* owned, with all that it points to */
	size_t count, room;
};

void shown_watch(struct app *a, struct watch *w); /* restores the process's saved state */
/* Shows a process in all views, now or once its agent listens; -1: impossible. */
int shown_process(struct app *a, uint32_t id);
/* Until a key is pressed: shows all processes where the program that was started only starts
 * others. */
void shown_begin(struct app *a);
void shown_go_on(struct app *a); /* the processes changed: shows a pending one */
void shown_release(struct app *a);

/* choices.c: display settings that apply to all processes and views. Each change is reported in
 * the status line. */

struct choices {
	struct theme theme;
	bool percent; /* live sizes in percent of all live bytes */
	bool mouse;   /* memtop takes clicks from the terminal */
};

int choices_theme(struct app *a, const char *name); /* -1: unknown name */
unsigned choices_next_theme(struct app *a);
void choices_units(enum units u);
unsigned choices_direct(struct app *a, bool on); /* libraries by direct caller, or by owner */
unsigned choices_mouse(struct app *a);           /* on or off */

/* offer.c: offers to sample when the agent costs too much. */

struct offer {
	uint64_t sample;   /* offered interval, in bytes */
	uint64_t after_ns; /* no offer before */
};

void offer_sampling(struct app *a); /* after a refresh */

struct sources {
	struct loop_source *list[12];
	size_t count;
};

struct app {
	struct ui ui; /* first: views' actions are called with it */
	struct front front;
	struct kept kept;
	struct loop *loop;
	struct watch *first; /* of the process that was started or named; borrowed */
	const struct tui_options *options;
	/* Callbacks, so that lower files call no upper ones: the shown process changed; an action
	 * was typed */
	void (*on_change)(void *app, unsigned bits);
	void (*on_answer)(struct app *a); /* an answer that took long was taken */
	unsigned (*action)(struct app *a, enum action r);
	uint32_t wanted;   /* the process to show once its agent listens; 0 = none */
	struct view *page; /* help or detail, over the current view; NULL = none */
	struct asker asker;
	struct choices choices;
	struct offer offer;
	struct timing timing;
	/* largest live size seen so far, so that size columns never get narrower */
	uint64_t most_held;
	struct sources sources;
	FILE *key_log;
	bool logged_whole; /* the key log has a line since the rows became whole */
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
