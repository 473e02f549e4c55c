/* SPDX-License-Identifier: MIT
 *
 * test_target.c - parsing the names of targets.
 */
#include "check.h"
#include "launch/target.h"
#include "session/format.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <fcntl.h>

static void good(const char *word, enum target_kind kind, const char *host, int port,
		 const char *name)
{
	struct target t;
	struct err err = { 0 };

	if (target_parse(word, &t, &err))
		printf("  %s\n", err.text);
	CHECK_EQ(err.status, 0);
	CHECK_EQ(t.kind, kind);
	CHECK_STR(t.host, host);
	CHECK_EQ(t.port, port);
	CHECK_STR(t.name, name);
	CHECK_STR(t.text, word);
}

static void bad(const char *word, const char *sentence)
{
	struct target t;
	struct err err = { 0 };

	CHECK_EQ(target_parse(word, &t, &err), -1);
	CHECK_EQ(err.status, 2);
	CHECK_STR(err.text, sentence);
}

TEST(what_can_be_named)
{
	good(":9001", TARGET_TCP, "127.0.0.1", 9001, "");
	good("host.example:65535", TARGET_TCP, "host.example", 65535, "");
	good("[::1]:80", TARGET_TCP, "::1", 80, "");
	good("@memtop.12", TARGET_ABSTRACT, "", 0, "memtop.12");
	good("@a b:c", TARGET_ABSTRACT, "", 0, "a b:c");
	good("unix:/run/x.sock", TARGET_PATH, "", 0, "/run/x.sock");
	good("unix:x", TARGET_PATH, "", 0, "x");
	good("a.mtop", TARGET_FILE, "", 0, "a.mtop");
	good("/dir:1/a.mtop", TARGET_FILE, "", 0, "/dir:1/a.mtop");
}

TEST(two_meanings_are_refused_with_both)
{
	char path[] = "/tmp/t_target.XXXXXX", text[200];
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	bad("4121", "4121: a port or a process?; use :4121 or -p 4121");
	bad("/bin/sh", "/bin/sh: a program, not a target; use memtop run /bin/sh");
	bad("sh", "sh: a program, not a target; use memtop run sh");
	int fd = mkstemp(path);
	CHECK(fd >= 0);
	snprintf(text, sizeof text,
		 "%s: a file, but not a session; use a file that memtop record wrote", path);
	bad(path, text);
	CHECK_EQ(write(fd, SESSION_MAGIC, 8), 8);
	good(path, TARGET_FILE, "", 0, path);
	close(fd);
	unlink(path);
	strcpy(un.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(bind(fd, (struct sockaddr *)&un, sizeof un) == 0);
	snprintf(text, sizeof text, "%s: a socket; use unix:%s", path, path);
	bad(path, text);
	close(fd);
	unlink(path);
}

TEST(nonsense_is_refused)
{
	char longest[700], text[200];

	bad("", ": not a target; use :PORT, HOST:PORT, @NAME, unix:PATH, -p PID or FILE.mtop "
		"(memtop --help lists the verbs)");
	bad("nothing-of-that-name",
	    "nothing-of-that-name: not a target; use :PORT, HOST:PORT, @NAME, unix:PATH, -p PID or "
	    "FILE.mtop (memtop --help lists the verbs)");
	bad("0", "0: not a target; use :PORT, HOST:PORT, @NAME, unix:PATH, -p PID or FILE.mtop "
		 "(memtop --help lists the verbs)");
	static const char *const ports[] = { ":",     ":0",  ":65536",
					     ":x",    ":-1", ":99999999999999999999",
					     "host:", ": 1" };
	for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++) {
		snprintf(text, sizeof text,
			 "%s: not a port: a number from 1 to 65535 follows the colon; use %s",
			 ports[i], ports[i][0] == ':' ? ":9001" : "host:9001");
		bad(ports[i], text);
	}
	bad("::1:80", "::1:80: which colon is the port's?; use :9001, HOST:9001 or [::1]:9001");
	bad("fe80::1:80", "fe80::1:80: which colon is the port's?; use [fe80::1]:80");
	bad("@", "@: not a socket's name: 1 to 107 bytes follow the @; see memtop list");
	bad("unix:", "unix:: not a socket's path: 1 to 107 bytes follow unix:; use "
		     "unix:/run/user/1000/x.sock or the like");
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = '\0';
	snprintf(text, sizeof text, "%.40s...: too long for a target; use a shorter path", longest);
	bad(longest, text);
}

TEST(process_ids)
{
	static const char *const wrong[] = { "", "0", "-1", "12x", "99999999999", "x" };
	struct target t;
	struct err err = { 0 };

	CHECK_EQ(target_parse_pid("4121", &t, &err), 0);
	CHECK_EQ(t.kind, TARGET_PID);
	CHECK_EQ(t.pid, 4121);
	CHECK_STR(t.text, "-p 4121");
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		CHECK_EQ(target_parse_pid(wrong[i], &t, &err), -1);
		CHECK_EQ(err.status, 2);
		CHECK(strstr(err.text, "not a process id") != NULL);
	}
}
