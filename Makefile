# lineburn: which source lines burn CPU.
#
# Knobs (make VAR=value):
#   CC CLANG BPFTOOL PREFIX DESTDIR   as usual
#   ARCH=arm64    cross-compiles, in a separate build folder (tools/setup.sh cross); or x86_64
#   DEBUG=1       no optimisation, assertions
#   DEVELOPER=1   warnings are errors
#   SAN=address,undefined   sanitizers, with clang, in a separate build folder; fuzz targets
#                 link the same library
#   RUNTIMES=DIR  adds the runtimes of DIR (DIR/rows.h for src/decode/runtimes.h, DIR/*.c), in a
#                 separate build folder
#   V=1           print the commands
# Targets: make help

# The first of several programs that is installed.
first_of   = $(firstword $(foreach p,$(1),$(shell command -v $(p) 2>/dev/null)) $(lastword $(1)))

CC        ?= gcc
CLANG     ?= $(call first_of,clang-14 clang-19 clang)
BPFTOOL   ?= $(call first_of,bpftool /usr/sbin/bpftool)
CLANG_FORMAT ?= $(call first_of,clang-format-14 clang-format-19 clang-format)
CLANG_TIDY ?= $(call first_of,clang-tidy-14 clang-tidy-19 clang-tidy)
PROTOC_C  ?= protoc-c
PREFIX    ?= /usr/local
HOST_ARCH := $(patsubst aarch64,arm64,$(shell uname -m))
ARCH      ?= $(HOST_ARCH)
VERSION   := $(shell sed -n 's/^version = "\(.*\)"/\1/p' python/pyproject.toml)

comma     := ,
# tools/sysroot.sh unpacks the libraries of the other architecture there.
CROSS     := $(filter-out $(HOST_ARCH),$(ARCH))
TUPLE     := $(patsubst arm64,aarch64,$(ARCH))-linux-gnu
ifneq ($(CROSS),)
SYSROOT   := build/sysroot/$(ARCH)
CC        := $(TUPLE)-gcc
CPPFLAGS  += -isystem $(SYSROOT)/usr/include -isystem $(SYSROOT)/usr/include/$(TUPLE)
LDFLAGS   += -L$(SYSROOT)/usr/lib/$(TUPLE)
endif
# A build with RUNTIMES has its own generated files.
BASE      := build$(if $(CROSS),-$(ARCH))
BUILD     := $(BASE)$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(DEBUG),-debug)$(if $(RUNTIMES),-$(notdir $(RUNTIMES)))
GEN       := $(BASE)$(if $(RUNTIMES),-$(notdir $(RUNTIMES)))/gen

Q         := $(if $(V),,@)
say        = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2);)

PKGS      := libbpf libelf libdw libprotobuf-c zlib jansson liblzma nettle capstone ncursesw
CPPFLAGS  += -D_GNU_SOURCE -Isrc -Iinclude -I$(GEN) -DLINEBURN_VERSION='"$(VERSION)"'
CPPFLAGS  += $(if $(RUNTIMES),-I$(RUNTIMES) -DMORE_RUNTIMES='"rows.h"')
CFLAGS    += -std=gnu11 -g $(if $(DEBUG),-O0,-O2) -Wall -Wextra -Wshadow -Wstrict-prototypes \
	     -Wmissing-prototypes -Wvla -fno-strict-aliasing $(if $(DEVELOPER),-Werror) \
	     $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
# Some warnings of clang are unwanted: unused cleanup functions, missing initializers.
# The reports of sanitizers need line tables only.
ifneq ($(SAN),)
CC        := $(CLANG)
CFLAGS    += -O0 -gline-tables-only -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined -Wno-unused-function \
	     -Wno-missing-field-initializers -Wno-string-concatenation -Wno-string-plus-int
endif
CFLAGS    += $(if $(or $(DEBUG),$(SAN)),,-D_FORTIFY_SOURCE=2) -fstack-protector-strong -fPIE
LIB_CFLAGS := $(CFLAGS) $(if $(SAN),-fsanitize=fuzzer-no-link -fsanitize-coverage=trace-pc-guard)
LDFLAGS   += -pie -Wl,-z,relro,-z,now $(if $(SAN),-fsanitize=$(SAN))
LDLIBS    += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -liberty -lm -pthread

