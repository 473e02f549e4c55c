#!/bin/bash
# SPDX-License-Identifier: MIT
# Random programs of gcc and clang take their own stacks, which libunwind judges: tests/unwind/.
# What is built with -finstrument-functions has the instrument engine, all else cfi. Before that, a program takes its stack
# at each of its instructions, by both engines, also while the loader binds a call (steps.c). At last the bench's
# real programs do, under an agent with a judge in it. LONG=1: more programs, 2,000,000 stacks and more.
set -u
here=tests/unwind
out=$BUILD/tests/unwind
parts="base/area base/pages base/prim_linux base/msg base/arena base/self base/stretch modules/loader modules/maps modules/maps_file modules/maps_kind modules/segments unwind/stacks cfi/cfi cfi/records cfi/table cfi/index cfi/outermost unwind/cfi_step cfi/expr unwind/unwind unwind/incremental unwind/leave unwind/fold unwind/cfi_engine unwind/cache base/stack_bounds
	unwind/fp unwind/libunwind hooks/instrument unwind/call_stack unwind/backtrace unwind/fp_evidence unwind/epilogue unwind/insn linked/libc"
objects=$(for p in $parts; do echo "$BUILD/agent/$p.o"; done)
flags="-D_GNU_SOURCE -Wall -Wextra -g -O2 -Iinclude -Iagent -I$here -Itests"
mkdir -p "$out"

gcc -std=gnu11 $flags -c -o "$out/probe.o" $here/probe.c || exit 1
gcc -std=gnu11 $flags -o "$out/odd" $here/odd.c $objects -lpthread || exit 1
"$out/odd" | sed 's/^\(PASS\|FAIL\) /&odd stacks: /'
bad=$((PIPESTATUS[0] != 0))

# Of each engine; in the loader's trampolines for processors with and without XSAVEC and XSAVE.
step() { # name, engine, compiler's options
	gcc -std=gnu11 $flags -fno-builtin $3 -Wl,-z,lazy -o "$out/$1" $here/steps.c $objects -lunwind -lpthread || return 1
	for without in "" -XSAVEC "-XSAVEC,-XSAVE"; do
		env -u LD_BIND_NOW GLIBC_TUNABLES="glibc.cpu.hwcaps=$without" timeout 120 "$out/$1" $2 |
			sed "s/^\(PASS\|FAIL\) /&each step, $1, hwcaps '$without': /"
		[ "${PIPESTATUS[0]}" = 0 ] || return 1
	done
}
instrumented="-finstrument-functions -finstrument-functions-exclude-file-list=.h"
step steps cfi "" && step steps-O0 cfi -O0 && step steps-instrumented instrument "$instrumented" &&
	step steps-instrumented-O0 instrument "$instrumented -O0" || {
	echo "FAIL each step"
	bad=1
}

# name, compiler and options, generator's options
short="gcc-O0|gcc -O0|
gcc-O2|gcc -O2|rbp
gcc-O2-tight|gcc -O2|rbp tight
clang-O0|clang -O0|
clang-O2|clang -O2|rbp
clang-O3|clang -O3|rbp
clang-O3-tight|clang -O3|tight
g++-O2|g++ -O2|c++ rbp
clang++-O3|clang++ -O3|c++ rbp
instrumented-gcc-O2|gcc -O2 -finstrument-functions|rbp
instrumented-gcc-O0-mixed|gcc -O0 -finstrument-functions|mixed
instrumented-clang-O2-tight|clang -O2 -finstrument-functions|tight mixed
instrumented-clang++-O3|clang++ -O3 -finstrument-functions|c++ rbp"
long="$short
gcc-O0-tight|gcc -O0|tight
gcc-O3|gcc -O3|rbp
gcc-Os|gcc -Os|rbp
gcc-O2-fp|gcc -O2 -fno-omit-frame-pointer|
gcc-O2-native|gcc -O2 -march=native -ftree-vectorize|rbp
clang-Os|clang -Os|rbp
clang-O2-fp|clang -O2 -fno-omit-frame-pointer|
clang++-O0|clang++ -O0|c++
g++-O0|g++ -O0|c++
g++-O3|g++ -O3|c++ rbp
instrumented-gcc-O2-mixed|gcc -O2 -finstrument-functions|mixed rbp
instrumented-gcc-O3-tight|gcc -O3 -finstrument-functions|tight
instrumented-gcc-O2-fp|gcc -O2 -finstrument-functions -fno-omit-frame-pointer|
instrumented-clang-O0|clang -O0 -finstrument-functions|
instrumented-late-clang-O2|clang -O2 -finstrument-functions-after-inlining|rbp
instrumented-g++-O2|g++ -O2 -finstrument-functions|c++ mixed
instrumented-g++-O0|g++ -O0 -finstrument-functions|c++"
if [ -n "${LONG:-}" ]; then
	variants=$long seeds="1 2 3" plain=14000 threads=14000 storm=20000
