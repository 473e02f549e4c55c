/* SPDX-License-Identifier: MIT
 *
 * board.c - the agent's part of the board: memory shared with memtop and all agents of its tree.
 *
 * The agent maps the board once, at start-up, and then closes its descriptor: a program that closes
 * all descriptors or changes its user, root or namespaces still writes to the board. The opened
 * file must prove that it is a board: its path names a process and a descriptor, which mean another
 * file where /proc is another one. Seals keep it from being cut short, so no access faults.
 *
 * `mine` is this process's record. It lies in the program's memory, so a forked child finds its
 * parent's there and claims its own (hooks/init.c). A child of vfork works in its parent's memory.
 * It claims a record for the program that it executes, with its own pid; nothing it does ends its
 * parent's.
 *
 * A server writes the figures at its ticks. A process without a server (a forked child) writes at
 * its slow path and at its exit. Both write the same sums, so their order does not matter. The one
 * that ends a record changes its state, once, by compare-and-swap.
 *
 * The sums are those of all threads' own counters, which add up to the slots' (record/slots.c).
 */
#include "follow/board.h"
#include "base/area.h"
#include "base/compiler.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/syscalls.h"
#include "record/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define PLACE_BYTES 64
#define SEALED (F_SEAL_SHRINK | F_SEAL_GROW)
#define LARGEST (64u << 20) /* bytes that a board may have */

static struct board_head *board; /* NULL = none */
static uint32_t records;         /* as it was checked: the head may be written to by anybody */
MT_FORK_WORD static struct claim mine = { BOARD_NONE, 0 };
static char place[PLACE_BYTES];        /* "/proc/PID/fd/N" */
static uint64_t inode;                 /* of the board */
MT_FORK_WORD static uint64_t begin_ns; /* of this process, as far as it is one image */
MT_FORK_WORD static uint64_t inherited,
	before; /* bytes live at its fork, and allocated up to then */

static struct board_record *record(uint32_t i)
{
	return board && i < records ? (struct board_record *)(board + 1) + i : NULL;
}

/* NULL: freed meanwhile, or there is none. */
MT_FORK_CODE static struct board_record *claimed(struct claim c)
{
	struct board_record *r = record(c.record);

	return r && atomic_load_explicit(&r->xserial, memory_order_relaxed) == c.serial ? r : NULL;
}

static void changed(void)
{
	atomic_fetch_add_explicit(&board->xserial, 1, memory_order_release);
}

MT_FORK_CODE static bool change(struct board_record *r, uint32_t from, uint32_t to)
{
	if (!atomic_compare_exchange_strong_explicit(&r->xstate, &from, to, memory_order_acq_rel,
						     memory_order_relaxed))
		return false;
	changed();
	return true;
}

static bool is_board(const struct board_head *b, uint64_t bytes)
{
	return !memcmp(b->magic, BOARD_MAGIC, sizeof(b->magic)) && b->version == BOARD_VERSION &&
	       b->record_bytes == sizeof(struct board_record) && b->records &&
	       board_bytes(b->records) <= bytes;
}

/* Only then is the file opened: anything may have that name elsewhere. */
static bool may_be_board(const char *path, uint64_t *bytes)
{
	call_stat st;

	if (mt_prim_call(CALL_FSTATAT, AT_FDCWD, (long)path, (long)&st, 0, 0, 0) ||
	    !S_ISREG(st.st_mode))
		return false;
	*bytes = (uint64_t)st.st_size;
	inode = (uint64_t)st.st_ino;
	return *bytes >= sizeof(struct board_head) && *bytes <= LARGEST;
}

static void map_board(const char *path)
{
	uint64_t bytes;
	long fd = may_be_board(path, &bytes) ? mt_prim_call(SYS_openat, AT_FDCWD, (long)path,
							    O_RDWR | O_CLOEXEC, 0, 0, 0)
					     : -1;

	if (fd < 0)
		return;
	long seals = mt_prim_call(CALL_FCNTL, fd, F_GET_SEALS, 0, 0, 0, 0);
	void *p = NULL;
	if (seals >= 0 && (seals & SEALED) == SEALED)
		p = mt_area_map(bytes, 1, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd);
	mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
	if (!p)
		return;
	if (!is_board(p, bytes)) {
		mt_prim_unmap(p, bytes);
		return;
	}
	mt_prim_call(SYS_madvise, (long)p, (long)bytes, MADV_DONTDUMP, 0, 0, 0);
	board = p;
	records = board->records;
}

MT_FORK_CODE bool mt_board_is(void)
{
	return board && !atomic_load_explicit(&board->xclosed, memory_order_relaxed);
}

