// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each filter of a profile of any bytes, with values that the profile has. What a filter
 * keeps and what its opposite keeps are all samples, and a listing says what was filtered.
 */
#include <math.h>

#include "analyze/filter.h"
#include "analyze/frame_filter.h"
#include "analyze/sample_owner.h"
#include "analyze/time_filter.h"
#include "profile/labels.h"
#include "profile/pprof.h"
#include "lib/cost.h"
#include "lib/inlined.h"
#include "lib/shown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Some 30 filters, each of a profile that is read again; some listings. */
const struct cost_bound cost_bound = {.fixed = 10000000, .per_byte = 2000};

struct input {
	const uint8_t *data;
	size_t size;
	struct strpool *pool;
	struct weight all;
	struct profile *p; /* as it is read */
};

static struct profile *read_again(const struct input *in)
{
	struct profile *p = NULL;

	check(!pprof_read(in->data, in->size, "input", in->pool, &p, NULL));
	return p;
}

static void check_listing(struct profile *p, const struct filtered *filtered,
			  const char *command, size_t size)
{
	static const struct attribution_options charge = {0};
	const struct render_options options = {.width = (unsigned int)(size % 130),
					       .limit = 1};
	struct render_input in = {.profile = p, .filtered = filtered};
	struct attribution *a = NULL;
	struct phases phases;

	check(!phases_of(p, false, &phases));
	check(!attribution_new(p, &charge, &a));
	in.phases = &phases;
	in.attribution = a;
	check(a->all.samples == filtered->left.samples);
	check_shown(&in, &options, command, RENDER_PHASES);
	attribution_free(a);
}

/* Returns the samples that are left. @filtered  NULL: none, with a message */
static uint64_t check_left(const struct input *in, struct profile *p,
			   const struct filtered *filtered, const struct error *err,
			   const char *command)
{
	if (!filtered) {
		check(err->text[0]);
		return 0;
	}
	check(filtered->all.samples == in->all.samples);
	check(filtered->left.samples == weight_of_profile(p).samples);
	check(p->nr_samples <= in->p->nr_samples);
	if (command)
		check_listing(p, filtered, command, in->size);
	return filtered->left.samples;
}

/* ---- by label ---- */

static uint64_t left_by_label(const struct input *in, struct profile_filter filter)
{
	struct profile *p = read_again(in);
	struct filtered *filtered = NULL;
	struct error err = {0};
	int rc = filter_profile(p, &filter, 1, &filtered, &err);
	uint64_t left;

	check(rc ? !filtered && p->nr_samples == in->p->nr_samples : filtered != NULL);
	/* Listings take long: one kind is shown. */
	left = check_left(in, p, filtered, &err,
			  filter.exclude || filter.kind != in->size % NR_FILTER_KINDS
				  ? NULL
				  : "report");
	filtered_free(filtered);
	profile_free(p);
	return left;
}

static void check_value(const struct input *in, enum filter_kind kind, const char *value)
{
	uint64_t with = left_by_label(in, (struct profile_filter){kind, false, value});
	uint64_t without = left_by_label(in, (struct profile_filter){kind, true, value});

	/* Sums saturate. */
	if (in->all.samples < UINT64_MAX)
		check(with + without == in->all.samples);
}

/* The kind's value in one of the samples that has one, or "-". */
static const char *value_of(const struct input *in, enum filter_kind kind)
{
	static const char *const keys[] = {
		[FILTER_CONTAINER] = LABEL_CONTAINER,
		[FILTER_UNIT] = LABEL_UNIT,
		[FILTER_POD] = LABEL_POD,
		[FILTER_PID] = LABEL_PID,
		[FILTER_THREAD] = LABEL_TID,
		[FILTER_COMM] = LABEL_COMM,
		[FILTER_USER] = LABEL_USER,
		[FILTER_CGROUP] = LABEL_CGROUP,
	};

	for (size_t i = 0; i < in->p->nr_labels; i++) {
		const struct profile_label *label = &in->p->labels[i];

		if (strcmp(label->key, keys[kind]) != 0)
			continue;
		if (*label->str)
			return label->str;
		if (label->num > 0)
			return strpool_print(in->pool, "%lld", (long long)label->num);
	}
	return "-";
}

