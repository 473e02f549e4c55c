/* SPDX-License-Identifier: MIT
 *
 * test_fp_evidence.c - stacks through code without unwind tables: machine code written at run time
 * and assembly that keep frame pointers, do not, or use rbp for a similar value. Proven frames are
 * walked; any other ends the stack. Each capture is taken twice and compared with the plain walk.
 */
#include "check.h"
#include "base/conf.h"
#include "base/stack_bounds.h"
#include "base/types.h"
#include "modules/maps.h"
#include "unwind/fp_evidence.h"
#include "unwind/stacks.h"
#include "unwind/unwind.h"

#include <memtop/wire.h>
#include <sys/mman.h>

#if defined(__x86_64__)

#define MANY 128
#define NOINLINE __attribute__((noinline, noipa))

static struct thread state;
static struct {
	int n;
	uintptr_t pc[MANY];
	bool proven[MANY];
	unsigned reason;
} taken;

static bool kept_alone; /* the plain walk knows nothing of code that is gone */
/* code was replaced by one that keeps a frame pointer: noticed within a second */
static bool may_lag;

static void path(node_id node)
{
	bool proven = false;

	memset(&taken, 0, sizeof(taken));
	for (; node && taken.n < MANY; node = node_parent(mt_stacks_node(node))) {
		const struct code *c = mt_stacks_code_at(node_code(mt_stacks_node(node)));
		if (c->kind == MTW_NODE_TRUNCATED) {
			taken.reason = (unsigned)c->offset;
			return;
		}
		taken.proven[taken.n] = proven;
		taken.pc[taken.n++] = c->pc;
		proven = mt_unwind_by_pointer(node_code(mt_stacks_node(node)));
	}
}

void take(void);
__attribute__((noinline, optimize("no-omit-frame-pointer"))) void take(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	struct regs r = { (uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2),
			  frame[0] };
	static void *plain[MANY];
	node_id node = mt_unwind_capture(&state, &r);
	int n = mt_unwind_frames(&state, &r, plain, MANY);

	path(node);
	CHECK_EQ(mt_unwind_capture(&state, &r), node);
	if (kept_alone)
		return;
	CHECK(taken.n == n || (may_lag && taken.n < n));
	CHECK(!memcmp(taken.pc, plain, (size_t)taken.n * sizeof(*plain)));
}

/* As the server does once a second. */
static void a_second_passes(void)
{
	static uint64_t now = 1;

	mt_unwind_evidence_expire(now += 1000000000u);
}

static void begin(void)
{
	atomic_store(&mt_conf.xdepth, 100);
	mt_maps_init();
	CHECK(mt_unwind_init("cfi", true));
}

#define CODE_BYTES ((size_t)4 << 20)

static uint8_t *code, *here;

static void *emit(const char *hex)
{
	void *at = here;
	unsigned v;

	for (; sscanf(hex, " %2x", &v) == 1; hex += strspn(hex, " ") + 2)
		*here++ = (uint8_t)v;
	return at;
}

static void emit_word(const void *value)
{
	memcpy(here, &value, sizeof(value));
	here += sizeof(value);
}

/* mov $to, %rax; call *%rax. Returns the return address. */
static uintptr_t emit_call(const void *to)
{
	emit("48 b8");
	emit_word(to);
	emit("ff d0");
	return (uintptr_t)here;
}

static void new_page(void)
{
	begin();
	code = here = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(code != MAP_FAILED);
}

/* A generated function: `before`, a call of `to`, `after`. */
struct made {
	void (*run)(void);
	uintptr_t back;
};

static struct made make(const char *before, const void *to, const char *after)
{
	struct made m;

	here += -(uintptr_t)here & 15;
	*(void **)&m.run = emit(before);
	m.back = emit_call(to);
	emit(after);
	return m;
}

#define KEEP "55 48 89 e5 48 83 ec 20" /* push %rbp; mov %rsp, %rbp; sub $32, %rsp */

