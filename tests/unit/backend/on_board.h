/* SPDX-License-Identifier: MIT
 *
 * on_board.h - a process tree whose board the test itself writes to, as agents do.
 */
#ifndef ON_BOARD_H
#define ON_BOARD_H

#include "peer.h"

#include "processes/processes.h"

#include <memtop/board.h>
#include <memtop/wire.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

static struct processes *tree;
static struct board_head *head;
static struct watch *first;
static struct target target;
static int listener;

static inline struct board_record *record(uint32_t i)
{
	return &((struct board_record *)(head + 1))[i];
}

static inline void moved(void)
{
	atomic_fetch_add(&head->xserial, 1);
}

static inline void map_board(void)
{
	int fd = open(processes_board(tree), O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	head = mmap(NULL, board_bytes(BOARD_RECORDS), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(head != MAP_FAILED);
	CHECK(ftruncate(fd, 0) != 0);
	close(fd);
}

/* The first program is this process; its agent never speaks. */
static inline void enter(void)
{
	struct processes_options o = { .follow = true };
	struct watch_options w = { .wait = true };
	struct target nobody;
	struct err err = { 0 };

	loop = loop_new(NULL);
	listener = peer_listen(&target);
	tree = processes_new(loop, &o, &err);
	CHECK(tree != NULL);
	map_board();
	CHECK_EQ(target_parse("@t_processes.nobody", &nobody, &err), 0);
	first = watch_open(loop, &nobody, &w, &err);
	CHECK(first != NULL);
	processes_first(tree, getpid(), first);
}

static inline void leave(void)
{
	processes_free(tree);
	watch_close(first);
	close(listener);
	loop_free(loop);
}

/* A record as its agent begins it. */
static inline struct board_record *claim(uint32_t i, uint32_t state, unsigned pid, uint32_t parent,
					 const char *name)
{
	struct board_record *r = record(i);

	CHECK_EQ(r->xstate, BOARD_FREE);
	uint32_t serial = r->xserial + 1;
	memset(r, 0, sizeof *r);
	r->pid = pid;
	r->parent = parent;
	r->parent_serial = parent == BOARD_NONE ? 0 : record(parent)->xserial;
	r->begin_ns = now_ns();
	snprintf(r->name, sizeof r->name, "%s", name);
	atomic_store(&r->xserial, serial);
	atomic_store(&r->xstate, state);
	moved();
	return r;
}

static inline void ends(struct board_record *r, uint32_t end, uint32_t status, uint64_t allocated,
			uint64_t freed)
{
	r->end = end;
	r->status = status;
	r->end_ns = now_ns();
	r->xalloc_bytes = allocated;
	r->xalloc_blocks = allocated / 10;
	r->xfreed_bytes = freed;
	r->xfreed_blocks = freed / 10;
	r->xexact = 1;
	atomic_store(&r->xstate, BOARD_ENDED);
	moved();
}

static inline const struct process *line(size_t i)
{
	const struct process *list;
	size_t n = processes_list(tree, &list);

	return i < n ? &list[i] : NULL;
}

static inline size_t lines(void)
{
	const struct process *list;

	return processes_list(tree, &list);
}

static inline const struct process *named(const char *name)
{
	const struct process *list;

	for (size_t i = 0, n = processes_list(tree, &list); i < n; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

#define NOBODY 4194303u /* no pid here */

#endif
