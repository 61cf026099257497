// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/profile/owners.h"

#include "base/strpool.h"
#include "live/board.h"
#include "live/table.h"

static struct strpool *pool;
static struct profile *p;
static struct board *b;

static int setup(void **state)
{
	(void)state;
	pool = strpool_new(64 << 20);
	p = profile_new(pool);
	p->extra.present = true;
	p->extra.wall_ns = 10000000000u;
	p->extra.nr_cpus = 4;
	p->extra.freq_hz = 100;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	board_free(b);
	b = NULL;
	profile_free(p);
	strpool_free(pool);
	return 0;
}

static void make(struct board_place place, enum board_sort sort, const char *find)
{
	const struct board_options options = {.sort = sort, .find = find};

	board_free(b);
	b = NULL;
	assert_int_equal(board_make(p, &place, &options, &b), 0);
}

/* The rows of the board, as they are printed. */
static void check_rows(size_t width, const char *expected)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; i < b->nr_rows; i++) {
		table_row(b, &b->rows[i], width, out);
		fputc('\n', out);
	}
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void check_text(void (*print)(const struct board *, FILE *), const char *expected)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	print(b, out);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

/* 1000 samples of 10 ms in 10 s: one CPU. */
static void test_containers(void **state)
{
	(void)state;
	add_machine(p);
	make((struct board_place){.view = BOARD_CONTAINERS}, BOARD_BY_SELF, NULL);
	check_rows(
		80,
		"   40.0     40.0  web                              docker 3f2a8c9d0e1f\n"
		"   30.0     30.0  db                               podman 3f91cc09a1b2\n"
		"   20.0     20.0  outside of containers\n"
		"    5.0      5.0  77aa8c9d0e1f                     docker 77aa8c9d0e1f\n"
		"    3.0      3.0  debian                           nspawn debian\n"
		"    2.0      2.0  sidecar                          containerd "
		"77bb8c9d0e1f\n");
	assert_string_equal(b->rows[0].key, WEB_ID);
	assert_string_equal(b->rows[2].key, "-");
	check_text(table_head, "last 10 s: 1.00 of 4 CPUs; 1000 samples at 100 Hz; "
			       "lineburn itself 0 % of a CPU");
}

static void test_processes_of_a_container(void **state)
{
	(void)state;
	add_machine(p);
	make((struct board_place){.view = BOARD_PROCESSES, .container = WEB_ID},
	     BOARD_BY_SELF, NULL);
	check_rows(80,
		   "   40.0    100.0       100  nginx             /usr/sbin/nginx  in "
		   "web\n");
	assert_int_equal(b->rows[0].pid, 100);
	check_text(table_head,
		   "last 10 s: 1.00 CPUs of the targets, 0.40 here; 400 samples "
		   "at 100 Hz; lineburn itself 0 % of a CPU");
	check_text(table_caution, "27.5 % of the CPU time without a source line");
}

static void test_outside_of_containers(void **state)
{
	(void)state;
	add_machine(p);
	make((struct board_place){.view = BOARD_PROCESSES, .container = "-"},
	     BOARD_BY_NAME, NULL);
	check_rows(80, "   10.0     50.0        20  kworker/0:1\n"
		       "   10.0     50.0       300  sshd              /usr/sbin/sshd\n");
}

static void test_functions_of_a_process(void **state)
{
	(void)state;
	add_machine(p);
	make((struct board_place){.view = BOARD_FUNCTIONS,
				  .container = WEB_ID,
				  .pid = 100},
	     BOARD_BY_SELF, NULL);
	check_rows(80,
		   "   72.5     72.5    29.0   serve                       /src/app.c\n"
		   "   27.5     27.5    11.0   memcpy                      app\n");
	assert_string_equal(b->rows[0].key, "/src/app.c");
	assert_null(b->rows[1].key);
}

static void build_calls(void)
{
	uint32_t app = add_mapping(p, "/home/me/app");
	uint32_t caller = add_location(p, app, 1, MISS_NONE, "main@/home/me/a.c:3");
	uint32_t leaf = add_location(p, app, 2, MISS_NONE, "work@/home/me/a.c:12");
	uint32_t other = add_location(p, app, 3, MISS_NONE, "rest@/home/me/b.c:7");

	add_stack(p, LB_STACK_COMPLETE, 60, leaf, caller);
	add_stack(p, LB_STACK_GUESSED, 7, other, caller);
	add_stack(p, LB_STACK_DERIVED, 3, other, caller);
	add_stack(p, LB_STACK_BAD_FP, 30, other);
}

