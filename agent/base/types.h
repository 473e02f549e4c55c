/* SPDX-License-Identifier: MIT
 *
 * types.h - every structure that more than one file of the agent touches, and its limits.
 *
 * The path of one malloc:   hooks/malloc.c -> record/record.c -> unwind/incremental.c (-> node)
 *                                               -> record/slots.c  (node, epoch -> slot; counters)
 *                                               -> live/live.c     (address -> packed entry)
 * and of one free:          hooks/malloc.c -> live/live.c (entry, cleared) -> record/slots.c
 *                                                                        (counters of the slot)
 *
 * Blocks that the program reports itself pass through hooks/heap_api.c, and record/heaps.c holds
 * them instead of live/live.c. server/start.c starts a process that shares this memory and reads
 * all of it.
 *
 * Rules: only its owner writes per-thread state. Shared tables are insert-only (CAS, or a ranked
 * lock off the hot path). The reader takes freed counters first (acquire), then allocated ones.
 *
 * BIT BUDGET. Which field overflows at which count, and the result. Totals always stay exact.
 *   small entry (u32): number of its origin 22 | size 10
 *   origin (u64): free 1 | round 1 | thread 14 | birth tick 16 | slot 24, in 32
 *   large entry (2 x u64): slot 24 | birth tick 16 | thread 14 | address bits 3..9 ; size 64
 *   size   small entries hold 0..1023 bytes; larger blocks have entries of their own
 *   number 4,194,302 origins that have live blocks; the server gives back the others, and further
 *          blocks get wide entries (u64: origin and size): live/origins.h
 *   slot   one bit says "weighed" (sampled: record/filter.h). Not set: 23 bits, 8,388,607 pairs
 *          (stack, epoch); then blocks go to the newest slot of their stack, or to SLOT_ROOT;
 *          MTW_LOSS_SLOTS counts them. Set: one bit of rounding and 22 of the slot; slots of
 *          sampled stacks past 4,194,303 are booked to their rate's own slot of the root, and
 *          counted likewise
 *   tick   65,535: 32,768 of 1 s (9 h), 16,384 of 4 s (to 27 h), 8,192 of 16 s, 4,096 of 64 s, then
 *          256 s each; after the last (about 140 h in all at that point) ages read "at least"
 *   thread 16,383 at once or in all; then index 0, "other threads": MTW_LOSS_THREADS
 *   node   33,554,431; before that stacks are folded (unwind/fold.c)
 *   code   8,388,607 code locations; then TRUNCATED(NODES)
 *   epoch  33 bits
 */
#ifndef MT_BASE_TYPES_H
#define MT_BASE_TYPES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t node_id; /* trie node; 0 = root, outermost */
typedef uint32_t slot_id; /* (node, epoch); 0 = none */
typedef uint32_t code_id; /* interned code location; 0 = none */

struct node; /* of the trie: base/node.h */

#define NODES_END (1u << 25) /* node ids are below it; base/node.h has their layout */
#define CODES_END (1u << 23)
#define SLOTS_END (1u << 23)
/* in an entry of the live map: a sampled block. No thread ever has */
#define SLOT_WEIGHED (1u << 23)
#define SLOT_UP (1u << 22) /* counters under such an id, so that its free leaves the usual path */
#define WEIGHED_END (1u << 22) /* slots of weighed blocks are below it */

/* The caller of a hook: the registers that its frame's CFI starts from. */
struct regs {
	uintptr_t pc; /* return address into the caller: look up pc - 1 */
	uintptr_t sp; /* the caller's stack pointer right after the call returns (the hook's CFA) */
	uintptr_t fp; /* rbp (x86-64), x29 (AArch64), as the caller had it */
};

/* Cumulative counters of one slot in one thread's set. Written by the owner (relaxed). */
struct counts {
	/* stored with release, behind the bytes: it publishes the slot */
	_Atomic uint64_t xalloc_blocks;
	_Atomic uint64_t xalloc_bytes;
	_Atomic uint64_t xfree_blocks, xfree_bytes; /* stored with release */
};

/* Plain copy of counters, for readers. */
struct tally {
	uint64_t alloc_blocks, alloc_bytes, free_blocks, free_bytes;
};

/* Times of some events, that all others are judged by. */
struct timed {
	uint64_t samples, ns, squares; /* squares: the sum of them */
};

