/* SPDX-License-Identifier: MIT
 *
 * listen.c - the address at which viewers find the agent, and who may connect.
 *
 * listen= takes "@NAME" (abstract Unix socket), "unix:/PATH" (mode 0600) or "tcp:PORT" (loopback
 * only, and only with a token); %p is the process id, "none" listens nowhere. Before access is
 * settled a peer gets the greeting and nothing else (server/handshake.c). On Unix sockets the
 * kernel tells the peer's user, who must be the agent's own effective one, or root; on Android the
 * shell's also passes. TCP knows no users, so both ends must prove a secret of at least 128 bits
 * without showing it. The secret comes from MEMTOP_TOKEN, or from a file that only its owner can
 * read.
 *
 * A name that is taken gets a suffix (.2, .3, ...), but not at once: after an exec the agent of the
 * process's former program may still be about to release it.
 */
#include "server/listen.h"
#include "base/conf.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/syscalls.h"
#include "collect/memory.h"
#include "collect/proc.h"
#include "server/service.h"
#include "dump/preconditions.h"

#include <errno.h>
#include <fcntl.h>
#include <memtop/wire.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define RETRY_NS (10 * MILLI)
#define STALE_PAUSE_NS (2 * MILLI)
#define TOKEN_LEAST 22 /* base64 of 128 bits */
#define BACKLOG 64
#define SHELL_USER 2000 /* AID_SHELL of Android: whoever comes through adb forward */

/* %p and %% expanded; false: does not fit. */
static bool expand(char *to, size_t size, const char *from, int pid)
{
	size_t n = 0;

	for (; *from; from++) {
		if (from[0] == '%' && from[1] == 'p') {
			n += mt_format(to + n, size - n, "%d", pid);
			from++;
		} else {
			if (from[0] == '%' && from[1] == '%')
				from++;
			to[n++] = *from;
		}
		if (n + 8 >= size)
			return false;
	}
	to[n] = 0;
	return n > 0;
}

static bool make_names(struct server *s, const char *pattern)
{
	if (!expand(s->service->listening.names[0], sizeof(((struct sockaddr_un *)0)->sun_path) - 4,
		    pattern, s->target.pid)) {
		mt_msg("listen=%s: the name is too long; use a shorter one", mt_conf.listen);
		return false;
	}
	for (int i = 1; i < LISTEN_NAMES; i++)
		mt_format(s->service->listening.names[i], sizeof(s->service->listening.names[i]),
			  "%s.%d", s->service->listening.names[0], i + 1);
	return true;
}

/* Our variables have left the environment by now; hooks/init.c kept them. */
static void token_from_environment(char *to, size_t size)
{
	static const char name[] = "MEMTOP_TOKEN=";
	const char *var;

	for (unsigned i = 0; (var = mt_state_saved(i)); i++)
		if (!strncmp(var, name, sizeof(name) - 1))
			mt_format(to, size, "%s", var + sizeof(name) - 1);
}

static bool read_token(struct server *s)
{
	const char *path = mt_conf.token_file;

	token_from_environment(s->service->listening.token, sizeof(s->service->listening.token));
	size_t len = strlen(s->service->listening.token);
	if (path[0] && !len) {
		long fd = mt_prim_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0,
				       0);
		call_stat st;
		long bad = fd < 0 ? fd
				  : mt_prim_call(CALL_FSTATAT, fd, (long)"", (long)&st,
						 AT_EMPTY_PATH, 0, 0);
		if (!bad && (st.st_mode & 077)) {
			mt_msg("token_file=%s: others may read it; use chmod 600", path);
			bad = -EACCES;
		} else if (bad) {
			mt_msg("token_file=%s: cannot be read; check its name and mode", path);
		}
		long n = bad ? -1
			     : mt_prim_call(SYS_read, fd, (long)s->service->listening.token,
					    MTW_TOKEN_MAX, 0, 0, 0);
		if (fd >= 0)
			mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
		if (n < 0)
			return false;
		while (n > 0 && (s->service->listening.token[n - 1] == '\n' ||
				 s->service->listening.token[n - 1] == '\r'))
			n--;
		s->service->listening.token[n] = 0;
		len = (size_t)n;
	}
	if (len < TOKEN_LEAST) {
		mt_msg("listen=%s: TCP needs a token of at least %d characters; "
		       "set MEMTOP_TOKEN or token_file=",
		       mt_conf.listen, TOKEN_LEAST);
		return false;
	}
	return true;
}

static bool parse_port(struct server *s, const char *text)
{
	unsigned port = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9' && port < 65536; at++)
		port = port * 10 + (unsigned)(*at - '0');
	if (at == text || *at || !port || port > 65535) {
		mt_msg("listen=%s: not a port; use tcp:PORT, which listens on 127.0.0.1",
		       mt_conf.listen);
		return false;
	}
	s->service->listening.port = (int)port;
	return read_token(s);
}

