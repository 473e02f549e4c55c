#!/bin/bash
# SPDX-License-Identifier: MIT
# phone.sh - the commands of an Android device's shell that memtop uses, for tests/lib/adbd.py. Called by their names through
# links; $PHONE is the folder that tests/lib/phone.py made: props/NAME, packages/PKG/{pid,debug,run,activity,dump,debuggable}.
package=$PHONE/packages

# The app's process, as zygote starts it: by the property wrap.PKG or the app's wrap.sh, where there is one.
launch() {
	local wrap
	rm -f "$PHONE/seen"
	wrap=$(cat "$PHONE/props/wrap.$1" 2>/dev/null)
	[ -z "$wrap" ] && [ -e "$package/$1/wrap.sh" ] && wrap="sh $package/$1/wrap.sh"
	setsid sh -c "exec $wrap $PHONE/bin/app_process $1" </dev/null >"$package/$1/out" 2>&1 &
	echo $! >"$package/$1/pid"
}

case ${0##*/} in
getprop) cat "$PHONE/props/$1" 2>/dev/null ;;
setprop)
	[ -e "$PHONE/settable" ] || { echo "setprop: failed to set property '$1' to '$2'" >&2; exit 1; }
	printf '%s\n' "$2" >"$PHONE/props/$1" ;;
id)
	uid=2000 name=shell
	[ -e "$PHONE/root" ] || [ "$SU" ] && uid=0 name=root
	[ "$1" = -u ] && echo "$uid" || echo "uid=$uid($name) gid=$uid($name)" ;;
su) # $PHONE/su: "0" as userdebug builds have it (su 0 COMMAND...), "-c" as others (su -c SCRIPT)
	[ "$1" = "$(cat "$PHONE/su" 2>/dev/null)" ] || { echo "su: invalid uid/gid '$1'" >&2; exit 1; }
	export SU=1
	case $1 in
	0) shift; exec "$@" ;;
	-c) exec sh -c "$2" ;;
	esac ;;
getenforce) cat "$PHONE/enforce" 2>/dev/null || echo Permissive ;;
logcat) cat "$PHONE/log" 2>/dev/null ;;
dmesg) echo "dmesg: klogctl: Permission denied" >&2; exit 1 ;;
pm) [ -d "$package/$2" ] && echo "package:/data/app/$2/base.apk" ;;
dumpsys) cat "$package/$2/dump" 2>/dev/null ;;
pidof) # the latest first, as some Androids do: an agent's server before its program
	# by the time of their start: numbers begin again at the lowest one day
	for d in $(cat /proc/[0-9]*/stat 2>/dev/null | sed 's/(.*) //' | sort -k21,21rn -k1,1rn | cut -d' ' -f1); do
		IFS= read -r -d '' name <"/proc/$d/cmdline" && [ "$name" = "$1" ] &&
			grep -qzx "PHONE=$PHONE" "/proc/$d/environ" && found+=("$d")
	done 2>/dev/null
	[ "${#found[@]}" != 0 ] && touch "$PHONE/seen" && echo "${found[@]}" ;;
cmd) cat "$package/${*: -1}/activity" 2>/dev/null || echo 'No activity found' ;;
run-as)
	[ -d "$package/$1" ] || { echo "run-as: unknown package: $1" >&2; exit 1; }
	[ -e "$package/$1/debuggable" ] || { echo "run-as: package not debuggable: $1" >&2; exit 1; }
	cd "$PHONE/data/user/0/$1" && shift && exec "$@" ;;
app_process) # nothing that can be written to is loaded, as by apps for API 37 and later
	for f in "$PHONE/data/user/0/$1/code_cache"/*.so; do
		[[ ! -e $f || $(stat -c %A "$f") != *w* ]] || { echo "Attempt to load writable file: $f"; exit 1; }
	done
	eval "exec -a $1 $(cat "$package/$1/run")" ;;
am)
	echo "$*" >>"$PHONE/am.log"
	case $1 in
	force-stop) pid=$(cat "$package/$2/pid" 2>/dev/null) && kill -9 "$pid"; rm -f "$package/$2/pid" ;;
	start)
		echo "Starting: Intent { cmp=${*: -1} }"
		[ -e "$package/${3%%/*}/run" ] || [ -e "$package/${4%%/*}/run" ] || {
			echo 'Error type 3' >&2
			echo "Error: Activity class {${*: -1}} does not exist." >&2
			exit 0
		}
		app=${*: -1}
		launch "${app%%/*}" ;;
	esac ;;
esac