static const struct {
	const char *name, *before, *after;
} keeping[] = {
	{ "leave", KEEP, "c9 c3" },
	{ "pop", KEEP, "48 83 c4 20 5d c3" },
	{ "mov, pop", KEEP, "48 89 ec 5d c3" },
	{ "two more registers", "55 48 89 e5 53 41 54 48 83 ec 10", "48 8d 65 f0 41 5c 5b 5d c3" },
	{ "counted pops", "55 48 89 e5 53 41 54 48 83 ec 10", "48 83 c4 10 41 5c 5b 5d c3" },
	{ "a branch on the way", KEEP, "85 c0 75 02 c9 c3 0f 0b" },
	{ "the other side of the branch", KEEP, "85 c0 74 02 0f 0b c9 c3" },
	{ "a jump on the way", KEEP, "eb 02 0f 0b c9 c3" },
	/* sub $40, %rsp; mov %rbp, 32(%rsp); lea 32(%rsp), %rbp ... mov 32(%rsp), %rbp; add $40,
	 * %rsp: Go before 1.21 */
	{ "Go's", "48 83 ec 28 48 89 6c 24 20 48 8d 6c 24 20", "48 8b 6c 24 20 48 83 c4 28 c3" },
	{ "rbp from its own record", KEEP, "48 8b 6d 00 48 83 c4 28 c3" },
	{ "a return address that is pushed again", KEEP, "c9 59 51 c3" },
	{ "a return address that is jumped to", KEEP, "c9 59 ff e1" },
	{ "both words from its record", KEEP,
	  "48 8b 4d 08 48 89 ec 48 8b 6d 00 48 83 c4 10 51 c3" },
};

/* The innermost is take's own caller. */
TEST(code_that_keeps_a_frame_pointer)
{
	new_page();
	for (size_t i = 0; i < sizeof(keeping) / sizeof(*keeping); i++) {
		struct made inner = make(keeping[i].before, (void *)take, keeping[i].after);
		struct made middle = make(KEEP, (void *)inner.run, "c9 c3");
		printf("  %s\n", keeping[i].name);
		middle.run();
		CHECK_EQ(taken.reason, MTW_TRUNC_NONE);
		CHECK(taken.n >= 5);
		CHECK(taken.pc[0] == inner.back && !taken.proven[0]);
		CHECK(taken.pc[1] == middle.back && taken.proven[1]);
		/* this function, and its caller by its table */
		CHECK(taken.proven[2] && !taken.proven[3]);
	}
}

/* V8's baseline code jumps to one epilogue that all of it shares. */
TEST(an_epilogue_far_away)
{
	new_page();
	uint8_t *end = code + (3 << 20);
	struct made inner = make(KEEP, (void *)take, "e9 00 00 00 00");
	struct made middle = make(KEEP, (void *)inner.run, "c9 c3");
	int32_t distance = (int32_t)(end - (uint8_t *)(inner.back + 5));

	memcpy((uint8_t *)inner.back + 1, &distance, sizeof(distance));
	memcpy(end, "\xc9\xc3", 2);
	middle.run();
	CHECK_EQ(taken.reason, MTW_TRUNC_NONE);
	CHECK(taken.pc[1] == middle.back && taken.proven[1]);
}

static struct made deep[8];

NOINLINE static void covered(void)
{
	deep[0].run();
	__asm__ volatile("");
}

/* Generated, covered, generated, ...: tables and frame pointers take turns. */
TEST(covered_frames_between)
{
	new_page();
	deep[0] = make(KEEP, (void *)take, "c9 c3");
	struct made outer = make(KEEP, (void *)covered, "48 83 c4 20 5d c3");
	struct made most = make(keeping[8].before, (void *)outer.run, keeping[8].after);
	for (int turn = 0; turn < 3; turn++) {
		most.run();
		CHECK_EQ(taken.reason, MTW_TRUNC_NONE);
		/* covered(), found by a pointer */
		CHECK(taken.pc[0] == deep[0].back && taken.proven[1]);
		CHECK(taken.pc[2] == outer.back && !taken.proven[2]); /* by covered()'s table */
		CHECK(taken.pc[3] == most.back && taken.proven[3]);
		CHECK(taken.proven[4] && !taken.proven[5]);
	}
}

