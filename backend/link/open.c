/* SPDX-License-Identifier: MIT
 *
 * open.c - opens sockets to targets, and explains why no agent answers there.
 *
 * A forwarded port accepts every connection: adb and ssh look for the other end afterwards. So a
 * connection alone proves nothing, and a stream that ends before the greeting means that nothing
 * listens.
 *
 * Any process may bind an abstract name first. The credentials of a Unix socket's other end date
 * from when it began to listen. memtop accepts its own uid, root, and the uid of the process that
 * the user named by pid (a squatter on another user's process fails that).
 *
 * A process that the user named by pid may be in a network namespace or a root of its own. Then its
 * agent is the one that memtop finds there (launch/list.c), and never a name of this network.
 */
#include "link/open.h"

#include "base/build.h"
#include "base/procfs.h"
#include "base/sanitize.h"
#include "launch/agent_server.h"
#include "launch/elsewhere.h"
#include "launch/launch.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>
#include <memtop/wire.h>

#define SUFFIXES 8 /* names memtop.PID, memtop.PID.2, ... that an agent tries */

static int add_unix(struct conn_peers *p, const char *name, bool abstract)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&p->addr[p->count];
	size_t len = strlen(name);

	if (p->count == sizeof p->len / sizeof p->len[0] || len + 1 > sizeof un->sun_path)
		return -1;
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path + abstract, name, len);
	p->len[p->count++] = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	if (abstract) /* the length is part of an abstract name, a NUL would be too */
		p->len[p->count - 1] =
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
	return 0;
}

int conn_take_found(const struct target *t, struct conn_peers *p, int rc,
		    const struct addrinfo *found, struct err *err)
{
	if (rc == EAI_AGAIN)
		return err_set(err, 3,
			       "%s: its name cannot be looked up now: %s; check the network, or "
			       "give its address",
			       t->text, gai_strerror(rc));
	if (rc)
		return err_set(err, 3, "%s: no such host: %s; check the name", t->text,
			       gai_strerror(rc));
	for (const struct addrinfo *a = found; a && p->count < sizeof p->len / sizeof p->len[0];
	     a = a->ai_next) {
		memcpy(&p->addr[p->count], a->ai_addr, a->ai_addrlen);
		p->len[p->count++] = a->ai_addrlen;
	}
	return 0;
}

/* An address needs no name server. */
static int resolve_tcp(const struct target *t, struct conn_peers *p, struct err *err)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	char port[16];

	snprintf(port, sizeof port, "%d", t->port);
	if (getaddrinfo(t->host, port, &hints, &found))
		return 1;
	int rc = conn_take_found(t, p, 0, found, err);
	freeaddrinfo(found);
	return rc;
}

/* listen= may have said another name, or a path. false: names of this network are to be tried. */
static bool resolve_process(const struct target *t, struct conn_peers *p)
{
	struct agent_process found = { .through = 0 };

	if (launch_listed(t->pid, &found)) {
		if (found.through)
			p->elsewhere = found;
		else
			add_unix(p, found.socket, !found.path);
	}
	return found.through || elsewhere_holds(t->pid, false);
}

int conn_resolve(const struct target *t, struct conn_peers *p, struct err *err)
{
	char name[sizeof t->name];

	*p = (struct conn_peers){ .count = 0 };
	switch (t->kind) {
	case TARGET_TCP: return resolve_tcp(t, p, err);
	case TARGET_ABSTRACT:
		/* the program that memtop started may have gone there since */
		if (t->pid > 0 && elsewhere_holds(t->pid, false) && resolve_process(t, p))
			return 0;
		snprintf(name, sizeof name, "%s", t->name);
		break;
	case TARGET_PID:
		if (resolve_process(t, p))
			return 0;
		snprintf(name, sizeof name, "memtop.%d", t->pid);
		break;
	default:
		return add_unix(p, t->name, false)
			       ? err_set(err, 2,
					 "%s: too long for a socket's path; use a shorter one",
					 t->text)
			       : 0;
	}
	if (add_unix(p, name, true))
		return err_set(err, 2, "%s: too long for a socket's name; use a shorter one",
			       t->text);
	if (t->pid > 0 && strlen(name) < sizeof name - 4)
		for (int i = 2; i < SUFFIXES; i++) {
			char other[sizeof name + 4];
			snprintf(other, sizeof other, "%s.%d", name, i);
			add_unix(p, other, true);
		}
	return 0;
}

