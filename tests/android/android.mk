# The agent for Android, $(A)/ABI/libmemtop-agent.so: by Debian's clang and lld, with our own declarations of Android's
# libc (include/) and a list of its symbols (libc.list); with NDK=/path/to/it by that one's compiler and headers.
# What comes out is held against the list either way: gate.

A := $(B)/android
ANDROID_API := 26
ANDROID_ABIS := x86_64 arm64-v8a
ANDROID_DEPS := clang lld binutils python3 linux-libc-dev linux-libc-dev-arm64-cross
ANDROID_TRIPLE_x86_64 := x86_64-linux-android$(ANDROID_API)
ANDROID_TRIPLE_arm64-v8a := aarch64-linux-android$(ANDROID_API)
# The kernel's headers: where linux/ and asm-generic/ are, and where asm/ is.
ANDROID_KERNEL_x86_64 := /usr/include /usr/include/x86_64-linux-gnu
ANDROID_KERNEL_arm64-v8a := /usr/aarch64-linux-gnu/include /usr/aarch64-linux-gnu/include
# Else clang calls functions of its own runtime library for atomics.
ANDROID_FLAGS_arm64-v8a := -mno-outline-atomics

# Hooks that jump need -O2, whatever DEBUG says.
ANDROID_CFLAGS = $(AGENT_CFLAGS) -O2
# The map names what other libcs have, too.
ANDROID_LINK := -fuse-ld=lld -Wl,-z,max-page-size=16384 -Wl,--undefined-version
ANDROID_LDFLAGS = $(filter-out -static-libgcc,$(AGENT_LDFLAGS)) $(ANDROID_LINK) -Wl,--build-id=sha1
# Nothing that an NDK adds by itself: its start of a library brings a destructor.
ANDROID_LIBS := -nostdlib -lc -ldl
ANDROID_AGENTS := $(ANDROID_ABIS:%=$(A)/%/libmemtop-agent.so)

ifdef NDK
ANDROID_CLANG := $(firstword $(wildcard $(NDK)/toolchains/llvm/prebuilt/*/bin/clang))
$(if $(ANDROID_CLANG),,$(error memtop: NDK=$(NDK): there is no toolchains/llvm/prebuilt/*/bin/clang; give the folder of an Android NDK))
else
ANDROID_CLANG := $(if $(findstring clang,$(CC)),$(CC),clang)
endif

define android_abi
ANDROID_CC_$(1) := $(ANDROID_CLANG) --target=$(ANDROID_TRIPLE_$(1)) $(ANDROID_FLAGS_$(1))
ANDROID_OBJ_$(1) := $(patsubst agent/%.c,$(A)/$(1)/agent/%.o,$(AGENT_SRC) $(LOADED_SRC))
ifndef NDK
ANDROID_INCLUDE_$(1) := -nostdlibinc -isystem tests/android/include -isystem $(A)/$(1)/include
ANDROID_STUB_$(1) := -L$(A)/$(1)/stub
$$(ANDROID_OBJ_$(1)): $(A)/$(1)/include/system_calls.h
$(A)/$(1)/libmemtop-agent.so: $(A)/$(1)/stub/libc.so
endif

$(A)/$(1)/include/system_calls.h: tests/android/make_include
	@tests/android/make_include $$(@D) $(ANDROID_KERNEL_$(1)) clang --target=$(ANDROID_TRIPLE_$(1))

$(A)/$(1)/stub/libc.so: tests/android/make_stub tests/android/libc.list
	@tests/android/make_stub $(ANDROID_API) $$(@D) clang --target=$(ANDROID_TRIPLE_$(1))

$(A)/$(1)/agent/base/version.o: $(B)/build-says
$$(ANDROID_OBJ_$(1)): $(A)/$(1)/agent/%.o: agent/%.c
	@mkdir -p $$(@D)
	$$(call say,CC)$$(ANDROID_CC_$(1)) $$(ANDROID_INCLUDE_$(1)) $$(ANDROID_CFLAGS) -c -o $$@ $$<

$(A)/$(1)/libmemtop-agent.so: $$(ANDROID_OBJ_$(1)) $(AGENT_MAP) tests/android/gate
	$$(call say,LINK)$$(ANDROID_CC_$(1)) $$(ANDROID_LDFLAGS) $$(LDFLAGS) -o $$@ $$(ANDROID_OBJ_$(1)) $$(ANDROID_STUB_$(1)) $(ANDROID_LIBS)
	@tests/android/gate --level $(ANDROID_API) $$@ || { rm -f $$@; exit 1; }

-include $$(ANDROID_OBJ_$(1):.o=.d)
endef
$(foreach abi,$(ANDROID_ABIS),$(eval $(call android_abi,$(abi))))

# What tests/android/run has Android's libc run.
ANDROID_PROGRAMS := s_threads s_sites s_filter s_mark s_named s_paths s_phases s_stacks s_server late
ANDROID_TEST_LIBS := liblate_now.so liblate_packed.so libspace.so count_preload.so
define android_programs
$(BT)/android/$(1)/%: LINKED = $$(ANDROID_CC_$(1)) $$(ANDROID_INCLUDE_$(1)) $$(CSTD) -O1 -g -fno-builtin -fPIC -Iinclude -Itests -Itests/targets/latelibs \
	$$(ANDROID_LINK) $$(filter %.c,$$^) -o $$@ $$(ANDROID_STUB_$(1)) $(ANDROID_LIBS)
$$(ANDROID_PROGRAMS:%=$(BT)/android/$(1)/%): $(BT)/android/$(1)/%: tests/targets/%.c tests/android/crt.c tests/android/emutls.c | $(A)/$(1)/libmemtop-agent.so
	@mkdir -p $$(@D)
	$$(call say,LINK)$$(LINKED) -pie -Wl,-dynamic-linker,/system/bin/linker64

$(BT)/android/$(1)/app $(BT)/android/$(1)/tagged: $(BT)/android/$(1)/%: tests/android/%.c tests/android/crt.c | $(A)/$(1)/libmemtop-agent.so
	@mkdir -p $$(@D)
	$$(call say,LINK)$$(LINKED) -pie -Wl,-dynamic-linker,/system/bin/linker64

$(BT)/android/$(1)/liblate_now.so: tests/targets/latelibs/plain.c
$(BT)/android/$(1)/liblate_packed.so: tests/targets/latelibs/plain.c
$(BT)/android/$(1)/liblate_packed.so: PACKED := -Wl,--pack-dyn-relocs=android
$(BT)/android/$(1)/libspace.so: tests/android/space.c
$(BT)/android/$(1)/count_preload.so: tests/lib/count_preload.c tests/android/emutls.c
$$(ANDROID_TEST_LIBS:%=$(BT)/android/$(1)/%): | $(A)/$(1)/libmemtop-agent.so
	@mkdir -p $$(@D)
	$$(call say,LINK)$$(LINKED) -shared -Wl,-soname,$$(@F) $$(PACKED)

android-programs: $$(addprefix $(BT)/android/$(1)/,app tagged $(ANDROID_PROGRAMS) $(ANDROID_TEST_LIBS))
endef
test-programs: $(ANDROID_AGENTS) android-programs
$(foreach abi,$(ANDROID_ABIS),$(eval $(call android_programs,$(abi))))

android:
	@tests/deps.sh --if-missing $(if $(NDK),binutils python3,$(ANDROID_DEPS))
	@$(MAKE) --no-print-directory $(ANDROID_AGENTS)

.PHONY: android android-programs
