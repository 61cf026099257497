// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * report --by and filtered listings of a hand-made machine, compared with
 * tests/golden/groups.<variant>.
 */
#include "unit/profile/owners.h"
#include "lib/golden.h"

#include <jansson.h>

#include "analyze/source.h"
#include "render/render.h"

struct variant {
	const char *name;
	enum group_by by;
	const char *label; /* with GROUP_BY_LABEL */
	struct render_options opts;
	struct profile_filter filters[4]; /* ends at the first without a value */
	render_fn write;
	bool hostile;
};

#define SHOW(columns, share, ...)                                               \
	{                                                                       \
		.width = columns, .context = 1, .min_share = share, __VA_ARGS__ \
	}

static const struct variant variants[] = {
	{.name = "container.80.txt",
	 .by = GROUP_BY_CONTAINER,
	 .opts = SHOW(80, 0.005),
	 .write = render_report},
	{.name = "container.coarse.txt",
	 .by = GROUP_BY_CONTAINER,
	 .opts = SHOW(80, 0.06),
	 .write = render_report},
	{.name = "container.colour.txt",
	 .by = GROUP_BY_CONTAINER,
	 .opts = SHOW(80, 0.06, .colour = true),
	 .write = render_report},
	{.name = "container.json",
	 .by = GROUP_BY_CONTAINER,
	 .opts = SHOW(80, 0.06),
	 .write = render_report_json},
	{.name = "container.limit.txt",
	 .by = GROUP_BY_CONTAINER,
	 .opts = SHOW(80, 0.005, .limit = 2),
	 .write = render_report},
	{.name = "container.limit.json",
	 .by = GROUP_BY_CONTAINER,
	 .opts = SHOW(80, 0.005, .limit = 1),
	 .write = render_report_json},
	{.name = "cgroup.no-limit.txt",
	 .by = GROUP_BY_CGROUP,
	 .opts = SHOW(0, 0.005),
	 .write = render_report},
	{.name = "unit.80.txt",
	 .by = GROUP_BY_UNIT,
	 .opts = SHOW(80, 0.005),
	 .write = render_report},
	{.name = "pod.80.txt",
	 .by = GROUP_BY_POD,
	 .opts = SHOW(80, 0.005),
	 .write = render_report},
	{.name = "process.120.txt",
	 .by = GROUP_BY_PROCESS,
	 .opts = SHOW(120, 0.005),
	 .write = render_report},
	{.name = "process.80.txt",
	 .by = GROUP_BY_PROCESS,
	 .opts = SHOW(80, 0.005),
	 .write = render_report},
	{.name = "process.narrow.txt",
	 .by = GROUP_BY_PROCESS,
	 .opts = SHOW(40, 0.005),
	 .write = render_report},
	{.name = "process.json",
	 .by = GROUP_BY_PROCESS,
	 .opts = SHOW(80, 0.005),
	 .write = render_report_json},
	{.name = "thread.no-limit.txt",
	 .by = GROUP_BY_THREAD,
	 .opts = SHOW(0, 0),
	 .write = render_report},
	{.name = "comm.80.txt",
	 .by = GROUP_BY_COMM,
	 .opts = SHOW(80, 0.005),
	 .write = render_report},
	{.name = "user.80.txt",
	 .by = GROUP_BY_USER,
	 .opts = SHOW(80, 0.005),
	 .write = render_report},
	{.name = "cgroup.80.txt",
	 .by = GROUP_BY_CGROUP,
	 .opts = SHOW(80, 0.005),
	 .write = render_report},
	{.name = "cgroup.json",
	 .by = GROUP_BY_CGROUP,
	 .opts = SHOW(80, 0.005),
	 .write = render_report_json},
	{.name = "hostile.80.txt",
	 .by = GROUP_BY_PROCESS,
	 .opts = SHOW(80, 0.005),
	 .hostile = true,
	 .write = render_report},
	{.name = "hostile.cgroup.txt",
	 .by = GROUP_BY_CGROUP,
	 .opts = SHOW(0, 0.005),
	 .hostile = true,
	 .write = render_report},
	{.name = "hostile.json",
	 .by = GROUP_BY_CONTAINER,
	 .opts = SHOW(80, 0.005),
	 .hostile = true,
	 .write = render_report_json},
	{.name = "narrowed.txt",
	 .by = GROUP_BY_NOTHING,
	 .opts = SHOW(80, 0.005),
	 .filters = {{FILTER_CONTAINER, false, "web"},
		     {FILTER_CONTAINER, false, "wbe"},
		     {FILTER_COMM, true, "*-log"}},
	 .write = render_annotate},
	{.name = "narrowed.process.txt",
	 .by = GROUP_BY_PROCESS,
	 .opts = SHOW(100, 0.005),
	 .filters = {{FILTER_CONTAINER, true, "3f"}, {FILTER_POD, false, "-"}},
	 .write = render_report},
	{.name = "label.80.txt",
	 .by = GROUP_BY_LABEL,
	 .label = "exe",
	 .opts = SHOW(80, 0.005),
	 .write = render_report},
	{.name = "label.json",
	 .by = GROUP_BY_LABEL,
	 .label = "pid",
	 .opts = SHOW(80, 0.005),
	 .write = render_report_json},
	{.name = "narrowed.json",
	 .by = GROUP_BY_NOTHING,
	 .opts = SHOW(80, 0.005),
	 .filters = {{FILTER_CONTAINER, false, "3f2"}, {FILTER_USER, true, "\033[31m"}},
	 .write = render_report_json},
};