static void check_label_filters(const struct input *in)
{
	static const char *const others[] = {
		[FILTER_CONTAINER] = "3f2",
		[FILTER_UNIT] = "ssh*",
		[FILTER_POD] = "0c5b2c6e_",
		[FILTER_PID] = "77",
		[FILTER_THREAD] = "-",
		[FILTER_COMM] = "ngin?*",
		[FILTER_USER] = "roto",
		[FILTER_CGROUP] = "/sys/fs/cgroup/system.slice/",
	};

	for (enum filter_kind kind = 0; kind < NR_FILTER_KINDS; kind++) {
		check_value(in, kind, value_of(in, kind));
		check_value(in, kind, others[kind]);
	}
}

/* Several of them, which may leave nothing. */
static void check_together(const struct input *in)
{
	const struct profile_filter filters[] = {
		{FILTER_CONTAINER, false, value_of(in, FILTER_CONTAINER)},
		{FILTER_CONTAINER, false, "wbe"},
		{FILTER_USER, false, value_of(in, FILTER_USER)},
		{FILTER_COMM, true, value_of(in, FILTER_COMM)},
	};
	struct profile *p = read_again(in);
	struct filtered *filtered = NULL;
	struct error err = {0};

	(void)filter_profile(p, filters, ARRAY_SIZE(filters), &filtered, &err);
	check(check_left(in, p, filtered, &err, "annotate") <= in->all.samples);
	filtered_free(filtered);
	profile_free(p);
}

/* ---- by frame, by time ---- */

static uint64_t left_by_frame(const struct input *in, enum frame_filter_kind kind,
			      const char *regex)
{
	const struct frame_filter filter = {kind, regex};
	struct profile *p = read_again(in);
	struct filtered *filtered = NULL;
	struct error err = {0};
	uint64_t left;
	int rc;

	check(!frame_filter_check(regex, "focus", &err));
	rc = frame_filter_profile(p, &filter, 1, &filtered, &err);
	check(filtered != NULL);
	left = check_left(in, p, rc ? NULL : filtered, &err,
			  rc || kind != in->size % NR_FRAME_FILTER_KINDS ? NULL
									 : "annotate");
	filtered_free(filtered);
	profile_free(p);
	return left;
}

static void check_frame_filters(const struct input *in)
{
	static const char *const regexes[] = {"^[m-z]", "\\.(py|c)$|python"};

	for (size_t i = 0; i < ARRAY_SIZE(regexes); i++) {
		uint64_t with = left_by_frame(in, FRAME_FOCUS, regexes[i]);
		uint64_t without = left_by_frame(in, FRAME_IGNORE, regexes[i]);

		if (in->all.samples < UINT64_MAX)
			check(with + without == in->all.samples);
		check(left_by_frame(in, FRAME_HIDE, regexes[i]) <= in->all.samples);
	}
}

/* After the others, as the command line does it. */
static void check_time(const struct input *in, const char *text)
{
	const struct frame_filter hide = {FRAME_HIDE, "^_"};
	struct profile *p = read_again(in);
	struct filtered *filtered = NULL;
	struct time_range range;
	struct error err = {0};
	int rc;

	check(time_range_parse(text, &range));
	rc = time_filter_profile(p, &range, text, &filtered, &err);
	check(!rc || err.text[0]);
	/* Parts of larger values are rounded. */
	if (!rc && in->all.samples < 1ULL << 52)
		check(filtered->left.samples <= in->all.samples);
	if (!rc)
		rc = frame_filter_profile(p, &hide, 1, &filtered, &err);
	if (!rc)
		check_listing(p, filtered, "annotate", in->size);
	filtered_free(filtered);
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {.data = data, .size = size, .pool = strpool_new(16 << 20)};

	if (!pprof_read(data, size, "input", in.pool, &in.p, NULL) &&
	    !inlines_much(in.p, size)) {
		in.all = weight_of_profile(in.p);
		check_label_filters(&in);
		check_together(&in);
		check_frame_filters(&in);
		check_time(&in, "0.1-0.5");
		check_time(&in, "0.3-");
	}
	profile_free(in.p);
	strpool_free(in.pool);
	return 0;
}
