#!/bin/bash
# Runs the tests and closes with "N passed, N failed". Usage: run.sh BUILD [unit|run|tui|layers]
# A test is any executable that prints PASS/FAIL/SKIP lines; one that prints none, or ends badly
# without a FAIL line, counts as one failure.
set -u
export BUILD=$1
only=${2:-}
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0 skipped=0
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
run() { # label, command...
	local label=$1 out="$log/out"
	shift
	timeout -k 10 "${TEST_TIMEOUT:-300}" "$@" >"$out" 2>&1 </dev/null
	local rc=$?
	local p f s
	p=$(grep -c '^PASS ' "$out") f=$(grep -c '^FAIL ' "$out") s=$(grep -c '^SKIP ' "$out")
	if [ $rc -ne 0 ] && [ "$f" = 0 ]; then
		f=1
		echo "FAIL $label ended with $rc" >>"$out"
	elif [ $((p + f + s)) = 0 ]; then
		f=1
		echo "FAIL $label printed no result" >>"$out"
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	if [ "$f" != 0 ]; then
		echo "== $label"
		grep '^FAIL ' "$out" | head -20 # what follows may be long
		tail -n 60 "$out"
	else
		echo "ok $label ($p$([ "$s" = 0 ] || echo ", $s skipped"))"
		grep '^SKIP ' "$out"
	fi
}
want() { [ -z "$only" ] || [ "$only" = "$1" ]; }
want layers && run layers tests/layers.sh "$BUILD"
if want unit; then
	for t in "$BUILD"/tests/{backend,agent,tui}/t_*; do
		[ -x "$t" ] && [ -f "$t" ] && case $t in *.d) ;; *) run "${t#"$BUILD"/tests/}" "$t" ;; esac
	done
fi
if want run; then for t in tests/run/t_*; do [ -x "$t" ] && run "$t" "$t"; done; fi
if want tui; then for t in tests/tui/t_*; do [ -x "$t" ] && run "$t" "$t"; done; fi
echo
[ $skipped = 0 ] && echo "$passed passed, $failed failed" || echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed != 0 ]
