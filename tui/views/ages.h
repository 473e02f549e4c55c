/* SPDX-License-Identifier: MIT
 *
 * ages.h - the age of the blocks of each row on screen, or of every row when sorted by age.
 * Requested while the column is shown, and read once per refresh. Main thread, but ages_make().
 */
#ifndef AGES_H
#define AGES_H

#include "views/ui.h"

enum ages_of { AGES_OF_NONE, AGES_OF_SHOWN, AGES_OF_ALL };

struct ages_known {
	uint32_t *ids; /* owned, as the next */
	struct age *of;
	size_t first, count, room, of_room; /* of the rows from `first` on */
	bool part; /* too many rows for all ages: sorted by those on screen */
};

/* All 0 at first. */
struct ages {
	struct ages_known shown, made;
	/* what ages_make() makes: */
	enum ages_of wanted;
	size_t top, height;
	uint64_t version; /* of the known ages */
};

/* `shown`: there is a column for ages. `sort`: enum query_column. */
enum ages_of ages_wanted(bool shown, int sort);
/* For ask(), make() and take(). */
void ages_want(struct ages *g, struct ui *ui, enum ages_of of, const struct list *l);
/* After the rows. `sites`: they are call sites, not rows of the tree. True: all ages are wanted and
 * have changed, so the caller sorts the rows by age and calls this again. */
bool ages_make(struct ages *g, struct query *q, bool sites, size_t rows, list_id_fn *id, void *arg);
void ages_take(struct ages *g);
/* not known: known is false */
const struct age *ages_at(const struct ages *g, size_t row, uint64_t id);
/* After drawing: rows on screen were not in the last refresh, so another one is needed. */
bool ages_lack(void);
void ages_release(struct ages *g);
/* ", 3.2M of unknown age", ", ages as of 40 s ago" or that some rows have none; "" = no remark.
 * Returns out. */
char *ages_words(const struct ages *g, const struct ui *ui, char *out, size_t size);
/* Why an age or thread filter passes no rows; NULL = for another reason. */
const char *ages_missing(const struct ui *ui);
/* Asks the agent for cohorts when due. */
void ages_ask(struct ui *ui);

#endif
