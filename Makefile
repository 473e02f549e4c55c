# memtop: one non-recursive Makefile; sources are found by wildcard, objects lie under build/.
#
#   make            the program and its agent          make check      everything, ends with totals
#   make demo       a live view on a leaking program   make install    PREFIX=/usr/local DESTDIR=
#   make help       all targets
#
# Variants: DEBUG=1 (no optimisation), ASAN=1 (address and undefined), TSAN=1 (threads, which then do all they can), WERROR=1. V=1 shows the commands.

PREFIX ?= /usr/local
DESTDIR ?=
ifeq ($(origin CC),default)
CC := gcc
endif
# The release: this line, and no other one.
VERSION := 0.2.0

VARIANT := $(if $(DEBUG),debug,release)$(if $(ASAN),-asan,)$(if $(TSAN),-tsan,)
B ?= build/$(VARIANT)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla $(if $(WERROR),-Werror,)
CSTD := -std=c11 -D_GNU_SOURCE
OPT := $(if $(DEBUG),-O0,-O2) -g
comma := ,
SAN := $(if $(ASAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined,)$(if $(TSAN),-fsanitize=thread -DWORKER_LONG_NS=1u,)
CFLAGS_ALL = $(CSTD) $(WARN) $(OPT) -MMD -MP -Iinclude $(CPPFLAGS) $(CFLAGS)

# The agent is a guest in other people's processes: libc only, nothing exported but what agent/modules/names.h lists.
AGENT_CFLAGS = $(CFLAGS_ALL) -Iagent -fPIC -fvisibility=hidden -fno-builtin-malloc \
	-fno-builtin-free -fno-builtin-calloc -fno-builtin-realloc -fno-omit-frame-pointer -fno-stack-protector \
	-fexceptions -fasynchronous-unwind-tables -fno-plt $(AGENT_OWN)
# Whatever CFLAGS say: objcopy renames what is in its objects; it calls no checked forms of functions; its times are pairs
# of long, as the kernel's plain calls take them.
AGENT_OWN := -fno-lto -U_FORTIFY_SOURCE -U_TIME_BITS -U_FILE_OFFSET_BITS
AGENT_MAP = $(B)/agent.map
# Without the compiler's own start of a library, which calls functions of the C library.
AGENT_LDFLAGS = -shared -nostartfiles -static-libgcc -Wl,-z,defs -Wl,--version-script=$(AGENT_MAP) -Wl,-z,now -Wl,-z,nodelete -Wl,-soname,libmemtop-agent.so
# It takes no symbol of it, but shall be started after it.
NEEDS_LIBC := -Wl,--no-as-needed -lc

AGENT_SRC := $(filter-out agent/linked/% agent/loaded/%,$(wildcard agent/*/*.c))
# Only where the loader would bind what the agent calls: base/libc.h.
LOADED_SRC := $(wildcard agent/loaded/*.c)
BACKEND_SRC := $(filter-out backend/attach/standalone/%,$(wildcard backend/*/*.c backend/*/*/*.c))
TUI_SRC := $(wildcard tui/*/*.c tui/*/*/*.c)
AGENT_OBJ := $(AGENT_SRC:%.c=$(B)/%.o)
LOADED_OBJ := $(LOADED_SRC:%.c=$(B)/%.o)
BACKEND_OBJ := $(BACKEND_SRC:%.c=$(B)/%.o)
TUI_OBJ := $(TUI_SRC:%.c=$(B)/%.o)

BACKEND_LIBS := -levent -ldw -lelf -lzstd -lz -liberty -ljansson -lpthread -ldl -lutil
TUI_LIBS := -lncursesw -ltinfo -lm

# The build's own mark: the commit, which git archive writes into a tarball; "" for a release's own tag, and where nothing
# is known. MARK=WORD is another one. Also in the repository of another user: make runs what that one wrote anyway.
ifndef MARK
MARK := $(if $(wildcard .git),$(shell GIT_OPTIONAL_LOCKS=0 git -c safe.directory='*' --git-dir=.git --work-tree=. describe \
	--tags --match v$(VERSION) --always --dirty --abbrev=8 2>/dev/null),$(shell sed -n 's/.*Commit \([0-9a-f]*\)$$/\1/p' .gitattributes 2>/dev/null))
MARK := $(patsubst -%,%,$(patsubst v$(VERSION)%,%,$(MARK)))
endif

# Two files alone know what the build is called and where it goes. Whatever carries that is linked again when it changes.
$(B)/build-says: says = $(VERSION)$(addprefix +,$(MARK)) $(PREFIX)
$(B)/build-says: FORCE
	+@mkdir -p $(@D); echo '$(says)' | cmp -s - $@ || echo '$(says)' >$@

%/base/version.o %/base/build.o: CFLAGS_ALL += -DMEMTOP_VERSION='"$(VERSION)$(addprefix +,$(MARK))"' -DMEMTOP_PREFIX='"$(PREFIX)"'
$(B)/agent/base/version.o $(B)/backend/base/build.o: $(B)/build-says

# A build prints a short line a file; V=1 shows the commands.
say = $(if $(V),,@printf '%-5s %s\n' '$(1)' '$(@:build/release/%=%)' && )

TO_LINK_IN := libmemtop-agent.a libmemtop-wrap.a wrap.flags wrap-jemalloc.flags
all: $(B)/memtop $(B)/libmemtop-agent.so $(TO_LINK_IN:%=$(B)/%) $(B)/libmemtop.a

ifeq ($(wildcard $(AGENT_SRC)),)
$(error sources are missing)
endif

$(AGENT_OBJ) $(LOADED_OBJ): $(B)/agent/%.o: agent/%.c | have-libs
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(AGENT_CFLAGS) -c -o $@ $<

# glibc's handlers of cancellation then do without the unwinder that libgcc would bring along.
$(B)/agent/process/spawn.o: AGENT_CFLAGS += -fno-exceptions

# The path of every event ends in tail calls and has no use for a frame. See agent/hooks/caller.h for rbp.
FIXED_RBP := $(shell $(CC) -m64 -ffixed-rbp -fsyntax-only -x c /dev/null 2>/dev/null && echo -fomit-frame-pointer \
	-ffixed-rbp -DMT_FIXED_RBP)
$(foreach libc,agent musl,$(addprefix $(B)/$(libc)/record/,record.o record_stack.o book.o)): AGENT_CFLAGS += -fomit-frame-pointer
$(B)/agent/hooks/malloc.o $(B)/agent/hooks/cxx.o: AGENT_CFLAGS += $(FIXED_RBP)
# A walk's registers stay registers: no pairs of them in vectors.
$(B)/agent/unwind/incremental.o $(B)/musl/unwind/incremental.o: AGENT_CFLAGS += -fno-tree-slp-vectorize -fomit-frame-pointer

# The numbers of a slot, likewise.
$(B)/backend/heap/heap.o $(B)/backend/heap/rates.o: CFLAGS_ALL += -fno-tree-vectorize
$(BACKEND_OBJ): $(B)/backend/%.o: backend/%.c | have-libs
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CFLAGS_ALL) $(SAN) -Ibackend -c -o $@ $<

# The html report's page: its sources as strings of C, and the hashes that its policy asks for, in base64.
PAGE := backend/report/html/page
PAGE_SCRIPT := $(foreach part,data curve flame tree tables main,$(PAGE)/$(part).js)
to_string = sed -e 's/[\\"?]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/'
to_hash = sha256sum | awk '{ digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"; hex = substr($$1, 1, 64) "00"; \
	for (i = 1; i < 66; i += 3) { n = 0; for (k = 0; k < 3; k++) n = n * 16 + index("0123456789abcdef", substr(hex, i + k, 1)) - 1; \
	out = out substr(digits, int(n / 64) + 1, 1) substr(digits, n % 64 + 1, 1) } print substr(out, 1, 43) "=" }'
page_part = echo 'static const char $(1)[] =' && cat $(2) | $(to_string) && echo ';'
$(B)/$(PAGE)/html_parts.h: $(wildcard $(PAGE)/*) Makefile
	@mkdir -p $(@D)
	@(for part in STYLE:$(PAGE)/style.css DARK:$(PAGE)/dark.css; do \
		echo "#define HTML_$${part%%:*}_HASH \"sha256-$$(cat $${part#*:} | $(to_hash))\""; done && \
	echo "#define HTML_SCRIPT_HASH \"sha256-$$(cat $(PAGE_SCRIPT) | $(to_hash))\"" && \
	$(call page_part,html_style,$(PAGE)/style.css) && $(call page_part,html_dark,$(PAGE)/dark.css) && \
	$(call page_part,html_body,$(PAGE)/body.html) && $(call page_part,html_script,$(PAGE_SCRIPT))) >$@

$(B)/backend/report/html/page.o: $(B)/$(PAGE)/html_parts.h
$(B)/backend/report/html/page.o: CFLAGS_ALL += -I$(B)/$(PAGE)

$(TUI_OBJ): $(B)/tui/%.o: tui/%.c | have-libs
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CFLAGS_ALL) $(SAN) -Ibackend -Itui -c -o $@ $<

# The rows of the table as words, HOW_NAME, in one run of the compiler's preprocessor, which knows C++'s name of size_t.
$(B)/hooked: agent/modules/names.h Makefile
	@mkdir -p $(@D)
	@printf '#include "modules/names.h"\nHOOKED(NAMES_LIST)\n' | $(CC) $(CPPFLAGS) $(CFLAGS) -E -P -x c -Iagent - >$@.new && mv $@.new $@

hooked = $(shell cat $(B)/hooked 2>/dev/null)
hooked_as = $(foreach how,$(1),$(patsubst $(how)_%,%,$(filter $(how)_%,$(hooked))))

# What the agent exports. One anonymous version node: a named one would not bind references to malloc@GLIBC_2.2.5.
# -finstrument-functions calls __cyg_*, a JVM JNI_OnLoad (hooks/attach.c).
EXPORTED = $(call hooked_as,HOOK WRAP REAL LEFT JEMALLOC OPERATOR) __cyg_profile_func_enter __cyg_profile_func_exit memtop_* JNI_OnLoad
$(AGENT_MAP): $(B)/hooked
	@printf '%s\n' '{' 'global:' $(EXPORTED:%='	%;') 'local:' '	*;' '};' >$@

$(B)/libmemtop-agent.so: $(AGENT_OBJ) $(LOADED_OBJ) $(AGENT_MAP)
	$(call say,LINK)$(CC) $(AGENT_LDFLAGS) $(LDFLAGS) -o $@ $(AGENT_OBJ) $(LOADED_OBJ) $(NEEDS_LIBC)

# The agent as a part of a program: one object, of which a program takes all or nothing, and whose inner names are
# nobody else's. libmemtop-agent.a brings a malloc that comes before the C library's; of libmemtop-wrap.a every hook
# is called __wrap_NAME, and wrap.flags tells the linker to lead there (agent/linked/). Without jemalloc_names.c: names that
# must not be found.
LINKED_OBJ := $(B)/agent/linked/note.o $(B)/agent/linked/libc.o $(B)/agent/linked/reals.o
WRAPPED = $(call hooked_as,HOOK WRAP REAL)
JEMALLOC = $(call hooked_as,JEMALLOC)
OPERATORS = $(call hooked_as,OPERATOR)
space := $(subst ,, )
OBJCOPY ?= objcopy

$(LINKED_OBJ) $(B)/agent/linked/reals_cxx.o: $(B)/agent/linked/%.o: agent/linked/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(AGENT_CFLAGS) -c -o $@ $<

# All of it in one object, changed as said.
define one_object
@rm -f $@ $@.o
$(call say,LINK)$(1) -r -nostdlib -o $@.o $(filter-out %/jemalloc_names.o %/reals_cxx.o,$(filter %.o,$^))
$(if $(V),,@)$(OBJCOPY) $(2) --localize-hidden $@.o
$(if $(V),,@)ar rcs $@ $@.o $(filter %/reals_cxx.o,$^)
endef

# What a program may define itself, too.
TO_LINK = $(foreach name,$(OPERATORS) __cyg_profile_func_enter __cyg_profile_func_exit JNI_OnLoad,--weaken-symbol $(name))
$(B)/libmemtop-agent.a: $(AGENT_OBJ) $(B)/agent/linked/note.o $(B)/agent/linked/libc.o $(B)/hooked
	$(call one_object,$(CC),$(TO_LINK))

TO_WRAP = $(foreach name,$(WRAPPED),--redefine-sym $(name)=__wrap_$(name)) \
	$(foreach name,$(JEMALLOC),--redefine-sym mt_hooks_$(name)=__wrap_$(name)) \
	$(foreach name,$(OPERATORS),--redefine-sym $(name)=mt_wrapped_$(name)) \
	$(foreach name,JNI_OnLoad $(call hooked_as,LEFT),--localize-symbol $(name)) \
	$(foreach name,__cyg_profile_func_enter __cyg_profile_func_exit,--weaken-symbol $(name))
$(B)/libmemtop-wrap.a: $(AGENT_OBJ) $(LINKED_OBJ) $(B)/agent/linked/reals_cxx.o $(B)/hooked
	$(call one_object,$(CC),$(TO_WRAP))

# Jemalloc's own functions apart: they would seem to exist where it is not.
wraps = -Wl$(subst $(space),,$(foreach name,$(1),$(comma)--wrap=$(name)))
$(B)/wrap.flags: $(B)/hooked Makefile
	@mkdir -p $(@D)
	@printf '%s\n' -Wl,--eh-frame-hdr -Wl,-u,__wrap_malloc $(call wraps,$(WRAPPED) $(OPERATORS)) >$@

$(B)/wrap-jemalloc.flags: $(B)/wrap.flags
	@(cat $< && echo $(call wraps,$(JEMALLOC))) >$@

# The same by its files, for tests and benchmarks of what is inside.
$(B)/agent/inner.a: $(AGENT_OBJ) $(B)/agent/linked/libc.o
	$(call say,AR)rm -f $@ && ar qcs $@ $(filter-out %/jemalloc_names.o,$^) # q: folders have files of one name

# The agent for programs of musl: the same sources; its compiler, a script around gcc, does not bring the kernel's headers.
MUSL_CC := $(if $(findstring clang,$(CC))$(word 2,$(CC)),,REALGCC=$(CC) )musl-gcc -idirafter /usr/include -idirafter /usr/include/$(shell $(CC) -print-multiarch 2>/dev/null)
# Thread-local storage by descriptors: what musl's dlopen takes, for memtop attach.
MUSL_CC += $(if $(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null)),-mtls-dialect=gnu2)
MUSL_OBJ := $(AGENT_SRC:agent/%.c=$(B)/musl/%.o)
MUSL_LOADED_OBJ := $(LOADED_SRC:agent/%.c=$(B)/musl/%.o)
$(B)/musl/base/version.o: $(B)/build-says
$(MUSL_OBJ) $(MUSL_LOADED_OBJ): $(B)/musl/%.o: agent/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(MUSL_CC) $(AGENT_CFLAGS) -c -o $@ $<

$(B)/musl/libmemtop-agent.so: $(MUSL_OBJ) $(MUSL_LOADED_OBJ) $(AGENT_MAP)
	$(call say,LINK)$(MUSL_CC) $(AGENT_LDFLAGS) $(LDFLAGS) -o $@ $(MUSL_OBJ) $(MUSL_LOADED_OBJ) $(NEEDS_LIBC)

MUSL_LINKED_OBJ := $(LINKED_OBJ:$(B)/agent/%=$(B)/musl/%) $(B)/musl/linked/reals_cxx.o
$(MUSL_LINKED_OBJ): $(B)/musl/linked/%.o: agent/linked/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(MUSL_CC) $(AGENT_CFLAGS) -c -o $@ $<

$(B)/musl/libmemtop-wrap.a: $(MUSL_OBJ) $(MUSL_LINKED_OBJ) $(B)/hooked
	$(call one_object,$(MUSL_CC),$(TO_WRAP))

musl:
	@tests/deps.sh --if-missing musl-tools
	@$(MAKE) --no-print-directory $(B)/musl/libmemtop-agent.so $(B)/musl/libmemtop-wrap.a

# The agent for other machines: Debian's cross compilers, or CROSS=PREFIX-. In $(B)/arm64, $(B)/armhf.
CROSS_arm64 := aarch64-linux-gnu-
CROSS_armhf := arm-linux-gnueabihf-
CROSS_DEPS_arm64 := gcc-aarch64-linux-gnu libc6-dev-arm64-cross
CROSS_DEPS_armhf := gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
arm64 armhf:
	@$(if $(CROSS),,tests/deps.sh --if-missing $(CROSS_DEPS_$@))
	@$(MAKE) --no-print-directory B=$(B)/$@ CC=$(or $(CROSS),$(CROSS_$@))gcc \
		OBJCOPY=$(or $(CROSS),$(CROSS_$@))objcopy $(addprefix $(B)/$@/,libmemtop-agent.so $(TO_LINK_IN))

# memtop itself for arm64, with Debian's libraries of that machine in a folder of their own.
$(B)/arm64-root: tests/foreign-root.sh
	@tests/foreign-root.sh arm64 $@ $(filter-out gcc pkg-config,$(BUILD_DEPS))

arm64-memtop: $(B)/arm64-root
	@tests/deps.sh --if-missing $(CROSS_DEPS_arm64)
	@$(MAKE) --no-print-directory B=$(B)/arm64-memtop CC="$(CROSS_arm64)gcc --sysroot=$(abspath $(B)/arm64-root)" \
		$(B)/arm64-memtop/memtop

# What a test of a part links: it is built again for a change of the code, not of the mark.
BACKEND_CODE := $(filter-out %/base/build.o,$(BACKEND_OBJ)) | $(B)/libmemtop.a
AGENT_CODE := $(filter-out %/base/version.o,$(AGENT_OBJ)) $(B)/agent/linked/libc.o | $(B)/agent/inner.a

$(B)/libmemtop.a: $(BACKEND_OBJ)
	$(call say,AR)rm -f $@ && ar qcs $@ $(BACKEND_OBJ)

$(B)/memtop: $(TUI_OBJ) $(B)/libmemtop.a
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $(SAN) -o $@ $(TUI_OBJ) $(B)/libmemtop.a $(TUI_LIBS) $(BACKEND_LIBS)

-include tests/tests.mk
-include packaging/packaging.mk
-include tests/demo/demo.mk
-include tests/android/android.mk
-include backend/attach/standalone/standalone.mk
-include $(AGENT_OBJ:.o=.d) $(LOADED_OBJ:.o=.d) $(LINKED_OBJ:.o=.d) $(BACKEND_OBJ:.o=.d) $(TUI_OBJ:.o=.d) $(MUSL_OBJ:.o=.d)

# --- what a fresh machine lacks

BUILD_DEPS := gcc libc6-dev libncurses-dev libunwind-dev libdw-dev libelf-dev libevent-dev libzstd-dev \
	zlib1g-dev libiberty-dev libjansson-dev pkg-config

deps:
	@tests/deps.sh $(BUILD_DEPS)

have-libs:
	@tests/deps.sh --say $(BUILD_DEPS)

build-deps:
	@tests/deps.sh --if-missing $(BUILD_DEPS)

# --- which folder uses which: tests/layers.txt

layers: $(AGENT_OBJ) $(BACKEND_OBJ) $(TUI_OBJ)
	@tests/layers.py $(B) --graph

# What `make install` puts below PREFIX and `make uninstall` removes: mode:folder:file. Files that were not built are left out.
put = $(foreach file,$(3),$(1):$(2):$(file))
INSTALLED = $(call put,755,bin,$(B)/memtop) \
	$(foreach of,. musl arm64 armhf $(ANDROID_ABIS:%=android/%), \
		$(call put,755,lib/memtop/$(of),$(B)/$(of)/libmemtop-agent.so) \
		$(call put,644,lib/memtop/$(of),$(TO_LINK_IN:%=$(B)/$(of)/%))) \
	$(foreach abi,$(ATTACH_ABIS),$(call put,755,lib/memtop/android/$(abi),$(B)/android/$(abi)/memtop-attach)) \
	$(call put,644,share/memtop/themes,$(wildcard themes/*.theme)) \
	$(call put,644,share/memtop/serve,$(wildcard backend/serve/examples/*)) \
	$(call put,644,share/memtop,backend/report/json/report.schema.json) \
	$(call put,644,share/man/man1,$(wildcard tui/man/*.1)) $(call put,644,share/man/man7,$(wildcard tui/man/*.7)) \
	$(call put,644,share/bash-completion/completions,tui/completions/memtop) \
	$(call put,644,share/zsh/site-functions,tui/completions/_memtop) \
	$(call put,644,share/fish/vendor_completions.d,tui/completions/memtop.fish) \
	$(call put,644,include/memtop,$(wildcard include/memtop/*.h)) $(call put,644,lib/pkgconfig,$(B)/memtop.pc) \
	$(call put,644,lib/cmake/memtop,packaging/memtop-config.cmake $(B)/memtop-config-version.cmake)

# By a rename, so that a program that starts meanwhile maps the old file or the new one.
install: all
	@for file in memtop.pc memtop-config-version.cmake; do \
		sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' packaging/$$file.in >$(B)/$$file || exit 1; done
	@root="$(DESTDIR)$(PREFIX)"; for item in $(INSTALLED); do \
		mode=$${item%%:*} item=$${item#*:}; file=$${item#*:} to="$$root/$${item%%:*}/$${item##*/}"; \
		test ! -e "$$file" || { install -D -m $$mode "$$file" "$$to.new$$$$" && mv -f "$$to.new$$$$" "$$to"; } || exit 1; \
	done

# Folders that other programs share, such as bin, stay.
uninstall:
	@root="$(DESTDIR)$(PREFIX)"; for item in $(INSTALLED); do \
		item=$${item#*:}; rm -f "$$root/$${item%%:*}/$${item##*/}" || exit 1; \
	done; \
	for own in lib lib/cmake share include; do \
		test ! -d "$$root/$$own/memtop" || find "$$root/$$own/memtop" -depth -type d -empty -delete || exit 1; \
	done

# The parts of memtop.1 that come from memtop's own tables: synopsis, options, keys.
man: $(B)/memtop
	$(B)/memtop --man >$(B)/man
	awk 'NR == FNR {if (/^\.\\" made/) part = $$0; else text[part] = text[part] $$0 "\n"; next} \
		/^\.\\" end/ {skip = 0} !skip {print} $$0 in text {printf "%s", text[$$0]; skip = 1}' \
		$(B)/man tui/man/memtop.1 >$(B)/memtop.1
	cp $(B)/memtop.1 tui/man/memtop.1

# By clang-format 14, Debian 12's: others differ in places. Twice, for a second pass may change what the first one broke.
FORMATTED := $(sort $(wildcard $(foreach end,h c cc,include/*/*.$(end) $(foreach part,agent backend tui tests,\
	$(foreach depth,* */* */*/* */*/*/* */*/*/*/*,$(part)/$(depth).$(end))))))

format:
	@clang-format -i $(FORMATTED)
	@clang-format -i $(FORMATTED)

formatted-list:
	@printf '%s\n' $(FORMATTED)

clean:
	rm -rf build

help:
	@sed -n 's/^#   //p' Makefile
	@echo 'make check T=NAME | check-long | check-asan | check-tsan | check-releases | layers | bench | bench-help | bench-readme | bench-unwind | bench-rows | bench-screen | bench-session | bench-heap | bench-instructions | musl | arm64 | armhf | android | arm64-memtop | deb | deps | uninstall | format | clean'

.PHONY: FORCE all musl arm64 armhf arm64-memtop deps have-libs build-deps layers install uninstall man format formatted-list clean help
.DEFAULT_GOAL := all
