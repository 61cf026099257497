// SPDX-License-Identifier: GPL-2.0-or-later
/* Every format of every case, compared with tests/golden/<case>.<format>. */
#include "lib/golden.h"

#include <jansson.h>

#include "analyze/hot_lines.h"
#include "cases.h"

struct golden {
	const char *render_case, *command, *format;
	const char *variant; /* part of the file's name; may be "" */
	struct render_options opts;
};

#define OPTS(columns, lines, share, ...)                                            \
	{                                                                           \
		.width = columns, .context = lines, .min_share = share, __VA_ARGS__ \
	}

static const struct golden goldens[] = {
	{"typical", "annotate", "text", "", OPTS(100, 2, 0.005)},
	{"typical", "annotate", "text", "80", OPTS(80, 2, 0.005)},
	{"typical", "annotate", "text", "utf8", OPTS(100, 2, 0.005, .utf8 = true)},
	{"typical", "annotate", "text", "120", OPTS(120, 4, 0.005)},
	{"typical", "annotate", "text", "colour", OPTS(100, 2, 0.005, .colour = true)},
	{"typical", "annotate", "text", "no-limit", OPTS(0, 2, 0)},
	{"typical", "annotate", "text", "context0", OPTS(100, 0, 0.005)},
	{"typical", "annotate", "text", "coarse", OPTS(100, 2, 0.1)},
	{"typical", "annotate", "text", "file",
	 OPTS(100, 2, 0.005, .file_filter = "main.c")},
	{"typical", "annotate", "text", "no-file",
	 OPTS(100, 2, 0.005, .file_filter = "other.c")},
	{"typical", "annotate", "text", "nothing", OPTS(100, 2, 0.99)},
	{"typical", "annotate", "json", "", OPTS(100, 2, 0.005)},
	{"typical", "annotate", "csv", "", OPTS(100, 2, 0.005)},
	{"typical", "annotate", "quickfix", "", OPTS(100, 2, 0.005)},
	{"hostile", "annotate", "csv", "", OPTS(100, 2, 0.005)},
	{"hostile", "annotate", "quickfix", "", OPTS(100, 2, 0.005)},
	/* a line whose function is not known */
	{"no-source", "annotate", "quickfix", "", OPTS(100, 2, 0.005)},
	{"typical", "report", "text", "", OPTS(100, 2, 0.005)},
	{"typical", "report", "text", "80", OPTS(80, 2, 0.005)},
	{"typical", "report", "text", "colour", OPTS(100, 2, 0.005, .colour = true)},
	{"typical", "report", "json", "", OPTS(100, 2, 0.005)},
	{"typical", "report", "csv", "", OPTS(100, 2, 0.005)},
	{"hostile", "report", "csv", "", OPTS(100, 2, 0.005)},
	{"foreign", "annotate", "text", "", OPTS(100, 0, 0.005)},
	{"foreign", "annotate", "json", "", OPTS(100, 0, 0.005)},
	{"no-source", "annotate", "text", "", OPTS(100, 2, 0.005)},
	{"no-source", "annotate", "text", "80", OPTS(80, 2, 0.005)},
	{"no-source", "annotate", "json", "", OPTS(100, 2, 0.005)},
	{"no-lines", "annotate", "text", "", OPTS(100, 2, 0.005)},
	{"no-lines", "annotate", "text", "80", OPTS(80, 2, 0.005)},
	{"no-lines", "annotate", "json", "", OPTS(100, 2, 0.005)},
	{"hostile", "annotate", "text", "", OPTS(120, 2, 0.005)},
	{"hostile", "annotate", "text", "narrow", OPTS(20, 2, 0.005)},
	{"hostile", "annotate", "text", "no-limit", OPTS(0, 2, 0.005)},
	{"hostile", "annotate", "json", "", OPTS(100, 2, 0.005)},
	{"hostile", "report", "text", "", OPTS(120, 2, 0.005)},
	{"hostile", "report", "json", "", OPTS(100, 2, 0.005)},
	{"heap", "annotate", "text", "", OPTS(100, 0, 0.005)},
	{"heap", "annotate", "json", "", OPTS(100, 0, 0.005)},
	{"empty", "annotate", "text", "", OPTS(100, 2, 0.005)},
	{"empty", "annotate", "json", "", OPTS(100, 2, 0.005)},
	{"empty", "report", "text", "", OPTS(100, 2, 0.005)},
	{"idle", "annotate", "text", "", OPTS(100, 2, 0.005)},
	{"idle", "annotate", "json", "", OPTS(100, 2, 0.005)},
	{"losses", "annotate", "text", "", OPTS(100, 0, 0.005)},
	{"losses", "annotate", "text", "80", OPTS(80, 0, 0.005)},
	{"losses", "annotate", "json", "", OPTS(100, 0, 0.005)},
	{"arm64", "annotate", "text", "", OPTS(100, 0, 0.005)},
	{"arm64", "annotate", "json", "", OPTS(100, 0, 0.005)},
	{"typical", "annotate", "text", "limit", OPTS(100, 1, 0.005, .limit = 3)},
	{"typical", "annotate", "text", "limit1", OPTS(100, 0, 0, .limit = 1)},
	{"typical", "annotate", "json", "limit", OPTS(100, 2, 0.005, .limit = 2)},
	{"typical", "annotate", "csv", "limit", OPTS(100, 2, 0.005, .limit = 3)},
	{"typical", "annotate", "quickfix", "limit", OPTS(100, 2, 0.005, .limit = 3)},
	{"typical", "report", "text", "limit", OPTS(100, 2, 0.005, .limit = 2)},
	{"typical", "report", "json", "limit", OPTS(100, 2, 0.005, .limit = 2)},
	{"typical", "report", "csv", "limit", OPTS(100, 2, 0.005, .limit = 1)},
};

static char *render(const struct golden *g)
{
	struct render_case c;
	struct render_input in;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_true(render_case_get(g->render_case, &c));
	in = render_case_input(&c);
	/* The marks stay on the lines of the case, so they are set each time. */
	assert_int_equal(hot_lines_limit(&c.attribution, g->opts.file_filter,
					 g->opts.limit ? g->opts.limit : SIZE_MAX),
			 0);
	assert_int_equal(
		render_format_find(g->command, g->format)->write(&in, &g->opts, out), 0);
	fclose(out);
	assert_int_equal(strlen(text), len); /* a NUL would hide the rest */
	return text;
}

static void check_json(const char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	assert_non_null(root);
	json_decref(root);
	for (const char *p = text; *p; p++)
		assert_true((unsigned char)*p < 0x80);
}

static void test_golden(void **state)
{
	const struct golden *g = *state;
	_cleanup_free_ char *text = render(g);
	char name[128];

	golden_check_harmless(text, g->opts.colour);
	if (!strcmp(g->format, "text"))
		golden_check_head(text, g->opts.width);
	if (!strcmp(g->format, "json"))
		check_json(text);
	snprintf(name, sizeof(name), "%s.%s%s%s.%s", g->render_case, g->command,
		 *g->variant ? "." : "", g->variant,
		 strcmp(g->format, "text") ? g->format : "txt");
	golden_compare(name, text);
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(goldens)];
	char names[ARRAY_SIZE(goldens)][64];

	for (size_t i = 0; i < ARRAY_SIZE(goldens); i++) {
		const struct golden *g = &goldens[i];

		snprintf(names[i], sizeof(names[i]), "%s %s %s %s", g->render_case,
			 g->command, g->format, g->variant);
		tests[i] = (struct CMUnitTest){.name = names[i],
					       .test_func = test_golden,
					       .initial_state = (void *)g};
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
