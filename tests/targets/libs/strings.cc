// SPDX-License-Identifier: MIT
// strings.cc - std::string and std::map; built with and without inlining they own the same bytes.
#include "owns.h"

#include <map>
#include <string>

extern "C" std::size_t allocate(void)
{
	using map = std::map<int, std::string>;
	std::size_t bytes = sizeof(map);
	auto *m = new map;

	for (int i = 0; i < 100; i++) {
		(*m)[i] = std::string(static_cast<std::size_t>(50 + i), 's');
		// a node, and text with its terminator
		bytes += sizeof(std::_Rb_tree_node<map::value_type>) + 51 +
			 static_cast<std::size_t>(i);
	}
	static map *volatile kept;
	kept = m;
	return bytes;
}
