/* SPDX-License-Identifier: MIT */
#include "serve/access.h"

#include <memtop/proof.h>

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEX_LEAST 32u /* 128 bits */
#define TEXT_LEAST 22u

static int port_of(const char *text)
{
	char *end;
	long port = strtol(text, &end, 10);

	return isdigit((unsigned char)*text) && !*end && port <= 65535 ? (int)port : -1;
}

int access_address(const char *word, struct address *a, struct err *err)
{
	const char *colon = strrchr(word, ':'), *host = word;

	*a = (struct address){ .path = !strncmp(word, "unix:", 5) };
	if (a->path) {
		snprintf(a->host, sizeof a->host, "%s", word + 5);
		if (word[5] && strlen(word + 5) < 108)
			return 0;
		return err_set(
			err, 2,
			"--listen %s: not a path of 1 to 107 bytes; write unix:/run/memtop.sock",
			word);
	}
	size_t len = colon ? (size_t)(colon - word) : 0;
	a->port = colon ? port_of(colon + 1) : -1;
	if (len >= 2 && *host == '[' && host[len - 1] == ']') {
		host++;
		len -= 2;
	} else if (memchr(word, ':', len)) {
		a->port = -1; /* an IPv6 address without brackets */
	}
	if (a->port < 0 || len >= sizeof a->host)
		return err_set(err, 2,
			       "--listen %s: not an address; write 127.0.0.1:9091, [::1]:9091 or "
			       "unix:PATH",
			       word);
	snprintf(a->host, sizeof a->host, "%.*s", len ? (int)len : 9, len ? host : "127.0.0.1");
	return 0;
}

static bool strong(const char *token)
{
	size_t len = strlen(token), hex = strspn(token, "0123456789abcdefABCDEF");

	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)token[i]))
			return false;
	return len >= (hex == len ? HEX_LEAST : TEXT_LEAST);
}

int access_token_read(const char *path, char token[ACCESS_TOKEN_MAX], struct err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0 && !fstat(fd, &st))
		n = read(fd, token, ACCESS_TOKEN_MAX);
	int why = errno;
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return err_set(err, 2, "--token-file %s: cannot be read: %s", path, strerror(why));
	if (st.st_mode & S_IWOTH)
		return err_set(err, 2,
			       "--token-file %s: everybody may write it; run chmod 600 on it",
			       path);
	if (n == ACCESS_TOKEN_MAX)
		n = 0;
	token[n] = '\0';
	token[strcspn(token, "\r\n")] = '\0';
	if (strong(token))
		return 0;
	return err_set(err, 2,
		       "--token-file %s: its first line is no token of 128 bits or more; make one "
		       "by: openssl rand -hex 32",
		       path);
}

bool access_bearer(const char *header, const char *token)
{
	uint8_t given[ACCESS_TOKEN_MAX] = { 0 }, wanted[ACCESS_TOKEN_MAX] = { 0 };

	if (!header || strncasecmp(header, "Bearer ", 7))
		return false;
	header += 7 + strspn(header + 7, " ");
	snprintf((char *)given, sizeof given, "%s", header);
	snprintf((char *)wanted, sizeof wanted, "%s", token);
	return mtw_same(given, wanted, sizeof wanted) & (strlen(header) < sizeof given);
}

/* Host without its port and brackets; false: not a host. */
static bool bare_host(const char *host, char *out, size_t size)
{
	bool brackets = *host == '[';
	size_t len;

	host += brackets;
	len = strcspn(host, brackets ? "]" : ":");
	if (!len || len >= size)
		return false;
	snprintf(out, size, "%.*s", (int)len, host);
	return true;
}

bool access_host(const char *host, const struct address *a)
{
	char bare[256];
	struct in6_addr number;

	if (a->path)
		return true;
	if (!host || !*host || !bare_host(host, bare, sizeof bare))
		return false;
	return inet_pton(AF_INET, bare, &number) == 1 || inet_pton(AF_INET6, bare, &number) == 1 ||
	       !strcasecmp(bare, "localhost") || !strcasecmp(bare, a->host);
}

bool access_cross_site(const char *origin, const char *fetch_site, const char *host)
{
	if (fetch_site && strcmp(fetch_site, "same-origin") && strcmp(fetch_site, "none"))
		return true;
	if (!origin)
		return false;
	const char *at = strstr(origin, "://");
	return !at || !host || strcasecmp(at + 3, host) != 0;
}