/* Read on as if a call never came back: stc; jc */
#define JUMP_OVER(bytes) "f9 72 " bytes " "

static const struct {
	const char *name, *before, *after;
} keeping_none[] = {
	{ "rbp left alone", "48 83 ec 18", "48 83 c4 18 c3" },
	{ "rbp left alone, the other side of a branch", "48 83 ec 18",
	  "85 c0 74 05 48 83 c4 18 c3 48 83 c4 18 c3" },
	{ "0", "55 48 83 ec 10 31 ed", "48 83 c4 10 5d c3" },
	{ "crooked", "55 48 83 ec 10 48 8d 6c 24 1c", "48 83 c4 10 5d c3" },
	{ "inwards", "55 48 83 ec 10 48 8d 6c 24 c0", "48 83 c4 10 5d c3" },
	{ "outside of all", "55 48 83 ec 10 48 bd f0 0f 00 00 ff 7f 00 00", "48 83 c4 10 5d c3" },
	{ "its own locals", "55 48 83 ec 20 48 8d 6c 24 08", "48 83 c4 20 5d c3" },
	{ "saved, and left alone", "55 53 48 83 ec 08", "48 83 c4 08 5b 5d c3" },
	{ "an end behind an indirect jump", KEEP, "48 8d 05 03 00 00 00 ff e0 06 c9 c3" },
	{ "rbp written on the way", KEEP, "48 89 e8 48 89 c5 c9 c3" },
	{ "a list's next element", "55 48 83 ec 10", "48 8b 6d 00 48 83 c4 10 5d c3" },
	{ "a stack of another's", "55 48 83 ec 10",
	  JUMP_OVER("04") "48 8b 65 08 48 83 c4 10 5d c3" },
	{ "another function, which begins with enter", "48 83 ec 18",
	  JUMP_OVER("06") "c8 00 00 00 c9 c3 48 83 c4 18 c3" },
	{ "another function, which begins with xchg", "48 83 ec 18",
	  JUMP_OVER("05") "48 87 e5 c9 c3 48 83 c4 18 c3" },
};

TEST(code_that_keeps_none)
{
	new_page();
	for (size_t i = 0; i < sizeof(keeping_none) / sizeof(*keeping_none); i++) {
		struct made inner =
			make(keeping_none[i].before, (void *)take, keeping_none[i].after);
		struct made middle = make(KEEP, (void *)inner.run, "c9 c3");
		/* who would stand for middle */
		struct made outer = make(KEEP, (void *)middle.run, "c9 c3");
		printf("  %s\n", keeping_none[i].name);
		outer.run();
		CHECK_EQ(taken.reason, MTW_TRUNC_NO_CFI);
		CHECK_EQ(taken.n, 1);
		CHECK(taken.pc[0] == inner.back);
	}
}

static uintptr_t real_return;

NOINLINE static void learn_return(void)
{
	real_return = (uintptr_t)__builtin_return_address(0);
}

/* rbp points at two words of the function's own that look like a record: what an older call leaves
 * in locals. */
TEST(an_old_record_among_locals)
{
	new_page();
	learn_return();
	here += -(uintptr_t)here & 15;
	void (*inner)(void);
	*(void **)&inner = emit("55 48 83 ec 20 48 8b 44 24 20 48 89 44 24 08 48 b8");
	emit_word((void *)real_return);
	emit("48 89 44 24 10 48 8d 6c 24 08"); /* mov %rax, 16(%rsp); lea 8(%rsp), %rbp */
	uintptr_t back = emit_call((void *)take);
	emit("48 83 c4 20 5d c3");
	struct made middle = make(KEEP, (void *)inner, "c9 c3");
	middle.run();
	CHECK_EQ(taken.reason, MTW_TRUNC_NO_CFI);
	CHECK(taken.n == 1 && taken.pc[0] == back);
}

