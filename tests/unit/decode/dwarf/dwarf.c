// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The DWARF reader on programs built here: known answers at probes, then every address
 * of .text against llvm-symbolizer, for each compiler and form of DWARF. Needs gcc and
 * g++; skips llvm-symbolizer, rustc and go if missing.
 */
#include "unit/decode/dwarf/workload.h"

#include "base/path.h"

/* The expected frames of a probe, innermost first. */
struct expected_frame {
	const char *function; /* plain name, or its end */
	const char *line_text; /* text on the expected source line */
};

struct expected {
	const char *probe;
	size_t nr;
	struct expected_frame frames[4];
};

static const struct expected c_probes[] = {
	{"probe_work", 1, {{"work", "PROBE(probe_work)"}}},
	{"probe_leaf",
	 4,
	 {{"leaf", "PROBE(probe_leaf)"},
	  {"middle", "/* leaf is called */"},
	  {"outer", "/* middle is called */"},
	  {"work", "/* outer is called */"}}},
	{"probe_cold", 1, {{"hot_cold", "PROBE(probe_cold)"}}},
};

static const struct expected cc_probes[] = {
	{"probe_method",
	 2,
	 {{"area", "PROBE(probe_method)"}, {"main", "// area is called"}}},
	{"probe_hidden",
	 2,
	 {{"twice", "PROBE(probe_hidden)"}, {"hidden", "// twice is called"}}},
	{"probe_lambda",
	 2,
	 {{"operator()", "PROBE(probe_lambda)"}, {NULL, "// the lambda is called"}}},
};

static void check_frames(const struct expected *e, const struct got *got,
			 const char *source)
{
	assert_int_equal(got->miss, MISS_NONE);
	assert_int_equal(got->nr, e->nr);
	for (size_t f = 0; f < e->nr; f++) {
		const struct frame *frame = &got->frames[f];

		if (e->frames[f].function &&
		    !ends_with(frame->function, e->frames[f].function))
			fail_msg("%s: frame %zu is %s", e->probe, f, frame->function);
		assert_int_equal(frame->line, line_with(source, e->frames[f].line_text));
		assert_true(frame->file[0] == '/');
		assert_true(ends_with(frame->file, source));
		assert_int_equal(frame->inlined, f + 1 < e->nr);
		assert_true(frame->start_line <= frame->line);
		if (!e->frames[f].function || strcmp(e->frames[f].function, "operator()"))
			/* gcc gives lambdas no line. */
			assert_true(frame->start_line > 0);
	}
}

static void check_probes(const char *program, const char *source,
			 const struct expected *expected, size_t nr)
{
	struct needs needs = {0};

	for (size_t i = 0; i < nr; i++) {
		struct got got = {0};
		uint64_t vaddr = probe(program, expected[i].probe);

		resolve(program, &needs, &vaddr, 1, &got, NULL);
		check_frames(&expected[i], &got, source);
		forget(&got, 1);
	}
}

/* ---- against llvm-symbolizer ---- */

#define MAX_ADDRESSES 6000

/* Addresses in .text of "dir/@program", at most MAX_ADDRESSES, evenly spread. */
static size_t text_addresses(const char *program, uint64_t *vaddrs)
{
	uint64_t start = 0, size = text_of(program, &start);
	size_t nr = 0;

	for (uint64_t off = 0; off < size; off += 1 + size / MAX_ADDRESSES)
		vaddrs[nr++] = start + off;
	return nr;
}

struct reference {
	size_t nr;
	struct {
		char function[4096], file[PATH_MAX];
		unsigned int line;
	} frames[128];
};

/* Reads one block: address, then two lines a frame, then an empty line. */
static bool read_reference(FILE *in, uint64_t *vaddr, struct reference *ret)
{
	char line[8192], *colon;

	ret->nr = 0;
	if (!fgets(line, sizeof(line), in))
		return false;
	*vaddr = strtoull(line, NULL, 16);
	while (fgets(line, sizeof(line), in) && line[0] != '\n') {
		line[strcspn(line, "\n")] = '\0';
		snprintf(ret->frames[ret->nr].function, sizeof(ret->frames[0].function),
			 "%.4095s", line);
		assert_non_null(fgets(line, sizeof(line), in));
		colon = strrchr(line, ':'); /* cut off the column */
		assert_non_null(colon);
		*colon = '\0';
		colon = strrchr(line, ':');
		assert_non_null(colon);
		*colon = '\0';
		ret->frames[ret->nr].line = (unsigned int)strtoul(colon + 1, NULL, 10);
		snprintf(ret->frames[ret->nr].file, sizeof(ret->frames[0].file),
			 "%.4095s", line);
		assert_true(++ret->nr < 128);
	}
	return true;
}

/*
 * llvm-symbolizer takes the outermost frame's name from the symbol table: with suffixes
 * of function parts (".cold", ".isra.0"), with a linkage name where DWARF has none, and
 * with the name of any function folded into it.
 */