# Line tables of BPF programs are part of the binary: without the folder's name in them, a
# build elsewhere is the same.
BPF_CFLAGS := -g -O2 -ffile-prefix-map=$(CURDIR)=. -target bpf -mcpu=v2 -fstack-usage -D__TARGET_ARCH_$(patsubst x86_64,x86,$(ARCH)) \
	      -Iinclude -Ivmlinux/$(ARCH) -Ibpf -Wall -Wextra -Wno-unused-parameter

PROTOS    := $(wildcard src/profile/*.proto)
PROTO_C   := $(PROTOS:src/profile/%.proto=$(GEN)/%.pb-c.c)
SKELS     := $(patsubst bpf/%.bpf.c,$(GEN)/%.skel.h,$(wildcard bpf/*.bpf.c))
TEST_SKELS := $(patsubst tests/bpf/%.bpf.c,$(GEN)/%.skel.h,$(wildcard tests/bpf/*.bpf.c))
SRCS      := $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c) $(if $(RUNTIMES),$(wildcard $(RUNTIMES)/*.c)))
LIB_OBJS  := $(patsubst %.c,$(BUILD)/%.o,$(filter-out src/main.c,$(SRCS))) \
	     $(PROTO_C:$(GEN)/%.c=$(BUILD)/gen/%.o)
LIB       := $(BUILD)/liblineburn.a
GENERATED := $(SKELS) $(PROTO_C) $(GEN)/terminfo.h $(GEN)/built_with.h
BIN       := $(if $(SAN)$(DEBUG)$(RUNTIMES)$(CROSS),$(BUILD)/,)lineburn
STATIC    := build/static/$(ARCH)/lineburn

UNIT_SRCS := $(sort $(wildcard tests/unit/*/*.c tests/unit/*/*/*.c))
UNIT_BINS := $(UNIT_SRCS:%.c=$(BUILD)/%)
UNIT_LIB_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/lib/*.c)))
# The recorder, driven by scripts; tests/fake/ replaces the kernel and the clock.
REPLAY_SRCS := $(sort $(wildcard tests/replay/*.c))
REPLAY_BINS := $(REPLAY_SRCS:%.c=$(BUILD)/%)
FAKE_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/fake/*.c)))
FUZZ_SRCS := $(sort $(wildcard tests/fuzz/*.c))
FUZZ_BINS := $(FUZZ_SRCS:%.c=$(BUILD)/%)

all: $(BIN)

help:
	@echo 'make                build ./lineburn'
	@echo 'make static         build/static/ARCH/lineburn, which needs no libraries; ARCH=arm64 cross-compiles it'
	@echo 'make check          unit (golden output too), replay and CLI tests (no root)'
	@echo 'make check-root     tests that sample real programs (root)'
	@echo 'make stats          statistics with narrow bounds, before an issue is resolved (root, quiet machine, 15 minutes)'
	@echo 'make check-kernels  lineburn in older and newer kernels, booted by qemu (network, minutes)'
	@echo 'make check-python   the Python package; the hook in Pythons with and without Numba (a minute)'
	@echo 'make nightly        statistics, soak, kernels, long fuzzing, whole clang-tidy, more runtimes (root, hours)'
	@echo 'make loaded         the root layers beside stress, with 1.5 CPUs, RUNS=1 times (root, 10 minutes a run)'
	@echo 'make mutants        does each mistake of tests/mutants make a test fail? (root, an hour)'
	@echo 'make unit|replay|cli|cli-static one kind of them; cli-static: of the static binary'
	@echo 'make fuzz           every fuzz target over its corpus, then FUZZ_SECONDS each (default 10), or FUZZ_RUNS'
	@echo 'make fuzz-libraries those that use libelf or capstone, with both built for it (network)'
	@echo 'make fuzz-long      every fuzz target in turn, for ever, at idle priority; FUZZ_FOLDER=build/fuzz-long'
	@echo 'make bench          figures for docs/benchmarks.md (root, minutes)'
	@echo 'make soak           memory and descriptors over WINDOWS=600 windows of a second (root, 10 minutes)'
	@echo 'make lint           include table, format, clang-tidy, shellcheck'
	@echo 'make fmt            format the sources'
	@echo 'make golden-update  accept the output as it is now'
	@echo 'make manual         write the option lists of docs/lineburn.1 as --help has them'
	@echo 'make try-debian     check.sh on a new minimal Debian, SUITE=trixie (root, minutes)'
	@echo 'make install        to PREFIX ($(PREFIX)), under DESTDIR'
	@echo 'make compile_commands.json'
	@echo 'make clean          what was built; distclean: Python environments and kernels too'

$(BIN): $(BUILD)/src/main.o $(LIB)
	$(call say,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# From the same objects. What this links must not load modules of the C library at run time: the
# linker warns of each call that would, and a warning is an error. Most of capstone is tables for
# architectures that lineburn does not decode: without their functions these are not linked.
STATIC_LIBS = $(shell pkg-config --static --libs $(filter-out libdw,$(PKGS))) -liberty -lm -pthread
NOT_LINKED  = $(filter-out X86_% AArch64_% cs_%,$(shell nm $(SYSROOT)/usr/lib/$(TUPLE)/libcapstone.a 2>/dev/null | \
	      sed -n 's/.* T \(.*_global_init\|.*_option\)$$/\1/p'))
static: $(STATIC)
$(STATIC): $(BUILD)/src/main.o $(BUILD)/src/decode/elf/search_tree.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(CFLAGS) $(LDFLAGS) -static-pie -s -Wl,--fatal-warnings \
		$(NOT_LINKED:%=-Wl,--defsym=%=0) -o $@ $^ $(STATIC_LIBS)

$(LIB): $(LIB_OBJS)
	$(call say,AR,$@)rm -f $@ && ar rcs $@ $^

# Sanitized code compiles four times faster without optimization. Optimize only what tests run often,
# and keep each function, so that tests/fuzz/reach can name it.
ifneq ($(SAN),)
$(foreach room,base analyze decode/cfi decode/elf decode/python process record symbolize,$(BUILD)/src/$(room)/%.o): LIB_CFLAGS += -O1 -fno-inline
endif
$(BUILD)/%.o: %.c Makefile | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(LIB_CFLAGS) -MMD -MP -c -o $@ $<

# They contain the parts of the pages.
$(addprefix $(BUILD)/src/render/,diff_html.o html.o page_file.o): $(wildcard src/render/html/*.* src/render/html/vendor/*.js)

# Generated code is compiled without our warnings.
$(BUILD)/gen/%.pb-c.o: $(GEN)/%.pb-c.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(LIB_CFLAGS) -w -c -o $@ $<

$(GEN)/%.pb-c.h: $(GEN)/%.pb-c.c ;
$(GEN)/%.pb-c.c: src/profile/%.proto
	@mkdir -p $(@D)
	$(call say,PROTO,$@)$(PROTOC_C) --proto_path=src/profile --c_out=$(GEN) $<

# A terminal's description, for systems that have none.
$(GEN)/terminfo.h: Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@)infocmp -0 -Q2 xterm-256color | sed -n 's/^b64:.*/#define TERMINFO_XTERM "&"/p' > $@.tmp && mv $@.tmp $@

