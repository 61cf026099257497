// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two passes: what the samples have of each kind is collected first, because how a
 * filter matches depends on it (the start of an id only where nothing is called so),
 * and because there are far fewer containers than samples.
 */
#include "profile/narrow.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/narrow_work.h"
#include "profile/sample_weight.h"

const char *const narrow_kind_names[] = {
	[NARROW_CONTAINER] = "container",
	[NARROW_UNIT] = "unit",
	[NARROW_POD] = "pod",
	[NARROW_PID] = "pid",
	[NARROW_THREAD] = "thread",
	[NARROW_COMM] = "comm",
	[NARROW_USER] = "user",
	[NARROW_CGROUP] = "cgroup",
};
_Static_assert(ARRAY_SIZE(narrow_kind_names) == NR_NARROW_KINDS, "one name each");

static uint32_t subject_of(struct narrow_work *w, enum narrow_kind kind,
			   const struct sample_owner *o)
{
	static const enum owner_text texts[] = {
		[NARROW_CONTAINER] = OWNER_CONTAINER,
		[NARROW_UNIT] = OWNER_UNIT,
		[NARROW_POD] = OWNER_POD,
		[NARROW_COMM] = OWNER_COMM,
		[NARROW_USER] = OWNER_USER,
		[NARROW_CGROUP] = OWNER_CGROUP,
	};
	uint64_t a, b = 0;

	if (kind == NARROW_PID)
		a = o->pid;
	else if (kind == NARROW_THREAD)
		a = o->tid;
	else
		a = tally_key(o->text[texts[kind]]);
	if (kind == NARROW_CONTAINER && *o->text[OWNER_CONTAINER])
		b = tally_key(o->text[OWNER_CONTAINER_NAME]);
	return tally_number(&w->subjects[kind], a, b);
}

static bool is_used(const struct narrow_work *w, size_t kind)
{
	return w->has_includes[kind] || w->has_excludes[kind];
}

static int collect(struct narrow_work *w, struct narrowed *n)
{
	const struct profile *p = w->labels.p;
	struct weigher weigher = weigher_of(p);

	for (size_t i = 0; i < p->nr_samples; i++) {
		struct sample_owner o = sample_owner_of(&w->labels, &p->samples[i]);
		bool negative = false;
		struct weight weight = weigher_weigh(&weigher, &p->samples[i], &negative);

		weight_add(&n->all, weight);
		for (size_t k = 0; k < NR_NARROW_KINDS; k++) {
			uint32_t subject;

			if (!is_used(w, k))
				continue;
			subject = subject_of(w, (enum narrow_kind)k, &o);
			if (subject == PROFILE_NONE)
				return -ENOMEM;
			weight_add(&w->subjects[k].items[subject].self, weight);
		}
	}
	return 0;
}

static void match(struct narrow_work *w, struct narrow_match *m)
{
	struct tally *subjects = &w->subjects[m->filter.kind];
	const struct tally_item *heaviest = NULL;
	int best = 1;

	for (size_t i = 0; i < subjects->nr; i++) {
		int strength = narrow_strength(&m->filter, &subjects->items[i]);

		best = strength > best ? strength : best;
	}
	for (size_t i = 0; i < subjects->nr; i++) {
		struct tally_item *item = &subjects->items[i];

		if (narrow_strength(&m->filter, item) < best)
			continue;
		item->tag |= m->filter.exclude ? SUBJECT_EXCLUDED : SUBJECT_INCLUDED;
		m->nr++;
		if (!heaviest || weight_compare(item->self, heaviest->self) < 0)
			heaviest = item;
	}
	if (!heaviest || m->filter.kind != NARROW_CONTAINER || !heaviest->b)
		return;
	m->id = tally_string(heaviest->a);
	m->name = tally_string(heaviest->b);
}

static bool is_kept(struct narrow_work *w, const struct profile_sample *s)
{
	struct sample_owner o = sample_owner_of(&w->labels, s);

	for (size_t k = 0; k < NR_NARROW_KINDS; k++) {
		uint32_t subject, tag;

		if (!is_used(w, k))
			continue;
		subject = subject_of(w, (enum narrow_kind)k, &o); /* known: not added */
		tag = w->subjects[k].items[subject].tag;
		if (tag & SUBJECT_EXCLUDED ||
		    (w->has_includes[k] && !(tag & SUBJECT_INCLUDED)))
			return false;
	}
	return true;
}

/* @kept  the number of each sample that is left. Return: how many they are */
static size_t choose(struct narrow_work *w, const struct profile *p, uint32_t *kept,
		     struct narrowed *n)
{
	struct weigher weigher = weigher_of(p);
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		bool negative = false;

		if (!is_kept(w, &p->samples[i]))
			continue;
		weight_add(&n->left, weigher_weigh(&weigher, &p->samples[i], &negative));
		kept[nr++] = (uint32_t)i;
	}
	return nr;
}

static int narrowed_new(const struct narrow_filter *filters, size_t nr,
			struct narrow_work *w, struct narrowed **ret)
{
	_cleanup_(narrowed_freep) struct narrowed *n = calloc(1, sizeof(*n));

	if (n)
		n->matches = calloc(nr + 1, sizeof(*n->matches));
	if (!n || !n->matches)
		return -ENOMEM;
	for (size_t k = 0; k < NR_NARROW_KINDS; k++)
		for (size_t i = 0; i < nr; i++) {
			if (filters[i].kind != k)
				continue;
			n->matches[n->nr_matches++] = (struct narrow_match){
				.filter = filters[i], .name = "", .id = ""};
			if (filters[i].exclude)
				w->has_excludes[k] = true;
			else
				w->has_includes[k] = true;
		}
	*ret = take_ptr(n);
	return 0;
}

static int narrow(struct narrow_work *w, struct profile *p,
		  const struct narrow_filter *filters, size_t nr, struct narrowed **ret,
		  struct error *err)
{
	_cleanup_(narrowed_freep) struct narrowed *n = NULL;
	_cleanup_free_ uint32_t *kept = calloc(p->nr_samples + 1, sizeof(*kept));
	int rc = kept ? narrowed_new(filters, nr, w, &n) : -ENOMEM;
	size_t nr_kept;

	if (!rc)
		rc = collect(w, n);
	if (rc)
		return error_set(err, rc, "out of memory");
	for (size_t i = 0; i < n->nr_matches; i++)
		match(w, &n->matches[i]);
	nr_kept = choose(w, p, kept, n);
	if (!n->left.samples && !n->left.cpu_ns && (n->all.samples || n->all.cpu_ns))
		return narrow_explain(w, n, err);
	for (size_t i = 0; i < nr_kept; i++)
		p->samples[i] = p->samples[kept[i]];
	p->nr_samples = nr_kept;
	*ret = take_ptr(n);
	return 0;
}

int profile_narrow(struct profile *p, const struct narrow_filter *filters, size_t nr,
		   struct narrowed **ret, struct error *err)
{
	struct narrow_work w = {.labels = owner_labels_of(p)};
	int rc = narrow(&w, p, filters, nr, ret, err);

	for (size_t k = 0; k < NR_NARROW_KINDS; k++)
		tally_deinit(&w.subjects[k]);
	owner_labels_deinit(&w.labels);
	return rc;
}

void narrowed_free(struct narrowed *n)
{
	if (!n)
		return;
	free(n->matches);
	free(n);
}
