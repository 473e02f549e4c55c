/* SPDX-License-Identifier: MIT
 *
 * odd.c - stacks that no compiler makes: tables that lie, stacks that end nowhere or at a guard
 * page, stacks that were unmapped, marks left behind. The unwinder must not fault, must say that it
 * gave up, must keep what it had, and must be right again afterwards.
 */
#include "check.h"
#include "fakes.h"
#include "base/conf.h"
#include "base/types.h"
#include "modules/maps.h"
#include "unwind/cache.h"
#include "unwind/fast.h"
#include "unwind/stacks.h"
#include "unwind/unwind.h"

#include <alloca.h>
#include <memtop/wire.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MANY 512

static struct thread state;

struct list {
	int n;
	void *pc[MANY];
	unsigned reason;
};

static struct list taken;

static void path(node_id node, struct list *out)
{
	out->n = 0;
	out->reason = MTW_TRUNC_NONE;
	while (node && out->n < MANY) {
		const struct node *n = mt_stacks_node(node);
		const struct code *c = mt_stacks_code_at(node_code(n));
		if (c->kind == MTW_NODE_TRUNCATED) {
			out->reason = (unsigned)c->offset;
			return;
		}
		out->pc[out->n++] = (void *)c->pc;
		node = node_parent(n);
	}
}

/* Captures, twice the same; the plain walk must agree as far as the capture got. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) void take(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	struct regs r = { (uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2),
			  frame[0] };
	static void *plain[MANY];
	node_id node = mt_unwind_capture(&state, &r);
	int n = mt_unwind_frames(&state, &r, plain, MANY);

	path(node, &taken);
	CHECK_EQ(mt_unwind_capture(&state, &r), node);
	CHECK(taken.n >= (taken.reason != MTW_TRUNC_NODES) && taken.n <= n);
	CHECK(!memcmp(taken.pc, plain, (size_t)taken.n * sizeof(*plain)));
	if (taken.reason == MTW_TRUNC_NONE)
		CHECK_EQ(taken.n, n);
}

static void begin(void)
{
	mt_maps_init();
	CHECK(mt_unwind_init("cfi", true));
}

/* A function with a frame of 24 bytes that calls take(), and a table that says `cfi` of it. */
#define FALSE_TABLE(name, before, cfi, after)                                                      \
	void name(void);                                                                           \
	__asm__(".text\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" before           \
		"sub $24, %rsp\n" cfi "call take\nadd $24, %rsp\n" after                           \
		"ret\n.cfi_endproc\n.size " #name ", .-" #name "\n")

#define PUSH_BP(value) "push %rbp\nsub $8, %rsp\nmov $" value ", %rbp\n"
#define POP_BP "add $8, %rsp\npop %rbp\n"

FALSE_TABLE(true_table, "", ".cfi_def_cfa_offset 32\n", "");
FALSE_TABLE(inward, "", ".cfi_def_cfa %rsp, -64\n", "");
FALSE_TABLE(standing, "", ".cfi_def_cfa %rsp, 0\n", "");
FALSE_TABLE(crooked, "", ".cfi_def_cfa %rsp, 29\n", "");
FALSE_TABLE(off_the_end, "", ".cfi_def_cfa %rsp, 0x7ffff0\n", "");
FALSE_TABLE(far_away, "", ".cfi_def_cfa %rsp, 0x7ffffff0\n", "");
FALSE_TABLE(low_bp, PUSH_BP("16"), ".cfi_def_cfa %rbp, 16\n", POP_BP);
FALSE_TABLE(wild_bp, "push %rbp\nsub $8, %rsp\nmovabs $0x7fff00000ff0, %rbp\n",
	    ".cfi_def_cfa %rbp, 16\n", POP_BP);
FALSE_TABLE(wild_slot, "", ".cfi_def_cfa_offset 32\n.cfi_offset %rbp, -0x700000\n", "");
FALSE_TABLE(unknown_register, "", ".cfi_def_cfa %r15, 8\n", "");
FALSE_TABLE(no_such_register, "", ".cfi_def_cfa 40, 8\n", "");
/* const8u 0x1000; deref */
FALSE_TABLE(wild_word, "", ".cfi_escape 0x0f, 10, 0x0e, 0, 0x10, 0, 0, 0, 0, 0, 0, 0x06\n", "");
/* deref of an over-aligned frame's word, with bp = 24 */
FALSE_TABLE(wild_drap, PUSH_BP("24"), ".cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n", POP_BP);
/* skip -3: for ever */
FALSE_TABLE(endless, "", ".cfi_escape 0x0f, 3, 0x2f, 0xfd, 0xff\n", "");
/* breg7 8; lit0; div */
FALSE_TABLE(division, "", ".cfi_escape 0x0f, 4, 0x77, 8, 0x30, 0x1b\n", "");
/* pops of an empty stack */
FALSE_TABLE(underflow, "", ".cfi_escape 0x0f, 2, 0x13, 0x22\n", "");
FALSE_TABLE(restore_nothing, "", ".cfi_escape 0x0b\n", "");
FALSE_TABLE(wild_return, "", ".cfi_def_cfa_offset 32\n.cfi_offset %rip, 0x7f0000\n", "");
FALSE_TABLE(no_cfa, "", ".cfi_escape 0x0f, 0\n", "");

static void check_whole(void)
{
	true_table();
	CHECK_EQ(taken.reason, MTW_TRUNC_NONE);
	CHECK(taken.n >= 5);
}

#define FALSE_CASE(name)                                                                           \
	{                                                                                          \
#name, name                                                                        \
	}

TEST(false_tables)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		FALSE_CASE(inward),      FALSE_CASE(standing),         FALSE_CASE(crooked),
		FALSE_CASE(off_the_end), FALSE_CASE(far_away),         FALSE_CASE(low_bp),
		FALSE_CASE(wild_bp),     FALSE_CASE(unknown_register), FALSE_CASE(no_such_register),
		FALSE_CASE(wild_word),   FALSE_CASE(wild_drap),        FALSE_CASE(endless),
		FALSE_CASE(division),    FALSE_CASE(underflow),        FALSE_CASE(restore_nothing),
		FALSE_CASE(wild_return), FALSE_CASE(no_cfa),           FALSE_CASE(wild_slot),
	};

	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		check_whole();
		cases[i].run();
		if (taken.reason == MTW_TRUNC_NONE || taken.n != 1)
			printf("  %s: reason %u, %d frames\n", cases[i].name, taken.reason,
			       taken.n);
		CHECK(taken.reason == MTW_TRUNC_BAD_CFI || taken.reason == MTW_TRUNC_NO_CFI ||
		      taken.reason == MTW_TRUNC_SWITCHED);
		check_whole();
	}
}

