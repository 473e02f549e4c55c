#!/bin/sh
# Debian packages of another machine, with all that they need, unpacked into a folder; nothing is installed, and
# apt's own state is not touched. Usage: foreign-root.sh ARCHITECTURE DIR PACKAGE...
set -e
architecture=$1 dir=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/root"
: >"$work/status"
apt="apt-get -q -o APT::Architecture=$architecture -o APT::Architectures=$architecture -o APT::Sandbox::User=
	-o Dir::State=$work/state -o Dir::State::status=$work/status -o Dir::Cache=$work/cache -o Debug::NoLocking=1"
{ $apt update && $apt -y --no-install-recommends -d install "$@"; } >"$work/log" 2>&1 || {
	tail -n 3 "$work/log" >&2
	echo "memtop: $architecture: Debian's packages cannot be had; look at /etc/apt/sources.list" >&2
	exit 1
}
for package in "$work"/cache/archives/*.deb; do
	dpkg -x "$package" "$work/root"
done
mkdir -p "$(dirname "$dir")"
rm -rf "$dir"
mv "$work/root" "$dir"
chmod 755 "$dir"
touch "$dir"
