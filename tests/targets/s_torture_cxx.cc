/* SPDX-License-Identifier: MIT
 *
 * s_torture_cxx.cc - C++ programs' worst treatment of an agent. Usage: s_torture_cxx MODE
 *   exceptions  2,000 throws through frames that allocate and whose destructors allocate, rethrown,
 *               and out of a callback of libc's
 *   coroutines  500 of the language's, each resumed from elsewhere than where it began, half of
 *               them ended in mid-life
 *   threads     200 threads with thread_local objects whose destructors allocate
 * All that is allocated is freed.
 */
#include "target.h"

#include <coroutine>
#include <memory>
#include <pthread.h>
#include <stdexcept>

static void *volatile sink;

static void *block(size_t n)
{
	sink = malloc(n);
	return sink;
}

/* Two blocks: one for its life, one on the way out. */
struct holder {
	void *mine;
	explicit holder(size_t n) : mine(block(n)) {}
	~holder()
	{
		free(block(24));
		free(mine);
	}
};

static __attribute__((noinline)) void fall(int depth)
{
	holder h(16 + (size_t)depth);

	if (depth == 0)
		throw 1;
	try {
		fall(depth - 1);
	} catch (int n) {
		if (depth % 3 == 0)
			throw; /* the same, from here on */
		throw n + 1;
	}
}

static int compare(const void *, const void *)
{
	holder h(40);
	throw std::runtime_error("out of qsort"); /* and its text: one more */
}

extern "C" __attribute__((noinline)) void throws()
{
	int numbers[2] = { 2, 1 };

	for (int i = 0; i < 2000; i++) {
		int depth = i % 10, caught = 0;
		try {
			fall(depth);
		} catch (int n) {
			caught = n;
		}
		EXPECT(caught == 1 + depth - depth / 3);
	}
	for (int i = 0; i < 100; i++) {
		bool out = false;
		try {
			qsort(numbers, 2, sizeof(int), compare);
		} catch (const std::exception &) {
			out = true;
		}
		EXPECT(out);
	}
}

struct task {
	struct promise_type {
		task get_return_object()
		{
			return { std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		std::suspend_always initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { throw; }
	};
	std::coroutine_handle<promise_type> handle;
};

static task steps(int n)
{
	holder h(100);

	for (int i = 0; i < n; i++) {
		free(block(32));
		co_await std::suspend_always{};
	}
	throw 7;
}

static __attribute__((noinline)) void resume_deeper(task &t, int depth)
{
	if (depth > 0)
		resume_deeper(t, depth - 1);
	else
		t.handle.resume();
	sink = &t; /* no tail call */
}

extern "C" __attribute__((noinline)) void coroutines()
{
	for (int i = 0; i < 500; i++) {
		task t = steps(6);
		bool thrown = false;
		for (int k = 0; k < (i % 2 ? 3 : 7); k++)
			try {
				resume_deeper(t, k * 3);
			} catch (int) {
				thrown = true;
			}
		EXPECT(thrown == !(i % 2));
		t.handle.destroy();
	}
}

struct late {
	~late() { holder h(64); }
};
static thread_local late first;
static thread_local std::unique_ptr<holder> second;

extern "C" void *in_thread(void *arg)
{
	second = std::make_unique<holder>(48);
	sink = &first;
	return arg;
}

static void threads()
{
	for (int i = 0; i < 200; i++) {
		pthread_t t;
		EXPECT(!pthread_create(&t, nullptr, in_thread, nullptr));
		pthread_join(t, nullptr);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "exceptions"))
		throws();
	else if (!strcmp(mode, "coroutines"))
		coroutines();
	else if (!strcmp(mode, "threads"))
		threads();
	return 0;
}
