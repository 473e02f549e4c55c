#!/bin/sh
# Arrows between the trees, read from the compiler's own dependency files.
b=$1
bad=0
forbid() { # objects' folder, pattern of forbidden headers
	for d in "$b/$1"/*/*.d "$b/$1"/*/*/*.d; do
		[ -e "$d" ] || continue
		hit=$(tr ' ' '\n' <"$d" | grep -E "$2" | grep -v ':$' | sort -u)
		[ -z "$hit" ] || { echo "FAIL layers: $d includes $hit"; bad=1; }
	done
}
forbid agent '^(backend|tui)/'
forbid backend '^(agent|tui)/'
forbid tui '^agent/'
for abi in "$b"/android/*/attach; do
	[ ! -d "$abi" ] || forbid "${abi#"$b"/}/backend/attach/standalone" '^(agent|tui)/'
done
only() { # header pattern in source, allowed files
	hit=$(grep -lE "$1" -r agent backend tui | grep -vE "$2")
	[ -z "$hit" ] || { echo "FAIL layers: $1 outside $2: $hit"; bad=1; }
}
only '#include <(ncurses|curses|ncursesw/)' '^tui/'
only '#include <elfutils/libdw' '^backend/symbols/'
only '#include <event2/' '^backend/(base/loop|link/conn)'
only '#include <jansson' '^backend/report/json'
only '#include <zstd' '^backend/session/'
[ $bad = 0 ] && echo "PASS layers"
exit $bad
