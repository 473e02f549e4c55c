/* SPDX-License-Identifier: MIT */
#include "serve/head.h"

#include <ctype.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

/* Those that decide something come once. */
static const char *const once[] = { "Host",   "Content-Length", "Authorization",
				    "Origin", "Sec-Fetch-Site", "Content-Type" };

static bool token(const char *s)
{
	for (const char *c = s; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("!#$%&'*+-.^_`|~", *c))
			return false;
	return *s != '\0';
}

/* libevent refuses a parameter without '=', which is one with an empty value. False: unclear. */
static bool read_parameters(struct head *h, const char *query)
{
	char *all = xmalloc(2 * strlen(query) + 1), *to = all;

	for (const char *from = query; *from; from += *from == '&') {
		size_t len = strcspn(from, "&");

		to = mempcpy(to, from, len);
		if (len && !memchr(from, '=', len))
			*to++ = '=';
		from += len;
		if (len && *from)
			*to++ = '&';
	}
	if (to > all && to[-1] == '&')
		to--;
	*to = '\0';
	bool clear = !evhttp_parse_query_str(all, &h->parameters);
	if (!clear)
		TAILQ_INIT(&h->parameters);
	free(all);
	return clear;
}

static int read_path(struct head *h, const struct evhttp_uri *uri)
{
	const char *path = evhttp_uri_get_path(uri), *query = evhttp_uri_get_query(uri);
	size_t len = 0;

	h->path = evhttp_uridecode(path && *path ? path : "/", 0, &len);
	if (!h->path || *h->path != '/' || strlen(h->path) != len)
		return 400; /* a 0 in it */
	return query && !read_parameters(h, query) ? 400 : 0;
}

static int read_target(struct head *h, char *target)
{
	bool absolute = !strncasecmp(target, "http://", 7);
	struct evhttp_uri *uri = *target == '/' || absolute ? evhttp_uri_parse(target) : NULL;
	int status = uri ? read_path(h, uri) : 400;

	if (uri)
		evhttp_uri_free(uri);
	if (absolute) {
		h->authority = target + 7;
		target[7 + strcspn(h->authority, "/?#")] = '\0';
	}
	return status;
}

/* GET /metrics HTTP/1.1 */
static int read_first(struct head *h, char *line)
{
	char *target = strchr(line, ' '), *version = target ? strchr(target + 1, ' ') : NULL;

	if (!version)
		return 400;
	*target++ = '\0';
	*version++ = '\0';
	if (strcmp(version, "HTTP/1.1") && strcmp(version, "HTTP/1.0"))
		return strncmp(version, "HTTP/", 5) ? 400 : 505;
	h->keep = version[7] == '1';
	h->post = !strcmp(line, "POST");
	h->bodyless = !strcmp(line, "HEAD");
	if (!token(line))
		return 400;
	if (!h->post && !h->bodyless && strcmp(line, "GET"))
		return 405;
	return read_target(h, target);
}

/* A line that continues the one before begins with a space, and so has no name. */
static int read_field(struct head *h, char *line)
{
	char *colon = strchr(line, ':');

	if (!colon)
		return 400;
	if (h->field_count == HEAD_FIELDS_MAX)
		return 431;
	*colon = '\0';
	if (!token(line))
		return 400;
	char *value = colon + 1 + strspn(colon + 1, " \t"), *end = value + strlen(value);
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	for (size_t i = 0; i < sizeof once / sizeof *once; i++)
		if (!strcasecmp(line, once[i]) && head_field(h, line))
			return 400;
	h->fields[h->field_count].name = line;
	h->fields[h->field_count++].value = value;
	return 0;
}

static int read_length(struct head *h)
{
	const char *length = head_field(h, "Content-Length"), *wanted = head_field(h, "Expect");

	if (head_field(h, "Transfer-Encoding"))
		return 501;
	if (wanted && strcasecmp(wanted, "100-continue"))
		return 417;
	h->waits = wanted != NULL;
	if (!length)
		return 0;
	if (!*length || strspn(length, "0123456789") != strlen(length))
		return 400;
	if (strlen(length) > 9 || strtoul(length, NULL, 10) > HEAD_BODY_MAX)
		return 413;
	h->body_len = strtoul(length, NULL, 10);
	return 0;
}

static bool clean(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		bool end = (c == '\r' && i + 1 < len && text[i + 1] == '\n') ||
			   (c == '\n' && i && text[i - 1] == '\r');

		if ((c < ' ' && c != '\t' && !end) || c == 0x7f)
			return false;
	}
	return true;
}

/* Cuts the line at its CRLF; the next one. */
static char *next_line(char *line)
{
	char *end = strstr(line, "\r\n");

	*end = '\0';
	return end + 2;
}

int head_read(struct head *h, const char *text, size_t len)
{
	*h = (struct head){ .text = xmalloc(len + 1) };
	memcpy(h->text, text, len);
	h->text[len] = '\0';
	TAILQ_INIT(&h->parameters);
	if (len < 4 || strcmp(h->text + len - 4, "\r\n\r\n") || !clean(text, len))
		return 400;
	char *line = h->text, *next = next_line(line);
	int status = read_first(h, line);
	for (line = next; !status && (next = next_line(line), *line); line = next)
		status = read_field(h, line);
	const char *host = head_field(h, "Host");
	if (!status && h->authority && host && strcasecmp(h->authority, host) != 0)
		status = 400;
	if (status)
		return status;
	const char *connection = head_field(h, "Connection");
	if (connection)
		h->keep = h->keep ? !strcasestr(connection, "close")
				  : strcasestr(connection, "keep-alive") != NULL;
	return read_length(h);
}

void head_release(struct head *h)
{
	if (h->text)
		evhttp_clear_headers(&h->parameters);
	free(h->path);
	free(h->text);
	*h = (struct head){ .text = NULL };
}

const char *head_field(const struct head *h, const char *name)
{
	for (size_t i = 0; i < h->field_count; i++)
		if (!strcasecmp(h->fields[i].name, name))
			return h->fields[i].value;
	return NULL;
}