/* Suggests a command when nothing listens there. */
static int explain_refused(const struct target *t, int why, struct err *err)
{
	switch (t->kind) {
	case TARGET_TCP:
		if (t->forwarded)
			return err_set(
				err, 3,
				"%s: adb forwards it no longer: %s; its server or the device "
				"has gone: start memtop adb again",
				t->text, strerror(why));
		return err_set(err, 3,
			       "%s: nothing listens there: %s; forward the port first: ssh -L "
			       "%d:/PATH.sock HOST, or adb forward tcp:%d localabstract:memtop.PID",
			       t->text, strerror(why), t->port, t->port);
	case TARGET_PID:
		return err_set(err, 3,
			       "%s: the process has no agent that listens: %s; use memtop attach "
			       "%d to load one",
			       t->text, strerror(why), t->pid);
	case TARGET_PATH:
		return err_set(err, 3,
			       "%s: nothing listens there: %s; start the program with memtop run "
			       "--options listen=..., or see memtop list",
			       t->text, strerror(why));
	default:
		if (t->unheard)
			return err_set(err, 3,
				       "%s: its agent never answered: the program ended at once "
				       "or drops LD_PRELOAD; run it without memtop to compare",
				       t->text);
		return err_set(err, 3,
			       "%s: nothing listens there: %s; memtop list shows processes that "
			       "have an agent",
			       t->text, strerror(why));
	}
}

/* why: an errno. -1, or -EAGAIN. */
static int explain_unopened(const struct target *t, int why, struct err *err)
{
	if (why == EAGAIN) { /* a Unix socket whose queue is full */
		err_set(err, 3, "%s: busy: it accepts no more connections now; try again", t->text);
		return -EAGAIN;
	}
	if (why == EACCES || why == EPERM)
		return err_set(err, 3,
			       "%s: refused: %s; run memtop as the user that owns the process",
			       t->text, strerror(why));
	return explain_refused(t, why, err);
}

int conn_open_elsewhere(const struct target *t, const struct conn_peers *p, struct err *err)
{
	const struct agent_process *a = &p->elsewhere;

	if (!a->through)
		return explain_refused(t, ECONNREFUSED, err);
	int fd = elsewhere_connect(a->through, a->socket, a->path);
	if (fd >= 0)
		return fd;
	if (fd == -EPERM || fd == -EACCES)
		return err_set(err, 3,
			       "%s: its agent is in another %s, where you may not go: %s; run "
			       "memtop as root, or inside the container",
			       t->text, a->path ? "root directory" : "network namespace",
			       strerror(-fd));
	return explain_unopened(t, -fd, err);
}

int conn_open(const struct target *t, const struct conn_peers *p, size_t which, struct err *err)
{
	which %= p->count ? p->count : 1;
	const struct sockaddr *to = (const struct sockaddr *)&p->addr[which];
	int one = 1;
	int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_set(err, 3, "%s: no socket: %s; close other programs and try again",
			       t->text, strerror(errno));
	if (to->sa_family != AF_UNIX)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(fd, to, p->len[which]) == 0 || errno == EINPROGRESS)
		return fd;
	int why = errno;
	close(fd);
	return explain_unopened(t, why, err);
}

/* The agent that listens under the process' number is another's, in another pid namespace. */
static int explain_namesake(const struct target *t, pid_t peer, struct err *err)
{
	pid_t program = peer > 0 ? server_program(peer) : 0;

	if (!program)
		return err_set(err, 3,
			       "%s: the process has no agent that listens: the one at memtop.%d is "
			       "of another pid namespace; memtop list shows what can be watched",
			       t->text, t->pid);
	return err_set(err, 3,
		       "%s: the process has no agent that listens: the one at memtop.%d is process "
		       "%d's, which is %d in its own pid namespace; use -p %d",
		       t->text, t->pid, (int)program, t->pid, (int)program);
}

