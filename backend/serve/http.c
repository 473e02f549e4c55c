/* SPDX-License-Identifier: MIT
 *
 * http.c - see serve/http.h: libevent's evhttp, on the loop of the rest.
 *
 * Bytes from clients are hostile. evhttp bounds headers, body and time; a request that passes is
 * judged here before anybody else sees it: the token where there is one, else the Host header. A
 * token needs no Host check, for no strange page knows it.
 *
 * A client may go while its request is kept: then the connection's close callback forgets it.
 */
#include "serve/http.h"

#include "base/loop.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define HEADERS_MAX 16384
#define BODY_MAX 65536
#define PATIENCE_S 60 /* a client that sends or takes nothing */
#define PAUSE_MS 500  /* no descriptor is left */

struct http_request {
	struct http *http;
	struct http_request *next, **link;
	struct evhttp_request *event; /* libevent's, but of a client that has gone */
	char *path;
	struct evkeyvalq parameters;
};

struct http {
	struct http_options options;
	struct loop *loop;
	struct evhttp *server;
	struct evconnlistener *listener;
	struct loop_source *pause;
	struct http_request *requests; /* without an answer yet */
	char address[600];
	struct stat at; /* the socket's file */
};

static struct http *serving; /* for a callback without an argument: one server a process */

/* --- one request */

static void forget(struct http_request *r)
{
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	evhttp_clear_headers(&r->parameters);
	free(r->path);
	free(r);
}

static void on_close(struct evhttp_connection *c, void *arg)
{
	struct http_request *r = arg;

	(void)c;
	r->http->options.gone(r->http->options.arg, r);
	evhttp_request_free(r->event); /* libevent leaves it to whoever still meant to answer */
	forget(r);
}

static void head(struct http_request *r, const char *type)
{
	struct evkeyvalq *out = evhttp_request_get_output_headers(r->event);

	evhttp_add_header(out, "Content-Type", type);
	evhttp_add_header(out, "Cache-Control", "no-store");
	evhttp_add_header(out, "X-Content-Type-Options", "nosniff");
	evhttp_add_header(out, "Referrer-Policy", "no-referrer");
	evhttp_add_header(out, "Cross-Origin-Resource-Policy", "same-origin");
	/* pages of one file: their own script and style, nothing from elsewhere */
	evhttp_add_header(out, "Content-Security-Policy",
			  "default-src 'none'; script-src 'unsafe-inline'; style-src "
			  "'unsafe-inline'; img-src data:; frame-ancestors 'none'; form-action "
			  "'none'; base-uri 'none'");
}

static void send_body(struct http_request *r, int status, struct evbuffer *body)
{
	struct evhttp_connection *c = evhttp_request_get_connection(r->event);

	if (c)
		evhttp_connection_set_closecb(c, NULL, NULL);
	evhttp_send_reply(r->event, status, NULL, body);
	forget(r);
}

void http_reply(struct http_request *r, int status, const char *type, const char *body, size_t len)
{
	struct evbuffer *b = evbuffer_new();

	if (!b || evbuffer_add(b, body, len))
		base_out_of_memory();
	head(r, type);
	send_body(r, status, b);
	evbuffer_free(b);
}

void http_reply_file(struct http_request *r, const char *type, int fd_take)
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
		head(r, type);
		send_body(r, 200, b);
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
	return evhttp_request_get_command(r->event) == EVHTTP_REQ_POST ? HTTP_POST : HTTP_GET;
}

const char *http_path(const struct http_request *r)
{
	return r->path;
}

const char *http_parameter(const struct http_request *r, const char *name)
{
	return evhttp_find_header(&r->parameters, name);
}

const char *http_header(const struct http_request *r, const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(r->event), name);
}

bool http_cross_site(const struct http_request *r)
{
	return access_cross_site(http_header(r, "Origin"), http_header(r, "Sec-Fetch-Site"),
				 http_header(r, "Host"));
}

const char *http_body(const struct http_request *r, size_t *len)
{
	struct evbuffer *b = evhttp_request_get_input_buffer(r->event);

	*len = evbuffer_get_length(b);
	return *len ? (const char *)evbuffer_pullup(b, -1) : "";
}

static void judge(struct http *h, struct http_request *r)
{
	if (h->options.token && !access_bearer(http_header(r, "Authorization"), h->options.token)) {
		evhttp_add_header(evhttp_request_get_output_headers(r->event), "WWW-Authenticate",
				  "Bearer realm=\"memtop\"");
		http_say(r, 401, "a token is needed: Authorization: Bearer TOKEN");
	} else if (!h->options.token && !access_host(http_header(r, "Host"), &h->options.listen)) {
		http_say(r, 403,
			 "this Host is not served: ask by the address (127.0.0.1, localhost), or "
			 "start memtop serve with --token-file");
	} else if (!r->path) {
		http_say(r, 400, "the path cannot be read");
	} else {
		h->options.answer(h->options.arg, r);
	}
}

static void on_request(struct evhttp_request *event, void *arg)
{
	struct http *h = arg;
	struct http_request *r = xcalloc(1, sizeof *r);
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(event);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL,
		   *query = uri ? evhttp_uri_get_query(uri) : NULL;
	size_t len = 0;

	r->http = h;
	r->event = event;
	r->next = h->requests;
	r->link = &h->requests;
	if (r->next)
		r->next->link = &r->next;
	h->requests = r;
	TAILQ_INIT(&r->parameters);
	if (path)
		r->path = evhttp_uridecode(*path ? path : "/", 0, &len);
	if (r->path && strlen(r->path) != len) {
		free(r->path); /* a 0 in it */
		r->path = NULL;
	}
	if (query && evhttp_parse_query_str(query, &r->parameters)) {
		free(r->path);
		r->path = NULL;
		TAILQ_INIT(&r->parameters);
	}
	evhttp_connection_set_closecb(evhttp_request_get_connection(event), on_close, r);
	judge(h, r);
}

