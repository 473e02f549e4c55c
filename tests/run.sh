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
execute() { # out, command...
	local out=$1
	shift
	timeout -k 10 "${TEST_TIMEOUT:-300}" "$@" >"$out" 2>&1 </dev/null
	echo $? >"$out.rc"
}
judge() { # label, out
	local label=$1 out=$2 rc p f s
	rc=$(cat "$out.rc" 2>/dev/null || echo 125)
	p=$(grep -c '^PASS ' "$out") f=$(grep -c '^FAIL ' "$out") s=$(grep -c '^SKIP ' "$out")
	if [ "$rc" -ne 0 ] && [ "$f" = 0 ]; then
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
run() { # label, command...
	execute "$log/out" "${@:2}"
	judge "$1" "$log/out"
}
# Those that wait for screens more than they compute, some beside each other.
run_beside() { # tests...
	local t
	for t; do
		while [ "$(jobs -rp | wc -l)" -ge 3 ]; do wait -n; done
		execute "$log/${t//\//_}" "$t" &
	done
	wait
	for t; do judge "$t" "$log/${t//\//_}"; done
}
want() { [ -z "$only" ] || [ "$only" = "$1" ]; }
want layers && run layers tests/layers.sh "$BUILD"
if want unit; then
	for t in "$BUILD"/tests/{backend,agent,tui}/t_*; do
		[ -x "$t" ] && [ -f "$t" ] && case $t in *.d) ;; *) run "${t#"$BUILD"/tests/}" "$t" ;; esac
	done
fi
if want run; then for t in tests/run/t_*; do [ -x "$t" ] && run "$t" "$t"; done; fi
if want tui; then run_beside tests/tui/t_*; fi
echo
[ $skipped = 0 ] && echo "$passed passed, $failed failed" || echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed != 0 ]
