#!/bin/bash
# SPDX-License-Identifier: MIT
# Instructions that the program's own threads execute for one malloc+free pair, by callgrind: plain,
# and with the agent. The figure repeats, whatever else the machine does. A pair's cost is the
# difference of two runs of unlike length, so start-up does not count.
# Usage: BUILD=build/release tests/bench/instructions.sh
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build/release}
mkdir -p "$BUILD/bench"
gcc -std=gnu11 -O2 -fno-builtin -o "$BUILD/bench/pairs" tests/bench/pairs.c

total() { # options pairs depth fresh
	local vars=()
	[ "$1" = plain ] ||
		vars=(LD_PRELOAD="$PWD/$BUILD/libmemtop-agent.so" MEMTOP_OPTIONS="listen=none,$1")
	valgrind --tool=callgrind --trace-children=yes --callgrind-out-file=/dev/null \
		env "${vars[@]}" "$BUILD/bench/pairs" "${@:2}" 2>&1 |
		sed -n 's/.*Collected : //p' | tail -1
}

printf '%-16s %14s %14s %20s\n' "per pair" "depth 10" "depth 30" "depth 10, 3 fresh"
for options in plain unwind=cfi unwind=fp unwind=caller; do
	figures=()
	for shape in "10 0" "30 0" "10 3"; do
		# shellcheck disable=SC2086
		few=$(total "$options" 30000 $shape) many=$(total "$options" 50000 $shape)
		figures+=("$(((many - few) / 20000))")
	done
	printf '%-16s %14s %14s %20s\n' "$options" "${figures[@]}"
done