int conn_verify(int fd, const struct target *t, struct err *err)
{
	struct ucred peer;
	socklen_t len = sizeof peer;
	int why = 0;
	socklen_t why_len = sizeof why;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &why_len) || why)
		return explain_refused(t, why ? why : errno, err);
	if (t->kind == TARGET_TCP)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return err_set(err, 3, "%s: its owner is unknown: %s; connect another way", t->text,
			       strerror(errno));
	/* A number that the user typed or memtop's child has means one process. */
	if ((t->kind == TARGET_PID || t->unheard) && server_is_anothers(peer.pid, t->pid))
		return explain_namesake(t, peer.pid, err);
	if (peer.uid == geteuid() || peer.uid == 0 || (t->pid > 0 && peer.pid == t->pid))
		return 0;
	if (t->pid > 0 && procfs_uid(t->pid) == (long)peer.uid)
		return 0;
	return err_set(err, 3,
		       "%s: not trusted: user %u (process %d) owns this name, neither you nor "
		       "root; to watch that program, run memtop as that user",
		       t->text, (unsigned)peer.uid, (int)peer.pid);
}

int conn_explain_eof(const struct target *t, const uint8_t *got, size_t len, struct err *err)
{
	if (len && memcmp(got, MTW_MAGIC, len < MTW_MAGIC_LEN ? len : MTW_MAGIC_LEN))
		return conn_explain_stranger(t, got, len, err);
	if (len)
		return err_set(
			err, 3,
			"%s: the stream ended within the greeting: %zu of %d bytes came; try again",
			t->text, len, MTW_GREETING_LEN);
	if (t->kind == TARGET_TCP)
		return err_set(err, 3,
			       "%s: forwarded to nobody: the stream ended before an agent's "
			       "greeting (a wrong pid, or a program without the agent); start it "
			       "with memtop run, then forward again: adb forward tcp:%d "
			       "localabstract:memtop.PID, or ssh -L %d:/PATH.sock HOST",
			       t->text, t->port, t->port);
	return err_set(err, 3,
		       "%s: the stream ended before an agent's greeting: the agent is ending, or "
		       "this is not an agent; see memtop list",
		       t->text);
}

int conn_explain_broken(const struct target *t, bool up, int why, struct err *err)
{
	if (!up)
		return err_set(err, 3,
			       "%s: the link broke before an agent's greeting: %s; check the %s",
			       t->text, strerror(why), t->kind == TARGET_TCP ? "forward" : "name");
	return err_set(err, 3,
		       "%s: the link broke: %s; check that the program runs and the link is up",
		       t->text, why ? strerror(why) : "the other end closed it");
}

int conn_explain_unaccepted(const struct target *t, unsigned seconds, struct err *err)
{
	return err_set(
		err, 3,
		"%s: no answer: the connection was not accepted within %u s; check host and port",
		t->text, seconds);
}

int conn_explain_frame(const struct target *t, uint64_t bytes, struct err *err)
{
	return err_set(err, 3,
		       "%s: the agent's stream is broken: a frame of impossible length after %llu "
		       "bytes; check what listens there",
		       t->text, (unsigned long long)bytes);
}

int conn_explain_stranger(const struct target *t, const uint8_t *got, size_t len, struct err *err)
{
	char shown[64];
	size_t n = 0, zeros = 0;

	for (size_t i = 0; i < len; i++)
		zeros += got[i] == 0;
	for (size_t i = 0; i < len && n + 5 < sizeof shown; i++) {
		if (isprint(got[i]) && got[i] < 127 && got[i] != '"' && got[i] != '\\')
			shown[n++] = (char)got[i];
		else
			n += (size_t)sprintf(shown + n, "\\x%02X", got[i]);
	}
	shown[n] = '\0';
	if (len && zeros == len)
		return err_set(err, 3,
			       "%s: something else listens there: it sends zeros, not an agent's "
			       "greeting; check the %s",
			       t->text, t->kind == TARGET_TCP ? "port" : "name");
	if (len >= 4 && !memcmp(got, "HTTP", 4))
		return err_set(
			err, 3,
			"%s: something else listens there: an HTTP server (\"%s\"); check the port",
			t->text, shown);
	return err_set(err, 3,
		       "%s: something else listens there: it sent \"%s\", not an agent's greeting; "
		       "check the %s",
		       t->text, shown, t->kind == TARGET_TCP ? "port" : "name");
}