/* A frame record may not overlap the frame: bp lies a word inside, where a return address
 * follows. */
__asm__(".text\n.type inner_record, @function\ninner_record:\npush %rbp\nmov 8(%rsp), %rax\nsub "
	"$16, %rsp\n"
	"mov %rax, (%rsp)\nlea -8(%rsp), %rbp\ncall take\nadd $16, %rsp\npop %rbp\nret\n"
	".size inner_record, .-inner_record\n");
void inner_record(void);

TEST(records_lie_outside_of_the_frame)
{
	mt_maps_init();
	CHECK(mt_unwind_init("fp", true));
	inner_record();
	CHECK_EQ(taken.reason, MTW_TRUNC_BAD_CFI);
	CHECK_EQ(taken.n, 1);
}

/* CFA in rbx, as in the loader's lazy binding; what is called saves rbx. */
__asm__(".text\n.type by_rbx, @function\nby_rbx:\n.cfi_startproc\npush %rbx\n"
	".cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\nmov %rsp, %rbx\n.cfi_def_cfa_register "
	"%rbx\n"
	"and $-64, %rsp\nsub $192, %rsp\ncall uses_rbx\nmov %rbx, %rsp\n.cfi_def_cfa_register "
	"%rsp\n"
	"pop %rbx\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size by_rbx, .-by_rbx\n");
void by_rbx(void);

__attribute__((noinline)) void uses_rbx(void)
{
	__asm__ volatile("xor %%ebx, %%ebx" : : : "rbx");
	take();
	__asm__ volatile("mov $7, %%ebx" : : : "rbx");
}

TEST(other_registers)
{
	begin();
	for (int i = 0; i < 3; i++) {
		check_whole();
		int n = taken.n; /* true_table, check_whole, and what called it */
		by_rbx();
		CHECK_EQ(taken.reason, MTW_TRUNC_NONE);
		CHECK_EQ(taken.n, n); /* uses_rbx, by_rbx instead */
	}
}

/* Runs fn on a stack whose first word lies under `top`; the table does not know of the switch. */
__asm__(".text\n.type switch_blindly, @function\nswitch_blindly:\n.cfi_startproc\npush %rbp\n"
	".cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\nmov %rsi, %rsp\n"
	"call *%rdi\nmov %rbp, %rsp\npop %rbp\nret\n.cfi_endproc\n");
