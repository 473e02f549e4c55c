/* SPDX-License-Identifier: MIT
 *
 * test_tree_file.c - the table of a process tree in a session file: read back, and the process to
 * begin with.
 */
#include "on_board.h"

#include "session/session.h"

static void put_process(struct session_writer *w, uint64_t id, uint64_t parent, uint64_t flags,
			uint64_t end_ns, uint64_t peak, uint64_t allocated, uint64_t before)
{
	uint8_t text[256];
	struct mtw_out o = { text, text + sizeof text, false };
	struct err err = { 0 };
	const uint64_t v[] = { id, parent, 100 + id, PROCESS_EXITED, 0, flags, id + 1,
			       0,  end_ns, 1,        allocated,      0, 0,     peak,
			       0,  before, 0,        before };

	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		mtw_put(&o, v[i]);
	mtw_put_string(&o, "p");
	mtw_put_string(&o, "");
	mtw_put_string(&o, "");
	CHECK(!o.full && !session_frame(w, SESSION_TABLE, 1, MTW_S_PROCESS, text,
					(size_t)(o.at - text), &err));
}

static char file[64];
static struct session_writer *writer;

static void begin_file(void)
{
	struct err err = { 0 };

	strcpy(file, "/tmp/t_processes.XXXXXX");
	close(mkstemp(file));
	writer = session_create(file, 0, &err);
	CHECK(writer != NULL);
}

static void read_file(void)
{
	struct processes_options o = { .follow = false };
	struct err err = { 0 };

	CHECK_EQ(session_close(writer, &err), 0);
	loop = loop_new(NULL);
	tree = processes_new(loop, &o, &err);
	CHECK(processes_read(tree, file));
}

static void leave_file(void)
{
	processes_free(tree);
	loop_free(loop);
	unlink(file);
}

TEST(parents_of_a_file_that_go_in_a_ring)
{
	begin_file();
	put_process(writer, 1, 4, 0, 9, 0, 0, 0); /* its parent came later */
	put_process(writer, 2, 3, 0, 9, 0, 0, 0);
	put_process(writer, 3, 2, 0, 9, 0, 0, 0);
	put_process(writer, 4, 0, 0, 9, 0, 0, 0);
	put_process(writer, 5, 5, 0, 9, 0, 0, 0);
	put_process(writer, 6, 1000000, 0, 9, 0, 0, 0);
	read_file();
	CHECK_EQ(lines(), 6);
	CHECK_EQ(processes_find(tree, 1)->depth, 1);
	CHECK_EQ(processes_find(tree, 1)->parent, 4);
	for (uint32_t id = 2; id <= 6; id++)
		CHECK_EQ(processes_find(tree, id)->depth, 0);
	leave_file();
}

/* The file has neither rates nor the peak of all: that takes the frames of each. */
TEST(what_the_table_does_not_tell_is_not_known)
{
	begin_file();
	put_process(writer, 1, 0, 0, 0, 900, 800, 0);
	put_process(writer, 2, 1, 0, 0, 700, 600, 0);
	read_file();
	const struct process *all = processes_find(tree, PROCESS_ALL), *list;
	CHECK_EQ(all->live_bytes, 1400);
	CHECK_EQ(all->peak_bytes, 0);
	CHECK(!all->rate_known && !all->growth_known);
	CHECK_EQ(processes_list(tree, &list), 2);
	CHECK(!list[0].rate_known && !list[0].growth_known);
	leave_file();
}

/* A shell that starts programs holds next to nothing, and no single one stands for them. */
TEST(a_session_of_a_program_that_only_starts_others_begins_with_all)
{
	static const struct {
		uint64_t started, first, second, inherited;
		bool all;
	} t[] = {
		{ 1000, 4000000, 3000000, 0, true },
		{ 1000, 4000000, 0, 0, false },                /* with that one */
		{ 4000000, 4000000, 3000000, 0, false },       /* it holds much itself */
		{ 1000, 30000, 20000, 0, false },              /* hardly more */
		{ 4000000, 4000000, 4000000, 4000000, false }, /* workers of a server: its heap */
	};

	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		begin_file();
		put_process(writer, 1, 0, 0, 9, t[i].started, 1000, 0);
		put_process(writer, 2, 1, 0, 9, t[i].first, 5000, t[i].inherited);
		if (t[i].second)
			put_process(writer, 3, 1, 0, 9, t[i].second, 5000, t[i].inherited);
		read_file();
		CHECK_EQ(processes_begin_with_all(tree), t[i].all);
		leave_file();
	}
}

TEST(a_session_begins_with_who_allocated_most)
{
	begin_file();
	put_process(writer, 1, 0, 0, 9, 100, 1000, 0);
	put_process(writer, 2, 1, 0, 9, 900, 950, 0);
	put_process(writer, 3, 1, MTW_PROCESS_FORKED, 8, 900, 1100, 1000);
	read_file();
	CHECK_EQ(processes_heaviest(tree)->id, 1);
	leave_file();
}

TEST(a_session_of_a_daemon_begins_with_who_runs_on)
{
	begin_file();
	put_process(writer, 1, 0, 0, 2, 900, 1000, 0);
	put_process(writer, 2, 1, MTW_PROCESS_FORKED, 9, 900, 610, 600);
	put_process(writer, 3, 2, MTW_PROCESS_FORKED, 8, 950, 1110, 610);
	read_file();
	CHECK_EQ(processes_heaviest(tree)->id, 2);
	leave_file();
	begin_file();
	put_process(writer, 1, 0, 0, 2, 900, 1000, 0);
	put_process(writer, 2, 1, MTW_PROCESS_FORKED, 9, 900, 610, 600);
	/* a worker that does more */
	put_process(writer, 3, 2, MTW_PROCESS_FORKED, 8, 950, 1310, 610);
	read_file();
	CHECK_EQ(processes_heaviest(tree)->id, 3);
	leave_file();
}

/* A recorder that was killed wrote the line of one, and the frames of others. */
TEST(a_session_begins_with_one_that_it_has_frames_of)
{
	struct target t = { .kind = TARGET_FILE };
	struct err err = { 0 };

	begin_file();
	put_process(writer, 1, 0, 0, 9, 100, 1000, 0);
	put_process(writer, 2, 1, 0, 9, 900, 3000, 0);
	put_process(writer, 3, 1, 0, 9, 900, 2000, 0);
	CHECK_EQ(session_frame(writer, 2, 1, MTW_S_META, (const uint8_t *)"", 0, &err), 0);
	CHECK_EQ(session_frame(writer, 3, 1, MTW_HELLO, (const uint8_t *)"", 0, &err), 0);
	read_file();
	snprintf(t.name, sizeof t.name, "%s", file);
	CHECK_EQ(processes_choose(tree, NULL, &t, &err), 0);
	CHECK_EQ(t.stream, 3);
	CHECK_STR(processes_note(tree), "p [102]: its call paths are not in this session; this is "
					"p [103], the next largest");
	CHECK(!processes_find(tree, 2)->recorded && processes_find(tree, 3)->recorded);
	leave_file();
}
