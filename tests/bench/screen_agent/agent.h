/* SPDX-License-Identifier: MIT
 *
 * agent.h - shared by the parts of screen_agent: the made-up program and its frames.
 */
#ifndef AGENT_H
#define AGENT_H

#include <memtop/wire.h>

#include <stdlib.h>

#define DEPTH_MAX 30u
#define MODULES_MAX 64u
#define THREADS 4u
#define TICK_NS 100000000ull
#define FRAME_ENTRIES 8192u

/* program.c: what there is to say. */

struct module {
	char path[1024];
	uint8_t id[MTW_BUILD_ID_MAX];
	size_t id_len;
};
struct node {
	uint32_t parent, module;
	uint64_t offset;
};
struct slot {
	uint32_t node, epoch;
	uint64_t count[4]; /* as in COUNTS */
};

extern struct module modules[MODULES_MAX];
extern struct node *nodes; /* from 1 on, as slots */
extern struct slot *slots;
extern uint32_t *slot_of_path; /* the newest */
extern uint32_t module_count, node_count, slot_count, path_count, paths_max, epoch;
extern uint64_t total[4];

void *grown(void *p, size_t count, size_t size);
uint32_t mixed(uint32_t a, uint32_t b);
uint32_t random_below(uint32_t n);
void read_places(const char *path);
void make(uint32_t paths, uint32_t more); /* and room for more */
void add_path(void);
uint32_t add_slot(uint32_t path, uint32_t node);
/* what: 0 allocated, 2 freed */
void book(struct slot *s, unsigned what, uint64_t blocks, uint64_t size);
uint64_t size_of(uint32_t path);
uint64_t live_bytes(const struct slot *s);

/* frames.c: how it is said. */

struct buffer {
	uint8_t *bytes;
	size_t len, room;
};

extern struct buffer out;    /* what was not sent yet */
extern struct mtw_out frame; /* that is open */
extern uint64_t now;

void put_raw(const void *bytes, size_t len);
void open_frame(uint32_t type);
void put(uint64_t v);
void put_string(const char *s);
void put_count(const uint64_t *count);
void close_frame(void);
void put_totals(uint64_t slots_sent, uint64_t live_sent);
void put_tick(unsigned flags);
void put_process(void);
int by_number(const void *a, const void *b);
void put_nodes(const uint32_t *list, uint32_t count); /* sorted, as the next */
void put_slots(const uint32_t *list, uint32_t count);
void put_counts(const uint32_t *list, uint32_t count);

/* first.c: the first state, encoded before anybody waits for it. */

void make_first_state(void);

/* later.c: ticks, marks, answers. */

extern uint32_t changed, fresh; /* paths per tick */

void tick(uint64_t missed);
void set_mark(void);
void scan(uint64_t request, uint64_t kind);

#endif