/* A thread's part in sampling and filtering: record/filter.h. */
struct filtering {
	uint32_t on;            /* mt_filter_on when `xleft` was drawn */
	_Atomic uint64_t xleft; /* bytes before the one that makes the next sample */
	uint64_t random;
	/* allocations and frees that were not counted, or were weighed; and xuntimed more */
	_Atomic uint64_t xevents;
	_Atomic int64_t xuntimed; /* events before the next timed one; 0 or less: the next */
	/* number of blocks that the weighed ones stand for, out of the total */
	_Atomic uint64_t xweighed;
	struct timed timed; /* of those events */
	uint32_t cold;      /* events of the present few that are not counted */
};

/* What the agent itself takes of a thread's time: record/cost.c. The owner writes, the server
 * reads. */
struct cost {
	struct timed timed;       /* events that stand for all others */
	uint64_t first, first_ns; /* the thread's first ones, and what they took with its set-up */
	uint64_t first_room_ns;   /* what they may still take */
	uint64_t due_at;          /* number of events when some were last due to be timed */
	/* so many events to come leave the usual path, with both gates closed, for some to be
	 * timed */
	uint32_t due;
	uint32_t dice;
	bool begins;                  /* they are the thread's first */
	uint64_t before, left_before; /* events that another process counted, before a fork */
};

#define PAGE_SLOTS 32
#define SLOT_ROOT PAGE_SLOTS /* the first: the page of slot 0 never counts anything */
#define MID_PAGES 512
#define ROOT_MIDS 1024 /* 32 * 512 * 1024 = 2^24 slots */

/* Counters of PAGE_SLOTS neighbouring slots. `xstamp` = the pass in which it last changed. */
struct counter_page {
	struct counts slot[PAGE_SLOTS];
	_Atomic uint32_t xstamp;
	/* record/peak.c's: the newest peak when it first changed; its counters at a peak */
	_Atomic uint32_t xborn;
	struct kept_page *_Atomic xkept;
	/* live/origins.h's, of the owner alone: the round, birth tick and thread that the numbers
	 * are of, and each slot's, as its blocks' entries have it; 0 = none */
	uint64_t origins_of;
	uint32_t origin[PAGE_SLOTS];
};

struct mid {
	struct counter_page *_Atomic xpage[MID_PAGES];
	_Atomic uint32_t xstamp;
};

/* A stack word that a walk read, and its value. */
struct pair {
	uintptr_t is;
	uintptr_t end; /* of the word: a return address ends where the frame of its caller begins */
};

#define HIT_PAIRS 30 /* makes a hit 640 bytes, with addresses of 64 bits */
#define HIT_DEEP (HIT_PAIRS + 1)
#define HIT_SETS 32
#define HIT_WAYS 8
/* the table of ways takes the place of the first hits: unwind/fast.h */
#define HIT_FIRST (sizeof(void *) == 8 ? 2 : 4)
#define HITS (HIT_FIRST + HIT_SETS * HIT_WAYS)
#define HIT_NEXT 8

/* A recent stack, and the slot that its allocation was booked to. The next allocation of the same
 * stack goes to that slot without a lookup, as long as the era lasts: unwind/fast.h,
 * record/record.c. */
struct hit {
	uintptr_t sp; /* of malloc's caller; 0 = the hit is empty */
	uintptr_t pc, fp;
	intptr_t first;        /* unwind/pairs_fast.h's: where the comparison begins, */
	int32_t pairs_at;      /* ... and where it goes on when that is with fp */
	uint32_t era;          /* mt_era for which the following fields hold */
	uint32_t origin;       /* the blocks' entry in the live map, without the size */
	struct counts *counts; /* those of slot */
	/* the stack that followed it last time, by the stack before it; never NULL */
	struct hit *next[HIT_NEXT];
	uint64_t epoch; /* of which slot is */
	slot_id slot;
	uint32_t suspicion; /* of the maps then */
	uint16_t few;       /* how many of own[], or HIT_DEEP: `count` and the outer ones */
	uint16_t count;     /* how many of own[] in any case */
	uint16_t tag;   /* tells apart stacks that precede a third one: offset into their next[], in
			   bytes */
	bool needs_fp;  /* fp must be the same */
	uint32_t outer; /* deep: the kept stack's frames up to this one are its outer part, */
	uint64_t made;  /* ... as long as that frame has this number */
	struct pair own[HIT_PAIRS]; /* to compare, outermost first */
};
_Static_assert(sizeof(struct hit) == 640 || sizeof(void *) == 4,
	       "whole cache lines, and pairs that begin with one");

