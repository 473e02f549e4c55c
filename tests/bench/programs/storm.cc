// SPDX-License-Identifier: MIT
//
// storm.cc - a typical C++ program: strings, maps, shared pointers, growing vectors, capturing
// functions. Usage: storm [ROUNDS]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

uint64_t state = 88172645463325252u;

uint64_t chance()
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

struct item {
	std::string name;
	std::vector<int> values;
	std::shared_ptr<item> other;
};

std::string word()
{
	std::string s = "item number " + std::to_string(chance() % 100000);

	for (unsigned i = chance() % 3; i > 0; i--)
		s += ", and so on and so forth";
	return s;
}

std::shared_ptr<item> make(std::shared_ptr<item> other)
{
	auto i = std::make_shared<item>();

	i->name = word();
	for (unsigned n = chance() % 9; n > 0; n--)
		i->values.push_back(static_cast<int>(n));
	i->other = chance() % 4 ? nullptr : std::move(other);
	return i;
}

size_t round(std::map<std::string, std::shared_ptr<item>> &by_name,
	     std::unordered_map<uint64_t, std::string> &texts)
{
	std::vector<std::function<size_t()>> calls;
	std::shared_ptr<item> last;
	size_t sum = 0;

	for (int i = 0; i < 300; i++) {
		last = make(last);
		by_name[last->name] = last;
		texts[chance() % 5000] = word();
		std::string a = word(), b = word();
		calls.push_back([a, b, last] { return a.size() + b.size() + last->values.size(); });
	}
	for (auto &call : calls)
		sum += call();
	while (by_name.size() > 4000)
		by_name.erase(by_name.begin());
	return sum;
}

} // namespace

int main(int argc, char **argv)
{
	std::map<std::string, std::shared_ptr<item>> by_name;
	std::unordered_map<uint64_t, std::string> texts;
	size_t sum = 0;

	for (long rounds = argc > 1 ? std::atol(argv[1]) : 1500; rounds > 0; rounds--)
		sum += round(by_name, texts);
	std::printf("%zu\n", sum);
	return 0;
}