else
	variants=$short seeds=1 plain=4000 threads=4000 storm=10000
fi

run() { # program name budget threads storm
	timeout 280 "$1" "$3" "$4" "$5" "$2" >"$out/log" 2>&1
	local rc=$?
	cat "$out/log"
	[ $rc -le 1 ] || echo "FAIL $2: ended with $rc"
	[ $rc = 0 ] || bad=1
}

for seed in $seeds; do
	while IFS='|' read -r name compiler options; do
		program=$out/$name-$seed
		case $options in c++*) source=$program.cc ;; *) source=$program.c ;; esac
		case $compiler in *-finstrument*) export PROBE_ENGINE=instrument ;; *) unset PROBE_ENGINE ;; esac
		case $options in *tight*) functions=24 ;; *) functions=60 ;; esac
		$here/gen.py "$seed" $functions $options >"$source" &&
			$compiler -g -w -I$here -c -o "$program.o" "$source" &&
			${compiler%% *} -o "$program" "$program.o" "$out/probe.o" $objects -lunwind -lpthread || {
			echo "FAIL $name seed $seed: not built"
			bad=1
			continue
		}
		run "$program" "$name seed $seed" $plain 0 0
		run "$program" "$name seed $seed, threads" $threads 3 0
		run "$program" "$name seed $seed, signals" $storm 0 2000
	done <<<"$variants"
done

# The agent's own objects, but for the hooks; their flags are those of the Makefile.
agent="-std=c11 $flags -fPIC -fvisibility=hidden -fno-builtin -fno-stack-protector
	-fexceptions -fasynchronous-unwind-tables -fno-plt"
judged() { # file of hooks, flags
	gcc $agent $2 "-DHOOKS=\"hooks/$1.c\"" -c -o "$out/judged_$1.o" $here/judged.c
}
rbp=$(gcc -ffixed-rbp -fsyntax-only -x c /dev/null 2>/dev/null && echo -fomit-frame-pointer -ffixed-rbp -DMT_FIXED_RBP)
rest=$(ls agent/*/*.c | grep -v '/linked/\|/loaded/\|/hooks/\(malloc\|cxx\|jemalloc\)\.c$' | sed "s,\(.*\)c$,$BUILD/\1o,")
judged malloc "${rbp:--fno-omit-frame-pointer}" && judged cxx "${rbp:--fno-omit-frame-pointer}" &&
	judged jemalloc -fno-omit-frame-pointer && gcc $agent -c -o "$out/judge.o" $here/judge.c &&
	gcc -shared -Wl,-z,defs,-z,now -Wl,--version-script=$BUILD/agent.map -o "$out/libjudged.so" $rest "$BUILD/agent/linked/libc.o" \
		"$out"/judged_*.o "$out/judge.o" -lunwind || bad=1
$here/real.py "$out/libjudged.so" || bad=1
exit $bad
