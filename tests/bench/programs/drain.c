/* SPDX-License-Identifier: MIT
 *
 * drain.c - viewers that take ten ticks a second and ignore them, so that the measured cost is the
 * agent's. Usage: drain [-v] NAME [VIEWERS]
 *
 * Connects VIEWERS times to the abstract socket NAME as soon as it accepts connections,
 * acknowledges all frames, and ends when all connections are closed, or on SIGTERM. -v prints a
 * line for each TOTALS of the first viewer as it comes. At the end the first viewer's last figures:
 *     end ticks T blocks ALLOCATED first_ns A last_ns B first_cpu_ns C last_cpu_ns D final 0|1
 * first and last are of its TOTALS; cpu is the agent's server's own clock.
 */
#include <memtop/wire.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define VIEWERS_MAX 64
#define TICK_NS 100000000u
#define WAIT_MS 10000 /* for somebody to listen */
#define BUFFER (MTW_FRAME_MAX + 32)

struct viewer {
	int fd;
	uint64_t taken, acked;
	size_t have;
	uint8_t *buffer;
	bool greeted;
};

struct totals {
	uint64_t time_ns, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, peak_bytes,
		peak_error_bytes, peak_time_ns, agent_memory_bytes, agent_cpu_ns, hook_ns,
		target_cpu_ns, slots;
};

static struct viewer viewers[VIEWERS_MAX];
static struct totals first, last;
static uint64_t ticks, rss_bytes;
static int verbose, final;
static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

static int connect_once(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || len + 1 > sizeof(a.sun_path))
		exit(2);
	memcpy(a.sun_path + 1, name, len);
	if (!connect(fd, (struct sockaddr *)&a,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)))
		return fd;
	close(fd);
	return -1;
}

static void send_frame(struct viewer *v, unsigned type, const struct mtw_out *payload,
		       const uint8_t *start)
{
	uint8_t bytes[512];
	struct mtw_out o = { bytes, bytes + sizeof(bytes), false };

	mtw_put(&o, type);
	mtw_put_bytes(&o, start, (size_t)(payload->at - start));
	if (send(v->fd, bytes, (size_t)(o.at - bytes), MSG_NOSIGNAL) < 0)
		return; /* it is gone: the next read says so */
}

static void greet(struct viewer *v, const char *name)
{
	uint8_t bytes[256], greeting[MTW_GREETING_LEN] = MTW_MAGIC;
	struct mtw_out o = { bytes, bytes + sizeof(bytes), false };
	struct timespec pause = { 0, 1000000 };

	for (int i = 0; (v->fd = connect_once(name)) < 0; i++) {
		if (i == WAIT_MS || stopped) {
			fprintf(stderr, "drain: nobody listens at @%s\n", name);
			exit(3);
		}
		nanosleep(&pause, NULL);
	}
	greeting[8] = MTW_VERSION;
	greeting[10] = MTW_VERSION_MIN;
	if (send(v->fd, greeting, sizeof(greeting), MSG_NOSIGNAL) < 0)
		exit(3);
	mtw_put(&o, 0);
	mtw_put_string(&o, "drain");
	mtw_put_string(&o, "");
	mtw_put(&o, TICK_NS);
	send_frame(v, MTW_CLIENT, &o, bytes);
}

static void acknowledge(struct viewer *v)
{
	uint8_t bytes[16];
	struct mtw_out o = { bytes, bytes + sizeof(bytes), false };

	v->acked = v->taken;
	mtw_put(&o, v->taken);
	send_frame(v, MTW_ACK, &o, bytes);
}

static void on_totals(struct mtw_in *in)
{
	uint64_t *field = (uint64_t *)&last;

	for (size_t i = 0; i < sizeof(last) / sizeof(*field); i++)
		field[i] = mtw_get(in);
	if (!first.time_ns)
		first = last;
	if (verbose)
		printf("%lu %lu %lu %lu %lu %lu\n", (unsigned long)last.time_ns,
		       (unsigned long)(last.allocated_bytes - last.freed_bytes),
		       (unsigned long)last.agent_memory_bytes, (unsigned long)rss_bytes,
		       (unsigned long)last.slots, (unsigned long)last.agent_cpu_ns);
}

