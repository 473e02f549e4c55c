#!/bin/sh
# Install the Debian packages named on the command line that are not there yet: a|b is the first of them that there is.
# What follows --tests is for tests: where Debian has none of that name, or cannot install it, a line says so, and the
# tests that need it are skipped.
# With --if-missing: silent when nothing is missing. With --say: nothing is installed, a line says what to run. Prints the
# apt line; asks only where there is a terminal and the user is not root; one clear line when it cannot.
quiet= say=
case "$1" in
--if-missing) quiet=1; shift ;;
--say) quiet=1 say=1; shift ;;
esac
if ! command -v dpkg-query >/dev/null 2>&1; then
	[ -n "$quiet" ] && exit 0 # not Debian: the compiler will say what is missing
	echo "memtop: no dpkg on this machine: install the equivalents of: $*" >&2
	exit 1
fi
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null)
there() { # a|b
	for name in $(echo "$1" | tr '|' ' '); do
		case "$nl$installed$nl" in *"${nl}installed $name$nl"*) return 0 ;; esac
	done
	return 1
}
first_known() { # a|b
	for name in $(echo "$1" | tr '|' ' '); do
		apt-cache show "$name" >/dev/null 2>&1 && echo "$name" && return
	done
	return 1
}
nl='
'
needed= tests= list=needed
for p in "$@"; do
	if [ "$p" = --tests ]; then
		list=tests
	elif ! there "$p"; then
		[ $list = needed ] && needed="$needed $p" || tests="$tests $p"
	fi
done
if [ -z "$needed$tests" ]; then
	[ -n "$quiet" ] || echo "nothing missing"
	exit 0
fi
if [ -n "$say" ]; then
	echo "memtop: packages are missing:$needed$tests; run: make deps" >&2
	exit 1
fi
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
# A new machine has no list of packages.
[ -n "$sudo" ] || ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1 || apt-get update >/dev/null 2>&1
needs= extra=
for p in $needed; do
	needs="$needs $(first_known "$p" || echo "${p%%|*}")"
done
for p in $tests; do
	if known=$(first_known "$p"); then
		extra="$extra $known"
	else
		echo "memtop: apt knows no package $p: tests that need it are skipped" >&2
	fi
done
wanted=$needs$extra
[ -n "$wanted" ] || exit 0
install="apt-get install -y --no-install-recommends"
line="$install$wanted"
if [ -n "$sudo" ]; then
	if [ -t 0 ] && command -v sudo >/dev/null 2>&1; then
		printf 'memtop needs%s.\nRun: sudo %s ? [Y/n] ' "$wanted" "$line"
		read -r answer
		case "$answer" in [nN]*) echo "memtop: packages are missing; run: sudo $line" >&2; exit 1 ;; esac
	else
		echo "memtop: packages are missing; run: sudo $line" >&2
		exit 1
	fi
fi
echo "$line"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
	"$@" >"$log" 2>&1
}
quietly $sudo $line && exit
$sudo apt-get update >"$log" 2>&1 && quietly $sudo $line && exit
# Together they cannot be had: what is needed first, then one by one, so that one bad package keeps none of the others out.
if [ -n "$needs" ] && ! quietly $sudo $install$needs; then
	tail -n 3 "$log" >&2
	echo "memtop: apt-get could not install the packages; run: sudo apt-get update && sudo $install$needs" >&2
	exit 1
fi
for p in $extra; do
	quietly $sudo $install "$p" ||
		echo "memtop: apt-get could not install $p: tests that need it are skipped ($(grep -m 1 '^E: ' "$log"))" >&2
done