static bool same_function(const char *program, const struct frame *ours,
			  const char *theirs, bool outermost)
{
	const char *name = *ours->system_name ? ours->system_name : ours->function;
	size_t len = strlen(name);

	if (!strcmp(name, theirs) || ends_with(name, theirs))
		return true;
	if (!outermost)
		return false;
	if (!*ours->system_name || (!strncmp(name, theirs, len) && theirs[len] == '.'))
		return true;
	/* A function that was folded into an identical one may have no symbol. */
	return !symbol(program, name) || symbol(program, name) == symbol(program, theirs);
}

/*
 * Frames must be equal, or better: where llvm-symbolizer says line 0 (code without a
 * line of its own), we answer the call that has a line, or the previous line.
 */
static void compare(const char *program, uint64_t vaddr, const struct got *got,
		    const struct reference *ref)
{
	char our_path[4096], ref_path[4096];
	size_t skip = 0, nr;
	bool unknown = !strcmp(ref->frames[0].file, "??") || !ref->frames[0].line;

	while (skip < ref->nr - 1 && !ref->frames[skip].line)
		skip++;
	if (!ref->frames[skip].line)
		skip = 0;
	if (unknown && (!got->nr || !got->frames[0].line))
		return;
	nr = ref->nr - skip;
	/* The middle of chains over the maximum is dropped. */
	if (nr != got->nr && nr <= FRAMES_MAX_INLINE)
		fail_msg("%#lx: %zu frames, not %zu", (unsigned long)vaddr, got->nr, nr);
	for (size_t f = 0; f < nr && f < FRAMES_MAX_INLINE / 2; f++) {
		const struct frame *ours = &got->frames[f];

		if (!same_function(program, ours, ref->frames[f + skip].function,
				   f + 1 == nr))
			fail_msg("%#lx: frame %zu is %s (%s), not %s",
				 (unsigned long)vaddr, f, ours->function,
				 ours->system_name, ref->frames[f + skip].function);
		if (unknown && skip == 0)
			continue;
		if (ours->line != ref->frames[f + skip].line ||
		    strcmp(path_clean(ours->file, our_path, sizeof(our_path)),
			   path_clean(ref->frames[f + skip].file, ref_path,
				      sizeof(ref_path))))
			fail_msg("%#lx: frame %zu on %s:%u, not %s:%u",
				 (unsigned long)vaddr, f, ours->file, ours->line,
				 ref->frames[f + skip].file, ref->frames[f + skip].line);
	}
}

static void check_all(const char *program)
{
	uint64_t *vaddrs = calloc(MAX_ADDRESSES + 1, sizeof(*vaddrs)), vaddr;
	struct got *got = calloc(MAX_ADDRESSES + 1, sizeof(*got));
	struct reference *ref = malloc(sizeof(*ref));
	size_t nr = text_addresses(program, vaddrs), with_line = 0, inlined = 0;
	struct needs needs = {0};
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/addresses", dir);
	f = fopen(path, "we");
	for (size_t i = 0; i < nr; i++)
		fprintf(f, "0x%lx\n", (unsigned long)vaddrs[i]);
	fclose(f);
	assert_int_equal(shell("llvm-symbolizer --addresses --inlining --no-demangle "
			       "--functions=linkage -e %s/%s <%s >%s/reference",
			       dir, program, path, dir),
			 0);
	resolve(program, &needs, vaddrs, nr, got, NULL);
	snprintf(path, sizeof(path), "%s/reference", dir);
	f = fopen(path, "re");
	for (size_t i = 0; i < nr; i++) {
		assert_true(read_reference(f, &vaddr, ref));
		assert_int_equal(vaddr, vaddrs[i]);
		compare(program, vaddr, &got[i], ref);
		with_line += got[i].miss == MISS_NONE;
		inlined += got[i].nr > 1;
	}
	fclose(f);
	assert_true(with_line >= 40);
	assert_true(inlined > 0);
	forget(got, nr);
	free(ref);
	free(got);
	free(vaddrs);
}

/* ---- the tests ---- */

static void test_known_answers(void **state)
{
	static const char *const builds[] = {
		"gcc -gdwarf-3",
		"gcc -gdwarf-4",
		"gcc -gdwarf-5",
		"gcc -gdwarf-5 -gz",
		"gcc -gdwarf-5 -flto",
		"gcc -gdwarf-4 -ffunction-sections -Wl,--gc-sections",
		"gcc -gdwarf-4 -Wl,--compress-debug-sections=zlib-gnu",
		"gcc -gdwarf-5 -no-pie",
		TEST_CLANG " -gdwarf-3",
		TEST_CLANG " -gdwarf-4",
		TEST_CLANG " -gdwarf-5",
		TEST_CLANG " -gdwarf-5 -ffunction-sections -Wl,--gc-sections",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		print_message("%s\n", builds[i]);
		assert_int_equal(
			shell("%s -w -O2 -o %s/c %s/inline.c", builds[i], dir, sources),
			0);
		check_probes("c", "inline.c", c_probes, ARRAY_SIZE(c_probes));
		/* Newer llvm-symbolizers do not read .zdebug_*: check only probes. */
		if (have("llvm-symbolizer") && !strstr(builds[i], "zlib-gnu"))
			check_all("c");
	}
}