# For version --verbose.
$(GEN)/built_with.h: Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@){ echo '#define BUILT_BPF_COMPILER "$(shell $(CLANG) --version | head -n 1)"'; \
		echo '#define BUILT_LIBRARIES "$(foreach p,$(filter-out libdw,$(PKGS)),$(p) $(shell pkg-config --modversion $(p)),) libiberty"'; } > $@

# bpf-stack.py: an older kernel may refuse call chains that the kernel here accepts.
$(BASE)/%.bpf.o: %.bpf.c tools/bpf-stack.py $(wildcard bpf/*.h bpf/*/*.h include/*.h) $(wildcard vmlinux/$(ARCH)/*.h)
	@mkdir -p $(@D)
	$(call say,BPF,$@)$(CLANG) $(BPF_CFLAGS) -c -o $@ $< && tools/bpf-stack.py $(if $(V),-v) $@ || { rm -f $@; exit 1; }

make_skel = $(call say,SKEL,$@)$(BPFTOOL) gen skeleton $< name $*_bpf > $@.tmp && mv $@.tmp $@
$(GEN)/%.skel.h: $(BASE)/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(make_skel)
$(TEST_SKELS): $(GEN)/%.skel.h: $(BASE)/tests/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(make_skel)

# The unit tests of a folder are linked once, into one program, which saves most of the time. Each
# test is a hard link to it, and the name of the link selects the test: each is still a process.
$(BUILD)/tests/unit/%.o: tests/unit/%.c | $(SKELS) $(TEST_SKELS) $(PROTO_C)
	@mkdir -p $(@D)
	$(call say,TEST,$@)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) -Dmain=unit_$(subst /,_,$*) \
		-DTEST_CLANG='"$(CLANG)"' -DTEST_CLANGXX='"$(subst clang,clang++,$(CLANG))"' \
		-Wno-missing-prototypes -MMD -MP -c -o $@ $<

$(BUILD)/tests/lib/%.o: tests/lib/%.c | $(PROTO_C)
	@mkdir -p $(@D)
	$(call say,TEST,$@)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) -MMD -MP -c -o $@ $<

define unit_folder
$(BUILD)/tests/unit/$(1).c: tests/lib/program.sh $(2)
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)tests/lib/program.sh $(2) > $$@
$(BUILD)/tests/unit/$(1)/program: $(BUILD)/tests/unit/$(1).c $(2:%.c=$(BUILD)/%.o) $(UNIT_LIB_OBJS) $(LIB)
	$$(call say,LINK,$$@)$$(CC) $$(CPPFLAGS) -Itests $$(CFLAGS) $$(LDFLAGS) \
		-Wl,--wrap=worker_need,--wrap=worker_call -o $$@ $$^ -lcmocka $$(LDLIBS)
$(2:%.c=$(BUILD)/%): $(BUILD)/tests/unit/$(1)/program
	@ln -f $$< $$@
endef
$(foreach folder,$(notdir $(wildcard tests/unit/*)),$(eval $(call unit_folder,$(folder),$(sort \
	$(wildcard tests/unit/$(folder)/*.c tests/unit/$(folder)/*/*.c)))))

