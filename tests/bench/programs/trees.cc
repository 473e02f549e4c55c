// SPDX-License-Identifier: MIT
//
// trees.cc - recursive C++: a binary tree of 131,071 named nodes is built, walked and dropped,
// round after round. Each node is allocated at a call path of its own, which comes back in every
// round, long after a cache has forgotten it. Usage: trees [ROUNDS]
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace
{

#define KEEP __attribute__((noinline, noipa))

struct tree {
	std::unique_ptr<tree> left, right;
	std::string name;
	unsigned key = 0;
};

// A name fits into its string, so that a node is one block.
KEEP std::unique_ptr<tree> grow(int levels, unsigned key)
{
	auto t = std::make_unique<tree>();

	t->key = key;
	for (unsigned n = key; n; n /= 10)
		t->name += static_cast<char>('0' + n % 10);
	if (levels > 1) {
		t->left = grow(levels - 1, 2 * key);
		t->right = grow(levels - 1, 2 * key + 1);
	}
	return t;
}

KEEP unsigned long weigh(const tree *t, unsigned seed)
{
	unsigned long sum = t->key ^ seed;

	for (char c : t->name)
		sum = sum * 31 + static_cast<unsigned char>(c);
	if (t->left)
		sum += weigh(t->left.get(), seed) ^ weigh(t->right.get(), seed + 1);
	return sum;
}

} // namespace

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 24;
	unsigned long sum = 0;

	for (unsigned i = 0; i < rounds; i++) {
		auto t = grow(17, 1);
		for (unsigned walk = 0; walk < 6; walk++)
			sum += weigh(t.get(), i + walk);
	}
	std::printf("%lu\n", sum);
	return 0;
}
