#!/bin/sh
# What watching costs, against plain runs, a forwarding preload and heaptrack. Takes some minutes on
# a quiet machine. Usage: BUILD=build/release tests/bench/quick.sh [ROUNDS]
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build/release}
export BUILD
mkdir -p "$BUILD/bench" &&
	gcc -O2 -fno-builtin -o "$BUILD/bench/many_live" tests/bench/many_live.c &&
	gcc -O2 -shared -fPIC -o "$BUILD/bench/forward.so" tests/bench/forward.c -ldl || exit 1
exec /usr/bin/python3 tests/bench/quick.py "$@"
