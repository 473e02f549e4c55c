# The program that `make demo` watches, and the demonstration itself.

D := $(B)/demo
DEMO_CFLAGS := $(CSTD) -O2 -g -Wall -Wextra -Wshadow -Wstrict-prototypes
DEMO_LIB := tests/demo/tile.c tests/demo/vertex.c tests/demo/draw.c
DEMO_MAIN := tests/demo/mapd.c tests/demo/cache.c tests/demo/log.c
DEMO_HEADERS := $(wildcard tests/demo/*.h)

$(D)/libtile.so.2: $(DEMO_LIB) $(DEMO_HEADERS)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(DEMO_CFLAGS) -fPIC -shared -Wl,-soname,libtile.so.2 -o $@ $(DEMO_LIB)

$(D)/mapd: $(DEMO_MAIN) $(DEMO_HEADERS) $(D)/libtile.so.2
	$(call say,LINK)$(CC) $(DEMO_CFLAGS) -o $@ $(DEMO_MAIN) $(D)/libtile.so.2 -Wl,-rpath,'$$ORIGIN' -lpthread

demo-program: $(D)/mapd

# With a terminal: the live view. Without: ten seconds under record, and the report as text.
demo: build-deps
	@$(MAKE) --no-print-directory $(JOBS) all demo-program
	@if [ -t 0 ] && [ -t 1 ]; then \
		$(B)/memtop run $(D)/mapd; \
	else \
		rm -f $(D)/demo.mtop; \
		$(B)/memtop record -o $(D)/demo.mtop -- $(D)/mapd 10 && $(B)/memtop report $(D)/demo.mtop; \
	fi

# The README's pictures, from a real terminal; looked at, then committed.
pictures: all demo-program
	BUILD=$(B) tests/demo/pictures.py

test-programs: demo-program

.PHONY: demo demo-program pictures
