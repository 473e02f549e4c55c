#!/bin/bash
# Runs the tests and closes with "N passed, N failed". Usage: run.sh BUILD [NAME...]: all; or a folder of tests/
# (processes, screens, unit, ...), a test's name (follow = test_follow.py), or layers.
# A test is any executable that prints PASS/FAIL/SKIP lines; one that prints none, or ends badly
# without a FAIL line, counts as one failure. Up to ten that fail beside others are run once more, alone; what fails
# alone, too, has failed. The closing lines name both.
# SANITIZED=asan or tsan: memtop is BUILD-asan's or BUILD-tsan's, and each finding of a sanitizer is a failure.
set -u
export BUILD=$1
shift
only=$(tr ' ' '|' <<<"$*")
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0 skipped=0
again=() closing=() when=alone
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
execute() { # out, command...
	local out=$1
	shift
	local start=$SECONDS
	[ -z "${SANITIZED:-}" ] || local -x ASAN_OPTIONS="detect_leaks=0:log_path=$out.finding" UBSAN_OPTIONS="print_stacktrace=1:log_path=$out.finding" TSAN_OPTIONS="log_path=$out.finding"
	timeout -k 10 "${TEST_TIMEOUT:-1200}" "$@" >"$out" 2>&1 </dev/null
	echo $? $((SECONDS - start)) >"$out.rc"
}
judge() { # test
	local label=${1#"$BUILD"/} out=$log/${1//\//_} rc took p f s
	read -r rc took 2>/dev/null <"$out.rc" || rc=125
	echo "${took:-0} $1" >>"$log/seconds"
	if compgen -G "$out.finding*" >/dev/null; then # the screen does not show it
		echo "FAIL $label: a sanitizer's finding" >>"$out"
		head -40 "$out".finding* >>"$out"
	fi
	p=$(grep -c '^PASS ' "$out") f=$(grep -c '^FAIL ' "$out") s=$(grep -c '^SKIP ' "$out")
	if [ "$rc" -ne 0 ] && [ "$f" = 0 ]; then
		f=1
		echo "FAIL $label ended with $rc" >>"$out"
	elif [ $((p + f + s)) = 0 ]; then
		f=1
		echo "FAIL $label printed no result" >>"$out"
	fi
	if [ "$f" != 0 ]; then
		echo "== $label"
		grep '^FAIL ' "$out" | cut -c 1-300 | head -20 # what follows may be long
		tail -n 60 "$out"
		closing+=("$(grep '^FAIL ' "$out" | cut -c 1-150 | head -5 | sed "s|^FAIL|failed $when: $label|")")
		if [ "$when" = 'beside others' ] && [ ${#again[@]} -lt 10 ]; then
			again+=("$1")
			rm "$out" "$out.rc"
			return
		fi
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	if [ "$f" = 0 ]; then
		echo "ok $label ($p$([ "$s" = 0 ] || echo ", $s skipped")$([ "${took:-0}" -lt 5 ] || echo ", $took s"))"
		grep '^SKIP ' "$out"
	fi
}
# Some beside each other, each judged when it has ended.
beside() { # how many, tests...
	local most=$1 t u none
	local -a under_way=() still
	shift
	for t in "$@" ""; do
		[ -n "$t" ] || most=1 # all are to end
		while [ ${#under_way[@]} -ge "$most" ]; do
			wait -n
			none=$(($? == 127))
			still=()
			for u in "${under_way[@]}"; do
				if [ -s "$log/${u//\//_}.rc" ] || [ $none = 1 ]; then
					judge "$u"
				else
					still+=("$u")
				fi
			done
			under_way=("${still[@]}")
		done
		if [ -n "$t" ]; then
			execute "$log/${t//\//_}" "$t" &
			under_way+=("$t")
		fi
	done
}
# Of the tests given, those that the caller named.
chosen() {
	local t
	for t; do
		[[ -z $only || /${t#"$BUILD"/} =~ /(test_)?($only)(/|\.py|\.sh|$) ]] && echo "$t"
	done
}
if [[ -z $only || layers =~ ^($only)$ ]]; then
	execute "$log/layers" tests/layers.py "$BUILD"
	judge layers
fi
# The longest first, so that none of them is alone at the end: by the seconds of earlier runs of this build, else by
# the size of its source. Most of a script's time is waiting: eight beside each other keep two processors busy.
seconds=$BUILD/tests/seconds
longest_first() {
	local t source size
	while read -r t; do
		source=${t#"$BUILD"/}
		[ -e "$source" ] || source=$source.c
		size=$(stat -c %s "$source" 2>/dev/null) || continue # an old build's, whose source is gone
		echo "$((size / 500)) $t"
	done | awk '!estimate {took[$2] = $1; next} {print ($2 in took ? took[$2] : $1), $2}' "$seconds" estimate=1 - |
		sort -k 1,1nr -k 2 | cut -d ' ' -f 2
}
mkdir -p "${seconds%/*}" && touch "$seconds"
all=$(chosen tests/*/test_*.{py,sh} $(find "$BUILD/tests/unit" -name 'test_*' ! -name '*.d') | longest_first)
when='beside others'
beside 8 $all
when=alone
beside 1 "${again[@]}"
awk '{took[$2] = $1} END {for (t in took) print took[t], t}' "$seconds" "$log/seconds" >"$log/all" && mv "$log/all" "$seconds"

echo
[ ${#closing[@]} = 0 ] || printf '%s\n' "${closing[@]}"
[ ${#again[@]} = 0 ] || echo "run once more, alone: ${again[*]}"
[ $skipped = 0 ] && echo "$passed passed, $failed failed" || echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed != 0 ]
