/* SPDX-License-Identifier: MIT
 *
 * ages.h - the age of the blocks of each row on screen, or of every row when sorted by age.
 * Requested while the column is shown, and read once per refresh. Main thread.
 */
#ifndef AGES_H
#define AGES_H

#include "views/ui.h"

/* All 0 at first. */
struct ages {
	uint32_t *ids; /* owned, as the next */
	struct age *of;
	size_t first, count, room, of_room; /* of the rows from `first` on */
	uint64_t version;                   /* of what is known */
	bool part; /* all are wanted, and are too many: rows are sorted by those of the screen */
};

enum ages_of { AGES_OF_NONE, AGES_OF_SHOWN, AGES_OF_ALL };
/* `shown`: there is a column for ages. `sort`: enum query_column. */
enum ages_of ages_wanted(bool shown, int sort);
/*
 * In refresh(), when the rows are there. `sites`: they are call sites, not rows of the tree. True:
 * all are wanted, and others are known than at the last time: rows sorted by ages have another
 * order, and then want to be taken again.
 */
bool ages_take(struct ages *g, struct ui *ui, bool sites, enum ages_of of, const struct list *l,
	       list_id_fn *id, void *arg);
/* not known: known is false */
const struct age *ages_at(const struct ages *g, size_t row, uint64_t id);
/* After drawing: rows on the screen were not among those of the last refresh; there should be
 * another one. */
bool ages_lack(void);
void ages_release(struct ages *g);
/* ", 3.2M of no known age", ", ages of 40 s ago" or that they are not of all rows; "" = nothing to
 * say. Returns out. */
char *ages_words(const struct ages *g, const struct ui *ui, char *out, size_t size);
/* The filter is about ages or threads, and nothing passes: why? NULL = for no reason of theirs. */
const char *ages_missing(const struct ui *ui);
/* Asks the agent for cohorts when it is time to. */
void ages_ask(struct ui *ui);

#endif