/* its session was ended (detach): late events do not count */
#define BUSY_OVER (UINTPTR_MAX - 1)
/* likewise, but an event was still under way */
#define BUSY_OVERRUN (UINTPTR_MAX - 2)

/* A thread's own state. It outlives the thread with all its counters, and a later thread continues
 * it (with a new index for ages and names): see record/thread.c. Never unmapped. The owner thread
 * writes; the server reads the fields with an x. */
struct thread {
	/* record/slots.c's; first, where its address is the state's: an event indexes it */
	struct mid *_Atomic root[ROOT_MIDS];
	struct thread *next;      /* list of all, immutable once linked */
	struct hot *hot;          /* its gate, in wiped-on-fork memory; immutable */
	_Atomic uint32_t xindex;  /* MTW thread index of the present owner, 0 = overflowed */
	_Atomic int xtid;         /* kernel tid of the present owner, 0 = it ended */
	_Atomic uintptr_t xstack; /* an address on its stack */
	_Atomic uint32_t xstamp;  /* newest stamp of its mids */
	int64_t published; /* the part of its live bytes that the global balance (peak) includes */
	int64_t alloc_room, free_room; /* bytes until the next report to the global balance */
	struct unwind_cache *unwind;   /* unwind/cache.c makes it; NULL until the first capture */
	struct call_stack *calls;      /* hooks/instrument.c's; NULL until it is needed */
	struct counts total;           /* events counted in this set by all of its owners */
	struct tally base;             /* total when the present owner took over */
	int64_t step;                  /* the most that it may keep from the balance now */
	struct cost cost;
	struct filtering filter;
	uintptr_t busy_sp;  /* inside the agent since this stack pointer; 0 = not */
	struct hit *last;   /* the stack of the last allocation */
	struct hit **link;  /* the place of the one predicted for the next, for correction */
	struct hit *hits;   /* HITS of them; NULL until one is needed */
	uint32_t hit_count; /* in use: a thread with few stacks has touched few pages */
	/* the last stack, when it cannot be remembered; its sp is 0, so it never matches */
	struct hit none;
	uint32_t turn;      /* the way to overwrite next */
	uint32_t bare;      /* captures to come whose stacks are not sought, nor remembered */
	uint32_t misses;    /* stacks that were sought in vain */
	uint64_t trial_at;  /* ... since this number of blocks */
	uintptr_t deleting; /* block that a foreign operator delete frees right now */
	uintptr_t origin;   /* the caller of the last operator new that failed */
	_Atomic uint32_t xsession; /* that its counters are of: record/thread.c */
	/* enum rest: the server may publish what its ended owner held back: record/thread.c */
	_Atomic uint32_t xrest;
	bool shared; /* any thread may write it: counters need atomic additions */
	bool quiet;  /* the agent itself allocates (dlsym): not the program's */
#ifdef __BIONIC__
	_Atomic bool xleft; /* base/self.c: its owner has ended */
	uint32_t ends;      /* rounds of destructors that the owner has been through */
#else
	/* robust, held by the owner until it ends: the kernel then releases it */
	pthread_mutex_t alive;
#endif
};

/* A thread's gate. Hooks test `open` first, through a pointer of their thread's (base/self.h). It
 * lies in a MADV_WIPEONFORK mapping: in a forked child both words read NULL, and the first hook
 * takes the slow branch. A thread without a state points at a static object that is never open. At
 * most one of them is not NULL. Its thread sets them; the server only closes. */
struct hot {
	struct thread *open; /* its state; NULL = not ready, forked, disabled, or: */
	/* its state, while sampling is all that filters; NULL = slow branch */
	struct thread *sampled;
};

/* One interned code location: the label of a trie edge. Immutable once published. */
struct code {
	uintptr_t pc;    /* as met (a return address, or exact for kind SIGNAL) */
	uint64_t offset; /* pc - load bias of its module; = pc for NOWHERE; reason for TRUNCATED */
	uint32_t module; /* module id */
	uint8_t kind;    /* enum mtw_node */
};

