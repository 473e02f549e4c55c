/* SPDX-License-Identifier: MIT
 *
 * test_process_rows.c - rows of processes: the tree, folds of ended ones, orders, and the other
 * process worth a look.
 */
#include "check.h"

#include "process/others.h"
#include "process/process_rows.h"

static struct process list[4000];
static size_t count;

/* Ids begin at 1, in the order of these calls. */
static struct process *add(uint32_t parent, const char *name, enum process_state state)
{
	struct process *p = &list[count++];

	*p = (struct process){
		.id = (uint32_t)count, .parent = parent, .pid = 1000 + (int)count, .state = state
	};
	snprintf(p->name, sizeof p->name, "%s", name);
	if (state != PROCESS_RUNNING)
		p->end_ns = 1;
	return p;
}

/* "PARENT:NAME" of each, in the order of their ids; "PARENT:-NAME" has exited. */
static void add_all(const char *text)
{
	unsigned parent;
	char name[sizeof list->name];
	int length;

	for (; sscanf(text, " %u:%63s%n", &parent, name, &length) == 2; text += length)
		add(parent, name + (*name == '-'), *name == '-' ? PROCESS_EXITED : PROCESS_RUNNING);
}

static struct process_rows r;

static void make(enum process_sort sort, bool reverse, bool resort)
{
	process_rows_make(&r, list, count, 1, sort, reverse, resort);
}

/* "name/depth" of each row; folds as "name*count/depth". */
static const char *rows(void)
{
	static char out[4096];
	size_t n = 0;

	out[0] = 0;
	for (size_t i = 0; i < r.count; i++) {
		const struct process_row *row = &r.rows[i];
		n += (size_t)snprintf(out + n, sizeof out - n,
				      row->folded ? "%s%s*%zu/%u" : "%s%s%.0zu/%u", i ? " " : "",
				      row->p.name, row->folded, row->depth);
	}
	return out;
}

#define CHECK_ROWS(want) CHECK_STR(rows(), want)

TEST(a_tree_in_the_order_of_its_parents)
{
	add_all("0:nginx 1:worker 2:helper 1:cache");
	make(PROCESSES_BY_TREE, false, true);
	CHECK_ROWS("nginx/0 worker/1 helper/2 cache/1");
}

/* make > sh > gcc > cc1, as: none of them runs any more but make. */
TEST(ended_ones_are_folded_by_name_below_what_runs)
{
	add(0, "make", PROCESS_RUNNING);
	for (int i = 0; i < 3; i++) {
		uint32_t sh = add(1, "sh", PROCESS_EXITED)->id,
			 gcc = add(sh, "gcc", PROCESS_EXITED)->id;
		add(gcc, "cc1", PROCESS_EXITED)->peak_bytes = 100 + (uint64_t)i;
		add(gcc, "as", PROCESS_EXITED)->peak_bytes = 10;
	}
	add(1, "ar", PROCESS_EXITED)->peak_bytes = 50;
	make(PROCESSES_BY_TREE, false, true);
	CHECK_ROWS("make/0 cc1*3/1 ar/1 as*3/1 sh*3/1 gcc*3/1");
	CHECK_EQ(r.rows[1].p.peak_bytes, 102);
	CHECK(r.rows[1].id & PROCESS_FOLD);
}

TEST(a_fold_opens_and_stays_the_same_while_others_join)
{
	add(0, "make", PROCESS_RUNNING);
	add(1, "cc1", PROCESS_EXITED)->peak_bytes = 5;
	struct process *late = add(1, "cc1", PROCESS_RUNNING);
	add(1, "cc1", PROCESS_EXITED)->peak_bytes = 7;
	make(PROCESSES_BY_TREE, false, true);
	CHECK_ROWS("make/0 cc1/1 cc1*2/1");
	uint64_t fold = r.rows[2].id;
	process_rows_open(&r, fold, true);
	make(PROCESSES_BY_TREE, false, false);
	CHECK_ROWS("make/0 cc1/1 cc1*2/1 cc1/2 cc1/2");
	CHECK_EQ(r.rows[3].p.peak_bytes, 7); /* the largest first */
	late->state = PROCESS_EXITED;
	make(PROCESSES_BY_TREE, false, false);
	CHECK_ROWS("make/0 cc1*3/1 cc1/2 cc1/2 cc1/2");
	CHECK(r.rows[1].id == fold && r.rows[1].open);
	process_rows_open(&r, fold, false);
	make(PROCESSES_BY_TREE, false, false);
	CHECK_ROWS("make/0 cc1*3/1");
}

/* What has a tree keeps its row, up to a number of one name. */
static void add_large(uint32_t parent, const char *name)
{
	struct process *p = add(parent, name, PROCESS_EXITED);

	p->matters = true;
	p->peak_bytes = 90 << 20;
}

