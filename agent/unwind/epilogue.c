/* SPDX-License-Identifier: MIT
 *
 * epilogue.c - reads x86-64 code from a return address to its function's end, to learn how the
 * function releases its frame.
 *
 *     BASE   leave; ret
 *            mov %rbp, %rsp; pop %rbp; ret
 *            lea -N(%rbp), %rsp; pop ...; pop %rbp; ret
 *                rsp is computed from rbp: rbp is the frame's base, and the record is at rbp
 *     AT     add $N, %rsp; pop %rbp; ret
 *            mov N(%rsp), %rbp; add $M, %rsp; ret (Go)
 *                the saved rbp lies at a known distance D from the present sp, the return address
 *                above it: rbp is the frame pointer if, and only if, it equals sp + D
 *     ret without any of these: the function keeps no frame pointer
 *
 * A path ends without an answer at an indirect jump, at another function's start, at a write to
 * rbp, and at bytes that are no instruction. Then the reader tries the other sides of the branches
 * on the way. HotSpot's interpreter goes from one piece of code to the next by indirect jumps.
 * Behind a call it reloads rsp, or its own two registers, from its frame by rbp, which is an
 * answer, too (BASE).
 *
 * Instructions, waiting branches, and jumps (each followed once) are all bounded. Code is read page
 * by page, only where mt_prim_readable() admits it and where it may run. Behind a call that never
 * returns there may be any bytes, whose jumps lead anywhere, and another thread may unmap data
 * between the test and the read.
 */
#include "unwind/epilogue.h"
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "base/types.h"
#include "modules/generated.h"
#include "modules/segments.h"
#include "unwind/insn.h"

#include <string.h>

#if defined(__x86_64__)
#define WORD sizeof(uintptr_t)
#define PAGE ((uintptr_t)4096)
#define LOWEST ((uintptr_t)65536) /* no code is mapped below */
#define PATHS 64u                 /* pending branches */
#define MET 192u                  /* targets visited or pending */
#define STEPS 3000u               /* instructions in all: 40 us */
/* the reach of direct jumps: all V8 code jumps to one far epilogue */
#define SPAN (INT64_C(0x7ff00000))
#define DEPTH_MOST (INT64_C(1) << 20)
#define UNKNOWN INT32_MAX

enum { RAX, RCX, RDX, RBX, RSP, RBP };

/* A path's state at its current instruction. */
struct path {
	int32_t at; /* from the return address on */
	/* of rsp: bytes out of where it was, or of rbp once it was made of that; or UNKNOWN */
	int32_t depth;
	/* depth of the word that rbp was taken from, once `popped`; UNKNOWN: the one at rbp */
	int32_t saved;
	uint8_t back; /* 1 + the register that the return address was taken to; 0 = none */
	bool based;   /* rsp was made of rbp */
	bool popped;  /* rbp is the caller's again */
};

struct reading {
	uintptr_t pc;
	const struct module *m; /* NULL: generated code */
	uintptr_t lo, hi;       /* code that can be read */
	struct path path, waiting[PATHS];
	unsigned count; /* waiting */
	int32_t met[MET];
	unsigned met_count;
	bool arrived;      /* by a jump, just now: a target that is gone to counts as met */
	uint64_t maybe[4]; /* a bit for each that was met, by its lowest byte */
	uint32_t facts;    /* EPILOGUE_*: the answer */
	int32_t saved;
};

enum verdict { GOES_ON, NO_ANSWER, ANSWERED };

static enum verdict answer(struct reading *r, uint32_t more)
{
	const struct path *p = &r->path;

	r->facts = (p->based ? EPILOGUE_BASE : EPILOGUE_AT) | more;
	r->saved = p->saved;
	if (p->saved == UNKNOWN && !p->based) {
		r->facts |= EPILOGUE_OWN;
		r->saved = p->depth - (int32_t)WORD;
	}
	return ANSWERED;
}

/* May code on this page run? The page of pc, where the thread will return, and the next one pass
 * anyway: the last look at the mappings may be too old for them. */
static bool may_run(const struct reading *r, uintptr_t page)
{
	if (r->m)
		return mt_maps_runs(r->m, page) || mt_maps_runs(r->m, page + PAGE - 1) ||
		       page == (r->pc & ~(PAGE - 1));
	return page - (r->pc & ~(PAGE - 1)) <= PAGE || mt_generated_runs(page) != RUNS_NOT;
}

