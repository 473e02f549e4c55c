# make deb: a Debian package for this machine's release, in build/. Its files are built apart, with Debian's flags.

deb:
	@tests/deps.sh --if-missing $(BUILD_DEPS) dpkg-dev
	@packaging/deb flags >/dev/null
	@packaging/deb flags | tr '\n' '\0' | xargs -0 $(MAKE) --no-print-directory $(JOBS) B=build/deb PREFIX=/usr all
	@packaging/deb pack build/deb build

# Hours: bare roots of Debian's releases, below build/releases or $$RELEASES. SUITES="trixie sid" STEPS="demo package check".
check-releases:
	@STEPS="$(STEPS)" packaging/releases $(SUITES)

version:
	@echo $(VERSION)$(addprefix +,$(subst -,.,$(MARK)))

.PHONY: deb check-releases version