/* --- listening */

/* A socket of this user; anything else at that path is not ours to remove. */
static bool own_socket(const char *path, struct stat *st)
{
	return !lstat(path, st) && S_ISSOCK(st->st_mode) && st->st_uid == geteuid();
}

static int listen_path(const struct address *a, struct err *err)
{
	struct stat st;
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(to.sun_path, sizeof to.sun_path, "%.107s", a->host);
	if (fd < 0)
		return err_set(err, 3, "unix:%s: no socket: %s", a->host, strerror(errno));
	/* the socket of one that was killed */
	if (own_socket(a->host, &st) && connect(fd, (struct sockaddr *)&to, sizeof to) &&
	    errno == ECONNREFUSED)
		unlink(a->host);
	mode_t mask = umask(0177);
	int rc = bind(fd, (struct sockaddr *)&to, sizeof to);
	umask(mask);
	if (!rc && !listen(fd, SOMAXCONN))
		return fd;
	err_set(err, 3, "unix:%s: cannot be listened on: %s; give --listen another path", a->host,
		strerror(errno));
	close(fd);
	return -1;
}

static bool loopback(const struct addrinfo *i)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)i->ai_addr;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)i->ai_addr;

	return i->ai_family == AF_INET
		       ? ntohl(four->sin_addr.s_addr) >> 24 == 127
		       : i->ai_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static int listen_tcp(const struct http_options *o, struct err *err)
{
	const struct address *a = &o->listen;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *list;
	char port[12];
	int fd = -1, one = 1;

	snprintf(port, sizeof port, "%d", a->port);
	int rc = getaddrinfo(a->host, port, &hints, &list);
	if (rc)
		return err_set(err, 3, "--listen %s:%d: %s; give an address of this machine",
			       a->host, a->port, gai_strerror(rc));
	if (!o->token && !loopback(list)) {
		err_set(err, 2,
			"--listen %s:%d: other machines could read everything there; add "
			"--token-file FILE",
			a->host, a->port);
	} else {
		fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
		if (fd < 0 || bind(fd, list->ai_addr, list->ai_addrlen) || listen(fd, SOMAXCONN)) {
			err_set(err, 3,
				"--listen %s:%d: cannot be listened on: %s; give --listen another "
				"port",
				a->host, a->port, strerror(errno));
			if (fd >= 0)
				close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	return fd;
}

static void say_address(struct http *h, int fd)
{
	const struct address *a = &h->options.listen;
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	char port[12] = "";

	if (a->path) {
		snprintf(h->address, sizeof h->address, "unix:%s", a->host);
		return;
	}
	if (getsockname(fd, (struct sockaddr *)&at, &len) ||
	    getnameinfo((struct sockaddr *)&at, len, NULL, 0, port, sizeof port, NI_NUMERICSERV))
		snprintf(port, sizeof port, "%d", a->port);
	bool six = strchr(a->host, ':');
	snprintf(h->address, sizeof h->address, "http://%s%s%s:%s/", six ? "[" : "", a->host,
		 six ? "]" : "", port);
}

static void on_rested(void *arg)
{
	struct http *h = arg;

	loop_remove(h->pause);
	h->pause = NULL;
	evconnlistener_enable(h->listener);
}

/* No descriptor is left: the connection stays in the queue, and asking at once would spin. */
static void on_accept_error(struct evconnlistener *l, void *unused)
{
	(void)unused; /* evhttp's */
	evconnlistener_disable(l);
	if (!serving->pause)
		serving->pause = loop_timer(serving->loop, PAUSE_MS, false, on_rested, serving);
}

struct http *http_new(struct loop *loop, const struct http_options *o, struct err *err)
{
	int fd = o->listen.path ? listen_path(&o->listen, err) : listen_tcp(o, err);

	if (fd < 0)
		return NULL;
	struct http *h = xcalloc(1, sizeof *h);
	h->options = *o;
	h->loop = loop;
	if (o->listen.path)
		own_socket(o->listen.host, &h->at);
	h->server = evhttp_new(loop_base(loop));
	struct evhttp_bound_socket *bound =
		h->server ? evhttp_accept_socket_with_handle(h->server, fd) : NULL;
	if (!bound)
		base_out_of_memory();
	h->listener = evhttp_bound_socket_get_listener(bound);
	serving = h;
	evconnlistener_set_error_cb(h->listener, on_accept_error);
	say_address(h, fd);
	evhttp_set_allowed_methods(h->server, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST);
	evhttp_set_max_headers_size(h->server, HEADERS_MAX);
	evhttp_set_max_body_size(h->server, BODY_MAX);
	evhttp_set_timeout(h->server, PATIENCE_S);
	evhttp_set_gencb(h->server, on_request, h);
	return h;
}

void http_free(struct http *h)
{
	struct stat now;

	if (!h)
		return;
	loop_remove(h->pause);
	while (h->requests)
		http_say(h->requests, 503, "memtop serve ends");
	evhttp_free(h->server);
	if (h->options.listen.path && own_socket(h->options.listen.host, &now) &&
	    now.st_dev == h->at.st_dev && now.st_ino == h->at.st_ino)
		unlink(h->options.listen.host);
	free(h);
}

const char *http_address(const struct http *h)
{
	return h->address;
}