int conn_explain_lookup(const struct target *t, struct err *err)
{
	return err_set(err, 3,
		       "%s: looking up the name: no name server has answered yet; check the name "
		       "and the network, or give its address",
		       t->text);
}

/* Of a peer that is stopped, with its program or alone: how to go on. */
static const char *explain_stop(char buf[80], pid_t peer, unsigned why)
{
	if (why == MTW_STOP_FROZEN)
		snprintf(buf, 80, "frozen (docker pause, the freezer of cgroups); thaw it");
	else
		snprintf(buf, 80, "stopped (SIGSTOP or a debugger); continue it: kill -CONT %d",
			 (int)peer);
	return buf;
}

int conn_explain_silence(const struct target *t, pid_t peer, struct err *err)
{
	char name[32] = "", clean[64], stop[80];
	bool known = peer > 0 && procfs_name(peer, name, sizeof name);
	bool agent = known && !strcmp(name, AGENT_SERVER_NAME);
	unsigned why = known ? procfs_stopped(peer) : 0;

	sanitize_clean(clean, sizeof clean, name);
	if (agent && why)
		return err_set(err, 3, "%s: its agent is %s", t->text,
			       explain_stop(stop, peer, why));
	if (agent)
		return err_set(err, 3,
			       "%s: its agent hardly gets to run (a cpu quota, a slow disk); try "
			       "again when it does",
			       t->text);
	if (why)
		return err_set(err, 3, "%s: %s [%d], which listens there, is %s", t->text, clean,
			       (int)peer, explain_stop(stop, peer, why));
	if (known)
		return err_set(err, 3,
			       "%s: connected, but no greeting comes from %s [%d], which listens "
			       "there: it is no agent, or forwards to one that is stopped; check "
			       "the %s",
			       t->text, clean, (int)peer, t->kind == TARGET_TCP ? "port" : "name");
	return err_set(err, 3,
		       "%s: connected, but no greeting comes: the agent there is stopped or hardly "
		       "gets to run, the link is very slow, or something else listens there; check "
		       "the program and the %s",
		       t->text, t->kind == TARGET_TCP ? "port" : "name");
}

int conn_explain_version(const struct target *t, unsigned version, unsigned lowest, struct err *err)
{
	return err_set(err, 3,
		       "%s: another protocol: its agent speaks version %u (lowest %u), memtop %s "
		       "speaks %d (lowest %d); install the same memtop on both sides",
		       t->text, version, lowest, build_version, MTW_VERSION, MTW_VERSION_MIN);
}

int conn_explain_error(const struct target *t, uint64_t code, const char *text, size_t len,
		       struct err *err)
{
	const char *advice = memchr(text, ';', len); /* ours is for this side of the link */
	int n = advice && advice - text < 300 ? (int)(advice - text) : len > 300 ? 300 : (int)len;

	switch (code) {
	case MTW_E_VERSION:
		return err_set(err, 3,
			       "%s: another protocol: %.*s; this is memtop %s: install the same on "
			       "both sides",
			       t->text, n, text, build_version);
	case MTW_E_ACCESS:
		return err_set(err, 3,
			       t->kind == TARGET_TCP
				       ? "%s: refused by the agent: %.*s; forward the port as the "
					 "user that owns the process, or set MEMTOP_TOKEN where it "
					 "asks for a token"
				       : "%s: refused by the agent: %.*s; run memtop as the user "
					 "that owns the process",
			       t->text, n, text);
	case MTW_E_BUSY:
		return err_set(err, 3, "%s: refused by the agent: %.*s; close another viewer",
			       t->text, n, text);
	case MTW_E_DETACH:
		return err_set(err, 3, "%s: the agent stays: %.*s; it ends with the program",
			       t->text, n, text);
	case MTW_E_GONE:
		return err_set(err, 3, "%s: the program is ending: %.*s; start it again", t->text,
			       n, text);
	default:
		return err_set(err, 3, "%s: the agent closed the link: %.*s; try again", t->text, n,
			       text);
	}
}
