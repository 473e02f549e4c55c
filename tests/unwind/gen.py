#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes a random program of many functions that call each other and probe() in every odd way.

    gen.py SEED FUNCTIONS [c++] [rbp] [tight] [mixed] > program.c

Same seed, same program. `c++` adds exceptions; `rbp` makes functions that use rbp as a general
register (only where the compiler does without a frame pointer). `tight`: shallow trees of direct
calls from frames of slightly different sizes, many over-aligned, so that the same frame is often
met again with another one further out. `mixed`: every third function is not instrumented by
-finstrument-functions. The program's own random generator chooses its actions at run time.
"""
import random
import sys

seed, count = int(sys.argv[1]), int(sys.argv[2])
cxx, rbp, tight = ("c++" in sys.argv[3:], "rbp" in sys.argv[3:], "tight" in sys.argv[3:])
rnd = random.Random(seed)

HEAD = r"""
#include "probe.h"
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
typedef unsigned (*function)(unsigned, int);
extern "C_OR_NOT" function table[];
static __thread unsigned state;
static __thread long left;
static __thread jmp_buf *jump;
static __thread void *sorting[8];
static __thread int sort_depth, in_signal, in_coroutine;

static unsigned next(unsigned below) { return probe_random(&state) % below; }
NOINLINE static void touch(volatile void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }
static unsigned pick(int depth)
{
	left--;
	if (depth > 28 || left <= 0)
		return 0;
	return table[next(COUNT)](next(1000), depth + 1);
}

static int compare_call(const void *a, const void *b)
{
	if (sort_depth < 3 && next(4) == 0) {
		sort_depth++;
		pick(20);
		probe();
		sort_depth--;
	}
	return *(const int *)a - *(const int *)b;
}

static void coroutine_body(void *arg)
{
	pick(*(int *)arg + 8);
	probe();
}

static void handler(int sig)
{
	(void)sig;
	in_signal++;
	probe();
	pick(16);
	in_signal--;
}
"""

ACTIONS = {
    "plain": "\tv += pick(depth);",
    "twice": "\tv += pick(depth);\n\tprobe();\n\tv += pick(depth + 6);",
    "self": "\tif (depth < 24 && next(3)) v += SELF(v, depth + 1);",
    "alloca": "\t{ char *m = (char *)alloca(16 + v % 700); touch(m); v += pick(depth); touch(m); }",
    "loop": "\tfor (unsigned i = 0; i < 2 + v % 3; i++) { probe(); if (next(3) == 0) v += pick(depth + 4); }",
    "aligned32": "\t{ __attribute__((aligned(32))) char m[96]; touch(m); v += pick(depth); touch(m); }",
    "aligned128": "\t{ __attribute__((aligned(128))) char m[256]; touch(m); probe(); v += pick(depth); touch(m); }",
    "aligned_alloca": "\t{ __attribute__((aligned(64))) char m[64]; char *n = (char *)alloca(32 + v % 300); touch(m); touch(n); v += pick(depth); touch(m); }",
    "big": "\t{ char m[20000]; touch(m); v += pick(depth + 2); touch(m); }",
    "saves": "\t__asm__ volatile(\"\" : : : \"rbx\", \"r12\", \"r13\", \"r14\", \"r15\");\n\tv += pick(depth);\n\t__asm__ volatile(\"\" : : : \"rbx\", \"r12\", \"r13\");",
    "sort": "\t{ int m[6] = { 5, 3, (int)(v % 9), 1, 9, 2 }; qsort(m, 6, sizeof(*m), compare_call); v += (unsigned)m[1]; }",
    "search": "\t{ int m[6] = { 1, 2, 3, 5, 7, 9 }, key = (int)(v % 9); v += bsearch(&key, m, 6, sizeof(*m), compare_call) != NULL; }",
    "jump": "\t{ jmp_buf here, *outer = jump; int kept = in_signal, kept_sort = sort_depth, kept_co = in_coroutine;\n\tif (setjmp(here) == 0) { jump = &here; pick(depth + 2); }\n\tjump = outer; in_signal = kept; sort_depth = kept_sort; in_coroutine = kept_co; probe(); }",
    "throwjump": "\tif (jump && next(3) == 0 && !in_coroutine) { probe(); longjmp(*jump, 1); }\n\tv += pick(depth);",
    "signal": "\tif (in_signal < 2) { raise(SIGUSR1); probe(); }",
    "altstack": "\tif (in_signal < 1) { raise(SIGUSR2); v += pick(depth); }",
    "coroutine": "\tif (in_coroutine < 2 && next(3) == 0) { jmp_buf *outer = jump; int d = depth; jump = NULL; in_coroutine++; probe_coroutine(coroutine_body, &d); in_coroutine--; jump = outer; probe(); }",
    "many": "\t{ unsigned a = next(9), b = next(9), c = next(9), d = next(9), e = next(9), f = next(9); v += pick(depth); v += a * b + c * d + e * f; v += pick(depth + 8) + (a ^ b) + (c ^ d) + (e ^ f); }",
    "doubles": "\t{ double x = v, y = depth; v += pick(depth); x += y * 3.0; touch(&x); v += (unsigned)x; }",
    "tail": "\tif (depth < 20) return table[next(COUNT)](v, depth + 1);",
}
if not cxx:
    ACTIONS["vla"] = "\t{ char m[8 + v % 500]; touch(m); v += pick(depth); touch(m); }"
if rbp:
    ACTIONS["rbp"] = "\t__asm__ volatile(\"xor %%ebp, %%ebp\" : : : \"rbp\");\n\tv += pick(depth);\n\t__asm__ volatile(\"mov $3, %%rbp\" : : : \"rbp\", \"rbx\");\n\tprobe();"
if cxx:
    ACTIONS["try"] = "\ttry { guard g; v += pick(depth); } catch (int thrown) { v += (unsigned)thrown; probe(); }"
    ACTIONS["throw"] = "\tif (tries && !in_signal && !in_coroutine && !sort_depth && next(3) == 0) { probe(); throw (int)next(9); }\n\tv += pick(depth);"
    for name in ("jump", "throwjump"):
        del ACTIONS[name]

if tight:
    for name in ("sort", "search", "jump", "throwjump", "signal", "altstack", "coroutine", "tail", "big",
                 "try", "throw", "plain", "twice"):
        ACTIONS.pop(name, None)
    ACTIONS = {name: text.replace("pick(depth)", "CALL").replace("depth < 24", "depth < DEEP")
               for name, text in ACTIONS.items()}
    # Sizes that differ by little: an inner frame then often lies where another one's lay before.
    ACTIONS["alloca"] = "\t{ char *m = (char *)alloca(16 + 16 * next(6)); touch(m); v += CALL; touch(m); }"
    ACTIONS["hub"] = "\tfor (int i = 0; depth < DEEP && i < 4; i++) v += table[next(COUNT)](v, depth + 1);"
    for size in range(8, 120, 16):
        ACTIONS[f"room{size}"] = "\t{ char m[%d]; touch(m); v += CALL; touch(m); }" % size
    for i in range(4):
        ACTIONS[f"wide{i}"] = ACTIONS["aligned%d" % (32, 128)[i % 2]]
        ACTIONS[f"alloca{i}"] = ACTIONS["alloca"]
        ACTIONS[f"hub{i}"] = ACTIONS["hub"]
        ACTIONS[f"saves{i}"] = ACTIONS["saves"]

# longjmp over a handler or a sort leaves their depth behind, so those are restored at setjmp.
TAIL = r"""
static void run(unsigned from, long budget)
{
	probe_thread_begin();
	state = from;
	left = budget;
	jump = NULL;
	while (left > 0) {
		START_TRY
		pick(FROM);
		probe();
		END_TRY
	}
	probe_thread_end();
}