/* Bytes at `at` that can be read, up to an instruction's most. Asks once a page. */
static size_t readable(struct reading *r, uintptr_t at)
{
	uintptr_t page = at & ~(PAGE - 1);

	if (at < r->lo || at >= r->hi) {
		if (at < LOWEST || !may_run(r, page) || !mt_prim_readable(page, PAGE))
			return 0;
		r->lo = page;
		r->hi = page + PAGE;
	}
	if (r->hi - at < INSN_MAX && may_run(r, r->hi) && mt_prim_readable(r->hi, PAGE))
		r->hi += PAGE;
	return r->hi - at < INSN_MAX ? r->hi - at : INSN_MAX;
}

/* Is rsp at the return address, the caller's rbp back in place? */
static bool is_home(const struct path *p)
{
	/* where that is has to be proven yet: a list's next element is fetched just so */
	if (p->saved == UNKNOWN)
		return p->popped && p->depth != UNKNOWN && p->depth >= (int32_t)WORD &&
		       (!p->based || p->depth == WORD);
	return p->popped && p->depth == p->saved + (int32_t)WORD;
}

static void move(struct path *p, int64_t bytes)
{
	if (p->depth == UNKNOWN)
		return;
	bytes += p->depth;
	p->depth = bytes > -DEPTH_MOST && bytes < DEPTH_MOST ? (int32_t)bytes : UNKNOWN;
}

/* rbp is loaded from the word at `depth`. In a frame of its own that must be where rbp points. */
static enum verdict take_rbp(struct path *p, int32_t depth)
{
	if (p->popped || depth == UNKNOWN || (p->based && depth != 0))
		return NO_ANSWER;
	p->popped = true;
	p->saved = depth;
	return GOES_ON;
}

static enum verdict pop(struct reading *r, unsigned reg)
{
	struct path *p = &r->path;
	enum verdict v = GOES_ON;

	if (reg == RSP) {
		p->depth = UNKNOWN;
	} else if (reg == RBP) {
		v = take_rbp(p, p->depth);
	} else if (is_home(p)) { /* the return address, if that is gone to; or a register that was
				    saved further out */
		p->saved = p->depth - (int32_t)WORD;
		p->back = (uint8_t)(reg + 1);
	}
	move(p, WORD);
	return v;
}

/* By the return address in a register, behind arguments that the callee takes off. */
static enum verdict go_back(struct reading *r, unsigned reg)
{
	struct path *p = &r->path;

	if (!p->popped || p->back != reg + 1)
		return NO_ANSWER;
	p->based |= p->saved == UNKNOWN; /* both words were taken from where rbp points */
	return answer(r, EPILOGUE_POPS);
}

/* push %reg; ret */
static enum verdict push(struct reading *r, unsigned reg)
{
	struct path *p = &r->path;
	uintptr_t after = r->pc + (uintptr_t)(intptr_t)p->at;

	if (p->popped && p->back == reg + 1 && readable(r, after) &&
	    *(const uint8_t *)after == 0xc3)
		return go_back(r, reg);
	move(p, -(int64_t)WORD);
	return GOES_ON;
}

/* lea or mov into rsp or rbp from memory. */
static enum verdict load_pointer(struct reading *r, const struct insn *i, bool lea)
{
	struct path *p = &r->path;
	bool own_base = i->rm == RBP && i->mod && !p->popped;

	if (i->reg == RSP && lea && i->sib_rsp) {
		move(p, i->disp);
	} else if (i->reg == RSP && lea && own_base) {
		p->based = true;
		p->depth = i->disp;
	} else if (i->reg == RSP && own_base &&
		   i->disp < 0) { /* an interpreter's: where its own stack begins is in its frame */
		p->based = true;
		return answer(r, 0);
	} else if (i->reg == RSP) {
		p->depth = UNKNOWN;
	} else if (!lea && i->sib_rsp) {
		struct path there = *p;
		move(&there, i->disp);
		return take_rbp(p, there.depth);
	} else if (!lea && own_base &&
		   i->disp == 0) { /* V8: what this proves is up to the rest of the path */
		p->popped = true;
		p->saved = UNKNOWN;
	} else {
		return NO_ANSWER;
	}
	return GOES_ON;
}

/* An instruction whose destination is rsp or rbp, as a register. */
static enum verdict write_pointer(struct path *p, const struct insn *i, unsigned to, unsigned from)
{
	bool copies = i->op == 0x89 || i->op == 0x8b, immediate = i->op == 0x83 || i->op == 0x81;

	if (to == RBP)
		return NO_ANSWER;
	if (copies && from == RBP && !p->popped) {
		p->based = true;
		p->depth = 0;
	} else if (immediate && (i->reg & 7) == 0) {
		move(p, i->imm);
	} else if (immediate && (i->reg & 7) == 5) {
		move(p, -i->imm);
	} else {
		p->depth = UNKNOWN;
	}
	return GOES_ON;
}

