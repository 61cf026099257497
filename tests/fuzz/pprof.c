// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes are either read or refused with a message. The sums of a profile that was
 * read are consistent, and it can be written and read again.
 */
#include <stdlib.h>

#include "analyze/attribution.h"
#include "analyze/call_tree.h"
#include "analyze/phase.h"
#include "analyze/profile_diff.h"
#include "analyze/tally.h"
#include "profile/pprof.h"
#include "lib/cost.h"
#include "lib/inlined.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each of 9 ways to look at it has every sample; one text may have 524,288 lines. */
const struct cost_bound cost_bound = {.fixed = 10000000, .per_byte = 1500};

static void check(int holds)
{
	if (!holds)
		abort();
}

static void check_attribution(const struct profile *p, enum charge charge)
{
	const struct attribution_options options = {.charge = charge};
	struct attribution *a = NULL;
	uint64_t sum;

	check(attribution_new(p, &options, &a) == 0);
	if (!__builtin_add_overflow(a->with_line.samples, a->function_only.samples,
				    &sum) &&
	    !__builtin_add_overflow(sum, a->unknown.samples, &sum))
		check(sum == a->all.samples);
	attribution_free(a);
}

/* Compared with itself it has no difference, or there is a message. */
static void check_diff(const struct profile *p, struct strpool *pool, enum diff_per per)
{
	static const struct attribution_options charge = {0};
	const struct diff_options options = {
		.per = per, .sides = {{.nr_recordings = 1}, {.nr_recordings = 1}}};
	struct profile_diff *d = NULL;
	struct attribution *a = NULL;
	struct error err = {0};
	int r;

	check(attribution_new(p, &charge, &a) == 0);
	check(diff_new(&options, pool, &d) == 0);
	r = diff_add(d, DIFF_BEFORE, p, a, "before", &err);
	if (!r)
		r = diff_add(d, DIFF_AFTER, p, a, "after", &err);
	if (!r)
		r = diff_compare(d, &err);
	check(r == 0 || err.text[0]);
	check(!d->nr_significant_lines && !d->nr_significant_functions);
	diff_free(d);
	attribution_free(a);
}

/* Each node must be the sum of its children and itself. */
static void check_tree(const struct profile *p, const struct call_tree_options *options)
{
	struct call_tree *tree = NULL;
	struct weight *sums, roots = {0};
	struct error err = {0};
	int r = call_tree_new(p, options, &tree, &err);

	check(r == 0 || (options->what && err.text[0]));
	if (r)
		return;
	sums = calloc(tree->nr_nodes + 1, sizeof(*sums));
	for (size_t i = tree->nr_nodes; i--;) {
		const struct call_node *n = &tree->nodes[i];
		struct weight sum = sums[i];

		weight_add(&sum, n->ends);
		weight_add(&sum, n->deeper);
		weight_add(&sum, n->cut.weight);
		check(sum.samples == n->total.samples || n->total.samples == UINT64_MAX);
		check(n->function < tree->nr_functions && n->depth < options->max_depth);
		check(n->parent == PROFILE_NONE || n->parent < i);
		weight_add(n->parent == PROFILE_NONE ? &roots : &sums[n->parent],
			   n->total);
	}
	weight_add(&roots, tree->cut.weight);
	check(roots.samples == tree->covered.samples || roots.samples == UINT64_MAX);
	free(sums);
	call_tree_free(tree);
}

static void check_trees(const struct profile *p)
{
	struct call_tree_options o = {.max_depth = 5, .min_share = 0.1};
	const char *name = p->nr_functions ? p->functions[0].name : "f";

	for (o.direction = CALL_CALLERS; o.direction <= CALL_CALLEES; o.direction++) {
		o.what = NULL;
		check_tree(p, &o);
		o.what = name;
		check_tree(p, &o);
	}
	check_tree(p, &(struct call_tree_options){.direction = CALL_CALLERS,
						  .max_depth = CALL_TREE_MAX_DEPTH,
						  .kernel = true,
						  .runtime = true});
	check_tree(p, &(struct call_tree_options){.direction = CALL_CALLEES,
						  .what = "[kernel]",
						  .max_depth = CALL_TREE_MAX_DEPTH});
}

/* Must be called last: it drops samples. */
static void check_phases(struct profile *p)
{
	struct phases whole, rest;

	check(phases_of(p, false, &whole) == 0 && phases_of(p, true, &rest) == 0);
	for (size_t i = 0; i < NR_PHASES; i++)
		check(whole.of[i].samples == rest.of[i].samples);
	check(phases_of(p, false, &whole) == 0 && !phases_are_split(&whole));
	check(whole.of[PHASE_REST].samples == rest.of[PHASE_REST].samples);
	check_attribution(p, CHARGE_LINE);
}

static void check_written(const struct profile *p, bool with_extra)
{
	struct profile *again = NULL;
	void *written = NULL;
	size_t len;

	check(pprof_write(p, with_extra, &written, &len) == 0);
	/*
	 * Reading it again may only fail at limits: strings grow when made valid UTF-8.
	 */
	if (!pprof_read(written, len, "again", p->pool, &again, NULL)) {
		check(again->nr_samples == p->nr_samples);
		check(again->nr_locations == p->nr_locations);
		check(again->extra.present == (with_extra && p->extra.present));
	} else {
		check(len > 4096);
	}
	if (again && with_extra) {
		/* Without Extra the functions that stand for code without one stay. */
		check(p->extra.present ? again->nr_functions == p->nr_functions
				       : again->nr_functions >= p->nr_functions);
		check(again->extra.nr_sources == p->extra.nr_sources);
		check(again->extra.nr_codes == p->extra.nr_codes);
		check(again->extra.codes_bytes == p->extra.codes_bytes);
		check(again->nr_namesakes == p->nr_namesakes);
		check(again->times.nr <= p->times.nr);
		check(again->times.bucket_ns == p->times.bucket_ns);
	}
	profile_free(again);
	free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strpool *pool = strpool_new(16 << 20);
	struct profile *p = NULL;
	struct error err = {0};

	if (pprof_read(data, size, "input", pool, &p, &err)) {
		check(!p && err.text[0]);
	} else if (!inlines_much(p, size)) {
		check_attribution(p, CHARGE_LINE);
		check_attribution(p, CHARGE_MINE);
		check_attribution(p, CHARGE_LEAF);
		check_diff(p, pool, size % 2 ? DIFF_PER_RUN : DIFF_PER_SAMPLE);
		check_trees(p);
		check_written(p, true);
		check_written(p, false);
		check_phases(p);
	}
	profile_free(p);
	strpool_free(pool);
	return 0;
}