TEST(those_that_mattered_are_folded_where_there_are_many)
{
	add(0, "make", PROCESS_RUNNING);
	for (int i = 0; i < 4; i++)
		add_large(1, "cc1plus");
	make(PROCESSES_BY_TREE, false, true);
	CHECK_ROWS("make/0 cc1plus/1 cc1plus/1 cc1plus/1 cc1plus/1");
	add_large(1, "cc1plus");
	make(PROCESSES_BY_TREE, false, true);
	CHECK_ROWS("make/0 cc1plus*5/1");
}

TEST(a_crash_keeps_its_row)
{
	add_all("0:sh 1:-python3 1:-python3 1:-python3");
	list[2].state = PROCESS_SIGNALLED;
	make(PROCESSES_BY_TREE, false, true);
	CHECK_ROWS("sh/0 python3/1 python3*2/1");
	CHECK_EQ(r.rows[1].p.state, PROCESS_SIGNALLED);
}

/* By their time: shells of a script that wait for others. */
TEST(small_ones_that_mattered_are_folded)
{
	add(0, "python", PROCESS_RUNNING)->peak_bytes = 10 << 20;
	add(1, "bash", PROCESS_EXITED)->matters = true;
	add(1, "bash", PROCESS_EXITED)->matters = true;
	make(PROCESSES_BY_TREE, false, true);
	CHECK_ROWS("python/0 bash*2/1");
}

/* sh -c 'exec ./server' */
TEST(a_program_stands_in_the_place_of_the_one_that_executed_it)
{
	add_all("0:-sh 1:-date 1:server 3:worker");
	list[0].state = PROCESS_EXECED;
	process_rows_make(&r, list, count, 3, PROCESSES_BY_TREE, false, true);
	CHECK_ROWS("server/0 worker/1 sh/0 date/0");
}

TEST(neither_the_first_nor_the_shown_one_is_folded)
{
	add_all("0:-sh 1:-sh 1:-sh 1:-sh");
	process_rows_make(&r, list, count, 3, PROCESSES_BY_TREE, false, true);
	CHECK_ROWS("sh/0 sh/1 sh*2/1");
	CHECK_EQ(r.rows[1].id, 3);
}

/* It hangs below the nearest row above that is there. */
TEST(a_daemon_whose_parents_ended_stays)
{
	add_all("0:init.sh 1:-sh 2:-sh 3:daemon 4:worker");
	make(PROCESSES_BY_TREE, false, true);
	CHECK_ROWS("init.sh/0 daemon/1 worker/2 sh*2/1");
}

TEST(those_that_nobody_follows_are_no_fold_with_others)
{
	add(0, "sh", PROCESS_RUNNING);
	add(1, "busybox", PROCESS_UNFOLLOWED);
	add(1, "busybox", PROCESS_EXITED);
	add(1, "busybox", PROCESS_UNFOLLOWED);
	add(1, "static", PROCESS_UNFOLLOWED)->end_ns = 0; /* runs */
	make(PROCESSES_BY_TREE, false, true);
	CHECK_ROWS("sh/0 static/1 busybox/1 busybox*2/1");
	CHECK_EQ(r.rows[3].p.state, PROCESS_UNFOLLOWED);
}

TEST(sorted_by_a_figure_what_runs_comes_first)
{
	add(0, "make", PROCESS_RUNNING)->live_bytes = 10;
	add(1, "svc", PROCESS_RUNNING)->live_bytes = 300;
	add(1, "old", PROCESS_EXITED)->live_bytes = 9000;
	add(1, "big", PROCESS_RUNNING)->live_bytes = 500;
	make(PROCESSES_BY_LIVE, false, true);
	CHECK_ROWS("big/0 svc/0 make/0 old/0");
	list[2].peak_bytes = 9000;
	make(PROCESSES_BY_PEAK, false, true);
	CHECK_STR(r.rows[0].p.name, "old");
	make(PROCESSES_BY_PID, true, true);
	CHECK_ROWS("make/0 svc/0 old/0 big/0");
}

/* Many short compilers allocate more than the one process that is there all the time; a fork begins
 * at 0. */
TEST(sorted_by_all_that_they_allocated)
{
	add(0, "make", PROCESS_RUNNING)->sum.alloc_bytes = 500;
	for (int i = 0; i < 3; i++)
		add(1, "cc1", PROCESS_EXITED)->sum.alloc_bytes = 400;
	add(1, "as", PROCESS_EXITED)->sum.alloc_bytes = 700;
	add(1, "worker", PROCESS_RUNNING)->sum.alloc_bytes = 600;
	list[5].before_bytes = 500;
	make(PROCESSES_BY_ALLOCATED, false, true);
	CHECK_ROWS("cc1*3/0 as/0 make/0 worker/0");
	CHECK_EQ(r.rows[0].amounts.sum.alloc_bytes, 1200);
	CHECK_EQ(r.rows[3].amounts.sum.alloc_bytes, 100);
}

TEST(growth_sorts_what_shrinks_last)
{
	add(0, "a", PROCESS_RUNNING)->growth = -5e6;
	add(1, "b", PROCESS_RUNNING)->growth = 2e6;
	add(1, "c", PROCESS_RUNNING)->growth = 7e6;
	make(PROCESSES_BY_GROWTH, false, true);
	CHECK_ROWS("c/0 b/0 a/0");
}

