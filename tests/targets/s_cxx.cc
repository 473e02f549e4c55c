/* SPDX-License-Identifier: MIT
 *
 * s_cxx.cc - operator new and delete in all their forms, containers, exceptions, a new handler,
 * and a static object that is destroyed at exit. Same totals on every run.
 */
#include "target.h"

#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

struct alignas(128) wide {
	char bytes[300];
};

static std::vector<std::string> *volatile late;
static struct at_exit {
	std::string text = std::string(500, 'x'); /* freed after main */
	int *numbers = new int[77];
	~at_exit() { delete[] numbers; }
} at_exit_object;

/* Through pointers: a compiler may leave out a new and its delete. */
template <typename T> static T *opaque(T *p)
{
	T *volatile v = p;
	return v;
}

static int handler_calls;
static void handler()
{
	if (++handler_calls == 3)
		std::set_new_handler(nullptr);
}

static void forms()
{
	const std::size_t n = 40;
	const std::align_val_t al{ 64 };

	::operator delete(opaque(::operator new(n)));
	::operator delete(opaque(::operator new(n)), n);
	::operator delete[](opaque(::operator new[](n)));
	::operator delete[](opaque(::operator new[](n)), n);
	::operator delete(opaque(::operator new(n, std::nothrow)), std::nothrow);
	::operator delete[](opaque(::operator new[](n, std::nothrow)), std::nothrow);
	::operator delete(opaque(::operator new(n, al)), al);
	::operator delete(opaque(::operator new(n, al)), n, al);
	::operator delete[](opaque(::operator new[](n, al)), al);
	::operator delete[](opaque(::operator new[](n, al)), n, al);
	::operator delete(opaque(::operator new(n, al, std::nothrow)), al, std::nothrow);
	::operator delete[](opaque(::operator new[](n, al, std::nothrow)), al, std::nothrow);
	::operator delete(nullptr);
	void *zero = opaque(::operator new(0));
	EXPECT(zero);
	::operator delete(zero);
	wide *w = opaque(new wide);
	EXPECT(reinterpret_cast<std::size_t>(w) % 128 == 0);
	delete w;
	delete[] opaque(new wide[3]);
}

static void failures()
{
	volatile std::size_t huge = static_cast<std::size_t>(-1) / 4;
	bool caught = false;

	EXPECT(!::operator new(huge, std::nothrow));
	try {
		opaque(::operator new(huge));
	} catch (const std::bad_alloc &) {
		caught = true;
	}
	EXPECT(caught);
	caught = false;
	std::set_new_handler(handler);
	try {
		opaque(::operator new[](huge, std::align_val_t{ 256 }));
	} catch (const std::bad_alloc &) {
		caught = true;
	}
	EXPECT(caught && handler_calls == 3);
}

static int thrower(int depth)
{
	std::string local(100 + depth, 'y');
	if (!depth)
		throw std::runtime_error(local);
	return thrower(depth - 1) + static_cast<int>(local.size());
}

int main(int argc, char **argv)
{
	forms();
	if (argc > 1 && !strcmp(argv[1], "all")) /* valgrind cannot throw */
		failures();
	for (int i = 0; i < 10; i++) {
		try {
			thrower(i);
		} catch (const std::exception &e) {
			EXPECT(std::string(e.what()).size() == 100);
		}
	}
	std::map<int, std::string> m;
	for (int i = 0; i < 500; i++)
		m[i * 7919 % 1000] = std::string(i, 'z');
	late = new std::vector<std::string>(20, std::string(64, 'l')); /* alive at exit */
	return 0;
}
