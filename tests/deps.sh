#!/bin/sh
# Install the Debian packages named on the command line that are not there yet.
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
missing=
for p in "$@"; do
	dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing="$missing $p"
done
if [ -z "$missing" ]; then
	[ -n "$quiet" ] || echo "nothing missing"
	exit 0
fi
if [ -n "$say" ]; then
	echo "memtop: packages are missing:$missing; run: make deps" >&2
	exit 1
fi
line="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ]; then
	sudo=
elif [ -t 0 ] && command -v sudo >/dev/null 2>&1; then
	printf 'memtop needs%s.\nRun: sudo %s ? [Y/n] ' "$missing" "$line"
	read -r answer
	case "$answer" in [nN]*) echo "memtop: packages are missing; run: sudo $line" >&2; exit 1 ;; esac
	sudo=sudo
else
	echo "memtop: packages are missing; run: sudo $line" >&2
	exit 1
fi
echo "$line"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! $sudo $line >"$log" 2>&1; then
	{ $sudo apt-get update && $sudo $line; } >"$log" 2>&1 || {
		tail -n 3 "$log" >&2
		rm -f "$log"
		echo "memtop: apt-get could not install the packages; run: sudo apt-get update && sudo $line" >&2
		exit 1
	}
fi
rm -f "$log"