static bool is_pointer(unsigned reg)
{
	return reg == RSP || reg == RBP;
}

/* Arithmetic and moves: compare and test alone write nothing. */
static enum verdict plain(struct reading *r, const struct insn *i)
{
	uint8_t op = i->op;
	bool compares = (op >= 0x38 && op <= 0x3d) || op == 0x84 || op == 0x85;

	if (!i->has_modrm || compares ||
	    ((op == 0x80 || op == 0x81 || op == 0x83) && (i->reg & 7) == 7))
		return GOES_ON;
	if ((op == 0x8b || op == 0x8d) && is_pointer(i->reg) && i->mod != 3)
		return load_pointer(r, i, op == 0x8d);
	if (op == 0x8b && i->rm == RBP && i->mod && i->mod != 3 && i->disp == WORD &&
	    !r->path.popped)
		/* the return address, if rbp is the frame's base */
		r->path.back = (uint8_t)(i->reg + 1);
	if (op == 0x87 && i->mod == 3 && (i->reg == RBP || i->rm == RBP))
		return NO_ANSWER;
	if (op == 0x8b && i->mod == 3 && is_pointer(i->reg))
		return write_pointer(&r->path, i, i->reg, i->rm);
	if ((op == 0x89 || op == 0x81 || op == 0x83) && i->mod == 3 && is_pointer(i->rm))
		return write_pointer(&r->path, i, i->rm, i->reg);
	bool into_reg = (op < 0x40 && (op & 2)) || op == 0x63 || op == 0x69 || op == 0x6b ||
			op == 0x86 || op == 0x87;
	bool into_rm = (op < 0x40 && !(op & 2)) || op == 0x87 || (op >= 0xc0 && op <= 0xd3) ||
		       op == 0xc7 || op == 0xf7;
	unsigned to = into_reg && is_pointer(i->reg)                ? i->reg
		      : into_rm && i->mod == 3 && is_pointer(i->rm) ? i->rm
								    : RAX;
	return to == RAX ? GOES_ON : write_pointer(&r->path, i, to, RAX);
}

/* Longer opcodes: conditional moves and the extending ones may write rbp; ud2 ends the path. */
static enum verdict two_bytes(const struct insn *i)
{
	if (i->map != 1)
		return i->op >= 0xf0 && is_pointer(i->reg) ? NO_ANSWER : GOES_ON; /* movbe, BMI */
	bool moves = (i->op >= 0x40 && i->op <= 0x4f) || i->op == 0xaf || i->op == 0xb6 ||
		     i->op == 0xb7 || i->op == 0xbe || i->op == 0xbf;

	/* ud2; endbr64: a function's start */
	if (i->op == 0x0b || (i->op == 0x1e && i->mod == 3 && i->rm == 2))
		return NO_ANSWER;
	return moves && is_pointer(i->reg) ? NO_ANSWER : GOES_ON;
}

static bool was_met(const struct reading *r, int32_t at)
{
	if (likely(!(r->maybe[at >> 6 & 3] >> (at & 63) & 1)))
		return false;
	for (unsigned i = 0; i < r->met_count; i++)
		if (r->met[i] == at)
			return true;
	return false;
}

/* Is this jump target not visited yet? */
static bool is_fresh(const struct reading *r, int64_t to)
{
	return to > -SPAN && to < SPAN && !was_met(r, (int32_t)to);
}

static bool note_met(struct reading *r, int32_t to)
{
	if (r->met_count == MET)
		return false;
	r->met[r->met_count++] = to;
	r->maybe[to >> 6 & 3] |= (uint64_t)1 << (to & 63);
	return true;
}

/* Queues a branch's other side, if there is room. */
static void branch(struct reading *r, int64_t to)
{
	if (r->count < PATHS && is_fresh(r, to) && note_met(r, (int32_t)to)) {
		r->waiting[r->count] = r->path;
		r->waiting[r->count++].at = (int32_t)to;
	}
}

static enum verdict jump(struct reading *r, int64_t to)
{
	if (is_home(&r->path))
		return answer(r, 0); /* a call in the place of a return */
	/* backwards it could go round */
	if (!is_fresh(r, to) || (!note_met(r, (int32_t)to) && to < r->path.at))
		return NO_ANSWER;
	r->path.at = (int32_t)to;
	r->arrived = true;
	return GOES_ON;
}

static enum verdict one_byte(struct reading *r, const struct insn *i)
{
	struct path *p = &r->path;