/* Hostile values of all names that a target chooses. */
static void add_hostile(struct profile *p)
{
	static char name[1200];
	uint32_t line = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/f.c:1");
	struct owner o = {.pid = 66,
			  .comm = "\033[31mred\n;)",
			  .exe = "/tmp/\xff\xfe\n\xe2\x80\xae/gpj.exe",
			  .user = "\b\b\b",
			  .cgroup = "/evil\nslice/\033]0;title\007",
			  .container = "\r\x1b[2J",
			  .name = "<script>\"%s%n",
			  .runtime = "\xc2\x9b"
				     "1m",
			  .unit = "a\tb.service"};

	memset(name, 'A', sizeof(name) - 1);
	add_owned(p, line, 500, &o);
	o = (struct owner){.pid = 67,
			   .comm = "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97",
			   .exe = name,
			   .user = name,
			   .cgroup = name,
			   .container = name,
			   .name = name,
			   .runtime = name,
			   .unit = name};
	add_owned(p, line, 400, &o);
	add_owned(p, line, 100, &(struct owner){.pid = 68});
}

static void init_profile(struct profile *p, bool hostile)
{
	p->extra.present = true;
	p->extra.target = strpool_add(p->pool, "-a");
	p->extra.freq_hz = 100;
	p->extra.nr_cpus = 4;
	p->extra.wall_ns = 10000000000;
	p->extra.losses.due = 1010;
	p->extra.losses.ran = 1000;
	p->extra.losses.due_error = 3;
	p->extra.losses.sampled = p->extra.losses.counted = 1000;
	p->extra.losses.missed = 10;
	if (hostile)
		add_hostile(p);
	else
		add_machine(p);
}

static char *render(struct profile *p, const struct variant *v)
{
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	_cleanup_(filtered_freep) struct filtered *filtered = NULL;
	_cleanup_(groups_freep) struct groups *groups = NULL, *processes = NULL;
	struct render_input in = {.profile = p};
	char *text = NULL;
	size_t len, nr = 0;
	FILE *out = open_memstream(&text, &len);

	while (v->filters[nr].value)
		nr++;
	if (nr)
		assert_int_equal(filter_profile(p, v->filters, nr, &filtered, NULL), 0);
	assert_int_equal(attribution_new(p, &(struct attribution_options){0}, &a), 0);
	assert_int_equal(source_attach(a, p, &(struct source_search){0}), 0);
	if (v->by)
		assert_int_equal(groups_new(p, a, v->by, v->label, &groups, NULL), 0);
	in.attribution = a;
	in.filtered = filtered;
	in.groups = groups;
	assert_int_equal(groups_new(p, a, GROUP_BY_OWNER, NULL, &processes, NULL), 0);
	in.processes = processes;
	assert_int_equal(v->write(&in, &v->opts, out), 0);
	fclose(out);
	return text;
}

static void check_width(const char *text, unsigned int width)
{
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= width);
}

static void test_variant(void **state)
{
	const struct variant *v = *state;
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(1 << 20);
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_free_ char *text = NULL;
	char name[96];

	init_profile(p, v->hostile);
	text = render(p, v);
	golden_check_harmless(text, v->opts.colour);
	if (v->write == render_report)
		golden_check_head(text, v->opts.width);
	if (v->write == render_report_json) {
		json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

		assert_non_null(root);
		json_decref(root);
	} else if (v->opts.width >= 80 && !v->opts.colour && !v->hostile) {
		check_width(text, v->opts.width);
	}
	snprintf(name, sizeof(name), "groups.%s", v->name);
	golden_compare(name, text);
}

/* Each group is either listed or in the summary line: shares and samples add up. */
static void test_sums_of_ten_thousand(void **state)
{
	static const struct variant v = {.by = GROUP_BY_PROCESS,
					 .opts = SHOW(100, 0.0005),
					 .write = render_report};
	_cleanup_(strpool_freep) struct strpool *pool = strpool_new(64 << 20);
	_cleanup_(profile_freep) struct profile *p = profile_new(pool);
	_cleanup_free_ char *text = NULL;
	uint32_t line = add_location(p, add_mapping(p, "/a"), 1, MISS_NONE, "f@/f.c:1");
	unsigned long sum = 0, rows = 0;
	char *table;

	(void)state;
	for (int i = 1; i <= 10000; i++)
		add_owned(p, line, i % 1000 ? 1 : 100,
			  &(struct owner){.pid = i, .comm = "w"});
	p->extra.present = true;
	text = render(p, &v);
	table = strstr(text, "process\n");
	assert_non_null(table);
	for (char *row = strchr(table, '\n') + 1; *row && *row != '\n'; rows++) {
		sum += strtoul(row + 16, NULL, 10);
		row = strchr(row, '\n') + 1;
	}
	assert_int_equal(rows, 11); /* ten of 100 samples, and the rest */
	assert_int_equal(sum, 10 * 100 + 9990);
	assert_non_null(strstr(text, "and 9990 more processes\n"));
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(variants) + 1];

	for (size_t i = 0; i < ARRAY_SIZE(variants); i++)
		tests[i] = (struct CMUnitTest){.name = variants[i].name,
					       .test_func = test_variant,
					       .initial_state = (void *)&variants[i]};
	tests[ARRAY_SIZE(variants)] =
		(struct CMUnitTest)cmocka_unit_test(test_sums_of_ten_thousand);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
