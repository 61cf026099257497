# lineburn: which source lines burn CPU.
#
# Knobs (make VAR=value):
#   CC CLANG BPFTOOL PREFIX DESTDIR ARCH   as usual; ARCH: x86_64 or arm64
#   DEBUG=1       no optimisation, assertions
#   DEVELOPER=1   warnings are errors
#   SAN=address,undefined   sanitizers, in a build folder of their own
#   RUNTIMES=DIR  with the runtimes of DIR (DIR/rows.h for src/decode/runtimes.h, DIR/*.c), in a
#                 build folder of their own
#   V=1           print the commands
# Targets: make help

# The first of several programs that there is.
first_of   = $(firstword $(foreach p,$(1),$(shell command -v $(p) 2>/dev/null)) $(lastword $(1)))

CC        ?= gcc
CLANG     ?= $(call first_of,clang-14 clang-19 clang)
BPFTOOL   ?= $(call first_of,bpftool /usr/sbin/bpftool)
CLANG_FORMAT ?= $(call first_of,clang-format-14 clang-format-19 clang-format)
CLANG_TIDY ?= $(call first_of,clang-tidy-14 clang-tidy-19 clang-tidy)
PROTOC_C  ?= protoc-c
PREFIX    ?= /usr/local
ARCH      ?= $(patsubst aarch64,arm64,$(shell uname -m))
VERSION   := 0.1.0

comma     := ,
BUILD     := build$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(DEBUG),-debug)$(if $(RUNTIMES),-$(notdir $(RUNTIMES)))
GEN       := $(BUILD)/gen

Q         := $(if $(V),,@)
say        = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2);)

PKGS      := libbpf libelf libdw libprotobuf-c zlib jansson liblzma nettle capstone
CPPFLAGS  += -D_GNU_SOURCE -Isrc -Iinclude -I$(GEN) -DLINEBURN_VERSION='"$(VERSION)"'
CPPFLAGS  += $(if $(RUNTIMES),-I$(RUNTIMES) -DMORE_RUNTIMES='"rows.h"')
CFLAGS    += -std=gnu11 -g $(if $(DEBUG),-O0,-O2) -Wall -Wextra -Wshadow -Wstrict-prototypes \
	     -Wmissing-prototypes -Wvla -fno-strict-aliasing $(if $(DEVELOPER),-Werror) \
	     $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
CFLAGS    += $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
CFLAGS    += $(if $(or $(DEBUG),$(SAN)),,-D_FORTIFY_SOURCE=2) -fstack-protector-strong -fPIE
LDFLAGS   += -pie -Wl,-z,relro,-z,now $(if $(SAN),-fsanitize=$(SAN))
LDLIBS    += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -liberty -ldl -lm -pthread

BPF_CFLAGS := -g -O2 -target bpf -mcpu=v2 -D__TARGET_ARCH_$(patsubst x86_64,x86,$(ARCH)) \
	      -Iinclude -Ivmlinux/$(ARCH) -Ibpf -Wall -Wextra -Wno-unused-parameter