/* rbx, saved next to rbp, holds where a call returns to. */
TEST(a_register_behind_the_pointer)
{
	new_page();
	struct made other = make(KEEP, (void *)take, "c9 c3");
	other.run();
	here += -(uintptr_t)here & 15;
	void (*inner)(void);
	/* push %rbx; mov $..., %rbx; push %rbx; push %rbp; mov %rsp, %rbp; sub $16, %rsp */
	*(void **)&inner = emit("53 48 bb");
	emit_word((void *)other.back);
	emit("53 55 48 89 e5 48 83 ec 10");
	uintptr_t back = emit_call((void *)take);
	emit("48 89 ec 5d 5b 5b c3");
	struct made middle = make(KEEP, (void *)inner, "c9 c3");
	middle.run();
	CHECK_EQ(taken.reason, MTW_TRUNC_NO_CFI);
	CHECK(taken.n == 1 && taken.pc[0] == back);
}

/* Behind a call that never returns stands what looks like a jump to data. */
TEST(data_is_not_read)
{
	new_page();
	uint8_t *data = code + CODE_BYTES - 4096;
	struct made inner =
		make("48 83 ec 18", (void *)take, JUMP_OVER("05") "e9 00 00 00 00 48 83 c4 18 c3");
	struct made middle = make(KEEP, (void *)inner.run, "c9 c3");
	int32_t distance = (int32_t)(data - (uint8_t *)(inner.back + 8));

	memcpy((uint8_t *)inner.back + 4, &distance, sizeof(distance));
	memcpy(data, "\xc9\xc3", 2);
	CHECK(!mprotect(data, 4096, PROT_READ | PROT_WRITE));
	struct made keeps = make(KEEP, (void *)take, "c9 c3");
	keeps.run(); /* asks about generated code */
	a_second_passes();
	middle.run();
	CHECK_EQ(taken.reason, MTW_TRUNC_NO_CFI);
	CHECK(taken.n == 1 && taken.pc[0] == inner.back);
}

static uintptr_t replacement;

__attribute__((noinline, noipa, optimize("no-omit-frame-pointer"))) static void replaced(void)
{
	uintptr_t *record = *(uintptr_t **)__builtin_frame_address(0), was = record[1];

	record[1] = replacement;
	take();
	record[1] = was;
}

static const uint8_t constants[] = { 0xe8, 0, 0, 0, 0, 0xc9, 0xc3, 0x90 };

TEST(where_no_call_returns_to)
{
	static uint8_t data[16] = { 0xe8, 0, 0, 0, 0, 0xc9, 0xc3 };
	uint8_t local[16] = { 0xe8, 0, 0, 0, 0, 0xc9, 0xc3 };

	new_page();
	struct made keeps = make(KEEP, (void *)replaced, "c9 c3");
	uint8_t *unmapped = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *heap =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *other = emit("90 90 90 90 90 90 90 90 c9 c3");
	memcpy(heap, "\xe8\0\0\0\0\xc9\xc3", 7);
	const struct {
		const char *name;
		uintptr_t pc;
	} all[] = {
		{ "0", 0 },
		{ "5", 5 },
		{ "not mapped", (uintptr_t)unmapped + 16 },
		{ "a constant", (uintptr_t)constants + 5 },
		{ "data of the module", (uintptr_t)data + 5 },
		{ "the stack", (uintptr_t)local + 5 },
		{ "code, behind no call", (uintptr_t)other + 8 },
		{ "a function's start", (uintptr_t)mt_unwind_evidence_leave },
		{ "no address", UINTPTR_MAX - 64 },
		{ "the kernel's", 0xffff800000000000 },
		{ "memory that is not executable", (uintptr_t)heap + 5 },
	};
	keeps.run(); /* asks about generated code */
	a_second_passes();
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		printf("  %s\n", all[i].name);
		replacement = all[i].pc;
		keeps.run();
		CHECK_EQ(taken.reason, MTW_TRUNC_NO_CFI);
		CHECK_EQ(taken.n, 2);
		CHECK(taken.pc[1] == keeps.back);
	}
}

#define NONE_SAME "48 83 ec 28 90 90 90 90" /* as long as KEEP */

