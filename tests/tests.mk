# Tests. tests/unit/PART/FOLDER/test_*.c call the functions of that folder; tests/targets/*.c, *.cc are programs to be
# watched; the scripts test_* of the other folders drive them. All print PASS/FAIL/SKIP lines; tests/run.sh counts them.

TEST_DEPS := g++ clang valgrind graphviz heaptrack binutils elfutils tmux python3 sqlite3 perl lua5.4 jq \
	libxml2-utils git gawk redis-server redis-tools nginx-light gcc-aarch64-linux-gnu libc6-dev-arm64-cross adb openssh-server \
	openssh-client gdb strace curl qemu-user-static|qemu-user mawk xz-utils libjemalloc2 \
	musl-tools bubblewrap libcap2-bin gcc-arm-linux-gnueabihf libc6-dev-armhf-cross libclang-rt-dev libjemalloc-dev \
	libgoogle-perftools-dev libmimalloc-dev default-jdk-headless|openjdk-17-jdk-headless lld libc++1|libc++1-14 libc++abi1|libc++abi1-14 mandoc \
	clang-format locales libdevel-nytprof-perl python3-jsonschema chromium cmake meson ninja-build python3-pytest pkg-config \
	podman runc catatonit debootstrap python3-yaml python3-prometheus-client bash-completion zsh fish

BT := $(B)/tests
UNIT_TESTS = $(patsubst %.c,$(B)/%,$(wildcard $(foreach depth,* */*,tests/unit/$(1)/$(depth)/test_*.c)))
UNIT_ORDER := $(BT)/unit/agent/record/test_order
UNIT_A := $(filter-out $(UNIT_ORDER),$(call UNIT_TESTS,agent))
UNIT_MAKER := $(BT)/unit/backend/model/test_maker
UNIT_B := $(filter-out $(UNIT_MAKER),$(call UNIT_TESTS,backend))
UNIT_T := $(call UNIT_TESTS,tui)
TARGETS_C := $(patsubst tests/targets/%.c,$(BT)/targets/%,$(filter-out %/late.c,$(wildcard tests/targets/*.c)))
TARGETS_CXX := $(patsubst tests/targets/%.cc,$(BT)/targets/%,$(wildcard tests/targets/*.cc))

# The tests' own code: optimised it takes seven times as long to compile. What it links is what users have.
$(UNIT_B) $(UNIT_T): private OPT := -O0 -g

$(UNIT_B): $(B)/%: %.c tests/check.h $(BACKEND_CODE)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(SAN) -Ibackend -Itests -Itests/unit/backend -o $@ $< $(B)/libmemtop.a $(BACKEND_LIBS)

$(UNIT_A): $(B)/%: %.c tests/check.h $(AGENT_CODE)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) -fno-builtin -Iagent -Itests -o $@ $< $(B)/agent/inner.a -lpthread -ldl -lunwind

# What threads publish to each other, under ThreadSanitizer, in one piece.
ORDER_SRC := $(addprefix agent/,record/slots.c record/cost.c record/peak.c unwind/stacks.c base/arena.c base/pages.c base/prim_linux.c base/stretch.c record/thread.c base/thread_list.c base/self.c base/state.c base/wiped.c linked/libc.c \
	hooks/gate.c $(addprefix live/,live.c leaves.c regions.c origins.c ticks.c scan.c reclaim.c quiescence.c session.c sampled.c))
$(UNIT_ORDER): $(B)/%: %.c $(ORDER_SRC) $(wildcard agent/*/*.h) include/memtop/wire.h tests/check.h
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CSTD) $(WARN) -O1 -g -fsanitize=thread -fno-builtin -Iinclude -Iagent -Itests -o $@ $< $(ORDER_SRC) -lpthread

$(UNIT_T): $(B)/%: %.c tests/check.h $(filter-out %/cli/main.o,$(TUI_OBJ)) $(BACKEND_CODE)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CFLAGS_ALL) $(SAN) -Ibackend -Itui -Itests -o $@ $< $(filter-out %/cli/main.o,$(TUI_OBJ)) $(B)/libmemtop.a $(TUI_LIBS) $(BACKEND_LIBS)

# Programs with known allocations: nothing may be optimised away.
$(TARGETS_C): $(BT)/targets/%: tests/targets/%.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CSTD) -O1 -g -fno-builtin -Iinclude -Itests $(INSTRUMENT) -o $@ $< -lpthread -ldl

$(TARGETS_CXX): $(BT)/targets/%: tests/targets/%.cc
	@mkdir -p $(@D)
	$(call say,CXX)g++ -std=c++17 -O2 -g -Itests $(INSTRUMENT) -o $@ $< -lpthread -ldl