$(BUILD)/tests/fake/%.o: CPPFLAGS += -Itests
$(BUILD)/tests/replay/%: tests/replay/%.c $(FAKE_OBJS) $(LIB)
	@mkdir -p $(@D)
	$(call say,TEST,$@)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(FAKE_OBJS) $(LIB) -lcmocka $(LDLIBS)

$(BUILD)/tests/bench/dwarf-libdw: $(BUILD)/tests/lib/libdw.o
$(BUILD)/tests/bench/scale: $(FAKE_OBJS)
$(BUILD)/tests/bench/%: tests/bench/%.c $(LIB)
	@mkdir -p $(@D)
	$(call say,BENCH,$@)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $(filter %.c %.o,$^) $(LIB) $(LDLIBS)

# pprof-rules: tests/root/run.sh checks each profile that its scripts write with it. liar: lineburn whose helpers lie.
$(BUILD)/tests/root/liar: LDFLAGS += -Wl,--wrap=message_send,--wrap=sandbox_enter
$(BUILD)/tests/root/%: tests/root/%.c $(BUILD)/tests/lib/pprof_rules.o $(LIB)
	@mkdir -p $(@D)
	$(call say,TEST,$@)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) $(LDFLAGS) -MMD -MP -o $@ $< $(BUILD)/tests/lib/pprof_rules.o $(LIB) $(LDLIBS)

# cost.c counts what an input costs. It sees the edges of the library, and these calls of libc.
FUZZ_COST := $(BUILD)/tests/fuzz/lib/cost.o
FUZZ_WRAPS := LLVMFuzzerTestOneInput __sanitizer_cov_trace_pc_guard __sanitizer_cov_trace_pc_guard_init \
	      __asan_memcpy __asan_memmove __asan_memset calloc realloc memchr memrchr memmem memcmp strlen strnlen \
	      strchr strrchr strstr strspn strcspn strdup strndup __isoc99_sscanf getrandom
$(FUZZ_COST): tests/fuzz/lib/cost.c
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)$(CC) $(CPPFLAGS) -Itests/fuzz -std=gnu11 -g -O2 -fno-builtin -Wall -Wextra -MMD -MP -c -o $@ $<

