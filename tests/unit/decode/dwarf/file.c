// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Debug information in more than one file (.dwo, .dwp, dwz), compressed, missing, of
 * another build, damaged. Needs gcc, g++ and clang; skips dwz and llvm-dwp if missing.
 */
#include "unit/decode/dwarf/workload.h"

#include <errno.h>
#include <sys/mman.h>

#include "decode/dwarf/file.h"

/* Checks the two probes of inline.c that need line tables and inlined calls. */
static void check_leaf(const char *program, struct needs *needs,
		       struct dwarf_stats *stats)
{
	uint64_t vaddr = probe(program, "probe_leaf");
	struct got got = {0};

	resolve(program, needs, &vaddr, 1, &got, stats);
	assert_int_equal(got.miss, MISS_NONE);
	assert_int_equal(got.nr, 4);
	assert_string_equal(got.frames[0].function, "leaf");
	assert_string_equal(got.frames[1].function, "middle");
	assert_string_equal(got.frames[2].function, "outer");
	assert_string_equal(got.frames[3].function, "work");
	assert_int_equal(got.frames[0].line, line_with("inline.c", "PROBE(probe_leaf)"));
	assert_int_equal(got.frames[1].line,
			 line_with("inline.c", "/* leaf is called */"));
	assert_int_equal(got.frames[2].line,
			 line_with("inline.c", "/* middle is called"));
	assert_int_equal(got.frames[3].line,
			 line_with("inline.c", "/* outer is called */"));
	for (size_t f = 0; f < 4; f++)
		assert_true(ends_with(got.frames[f].file, "/inline.c"));
	forget(&got, 1);
	vaddr = probe(program, "probe_cold"); /* in the second range of its function */
	got = (struct got){0};
	resolve(program, needs, &vaddr, 1, &got, NULL);
	assert_string_equal(got.frames[0].function, "hot_cold");
	forget(&got, 1);
}

static const char *const split_builds[] = {
	"gcc -gdwarf-4",
	"gcc -gdwarf-5",
	TEST_CLANG " -gdwarf-4",
	TEST_CLANG " -gdwarf-5",
	TEST_CLANG " -gdwarf-5 -gz",
};

static void build_split(const char *cc)
{
	print_message("%s\n", cc);
	assert_int_equal(shell("cd %s && rm -rf split && mkdir split && cd split && "
			       "%s -w -O2 -gsplit-dwarf -c %s/inline.c -o inline.o && "
			       "gcc -o ../split-program inline.o",
			       dir, cc, sources),
			 0);
}

static void test_dwo(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(split_builds); i++) {
		struct needs needs = {0};
		struct dwarf_stats stats;

		build_split(split_builds[i]);
		check_leaf("split-program", &needs, &stats);
		assert_int_equal(stats.nr_dwo_missing, 0);
		assert_true(needs.nr[NEED_DWO] > 0);
		assert_int_equal(needs.nr[NEED_DWZ], 0);
	}
}

/* The program has the line table: a missing .dwo costs names, not lines. */
static void test_dwo_missing_or_of_another_build(void **state)
{
	uint32_t line = line_with("inline.c", "PROBE(probe_leaf)");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(split_builds); i++) {
		struct needs refused = {.refuse = true}, other = {0};
		struct dwarf_stats stats;
		char other_dir[PATH_MAX];
		struct got got = {0};
		uint64_t vaddr;

		build_split(split_builds[i]);
		vaddr = probe("split-program", "probe_leaf");
		resolve("split-program", &refused, &vaddr, 1, &got, &stats);
		assert_int_equal(stats.nr_dwo_missing, 1);
		assert_int_equal(got.miss, MISS_NONE);
		assert_int_equal(got.frames[0].line, line);
		forget(&got, 1);

		/* A file of the same name with another id. */
		snprintf(other_dir, sizeof(other_dir), "%s/other", dir);
		assert_int_equal(shell("cd %s && rm -rf other && cp -r split other && "
				       "cd other && "
				       "%s -w -O1 -DOTHER=1 -Dmain=other_main -c "
				       "-gsplit-dwarf %s/inline.c -o inline.o",
				       dir, split_builds[i], sources),
				 0);
		other.dwo_from = other_dir;
		got = (struct got){0};
		resolve("split-program", &other, &vaddr, 1, &got, &stats);
		assert_int_equal(other.nr[NEED_DWO], 1);
		assert_int_equal(stats.nr_dwo_missing, 1);
		assert_int_equal(got.frames[0].line, line);
		forget(&got, 1);
	}
}

