/* SPDX-License-Identifier: MIT
 *
 * probe.h - what the generated programs call. probe() takes the stack of its caller in every way
 * there is and compares them; any difference is printed and counted.
 */
#ifndef PROBE_H
#define PROBE_H

#ifdef __cplusplus
extern "C" {
#endif

void probe(void);
void probe_thread_begin(void);
void probe_thread_end(void);

/* From here on, signals at random moments call probe(), too, `per_second` of them. */
void probe_storm(int per_second);

unsigned probe_random(unsigned *state);

/* Runs body(arg) on a coroutine of its own, on a fresh stack; returns when it has returned. */
void probe_coroutine(void (*body)(void *), void *arg);

/* Prints the sums; returns the number of differences. */
int probe_report(const char *name);

#ifdef __cplusplus
}
#endif
#endif