TEST(rows_do_not_jump_until_they_are_sorted_again)
{
	add(0, "a", PROCESS_RUNNING)->live_bytes = 30;
	add(1, "b", PROCESS_RUNNING)->live_bytes = 20;
	make(PROCESSES_BY_LIVE, false, true);
	list[1].live_bytes = 90;
	add(1, "c", PROCESS_RUNNING)->live_bytes = 1000;
	make(PROCESSES_BY_LIVE, false, false);
	CHECK_ROWS("a/0 b/0 c/0");
	make(PROCESSES_BY_LIVE, false, true);
	CHECK_ROWS("c/0 b/0 a/0");
}

/* Every process is in exactly one row or fold, whatever ended. */
TEST(nothing_is_lost_in_any_order)
{
	static const char *const names[] = { "sh", "gcc", "cc1", "as", "collect2", "ld" };
	unsigned seed = 1;

	for (int i = 0; i < 4000; i++) {
		seed = seed * 1103515245u + 12345u;
		uint32_t parent = i ? 1 + (seed >> 8) % (unsigned)i : 0;
		struct process *p =
			add(parent, names[(seed >> 4) % 6], (enum process_state)((seed >> 16) % 7));
		p->matters = (seed >> 24) % 16 == 0;
		p->peak_bytes = seed;
	}
	/* parents before their children, siblings by id, as of processes_list(), is one order of
	 * many */
	for (int sort = PROCESSES_BY_TREE; sort <= PROCESSES_BY_TIME; sort++) {
		size_t all = 0;
		make((enum process_sort)sort, false, true);
		for (size_t i = 0; i < r.count; i++)
			all += r.rows[i].folded ? r.rows[i].folded : 1;
		CHECK_EQ(all, 4000);
		CHECK(r.count < 4000);
	}
}

TEST(states_in_words)
{
	char out[32];
	struct process p = { .state = PROCESS_EXITED, .status = 3, .status_known = true };

	CHECK_STR(process_state_words(&p, out), "exited 3");
	p.status_known = false;
	CHECK_STR(process_state_words(&p, out), "ended");
	p = (struct process){ .state = PROCESS_SIGNALLED, .status = 11 };
	CHECK_STR(process_state_words(&p, out), "SIGSEGV");
	p.state = PROCESS_UNFOLLOWED;
	CHECK_STR(process_state_words(&p, out), "not followed");
}

static const char *hint(const struct process *shown, const struct process *grows)
{
	static struct others o;

	o = (struct others){ .shown_runs = process_runs(shown) };
	for (size_t i = 0; i < count; i++)
		o.running += &list[i] != shown && process_runs(&list[i]);
	others_judge(&o, shown, grows, list, count);
	return o.hint;
}

TEST(a_shell_that_waits_leads_to_what_it_waits_for)
{
	add(0, "sh", PROCESS_RUNNING)->live_bytes = 2253;
	add(1, "svc", PROCESS_RUNNING)->live_bytes = 12 << 20;
	CHECK_STR(hint(&list[0], NULL), "svc [1002] holds more: 12.0M");
	CHECK_STR(hint(&list[1], NULL), "");
	list[1].growth = 3 << 20;
	CHECK_STR(hint(&list[0], &list[1]), "svc [1002] grows more: +3.0M/min");
}

TEST(a_little_more_is_not_worth_a_word)
{
	add(0, "nginx", PROCESS_RUNNING)->live_bytes = 3 << 20;
	add(1, "nginx", PROCESS_RUNNING)->live_bytes = 5 << 20;
	CHECK_STR(hint(&list[0], NULL), "");
	list[1].growth = 5000;
	CHECK_STR(hint(&list[0], &list[1]), "");
	list[0].live_bytes = 100;
	list[1].live_bytes = 5000;
	CHECK_STR(hint(&list[0], NULL), "");
}

TEST(what_runs_on_is_offered_when_the_shown_one_ended)
{
	add(0, "nginx", PROCESS_EXITED)->live_bytes = 9 << 20;
	add(1, "nginx", PROCESS_RUNNING)->live_bytes = 1 << 20;
	add(2, "nginx", PROCESS_RUNNING)->live_bytes = 2 << 20;
	CHECK_STR(hint(&list[0], NULL), "nginx [1003] runs on and holds 2.0M");
	CHECK_STR(hint(&list[2], NULL), "");
}

TEST(of_what_is_over_the_largest_peak_is_offered)
{
	add(0, "g++", PROCESS_EXITED)->peak_bytes = 40 << 10;
	add(1, "cc1plus", PROCESS_EXITED)->peak_bytes = 91 << 20;
	list[1].matters = true;
	add(1, "ld", PROCESS_EXITED)->peak_bytes = 92 << 20; /* too short: there is no tree of it */
	CHECK_STR(hint(&list[0], NULL), "cc1plus [1002] held more: 91.0M");
	CHECK_STR(hint(&list[1], NULL), "");
}
