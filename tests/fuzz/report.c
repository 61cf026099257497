// SPDX-License-Identifier: GPL-2.0-or-later
/* A profile of any bytes by groups and as trees of calls, in the formats that show them. */
#include "analyze/code_query.h"
#include "analyze/source.h"
#include "profile/pprof.h"
#include "lib/cost.h"
#include "lib/inlined.h"
#include "lib/shown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* 10 groupings and 5 trees in 2 formats. */
const struct cost_bound cost_bound = {.fixed = 8000000, .per_byte = 1000};

static struct render_options options;

/* Each sample is in one group; only owners leave out those of nobody. */
static void check_groups(struct render_input *in, enum group_by by, const char *label)
{
	const struct weight *all = &in->attribution->all;
	struct weight self = {0}, with_line = {0};
	struct groups *groups = NULL;
	struct error err = {0};

	if (groups_new(in->profile, in->attribution, by, label, &groups, &err)) {
		check(!groups && err.text[0]);
		return;
	}
	check(groups->nr <= in->profile->nr_samples);
	for (size_t i = 0; i < groups->nr; i++) {
		const struct group *g = &groups->items[i];

		check(g->with_line.samples <= g->self.samples);
		check(!i || weight_compare(g[-1].self, g->self) <= 0);
		weight_add(&self, g->self);
		weight_add(&with_line, g->with_line);
	}
	if (by == GROUP_BY_OWNER)
		check(self.samples <= all->samples);
	else
		check(self.samples == all->samples &&
		      with_line.samples == in->attribution->with_line.samples);
	*(by == GROUP_BY_OWNER ? &in->processes : &in->groups) = groups;
	check_shown(in, &options, "report", RENDER_GROUPS);
	in->groups = in->processes = NULL;
	groups_free(groups);
}

static void check_tree(struct render_input *in, const struct call_tree_options *how)
{
	struct call_tree *tree = NULL;
	struct error err = {0};

	if (call_tree_new(in->profile, how, &tree, &err)) {
		check(!tree && how->what && err.text[0]);
		return;
	}
	check(tree->covered.samples <= in->attribution->all.samples);
	check(tree->self.samples <= tree->covered.samples);
	in->call_tree = tree;
	check_shown(in, &options, "report", RENDER_CALL_TREE);
	in->call_tree = NULL;
	call_tree_free(tree);
}

static void check_trees(struct render_input *in, size_t size)
{
	const struct profile *p = in->profile;
	struct call_tree_options how = {.max_depth = 100,
					.min_share = size % 5 ? 0 : 0.01,
					.max_roots = size % 3,
					.max_nodes = size % 7};
	const char *name = p->nr_functions ? p->functions[size % p->nr_functions].name
					   : CALL_TREE_KERNEL;

	for (how.direction = CALL_CALLERS; how.direction <= CALL_CALLEES;
	     how.direction++) {
		how.what = NULL;
		check_tree(in, &how);
		how.what = name;
		check_tree(in, &how);
	}
	how.kernel = how.runtime = true;
	how.what = NULL;
	how.max_depth = 2;
	check_tree(in, &how);
}

static void check_all(struct profile *p, size_t size)
{
	static const struct attribution_options charge = {0};
	struct render_input in = {.profile = p, .file_name = "input"};
	const char *label = p->nr_labels ? p->labels[size % p->nr_labels].key : "worker";
	struct attribution *a = NULL;
	struct phases phases;

	if (size % 2)
		type_names_apply(p);
	options = (struct render_options){.width = (unsigned int)(size % 130),
					  .utf8 = size % 2,
					  .min_share = size % 5 ? 0 : 0.05,
					  .limit = size % 3};
	check(!phases_of(p, false, &phases));
	check(!attribution_new(p, &charge, &a));
	in.attribution = a;
	in.phases = &phases;
	for (enum group_by by = GROUP_BY_NOTHING + 1; by < NR_GROUP_BY; by++)
		check_groups(&in, by, by == GROUP_BY_LABEL ? label : NULL);
	check_trees(&in, size);
	attribution_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strpool *pool = strpool_new(16 << 20);
	struct profile *p = NULL;

	if (!pprof_read(data, size, "input", pool, &p, NULL) && !inlines_much(p, size))
		check_all(p, size);
	profile_free(p);
	strpool_free(pool);
	return 0;
}