# link_fuzz LIBRARIES: these instead of the system's
link_fuzz = $(call say,FUZZ,$@)$(CC) $(CPPFLAGS) -Itests/fuzz -Itests $(CFLAGS) -fsanitize=fuzzer $(FUZZ_WRAPS:%=-Wl,--wrap=%) -w \
	    -MMD -MP -o $@ $< $(SMALL) $(FUZZ_COST) $(LIB) $(1) $(LDLIBS)
# A file of the library with other limits.
$(BUILD)/tests/fuzz/lib/small_%.o: tests/fuzz/lib/small_%.c
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)$(CC) $(CPPFLAGS) -Itests/fuzz $(LIB_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/tests/fuzz/unwind_tables: SMALL := $(BUILD)/tests/fuzz/lib/small_tables.o
$(BUILD)/tests/fuzz/unwind_tables: $(BUILD)/tests/fuzz/lib/small_tables.o
$(BUILD)/tests/fuzz/maps: SMALL := $(BUILD)/tests/fuzz/lib/small_maps.o
$(BUILD)/tests/fuzz/maps: $(BUILD)/tests/fuzz/lib/small_maps.o
$(BUILD)/tests/fuzz/%: tests/fuzz/%.c $(FUZZ_COST) $(LIB)
	@mkdir -p $(@D)
	$(link_fuzz)

unit: $(UNIT_BINS)
	@tests/run-unit.sh $(UNIT_BINS)
replay: $(REPLAY_BINS)
	@SUITE=replay tests/run-unit.sh $(REPLAY_BINS)
# The option lists of the manual, from --help.
manual: $(BIN)
	@tools/manual.py ./$(BIN) docs/lineburn.1 >build/lineburn.1 && cp build/lineburn.1 docs/lineburn.1
golden-update: $(addprefix $(BUILD)/tests/unit/,$(addprefix render/,formats asm call_tree groups diff) decode/answer export/formats)
	@for test in $^; do LB_GOLDEN_UPDATE=1 $$test || exit 1; done
cli: $(BIN)
	@tests/cli/run.sh ./$(BIN)
cli-static: $(STATIC)
	@tests/cli/run.sh $(STATIC)
check: unit replay cli
check-root: $(BIN) $(BUILD)/tests/root/pprof-rules
	@tests/root/run.sh ./$(BIN)
stats: $(BIN) $(BUILD)/tests/root/pprof-rules
	@tests/stats/run.sh ./$(BIN)
check-kernels: $(BIN) $(addprefix $(BUILD)/tests/unit/collect/,unwind jit_probe map_sizes sampler)
	@tests/kernels/run.sh ./$(BIN) $(BUILD)/tests/unit/collect
nightly:
	@tools/nightly.sh
loaded:
	@tools/loaded.sh $(RUNS)
mutants:
	@tests/mutants/run.sh
check-python: $(BIN)
	@tests/python/run.sh ./$(BIN)
ifeq ($(SAN),)
fuzz:
	@$(MAKE) SAN=address,undefined fuzz
else
fuzz: $(FUZZ_BINS)
	@tests/fuzz/run.sh $(FUZZ_BINS)
endif
# The targets whose input libelf or capstone reads, with libraries that are instrumented, too.
ifeq ($(SAN),)
fuzz-libraries:
	@$(MAKE) SAN=address,undefined fuzz-libraries
else
FUZZ_LIBRARIES := $(addprefix build/fuzz-libraries/,libelf.a libeu.a libcapstone.a)
FUZZ_LIBRARY_BINS := $(addprefix $(BUILD)/tests/fuzz-libraries/,cfi code_frames disassemble dwarf elf gdbjit python_build)
$(FUZZ_LIBRARIES) &: tools/fuzz-libraries.sh
	$(call say,FUZZ,build/fuzz-libraries)CLANG=$(CLANG) tools/fuzz-libraries.sh build/fuzz-libraries
$(FUZZ_LIBRARY_BINS): $(BUILD)/tests/fuzz-libraries/%: tests/fuzz/%.c $(FUZZ_COST) $(LIB) $(FUZZ_LIBRARIES)
	@mkdir -p $(@D)
	$(call link_fuzz,$(FUZZ_LIBRARIES))
fuzz-libraries: $(FUZZ_LIBRARY_BINS)
	@tests/fuzz/run.sh $(FUZZ_LIBRARY_BINS)
endif
# FUZZ_SECONDS for each in turn, for ever, when nobody else wants the CPU; FUZZ_FOLDER keeps all.
FUZZ_FOLDER ?= build/fuzz-long
fuzz-long:
	@$(MAKE) SAN=address,undefined fuzz-targets
	@tests/fuzz/long.sh $(FUZZ_FOLDER) $(FUZZ_SRCS:%.c=build-address-undefined/%)
fuzz-targets: $(FUZZ_BINS)
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

compile_commands.json: Makefile $(SRCS) | $(GENERATED)
	$(Q){ echo '['; sep=; for f in $(SRCS); do \
		printf '%s{"directory":"%s","file":"%s","arguments":["$(CC)"' "$$sep" "$(CURDIR)" "$$f"; \
		for a in $(subst ',,$(subst ",\\\",$(CPPFLAGS))) $(CFLAGS) -c; do printf ',"%s"' "$$a"; done; \
		printf ',"%s"]}\n' "$$f"; sep=,; done; echo ']'; } > $@

