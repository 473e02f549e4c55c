/* SPDX-License-Identifier: MIT
 *
 * one_tls.c - a library with only one thread-local variable: replaces the agent in the comparison
 * runs without it (see valgrind_compare.py).
 */
extern _Thread_local int memtop_test_tls;
_Thread_local int memtop_test_tls = 1;
