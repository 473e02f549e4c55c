// SPDX-License-Identifier: MIT
//
// million.cc - 1,048,575 call paths without recursion: each function of a level calls the next
// level's twice, and allocates one block that stays. So every block has a stack of its own, of up
// to twenty frames above main.
#include <cstdio>
#include <cstdlib>

namespace
{

struct block {
	block *next;
};

block *kept;
long made;

template <int levels> __attribute__((noinline, noipa)) void grow()
{
	auto b = static_cast<block *>(std::malloc(sizeof(block) + levels % 3 * 16));

	b->next = kept;
	kept = b;
	made++;
	if constexpr (levels > 1) {
		grow<levels - 1>();
		grow<levels - 1>();
	}
	__asm__ volatile("" ::: "memory"); // not a tail call
}

} // namespace

int main()
{
	grow<20>();
	std::printf("%ld\n", made);
	while (kept) {
		block *b = kept;
		kept = b->next;
		std::free(b);
	}
	return 0;
}
