// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two passes: what the samples have of each kind is collected first, because how a
 * filter matches depends on it (the start of an id only where nothing is called so),
 * and because there are far fewer containers than samples.
 */
#include "analyze/filter.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/filter_work.h"
#include "analyze/sample_weight.h"

const char *const filter_kind_names[] = {
	[FILTER_CONTAINER] = "container",
	[FILTER_UNIT] = "unit",
	[FILTER_POD] = "pod",
	[FILTER_PID] = "pid",
	[FILTER_THREAD] = "thread",
	[FILTER_COMM] = "comm",
	[FILTER_USER] = "user",
	[FILTER_CGROUP] = "cgroup",
};
_Static_assert(ARRAY_SIZE(filter_kind_names) == NR_FILTER_KINDS, "one name each");

static uint32_t subject_of(struct filter_work *w, enum filter_kind kind,
			   const struct sample_owner *o)
{
	static const enum owner_text texts[] = {
		[FILTER_CONTAINER] = OWNER_CONTAINER,
		[FILTER_UNIT] = OWNER_UNIT,
		[FILTER_POD] = OWNER_POD,
		[FILTER_COMM] = OWNER_COMM,
		[FILTER_USER] = OWNER_USER,
		[FILTER_CGROUP] = OWNER_CGROUP,
	};
	uint64_t a, b = 0;

	if (kind == FILTER_PID)
		a = o->pid;
	else if (kind == FILTER_THREAD)
		a = o->tid;
	else
		a = tally_key(o->text[texts[kind]]);
	if (kind == FILTER_CONTAINER && *o->text[OWNER_CONTAINER])
		b = tally_key(o->text[OWNER_CONTAINER_NAME]);
	return tally_number(&w->subjects[kind], a, b);
}

static bool is_used(const struct filter_work *w, size_t kind)
{
	return w->has_includes[kind] || w->has_excludes[kind];
}

static int collect(struct filter_work *w, struct filtered *n)
{
	const struct profile *p = w->labels.p;
	struct weigher weigher = weigher_of(p);

	for (size_t i = 0; i < p->nr_samples; i++) {
		struct sample_owner o = sample_owner_of(&w->labels, &p->samples[i]);
		bool negative = false;
		struct weight weight = weigher_weigh(&weigher, &p->samples[i], &negative);

		weight_add(&n->all, weight);
		for (size_t k = 0; k < NR_FILTER_KINDS; k++) {
			uint32_t subject;

			if (!is_used(w, k))
				continue;
			subject = subject_of(w, (enum filter_kind)k, &o);
			if (subject == PROFILE_NONE)
				return -ENOMEM;
			weight_add(&w->subjects[k].items[subject].self, weight);
		}
	}
	return 0;
}

static void match(struct filter_work *w, struct filter_match *m)
{
	struct tally *subjects = &w->subjects[m->filter.kind];
	const struct tally_item *heaviest = NULL;
	int best = 1;

	for (size_t i = 0; i < subjects->nr; i++) {
		int strength = filter_strength(&m->filter, &subjects->items[i]);

		best = strength > best ? strength : best;
	}
	for (size_t i = 0; i < subjects->nr; i++) {
		struct tally_item *item = &subjects->items[i];

		if (filter_strength(&m->filter, item) < best)
			continue;
		item->tag |= m->filter.exclude ? SUBJECT_EXCLUDED : SUBJECT_INCLUDED;
		m->nr++;
		if (!heaviest || weight_compare(item->self, heaviest->self) < 0)
			heaviest = item;
	}
	if (!heaviest || m->filter.kind != FILTER_CONTAINER || !heaviest->b)
		return;
	m->id = tally_string(heaviest->a);
	m->name = tally_string(heaviest->b);
}

static bool is_kept(struct filter_work *w, const struct profile_sample *s)
{
	struct sample_owner o = sample_owner_of(&w->labels, s);

	for (size_t k = 0; k < NR_FILTER_KINDS; k++) {
		uint32_t subject, tag;

		if (!is_used(w, k))
			continue;
		subject = subject_of(w, (enum filter_kind)k, &o); /* known: not added */
		tag = w->subjects[k].items[subject].tag;
		if (tag & SUBJECT_EXCLUDED ||
		    (w->has_includes[k] && !(tag & SUBJECT_INCLUDED)))
			return false;
	}
	return true;
}

/* @kept  the number of each sample that is left. Return: how many they are */
static size_t choose(struct filter_work *w, const struct profile *p, uint32_t *kept,
		     struct filtered *n)
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

static int filtered_new(const struct profile_filter *filters, size_t nr,
			struct filter_work *w, struct filtered **ret)
{
	_cleanup_(filtered_freep) struct filtered *n = calloc(1, sizeof(*n));

	if (n)
		n->matches = calloc(nr + 1, sizeof(*n->matches));
	if (!n || !n->matches)
		return -ENOMEM;
	for (size_t k = 0; k < NR_FILTER_KINDS; k++)
		for (size_t i = 0; i < nr; i++) {
			if (filters[i].kind != k)
				continue;
			n->matches[n->nr_matches++] = (struct filter_match){
				.filter = filters[i], .name = "", .id = ""};
			if (filters[i].exclude)
				w->has_excludes[k] = true;
			else
				w->has_includes[k] = true;
		}
	*ret = take_ptr(n);
	return 0;
}

static int apply(struct filter_work *w, struct profile *p,
		 const struct profile_filter *filters, size_t nr, struct filtered **ret,
		 struct error *err)
{
	_cleanup_(filtered_freep) struct filtered *n = NULL;
	_cleanup_free_ uint32_t *kept = calloc(p->nr_samples + 1, sizeof(*kept));
	int rc = kept ? filtered_new(filters, nr, w, &n) : -ENOMEM;
	size_t nr_kept;

	if (!rc)
		rc = collect(w, n);
	if (rc)
		return error_set(err, rc, "out of memory");
	for (size_t i = 0; i < n->nr_matches; i++)
		match(w, &n->matches[i]);
	nr_kept = choose(w, p, kept, n);
	if (!n->left.samples && !n->left.cpu_ns && (n->all.samples || n->all.cpu_ns))
		return filter_explain(w, n, err);
	for (size_t i = 0; i < nr_kept; i++)
		p->samples[i] = p->samples[kept[i]];
	p->nr_samples = nr_kept;
	*ret = take_ptr(n);
	return 0;
}

int filter_profile(struct profile *p, const struct profile_filter *filters, size_t nr,
		   struct filtered **ret, struct error *err)
{
	struct filter_work w = {.labels = owner_labels_of(p)};
	int rc = apply(&w, p, filters, nr, ret, err);

	for (size_t k = 0; k < NR_FILTER_KINDS; k++)
		tally_deinit(&w.subjects[k]);
	owner_labels_deinit(&w.labels);
	return rc;
}

void filtered_free(struct filtered *n)
{
	if (!n)
		return;
	free(n->matches);
	free(n);
}
