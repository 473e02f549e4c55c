/* SPDX-License-Identifier: MIT
 *
 * http.c - see serve/http.h: connections, over libevent's buffers, on the loop of the rest.
 *
 * Bytes from clients are hostile. A request is judged by its head alone, before its body is read:
 * the token where there is one, else the Host header. A token needs no Host check, for no strange
 * page knows it. libevent's own server judges after the body, and bounds no connections.
 *
 * Each phase of a connection has its deadline, and their number is bounded. When all are taken, the
 * one whose bytes have rested longest makes room: nobody who opens many and reads nothing can shut
 * others out. Who may not ask gets one answer, and the connection ends.
 *
 * A connection may break while its request is kept: then `gone` forgets it. Its plain end is none:
 * a client that ends its own side waits for the answer, and looks the same as one that has gone.
 */
#include "serve/http.h"

#include "base/loop.h"
#include "report/gzip.h"
#include "serve/head.h"
#include "serve/access.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 256u
#define PAUSE_MS 500 /* no descriptor is left */
#define SWEEP_MS 500
#define ZIP_LEAST 1000u
#define STALL_S 60 /* a client that takes nothing of its answer */

enum phase { IDLE, READ_HEAD, READ_BODY, KEPT, SENDING, LEAVING };

/* 0: whoever keeps the request has a deadline of its own. IDLE: Prometheus asks once a minute.
 * LEAVING: bytes that nobody reads are taken so long, for else the answer is lost with them. */
static const uint64_t deadlines_s[] = {
	[IDLE] = 120, [READ_HEAD] = 10, [READ_BODY] = 10, [KEPT] = 0, [SENDING] = 600, [LEAVING] = 2
};

/* A connection: it has one request at a time. */
struct http_request {
	struct http *http;
	struct http_request *next, **link;
	struct bufferevent *bytes;
	enum phase phase;
	uint64_t since_ns; /* of the phase */
	uint64_t moved_ns; /* the phase began, or the client took some of its answer */
	struct head head;
	char body[HEAD_BODY_MAX];
};

struct http {
	struct http_options options;
	struct loop *loop;
	struct listening at;
	struct evconnlistener *listener;
	struct loop_source *pause, *sweep; /* NULL = none */
	struct http_request *connections;  /* newest first */
	size_t count;
};

static void enter(struct http_request *r, enum phase phase)
{
	r->phase = phase;
	r->since_ns = r->moved_ns = now_ns();
}

static void drop(struct http_request *r)
{
	struct http *h = r->http;

	if (r->phase == KEPT)
		h->options.gone(h->options.arg, r);
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	h->count--;
	head_release(&r->head);
	bufferevent_free(r->bytes);
	free(r);
}

