// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that stay open between requests answer as new ones do, and are let go when they
 * change, lack parts, or are too many. Needs gcc. A kept file holds one descriptor, so
 * these are counted.
 */
#include "unit/decode/dwarf/workload.h"

#include <errno.h>
#include <sys/stat.h>

#include "decode/dwarf/kept.h"

#define NR_UNITS 12

/* Returns how many mappings are of files whose names end so. No descriptor is kept. */
static int held(const char *end)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	int nr = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = '\0';
		nr += ends_with(line, end);
	}
	fclose(maps);
	return nr;
}

static int open_in_dir(const char *file)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void ask_in(uint64_t root, const char *file, struct needs *needs,
		   const uint64_t *vaddrs, size_t nr, struct got *got)
{
	_cleanup_close_ int fd = open_in_dir(file);
	struct dwarf_source *d = NULL;

	assert_int_equal(kept_dwarf_open(fd, root, needs ? answer_need : NULL, needs, &d),
			 0);
	assert_int_equal(dwarf_source_resolve(d, vaddrs, nr, keep, got), 0);
	kept_dwarf_done(true);
}

static void ask(const char *file, struct needs *needs, const uint64_t *vaddrs, size_t nr,
		struct got *got)
{
	ask_in(0, file, needs, vaddrs, nr, got);
}

static void ask_main(const char *file)
{
	uint64_t vaddr = probe(file, "main");
	struct got got = {0};

	ask(file, NULL, &vaddr, 1, &got);
	assert_int_equal(got.nr_calls, 1);
	assert_int_equal(got.miss, MISS_NONE);
	forget(&got, 1);
}