TEST(code_that_is_replaced)
{
	new_page();
	struct made inner = make(KEEP, (void *)take, "c9 c3 90 90 90 90");
	struct made middle = make(KEEP, (void *)inner.run, "c9 c3");
	uint8_t kept[32], *at = (uint8_t *)(uintptr_t)inner.run;

	memcpy(kept, at, sizeof(kept));
	for (int turn = 0; turn < 3; turn++) {
		memcpy(at, kept, sizeof(kept));
		may_lag = true;
		middle.run();
		may_lag = false;
		a_second_passes();
		for (int i = 0; i < 2; i++) {
			middle.run();
			CHECK_EQ(taken.reason, MTW_TRUNC_NONE);
			CHECK(taken.pc[1] == middle.back && taken.proven[1]);
		}
		here = at;
		emit(NONE_SAME);
		here = (uint8_t *)inner.back;
		emit("48 83 c4 28 c3");
		/* rbp is middle's: its caller must not stand for middle */
		for (int i = 0; i < 2; i++) {
			middle.run();
			CHECK_EQ(taken.reason, MTW_TRUNC_NO_CFI);
			CHECK_EQ(taken.n, 1);
		}
	}
	munmap(code, CODE_BYTES); /* nothing is read there any more */
	take();
	CHECK_EQ(taken.reason, MTW_TRUNC_NONE);
}

__asm__(".text\n.type asm_keeps, @function\nasm_keeps:\npush %rbp\nmov %rsp, %rbp\nsub $16, "
	"%rsp\ncall *%rdi\nleave\nret\n"
	".size asm_keeps, .-asm_keeps\n"
	".type asm_none, @function\nasm_none:\nsub $8, %rsp\ncall *%rdi\nadd $8, %rsp\nret\n.size "
	"asm_none, .-asm_none\n");
/* Says that its return address is where its second argument lies. */
__asm__(".text\n.type asm_false_table, @function\nasm_false_table:\n.cfi_startproc\nsub $24, "
	"%rsp\n.cfi_def_cfa_offset 16\n"
	"mov %rsi, 8(%rsp)\ncall *%rdi\nadd $24, %rsp\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n"
	".size asm_false_table, .-asm_false_table\n");
void asm_false_table(void (*to)(void), uintptr_t back);
void asm_keeps(void (*to)(void));
void asm_none(void (*to)(void));

__attribute__((noinline, noipa, optimize("no-omit-frame-pointer"))) static void in_between(void)
{
	asm_keeps(take);
	__asm__ volatile("");
}

TEST(assembly_without_rules_is_proven_or_cut)
{
	begin();
	for (int turn = 0; turn < 2; turn++) {
		asm_keeps(take);
		CHECK_EQ(taken.reason, MTW_TRUNC_NONE);
		CHECK(!taken.proven[0] && taken.proven[1]);
		int n = taken.n;
		asm_none(take);
		CHECK(taken.reason == MTW_TRUNC_NO_CFI && taken.n == 1);
		asm_keeps(in_between);
		CHECK(taken.reason == MTW_TRUNC_NONE && taken.n == n + 2);
		asm_none(in_between); /* in_between() saved an rbp that is a frame further out's */
		CHECK(taken.reason == MTW_TRUNC_NO_CFI && taken.n == 3);
	}
}

__attribute__((noinline, noipa, optimize("no-omit-frame-pointer"))) static void by_false_table(void)
{
	asm_false_table(take, replacement);
	__asm__ volatile("");
}

/* A false table leads to where generated code was a moment ago, before the server has looked
 * again. */
TEST(code_that_is_unmapped)
{
	new_page();
	struct made inner = make(KEEP, (void *)take, "c9 c3");
	struct made middle = make(KEEP, (void *)inner.run, "c9 c3");
	middle.run();
	CHECK(taken.pc[1] == middle.back && taken.proven[1]);
	munmap(code, CODE_BYTES);
	replacement = middle.back;
	kept_alone = true;
	by_false_table();
	kept_alone = false;
	CHECK_EQ(taken.reason, MTW_TRUNC_NO_CFI);
	CHECK(taken.n == 2 && taken.pc[1] == middle.back);
}
#endif

TEST(nothing_on_other_machines)
{
	struct known known = { .foreign = false };
	struct caller to;

	CHECK(!mt_unwind_evidence_leave(&known, 0x1000, 0x2000, 0x3000,
					&to)); /* no code, no stack */
}
