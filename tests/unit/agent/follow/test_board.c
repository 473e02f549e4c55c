/* SPDX-License-Identifier: MIT
 *
 * test_board.c - the life of a record: claimed, begun, executed from, ended, freed by memtop.
 */
#include "check.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/types.h"
#include "follow/board.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORDS 8u

static struct board_head *b;

static struct board_record *at(uint32_t i)
{
	return (struct board_record *)(b + 1) + i;
}

/* A board that is open to the agent in this program, begun in record `record` (NULL = none). */
static void set_up(const char *record)
{
	int fd = memfd_create("board", MFD_ALLOW_SEALING);
	char value[64];

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)board_bytes(RECORDS)) &&
	      !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
	b = mmap(NULL, board_bytes(RECORDS), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(b != MAP_FAILED);
	memcpy(b->magic, BOARD_MAGIC, sizeof b->magic);
	b->version = BOARD_VERSION;
	b->records = RECORDS;
	b->record_bytes = sizeof(struct board_record);
	b->matter_bytes = 1000;
	b->matter_ns = 1000000000000;
	b->linger_ns = 5;
	if (record)
		at((uint32_t)atoi(record))->xstate = BOARD_EXECING;
	mt_pid = 42;
	mt_start_ns = mt_prim_now_ns();
	mt_board_forked(0, &(struct tally){ 0 }); /* each test is a fork of this program */
	snprintf(value, sizeof value, "/proc/self/fd/%d%s%s", fd, record ? ":" : "",
		 record ? record : "");
	mt_board_open(value);
	CHECK(mt_board_is());
	close(fd);
}

static uint32_t state(uint32_t i)
{
	return atomic_load(&at(i)->xstate);
}

TEST(an_image_begins_in_the_record_that_was_claimed_for_it)
{
	set_up("3");
	at(3)->parent = BOARD_NONE;
	mt_board_runs("name", "/folder/name");
	CHECK_EQ(state(3), BOARD_RUNNING);
	CHECK_EQ(at(3)->pid, 42);
	CHECK_STR(at(3)->name, "name");
	CHECK_STR(at(3)->path, "/folder/name");
	CHECK_EQ(state(0), BOARD_FREE);
	CHECK(b->xserial > 0);
}

TEST(a_record_of_somebody_else_is_a_parent)
{
	set_up("3");
	at(3)->xstate = BOARD_RUNNING;
	at(3)->xserial = 7;
	mt_board_open("/nowhere/at/all"); /* changes nothing */
	mt_board_runs("name", NULL);
	CHECK_EQ(state(3), BOARD_RUNNING);
	CHECK_EQ(state(0), BOARD_RUNNING);
	CHECK(at(0)->parent == BOARD_NONE); /* another life of 3 than the one it was opened with */
}

TEST(a_process_matters_by_what_it_allocated_itself)
{
	struct board_figures f = { { 9, 900, 0, 0 }, 900 };
	struct tally before = { 10, 5000, 4, 2000 };

	set_up(NULL);
	mt_board_runs("name", "/folder/name");
	CHECK(!mt_board_mattered(&f));
	f.sum.alloc_bytes = 5000;
	CHECK(!mt_board_mattered(&f)); /* an older memtop has no such rule */
	b->matter_alloc_bytes = 5000;
	CHECK(mt_board_mattered(&f));
	mt_board_forked(43, &before);
	CHECK(!mt_board_mattered(&f)); /* what its parents did is theirs */
	CHECK_EQ(at(1)->inherited_bytes, 3000);
	CHECK_EQ(at(1)->inherited_blocks, 6);
	CHECK_EQ(at(1)->before_bytes, 5000);
	f.sum.alloc_bytes = 9999;
	f.peak_bytes = 3999;
	CHECK(!mt_board_mattered(&f));
	f.sum.alloc_bytes = 10000;
	CHECK(mt_board_mattered(&f));
	f.sum.alloc_bytes = 5000;
	f.peak_bytes = 4000;
	CHECK(mt_board_mattered(&f));
}

TEST(exec_and_its_failure)
{
	set_up(NULL);
	mt_board_runs("first", "/first");
	struct claim c = mt_board_claim("/second", 42);
	CHECK_EQ(c.record, 1);
	mt_board_executes(c, BOARD_FOLLOWED, true, true);
	CHECK_EQ(state(0), BOARD_EXECING);
	CHECK_EQ(state(1), BOARD_EXECING);
	CHECK_EQ(at(1)->parent, 0);
	mt_board_failed(c, true);
	CHECK_EQ(state(0), BOARD_RUNNING);
	CHECK_EQ(state(1), BOARD_FREE);
	c = mt_board_claim("/static", 42);
	mt_board_executes(c, BOARD_STATIC, false, true);
	CHECK_EQ(state(c.record), BOARD_UNFOLLOWED);
	CHECK_EQ(at(c.record)->why, BOARD_STATIC);
	CHECK_EQ(state(0), BOARD_ENDED);
	CHECK_EQ(at(0)->end, BOARD_EXEC);
	CHECK_EQ(at(0)->xexact, 1);
	mt_board_failed(c, true); /* it came back all the same */
	CHECK_EQ(state(c.record), BOARD_FREE);
	CHECK_EQ(state(0), BOARD_RUNNING);
	CHECK_EQ(at(0)->end, BOARD_UNKNOWN);
}