static void test_lines_and_orders(void **state)
{
	static const char *const work = "   60.0     60.0     6.0   /home/me/a.c:12"
					"             work\n";
	static const char *const rest = "   40.0     40.0     4.0   /home/me/b.c:7"
					"              rest\n";
	static const char *const main3 = "            70.0     7.0   /home/me/a.c:3"
					 "              main\n";
	const char *const by[NR_BOARD_SORTS][3] = {
		[BOARD_BY_SELF] = {work, rest, main3},
		[BOARD_BY_TOTAL] = {main3, work, rest},
		[BOARD_BY_NAME] = {main3, work, rest},
	};

	(void)state;
	build_calls();
	for (int i = 0; i < NR_BOARD_SORTS; i++) {
		char text[512];

		snprintf(text, sizeof(text), "%s%s%s", by[i][0], by[i][1], by[i][2]);
		make((struct board_place){.view = BOARD_LINES}, (enum board_sort)i, NULL);
		check_rows(80, text);
	}
	check_text(table_caution, "30.0 % of the stacks without all callers; 10.0 % of "
				  "the stacks with callers found without unwind tables");
}

static void test_find(void **state)
{
	(void)state;
	build_calls();
	make((struct board_place){.view = BOARD_LINES}, BOARD_BY_SELF, "MAIN");
	check_rows(80, "            70.0     7.0   /home/me/a.c:3              main\n");
	make((struct board_place){.view = BOARD_LINES}, BOARD_BY_SELF, "b.c");
	check_rows(80, "   40.0     40.0     4.0   /home/me/b.c:7              rest\n");
	make((struct board_place){.view = BOARD_LINES}, BOARD_BY_SELF, "nowhere");
	assert_int_equal(b->nr_rows, 0);
}

static void add_source(const char *path, const char *text, uint32_t nr_lines)
{
	struct profile_source source = {.path = strpool_add(pool, path),
					.size_bytes = strlen(text),
					.nr_lines = nr_lines};

	source.runs = calloc(1, sizeof(*source.runs));
	source.runs[0] = (struct profile_source_run){1, nr_lines, strdup(text)};
	source.nr_runs = 1;
	assert_int_equal(profile_add_source(p, &source), 0);
}

/* The text as it stands in the file, with the figures beside it. */
static void test_source(void **state)
{
	const struct board_place place = {
		.view = BOARD_SOURCE, .path = "/home/me/b.c", .line = 7};

	(void)state;
	build_calls();
	add_source("/home/me/b.c",
		   "one\n\ttwo\nthree\nfour\nfive\nsix\nint \033[2Jrest;\neight", 8);
	make(place, BOARD_BY_TOTAL, NULL);
	check_rows(50, "                       1   one\n"
		       "                       2       two\n"
		       "                       3   three\n"
		       "                       4   four\n"
		       "                       5   five\n"
		       "                       6   six\n"
		       "   40.0     40.0       7   int \\x1b[2Jrest;\n"
		       "                       8   eight\n");
	assert_int_equal(b->start, 6);
	assert_string_equal(b->note, "");
}

/* Without the text, the lines with samples. They begin with the function's hottest. */
static void test_source_without_text(void **state)
{
	const struct board_place place = {
		.view = BOARD_SOURCE, .path = "/home/me/a.c", .function = "work"};

	(void)state;
	build_calls();
	make(place, BOARD_BY_SELF, NULL);
	check_rows(50, "            70.0       3   \n"
		       "   60.0     60.0      12   \n");
	assert_int_equal(b->start, 1);
	assert_string_equal(b->note, "the text of this file is not here (yet)");
}

/* Two containers have a file of this path; the other one is the hotter. */
static void test_source_of_namesakes(void **state)
{
	struct profile_function other = {.name = "other", .system_name = ""};
	struct profile_line line = {.line = 9};

	(void)state;
	build_calls();
	other.filename = profile_add_namesake(p, strpool_add(pool, "/home/me/a.c"));
	line.function = profile_add_function(p, &other);
	add_stack(p, LB_STACK_COMPLETE, 900,
		  profile_add_location(p, 0, 0x900, MISS_NONE, &line, 1));
	make((struct board_place){.view = BOARD_SOURCE, .path = "/home/me/a.c"},
	     BOARD_BY_SELF, NULL);
	check_rows(50, "   90.0     90.0       9   \n");
	assert_string_equal(
		b->note,
		"2 files have this path: this one has the most CPU time, open a "
		"container first to see its own; the text of this file is not here "
		"(yet)");
}

static void test_source_of_another_file(void **state)
{
	(void)state;
	build_calls();
	make((struct board_place){.view = BOARD_SOURCE, .path = "/x.c"}, BOARD_BY_SELF,
	     NULL);
	assert_int_equal(b->nr_rows, 0);
	assert_non_null(strstr(b->note, "no CPU time is charged to this file"));
}

static void test_nothing(void **state)
{
	(void)state;
	for (int view = 0; view < NR_BOARD_VIEWS; view++) {
		make((struct board_place){.view = (enum board_view)view, .path = "/x"},
		     BOARD_BY_SELF, NULL);
		assert_int_equal(b->nr_rows, 0);
		check_text(table_caution, "no samples in the last 10 s");
	}
}

