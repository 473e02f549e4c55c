# Tests. tests/unit/backend/t_*.c link the backend, tests/unit/agent/t_*.c the agent's archive,
# tests/unit/tui/t_*.c the tui objects but main.o; tests/targets/*.c, *.cc are programs to be watched;
# tests/run/*.py and tests/tui/*.py drive them. All print PASS/FAIL/SKIP lines; tests/run.sh counts them.

TEST_DEPS := g++ clang valgrind binutils elfutils tmux python3 sqlite3 perl lua5.4 jq libxml2-utils git gawk \
	redis-server redis-tools nginx-light gcc-aarch64-linux-gnu libc6-dev-arm64-cross adb openssh-server \
	openssh-client gdb strace curl qemu-user-static mawk xz-utils libjemalloc2

T := $(B)/tests
UNIT_B := $(patsubst tests/unit/backend/%.c,$(T)/backend/%,$(wildcard tests/unit/backend/t_*.c))
UNIT_A := $(patsubst tests/unit/agent/%.c,$(T)/agent/%,$(wildcard tests/unit/agent/t_*.c))
UNIT_T := $(patsubst tests/unit/tui/%.c,$(T)/tui/%,$(wildcard tests/unit/tui/t_*.c))
TARGETS_C := $(patsubst tests/targets/%.c,$(T)/targets/%,$(wildcard tests/targets/*.c))
TARGETS_CXX := $(patsubst tests/targets/%.cc,$(T)/targets/%,$(wildcard tests/targets/*.cc))

$(UNIT_B): $(T)/backend/%: tests/unit/backend/%.c $(B)/libmemtop.a tests/check.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(SAN) -Ibackend -Itests -o $@ $< $(B)/libmemtop.a $(BACKEND_LIBS)

$(UNIT_A): $(T)/agent/%: tests/unit/agent/%.c $(B)/libmemtop-agent.a tests/check.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -fno-builtin -Iagent -Itests -o $@ $< $(B)/libmemtop-agent.a -lpthread -ldl -lunwind

$(UNIT_T): $(T)/tui/%: tests/unit/tui/%.c $(B)/memtop tests/check.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(SAN) -Ibackend -Itui -Itests -o $@ $< $(filter-out %/main.o,$(TUI_OBJ)) $(B)/libmemtop.a $(TUI_LIBS) $(BACKEND_LIBS)

# Programs with known allocations: nothing may be optimised away.
$(TARGETS_C): $(T)/targets/%: tests/targets/%.c
	@mkdir -p $(@D)
	$(CC) $(CSTD) -O1 -g -fno-builtin -Iinclude -Itests -o $@ $< -lpthread -ldl

$(TARGETS_CXX): $(T)/targets/%: tests/targets/%.cc
	@mkdir -p $(@D)
	g++ -std=c++17 -O2 -g -Itests -o $@ $< -lpthread -ldl

# Libraries that s_owners loads: libs/NAME.cc is libNAME.so beside it.
TARGET_LIBS := $(patsubst tests/targets/libs/%.cc,$(T)/targets/lib%.so,$(wildcard tests/targets/libs/*.cc))
$(TARGET_LIBS): $(T)/targets/lib%.so: tests/targets/libs/%.cc tests/targets/libs/owns.h
	@mkdir -p $(@D)
	g++ -std=c++17 -O2 -g -fno-builtin -fPIC -shared -o $@ $<

# Preloaded libraries that the scripts of tests/lib use.
PRELOADS := $(patsubst tests/lib/%.c,$(T)/lib/%.so,$(wildcard tests/lib/*.c))
$(PRELOADS): $(T)/lib/%.so: tests/lib/%.c
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) -O1 -g -fPIC -fno-builtin -fexceptions -ftls-model=initial-exec -shared -o $@ $< -ldl

# The decoder, the model, the queries and the session reader under sanitizers, in one piece.
FUZZ_SRC := tests/fuzz/wire.c $(wildcard backend/model*.c backend/query*.c backend/session_*.c) \
	$(addprefix backend/,wire_read.c series.c idmap.c map.c base.c names.c owner.c wrappers.c report_words.c)
$(T)/fuzz/wire: $(FUZZ_SRC) $(wildcard backend/*.h) include/memtop/wire.h
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -Iinclude -Ibackend \
		-o $@ $(FUZZ_SRC) -lzstd

test-programs: $(T)/fuzz/wire $(UNIT_B) $(UNIT_A) $(UNIT_T) $(TARGETS_C) $(TARGETS_CXX) $(TARGET_LIBS) $(PRELOADS)

test-deps:
	@tests/deps.sh --if-missing $(BUILD_DEPS) $(TEST_DEPS)

# The one command: installs what is missing, builds with warnings as errors, runs everything.
check: test-deps
	@$(MAKE) --no-print-directory WERROR=1 all test-programs
	@tests/run.sh $(B)

# The same with the slow programs, twice as many runs of each, and the fuzzers' long lists.
check-long: test-deps
	@$(MAKE) --no-print-directory WERROR=1 all test-programs
	@LONG=1 TEST_TIMEOUT=3600 tests/run.sh $(B)

check-unit check-run check-tui: check-%: all test-programs
	@tests/run.sh $(B) $*

-include $(wildcard $(T)/*/*.d)

.PHONY: check check-long check-unit check-run check-tui test-programs test-deps
