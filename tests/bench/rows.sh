#!/bin/sh
# What ticks and keys cost memtop itself with many call paths. Usage: BUILD=build/release tests/bench/rows.sh [PATHS]
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build/release}
mkdir -p "$BUILD/bench" &&
	gcc -std=c11 -D_GNU_SOURCE -O2 -g -Iinclude -Ibackend -o "$BUILD/bench/rows" tests/bench/rows.c \
		"$BUILD/libmemtop.a" -levent -ldw -lelf -lzstd -liberty -ljansson -lpthread || exit 1
exec "$BUILD/bench/rows" "${1:-1000000}"