bool listen_parse(struct server *s)
{
	const char *text = mt_conf.listen;

	if (!strcmp(text, "none")) {
		s->service->listening.given_up = true;
		return dump_wanted();
	}
	if (text[0] == '@')
		return make_names(s, text);
	if (!strncmp(text, "unix:/", 6))
		return make_names(s, text + 5);
	if (!strncmp(text, "tcp:", 4))
		return parse_port(s, text + 4);
	mt_msg("listen=%s: not understood; use @NAME, unix:/PATH or tcp:PORT", text);
	return false;
}

static int new_socket(int domain)
{
	return (int)mt_prim_call(SYS_socket, domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
				 0, 0, 0);
}

static long finish(int fd, const void *addr, size_t len)
{
	long err = mt_prim_call(SYS_bind, fd, (long)addr, (long)len, 0, 0, 0);

	return err ? err : mt_prim_call(SYS_listen, fd, BACKLOG, 0, 0, 0, 0);
}

static socklen_t unix_address(struct sockaddr_un *un, const char *name)
{
	size_t len = strlen(name);

	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, name, len);
	if (name[0] == '@')
		un->sun_path[0] = 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] != '@'));
}

/* The file of that name itself, no link's; false: there is none, or it is no socket. */
static bool is_socket(const char *path, call_stat *st)
{
	return mt_prim_call(CALL_FSTATAT, AT_FDCWD, (long)path, (long)st, AT_SYMLINK_NOFOLLOW, 0,
			    0) == 0 &&
	       S_ISSOCK(st->st_mode);
}

static bool same_file(const struct file_id *f, const call_stat *st)
{
	return f->device == (uint64_t)st->st_dev && f->inode == (uint64_t)st->st_ino;
}

static struct file_id file_of(const call_stat *st)
{
	return (struct file_id){ (uint64_t)st->st_dev, (uint64_t)st->st_ino };
}

/* Anything may lie there by now. */
static void unlink_socket(const char *path, const struct file_id *f)
{
	call_stat st;

	if (is_socket(path, &st) && same_file(f, &st))
		mt_prim_call(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}

static bool is_refused(const char *path)
{
	struct sockaddr_un un;
	socklen_t len = unix_address(&un, path);
	int fd = new_socket(AF_UNIX);

	if (fd < 0)
		return false;
	bool refused = mt_prim_call(SYS_connect, fd, (long)&un, len, 0, 0, 0) == -ECONNREFUSED;
	mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
	return refused;
}

/* By that very name. Of very many sockets not all are looked at. */
static bool is_bound(struct server *s, const char *path)
{
	char *text = (char *)s->scratch;
	size_t len = strlen(path);

	if (proc_read(PROC_SELF, "net/unix", text, SCRATCH_BYTES) <= 0)
		return false;
	for (const char *at = text; (at = strstr(at, path)); at++)
		if (at > text && at[-1] == ' ' && at[len] == '\n')
			return true;
	return false;
}

/* A socket file without a listener blocks its successor. Connections to other files are refused,
 * too, so only sockets are removed, only those of the agent's own user, and only at the second
 * refusal: another process may be between its bind and its listen. Any other file keeps the name,
 * and the agent takes the next one. */
static void remove_stale(struct server *s, const char *path)
{
	call_stat st;

	if (!is_socket(path, &st) ||
	    st.st_uid != (uint32_t)mt_prim_call(CALL_GETEUID, 0, 0, 0, 0, 0, 0))
		return;
	struct file_id found = file_of(&st);
	if (!is_refused(path) || is_bound(s, path))
		return;
	mt_prim_sleep(STALE_PAUSE_NS);
	if (is_refused(path))
		unlink_socket(path, &found);
}

/* Its mode comes from the socket's own. */
static long bind_unix(struct server *s, int fd, int i)
{
	const char *name = s->service->listening.names[i];
	struct sockaddr_un un;
	socklen_t len = unix_address(&un, name);
	bool own_fs = !s->thread_mode; /* a raw thread would change the program's umask */
	call_stat st;
	long mask = 0;

	if (name[0] == '@')
		return finish(fd, &un, len);
	remove_stale(s, name);
	mt_prim_call(SYS_fchmod, fd, 0600, 0, 0, 0, 0);
	if (own_fs)
		mask = mt_prim_call(SYS_umask, 0177, 0, 0, 0, 0, 0);
	long err = finish(fd, &un, len);
	if (own_fs)
		mt_prim_call(SYS_umask, mask, 0, 0, 0, 0, 0);
	if (!err && is_socket(name, &st))
		s->service->listening.at = file_of(&st);
	return err;
}

static long bind_tcp(int fd, int port)
{
	/* htons() is a function in some C libraries; all our machines are little-endian */
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = __builtin_bswap16((uint16_t)port),
				  .sin_addr.s_addr = __builtin_bswap32(INADDR_LOOPBACK) };
	int one = 1;

	mt_prim_call(SYS_setsockopt, fd, SOL_SOCKET, SO_REUSEADDR, (long)&one, sizeof(one), 0);
	return finish(fd, &in, sizeof(in));
}

