/* SPDX-License-Identifier: MIT
 *
 * s_shop.cc - a typical C++ program: strings, maps, shared pointers, templates, three named
 * threads. Orders come and are served; one in ten is forgotten in a map. With "stay" it runs until
 * it is killed.
 */
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

namespace shop
{

struct Line {
	std::string article;
	std::vector<int> prices;
};

struct Order {
	unsigned number;
	std::vector<Line> lines;
};

template <typename Key, typename Value> class Register
{
	std::map<Key, std::shared_ptr<Value>> entries;
	std::mutex mutex;

      public:
	__attribute__((noinline)) void keep(Key key, std::shared_ptr<Value> value)
	{
		std::lock_guard<std::mutex> hold(mutex);
		entries.emplace(std::move(key), std::move(value));
	}
};

static Register<std::string, Order> forgotten;

__attribute__((noinline)) static std::shared_ptr<Order> make_order(unsigned number)
{
	auto order = std::make_shared<Order>();

	order->number = number;
	for (unsigned i = 0; i < 4; i++)
		order->lines.push_back(
			{ "an article with a name that is long, number " + std::to_string(i),
			  { 1, 2, 3 } });
	return order;
}

__attribute__((noinline)) static void serve(unsigned number)
{
	auto order = make_order(number);

	if (number % 10 == 0)
		forgotten.keep("order " + std::to_string(number), order);
}

static void till(unsigned first, bool stay)
{
	pthread_setname_np(pthread_self(), ("till " + std::to_string(first)).c_str());
	for (unsigned n = first; stay || n < 600; n += 3) {
		serve(n);
		if (stay)
			std::this_thread::sleep_for(std::chrono::microseconds(500));
	}
}

} // namespace shop

int main(int argc, char **)
{
	std::vector<std::thread> tills;

	for (unsigned i = 0; i < 3; i++)
		tills.emplace_back(shop::till, i, argc > 1);
	for (auto &t : tills)
		t.join();
	return 0;
}