static void clear(struct board_record *r)
{
	size_t from = offsetof(struct board_record, pid);

	memset((char *)r + from, 0, sizeof(*r) - from);
	r->parent = BOARD_NONE;
}

MT_FORK_CODE static struct claim claim(void)
{
	for (uint32_t n = 0; n < records; n++) {
		uint32_t is = BOARD_FREE;
		uint32_t i =
			atomic_fetch_add_explicit(&board->xnext, 1, memory_order_relaxed) % records;
		struct board_record *r = record(i);
		if (atomic_load_explicit(&r->xstate, memory_order_relaxed) != BOARD_FREE ||
		    !atomic_compare_exchange_strong(&r->xstate, &is, BOARD_CLAIMED))
			continue;
		clear(r);
		return (struct claim){
			i, atomic_fetch_add_explicit(&r->xserial, 1, memory_order_relaxed) + 1
		};
	}
	return NO_CLAIM;
}

MT_FORK_CODE static void set_parent(struct board_record *r, struct claim parent)
{
	r->parent = claimed(parent) ? parent.record : BOARD_NONE;
	r->parent_serial = parent.serial;
}

/* The end of a path matters most. */
MT_FORK_CODE static void set_path(struct board_record *r, const char *path)
{
	size_t len = strlen(path), most = sizeof(r->path) - 1;

	path += len > most ? len - most : 0;
	memcpy(r->path, path, strlen(path) + 1);
}

MT_FORK_CODE static void set_name(struct board_record *r, const char *path)
{
	const char *slash = strrchr(path, '/');

	mt_format(r->name, sizeof(r->name), "%s", slash ? slash + 1 : path);
}

MT_FORK_CODE static void put_figures(struct board_record *r, const struct board_figures *f,
				     bool exact)
{
	const struct tally *t = &f->sum;
	uint64_t live = t->alloc_bytes - t->free_bytes, peak = f->peak_bytes;

	atomic_store_explicit(&r->xfreed_blocks, t->free_blocks, memory_order_relaxed);
	atomic_store_explicit(&r->xfreed_bytes, t->free_bytes, memory_order_relaxed);
	atomic_store_explicit(&r->xalloc_blocks, t->alloc_blocks, memory_order_relaxed);
	atomic_store_explicit(&r->xalloc_bytes, t->alloc_bytes, memory_order_relaxed);
	atomic_store_explicit(&r->xpeak_bytes, peak > live ? peak : live, memory_order_relaxed);
	atomic_store_explicit(&r->xstamp_ns, mt_prim_now_ns(), memory_order_relaxed);
	atomic_store_explicit(&r->xexact, exact, memory_order_relaxed);
}

MT_FORK_CODE static struct board_figures own_figures(void)
{
	struct board_figures f;
	uint64_t error, at;

	mt_slots_totals(&f.sum);
	mt_slots_peak(&f.peak_bytes, &error, &at);
	return f;
}

void mt_board_write(bool exact)
{
	struct board_record *r = claimed(mine);

	if (!r)
		return;
	struct board_figures f = own_figures();
	if (!exact) { /* an abort() or a daemon() that came back */
		r->end = BOARD_UNKNOWN;
		r->end_ns = 0;
	}
	put_figures(r, &f, exact);
}

bool mt_board_begins(void)
{
	return claimed(mine) && mine.record == 0 && mine.serial == 1;
}

/* least 0: the head has no such rule. */
static bool reaches(uint64_t bytes, uint64_t less, uint64_t least)
{
	return least && bytes >= less && bytes - less >= least;
}

bool mt_board_due(void)
{
	uint64_t peak, error, at;

	if (!claimed(mine) || !mt_board_is())
		return false;
	mt_slots_peak(&peak, &error, &at);
	return reaches(peak, inherited, board->matter_bytes);
}

bool mt_board_churned(void)
{
	struct tally sum;

	if (!claimed(mine) || !mt_board_is())
		return false;
	mt_slots_totals(&sum);
	return reaches(sum.alloc_bytes, before, board->matter_alloc_bytes);
}

uint64_t mt_board_life_ns(void)
{
	return board && board->matter_ns && mt_board_is() ? board->matter_ns : UINT64_MAX;
}

bool mt_board_mattered(const struct board_figures *f)
{
	return claimed(mine) && (reaches(f->peak_bytes, inherited, board->matter_bytes) ||
				 reaches(f->sum.alloc_bytes, before, board->matter_alloc_bytes) ||
				 mt_prim_now_ns() - begin_ns >= board->matter_ns);
}