	switch (i->op) {
	case 0x50 ... 0x57: return push(r, i->reg);
	case 0x68:
	case 0x6a:
	case 0x9c: move(p, -(int64_t)WORD); return GOES_ON;
	case 0x58 ... 0x5f: return pop(r, i->reg);
	case 0x8f: /* into memory, or a register */ return pop(r, i->mod == 3 ? i->rm : RAX);
	case 0x9d: move(p, WORD); return GOES_ON;
	case 0xc9: /* leave */
		if (p->popped)
			return NO_ANSWER;
		*p = (struct path){
			.at = p->at, .depth = WORD, .saved = 0, .based = true, .popped = true
		};
		return GOES_ON;
	case 0xc2:
	case 0xc3:
		if (is_home(p))
			return answer(r, i->op == 0xc2 && i->imm ? EPILOGUE_POPS : 0);
		/* returns with rbp untouched: keeps none */
		r->count = p->popped || p->depth == UNKNOWN ? r->count : 0;
		return NO_ANSWER;
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3: branch(r, p->at + i->imm); return GOES_ON;
	case 0xe9:
	case 0xeb: return jump(r, p->at + i->imm);
	case 0xcc:
	case 0xf4:
	case 0xcf:
	case 0xc8: /* c8: enter, a function's start */ return NO_ANSWER;
	case 0xe8: p->back = 0; return GOES_ON;
	case 0xb8 ... 0xbf:
	case 0x90 ... 0x97: return is_pointer(i->reg) ? NO_ANSWER : GOES_ON;
	case 0xff:
		if ((i->reg & 7) == 6)
			move(p, -(int64_t)WORD);
		if ((i->reg & 7) < 2 && i->mod == 3 && is_pointer(i->rm))
			return NO_ANSWER;
		if ((i->reg & 6) == 2)
			p->back = 0;
		if ((i->reg & 6) != 4)
			return GOES_ON;
		if (is_home(p)) /* an indirect jump */
			return answer(r, 0);
		return i->mod == 3 ? go_back(r, i->rm) : NO_ANSWER;
	}
	return plain(r, i);
}

/* HotSpot's interpreter behind a call into the VM: mov -N(%rbp), %r13 (the bytecode); mov -M(%rbp),
 * %r14 (the locals). */
static bool takes_registers(const uint8_t *code)
{
	return code[0] == 0x4c && code[1] == 0x8b && code[2] == 0x6d && code[3] & 0x80 &&
	       code[4] == 0x4c && code[5] == 0x8b && code[6] == 0x75 && code[7] & 0x80;
}

/* The next instruction of the path. */
static enum verdict step(struct reading *r)
{
	static const uint8_t prologues[2][4] = { { 0x55, 0x48, 0x89, 0xe5 },
						 { 0x55, 0x48, 0x8b, 0xec } };
	struct path *p = &r->path;
	uintptr_t at = r->pc + (uintptr_t)(intptr_t)p->at;
	const uint8_t *code = (const uint8_t *)at;
	size_t room = readable(r, at);
	struct insn i;

	if (!r->arrived && was_met(r, p->at))
		return NO_ANSWER; /* visited, or pending */
	r->arrived = false;
	if (room >= 8 && !r->m && !p->popped && takes_registers(code)) {
		p->based = true;
		return answer(r, 0);
	}
	if (room >= 4 && (!memcmp(code, prologues[0], 4) || !memcmp(code, prologues[1], 4)))
		return NO_ANSWER;
	if (!mt_insn_read(code, room, &i))
		return NO_ANSWER;
	p->at += i.bytes;
	if (i.map == 0)
		return one_byte(r, &i);
	if (i.map == 1 && i.op >= 0x80 && i.op <= 0x8f)
		branch(r, p->at + i.imm);
	return two_bytes(&i);
}

uint32_t mt_epilogue_read(uintptr_t pc, const struct module *m, int32_t *saved)
{
	struct reading r;

	r.pc = pc;
	r.m = m;
	r.lo = r.hi = 0;
	r.path = (struct path){ .at = 0 };
	r.count = r.met_count = 0;
	r.arrived = false;
	memset(r.maybe, 0, sizeof(r.maybe));
	r.facts = 0;
	r.saved = 0;
	for (unsigned n = 0; n < STEPS; n++) {
		enum verdict v = step(&r);
		if (v == ANSWERED)
			break;
		if (v == GOES_ON)
			continue;
		if (!r.count)
			break;
		r.path = r.waiting[--r.count];
		r.arrived = true;
	}
	*saved = r.saved;
	return r.facts;
}
#else
uint32_t mt_epilogue_read(uintptr_t pc, const struct module *m, int32_t *saved)
{
	(void)pc, (void)m;
	*saved = 0;
	return 0;
}
#endif