struct job { unsigned seed; long budget; };
static void *run_thread(void *arg)
{
	struct job *job = (struct job *)arg;

	run(job->seed, job->budget);
	return NULL;
}

int main(int argc, char **argv)
{
	long budget = argc > 1 ? atol(argv[1]) : 1000;
	int threads = argc > 2 ? atoi(argv[2]) : 0, storm = argc > 3 ? atoi(argv[3]) : 0;
	struct sigaction action;
	pthread_t thread[8];
	struct job job[8];

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_NODEFER;
	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_NODEFER | SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	if (storm)
		probe_storm(storm);
	for (int i = 0; i < threads; i++) {
		job[i].seed = 77u + (unsigned)i;
		job[i].budget = budget / (threads + 1);
		pthread_create(&thread[i], NULL, run_thread, &job[i]);
	}
	run(SEEDu, budget / (threads + 1));
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	probe_storm(0);
	return probe_report(argc > 4 ? argv[4] : argv[0]);
}
"""

head = HEAD.replace("COUNT", str(count)).replace('extern "C_OR_NOT" ', "extern ")
head = head.replace("static __thread void *sorting[8];\n", "")
print(head)
if cxx:
    print("static __thread int tries;")
    print("struct guard { guard() { tries++; } ~guard() { tries--; probe(); } };")
names = sorted(ACTIONS)
for i in range(count):
    print(f"NOINLINE unsigned f{i}(unsigned v, int depth);")


def direct(text):
    """Each CALL becomes a call of its own: to one function for ever, or from one place to any."""
    while "CALL" in text:
        callee = rnd.choice((f"f{rnd.randrange(count)}", f"table[next({count})]")) + "(v, depth + 1)"
        text = text.replace("CALL", f"(depth < DEEP && left-- > 0 && next(4) ? {callee} : 0)", 1)
    return text.replace("DEEP", "7")


for i in range(count):
    body = []
    for name in rnd.sample(names, 1 if tight else rnd.choice((1, 1, 2, 2, 3))):
        text = direct(ACTIONS[name].replace("SELF", f"f{i}").replace("COUNT", str(count)))
        if name == "rbp" and any("alloca" in b or "aligned" in b or "m[" in b or "try" in b for b in body):
            continue
        if body and any("%%ebp" in b for b in body) and ("alloca" in text or "aligned" in text or "m[" in text or "try" in text):
            continue
        body.append(text)
    if rnd.random() < 0.6:
        body.insert(rnd.randrange(len(body) + 1), "\tprobe();")
    plain = "__attribute__((no_instrument_function)) " if "mixed" in sys.argv[3:] and i % 3 == 0 else ""
    print(f"{plain}NOINLINE unsigned f{i}(unsigned v, int depth)\n{{\n" + "\n".join(body) + "\n\treturn v;\n}\n")
print("function table[] = {" + ", ".join(f"f{i}" for i in range(count)) + "};")
tail = TAIL.replace("SEEDu", f"{seed}u").replace("FROM", "(int)next(8)" if tight else "(int)next(14)")
if cxx:
    tail = tail.replace("START_TRY", "try {").replace("END_TRY", "} catch (int) { probe(); }")
else:
    tail = tail.replace("START_TRY", "").replace("END_TRY", "")
print(tail)
