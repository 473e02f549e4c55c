/* SPDX-License-Identifier: MIT
 *
 * engine.h - the interface of an engine, and this machine's best one.
 *
 * An engine has either a rule for each pc (cfi, fp, ehabi, caller), or a walk that lists pcs,
 * innermost first, and says why it stopped (libunwind). With rules unwind/incremental.c keeps the
 * thread's last stack and walks only new frames. unwind/unwind.c interns a list as a path of the
 * trie. instrument is this machine's best, and lets hooks/instrument.c note the functions that are
 * entered (unwind/call_stack.c). Each engine has a walk, for lists that are not stored.
 */
#ifndef MT_UNWIND_ENGINE_H
#define MT_UNWIND_ENGINE_H

#include "base/types.h"
#include "unwind/cfi_engine.h"
#include "unwind/ehabi.h"

/* The step from a frame at pc (PC_EXACT or a return address) to its caller, packed as in
 * unwind/rule.h; never 0. m NULL: no module. */
typedef uint64_t (*unwind_rule)(const struct module *m, uintptr_t pc);

/* Fills at most max pcs; *reason = MTW_TRUNC_NONE when the stack was walked to its end. */
typedef int (*unwind_walk)(struct thread *t, const struct regs *r, uintptr_t *out, int max,
			   unsigned *reason);

#if defined(__arm__)
#define BEST "ehabi"
#define BEST_WHY "this machine has unwind tables of its own"
#define BEST_WALK mt_unwind_ehabi_walk
#define BEST_RULE mt_unwind_ehabi_rule
#else
#define BEST "cfi"
#define BEST_WHY "unwind tables describe every function of this machine"
#define BEST_WALK mt_unwind_cfi_walk
#define BEST_RULE mt_unwind_cfi_rule
#endif

#endif
