/* SPDX-License-Identifier: MIT
 *
 * mapd.c - the program that `make demo` watches: a map tile server with simulated clients, so that
 * it needs no network. Like real servers it has a cache that warms up, ordinary churn, a log that
 * is flushed from time to time, several threads, a library, and a leak in one function.
 *
 *     mapd [SECONDS]     ends by itself, after half an hour when nothing is said
 */
#include "cache.h"
#include "log.h"
#include "tile.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORKERS 2
#define PAUSE_NS 2500000 /* 400 requests a second and worker */

static atomic_bool ending;

/* Small, repeatable, one for each thread: the same tiles are asked for in every run. */
struct chance {
	uint32_t state;
};

static uint32_t chance_below(struct chance *c, uint32_t limit)
{
	c->state ^= c->state << 13;
	c->state ^= c->state >> 17;
	c->state ^= c->state << 5;
	return (uint32_t)(((uint64_t)c->state * limit) >> 32);
}

/* What a disk would give: the same bytes for the same tile. */
static uint8_t *load_tile(uint32_t tile, size_t *len)
{
	struct chance c = { tile * 2654435761u + 1 };
	uint32_t features = 8 + chance_below(&c, 16);
	uint8_t *bytes = malloc(1 + features * (5 + 2 * 40)), *at = bytes;

	if (!bytes)
		return NULL;
	*at++ = (uint8_t)features;
	for (uint32_t f = 0; f < features; f++) {
		uint32_t vertices = 6 + chance_below(&c, 34);

		*at++ = (uint8_t)chance_below(&c, 6);
		*at++ = (uint8_t)chance_below(&c, 8);
		*at++ = (uint8_t)vertices;
		*at++ = (uint8_t)(40 + chance_below(&c, 176));
		*at++ = (uint8_t)(40 + chance_below(&c, 176));
		for (uint32_t v = 0; v < vertices; v++) {
			*at++ = (uint8_t)(chance_below(&c, 41) - 20);
			*at++ = (uint8_t)(chance_below(&c, 41) - 20);
		}
	}
	*len = (size_t)(at - bytes);
	return bytes;
}

static uint8_t *draw_tile(uint32_t number, size_t *len)
{
	size_t encoded_len;
	uint8_t *encoded = load_tile(number, &encoded_len), *drawn = NULL;
	struct tile *t = encoded ? tile_decode(encoded, encoded_len) : NULL;

	if (t) {
		drawn = tile_draw(t, len);
		tile_free(t);
	}
	free(encoded);
	return drawn;
}

static void serve_tile(uint32_t number)
{
	size_t len = 0;
	uint8_t *answer = tile_cache_get(number, &len);
	bool hit = answer != NULL;

	if (!hit && (answer = draw_tile(number, &len)))
		tile_cache_put(number, answer, len);
	log_line("GET /%u/%u 200 %zu %s", number / 1000, number % 1000, len,
		 hit ? "cache" : "drawn");
	free(answer);
}

static void *work(void *arg)
{
	struct chance c = { (uint32_t)(uintptr_t)arg * 7919u };
	char name[16];

	snprintf(name, sizeof name, "io-%d", (int)(uintptr_t)arg);
	pthread_setname_np(pthread_self(), name);
	while (!ending) {
		/* Few tiles are asked for often, many seldom. */
		uint32_t spread = 1u << (6 + chance_below(&c, 12));

		serve_tile(chance_below(&c, spread));
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
	return NULL;
}

/* A signal of the set, or -1 when the time is over: a debugger that attaches interrupts the
 * wait. */
static int wait_until(const sigset_t *set, time_t seconds)
{
	struct timespec now, left = { .tv_sec = seconds };
	int signum;

	clock_gettime(CLOCK_MONOTONIC, &now);
	time_t end = now.tv_sec + seconds;
	while ((signum = sigtimedwait(set, NULL, &left)) < 0 && errno == EINTR) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		left.tv_sec = end > now.tv_sec ? end - now.tv_sec : 0;
	}
	return signum;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], logger;
	int signum, seconds = argc > 1 ? atoi(argv[1]) : 1800;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, work, (void *)(i + 1));
	pthread_create(&logger, NULL, log_thread, NULL);
	printf("mapd: serving tiles for %d s\n", seconds);
	signum = wait_until(&set, seconds);
	ending = true;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	log_stop();
	pthread_join(logger, NULL);
	printf("mapd: %s, %zu tiles in the cache\n", signum > 0 ? "stopped" : "done",
	       tile_cache_count());
	return 0;
}
