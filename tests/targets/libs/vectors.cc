// SPDX-License-Identifier: MIT
// vectors.cc - std::vector, shared_ptr, unordered_map's buckets, new[]: a template's code lies in
// this library.
#include "owns.h"

#include <memory>
#include <vector>

extern "C" std::size_t allocate(void)
{
	static std::vector<double> *volatile numbers;
	static std::shared_ptr<int[]> *volatile shared;
	static char *volatile raw;

	auto *v = new std::vector<double>;
	v->reserve(1000);
	numbers = v;
	auto *s = new std::shared_ptr<int[]>(new int[100]); // and its control block
	shared = s;
	raw = new char[12345];
	return sizeof(*v) + 1000 * sizeof(double) + sizeof(*s) + 100 * sizeof(int) + 12345 +
	       sizeof(std::_Sp_counted_deleter<int *, std::__sp_array_delete, std::allocator<void>,
					       __gnu_cxx::_S_atomic>);
}