# What the instrument engine is for.
$(BT)/targets/s_instrument: INSTRUMENT := -finstrument-functions
$(BT)/targets/s_instrument_cxx: INSTRUMENT := -finstrument-functions

# Is not preloaded into itself.
$(BT)/targets/contain: INSTRUMENT := -static

# Coroutines.
$(BT)/targets/s_torture_cxx: INSTRUMENT := -std=c++20 -fno-builtin

# Libraries that s_owners loads: libs/NAME.cc is libNAME.so beside it.
TARGET_LIBS := $(patsubst tests/targets/libs/%.cc,$(BT)/targets/lib%.so,$(wildcard tests/targets/libs/*.cc))
$(TARGET_LIBS): $(BT)/targets/lib%.so: tests/targets/libs/%.cc tests/targets/libs/owns.h
	@mkdir -p $(@D)
	$(call say,CXX)g++ -std=c++17 -O2 -g -fno-builtin -fPIC -shared -o $@ $<

# Libraries that late loads: one source, bound in each of the ways that there are; and one that is C++.
LATE_LIBS := $(addprefix $(BT)/late/liblate_,now.so lazy.so rel.so cxx.so own.so else.so)
$(LATE_LIBS): tests/targets/latelibs/work.h
$(BT)/late/liblate_now.so: LATE_LINK := -Wl,-z,now -Wl,-z,relro
$(BT)/late/liblate_lazy.so: LATE_LINK := -Wl,-z,lazy -Wl,-z,norelro
$(BT)/late/liblate_rel.so: LATE_LINK := -fno-plt -Wl,-z,now -Wl,-z,relro -Wl,--hash-style=sysv
$(BT)/late/liblate_else.so: LATE_LINK := -L$(BT)/late -Wl,--no-as-needed -llate_own -Wl,-rpath,'$$ORIGIN'
$(BT)/late/liblate_else.so: $(BT)/late/liblate_own.so
$(BT)/late/liblate_own.so: tests/targets/latelibs/own.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CSTD) -O1 -g -fno-builtin -fPIC -shared -o $@ $<
$(filter-out %cxx.so %own.so,$(LATE_LIBS)): $(BT)/late/liblate_%.so: tests/targets/latelibs/plain.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CSTD) -O1 -g -fno-builtin -fPIC -shared -o $@ $< $(LATE_LINK)
$(BT)/late/liblate_cxx.so: tests/targets/latelibs/cxx.cc
	@mkdir -p $(@D)
	$(call say,CXX)g++ -std=c++17 -O1 -g -fno-builtin -fPIC -shared -o $@ $<

# The same program, bound lazily and no PIE; full RELRO is the default of late itself.
$(BT)/late/late: LATE := -fPIE -pie -Wl,-z,now -Wl,-z,relro
$(BT)/late/late_lazy: LATE := -fno-pie -no-pie -Wl,-z,lazy
$(BT)/late/late_static: LATE := -fPIE -static-pie
LATE_TARGETS := $(BT)/late/late $(BT)/late/late_lazy $(BT)/late/late_static
$(LATE_TARGETS): tests/targets/late.c tests/targets/latelibs/work.h
	@mkdir -p $(@D)
	@$(CC) $(CSTD) -O1 -g -fno-builtin $(LATE) -o $@ $< -lpthread -ldl 2>$@.log || { cat $@.log; exit 1; } # static dlopen warns

# Preloaded libraries that the scripts of tests/lib use.
PRELOADS := $(patsubst tests/lib/%.c,$(BT)/lib/%.so,$(wildcard tests/lib/*.c))
$(PRELOADS): $(BT)/lib/%.so: tests/lib/%.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CSTD) $(WARN) -O1 -g -fPIC -fno-builtin -fexceptions -ftls-model=initial-exec -shared -static-libgcc -o $@ $< -ldl

# What test_musl.py runs: built as its compiler builds, without a table to search .eh_frame by.
MUSL_TARGETS := $(addprefix $(BT)/musl/,s_attach s_threads s_sites s_filter s_mark s_named s_paths s_phases s_small_stacks s_stacks)
$(MUSL_TARGETS): $(BT)/musl/%: tests/targets/%.c
	@mkdir -p $(@D)
	$(call say,LINK)$(MUSL_CC) $(CSTD) -O1 -g -fno-builtin -Iinclude -Itests -o $@ $<

$(BT)/musl/late: tests/targets/late.c tests/targets/latelibs/work.h
	@mkdir -p $(@D)
	$(call say,LINK)$(MUSL_CC) $(CSTD) -O1 -g -fno-builtin -o $@ $<

$(BT)/musl/liblate_now.so: tests/targets/latelibs/plain.c tests/targets/latelibs/work.h
	@mkdir -p $(@D)
	$(call say,LINK)$(MUSL_CC) $(CSTD) -O1 -g -fno-builtin -fPIC -shared -o $@ $<

$(BT)/musl/count_preload.so: tests/lib/count_preload.c
	@mkdir -p $(@D)
	$(call say,LINK)$(MUSL_CC) $(CSTD) $(WARN) -O1 -g -fPIC -fno-builtin -ftls-model=initial-exec -shared -static-libgcc -o $@ $<

# Java programs, all by one compiler: tests/lib/java.py starts them.
JAVA_SRC := $(wildcard tests/targets/java/*.java)
$(BT)/java/built: $(JAVA_SRC)
	@mkdir -p $(@D)
	$(call say,JAVAC)javac -Xlint:all -d $(@D) $(JAVA_SRC)
	@touch $@

# What test_arm64.py and test_armhf.py run.
CROSS_PROGRAMS := s_threads s_sites s_filter s_mark s_named s_paths s_phases s_stacks s_fork s_server s_torture
define cross_programs
$(BT)/$(1)/%: tests/targets/%.c
	@mkdir -p $$(@D)
	$$(call say,LINK)$(CROSS_$(1))gcc $(CSTD) -O1 -g -fno-builtin -Iinclude -Itests -o $$@ $$< -lpthread -ldl

$(BT)/$(1)/count_preload.so: tests/lib/count_preload.c
	@mkdir -p $$(@D)
	$$(call say,LINK)$(CROSS_$(1))gcc $(CSTD) $(WARN) -O1 -g -fPIC -fno-builtin -fexceptions -ftls-model=initial-exec -shared -static-libgcc -o $$@ $$< -ldl

cross-programs: $(1) $(addprefix $(BT)/$(1)/,$(CROSS_PROGRAMS) count_preload.so)
endef
$(foreach machine,arm64 armhf,$(eval $(call cross_programs,$(machine))))

# The decoder, the model, the queries and the session reader under sanitizers, in one piece.
FUZZ_SRC := tests/fuzz/wire.c $(wildcard backend/heap/*.c backend/model/*.c backend/model/*/*.c backend/owners/*.c backend/query/*.c backend/query/*/*.c backend/wire/*.c) \
	$(addprefix backend/,session/read.c session/ticks.c session/write.c base/ages.c base/idmap.c base/map.c base/base.c base/format.c base/name.c base/sanitize.c base/worker.c base/thread.c \
	base/atomic_file.c base/build.c report/words.c)
$(BT)/fuzz/wire: $(FUZZ_SRC) $(wildcard backend/*/*.h backend/*/*/*.h) include/memtop/wire.h
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CSTD) $(WARN) -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -Iinclude -Ibackend \
		-DMEMTOP_VERSION='"$(VERSION)"' -DMEMTOP_PREFIX='""' -o $@ $(FUZZ_SRC) -lzstd -lpthread