/* A slot's stack and epoch. Immutable once published: to threads by its node, to the
 * server by the first block that is counted in it. */
struct slot {
	uint64_t epoch : 33;
	uint64_t rate : 6; /* of sampling, by number; 0 = exact */
	uint64_t node : 25;
};
_Static_assert(sizeof(struct slot) == 8, "a program can have a hundred thousand and more");

/* The effort of captures, without stacks that were simply remembered. */
struct effort {
	uint64_t captures;    /* stacks that had to be captured */
	uint64_t whole;       /* ... without a frame in common with the one before */
	uint64_t frames;      /* that were walked for them */
	uint64_t pc_misses;   /* pcs that the thread's cache did not have */
	uint64_t edge_misses; /* steps of the trie that were new, or looked up by hash */
};

/* A mapped part of a file: a PT_LOAD header's. */
struct segment {
	uintptr_t start, end; /* as the header says, no whole pages */
	bool readable, executable;
};

/*
 * A loaded object, or an unloaded one: ids are never reused, an address range may be. Immutable
 * except `file` and fields with an x.
 */
struct module {
	uint32_t id;
	_Atomic uint32_t xflags; /* MTW_MODULE_* */
	uintptr_t bias;
	/* from the first segment's first page to the last segment's end; another module may lie in
	 * the gaps */
	uintptr_t start, end;
	const struct segment *segment; /* in the order of the headers: by address */
	uint32_t segments;
	/* ElfW(Phdr) *, in the file's own memory; NULL = not found, then there are no tables */
	const void *headers;
	size_t header_count;
	uintptr_t eh_frame_hdr, eh_frame_hdr_end; /* mapped address, 0 = none */
	const void *link;                         /* the loader's struct link_map */
	uint64_t loaded_ns;
	_Atomic uint64_t xunloaded_ns;
	uint8_t build_id[64];
	uint32_t build_id_len;
	bool is_go;                /* Go's linker made it */
	_Atomic uint32_t xchanged; /* stamp of the collector's pass, as a counter page's */
	const char *file; /* server only: the absolute path; NULL = `path` is all that is known */
	/* cfi/index.c's; NULL = nobody asked yet */
	struct cfi_index *_Atomic xcfi_index;
	/* cfi/pages.c's, server only: its unwind tables, once they were looked at; to 0 = not yet
	 */
	uintptr_t tables_from, tables_to;
	char path[];
};

/* An entry taken out of the live map. */
struct block {
	size_t size;
	slot_id slot; /* 0 = address unknown to us */
	uint32_t tick;
	uint32_t thread;
};

/* Options, set once from the environment; those that may change later have an x. See base/conf.c.
 */
struct conf {
	char listen[256];
	char unwind[16];
	char token_file[256];
	_Atomic uint32_t xdepth; /* frames kept */
	uint64_t max_memory;     /* bytes, 0 = default rule */
	uint64_t mark_memory;
	uint64_t tick_ns;
	uint64_t wait_ns;  /* wait=: the longest time that the constructor waits for a first viewer;
			      0 = does not wait */
	uint64_t wait_for; /* ... which is this process: the memtop that started the program; 0 =
			      anyone */
	bool follow_exec;
	bool follow_static;
	bool fold_recursion; /* each call site appears on a stack only once: unwind/cache.c */
	uint64_t min_size, max_size;  /* filters: record/filter.c; 0 = off */
	uint64_t sample;              /* mean bytes between samples; 0 = every block */
	uint64_t merge;               /* outermost frames kept; 0 = all */
	char libs[256], exclude[256]; /* expressions for the owner; "" = any */
	/* dumps: server/dump.c; 0, "" = none */
	uint64_t dump_on_growth, dump_on_rss; /* bytes */
	bool dump_at_exit, dump_on_fail;
	char window_signal[12];             /* "" = none: server/signals.c */
	char dump_signal[12], dump_to[256]; /* dump_to: "" = the default */
};

enum agent_state {
	AGENT_EARLY = 0, /* before the real allocator is known */
	AGENT_ON,        /* counting */
	AGENT_OFF,       /* a bad option, or refused: forward only */
	AGENT_DORMANT,   /* forked child: counts, has no server yet */
};

#endif
