/* SPDX-License-Identifier: MIT
 *
 * one_tls.c - a library with one thread-local variable and nothing else: stands in for the agent
 * where a run without it is compared with one that has it (see valgrind_compare.py).
 */
extern _Thread_local int memtop_test_tls;
_Thread_local int memtop_test_tls = 1;