uint64_t mt_board_linger_ns(void)
{
	return claimed(mine) && mt_board_is() ? board->linger_ns : 0;
}

/* RECORD of a value "/proc/PID/fd/N:RECORD"; BOARD_NONE = none. */
static uint32_t record_of(const char *colon)
{
	uint64_t v = 0;

	if (!colon || !colon[1])
		return BOARD_NONE;
	for (colon++; *colon >= '0' && *colon <= '9' && v < BOARD_NONE; colon++)
		v = v * 10 + (uint64_t)(*colon - '0');
	return *colon || v >= BOARD_NONE ? BOARD_NONE : (uint32_t)v;
}

void mt_board_open(const char *value)
{
	const char *colon = strchr(value, ':');
	size_t len = colon ? (size_t)(colon - value) : strlen(value);

	if (!len || len >= sizeof(place))
		return;
	memcpy(place, value, len);
	place[len] = '\0';
	map_board(place);
	struct board_record *r = record(record_of(colon));
	if (r)
		mine = (struct claim){ record_of(colon), atomic_load(&r->xserial) };
}

/* The process that called exec had no server, so only this code can end its record. A server of
 * that process ends it otherwise, and may linger. */
static void end_caller(const struct board_record *r)
{
	struct board_record *old = claimed((struct claim){ r->parent, r->parent_serial });

	if (!old || old->pid != r->pid || old->socket[0])
		return;
	old->end = BOARD_EXEC;
	old->end_ns = mt_prim_now_ns();
	atomic_store_explicit(&old->xexact, 1, memory_order_relaxed);
	change(old, BOARD_EXECING, BOARD_ENDED);
}

/* `mine` is the record from the environment: begun for this process, or that of a parent that could
 * not claim one. */
void mt_board_runs(const char *name, const char *path)
{
	struct board_record *r = claimed(mine);
	uint32_t is = BOARD_EXECING;

	if (!board)
		return;
	if (!r || !atomic_compare_exchange_strong(&r->xstate, &is, BOARD_CLAIMED)) {
		/* a static launcher's: memtop has copied it */
		bool known =
			r && (is == BOARD_RUNNING || is == BOARD_UNFOLLOWED || is == BOARD_FREE);
		struct claim parent = known ? mine : NO_CLAIM;
		mine = claim();
		r = claimed(mine);
		if (!r) {
			atomic_fetch_add(&board->xmissed, 1);
			return;
		}
		set_parent(r, parent);
	}
	r->pid = (uint32_t)mt_pid;
	r->begin_ns = begin_ns = mt_start_ns;
	if (path && *path)
		set_path(r, path);
	set_name(r, name);
	change(r, BOARD_CLAIMED, BOARD_RUNNING);
	end_caller(r);
}

MT_FORK_CODE void mt_board_forked(int pid, const struct tally *t)
{
	struct claim parent = mine;
	const struct board_record *of = claimed(parent);
	struct board_record *r;

	inherited = t->alloc_bytes - t->free_bytes;
	before = t->alloc_bytes;
	if (!board)
		return;
	mine = claim();
	r = claimed(mine);
	if (!r) {
		atomic_fetch_add(&board->xmissed, 1);
		return;
	}
	struct board_figures f = own_figures();
	set_parent(r, parent);
	r->pid = (uint32_t)pid;
	r->forked = 1;
	r->begin_ns = begin_ns = mt_prim_now_ns();
	r->inherited_blocks = t->alloc_blocks - t->free_blocks;
	r->inherited_bytes = inherited;
	r->before_blocks = t->alloc_blocks;
	r->before_bytes = before;
	set_name(r, of ? of->name : mt_state_program());
	if (of)
		memcpy(r->path, of->path, sizeof(r->path));
	r->path[sizeof(r->path) - 1] = '\0';
	put_figures(r, &f, false);
	change(r, BOARD_CLAIMED, BOARD_RUNNING);
}

MT_FORK_CODE void mt_board_exits(unsigned how, uint32_t status, bool final)
{
	struct board_record *r = claimed(mine);

	if (!r)
		return;
	struct board_figures f = own_figures();
	put_figures(r, &f, true);
	r->end = how;
	r->status = status;
	r->end_ns = mt_prim_now_ns();
	if (final)
		change(r, BOARD_RUNNING, BOARD_ENDED);
}

static void put_text(char *to, size_t size, const char *text)
{
	if (text && strncmp(to, text, size))
		mt_format(to, size, "%s", text);
}