static const char *reason(int status)
{
	static const struct {
		int status;
		const char *text;
	} reasons[] = {
		{ 200, "OK" },
		{ 201, "Created" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 417, "Expectation Failed" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "";
}

static void put_head(struct http_request *r, struct evbuffer *out, int status, const char *type,
		     bool gzipped, size_t len)
{
	char date[64] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	/* pages of one file: their own script and style, nothing from elsewhere */
	if (evbuffer_add_printf(
		    out,
		    "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		    "%s%s%sVary: Accept-Encoding\r\nCache-Control: "
		    "no-store\r\nX-Content-Type-Options: nosniff\r\n"
		    "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
		    "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; "
		    "style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; form-action "
		    "'none'; base-uri 'none'\r\n\r\n",
		    status, reason(status), date, type, len,
		    gzipped ? "Content-Encoding: gzip\r\n" : "",
		    r->head.keep ? "Connection: keep-alive\r\n" : "Connection: close\r\n",
		    status == 401 ? "WWW-Authenticate: Bearer realm=\"memtop\"\r\n" : "") < 0)
		base_out_of_memory();
}

static void send_body(struct http_request *r, int status, const char *type, bool gzipped,
		      struct evbuffer *body)
{
	struct evbuffer *out = bufferevent_get_output(r->bytes);

	put_head(r, out, status, type, gzipped, evbuffer_get_length(body));
	if (!r->head.bodyless && evbuffer_add_buffer(out, body))
		base_out_of_memory();
	enter(r, SENDING);
}

/* The client's q, which is 0 where it wants none, is the only one that matters. */
bool http_takes_gzip(const struct http_request *r)
{
	const char *s = http_header(r, "Accept-Encoding");

	for (; s && *s; s += strcspn(s, ","), s += *s == ',') {
		s += strspn(s, " \t");
		if (strncasecmp(s, "gzip", 4) || !strchr(" \t;,", s[4]))
			continue;
		const char *q = s + 4 + strspn(s + 4, " \t;");
		return strncasecmp(q, "q=0", 3) ||
		       strcspn(q + 3, "123456789") < strcspn(q + 3, ",");
	}
	return false;
}

static void add_zipped(struct evbuffer *to, const char *body, size_t len)
{
	char *text = NULL;
	size_t zipped = 0;
	FILE *out = open_memstream(&text, &zipped), *in = out ? gzip_open(out) : NULL;

	if (!in || fwrite(body, 1, len, in) != len || fclose(in) || fclose(out) ||
	    evbuffer_add(to, text, zipped))
		base_out_of_memory();
	free(text);
}

void http_reply(struct http_request *r, int status, const char *type, const char *body, size_t len)
{
	bool zip = len >= ZIP_LEAST && http_takes_gzip(r);
	struct evbuffer *b = evbuffer_new();

	if (!b)
		base_out_of_memory();
	if (zip)
		add_zipped(b, body, len);
	else if (evbuffer_add(b, body, len))
		base_out_of_memory();
	send_body(r, status, type, zip, b);
	evbuffer_free(b);
}

void http_reply_file(struct http_request *r, const char *type, bool gzipped, int fd_take)
{
	struct evbuffer *b = evbuffer_new();
	struct stat st;

	if (!b)
		base_out_of_memory();
	if (fstat(fd_take, &st) || (st.st_size && evbuffer_add_file(b, fd_take, 0, st.st_size))) {
		close(fd_take);
		http_say(r, 500, "the report cannot be read back: %s", strerror(errno));
	} else {
		if (!st.st_size)
			close(fd_take);
		send_body(r, 200, type, gzipped, b);
	}
	evbuffer_free(b);
}

void http_say(struct http_request *r, int status, const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	int n = vsnprintf(text, sizeof text - 1, format, ap);
	va_end(ap);
	size_t len = n < 0 ? 0 : (size_t)n < sizeof text - 1 ? (size_t)n : sizeof text - 2;
	text[len++] = '\n';
	http_reply(r, status, "text/plain; charset=utf-8", text, len);
}

enum http_method http_method(const struct http_request *r)
{
	return r->head.post ? HTTP_POST : HTTP_GET;
}

const char *http_path(const struct http_request *r)
{
	return r->head.path;
}

const char *http_parameter(const struct http_request *r, const char *name)
{
	return evhttp_find_header(&r->head.parameters, name);
}

const char *http_header(const struct http_request *r, const char *name)
{
	return head_field(&r->head, name);
}

const char *http_body(const struct http_request *r, size_t *len)
{
	*len = r->head.body_len;
	return r->body;
}

static bool from_elsewhere(const struct http_request *r)
{
	return access_cross_site(http_header(r, "Origin"), http_header(r, "Sec-Fetch-Site"),
				 http_header(r, "Host"));
}

/* By the head alone. False: refused, and the body is not read. */
static bool may_ask(struct http_request *r)
{
	const struct http_options *o = &r->http->options;

	if (o->token && !access_bearer(http_header(r, "Authorization"), o->token))
		http_say(r, 401, "a token is needed: Authorization: Bearer TOKEN");
	else if (!o->token && !access_host(http_header(r, "Host"), &o->listen))
		http_say(r, 403,
			 "this Host is not served: ask by the address (127.0.0.1, localhost), or "
			 "start memtop serve with --token-file");
	else if (strcmp(r->head.path, "/metrics") && from_elsewhere(r))
		http_say(r, 403,
			 "a page of another site sent this: open the address itself, in a new tab");
	else
		return true;
	return false;
}

static void refuse(struct http_request *r, int status)
{
	r->head.keep = false;
	http_say(r, status, "%s",
		 status == 405   ? "only GET, HEAD and POST are served here"
		 : status == 413 ? "the body is too long"
		 : status == 431 ? "the head is too long"
				 : "this request cannot be read");
}

/* True: the head is here, and may go on. */
static bool read_head(struct http_request *r)
{
	struct evbuffer *in = bufferevent_get_input(r->bytes);
	struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
	size_t len = end.pos < 0 ? evbuffer_get_length(in) : (size_t)end.pos + 4;

	if (len > HEAD_MAX) {
		refuse(r, 431);
		return false;
	}
	if (end.pos < 0)
		return false;
	int status = head_read(&r->head, (const char *)evbuffer_pullup(in, (ev_ssize_t)len), len);
	evbuffer_drain(in, len);
	if (status) {
		refuse(r, status);
		return false;
	}
	bool keep = r->head.keep;
	r->head.keep = false; /* of one that is refused, nothing more is read */
	if (!may_ask(r))
		return false;
	r->head.keep = keep;
	return true;
}

/* RFC 9112 2.2: some clients end a body by a line of its own. */
static void skip_empty_lines(struct evbuffer *in)
{
	char line[2];

	while (evbuffer_copyout(in, line, 2) == 2 && !memcmp(line, "\r\n", 2))
		evbuffer_drain(in, 2);
}

static void on_read(struct bufferevent *bytes, void *arg)
{
	struct http_request *r = arg;
	struct evbuffer *in = bufferevent_get_input(bytes);

	if (r->phase == LEAVING)
		evbuffer_drain(in, evbuffer_get_length(in));
	if (r->phase == IDLE || r->phase == READ_HEAD)
		skip_empty_lines(in);
	if (r->phase == IDLE && evbuffer_get_length(in))
		enter(r, READ_HEAD);
	if (r->phase == READ_HEAD && read_head(r)) {
		enter(r, READ_BODY);
		if (r->head.waits && r->head.body_len)
			bufferevent_write(bytes, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	}
	if (r->phase == READ_BODY && evbuffer_get_length(in) >= r->head.body_len) {
		evbuffer_remove(in, r->body, r->head.body_len);
		enter(r, KEPT);
		r->http->options.answer(r->http->options.arg, r);
	}
}

static void on_written(struct bufferevent *bytes, void *arg)
{
	struct http_request *r = arg;
	bool keep = r->head.keep;

	if (r->phase != SENDING)
		return;
	head_release(&r->head);
	enter(r, keep ? IDLE : LEAVING);
	if (!keep)
		shutdown(bufferevent_getfd(bytes), SHUT_WR);
	on_read(bytes, r); /* what came meanwhile */
}

static void on_event(struct bufferevent *bytes, short what, void *arg)
{
	struct http_request *r = arg;

	(void)bytes;
	/* it may have ended its own side alone, and still read its answer */
	if ((r->phase == SENDING || r->phase == KEPT) && what & BEV_EVENT_EOF)
		r->head.keep = false;
	else
		drop(r);
}

static void on_sweep(void *arg)
{
	struct http *h = arg;
	uint64_t now = now_ns();

	for (struct http_request *r = h->connections, *next; r; r = next) {
		uint64_t limit = deadlines_s[r->phase] * 1000000000ull;

		next = r->next;
		if (limit && now - r->since_ns > limit)
			drop(r);
	}
	if (!h->connections) {
		loop_remove(h->sweep);
		h->sweep = NULL;
	}
}

/* A kept request waits for this server, not for its client: it goes only when all are kept. */
static bool goes_before(const struct http_request *a, const struct http_request *b)
{
	if ((a->phase == KEPT) != (b->phase == KEPT))
		return b->phase == KEPT;
	return a->moved_ns < b->moved_ns;
}

static void make_room(struct http *h)
{
	struct http_request *first = h->connections;

	for (struct http_request *r = first->next; r; r = r->next)
		if (goes_before(r, first))
			first = r;
	drop(first);
}

static void on_moved(struct evbuffer *out, const struct evbuffer_cb_info *info, void *arg)
{
	struct http_request *r = arg;

	(void)out;
	if (info->n_deleted)
		r->moved_ns = now_ns();
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int len,
		      void *arg)
{
	struct http *h = arg;
	const struct timeval stall = { .tv_sec = STALL_S };

	(void)l, (void)from, (void)len;
	if (h->count >= CONNECTIONS_MAX)
		make_room(h);
	struct http_request *r = xcalloc(1, sizeof *r);
	r->http = h;
	r->bytes = bufferevent_socket_new(loop_base(h->loop), fd, BEV_OPT_CLOSE_ON_FREE);
	if (!r->bytes)
		base_out_of_memory();
	r->next = h->connections;
	r->link = &h->connections;
	if (r->next)
		r->next->link = &r->next;
	h->connections = r;
	h->count++;
	enter(r, READ_HEAD);
	bufferevent_setcb(r->bytes, on_read, on_written, on_event, r);
	if (!evbuffer_add_cb(bufferevent_get_output(r->bytes), on_moved, r))
		base_out_of_memory();
	bufferevent_setwatermark(r->bytes, EV_READ, 0, HEAD_MAX + HEAD_BODY_MAX);
	bufferevent_set_timeouts(r->bytes, NULL, &stall);
	bufferevent_enable(r->bytes, EV_READ | EV_WRITE);
	if (!h->sweep)
		h->sweep = loop_timer(h->loop, SWEEP_MS, true, on_sweep, h);
}

static void on_rested(void *arg)
{
	struct http *h = arg;

	loop_remove(h->pause);
	h->pause = NULL;
	evconnlistener_enable(h->listener);
}

/* No descriptor is left: the connection stays in the queue, and asking at once would spin. */
static void on_accept_error(struct evconnlistener *l, void *arg)
{
	struct http *h = arg;

	evconnlistener_disable(l);
	if (!h->pause)
		h->pause = loop_timer(h->loop, PAUSE_MS, false, on_rested, h);
}

struct http *http_new(struct loop *loop, const struct http_options *o, struct err *err)
{
	struct http *h = xcalloc(1, sizeof *h);

	h->options = *o;
	h->loop = loop;
	if (listen_open(&h->at, &o->listen, o->token != NULL, err)) {
		free(h);
		return NULL;
	}
	h->listener =
		evconnlistener_new(loop_base(loop), on_accept, h,
				   LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, h->at.fd);
	if (!h->listener)
		base_out_of_memory();
	evconnlistener_set_error_cb(h->listener, on_accept_error);
	return h;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	loop_remove(h->pause);
	loop_remove(h->sweep);
	while (h->connections)
		drop(h->connections);
	evconnlistener_free(h->listener);
	listen_close(&h->at);
	free(h);
}

const char *http_address(const struct http *h)
{
	return h->at.address;
}