static void on_frame(uint64_t type, struct mtw_in in)
{
	if (type == MTW_TOTALS) {
		on_totals(&in);
	} else if (type == MTW_PROCESS) {
		rss_bytes = mtw_get(&in);
	} else if (type == MTW_TICK) {
		ticks++;
		mtw_get(&in);
		mtw_get(&in);
		final |= (mtw_get(&in) & MTW_TICK_FINAL) != 0;
	} else if (type == MTW_ERROR) {
		size_t len = 0;
		mtw_get(&in);
		const char *text = mtw_get_bytes(&in, MTW_STRING_MAX, &len);
		fprintf(stderr, "drain: the agent says: %.*s\n", (int)len, text);
		exit(3);
	}
}

/* Whole frames out of the buffer; those of the first viewer are looked at. */
static void take_frames(struct viewer *v)
{
	struct mtw_in in = { v->buffer, v->buffer + v->have, false };
	const uint8_t *done = v->buffer;

	if (!v->greeted) {
		if (v->have < MTW_GREETING_LEN)
			return;
		v->greeted = true;
		v->taken -= MTW_GREETING_LEN; /* what is acknowledged comes after it */
		done = in.at += MTW_GREETING_LEN;
	}
	for (;;) {
		uint64_t type = mtw_get(&in), len = mtw_get(&in);
		if (in.bad || len > (uint64_t)(in.end - in.at))
			break;
		if (v == viewers)
			on_frame(type, (struct mtw_in){ in.at, in.at + len, false });
		done = in.at += len;
	}
	v->have = (size_t)(v->buffer + v->have - done);
	memmove(v->buffer, done, v->have);
}

/* false: closed */
static bool take(struct viewer *v)
{
	ssize_t n = read(v->fd, v->buffer + v->have, BUFFER - v->have);

	if (n <= 0)
		return false;
	v->have += (size_t)n;
	v->taken += (uint64_t)n;
	take_frames(v);
	if (v->taken - v->acked >= MTW_ACK_EVERY / 2)
		acknowledge(v);
	return true;
}

static void follow(int count)
{
	struct pollfd fds[VIEWERS_MAX];
	int open = count;

	for (int i = 0; i < count; i++)
		fds[i] = (struct pollfd){ .fd = viewers[i].fd, .events = POLLIN };
	while (open && !stopped) {
		if (poll(fds, (nfds_t)count, -1) < 0)
			continue;
		for (int i = 0; i < count; i++) {
			if (!fds[i].revents || take(&viewers[i]))
				continue;
			fds[i].fd = -1;
			open--;
		}
	}
}

int main(int argc, char **argv)
{
	verbose = argc > 1 && !strcmp(argv[1], "-v");
	argv += verbose;
	argc -= verbose;
	int count = argc > 2 ? atoi(argv[2]) : 1;
	struct sigaction on_term = { .sa_handler = stop };

	if (argc < 2 || count < 1 || count > VIEWERS_MAX)
		return 2;
	sigaction(SIGTERM, &on_term, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < count; i++) {
		viewers[i].buffer = malloc(BUFFER);
		if (!viewers[i].buffer)
			return 1;
		greet(&viewers[i], argv[1]);
	}
	follow(count);
	printf("end ticks %lu blocks %lu first_ns %lu last_ns %lu first_cpu_ns %lu last_cpu_ns %lu "
	       "final %d\n",
	       (unsigned long)ticks, (unsigned long)last.allocated_blocks,
	       (unsigned long)first.time_ns, (unsigned long)last.time_ns,
	       (unsigned long)first.agent_cpu_ns, (unsigned long)last.agent_cpu_ns, final);
	return 0;
}
