/* SPDX-License-Identifier: MIT
 *
 * thread.h - starts threads beside the main one: signals stay the main thread's.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/* Where all want to run: keys and drawing first, then answers, names last. By so much nicer than
 * the main thread. */
enum { THREAD_ANSWERS_NICE = 5, THREAD_NAMES_NICE = 10 };

/* 0, or an errno: pthread_create()'s. */
int thread_start(pthread_t *thread, void *(*work)(void *arg), void *arg);
/* Lets others run before the calling thread, and adds up; it cannot be taken back. */
void thread_nice(int more);

#endif