void mt_board_tell(const struct board_figures *f, const char *path, const char *socket)
{
	struct board_record *r = claimed(mine);

	if (!r)
		return;
	if (path && *path && !r->forked && strcmp(r->path, path))
		set_path(r, path);
	if (socket && strncmp(r->socket, socket, sizeof(r->socket))) {
		put_text(r->socket, sizeof(r->socket), socket);
		changed();
	}
	put_figures(r, f, false);
}

void mt_board_ended(const struct board_figures *f, unsigned how, uint32_t status, bool lingers,
		    const char *socket)
{
	struct board_record *r = claimed(mine);

	if (!r)
		return;
	put_figures(r, f, true);
	r->end = how;
	r->status = status;
	if (!r->end_ns || how == BOARD_EXEC)
		r->end_ns = mt_prim_now_ns();
	r->lingers = lingers;
	put_text(r->socket, sizeof(r->socket), lingers ? socket : "");
	if (!change(r, BOARD_RUNNING, BOARD_ENDED))
		change(r, BOARD_EXECING, BOARD_ENDED);
}

void mt_board_lingered(void)
{
	struct board_record *r = claimed(mine);

	if (!r || atomic_load(&r->xstate) != BOARD_ENDED)
		return;
	r->lingers = 0;
	changed();
}

unsigned mt_board_reach(bool told)
{
	call_stat st;

	if (!mt_board_is() ||
	    (told && mt_prim_call(SYS_getppid, 0, 0, 0, 0, 0, 0) == (long)board->collector))
		return BOARD_FOLLOWED;
	long rc = mt_prim_call(CALL_FSTATAT, AT_FDCWD, (long)place, (long)&st, 0, 0, 0);
	if (rc == -EACCES || rc == -EPERM)
		return BOARD_NO_ACCESS;
	return rc || (uint64_t)st.st_ino != inode ? BOARD_OTHER_PROC : BOARD_FOLLOWED;
}

struct claim mt_board_claim(const char *path, int pid)
{
	struct claim c = mt_board_is() ? claim() : NO_CLAIM;
	struct board_record *r = claimed(c);

	if (!r)
		return NO_CLAIM;
	set_parent(r, mine);
	r->pid = (uint32_t)pid;
	r->begin_ns = mt_prim_now_ns();
	set_path(r, path);
	set_name(r, path);
	return c;
}

void mt_board_executes(struct claim c, unsigned why, bool with, bool own)
{
	struct board_record *r = claimed(c), *old = own ? claimed(mine) : NULL;

	if (old) {
		struct board_figures f = own_figures();
		put_figures(old, &f, false);
		change(old, BOARD_RUNNING, BOARD_EXECING);
	}
	if (!r)
		return;
	r->why = why;
	uint32_t to = with ? BOARD_EXECING : BOARD_UNFOLLOWED;
	if (!change(r, BOARD_CLAIMED, to))
		change(r, with ? BOARD_UNFOLLOWED : BOARD_EXECING, to);
	/* Nobody of ours will be there to say it. */
	if (!with && old && !old->socket[0]) {
		old->end = BOARD_EXEC;
		old->end_ns = mt_prim_now_ns();
		atomic_store_explicit(&old->xexact, 1, memory_order_relaxed);
		change(old, BOARD_EXECING, BOARD_ENDED);
	}
}

static void give_back(struct claim c)
{
	struct board_record *r = claimed(c);

	if (r && !change(r, BOARD_EXECING, BOARD_FREE))
		change(r, BOARD_UNFOLLOWED, BOARD_FREE);
}

void mt_board_failed(struct claim c, bool own)
{
	struct board_record *old = own ? claimed(mine) : NULL;

	give_back(c);
	if (!old)
		return;
	old->end = BOARD_UNKNOWN;
	atomic_store_explicit(&old->xexact, 0, memory_order_relaxed);
	if (!change(old, BOARD_EXECING, BOARD_RUNNING))
		change(old, BOARD_ENDED, BOARD_RUNNING);
}

void mt_board_spawned(struct claim c, int pid, unsigned why, bool with)
{
	struct board_record *r = claimed(c);

	if (!r)
		return;
	if (!r->pid)
		r->pid = (uint32_t)pid;
	r->why = why;
	if (!with)
		change(r, BOARD_EXECING, BOARD_UNFOLLOWED);
}

void mt_board_entry(char to[BOARD_ENTRY_BYTES], struct claim c)
{
	struct claim at = claimed(c) ? c : mine;

	if (claimed(at))
		mt_format(to, BOARD_ENTRY_BYTES, BOARD_VARIABLE "=%s:%u", place, at.record);
	else
		mt_format(to, BOARD_ENTRY_BYTES, BOARD_VARIABLE "=%s", place);
}
