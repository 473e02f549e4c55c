// SPDX-License-Identifier: MIT
//
// shortcuts.cc - what glibc and libstdc++ do faster in a program that has one thread: a
// shared_ptr's copy without an atomic operation, putc without a lock, malloc of a block that no
// thread's cache has without the arena's lock. A second thread in the process would take them all
// away. Prints ns of each, and libc's own word for it.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <sys/single_threaded.h>

namespace
{

double now_ns()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

template <typename F> void time_of(const char *name, long n, F once)
{
	for (long i = 0; i < n / 10; i++)
		once();
	double begin = now_ns();
	for (long i = 0; i < n; i++)
		once();
	std::printf("%s %.3f\n", name, (now_ns() - begin) / static_cast<double>(n));
}

} // namespace

int main()
{
	std::FILE *null = std::fopen("/dev/null", "w");
	auto shared = std::make_shared<int>(1);

	time_of("shared_ptr", 20000000, [&] {
		std::shared_ptr<int> copy = shared;
		__asm__ volatile("" : : "r"(copy.get()) : "memory");
	});
	time_of("putc", 20000000, [&] { putc('x', null); });
	time_of("malloc3000", 5000000, [] {
		void *p = std::malloc(3000);
		*static_cast<volatile char *>(p) = 1;
		std::free(p);
	});
	std::printf("single_threaded %d\n", __libc_single_threaded != 0);
	return 0;
}
