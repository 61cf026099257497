/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the steps of narrowing share; only narrow*.c include it. */
#ifndef LB_PROFILE_NARROW_WORK_H
#define LB_PROFILE_NARROW_WORK_H

#include "profile/narrow.h"
#include "profile/sample_owner.h"
#include "profile/tally.h"

/* Noted with each subject. */
enum subject_tag {
	SUBJECT_INCLUDED = 1 << 0, /* some filter names it */
	SUBJECT_EXCLUDED = 1 << 1,
};

struct narrow_work {
	struct owner_labels labels;
	bool has_includes[NR_NARROW_KINDS], has_excludes[NR_NARROW_KINDS];
	/* What samples have, of the kinds that filters are of: (text, 0), (number, 0),
	 * and (id, name) of containers. (text "", ...) and (0, 0): nothing of the kind. */
	struct tally subjects[NR_NARROW_KINDS]; /* tag: enum subject_tag */
};

static inline bool narrow_kind_is_number(enum narrow_kind kind)
{
	return kind == NARROW_PID || kind == NARROW_THREAD;
}

/** Has the subject nothing of the kind? */
static inline bool subject_is_none(enum narrow_kind kind, const struct tally_item *item)
{
	return narrow_kind_is_number(kind) ? !item->a : !*tally_string(item->a);
}

/** How well it matches: 0 not at all; of a filter's matches only the best count. */
int narrow_strength(const struct narrow_filter *f, const struct tally_item *subject);

/** Says in @err that nothing is left, why, and what is called nearly like it. */
int narrow_explain(const struct narrow_work *w, const struct narrowed *n,
		   struct error *err);

#endif
