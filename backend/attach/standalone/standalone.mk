# memtop-attach for Android devices, $(B)/android/ABI/memtop-attach: static, so that whatever libc it is linked with, the
# device's kernel is all that it needs. By Debian's own and cross compilers for Linux.

ATTACH_ABIS := x86_64 arm64-v8a
ATTACH_HERE := $(shell $(CC) -dumpmachine 2>/dev/null)
ATTACH_CC_x86_64 := $(if $(filter x86_64%,$(ATTACH_HERE)),$(CC),x86_64-linux-gnu-gcc)
ATTACH_CC_arm64-v8a := $(if $(filter aarch64%,$(ATTACH_HERE)),$(CC),aarch64-linux-gnu-gcc)
ATTACH_DEPS := $(if $(filter x86_64%,$(ATTACH_HERE)),,gcc-x86-64-linux-gnu libc6-dev-amd64-cross) \
	$(if $(filter aarch64%,$(ATTACH_HERE)),,gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
ATTACH_SRC := backend/attach/standalone/main.c $(wildcard backend/attach/ptrace/*.c backend/attach/*.c) $(filter-out %/dormant.c,$(wildcard backend/launch/*.c)) \
	$(patsubst %,backend/%.c,base/base base/build base/format base/sanitize base/procfs)
ATTACH_PROGRAMS := $(ATTACH_ABIS:%=$(B)/android/%/memtop-attach)

define attach_abi
ATTACH_OBJ_$(1) := $(ATTACH_SRC:%.c=$(B)/android/$(1)/attach/%.o)
$(B)/android/$(1)/attach/backend/base/build.o: $(B)/build-says
$$(ATTACH_OBJ_$(1)): $(B)/android/$(1)/attach/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC)$$(ATTACH_CC_$(1)) $$(CFLAGS_ALL) -ffunction-sections -fdata-sections -Ibackend -c -o $$@ $$<

$(B)/android/$(1)/memtop-attach: $$(ATTACH_OBJ_$(1))
	$$(call say,LINK)$$(ATTACH_CC_$(1)) $$(CFLAGS) -static -s -Wl,--gc-sections $$(LDFLAGS) -o $$@ $$^

-include $$(ATTACH_OBJ_$(1):.o=.d)
endef
$(foreach abi,$(ATTACH_ABIS),$(eval $(call attach_abi,$(abi))))

android: android-attach
test-programs: $(ATTACH_PROGRAMS)

android-attach:
	@tests/deps.sh --if-missing $(ATTACH_DEPS)
	@$(MAKE) --no-print-directory $(ATTACH_PROGRAMS)

.PHONY: android android-attach
