// SPDX-License-Identifier: MIT
//
// s_instrument_cxx.cc - built with -finstrument-functions: exceptions through functions that
// allocate, constructors, std::function and containers.
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static __attribute__((noinline)) void use(const std::string &s)
{
	__asm__ volatile("" : : "r"(s.data()) : "memory");
}

struct guard {
	std::string text;

	explicit guard(int n) : text(static_cast<size_t>(n) + 40, 'g') { use(text); }
	~guard() { use(std::string(50, 'd')); }
};

static __attribute__((noinline)) int fall(int depth)
{
	guard g(depth);

	if (depth == 0)
		throw std::runtime_error("a sentence that is too long to be kept in place");
	return fall(depth - 1) + 1;
}

static __attribute__((noinline)) void catches(int depth)
{
	try {
		fall(depth);
	} catch (const std::runtime_error &e) {
		use(std::string(e.what()) + " and more");
	}
	use(std::string(60, 'c'));
}

int main()
{
	std::map<int, std::vector<std::string>> m;
	std::function<void(int)> f = [&](int n) { m[n % 3].push_back(std::string(70, 'f')); };

	for (int i = 0; i < 12; i++) {
		catches(i % 5);
		f(i);
	}
	return m.size() == 3 ? 0 : 1;
}
