/* SPDX-License-Identifier: MIT
 *
 * board.c - memtop's side of a process tree's board.
 *
 * The memfd cannot change its size, so no access faults, whichever process has it open. A copy is
 * valid when the record's state and serial were the same before and after it: figures may be torn,
 * a life never.
 */
#include "processes/board.h"

#include "base/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <stdlib.h>
#include <unistd.h>

#define LINGER_NS 2000000000ull /* memtop looks every 50 ms; a machine that is busy gets more */
#define TRIES 3
#define RECORDS_LEAST 16u

struct shared_board {
	int fd;
	char path[64], name[48];
	struct board_head *head; /* the mapping */
	struct board_record *records;
	uint32_t count; /* of records */
	uint64_t made_ns;
	uint32_t seen; /* head->xserial at the last shared_board_moved() */
};

/* A limit of files (ulimit -f) counts the board, too: as many records as it leaves. Those of
 * processes that have ended are used again. */
static uint32_t records_within_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur >= board_bytes(BOARD_RECORDS))
		return BOARD_RECORDS;
	return limit.rlim_cur < board_bytes(RECORDS_LEAST)
		       ? RECORDS_LEAST
		       : (uint32_t)((limit.rlim_cur - board_bytes(0)) /
				    sizeof(struct board_record));
}

static void fill_head(struct board_head *h, uint32_t records, const struct board_rule *rule)
{
	memcpy(h->magic, BOARD_MAGIC, sizeof h->magic);
	h->version = BOARD_VERSION;
	h->records = records;
	h->record_bytes = sizeof(struct board_record);
	h->collector = (uint32_t)getpid();
	h->matter_bytes = rule->bytes;
	h->matter_ns = rule->ns;
	h->matter_alloc_bytes = rule->alloc_bytes;
	h->linger_ns = LINGER_NS;
}

static int make_file(const char *name, uint32_t records)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)board_bytes(records)) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	int why = errno;
	close(fd);
	errno = why;
	return -1;
}

struct shared_board *shared_board_new(const struct board_rule *rule, struct err *err)
{
	char name[48];
	snprintf(name, sizeof name, "memtop-board-%d-%llx", (int)getpid(),
		 (unsigned long long)now_ns());
	uint32_t count = records_within_limit();
	int fd = make_file(name, count);
	void *map =
		fd < 0 ? MAP_FAILED
		       : mmap(NULL, board_bytes(count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED) {
		err_set(err, 125,
			"process tree: cannot be followed: no shared memory: %s; use --no-follow",
			strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	struct shared_board *b = xcalloc(1, sizeof *b);
	b->fd = fd;
	b->head = map;
	b->records = (struct board_record *)(b->head + 1);
	b->count = count;
	b->made_ns = now_ns();
	memcpy(b->name, name, sizeof name);
	snprintf(b->path, sizeof b->path, "/proc/%d/fd/%d", (int)procfs_self(), fd);
	fill_head(b->head, count, rule);
	return b;
}

void shared_board_free(struct shared_board *b)
{
	if (!b)
		return;
	atomic_store(&b->head->xclosed, 1);
	munmap(b->head, board_bytes(b->count));
	close(b->fd);
	free(b);
}

const char *shared_board_path(const struct shared_board *b)
{
	return b->path;
}

const char *shared_board_name(const struct shared_board *b)
{
	return b->name;
}

bool shared_board_moved(struct shared_board *b)
{
	uint32_t now = atomic_load(&b->head->xserial);
	bool moved = now != b->seen;

	b->seen = now;
	return moved;
}

uint64_t shared_board_missed(const struct shared_board *b)
{
	return atomic_load_explicit(&b->head->xmissed, memory_order_relaxed);
}

static uint64_t within(uint64_t ns, uint64_t from, uint64_t to)
{
	return ns < from ? from : ns > to ? to : ns;
}

/* Forces a record into the form that readers rely on. */
static void make_sane(struct board_record *r, uint64_t made_ns)
{
	uint64_t now = now_ns();

	r->socket[sizeof r->socket - 1] = '\0';
	r->name[sizeof r->name - 1] = '\0';
	r->path[sizeof r->path - 1] = '\0';
	r->begin_ns = within(r->begin_ns ? r->begin_ns : now, made_ns, now);
	r->end_ns = within(r->end_ns ? r->end_ns : now, r->begin_ns, now);
	if (atomic_load_explicit(&r->xstamp_ns, memory_order_relaxed) > now)
		atomic_store_explicit(&r->xstamp_ns, 0, memory_order_relaxed);
	if (r->end > BOARD_EXEC)
		r->end = BOARD_UNKNOWN;
	if (r->why >= BOARD_WHYS)
		r->why = BOARD_UNREADABLE;
	if (r->pid > INT32_MAX)
		r->pid = 0;
	if (r->parent >= BOARD_RECORDS)
		r->parent = BOARD_NONE;
}

int shared_board_copy(const struct shared_board *b, uint32_t index, struct board_record *r)
{
	const struct board_record *from = &b->records[index];

	if (index >= b->count)
		return 0;
	for (int i = 0; i < TRIES; i++) {
		uint32_t state = atomic_load_explicit(&from->xstate, memory_order_acquire);
		uint32_t serial = atomic_load_explicit(&from->xserial, memory_order_relaxed);
		if (state == BOARD_FREE || state == BOARD_CLAIMED || state > BOARD_UNFOLLOWED)
			return state == BOARD_FREE ? 0 : -1;
		memcpy(r, from, sizeof *r);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&from->xstate, memory_order_relaxed) != state ||
		    atomic_load_explicit(&from->xserial, memory_order_relaxed) != serial)
			continue;
		r->xstate = state;
		r->xserial = serial;
		make_sane(r, b->made_ns);
		return 1;
	}
	return -1;
}

void shared_board_release(struct shared_board *b, uint32_t index, uint32_t serial, uint32_t state)
{
	struct board_record *r = &b->records[index];

	if (atomic_load(&r->xserial) == serial)
		atomic_compare_exchange_strong(&r->xstate, &state, BOARD_FREE);
}