/* The server's stderr is no one's: it is kept where `memtop -p` and `memtop list` look. */
static void say_unbound(struct server *s, long err)
{
	const char *why = err == -EADDRINUSE                  ? "the address is taken"
			  : err == -ENOENT || err == -ENOTDIR ? "there is no such folder"
			  : err == -EACCES || err == -EPERM || err == -EROFS
				  ? "it may not be bound there"
				  : "it cannot be bound there";

	mt_msg_keep("listen=%s: %s (error %d); choose another one", mt_conf.listen, why, (int)-err);
	s->service->listening.said = true;
}

static void listens(struct listening *listening, int fd, int name)
{
	listening->fd = fd;
	listening->name_at = name;
	if (listening->said)
		mt_msg_forget();
	listening->said = false;
}

void listen_try(struct server *s, uint64_t now)
{
	long first = 0;

	if (s->service->listening.fd >= 0 || s->service->listening.given_up ||
	    now < s->service->listening.next_ns)
		return;
	s->service->listening.next_ns = now + RETRY_NS;
	/* Until the time is up the first name only, then whichever is free. */
	int names = s->service->listening.port || now < s->service->listening.until_ns
			    ? 1
			    : LISTEN_NAMES;
	for (int i = 0; i < names; i++) {
		int fd = new_socket(s->service->listening.port ? AF_INET : AF_UNIX);
		if (fd < 0)
			return;
		long err = s->service->listening.port ? bind_tcp(fd, s->service->listening.port)
						      : bind_unix(s, fd, i);
		if (!err) {
			listens(&s->service->listening, fd, i);
			return;
		}
		first = i ? first : err;
		mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
	}
	if (now >= s->service->listening.until_ns)
		say_unbound(s, first);
	if (now >= s->service->listening.until_ns && !s->service->listening.port)
		s->service->listening.given_up = true;
	if (now >= s->service->listening.until_ns + 60 * SECOND)
		s->service->listening.given_up = true;
}

void listen_close(struct listening *listening, bool unlink)
{
	const char *name = listening->names[listening->name_at];

	if (listening->fd < 0)
		return;
	if (unlink && !listening->port && name[0] != '@')
		unlink_socket(name, &listening->at);
	mt_prim_call(SYS_close, listening->fd, 0, 0, 0, 0, 0);
	listening->fd = -1;
	listening->next_ns = 0;
}

/* The first name is the next program's, if there is one. */
bool listen_again(struct server *s)
{
	if (s->service->listening.fd >= 0)
		return !s->service->listening.port &&
		       s->service->listening.names[s->service->listening.name_at][0] == '@';
	if (s->service->listening.port || s->service->listening.names[0][0] != '@' ||
	    s->privileges.sealed)
		return false;
	int fd = new_socket(AF_UNIX);
	for (int i = 1; fd >= 0 && i < LISTEN_NAMES; i++)
		if (!bind_unix(s, fd, i)) {
			s->service->listening.fd = fd;
			s->service->listening.name_at = i;
			return true;
		}
	if (fd >= 0)
		mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
	return false;
}

/* In a user namespace, all users from outside look like the overflow user: that number proves
 * nothing there, whoever the target is. */
static bool unmapped(uint32_t uid)
{
	char map[64];

	if (uid == UINT32_MAX)
		return true;
	if (uid != 65534 && uid != 65535)
		return false;
	long n = proc_read(PROC_SELF, "uid_map", map, sizeof(map));
	return n <= 0 || !strstr(map, " 4294967295");
}

const char *listen_refuses(int fd)
{
	static const char other[] = "this process belongs to another user";
	struct {
		int pid;
		uint32_t uid, gid;
	} peer;
	socklen_t len = sizeof(peer);

	if (mt_prim_call(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&len, 0))
		return other;
	if (unmapped(peer.uid))
		return "this process is in a user namespace of its own, where it cannot tell who "
		       "you are";
	uint32_t own = (uint32_t)mt_prim_call(CALL_GETEUID, 0, 0, 0, 0, 0, 0);
#ifdef __BIONIC__
	if (peer.uid == SHELL_USER)
		return NULL;
#endif
	return peer.uid == own || peer.uid == 0 ? NULL : other;
}