TEST(a_child_of_vfork_ends_nobody)
{
	set_up(NULL);
	mt_board_runs("first", "/first");
	struct claim c = mt_board_claim("/second", 43);
	mt_board_executes(c, BOARD_FOLLOWED, true, false);
	CHECK_EQ(state(0), BOARD_RUNNING);
	CHECK_EQ(state(c.record), BOARD_EXECING);
	mt_board_failed(c, false);
	CHECK_EQ(state(0), BOARD_RUNNING);
	CHECK_EQ(state(c.record), BOARD_FREE);
}

TEST(a_spawned_program_has_a_record)
{
	set_up(NULL);
	mt_board_runs("first", "/first");
	struct claim c = mt_board_claim("/second", 0);
	mt_board_executes(c, BOARD_FOLLOWED, true, false);
	mt_board_spawned(c, 44, BOARD_MACHINE, false);
	CHECK_EQ(state(c.record), BOARD_UNFOLLOWED);
	CHECK_EQ(at(c.record)->pid, 44);
	CHECK_EQ(at(c.record)->why, BOARD_MACHINE);
}

TEST(a_new_image_ends_the_record_that_executed_it)
{
	set_up("1");
	struct board_record *old = at(0);
	old->xstate = BOARD_EXECING;
	old->pid = 42;
	at(1)->parent = 0;
	mt_board_runs("second", "/second");
	CHECK_EQ(state(0), BOARD_ENDED);
	CHECK_EQ(old->end, BOARD_EXEC);
}

TEST(a_server_ends_its_record_itself)
{
	set_up("1");
	struct board_record *old = at(0);
	old->xstate = BOARD_EXECING;
	old->pid = 42;
	strcpy(old->socket, "memtop.42");
	at(1)->parent = 0;
	mt_board_runs("second", "/second");
	CHECK_EQ(state(0), BOARD_EXECING);
}

TEST(a_freed_record_is_left_alone)
{
	struct board_figures f = { { 1, 2, 3, 4 }, 5 };

	set_up(NULL);
	mt_board_runs("first", "/first");
	at(0)->xserial++; /* freed, and claimed by somebody */
	at(0)->xstate = BOARD_CLAIMED;
	mt_board_tell(&f, "/other", "socket");
	mt_board_exits(BOARD_EXIT, 3, true);
	mt_board_ended(&f, BOARD_EXIT, 3, true, "socket");
	mt_board_write(true);
	CHECK_EQ(state(0), BOARD_CLAIMED);
	CHECK_EQ(at(0)->xalloc_blocks, 0);
	CHECK_EQ(at(0)->end, BOARD_UNKNOWN);
	CHECK_STR(at(0)->socket, "");
}

TEST(a_board_is_full_and_has_room_again)
{
	set_up(NULL);
	mt_board_runs("first", "/first");
	for (uint32_t i = 1; i < RECORDS; i++)
		CHECK_EQ(mt_board_claim("/x", 1).record, i);
	CHECK(mt_board_claim("/x", 1).record == BOARD_NONE);
	uint32_t serial = at(5)->xserial;
	at(5)->xstate = BOARD_FREE;
	struct claim c = mt_board_claim("/y", 1);
	CHECK_EQ(c.record, 5);
	CHECK_EQ(c.serial, serial + 1);
	b->xclosed = 1;
	at(5)->xstate = BOARD_FREE;
	CHECK(mt_board_claim("/z", 1).record == BOARD_NONE);
}

TEST(long_names_are_cut_at_their_front)
{
	char path[1000];

	set_up(NULL);
	memset(path, 'x', sizeof path);
	strcpy(path + 900, "/the-end");
	path[0] = '/';
	mt_board_runs("first", path);
	CHECK_EQ(strlen(at(0)->path), sizeof at(0)->path - 1);
	CHECK(strstr(at(0)->path, "/the-end"));
}

TEST(a_process_matters_by_its_peak)
{
	struct board_figures f = { .peak_bytes = 999 };

	set_up(NULL);
	mt_board_runs("first", "/first");
	CHECK(!mt_board_mattered(&f));
	f.peak_bytes = 1000;
	CHECK(mt_board_mattered(&f));
	CHECK_EQ(mt_board_linger_ns(), 5);
	b->xclosed = 1;
	CHECK_EQ(mt_board_linger_ns(), 0);
}

TEST(the_entry_of_a_child)
{
	char entry[BOARD_ENTRY_BYTES];

	set_up(NULL);
	mt_board_entry(entry, NO_CLAIM);
	CHECK(!strchr(entry, ':') && !strncmp(entry, "MEMTOP_BOARD=/proc/self/fd/", 27));
	mt_board_runs("first", "/first");
	mt_board_entry(entry, NO_CLAIM);
	CHECK_STR(strchr(entry, ':'), ":0");
	mt_board_entry(entry, mt_board_claim("/x", 1));
	CHECK_STR(strchr(entry, ':'), ":1");
}