# INSTALLED=$(STATIC) installs the static one.
INSTALLED ?= $(BIN)
COMPLETION = $(if $(CROSS),qemu-$(patsubst arm64,aarch64,$(ARCH))-static )./$(INSTALLED) completion
install: $(INSTALLED)
	install -D -m 755 $(INSTALLED) $(DESTDIR)$(PREFIX)/bin/lineburn
	for folder in startup lineburn_hook lineburn; do \
		install -d $(DESTDIR)$(PREFIX)/share/lineburn/python/$$folder && \
		install -m 644 python/$$folder/*.py \
			$(DESTDIR)$(PREFIX)/share/lineburn/python/$$folder || exit 1; \
	done
	install -m 644 python/pyproject.toml $(DESTDIR)$(PREFIX)/share/lineburn/python
	install -D -m 644 docs/lineburn.1 $(DESTDIR)$(PREFIX)/share/man/man1/lineburn.1
	install -D -m 644 docs/SKILL.md $(DESTDIR)$(PREFIX)/share/doc/lineburn/SKILL.md
	install -d $(DESTDIR)$(PREFIX)/share/doc/lineburn/docs
	install -m 644 docs/*.md $(DESTDIR)$(PREFIX)/share/doc/lineburn/docs
	$(COMPLETION) bash | install -D -m 644 /dev/stdin \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/lineburn
	$(COMPLETION) zsh | install -D -m 644 /dev/stdin \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_lineburn
	$(COMPLETION) fish | install -D -m 644 /dev/stdin \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/lineburn.fish

# ---- packages, in dist/ ----

wheel: $(STATIC)
	@packaging/wheel.py $(STATIC) $(ARCH) dist
deb: $(STATIC)
	@packaging/deb.sh $(ARCH) dist
image: $(STATIC)
	@packaging/image.py $(STATIC) $(ARCH) $(VERSION) dist
release:
	@packaging/release.sh '$(VERSION)'
print-version:
	@echo $(VERSION)

# Keeps the Python environments of tools/venv.sh, the kernels of tests/kernels and the readers of tests/nightly, which are
# downloaded.
clean:
	rm -rf build-* lineburn compile_commands.json
	find build -mindepth 1 -maxdepth 1 ! -name venv ! -name kernels ! -name readers ! -name sysroot -exec rm -rf {} + 2>/dev/null || true
distclean: clean
	rm -rf build

-include $(LIB_OBJS:.o=.d) $(BUILD)/src/main.d $(wildcard $(BUILD)/tests/unit/*/*.d \
	$(BUILD)/tests/unit/*/*/*.d) $(UNIT_LIB_OBJS:.o=.d) $(REPLAY_BINS:=.d) $(FAKE_OBJS:.o=.d) \
	$(FUZZ_BINS:=.d) $(FUZZ_COST:.o=.d) $(BUILD)/tests/fuzz/lib/small_tables.d $(BUILD)/tests/fuzz/lib/small_maps.d

.PHONY: all static help unit replay manual golden-update cli cli-static check check-root stats check-kernels check-python nightly loaded mutants fuzz fuzz-libraries fuzz-long fuzz-targets bench soak try-debian fmt lint install wheel deb image release print-version clean distclean
.SECONDARY:
