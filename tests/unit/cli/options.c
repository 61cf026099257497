// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/options.h"
#include "lib/scratch.h"

/* Splits @line at spaces and parses it as a command line. */
static int parse(const char *line, struct options *o, struct error *err)
{
	static char copy[512], *argv[32];
	int argc = 0;

	strncpy(copy, line, sizeof(copy) - 1);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	*err = (struct error){0};
	return options_parse(argc, argv, o, err);
}

static void good_lines(void **state)
{
	struct options o;
	struct error err;

	(void)state;
	assert_int_equal(parse("lineburn run -- ./a -F 3", &o, &err), 0);
	assert_int_equal(o.command, COMMAND_RUN);
	assert_int_equal(o.sampling.freq_hz, 99);
	assert_string_equal(o.sampling.argv[0], "./a");
	assert_string_equal(o.sampling.argv[2], "3");
	assert_string_equal(o.sampling.output, "lineburn.pb.gz");
	assert_false(o.sampling.output_given);
	options_deinit(&o);

	assert_int_equal(parse("lineburn run -F 999 -o x.pb.gz ls -l", &o, &err), 0);
	assert_int_equal(o.sampling.freq_hz, 999);
	assert_true(o.sampling.output_given);
	assert_string_equal(o.sampling.argv[1], "-l");
	options_deinit(&o);

	assert_int_equal(parse("lineburn record -a --budget 0.5%", &o, &err), 0);
	assert_int_equal(o.sampling.budget_ppm, 5000);
	options_deinit(&o);
	assert_int_equal(parse("lineburn run --budget=2 ls", &o, &err), 0);
	assert_int_equal(o.sampling.budget_ppm, 20000);
	options_deinit(&o);

	assert_int_equal(parse("lineburn record -a", &o, &err), 0);
	assert_ptr_equal(o.sampling.source, &cpu_clock_source);
	assert_int_equal(o.sampling.freq_hz, 99);
	options_deinit(&o);
	assert_int_equal(parse("lineburn record -a -e page-faults", &o, &err), 0);
	assert_ptr_equal(o.sampling.source, &page_fault_source);
	assert_int_equal(o.sampling.event_period, 1);
	assert_int_equal(o.sampling.freq_hz, 0);
	options_deinit(&o);
	assert_int_equal(parse("lineburn run -e page-faults -c 1000 ls", &o, &err), 0);
	assert_int_equal(o.sampling.event_period, 1000);
	options_deinit(&o);

	assert_int_equal(parse("lineburn record -p 1 -p 22 -d 1.5 --tid", &o, &err), 0);
	assert_int_equal(o.sampling.target.nr_pids, 2);
	assert_int_equal(o.sampling.target.pids[1], 22);
	assert_true(o.sampling.duration_s == 1.5);
	assert_true(o.sampling.keep_tid);
	options_deinit(&o);

	assert_int_equal(parse("lineburn record -a --window 1.5m --keep 10 --max-size 2K "
			       "--memory 128",
			       &o, &err),
			 0);
	assert_true(o.sampling.window_s == 90);
	assert_int_equal(o.sampling.keep_windows, 10);
	assert_int_equal(o.sampling.max_size_bytes, 2048);
	assert_int_equal(o.sampling.memory_bytes, 128 << 20);
	options_deinit(&o);

	assert_int_equal(
		parse("lineburn annotate --json --charge=mine --source-path /a=/b "
		      "--min-percent 1 f.pb.gz",
		      &o, &err),
		0);
	assert_string_equal(o.viewing.format, "json");
	assert_int_equal(o.viewing.attribution.charge, CHARGE_MINE);
	assert_string_equal(o.viewing.source_paths[0].old_prefix, "/a");
	assert_string_equal(o.viewing.source_paths[0].new_prefix, "/b");
	assert_string_equal(o.viewing.input, "f.pb.gz");
	options_deinit(&o);

	assert_int_equal(parse("lineburn report --by cgroup --container web -p 12 "
			       "--comm !k* -G /a --user - f.pb.gz",
			       &o, &err),
			 0);
	assert_int_equal(o.viewing.group_by, GROUP_BY_CGROUP);
	assert_int_equal(o.viewing.nr_filters, 5);
	assert_int_equal(o.viewing.filters[1].kind, FILTER_PID);
	assert_string_equal(o.viewing.filters[1].value, "12");
	assert_false(o.viewing.filters[1].exclude);
	assert_string_equal(o.viewing.filters[2].value, "k*");
	assert_true(o.viewing.filters[2].exclude);
	assert_int_equal(o.viewing.filters[3].kind, FILTER_CGROUP);
	assert_int_equal(o.sampling.target.nr_pids, 0);
	assert_string_equal(o.viewing.input, "f.pb.gz");
	options_deinit(&o);

	assert_int_equal(parse("lineburn annotate -", &o, &err), 0);
	assert_string_equal(o.viewing.input, "-");
	options_deinit(&o);
	assert_int_equal(
		parse("lineburn record --comm a* --comm !b -p !7 --user x", &o, &err), 0);
	assert_true(o.sampling.target.whole_machine);
	assert_int_equal(o.sampling.target.nr_pids, 0);
	assert_int_equal(o.sampling.target.nr_values, 4);
	assert_int_equal(o.sampling.target.values[0].kind, LB_FILTER_COMM);
	assert_false(o.sampling.target.values[0].excludes);
	assert_true(o.sampling.target.values[1].excludes);
	assert_string_equal(o.sampling.target.values[1].text, "b");
	assert_true(o.sampling.target.values[2].excludes);
	assert_int_equal(o.sampling.target.values[2].number, 7);
	options_deinit(&o);
	assert_int_equal(parse("lineburn record -t 9 --comm a", &o, &err), 0);
	assert_false(o.sampling.target.whole_machine);
	options_deinit(&o);
	assert_int_equal(parse("lineburn record --help", &o, &err), 0);
	assert_int_equal(o.command, COMMAND_HELP);
	assert_int_equal(o.help_for, COMMAND_RECORD);
	options_deinit(&o);
	assert_int_equal(parse("lineburn -vv", &o, &err), -EINVAL);
	options_deinit(&o);
}

static void expect_asm(const char *line, const char *what, const char *input)
{
	struct options o;
	struct error err;

	if (parse(line, &o, &err))
		fail_msg("%s: %s", line, err.text);
	assert_true(o.viewing.show_asm);
	if (what)
		assert_string_equal(o.viewing.asm_what, what);
	else
		assert_null(o.viewing.asm_what);
	assert_string_equal(o.viewing.input, input);
	options_deinit(&o);
}

/* What to show, or a profile, or both, in any order. */
static void asm_arguments(void **state)
{
	char dir[SCRATCH_BYTES];
	FILE *f;

	(void)state;
	scratch_make(dir, 0700);
	assert_int_equal(chdir(dir), 0);
	f = fopen("gzipped", "w");
	fputs("\x1f\x8b...", f);
	fclose(f);
	f = fopen("main", "w"); /* a program with the same name as the function */
	fputs("\x7f"
	      "ELF",
	      f);
	fclose(f);

	expect_asm("lineburn annotate --asm", NULL, "lineburn.pb.gz");
	expect_asm("lineburn annotate --asm=dither", "dither", "lineburn.pb.gz");
	expect_asm("lineburn annotate --asm=dither x.pb.gz", "dither", "x.pb.gz");
	expect_asm("lineburn annotate --asm=dither x", "dither", "x");
	expect_asm("lineburn annotate --asm dither", "dither", "lineburn.pb.gz");
	expect_asm("lineburn annotate --asm src/a.c:12", "src/a.c:12", "lineburn.pb.gz");
	expect_asm("lineburn annotate --asm main", "main", "lineburn.pb.gz");
	expect_asm("lineburn annotate --asm none.pb.gz", NULL, "none.pb.gz");
	expect_asm("lineburn annotate --asm gzipped", NULL, "gzipped");
	expect_asm("lineburn annotate --asm -", NULL, "-");
	expect_asm("lineburn annotate --asm dither x.pb.gz", "dither", "x.pb.gz");
	expect_asm("lineburn annotate x.pb.gz --asm dither", "dither", "x.pb.gz");
	expect_asm("lineburn annotate --asm gzipped x.pb.gz", "x.pb.gz", "gzipped");
	expect_asm("lineburn annotate --asm dither gzipped", "dither", "gzipped");
	expect_asm("lineburn annotate --asm dither main", "dither", "main");

	unlink("gzipped");
	unlink("main");
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* "before: a b; after: c": which recordings are on which side */
static void expect_sides(const char *line, const char *expected)
{
	char text[256] = "";
	struct options o;
	struct error err;

	if (parse(line, &o, &err))
		fail_msg("%s: %s", line, err.text);
	for (int s = 0; s < NR_DIFF_SIDES; s++) {
		strcat(text, s ? "; after:" : "before:");
		for (size_t i = 0; i < o.comparing.sides[s].nr_files; i++)
			strcat(strcat(text, " "), o.comparing.sides[s].files[i]);
	}
	assert_string_equal(text, expected);
	options_deinit(&o);
}

/* What leaves samples or frames out is told, of whichever kind it is. */
static void filters_of_diff(void **state)
{
	static const struct {
		const char *option;
		bool is_filter;
	} options[] = {
		{"", false},          {"--comm x", true},  {"--focus x", true},
		{"--ignore x", true}, {"--hide x", true},  {"--time 1-2", true},
		{"--types", false},   {"--kernel", false}, {"--skip-compile", false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		char line[64];
		struct options o;
		struct error err;

		snprintf(line, sizeof(line), "lineburn diff a b %s", options[i].option);
		assert_int_equal(parse(line, &o, &err), 0);
		if (has_filters(&o.viewing) != options[i].is_filter)
			fail_msg("%s", line);
		options_deinit(&o);
	}
}

static void sides_of_diff(void **state)
{
	struct options o;
	struct error err;

	(void)state;
	expect_sides("lineburn diff a b", "before: a; after: b");
	expect_sides("lineburn diff a --after b", "before: a; after: b");
	expect_sides("lineburn diff --json a b -v --after c --limit 3 d e",
		     "before: a b; after: c d e");
	expect_sides("lineburn diff a --after -- -b --c", "before: a; after: -b --c");
	expect_sides("lineburn diff -- -a -b", "before: -a; after: -b");
	expect_sides("lineburn diff - a", "before: -; after: a");

	assert_int_equal(parse("lineburn diff a b --per before=1.5+2+3,after=4 --noise 0 "
			       "--after c d",
			       &o, &err),
			 -EINVAL); /* three numbers for two recordings */
	options_deinit(&o);
	assert_int_equal(
		parse("lineburn diff a b --per second --per before=1.5+2,after=4 "
		      "--noise 2.5 --after c d",
		      &o, &err),
		0);
	assert_int_equal(o.comparing.per, DIFF_PER_WORK);
	assert_int_equal(o.comparing.sides[DIFF_BEFORE].nr_works, 2);
	assert_true(o.comparing.sides[DIFF_BEFORE].works[0] == 1.5);
	assert_true(o.comparing.sides[DIFF_AFTER].works[0] == 4);
	assert_true(o.comparing.noise == 0.025);
	options_deinit(&o);
}

static void bad_lines_are_one_sentence(void **state)
{
	static const struct {
		const char *line, *words;
	} cases[] = {
		{"lineburn", "no command"},
		{"lineburn frobnicate", "\"frobnicate\""},
		{"lineburn run", "run needs a command"},
		{"lineburn run --nonsense ls", "\"--nonsense\""},
		{"lineburn run -F 0 ls", "from 1 to 10000"},
		{"lineburn run -F 10001 ls", "\"10001\""},
		{"lineburn run -F -5 ls", "\"-5\""},
		{"lineburn run -F 9x ls", "\"9x\""},
		{"lineburn run -F", "needs an argument"},
		{"lineburn record -a --budget 0", "0.001% to 100%"},
		{"lineburn record -a --budget 0.0001%", "\"0.0001%\""},
		{"lineburn record -a --budget 101", "\"101\""},
		{"lineburn record -a --budget nan", "\"nan\""},
		{"lineburn record -a --budget -1%", "\"-1%\""},
		{"lineburn record -a --budget 1%%", "\"1%%\""},
		{"lineburn record -a --budget %", "\"%\""},
		{"lineburn run -p 3 ls", "unknown option"},
		{"lineburn record", "-p PID, -t TID, --container"},
		{"lineburn record --no-children", "record needs a target"},
		{"lineburn record -a --no-children", "goes with -p"},
		{"lineburn record -a -t 5", "-t exclude each other"},
		{"lineburn record -t x", "thread id"},
		{"lineburn record -p !", "process id"},
		{"lineburn record --comm !", "pattern"},
		{"lineburn record --comm 0123456789abcde?", "15 bytes"},
		{"lineburn record -G !", "path of a cgroup"},
		{"lineburn record -a -p 1", "exclude"},
		{"lineburn record -p 0", "process id"},
		{"lineburn record -p -1", "process id"},
		{"lineburn record -a extra", "\"extra\""},
		{"lineburn record -a -d nan", "\"nan\""},
		{"lineburn record -a -d -1", "\"-1\""},
		{"lineburn record -a --window 0", "from 0.1 s on"},
		{"lineburn record -a --window 5x", "\"5x\""},
		{"lineburn record -a --window 5 --keep 0", "from 1 to 1000000"},
		{"lineburn record -a --window 5 --max-size 0", "--max-size takes bytes"},
		{"lineburn record -a --memory 63", "from 64 to 65536"},
		{"lineburn record -a --keep 3", "go with --window"},
		{"lineburn record -a --window 5 -o -", "not -"},
		{"lineburn run --window 5 ls", "unknown option"},
		{"lineburn annotate --charge=all", "line, mine or leaf"},
		{"lineburn annotate --source-path x", "OLD=NEW"},
		{"lineburn annotate a b", "\"b\""},
		{"lineburn annotate --asm a.pb.gz b c", "\"c\""},
		{"lineburn annotate --asm=a b c", "\"c\""},
		{"lineburn annotate --asm=", "a function or FILE:LINE"},
		{"lineburn report --asm", "unknown option"},
		{"lineburn report --color=blue", "auto, always or never"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct options o;
		struct error err;

		assert_true(parse(cases[i].line, &o, &err) < 0);
		assert_int_equal(err.exit_code, EXIT_USAGE);
		if (!strstr(err.text, cases[i].words))
			fail_msg("%s: %s", cases[i].line, err.text);
		options_deinit(&o);
	}
}

/*
 * Uprobes are only placed in targets that the user named, not in groups others can
 * join.
 */
static void uprobes_are_for_named_targets(void **state)
{
	static const struct {
		const char *line;
		enum jit_probing probing;
	} cases[] = {
		{"lineburn run ls", JIT_PROBING_TRUSTED},
		{"lineburn run --no-uprobe ls", JIT_PROBING_NONE},
		{"lineburn run --uprobe ls", JIT_PROBING_ALL},
		{"lineburn record -p 1", JIT_PROBING_TRUSTED},
		{"lineburn record -t 1", JIT_PROBING_TRUSTED},
		{"lineburn record --container web --window 5m", JIT_PROBING_TRUSTED},
		{"lineburn record --unit cron.service", JIT_PROBING_TRUSTED},
		{"lineburn record -G /system.slice", JIT_PROBING_TRUSTED},
		{"lineburn record -G /", JIT_PROBING_NONE},
		{"lineburn record -a", JIT_PROBING_NONE},
		{"lineburn record -a --window 5m", JIT_PROBING_NONE},
		{"lineburn record --user root", JIT_PROBING_NONE},
		{"lineburn record --comm python*", JIT_PROBING_NONE},
		{"lineburn record -a --container !web", JIT_PROBING_NONE},
		{"lineburn record -p !1", JIT_PROBING_NONE},
		{"lineburn record -a --uprobe", JIT_PROBING_ALL},
		{"lineburn record -a --uprobe --no-uprobe", JIT_PROBING_NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct options o;
		struct error err;

		assert_int_equal(parse(cases[i].line, &o, &err), 0);
		if (o.sampling.probing != cases[i].probing)
			fail_msg("%s: %d", cases[i].line, o.sampling.probing);
		options_deinit(&o);
	}
}

static bool takes(const char *option, const char *value, struct options *ret)
{
	char *argv[] = {"lineburn", "record",       "-a",          "--window",
			"9",        (char *)option, (char *)value, NULL};
	struct error err;
	bool is_good = !options_parse(7, argv, ret, &err);

	options_deinit(ret);
	return is_good;
}

static void durations_and_sizes(void **state)
{
	static const char *const bad[] = {"",    "s",   "-1", "1x",  "1ss",   "1 s",
					  "nan", "inf", ".",  "0x1", "1.2.3", "1e3"};
	struct options o;

	(void)state;
	assert_true(takes("--window", "60s", &o) && o.sampling.window_s == 60);
	assert_true(takes("--window", "90", &o) && o.sampling.window_s == 90);
	assert_true(takes("--window", "1.5m", &o) && o.sampling.window_s == 90);
	assert_true(takes("--window", "0.5h", &o) && o.sampling.window_s == 1800);
	assert_true(takes("--window", "10000000", &o) && o.sampling.window_s == 1e7);
	assert_true(takes("--max-size", "4096", &o));
	assert_true(o.sampling.max_size_bytes == 4096);
	assert_true(takes("--max-size", "1.5K", &o));
	assert_true(o.sampling.max_size_bytes == 1536);
	assert_true(takes("--max-size", "2G", &o));
	assert_true(o.sampling.max_size_bytes == 2ULL << 30);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (takes("--window", bad[i], &o) || takes("--max-size", bad[i], &o))
			fail_msg("\"%s\" is taken", bad[i]);
	assert_false(takes("--window", "10000001", &o));
	assert_false(takes("--window", "2778h", &o));
	assert_false(takes("--max-size", "0", &o));
	assert_false(takes("--max-size", "99999999999G", &o));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_lines),
		cmocka_unit_test(asm_arguments),
		cmocka_unit_test(sides_of_diff),
		cmocka_unit_test(filters_of_diff),
		cmocka_unit_test(uprobes_are_for_named_targets),
		cmocka_unit_test(durations_and_sizes),
		cmocka_unit_test(bad_lines_are_one_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
