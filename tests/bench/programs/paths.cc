// SPDX-License-Identifier: MIT
//
// paths.cc - a tree of 131,071 nodes, built by recursion: each node is allocated at a call path of
// its own, so that in the first round nearly every allocation has a stack never seen before. The
// worst case of anything that keeps stacks. Usage: paths [ROUNDS [US]]
//
// US microseconds of sleep after each 128 nodes of the first round: so slow that memory can be
// watched.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <unistd.h>

namespace
{

struct node {
	std::unique_ptr<node> left, right;
	long made = 0;
};

long made;
useconds_t pause_us;

__attribute__((noinline, noipa)) std::unique_ptr<node> build(int levels)
{
	auto n = std::make_unique<node>();

	n->made = ++made;
	if (pause_us && made % 128 == 0)
		usleep(pause_us);
	if (levels > 1) {
		n->left = build(levels - 1);
		n->right = build(levels - 1);
	}
	return n;
}

} // namespace

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? std::atol(argv[1]) : 1;

	pause_us = argc > 2 ? static_cast<useconds_t>(std::atol(argv[2])) : 0;
	for (; rounds > 0; rounds--) {
		auto tree = build(17);
		pause_us = 0;
	}
	std::printf("%ld\n", made);
	return 0;
}