/* A container that has gone leaves an empty table that says so. */
static void test_nothing_here(void **state)
{
	(void)state;
	add_machine(p);
	make((struct board_place){.view = BOARD_LINES, .container = "0123456789ab"},
	     BOARD_BY_SELF, NULL);
	assert_int_equal(b->nr_rows, 0);
	assert_non_null(strstr(b->note, "no sample is of container"));
}

static void test_losses(void **state)
{
	(void)state;
	build_calls();
	p->extra.losses = (struct profile_losses){
		.due = 200, .missed = 20, .sampled = 125, .counted = 100};
	p->extra.cost =
		(struct profile_cost){.collector_cpu_ns = 20000000, .bpf_ns = 5000000};
	make((struct board_place){.view = BOARD_LINES}, BOARD_BY_SELF, NULL);
	check_text(table_caution,
		   "30.0 % of the stacks without all callers; 10.0 % of the "
		   "stacks with callers found without unwind tables; 20.0 % of the "
		   "samples lost; 10.0 % of the ticks missed");
	check_text(table_head,
		   "last 10 s: 0.10 of 4 CPUs; 100 samples at 100 Hz; lineburn "
		   "itself 0.2 % of a CPU");
}

/* A clock does not sample code of the kernel that runs with interrupts off. */
static void test_functions_of_the_kernel(void **state)
{
	const struct board_place place = {.view = BOARD_FUNCTIONS};
	uint32_t kernel = add_mapping(p, PROFILE_KERNEL);
	uint32_t unlock = add_location(p, kernel, 1, MISS_KERNEL, "unlock");

	(void)state;
	add_stack(p, LB_STACK_NO_USER, 3, unlock);
	make(place, BOARD_BY_SELF, NULL);
	check_text(table_caution,
		   "100.0 % of the CPU time without a source line; kernel code with "
		   "interrupts off counts where they are on again, or not at all");
	make((struct board_place){.view = BOARD_PROCESSES}, BOARD_BY_SELF, NULL);
	check_text(table_caution, "100.0 % of the CPU time without a source line");
	p->extra.freq_hz = 0;
	make(place, BOARD_BY_SELF, NULL);
	check_text(table_caution, "100.0 % of the CPU time without a source line");
}

static void test_many_rows(void **state)
{
	uint32_t app = add_mapping(p, "/home/me/app");

	(void)state;
	for (uint32_t i = 1; i <= BOARD_MAX_ROWS + 5; i++) {
		char frame[64];

		snprintf(frame, sizeof(frame), "f@/a.c:%u", i);
		add_stack(p, LB_STACK_COMPLETE, i,
			  add_location(p, app, i, MISS_NONE, frame));
	}
	make((struct board_place){.view = BOARD_LINES}, BOARD_BY_SELF, NULL);
	assert_int_equal(b->nr_rows, BOARD_MAX_ROWS);
	assert_int_equal(b->nr_left_out, 5);
	check_text(table_caution, "5 more rows: find them by text");
	assert_int_equal(b->rows[0].line, BOARD_MAX_ROWS + 5);
	make((struct board_place){.view = BOARD_SOURCE, .path = "/a.c"}, BOARD_BY_SELF,
	     NULL);
	assert_int_equal(b->nr_rows, BOARD_MAX_ROWS + 5);
}

/* A row fits its width, whatever names there are. */
static void test_widths(void **state)
{
	uint32_t app = add_mapping(p, "/home/me/app");
	char name[100], frame[200];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(frame, sizeof(frame), "%.80s@/%.60s/a.c:3", name, name);
	add_stack(p, LB_STACK_COMPLETE, 1, add_location(p, app, 1, MISS_NONE, frame));
	for (size_t width = 30; width < 200; width++)
		for (int view = 0; view < BOARD_SOURCE; view++) {
			char *text = NULL;
			size_t len;
			FILE *out = open_memstream(&text, &len);

			make((struct board_place){.view = (enum board_view)view},
			     BOARD_BY_SELF, NULL);
			for (size_t i = 0; i < b->nr_rows; i++)
				table_row(b, &b->rows[i], width, out);
			fclose(out);
			assert_in_range(len, b->nr_rows, b->nr_rows * width);
			free(text);
		}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_containers),
		TEST(test_processes_of_a_container),
		TEST(test_outside_of_containers),
		TEST(test_functions_of_a_process),
		TEST(test_lines_and_orders),
		TEST(test_find),
		TEST(test_source),
		TEST(test_source_without_text),
		TEST(test_source_of_namesakes),
		TEST(test_source_of_another_file),
		TEST(test_nothing),
		TEST(test_nothing_here),
		TEST(test_losses),
		TEST(test_functions_of_the_kernel),
		TEST(test_many_rows),
		TEST(test_widths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
