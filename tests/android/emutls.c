/* SPDX-License-Identifier: MIT
 *
 * emutls.c - emulated thread-local storage: compilers emit calls for API levels below 29, and an
 * NDK's runtime library implements them. Only test programs need it; the agent has no emulated TLS.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* One variable, as the compiler lays it down; `key` is ours: a thread-specific value for each. */
struct variable {
	size_t bytes, align;
	pthread_key_t key;
	const void *first;
};

__attribute__((visibility("hidden"))) void *__emutls_get_address(struct variable *v);

void *__emutls_get_address(struct variable *v)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	if (!v->key && pthread_key_create(&v->key, NULL))
		abort();
	pthread_mutex_unlock(&lock);
	void *p = pthread_getspecific(v->key);
	if (p)
		return p;
	p = mmap(NULL, v->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (v->first)
		memcpy(p, v->first, v->bytes);
	pthread_setspecific(v->key, p);
	return p;
}