void switch_blindly(void (*fn)(void), void *top);

__attribute__((noinline)) static void leaf(void)
{
	take();
	__asm__ volatile("");
}

static char *map_stack(char *at, size_t bytes)
{
	char *stack = mmap(at, bytes + 8192, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	CHECK(stack != MAP_FAILED);
	CHECK(!mprotect(stack + 4096, bytes, PROT_READ | PROT_WRITE));
	return stack;
}

TEST(guard_page)
{
	size_t bytes = 65536;

	begin();
	char *stack = map_stack(NULL, bytes);
	for (int i = 0; i < 4; i++) {
		switch_blindly(leaf, stack + 4096 + bytes);
		CHECK_EQ(taken.reason, MTW_TRUNC_SWITCHED);
		CHECK_EQ(taken.n, 2); /* leaf, switch_blindly */
		check_whole();
	}
}

/* Is the caller's stack one that is remembered? Then it is, from now on. */
static bool met(struct thread *t, struct regs r)
{
	struct hit *h = t->hits ? unwind_recent(t, r.pc, r.sp, r.fp) : NULL;

	mt_unwind_capture(t, &r);
	CHECK(unwind_is_plain(t->unwind, &r));
	if (!t->hits)
		t->hits = calloc(HITS, sizeof(*t->hits));
	if (!h)
		unwind_remember(t->unwind, unwind_hit_place(t, r.pc, r.sp));
	return h;
}

static int times_met;

#define LEVEL(name, further)                                                                       \
	__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void name(             \
		struct thread *t)                                                                  \
	{                                                                                          \
		further;                                                                           \
		__asm__ volatile("" : : "r"(t) : "memory");                                        \
	}
LEVEL(level_3, {
	uintptr_t *frame = __builtin_frame_address(0);
	times_met += met(t, (struct regs){ (uintptr_t)__builtin_return_address(0),
					   (uintptr_t)(frame + 2), frame[0] });
})
LEVEL(level_2, level_3(t))
LEVEL(level_1, level_2(t))

/* The table says that nobody called it, and it calls `fn` from two places. */
__asm__(".text\n.type twice, @function\ntwice:\n.cfi_startproc\n.cfi_undefined rip\npush %rbx\n"
	"push %rbp\nsub $8, %rsp\nmov %rdi, %rbx\nmov %rsi, %rbp\nmov %rbp, %rdi\ncall *%rbx\n"
	"mov %rbp, %rdi\ncall *%rbx\nadd $8, %rsp\npop %rbp\npop %rbx\nret\n.cfi_endproc\n"
	".size twice, .-twice\n");
void twice(void (*fn)(struct thread *), struct thread *t);

static void *in_a_thread(void *arg)
{
	struct thread *t = arg;

	for (volatile int i = 0; i < 2; i++)
		level_1(t);
	CHECK_EQ(t->unwind->lasting, 2); /* start_thread's return address, and this function's */
	return NULL;
}

/* Return addresses that cannot change are not compared again, and others are, also where the table
 * says that the frame further out is the last. */
TEST(outermost_frames)
{
	static struct thread own, other;
	pthread_t thread;

	begin();
	for (volatile int i = 0; i < 2; i++)
		level_1(&own);
	CHECK_EQ(times_met, 1);
	CHECK(own.unwind->lasting >= 2); /* newer glibcs call main by one function more */
	for (volatile int i = 0; i < 2; i++)
		twice(level_1, &own);
	CHECK_EQ(times_met, 3); /* each of the two places once */
	CHECK_EQ(own.unwind->lasting, 0);
	for (volatile int i = 0; i < 2; i++)
		level_1(&own);
	CHECK_EQ(times_met, 4); /* another call of it than the first */
	CHECK_EQ(pthread_create(&thread, NULL, in_a_thread, &other), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(times_met, 5);
}

/* The same addresses again, with less behind them each time. */
TEST(unmapped_stacks)
{
	char *place = map_stack(NULL, 1 << 20);

	begin();
	munmap(place, (1 << 20) + 8192);
	for (size_t pages = 64; pages >= 2; pages /= 2) {
		char *stack = map_stack(place, pages * 4096);
		for (size_t top = pages; top >= 2; top--) {
			switch_blindly(leaf, stack + 4096 + top * 4096);
			switch_blindly(leaf, stack + 4096 + top * 4096 - 512);
		}
		munmap(stack, pages * 4096 + 8192);
		if (pages & 16)
			check_whole();
	}
	check_whole();
}

static unsigned seed = 5;

static unsigned random_below(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static unsigned limit;
static int cut, uncut, budget; /* takes left in this climb */

__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void take_cut(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	struct regs r = { (uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2),
			  frame[0] };
	static void *plain[MANY];
	struct list mine;

	path(mt_unwind_capture(&state, &r), &mine);
	int n = mt_unwind_frames(&state, &r, plain, MANY);
	bool whole = n <= (int)limit;
	CHECK_EQ(mine.reason, whole ? MTW_TRUNC_NONE : MTW_TRUNC_DEPTH);
	CHECK_EQ(mine.n, whole ? n : (int)limit);
	CHECK(!memcmp(mine.pc, plain, (size_t)mine.n * sizeof(*plain)));
	cut += !whole;
	uncut += whole;
	__asm__ volatile("");
}

#define CLIMBER(name, other)                                                                       \
	__attribute__((noinline)) static void name(int deeper)                                     \
	{                                                                                          \
		volatile char room[64 + 16 * (__LINE__ % 3)] = { 0 };                              \
		(void)room[1];                                                                     \
		take_cut();                                                                        \
		while (deeper > 0 && budget-- > 0 && random_below(8)) {                            \
			if (random_below(2))                                                       \
				name(deeper - 1);                                                  \
			else                                                                       \
				other(deeper - 1);                                                 \
			deeper -= 1 + (int)random_below(4);                                        \
			take_cut();                                                                \
		}                                                                                  \
	}
static void climb_b(int deeper);
CLIMBER(climb_a, climb_b)
CLIMBER(climb_b, climb_a)

TEST(depth_limit)
{
	begin();
	for (int i = 0; i < 10 || cut < 300 || uncut < 300; i++) {
		limit = 1 + random_below(40);
		atomic_store(&mt_conf.xdepth, limit);
		for (int n = 0; n < 4; n++) {
			budget = 100;
			climb_a(30);
		}
	}
	CHECK(mt_stacks_check());
}

/* More than what was mapped at first; and recursion far past any limit. */
__attribute__((noinline)) static int descend(int n)
{
	if (n == 0)
		take_cut();
	else
		descend(n - 1);
	__asm__ volatile("");
	return n;
}

TEST(deep_recursion)
{
	begin();
	for (limit = 8; limit <= 400; limit += 49) {
		atomic_store(&mt_conf.xdepth, limit);
		for (int n = 480; n > 0; n = n * 3 / 4)
			descend(n);
	}
}

/* A handler left a capture by siglongjmp: the mark is further in than we are, and means nothing. */
TEST(stale_mark)
{
	char here;

	begin();
	check_whole();
	for (uintptr_t in = 1024; in < 4096; in += 512) { /* further in than check_whole() gets */
		atomic_store(&state.unwind->xwalking, (uintptr_t)&here - in);
		check_whole();
		CHECK_EQ(atomic_load(&state.unwind->xwalking), 0);
	}
	atomic_store(&state.unwind->xwalking, (uintptr_t)&here + 64);
	true_table();
	CHECK_EQ(taken.reason, MTW_TRUNC_REENTRY);
	CHECK_EQ(taken.n, 1);
	atomic_store(&state.unwind->xwalking, 0);
	check_whole();
}

TEST(trie_full)
{
	begin();
	for (volatile int round = 0; round < 2; round++) { /* one call, one return address */
		check_whole();                             /* the second time its nodes are there */
		mt_conf.max_memory = 1;
		for (code_id code = 1; mt_stacks_child(1, code, NEED_WHOLE); code++)
			CHECK(code < 20000);
	}
	by_rbx();
	CHECK_EQ(taken.reason, MTW_TRUNC_NODES);
	mt_conf.max_memory = 0;
	mt_arena_tell(0, 0, 0);
	by_rbx(); /* its frames were kept without nodes, and now have them */
	CHECK_EQ(taken.reason, MTW_TRUNC_NONE);
	check_whole();
}

/* Each has a last frame of its own, so its stack is new whatever was folded before. */
#define BOTTOM(name)                                                                               \
	__attribute__((noinline)) static void name(void)                                           \
	{                                                                                          \
		take();                                                                            \
		__asm__ volatile("");                                                              \
	}
BOTTOM(bottom_whole)
BOTTOM(bottom_16)
BOTTOM(bottom_4)
BOTTOM(bottom_1)

__attribute__((noinline)) static void deep(int n, void (*bottom)(void))
{
	if (n > 0)
		deep(n - 1, bottom);
	else
		bottom();
	__asm__ volatile("");
}

/* As memory gets short, new stacks keep fewer inner frames; those that were whole stay so. */
TEST(folded)
{
	static const struct {
		unsigned share; /* of the limit, in 64ths: base/arena.c */
		int frames;
		void (*bottom)(void);
	} short_of[] = { { 52, 16, bottom_16 }, { 55, 4, bottom_4 }, { 58, 1, bottom_1 } };

	begin();
	for (volatile int turn = 0; turn < 2; turn++) { /* one call, one return address */
		deep(45, bottom_whole);                 /* with its tables, which take memory */
		CHECK_EQ(taken.reason, MTW_TRUNC_NONE);
		for (volatile int i = 0; i < 3 && !turn; i++) {
			mt_conf.max_memory =
				(mt_arena_bytes() + (32u << 10)) * 64 / short_of[i].share;
			mt_arena_tell(0, 0, 0);
			for (volatile int n = 40; n < 43; n++) { /* the same inner frames */
				deep(n, short_of[i].bottom);
				CHECK_EQ(taken.reason, MTW_TRUNC_NODES);
				CHECK_EQ(taken.n, short_of[i].frames);
			}
		}
	}
	mt_conf.max_memory = 0;
	mt_arena_tell(0, 0, 0);
	for (volatile int i = 0; i < 3; i++) {
		deep(40, short_of[i].bottom);
		CHECK_EQ(taken.reason, MTW_TRUNC_NONE);
	}
}

/*
 * The same inner frames in the same place, with others further out: callers whose frames differ by
 * multiples of 16 bytes, made up for by the padding of an over-aligned frame or by an alloca. What
 * the old return addresses held is still there, so only the word that the aligned frame's CFA is
 * read from, or the saved rbp, tells.
 */
__attribute__((noinline)) static void touch(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

__attribute__((noinline)) static void wide(unsigned n)
{
	__attribute__((aligned(256))) char m[256];

	/* makes the compiler keep the caller's sp in a word of the frame */
	touch(alloca(16 + n % 2));
	touch(m);
	take();
	touch(m);
}

__attribute__((noinline)) static void saves_rbp(void)
{
	__asm__ volatile("xor %%ebp, %%ebp" : : : "rbp", "rbx");
	take();
	__asm__ volatile("mov $3, %%ebp" : : : "rbp", "rbx");
}

__attribute__((noinline)) static void sliding(unsigned n)
{
	touch(alloca(16 * n));
	saves_rbp();
	__asm__ volatile("");
}

__attribute__((noinline)) static void sliding_leaf(unsigned n)
{
	touch(alloca(16 * n));
	take();
	__asm__ volatile("");
}

static void (*callee)(unsigned);

/* Needs no rbp itself, and leads to one who saves it. */
__attribute__((noinline)) static void neutral(unsigned n)
{
	char m[40];

	(void)n;
	touch(m);
	saves_rbp();
	touch(m);
}

__attribute__((noinline)) static void sliding_caller(unsigned n)
{
	touch(alloca(16 * n));
	callee(n);
	__asm__ volatile("");
}

#define ROOM(k)                                                                                    \
	__attribute__((noinline)) static void room##k(unsigned n)                                  \
	{                                                                                          \
		char m[16 * (k) + 8];                                                              \
		touch(m);                                                                          \
		callee(n);                                                                         \
		/* No call here: it would write over the return address that was left behind. */   \
		__asm__ volatile("" : : "r"(m) : "memory");                                        \
	}
/* clang-format off */
ROOM(0) ROOM(1) ROOM(2) ROOM(3) ROOM(4) ROOM(5) ROOM(6) ROOM(7) ROOM(8) ROOM(9) ROOM(10) ROOM(11)

static void (*const rooms[])(unsigned) = { room0, room1, room2, room3, room4, room5,
					   room6, room7, room8, room9, room10, room11 };
/* clang-format on */

static void slide(void (*what)(unsigned))
{
	begin();
	callee = what;
	for (int i = 0; i < 20000; i++)
		rooms[random_below(12)](random_below(12));
}

/* rbp did not matter when the inner frames were kept; now somebody further out needs it. */
TEST(same_place_other_need_of_rbp)
{
	void (*outer[14])(unsigned);

	begin();
	callee = neutral;
	memcpy(outer, rooms, sizeof(rooms));
	outer[12] = outer[13] = sliding_caller;
	for (int i = 0; i < 20000; i++)
		outer[random_below(14)](random_below(12));
}

TEST(same_place_other_cfa_word)
{
	slide(wide);
}

TEST(same_place_other_saved_rbp)
{
	slide(sliding);
}

TEST(same_place_other_rbp)
{
	slide(sliding_leaf);
}