static void test_known_names(void **state)
{
	static const char *const builds[] = {"g++ -gdwarf-4", "g++ -gdwarf-5",
					     TEST_CLANGXX " -gdwarf-5"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		print_message("%s\n", builds[i]);
		assert_int_equal(
			shell("%s -w -O2 -o %s/cc %s/names.cc", builds[i], dir, sources),
			0);
		check_probes("cc", "names.cc", cc_probes, ARRAY_SIZE(cc_probes));
		if (have("llvm-symbolizer"))
			check_all("cc");
	}
}

/* Functions without linkage have no linkage name: the enclosing DIEs give the name. */
static void test_qualified_names(void **state)
{
	struct got got[2] = {0};
	uint64_t vaddrs[2];

	(void)state;
	assert_int_equal(shell("g++ -w -O2 -g -o %s/q %s/names.cc", dir, sources), 0);
	vaddrs[0] = probe("q", "probe_hidden");
	vaddrs[1] = probe("q", "probe_method");
	resolve("q", NULL, vaddrs, 2, got, NULL);
	assert_string_equal(got[0].frames[0].function,
			    "(anonymous namespace)::Hidden::twice");
	assert_string_equal(got[0].frames[1].function, "(anonymous namespace)::hidden");
	assert_string_equal(got[1].frames[0].function, "area");
	assert_string_equal(got[1].frames[0].system_name, "_ZNK6shapes6SquareIiE4areaEv");
	forget(got, 2);
}

/* Of 72 frames, the innermost and the outermost 32 are kept. */
static void test_deep_chain_loses_the_middle(void **state)
{
	struct got got = {0};
	uint64_t vaddr;

	(void)state;
	assert_int_equal(shell("gcc -w -O2 -g -o %s/d %s/inline.c", dir, sources), 0);
	vaddr = probe("d", "probe_deep");
	resolve("d", NULL, &vaddr, 1, &got, NULL);
	assert_int_equal(got.nr, FRAMES_MAX_INLINE);
	assert_string_equal(got.frames[0].function, "level0");
	assert_string_equal(got.frames[31].function, "level31");
	assert_string_equal(got.frames[32].function, "level40");
	assert_string_equal(got.frames[62].function, "level70");
	assert_string_equal(got.frames[63].function, "deep");
	forget(&got, 1);
}

static void test_duplicates_and_strangers(void **state)
{
	struct got got[5] = {0};
	uint64_t vaddrs[5];

	(void)state;
	assert_int_equal(shell("gcc -w -O2 -g -o %s/s %s/inline.c", dir, sources), 0);
	vaddrs[0] = vaddrs[2] = probe("s", "probe_leaf");
	vaddrs[1] = 0;
	vaddrs[3] = UINT64_MAX;
	vaddrs[4] = probe("s", "_start"); /* in an object without debug info */
	resolve("s", NULL, vaddrs, 5, got, NULL);
	assert_int_equal(got[0].nr, 4);
	assert_int_equal(got[2].nr, 4);
	assert_int_equal(got[1].nr, 0);
	assert_int_equal(got[1].miss, MISS_NO_DEBUG_INFO);
	assert_int_equal(got[3].miss, MISS_NO_DEBUG_INFO);
	assert_int_equal(got[4].miss, MISS_NO_DEBUG_INFO);
	forget(got, 5);
}

/* Strict DWARF 2 cannot describe a unit with several ranges, so it has none. */
static void test_unit_without_ranges(void **state)
{
	struct got got[2] = {0};
	uint64_t vaddrs[2];

	(void)state;
	assert_int_equal(shell("gcc -w -O2 -gdwarf-2 -gstrict-dwarf -ffunction-sections "
			       "-o %s/rangeless %s/inline.c",
			       dir, sources),
			 0);
	vaddrs[0] = probe("rangeless", "probe_work");
	vaddrs[1] = probe("rangeless", "_start");
	resolve("rangeless", NULL, vaddrs, 2, got, NULL);
	check_frames(&c_probes[0], &got[0], "inline.c");
	assert_int_equal(got[1].nr, 0);
	assert_int_equal(got[1].miss, MISS_NO_DEBUG_INFO);
	forget(got, 2);
}

static void test_rust(void **state)
{
	(void)state;
	if (!have("rustc") || !have("llvm-symbolizer")) {
		print_message("no rustc or no llvm-symbolizer\n");
		skip();
	}
	assert_int_equal(shell("rustc -g -O -o %s/rust %s/main.rs", dir, sources), 0);
	check_all("rust");
}

static void test_go(void **state)
{
	(void)state;
	if (!have("go") || !have("llvm-symbolizer")) {
		print_message("no go or no llvm-symbolizer\n");
		skip();
	}
	assert_int_equal(shell("go build -o %s/go %s/main.go", dir, sources), 0);
	check_all("go");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_answers),
		cmocka_unit_test(test_known_names),
		cmocka_unit_test(test_qualified_names),
		cmocka_unit_test(test_deep_chain_loses_the_middle),
		cmocka_unit_test(test_duplicates_and_strangers),
		cmocka_unit_test(test_unit_without_ranges),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_go),
	};

	return cmocka_run_group_tests(tests, setup_dir, remove_dir);
}
