/* SPDX-License-Identifier: MIT
 *
 * s_inline.cc - C++ whose call sites are inlined at -O2: templates, lambdas, methods inside one
 * another, a recursion, a virtual call, qsort's callback and a thread. Everything stays alive, so
 * that each stack is in the report.
 */
#include "target.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace shop
{

template <typename T> struct shelf {
	std::vector<T> items;
	inline void put(T item) { items.push_back(std::move(item)); }
};

struct item {
	std::string name;
	int *weight;

	explicit item(int n)
		: name(std::string(40, 'a') + std::to_string(n)), weight(new int[n + 1])
	{
	}
};

static inline item make(int n)
{
	return item(n);
}

struct base {
	virtual ~base() = default;
	virtual void *allocate(size_t n) = 0;
};

struct derived final : base {
	void *allocate(size_t n) override { return helper(n); }

      private:
	static inline void *helper(size_t n) { return malloc(n + 1); }
};

static base *volatile chosen;

} // namespace shop

static void __attribute__((noinline)) fill(shop::shelf<shop::item> &s, int n)
{
	for (int i = 0; i < n; i++)
		s.put(shop::make(i));
}

static void *__attribute__((noinline)) descend(int depth)
{
	if (depth == 0)
		return malloc(77);
	void *volatile below = descend(depth - 1);
	return below;
}

static int compare(const void *a, const void *b)
{
	keep(malloc(5));
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

int main()
{
	auto *shelf = new shop::shelf<shop::item>;
	auto *index = new std::map<std::string, std::unique_ptr<int>>;
	std::function<void *(size_t)> through = [](size_t n) { return calloc(1, n); };
	int numbers[3] = { 3, 1, 2 };

	fill(*shelf, 10);
	for (int i = 0; i < 5; i++)
		(*index)[std::string(30, 'k') + std::to_string(i)] = std::make_unique<int>(i);
	shop::chosen = new shop::derived;
	keep(shop::chosen->allocate(100));
	keep(through(33));
	keep(descend(4));
	qsort(numbers, 3, sizeof(*numbers), compare);
	std::thread([] { keep(malloc(9)); }).join();
	keep(shelf);
	keep(index);
	return 0;
}
