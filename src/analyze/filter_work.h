/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the steps of narrowing share; only filter*.c include it. */
#ifndef LB_ANALYZE_FILTER_WORK_H
#define LB_ANALYZE_FILTER_WORK_H

#include "analyze/filter.h"
#include "analyze/sample_owner.h"
#include "analyze/tally.h"

/* Noted with each subject. */
enum subject_tag {
	SUBJECT_INCLUDED = 1 << 0, /* some filter names it */
	SUBJECT_EXCLUDED = 1 << 1,
};

struct filter_work {
	struct owner_labels labels;
	bool has_includes[NR_FILTER_KINDS], has_excludes[NR_FILTER_KINDS];
	/* What samples have, of the kinds that filters are of: (text, 0), (number, 0),
	 * and (id, name) of containers. (text "", ...) and (0, 0): nothing of the kind. */
	struct tally subjects[NR_FILTER_KINDS]; /* tag: enum subject_tag */
};

static inline bool filter_kind_is_number(enum filter_kind kind)
{
	return kind == FILTER_PID || kind == FILTER_THREAD;
}

/** Has the subject nothing of the kind? */
static inline bool subject_is_none(enum filter_kind kind, const struct tally_item *item)
{
	return filter_kind_is_number(kind) ? !item->a : !*tally_string(item->a);
}

/** How well it matches: 0 not at all; of a filter's matches only the best count. */
int filter_strength(const struct profile_filter *f, const struct tally_item *subject);

/** Says in @err that nothing is left, why, and what is called nearly like it. */
int filter_explain(const struct filter_work *w, const struct filtered *n,
		   struct error *err);

#endif