__attribute__((format(printf, 2, 3))) static void write_source(const char *name,
							       const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	FILE *f;

	snprintf(path, sizeof(path), "%s/units/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	va_start(args, fmt);
	vfprintf(f, fmt, args);
	va_end(args);
	assert_int_equal(fclose(f), 0);
}

/* Several units, with functions in two sections each, and one without debug info. */
static void build_units(const char *flags)
{
	char name[16];

	assert_int_equal(shell("cd %s && rm -rf units && mkdir units", dir), 0);
	for (int i = 0; i < NR_UNITS; i++) {
		snprintf(name, sizeof(name), "f%d.c", i);
		write_source(name,
			     "int v%d;\n"
			     "static inline int twice(int x)\n{ return x * 2 + v%d; }\n"
			     "int f%d(int x)\n{ return twice(x) + 1; }\n"
			     "__attribute__((cold)) int c%d(int x)\n"
			     "{ return twice(x) - 1; }\n",
			     i, i, i, i);
	}
	write_source("main.c", "int main(void)\n{ return 0; }\n");
	write_source("plain.c", "int plain(int x)\n{ return x * 7; }\n");
	assert_int_equal(shell("cd %s/units && gcc -O2 -g %s -c f*.c main.c && "
			       "gcc -O2 -c plain.c && gcc -o ../units-program *.o",
			       dir, flags),
			 0);
}

static void check_equal(const struct got *a, const struct got *b)
{
	assert_int_equal(a->nr_calls, 1);
	assert_int_equal(b->nr_calls, 1);
	assert_int_equal(a->miss, b->miss);
	assert_int_equal(a->nr, b->nr);
	for (size_t f = 0; f < a->nr; f++) {
		assert_string_equal(a->frames[f].function, b->frames[f].function);
		assert_string_equal(a->frames[f].file, b->frames[f].file);
		assert_int_equal(a->frames[f].line, b->frames[f].line);
	}
}

static void test_answers_as_a_new_one(void **state)
{
	static const char *const builds[] = {"-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -gz"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		uint64_t start, size, nr_lines = 0;

		build_units(builds[i]);
		size = text_of("units-program", &start);
		/* From the third request on only some units are read. */
		for (uint64_t at = 0; at < size; at += 3) {
			const uint64_t vaddrs[] = {start + at,
						   start + (at * 7919) % size};
			struct got kept[2] = {0}, fresh[2] = {0};

			ask("units-program", NULL, vaddrs, 2, kept);
			resolve("units-program", NULL, vaddrs, 2, fresh, NULL);
			check_equal(&kept[0], &fresh[0]);
			check_equal(&kept[1], &fresh[1]);
			nr_lines += fresh[0].miss == MISS_NONE;
			forget(kept, 2);
			forget(fresh, 2);
		}
		assert_true(nr_lines > NR_UNITS);
	}
}

static void test_a_changed_file_is_read_again(void **state)
{
	struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	char path[PATH_MAX];
	int nr_deleted;

	(void)state;
	build_units("-gz");
	ask_main("units-program");
	ask_main("units-program");
	assert_int_equal(held("/units-program"), 1);
	nr_deleted = held("/units-program (deleted)");
	/* Another file at the same path, with its size and time. */
	assert_int_equal(shell("cd %s && cp -p units-program copy && "
			       "mv copy units-program",
			       dir),
			 0);
	assert_int_equal(held("/units-program (deleted)"), nr_deleted + 1);
	ask_main("units-program");
	assert_int_equal(held("/units-program"), 1);
	/* The same file, written again. */
	snprintf(path, sizeof(path), "%s/units-program", dir);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	ask_main("units-program");
	assert_int_equal(held("/units-program"), 2);
	ask_main("units-program");
	assert_int_equal(held("/units-program"), 2);
}

static void test_the_oldest_one_makes_room(void **state)
{
	char name[16];

	(void)state;
	build_units("-gz");
	assert_int_equal(shell("cd %s && for i in $(seq 0 %d); do "
			       "cp units-program many$i; done",
			       dir, KEPT_MAX_FILES),
			 0);
	for (int i = 0; i < KEPT_MAX_FILES; i++) {
		snprintf(name, sizeof(name), "many%d", i);
		ask_main(name);
	}
	assert_int_equal(held("/many1"), 1);
	ask_main("many0");
	snprintf(name, sizeof(name), "many%d", KEPT_MAX_FILES);
	ask_main(name);
	assert_int_equal(held("/many0"), 1);
	assert_int_equal(held("/many1"), 0);
	assert_int_equal(held("/many2"), 1);
}

static void test_an_old_one_is_let_go(void **state)
{
	(void)state;
	build_units("-gz");
	ask_main("units-program");
	assert_int_equal(shell("cp %s/units-program %s/other", dir, dir), 0);
	for (int i = 0; i < KEPT_MAX_AGE; i++)
		ask_main("other");
	assert_int_equal(held("/units-program"), 1);
	ask_main("other");
	assert_int_equal(held("/units-program"), 0);
	assert_int_equal(held("/other"), 1);
}

/* Also if all the others cannot be opened. */
static void test_an_old_one_is_let_go_for_nothing(void **state)
{
	_cleanup_close_ int text = -1;
	struct dwarf_source *d;

	(void)state;
	build_units("-gz");
	ask_main("units-program");
	assert_int_equal(shell("echo text >%s/text", dir), 0);
	text = open_in_dir("text");
	for (int i = 0; i <= KEPT_MAX_AGE; i++) {
		assert_int_equal(held("/units-program"), 1);
		assert_int_equal(kept_dwarf_open(text, 0, NULL, NULL, &d), -EBADMSG);
		kept_dwarf_done(false);
	}
	assert_int_equal(held("/units-program"), 0);
}

static void test_without_a_part(void **state)
{
	struct needs refused = {.refuse = true}, given = {0};
	uint64_t vaddr;

	(void)state;
	assert_int_equal(
		shell("cd %s && rm -rf split && mkdir split && cd split && "
		      "gcc -w -O2 -g -gsplit-dwarf -c %s/inline.c -o inline.o && "
		      "gcc -o ../split-program inline.o",
		      dir, sources),
		0);
	vaddr = probe("split-program", "probe_leaf");
	for (int i = 0; i < 2; i++) {
		struct got got = {0};

		ask("split-program", &refused, &vaddr, 1, &got);
		assert_int_equal(held("/split-program"), 0);
		forget(&got, 1);
	}
	/* The part may be there at the next request. */
	for (int i = 0; i < 2; i++) {
		struct got got = {0};

		ask("split-program", &given, &vaddr, 1, &got);
		assert_int_equal(got.nr, 4);
		assert_int_equal(held("/split-program"), 1);
		forget(&got, 1);
	}
}

#define NR_EMPTY_SECTIONS 100000

/* Gives "dir/@file" many sections more. libelf allocates some 270 bytes for each. */
static void add_sections(const char *file)
{
	Elf64_Shdr table[64];
	Elf64_Ehdr head;
	char path[PATH_MAX];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
	assert_in_range(head.e_shnum, 1, ARRAY_SIZE(table));
	assert_int_equal(
		pread(fd, table, head.e_shnum * sizeof(*table), (off_t)head.e_shoff),
		head.e_shnum * sizeof(*table));
	assert_int_equal(fstat(fd, &st), 0);
	table[0].sh_size = NR_EMPTY_SECTIONS;
	head.e_shoff = ((uint64_t)st.st_size + 7) & ~7ULL;
	assert_int_equal(
		pwrite(fd, table, head.e_shnum * sizeof(*table), (off_t)head.e_shoff),
		head.e_shnum * sizeof(*table));
	head.e_shnum = 0; /* more than the field can hold */
	assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	assert_int_equal(
		ftruncate(fd, (off_t)(head.e_shoff + NR_EMPTY_SECTIONS * sizeof(*table))),
		0);
	close(fd);
}

/* What libelf has of a part stays in memory, too. */
static void test_with_a_large_part(void **state)
{
	struct needs needs = {0};
	uint64_t vaddr;

	(void)state;
	assert_int_equal(
		shell("cd %s && rm -rf split && mkdir split && cd split && "
		      "gcc -w -O2 -g -gsplit-dwarf -c %s/inline.c -o inline.o && "
		      "gcc -o ../large-part inline.o && cp *.dwo ../program.dwp",
		      dir, sources),
		0);
	vaddr = probe("large-part", "probe_leaf");
	for (int is_large = 0; is_large < 2; is_large++) {
		struct got got = {0};

		if (is_large)
			add_sections("program.dwp");
		ask_in((uint64_t)is_large, "large-part", &needs, &vaddr, 1, &got);
		assert_int_equal(got.nr, 4);
		assert_int_equal(needs.nr[NEED_DWP], is_large + 1);
		assert_int_equal(held("/large-part"), 1); /* of the first root */
		forget(&got, 1);
	}
	assert_int_equal(shell("rm %s/program.dwp", dir), 0);
}

/* What belongs to it (dwz, dwp) may be another file in another root. */
static void test_one_for_each_root(void **state)
{
	uint64_t vaddr;

	(void)state;
	build_units("-gz");
	vaddr = probe("units-program", "main");
	for (uint64_t root = 0; root < 4; root++) {
		struct got got = {0};

		ask_in(root % 2, "units-program", NULL, &vaddr, 1, &got);
		assert_int_equal(held("/units-program"), root ? 2 : 1);
		forget(&got, 1);
	}
}

static void test_not_usable(void **state)
{
	_cleanup_close_ int text = -1, program = -1;
	struct dwarf_source *d;

	(void)state;
	assert_int_equal(
		shell("echo text >%s/text && cp %s/units-program %s/bad", dir, dir, dir),
		0);
	text = open_in_dir("text");
	assert_int_equal(kept_dwarf_open(text, 0, NULL, NULL, &d), -EBADMSG);
	kept_dwarf_done(false);
	assert_int_equal(held("/text"), 0);
	/* What a request found to be malformed. */
	program = open_in_dir("bad");
	assert_int_equal(kept_dwarf_open(program, 0, NULL, NULL, &d), 0);
	kept_dwarf_done(false);
	assert_int_equal(held("/bad"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_part),
		cmocka_unit_test(test_with_a_large_part),
		cmocka_unit_test(test_one_for_each_root),
		cmocka_unit_test(test_answers_as_a_new_one),
		cmocka_unit_test(test_a_changed_file_is_read_again),
		cmocka_unit_test(test_the_oldest_one_makes_room),
		cmocka_unit_test(test_an_old_one_is_let_go),
		cmocka_unit_test(test_an_old_one_is_let_go_for_nothing),
		cmocka_unit_test(test_not_usable),
	};

	return cmocka_run_group_tests(tests, setup_dir, remove_dir);
}