/* gcc writes each type unit of DWARF 5 into a section of its own, before the code's. */
static void test_dwo_with_type_units(void **state)
{
	static const char *const builds[] = {"g++ -gdwarf-4", "g++ -gdwarf-5",
					     "g++ -gdwarf-5 -gz",
					     TEST_CLANGXX " -gdwarf-5"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		struct needs needs = {0};
		struct dwarf_stats stats;
		struct got got = {0};
		uint64_t vaddr;

		print_message("%s\n", builds[i]);
		assert_int_equal(shell("cd %s && %s -w -O2 -gsplit-dwarf "
				       "-fdebug-types-section -o types %s/names.cc",
				       dir, builds[i], sources),
				 0);
		vaddr = probe("types", "probe_method");
		resolve("types", &needs, &vaddr, 1, &got, &stats);
		assert_int_equal(stats.nr_dwo_missing, 0);
		assert_int_equal(got.nr, 2);
		assert_string_equal(got.frames[0].function, "area");
		assert_string_equal(got.frames[1].function, "main");
		forget(&got, 1);
	}
}

static void test_dwp(void **state)
{
	(void)state;
	if (!have("llvm-dwp")) { /* binutils' dwp does not support DWARF 5 */
		print_message("no llvm-dwp\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(split_builds); i++) {
		struct needs needs = {0};
		struct dwarf_stats stats;

		if (strstr(split_builds[i], "-gz")) /* llvm-dwp 14 cannot read it */
			continue;
		build_split(split_builds[i]);
		/* A second unit: the offset of one of the two is not 0. */
		assert_int_equal(
			shell("cd %s/split && printf 'int a(int x){return x;}\\n' "
			      ">a.c && %s -w -O2 -gsplit-dwarf -c a.c && "
			      "llvm-dwp -o ../program.dwp a.dwo inline.dwo && "
			      "rm *.dwo",
			      dir, split_builds[i]),
			0);
		check_leaf("split-program", &needs, &stats);
		assert_int_equal(stats.nr_dwo_missing, 0);
		assert_int_equal(needs.nr[NEED_DWO], 0);
		assert_int_equal(shell("rm %s/program.dwp", dir), 0);
	}
}

/*
 * Puts 4 GiB before the units of "dir/program.dwp", as if it had many more. Its index
 * stays the same, because dwp and llvm-dwp cut offsets to 32 bits.
 */
static void shift_units(void)
{
	const uint64_t shift = 1ULL << 32, new_off = 1ULL << 24; /* beyond the file */
	char path[PATH_MAX], bytes[65536];
	Elf_Scn *scn = NULL;
	uint64_t header = 0;
	Elf64_Shdr sh;
	size_t names;
	int fd;
	Elf *elf = elf_of("program.dwp", &fd);

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	do {
		scn = elf_nextscn(elf, scn);
		assert_non_null(scn);
		sh = *elf64_getshdr(scn);
	} while (strcmp(elf_strptr(elf, names, sh.sh_name), ".debug_info.dwo"));
	header = elf64_getehdr(elf)->e_shoff + elf_ndxscn(scn) * sizeof(sh);
	elf_end(elf);
	close(fd);
	snprintf(path, sizeof(path), "%s/program.dwp", dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(sh.sh_size <= sizeof(bytes));
	assert_int_equal(pread(fd, bytes, sh.sh_size, (off_t)sh.sh_offset), sh.sh_size);
	assert_int_equal(pwrite(fd, bytes, sh.sh_size, (off_t)(new_off + shift)),
			 sh.sh_size);
	sh.sh_offset = new_off;
	sh.sh_size += shift;
	assert_int_equal(pwrite(fd, &sh, sizeof(sh), (off_t)header), sizeof(sh));
	close(fd);
}

static void test_dwp_over_4_gib(void **state)
{
	struct needs needs = {0};
	struct dwarf_stats stats;

	(void)state;
	if (!have("llvm-dwp")) {
		print_message("no llvm-dwp\n");
		skip();
	}
	for (size_t i = 0; i < 2; i++) {
		build_split(split_builds[i]);
		assert_int_equal(shell("cd %s/split && llvm-dwp -o ../program.dwp "
				       "inline.dwo && rm *.dwo",
				       dir),
				 0);
		shift_units();
		check_leaf("split-program", &needs, &stats);
		assert_int_equal(stats.nr_dwo_missing, 0);
		assert_int_equal(needs.nr[NEED_DWO], 0);
		assert_int_equal(shell("rm %s/program.dwp", dir), 0);
	}
}

static void build_dwz(void)
{
	assert_int_equal(shell("cd %s && g++ -w -O2 -g -o z1 %s/names.cc && "
			       "cp z1 z2 && dwz -m shared.dwz z1 z2",
			       dir, sources),
			 0);
}

static void test_dwz(void **state)
{
	struct needs needs = {0}, refused = {.refuse = true};
	struct dwarf_stats stats;
	struct got got = {0};
	uint64_t vaddr;

	(void)state;
	if (!have("dwz")) {
		print_message("no dwz\n");
		skip();
	}
	build_dwz();
	vaddr = probe("z1", "probe_method");
	resolve("z1", &needs, &vaddr, 1, &got, &stats);
	assert_int_equal(needs.nr[NEED_DWZ], 1);
	assert_int_equal(stats.nr_dwz_missing, 0);
	assert_string_equal(got.frames[0].function, "area");
	assert_string_equal(got.frames[0].system_name, "_ZNK6shapes6SquareIiE4areaEv");
	assert_string_equal(got.frames[1].function, "main");
	forget(&got, 1);

	got = (struct got){0};
	resolve("z1", &refused, &vaddr, 1, &got, &stats);
	assert_true(stats.nr_dwz_missing > 0);
	assert_int_equal(got.miss, MISS_NONE);
	assert_int_equal(got.nr, 2);
	assert_int_equal(got.frames[0].line,
			 line_with("names.cc", "PROBE(probe_method)"));
	assert_string_equal(got.frames[0].function, "");
	forget(&got, 1);
}

/* The right name with the wrong build id counts as missing. */
static void test_dwz_of_another_build(void **state)
{
	struct needs needs = {0};
	struct dwarf_stats stats;
	struct got got = {0};
	uint64_t vaddr;

	(void)state;
	if (!have("dwz")) {
		print_message("no dwz\n");
		skip();
	}
	build_dwz();
	vaddr = probe("z1", "probe_method");
	assert_int_equal(shell("cd %s && g++ -w -O1 -g -o y1 %s/names.cc && cp y1 y2 && "
			       "dwz -m shared.dwz y1 y2",
			       dir, sources),
			 0);
	resolve("z1", &needs, &vaddr, 1, &got, &stats);
	assert_int_equal(needs.nr[NEED_DWZ], 1);
	assert_true(stats.nr_dwz_missing > 0);
	forget(&got, 1);
}

/* A compressed section that claims to exceed the limit when decompressed. */
static void test_compressed_over_the_limit(void **state)
{
	struct got got = {0};
	char path[PATH_MAX];
	uint64_t vaddr, off = 0, size = 1ULL << 40;
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Shdr sh;
	Elf *elf;
	int fd;

	(void)state;
	assert_int_equal(shell("gcc -w -O2 -g -gz -o %s/gz %s/inline.c", dir, sources),
			 0);
	vaddr = probe("gz", "probe_leaf");
	snprintf(path, sizeof(path), "%s/gz", dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_COMPRESSED) &&
		    !strcmp(elf_strptr(elf, names, sh.sh_name), ".debug_info"))
			off = sh.sh_offset;
	elf_end(elf);
	assert_true(off > 0);
	assert_int_equal(pwrite(fd, &size, 8, (off_t)off + 8), 8); /* ch_size */
	close(fd);
	resolve("gz", NULL, &vaddr, 1, &got, NULL);
	assert_int_equal(got.nr, 0);
	assert_int_equal(got.miss, MISS_DECODER_GAVE_UP);
}

static int open_bytes(const void *bytes, size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	return fd;
}

static void test_not_for_us(void **state)
{
	struct dwarf_source *d = NULL;
	struct binary *b = NULL;
	char path[PATH_MAX];
	int fd;

	(void)state;
	fd = open_bytes("", 0);
	assert_int_equal(open_source(fd, NULL, NULL, &b, &d), -EBADMSG);
	binary_free(take_ptr(b));
	close(fd);
	fd = open_bytes("\177ELF is not all there", 20);
	assert_int_equal(open_source(fd, NULL, NULL, &b, &d), -EBADMSG);
	binary_free(take_ptr(b));
	close(fd);
	assert_int_equal(shell("cd %s && gcc -w -O2 -o plain %s/inline.c && "
			       "gcc -w -O2 -g -c -o object.o %s/inline.c",
			       dir, sources, sources),
			 0);
	for (const char *const *name = (const char *const[]){"plain", "object.o", NULL};
	     *name; name++) {
		snprintf(path, sizeof(path), "%s/%s", dir, *name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(open_source(fd, NULL, NULL, &b, &d), -ENODATA);
		binary_free(take_ptr(b));
		close(fd);
	}
	assert_null(d);
}

static char *read_program(const char *name, size_t *len)
{
	char path[PATH_MAX], *bytes;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*len = (size_t)ftell(f);
	rewind(f);
	bytes = malloc(*len);
	assert_int_equal(fread(bytes, 1, *len, f), *len);
	fclose(f);
	return bytes;
}

/* For any bytes every address is answered once, and quickly. */
static void resolve_bytes(const char *bytes, size_t len, const uint64_t *vaddrs,
			  size_t nr)
{
	_cleanup_close_ int fd = open_bytes(bytes, len);
	_cleanup_(binary_freep) struct binary *b = NULL;
	_cleanup_(dwarf_source_freep) struct dwarf_source *d = NULL;
	struct got *got = calloc(nr, sizeof(*got));

	if (open_source(fd, NULL, NULL, &b, &d) == 0 &&
	    dwarf_source_resolve(d, vaddrs, nr, keep, got) == 0)
		for (size_t i = 0; i < nr; i++) {
			assert_int_equal(got[i].nr_calls, 1);
			assert_int_equal(got[i].miss == MISS_NONE,
					 got[i].nr && got[i].frames[0].line);
			assert_true(got[i].nr <= FRAMES_MAX_INLINE);
		}
	forget(got, nr);
	free(got);
}

static void test_damaged(void **state)
{
	size_t len;
	char *bytes, *copy;
	uint64_t vaddrs[6];
	uint32_t seed = 1;

	(void)state;
	assert_int_equal(shell("gcc -w -O2 -g -o %s/h %s/inline.c", dir, sources), 0);
	vaddrs[0] = probe("h", "probe_leaf");
	vaddrs[1] = probe("h", "probe_cold");
	vaddrs[2] = probe("h", "probe_deep");
	vaddrs[3] = probe("h", "probe_work");
	vaddrs[4] = 0;
	vaddrs[5] = UINT64_MAX;
	bytes = read_program("h", &len);
	copy = malloc(len);
	for (size_t cut = 0; cut < len; cut += 389) /* section headers are at the end */
		resolve_bytes(bytes, cut, vaddrs, ARRAY_SIZE(vaddrs));
	for (int round = 0; round < 400; round++) {
		memcpy(copy, bytes, len);
		for (int i = 0; i < 1 + round % 16; i++) {
			seed = seed * 1103515245 + 12345;
			/* Half of the changes are in the debug sections, at the end. */
			copy[(round % 2 ? seed >> 1 : len - 1 - (seed >> 1) % (len / 2)) %
			     len] = (char)(seed >> 24);
		}
		resolve_bytes(copy, len, vaddrs, ARRAY_SIZE(vaddrs));
	}
	free(copy);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dwo),
		cmocka_unit_test(test_dwo_missing_or_of_another_build),
		cmocka_unit_test(test_dwo_with_type_units),
		cmocka_unit_test(test_dwp),
		cmocka_unit_test(test_dwp_over_4_gib),
		cmocka_unit_test(test_dwz),
		cmocka_unit_test(test_dwz_of_another_build),
		cmocka_unit_test(test_compressed_over_the_limit),
		cmocka_unit_test(test_not_for_us),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, setup_dir, remove_dir);
}