PROTOS    := $(wildcard src/profile/*.proto)
PROTO_C   := $(PROTOS:src/profile/%.proto=$(GEN)/%.pb-c.c)
SKELS     := $(patsubst bpf/%.bpf.c,$(GEN)/%.skel.h,$(wildcard bpf/*.bpf.c))
SRCS      := $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c) $(if $(RUNTIMES),$(wildcard $(RUNTIMES)/*.c)))
LIB_OBJS  := $(patsubst %.c,$(BUILD)/%.o,$(filter-out src/main.c,$(SRCS))) \
	     $(PROTO_C:%.c=%.o)
LIB       := $(BUILD)/liblineburn.a
BIN       := $(if $(SAN)$(DEBUG)$(RUNTIMES),$(BUILD)/,)lineburn

UNIT_SRCS := $(sort $(wildcard tests/unit/*/*.c tests/unit/*/*/*.c))
UNIT_BINS := $(UNIT_SRCS:%.c=$(BUILD)/%)
FUZZ_SRCS := $(sort $(wildcard tests/fuzz/*.c))
FUZZ_BINS := $(FUZZ_SRCS:%.c=$(BUILD)/%)
FUZZ_LIB  := $(BUILD)/fuzz/liblineburn.a
FUZZ_OBJS := $(patsubst $(BUILD)/%,$(BUILD)/fuzz/%,$(LIB_OBJS))

all: $(BIN)

help:
	@echo 'make                build ./lineburn'
	@echo 'make check          unit (golden output too) and CLI tests (no root)'
	@echo 'make check-root     tests that sample real programs (root)'
	@echo 'make stats          statistics with narrow bounds, before an issue is resolved (root, quiet machine, 15 minutes)'
	@echo 'make check-kernels  lineburn in older and newer kernels, booted by qemu (network, minutes)'
	@echo 'make check-python   the hook in Pythons with and without Numba (minutes)'
	@echo 'make unit|cli       one kind of them'
	@echo 'make fuzz           every fuzz target over its corpus, then FUZZ_SECONDS each (default 10), or FUZZ_RUNS'
	@echo 'make bench          figures for docs/benchmarks.md (root, minutes)'
	@echo 'make soak           memory and descriptors over WINDOWS=600 windows of a second (root, 10 minutes)'
	@echo 'make lint           include table, format, clang-tidy, shellcheck'
	@echo 'make fmt            format the sources'
	@echo 'make golden-update  accept the output as it is now'
	@echo 'make try-debian     check.sh on a new minimal Debian, SUITE=trixie (root, minutes)'
	@echo 'make install        to PREFIX ($(PREFIX)), under DESTDIR'
	@echo 'make compile_commands.json'
	@echo 'make clean          what was built; distclean: Python environments and kernels too'

$(BIN): $(BUILD)/src/main.o $(LIB)
	$(call say,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIB): $(LIB_OBJS)
$(FUZZ_LIB): $(FUZZ_OBJS)
$(LIB) $(FUZZ_LIB):
	$(call say,AR,$@)rm -f $@ && ar rcs $@ $^

$(BUILD)/%.o: %.c | $(SKELS) $(PROTO_C)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Generated code is not held to our warnings.
$(GEN)/%.pb-c.o: $(GEN)/%.pb-c.c
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -w -c -o $@ $<

$(GEN)/%.pb-c.h: $(GEN)/%.pb-c.c ;
$(GEN)/%.pb-c.c: src/profile/%.proto
	@mkdir -p $(@D)
	$(call say,PROTO,$@)$(PROTOC_C) --proto_path=src/profile --c_out=$(GEN) $<

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h bpf/*/*.h include/*.h) $(wildcard vmlinux/$(ARCH)/*.h)
	@mkdir -p $(@D)
	$(call say,BPF,$@)$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(GEN)/%.skel.h: $(BUILD)/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(call say,SKEL,$@)$(BPFTOOL) gen skeleton $< name $*_bpf > $@.tmp && mv $@.tmp $@

$(BUILD)/tests/unit/%: tests/unit/%.c $(LIB)
	@mkdir -p $(@D)
	$(call say,TEST,$@)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(LIB) -lcmocka $(LDLIBS)

$(BUILD)/tests/bench/%: tests/bench/%.c $(LIB)
	@mkdir -p $(@D)
	$(call say,BENCH,$@)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(LIB) $(LDLIBS)

# Fuzz targets are built by clang, with a library of their own.
FUZZ_CFLAGS := -std=gnu11 -g -O1 -fsanitize=fuzzer-no-link,address,undefined \
	       -fno-sanitize-recover=undefined
$(BUILD)/fuzz/src/%.o: src/%.c | $(SKELS) $(PROTO_C)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CLANG) $(CPPFLAGS) $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/fuzz/gen/%.o: $(GEN)/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CLANG) $(CPPFLAGS) $(FUZZ_CFLAGS) -w -c -o $@ $<

$(BUILD)/tests/fuzz/%: tests/fuzz/%.c $(FUZZ_LIB)
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)$(CLANG) $(CPPFLAGS) $(FUZZ_CFLAGS) -fsanitize=fuzzer -MMD -MP -o $@ $< \
		$(FUZZ_LIB) $(LDLIBS)

unit: $(UNIT_BINS)
	@tests/run-unit.sh $(UNIT_BINS)
golden-update: $(addprefix $(BUILD)/tests/unit/render/,golden asm stacks groups)
	@for test in $^; do LB_GOLDEN_UPDATE=1 $$test || exit 1; done
cli: $(BIN)
	@tests/cli/run.sh ./$(BIN)
check: unit cli
check-root: $(BIN)
	@tests/root/run.sh ./$(BIN)
stats: $(BIN)
	@tests/stats/run.sh ./$(BIN)
check-kernels: $(BIN) $(addprefix $(BUILD)/tests/unit/collect/,unwind jit_probe)
	@tests/kernels/run.sh ./$(BIN) $(BUILD)/tests/unit/collect
check-python: $(BIN)
	@tests/python/run.sh ./$(BIN)
fuzz: $(FUZZ_BINS)
	@tests/fuzz/run.sh $(FUZZ_BINS)
try-debian:
	tools/try-debian.sh $(or $(SUITE),trixie)
bench: $(BIN)
	@tests/bench/run.sh ./$(BIN)
soak: $(BIN)
	@tests/bench/windows.sh ./$(BIN) $(WINDOWS)

FORMAT_FILES = $(shell git ls-files '*.c' '*.h' ':!vmlinux' ':!tests/workloads' ':!tests/fixtures')
fmt:
	$(Q)$(CLANG_FORMAT) -i $(FORMAT_FILES)
lint: compile_commands.json
	@CLANG_FORMAT=$(CLANG_FORMAT) CLANG_TIDY=$(CLANG_TIDY) tools/lint.sh

compile_commands.json: Makefile $(SRCS) | $(SKELS) $(PROTO_C)
	$(Q){ echo '['; sep=; for f in $(SRCS); do \
		printf '%s{"directory":"%s","file":"%s","arguments":["$(CC)"' "$$sep" "$(CURDIR)" "$$f"; \
		for a in $(subst ',,$(subst ",\\\",$(CPPFLAGS))) $(CFLAGS) -c; do printf ',"%s"' "$$a"; done; \
		printf ',"%s"]}\n' "$$f"; sep=,; done; echo ']'; } > $@

install: $(BIN)
	install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/lineburn
	install -d $(DESTDIR)$(PREFIX)/share/lineburn/python/startup \
		$(DESTDIR)$(PREFIX)/share/lineburn/python/lineburn_hook
	install -m 644 python/startup/*.py $(DESTDIR)$(PREFIX)/share/lineburn/python/startup
	install -m 644 python/lineburn_hook/*.py \
		$(DESTDIR)$(PREFIX)/share/lineburn/python/lineburn_hook
	install -D -m 644 docs/lineburn.1 $(DESTDIR)$(PREFIX)/share/man/man1/lineburn.1

# Not the Python environments of tools/venv.sh, and the kernels of tests/kernels, which come
# over the network.
clean:
	rm -rf build-* lineburn compile_commands.json
	find build -mindepth 1 -maxdepth 1 ! -name venv ! -name kernels -exec rm -rf {} + 2>/dev/null || true
distclean: clean
	rm -rf build

-include $(LIB_OBJS:.o=.d) $(BUILD)/src/main.d $(UNIT_BINS:=.d) $(FUZZ_OBJS:.o=.d) $(FUZZ_BINS:=.d)

.PHONY: all help unit golden-update cli check check-root stats check-kernels check-python fuzz bench soak try-debian fmt lint install clean distclean
.SECONDARY:
