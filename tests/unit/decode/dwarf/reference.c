// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The frames at random addresses, compared with libdw's: functions, inlined chain, and
 * the file and line of each frame. Of programs built here, and of files of this
 * machine: some, or with LB_THOROUGH=1 all that have debug information. LB_SEED
 * selects other addresses; arguments are other files.
 *
 * What may differ, and how it is compared nevertheless:
 *   - libdw leaves line 0 of code that the compiler merged or moved; we give it another
 *     line (dwarf.h). lib/libdw.c applies this rule to libdw's chain and rows.
 *   - libdw's paths lack the compilation directory, if they have another relative
 *     directory; and "a/../b" is "b". lib/libdw.c adds it; path_clean() is on both.
 *   - libdw finds the unit of an address by .debug_aranges, which Go and clang do not
 *     write, so lib/libdw.c selects the unit by the ranges of all units.
 *   - dwarf_getscopes() enters neither namespaces nor enumerations (Rust), nor classes
 *     (lambdas), so lib/libdw.c walks over libdw's DIEs.
 *   - We qualify names of functions that have no linkage name, and leave out the
 *     middle of chains deeper than FRAMES_MAX_INLINE.
 *   - elfutils before 0.189 finds no units in files that zstd compressed.
 *   - We refuse object files (ET_REL) and big-endian files.
 */
#include "unit/decode/dwarf/workload.h"

#include <errno.h>
#include <glob.h>
#include <libgen.h>
#include <time.h>

#include "base/path.h"
#include "lib/elf_files.h"
#include "lib/libdw.h"

#ifndef ELFCOMPRESS_ZSTD /* glibc before 2.37 */
#define ELFCOMPRESS_ZSTD 2
#endif

#define NR_DRAWN  400 /* addresses of one file */
#define MAX_SHOWN 2 /* differences of each class and file */

/* ---- classes of differences ---- */

enum difference {
	EQUAL,
	ONLY_OURS, /* libdw has no frame at all */
	ONLY_LIBDW,
	ONLY_OUR_FILE, /* libdw finds no units in the file; counts as one address */
	OTHER_DEPTH,
	OTHER_LINE,
	OTHER_FILE,
	OTHER_CALL_LINE,
	OTHER_CALL_FILE,
	OTHER_NAME,
	OTHER_DECLARATION,
	OTHER_INLINED,
	NR_DIFFERENCES,
};

static const char *const difference_names[NR_DIFFERENCES] = {
	[EQUAL] = "equal",
	[ONLY_OURS] = "only ours has frames",
	[ONLY_LIBDW] = "only libdw has frames",
	[ONLY_OUR_FILE] = "only ours has units",
	[OTHER_DEPTH] = "depth of the inlined chain differs",
	[OTHER_LINE] = "line differs",
	[OTHER_FILE] = "file differs",
	[OTHER_CALL_LINE] = "line of a call differs",
	[OTHER_CALL_FILE] = "file of a call differs",
	[OTHER_NAME] = "name differs",
	[OTHER_DECLARATION] = "line of a declaration differs",
	[OTHER_INLINED] = "which frames are inlined differs",
};

static bool same_path(const char *a, const char *b)
{
	char clean_a[PATH_MAX], clean_b[PATH_MAX];

	return !strcmp(path_clean(a, clean_a, sizeof(clean_a)),
		       path_clean(b, clean_b, sizeof(clean_b)));
}

static bool same_name(const struct frame *ours, const struct frame *theirs)
{
	size_t len = strlen(ours->function), their_len = strlen(theirs->function);

	if (strcmp(ours->system_name, theirs->system_name))
		return false;
	if (*ours->system_name || len < their_len + 3)
		return !strcmp(ours->function, theirs->function);
	return ends_with(ours->function, theirs->function) &&
	       !strncmp(ours->function + len - their_len - 2, "::", 2);
}

static enum difference compare_frame(const struct frame *ours, const struct frame *theirs,
				     bool innermost)
{
	if (ours->line != theirs->line)
		return innermost ? OTHER_LINE : OTHER_CALL_LINE;
	if (!same_path(ours->file, theirs->file))
		return innermost ? OTHER_FILE : OTHER_CALL_FILE;
	if (!same_name(ours, theirs))
		return OTHER_NAME;
	if (ours->inlined != theirs->inlined)
		return OTHER_INLINED;
	return ours->start_line == theirs->start_line ? EQUAL : OTHER_DECLARATION;
}

static enum difference compare(const struct got *ours, const struct libdw_answer *theirs)
{
	size_t half = FRAMES_MAX_INLINE / 2, left_out = 0;
	enum difference d = EQUAL;

	if (!ours->nr || !theirs->nr)
		return ours->nr ? ONLY_OURS : theirs->nr ? ONLY_LIBDW : EQUAL;
	if (theirs->nr > FRAMES_MAX_INLINE)
		left_out = theirs->nr - FRAMES_MAX_INLINE;
	if (ours->nr != theirs->nr - left_out)
		return OTHER_DEPTH;
	for (size_t i = 0; i < ours->nr && d == EQUAL; i++)
		d = compare_frame(&ours->frames[i],
				  &theirs->frames[i < half ? i : i + left_out], i == 0);
	return d;
}

/* ---- one file ---- */

static unsigned int seed;
static size_t counts[NR_DIFFERENCES];
static size_t nr_files, nr_lines, nr_inlined, nr_without_line;

static void print_frames(const char *who, const struct frame *frames, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		print_message("    %s %s (%s, %u) %s:%u\n", i ? "" : who,
			      frames[i].function, frames[i].system_name,
			      frames[i].start_line, frames[i].file, frames[i].line);
	if (!nr)
		print_message("    %s nothing\n", who);
}

/* Most addresses are in ranges of units, and many at their ends. */
static uint64_t draw(const struct libdw_file *f)
{
	bool known = f->nr_ranges && random() % 8;
	const struct libdw_range *from = known ? f->ranges : f->code;
	const struct libdw_range *r =
		&from[(size_t)random() % (known ? f->nr_ranges : f->nr_code)];
	uint64_t big = (uint64_t)random() << 31 | (uint64_t)random();

	switch (random() % 8) {
	case 0:
		return r->start;
	case 1:
		return r->end - 1;
	case 2:
		return r->end;
	default:
		return r->start + big % (r->end - r->start + 1);
	}
}

static size_t nr_dwos_needed;

/* Companion files: dwz by name, relative to the file; .dwo; .dwp beside the file. */
static int open_companion(void *ctx, const struct need *need)
{
	char path[2 * PATH_MAX + 8], copy[PATH_MAX];

	nr_dwos_needed += need->kind == NEED_DWO;
	snprintf(copy, sizeof(copy), "%s", (const char *)ctx);
	if (need->kind == NEED_DWP)
		snprintf(path, sizeof(path), "%s.dwp", copy);
	else if (need->name[0] == '/')
		snprintf(path, sizeof(path), "%s", need->name);
	else
		snprintf(path, sizeof(path), "%s/%s",
			 need->kind == NEED_DWO ? need->comp_dir : dirname(copy),
			 need->name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void judge(const char *path, struct libdw_file *f, const uint64_t *vaddrs,
		  const struct got *got)
{
	struct libdw_answer *theirs = calloc(1, sizeof(*theirs));
	size_t here[NR_DIFFERENCES] = {0};

	for (size_t i = 0; i < NR_DRAWN; i++) {
		enum difference d;

		libdw_resolve(f, vaddrs[i], theirs);
		d = compare(&got[i], theirs);
		assert_int_equal(got[i].miss == MISS_NONE,
				 got[i].nr && got[i].frames[0].line);
		counts[d]++;
		nr_lines += got[i].miss == MISS_NONE;
		nr_inlined += got[i].nr > 1;
		nr_without_line += theirs->had_no_line;
		if (d == EQUAL || here[d]++ >= MAX_SHOWN)
			continue;
		print_message("%s %#lx: %s\n", path, (unsigned long)vaddrs[i],
			      difference_names[d]);
		print_frames("ours ", got[i].frames, got[i].nr);
		print_frames("libdw", theirs->frames, theirs->nr);
	}
	for (enum difference d = 1; d < NR_DIFFERENCES; d++)
		if (here[d])
			print_message("%s: %zu times: %s\n", path, here[d],
				      difference_names[d]);
	free(theirs);
}

static void compare_addresses(const char *path, struct dwarf_source *d,
			      struct libdw_file *f)
{
	_cleanup_free_ struct got *got = calloc(NR_DRAWN, sizeof(*got));
	uint64_t vaddrs[NR_DRAWN];

	srandom(seed);
	for (size_t i = 0; i < NR_DRAWN; i++)
		vaddrs[i] = draw(f);
	assert_int_equal(dwarf_source_resolve(d, vaddrs, NR_DRAWN, keep, got), 0);
	judge(path, f, vaddrs, got);
	forget(got, NR_DRAWN);
	nr_files++;
}

/* Object files are never mapped as code, and their addresses are not final. */
static bool is_refused(const struct binary *b)
{
	return b->type == ET_REL || !b->is_little_endian;
}

/* elfutils before 0.189 cannot decompress zstd, so libdw finds no units. */
static bool is_zstd(const struct binary *b)
{
	Elf_Scn *scn = NULL;
	GElf_Chdr header;

	while ((scn = elf_nextscn(b->elf, scn)))
		if (gelf_getchdr(scn, &header) && header.ch_type == ELFCOMPRESS_ZSTD)
			return true;
	return false;
}

static void compare_file(const char *path)
{
	_cleanup_(binary_freep) struct binary *b = NULL;
	_cleanup_(dwarf_source_freep) struct dwarf_source *d = NULL;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct libdw_file f;
	bool has_units = libdw_open(path, &f);
	int r = open_source(fd, open_companion, (void *)path, &b, &d);

	if (r == 0 && has_units) {
		compare_addresses(path, d, &f);
	} else if (r == 0 && !is_zstd(b)) {
		print_message("%s: only ours has units\n", path);
		counts[ONLY_OUR_FILE]++;
	} else if (has_units && !is_refused(b)) {
		fail_msg("%s: we cannot read it: %s", path, strerror(-r));
	}
	libdw_close(&f);
}

/*
 * Prints what was compared since the last call, at least @min_files, and fails if
 * anything differed.
 */
static void conclude(size_t min_files)
{
	size_t all = 0, equal = counts[EQUAL];

	for (enum difference d = 0; d < NR_DIFFERENCES; d++)
		all += counts[d];
	print_message(
		"%zu files, %zu addresses: %zu with a line, %zu inlined, %zu of code "
		"without a line\n",
		nr_files, all, nr_lines, nr_inlined, nr_without_line);
	for (enum difference d = 0; d < NR_DIFFERENCES; d++)
		if (counts[d])
			print_message("%8zu %s\n", counts[d], difference_names[d]);
	assert_true(nr_files >= min_files);
	memset(counts, 0, sizeof(counts));
	nr_files = nr_lines = nr_inlined = nr_without_line = 0;
	assert_int_equal(all, equal);
}

/* ---- which files ---- */

struct build {
	const char *compiler, *flags, *source;
};

static void compare_built(const struct build *b)
{
	char path[PATH_MAX];

	print_message("%s %s\n", b->compiler, b->flags);
	assert_int_equal(shell("cd %s && %s %s -o built %s/%s", dir, b->compiler,
			       b->flags, sources, b->source),
			 0);
	snprintf(path, sizeof(path), "%s/built", dir);
	compare_file(path);
}

static void test_built(void **state)
{
	static const char *const flags[] = {
		"-w -gdwarf-2 -O2",
		"-w -gdwarf-3 -O2",
		"-w -gdwarf-4 -O0",
		"-w -gdwarf-4 -O2 -ffunction-sections -Wl,--gc-sections",
		"-w -gdwarf-4 -O2 -gsplit-dwarf",
		"-w -gdwarf-5 -O0",
		"-w -gdwarf-5 -O2",
		"-w -gdwarf-5 -O3 -gz",
		"-w -gdwarf-5 -O2 -ffunction-sections -Wl,--gc-sections",
		"-w -gdwarf-5 -O2 -gsplit-dwarf",
	};
	static const struct build others[] = {
		{"gcc", "-w -gdwarf-4 -O2 -flto", "inline.c"},
		{"gcc", "-w -gdwarf-5 -O3 -flto", "inline.c"},
		{"g++", "-w -gdwarf-4 -O2", "names.cc"},
		{"g++", "-w -gdwarf-5 -O3", "names.cc"},
		{TEST_CLANGXX, "-w -gdwarf-4 -O2", "names.cc"},
		{TEST_CLANGXX, "-w -gdwarf-5 -O2", "names.cc"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		compare_built(&(struct build){"gcc", flags[i], "inline.c"});
		compare_built(&(struct build){TEST_CLANG, flags[i], "inline.c"});
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		compare_built(&others[i]);
	conclude(2 * ARRAY_SIZE(flags) + ARRAY_SIZE(others));
}

/* Two copies of a program, whose common part dwz moves to a third file. */
static void test_dwz(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(shell("cd %s && g++ -w -gdwarf-4 -O2 -o one %s/names.cc && "
			       "cp one two && dwz -m common one two && test -s common",
			       dir, sources),
			 0);
	snprintf(path, sizeof(path), "%s/one", dir);
	compare_file(path);
	conclude(1);
}

/*
 * We read only the .dwp. libdw reads it from 0.191 on, and only the .dwo files before.
 */
static void test_dwp(void **state)
{
	static const struct {
		const char *compiler, *pack;
	} builds[] = {
		{"gcc -gdwarf-4", "dwp"}, /* binutils' dwp does not support DWARF 5 */
		{"gcc -gdwarf-4", "llvm-dwp"},
		{"gcc -gdwarf-5", "llvm-dwp"},
		{TEST_CLANG " -gdwarf-4", "llvm-dwp"},
		{TEST_CLANG " -gdwarf-5", "llvm-dwp"},
	};
	char path[PATH_MAX];
	size_t nr = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/packed", dir);
	nr_dwos_needed = 0;
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		if (!have(builds[i].pack)) {
			print_message("no %s\n", builds[i].pack);
			continue;
		}
		print_message("%s %s\n", builds[i].compiler, builds[i].pack);
		assert_int_equal(
			shell("cd %s && rm -f *.dwo && cp %s/inline.c one.c && "
			      "sed s/main/other_main/ one.c >two.c && "
			      "%s -w -O2 -gsplit-dwarf -c one.c two.c && "
			      "gcc -Wl,--allow-multiple-definition -o packed one.o two.o "
			      "&& %s -o packed.dwp one.dwo two.dwo",
			      dir, sources, builds[i].compiler, builds[i].pack),
			0);
		compare_file(path);
		nr++;
	}
	assert_int_equal(nr_dwos_needed, 0);
	if (!nr)
		skip();
	conclude(nr);
}

static void test_rust(void **state)
{
	(void)state;
	if (!have("rustc")) {
		print_message("no rustc\n");
		skip();
	}
	compare_built(&(struct build){"rustc", "-g -O", "main.rs"});
	conclude(1);
}

static void test_go(void **state)
{
	(void)state;
	if (!have("go")) {
		print_message("no go\n");
		skip();
	}
	compare_built(&(struct build){"go", "build", "main.go"});
	conclude(1);
}

static void compare_debug_file_of(const char *path)
{
	_cleanup_(binary_freep) struct binary *b = NULL;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char debug[PATH_MAX], *end = debug;

	assert_int_equal(binary_open(fd, &b), 0);
	end += sprintf(end, "/usr/lib/debug/.build-id/");
	for (size_t i = 0; i < b->build_id_len; i++)
		end += sprintf(end, i == 1 ? "/%02x" : "%02x", b->build_id[i]);
	sprintf(end, ".debug");
	compare_file(debug);
}

/* Every @step-th of the files; there need be none. */
static void compare_files(const char *pattern, size_t step)
{
	glob_t found;

	if (glob(pattern, GLOB_TILDE, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i += step)
		compare_file(found.gl_pathv[i]);
	globfree(&found);
}

static void test_lineburn(void **state)
{
	(void)state;
	compare_file("/proc/self/exe");
	conclude(1);
}

static void test_libc(void **state)
{
	glob_t found;

	(void)state;
	assert_int_equal(glob("/lib/*/libc.so.6", 0, NULL, &found), 0);
	compare_debug_file_of(found.gl_pathv[0]);
	globfree(&found);
	conclude(1);
}

static void test_machine(void **state)
{
	(void)state;
	if (getenv("LB_THOROUGH")) {
		elf_files_walk(compare_file);
	} else {
		compare_files("/usr/lib/debug/.build-id/*/*.debug", 16);
		compare_files("/usr/lib/*/lib[alt]san.so.?", 1);
		compare_files("~/.pyenv/versions/*/lib/libpython*.so.1.0", 2);
	}
	conclude(1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built), cmocka_unit_test(test_dwz),
		cmocka_unit_test(test_dwp),   cmocka_unit_test(test_rust),
		cmocka_unit_test(test_go),    cmocka_unit_test(test_lineburn),
		cmocka_unit_test(test_libc),  cmocka_unit_test(test_machine),
	};

	seed = getenv("LB_SEED")       ? (unsigned int)atoi(getenv("LB_SEED"))
	       : getenv("LB_THOROUGH") ? (unsigned int)time(NULL)
				       : 1;
	print_message("LB_SEED=%u\n", seed);
	for (int i = 1; i < argc; i++)
		compare_file(argv[i]);
	if (argc > 1)
		conclude(1);
	return argc > 1 ? 0 : cmocka_run_group_tests(tests, setup_dir, remove_dir);
}