# The thread that makes snapshots, under ThreadSanitizer, in one piece.
MAKER_SRC := $(wildcard backend/heap/*.c backend/model/*.c backend/model/*/*.c backend/wire/*.c) \
	$(addprefix backend/,base/ages.c base/idmap.c base/map.c base/base.c base/format.c base/sanitize.c base/build.c base/worker.c base/thread.c)
$(UNIT_MAKER): $(B)/%: %.c $(MAKER_SRC) $(wildcard backend/*/*.h backend/*/*/*.h) include/memtop/wire.h tests/check.h
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(CSTD) $(WARN) -O1 -g -fsanitize=thread -Iinclude -Ibackend -Itests -Itests/unit/backend \
		-DMEMTOP_VERSION='"$(VERSION)"' -DMEMTOP_PREFIX='""' -o $@ $< $(MAKER_SRC) -lpthread

# What make bench runs: programs/ that are measured or measure, preload/ that is put in front of them.
BENCH_DEPS := g++ zstd python3 redis-server redis-tools libunwind-dev valgrind binutils
# What it measures, too; a row whose program cannot be installed says so.
BENCH_MEASURED := clang heaptrack sqlite3 lua5.4 jq perl gawk ripgrep nodejs git
BENCH_CFLAGS := -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -g -fno-builtin -Iinclude
BENCH_LINKED := unwind rows session keyed aged endings
BENCH_PROGRAMS := $(addprefix $(B)/bench/,$(filter-out $(BENCH_LINKED),$(basename $(notdir \
	$(wildcard tests/bench/programs/*.c tests/bench/programs/*.cc)))))
BENCH_PRELOADS := $(patsubst tests/bench/preload/%.c,$(B)/bench/%.so,$(wildcard tests/bench/preload/*.c)) $(B)/bench/capture.so
BENCH_UNWIND := $(addprefix $(B)/bench/unwind-,plain fp instrument)

$(B)/bench/pairs-instrumented: tests/bench/programs/pairs.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(BENCH_CFLAGS) -finstrument-functions -o $@ $< -lpthread

$(B)/bench/%: tests/bench/programs/%.c include/memtop/wire.h
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(BENCH_CFLAGS) -o $@ $< -lpthread

# The synthetic agent of the screen's benchmark.
$(B)/bench/screen_agent: $(wildcard tests/bench/screen_agent/*.[ch]) include/memtop/wire.h
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(BENCH_CFLAGS) -o $@ $(filter %.c,$^)

$(B)/bench/%: tests/bench/programs/%.cc
	@mkdir -p $(@D)
	$(call say,CXX)g++ -std=c++17 -Wall -Wextra -O2 -g -o $@ $<

$(B)/bench/%.so: tests/bench/preload/%.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(BENCH_CFLAGS) -fPIC -shared -o $@ $< -ldl

$(B)/bench/capture.so: tests/bench/preload/forward.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(BENCH_CFLAGS) -DCAPTURE -fPIC -shared -o $@ $< -ldl -lunwind

# Captures alone: the agent's own functions, under code built as each engine wants it.
$(B)/bench/unwind-fp: UNWIND_CODE := -fno-omit-frame-pointer
$(B)/bench/unwind-instrument: UNWIND_CODE := -finstrument-functions
$(BENCH_UNWIND): tests/bench/programs/unwind.c $(AGENT_CODE)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(BENCH_CFLAGS) $(UNWIND_CODE) -Iagent -o $@ $< $(B)/agent/inner.a -lpthread -ldl -lunwind

BENCH_READERS := $(addprefix $(B)/bench/,rows keyed aged endings)
$(BENCH_READERS): $(B)/bench/%: tests/bench/programs/%.c $(BACKEND_CODE)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(BENCH_CFLAGS) -Ibackend -o $@ $< $(B)/libmemtop.a $(BACKEND_LIBS)

# What heap/ says of a session, against the model's answers.
$(BT)/heap/compare: tests/heap/compare.c $(BACKEND_CODE)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(BENCH_CFLAGS) -Ibackend -o $@ $< $(B)/libmemtop.a $(BACKEND_LIBS)

# The synthetic agent's program, into a file.
SESSION_SRC := tests/bench/programs/session.c $(addprefix tests/bench/screen_agent/,program.c frames.c first.c later.c)
$(B)/bench/session: $(SESSION_SRC) tests/bench/screen_agent/agent.h $(BACKEND_CODE)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(BENCH_CFLAGS) -Ibackend -o $@ $(SESSION_SRC) $(B)/libmemtop.a $(BACKEND_LIBS)

bench-programs: $(BENCH_PROGRAMS) $(B)/bench/pairs-instrumented $(B)/bench/screen_agent $(BENCH_PRELOADS) $(BENCH_UNWIND) $(BENCH_READERS) $(B)/bench/session

bench-deps:
	@tests/deps.sh --if-missing $(BUILD_DEPS) $(BENCH_DEPS)
	@for package in $(BENCH_MEASURED); do tests/deps.sh --if-missing $$package; done; true

# What watching costs, beside what others cost: ratios of runs in turns. QUICK=1: 5 rounds, else 15; ROWS="clang++ trees"
# TOOLS="memtop heaptrack": only these. A whole run with 15 rounds writes tests/bench/RESULTS.md and README.md's figures;
# any other prints. make bench-help lists what it runs.
BENCH_ENV = BUILD=$(B) QUICK="$(QUICK)" PAIRS="$(PAIRS)" ROWS="$(ROWS)" TOOLS="$(TOOLS)" HOUR="$(HOUR)" DURATION="$(DURATION)"
bench: bench-deps
	@$(MAKE) --no-print-directory all bench-programs
	@$(BENCH_ENV) tests/bench/bench.py

bench-help:
	@BUILD=$(B) tests/bench/bench.py --help

# README.md's figures, from tests/bench/RESULTS.md.
bench-readme:
	@tests/bench/readme.py

# Only: ns of a capture by each engine and by libunwind.
bench-unwind: bench-deps
	@$(MAKE) --no-print-directory all bench-programs
	@$(BENCH_ENV) tests/bench/bench.py unwind

# What ticks and keys cost memtop itself with a million call paths. CHANGED=n: so many change in a tick.
bench-rows: bench-deps $(B)/bench/rows
	@$(B)/bench/rows $(or $(PATHS),1000000) $(CHANGED)

# Only: the screen with a million call paths. PATHS=n: with so many.
bench-screen: bench-deps
	@$(MAKE) --no-print-directory all bench-programs
	@$(BENCH_ENV) PATHS="$(PATHS)" tests/bench/bench.py screen

# What a session of ten minutes costs to read. REFERENCE=PATH: beside another memtop.
bench-session: all $(B)/bench/session $(B)/bench/keyed $(B)/bench/aged
	@BUILD=$(B) REFERENCE="$(REFERENCE)" RUNS="$(RUNS)" LARGE="$(LARGE)" PATHS="$(PATHS)" CHANGED="$(CHANGED)" SECONDS="$(SECONDS)" tests/bench/session.py

# What a snapshot of PATHS (1,000,000) call paths takes, of which CHANGED (50,000) change in a tick.
bench-heap: all $(B)/bench/session $(BT)/heap/compare
	@$(B)/bench/session $(B)/bench/heap.mtop $(or $(PATHS),1000000) $(or $(CHANGED),50000) 5
	@$(BT)/heap/compare --time $(B)/bench/heap.mtop

# The committed instruction counts that make check compares with: after a change that was meant.
bench-instructions: bench-deps all bench-programs
	@BUILD=$(B) tests/bench/instructions.py --write

test-programs: bench-programs $(BT)/fuzz/wire $(BT)/heap/compare $(UNIT_B) $(UNIT_A) $(UNIT_ORDER) $(UNIT_MAKER) $(UNIT_T) $(TARGETS_C) $(TARGETS_CXX) $(TARGET_LIBS) $(PRELOADS) \
	$(LATE_LIBS) $(LATE_TARGETS) $(BT)/java/built \
	$(MUSL_TARGETS) $(addprefix $(BT)/musl/,count_preload.so late liblate_now.so) \
	$(B)/musl/libmemtop-agent.so $(B)/musl/libmemtop-wrap.a \
	cross-programs

test-deps:
	@tests/deps.sh --if-missing $(BUILD_DEPS) --tests $(TEST_DEPS:%='%')

# On all processors, unless the caller has said how many.
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

# The one command: installs what is missing, builds, runs everything; with T=follow that test alone, with T=screens those
# of a folder. A warning ends it with WERROR=1 alone, as in CI.
check: test-deps
	@$(MAKE) --no-print-directory $(JOBS) all test-programs
	@tests/run.sh $(B) $(T)

# The same with the slow programs, twice as many runs of each, and the fuzzers' long lists; then check-asan and check-tsan.
check-long: test-deps
	@$(MAKE) --no-print-directory $(JOBS) all test-programs
	@$(MAKE) --no-print-directory $(JOBS) $(BUILD_ASAN)
	@$(MAKE) --no-print-directory $(JOBS) $(BUILD_TSAN)
	@rc=0; LONG=1 TEST_TIMEOUT=3600 tests/run.sh $(B) $(T) || rc=1; \
		$(if $(T),,for with in asan tsan; do $(MAKE) --no-print-directory check-$$with || rc=1; done;) exit $$rc

# The screens' scripts, or those of T=, with memtop under AddressSanitizer and UBSan.
# check-tsan: under ThreadSanitizer, with threads for whatever they can do.
BUILD_ASAN = ASAN=1 B=$(B)-asan $(B)-asan/memtop
BUILD_TSAN = TSAN=1 B=$(B)-tsan $(B)-tsan/memtop
check-asan check-tsan: check-%: test-deps
	@$(MAKE) --no-print-directory $(JOBS) all test-programs
	@$(MAKE) --no-print-directory $(JOBS) $(if $(findstring asan,$*),$(BUILD_ASAN),$(BUILD_TSAN))
	@SANITIZED=$* TEST_TIMEOUT=3600 tests/run.sh $(B) $(or $(T),screens)

-include $(wildcard $(BT)/*/*.d $(BT)/unit/*/*/*.d $(BT)/unit/*/*/*/*.d)

.PHONY: bench-heap check check-long check-asan check-tsan cross-programs test-programs test-deps \
	bench bench-help bench-readme bench-unwind bench-rows bench-screen bench-session bench-instructions bench-programs bench-deps
