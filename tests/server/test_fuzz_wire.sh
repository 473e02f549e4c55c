#!/bin/sh
# Hostile streams and session files under sanitizers (tests/fuzz/wire.c), from two seeds at the same time. LONG=1:
# more streams of these seeds, and 5,000,000 of each of six others.
fuzz() { # streams, files, seed
	if "$BUILD/tests/fuzz/wire" "$@"; then
		echo "PASS fuzz_wire_seed_$3"
	else
		echo "FAIL fuzz_wire_seed_$3: see above; $BUILD/tests/fuzz/wire $* shows it again"
		return 1
	fi
}
both() { # streams, files, seed, seed
	fuzz "$1" "$2" "$3" &
	fuzz "$1" "$2" "$4" || failed=1
	wait $! || failed=1
}
failed=0
both 40000 400 1 2
if [ -n "$LONG" ]; then
	both 100000 1000 1 2
	for seed in 3 5 7; do both 5000000 50000 $seed $((seed + 1)); done
fi
exit $failed
