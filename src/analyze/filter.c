// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two passes. The first collects the subjects of each kind, because matching depends on
 * all of them (the start of an id matches only if no name does), and because there are
 * far fewer containers than samples.
 */
#include "analyze/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sample_owner.h"
#include "analyze/tally.h"
#include "base/escape.h"
#include "base/match.h"
#include "base/suggest.h"

/* Flags of a subject. */
enum subject_tag {
	SUBJECT_INCLUDED = 1 << 0, /* a filter matches it */
	SUBJECT_EXCLUDED = 1 << 1,
};

struct filter_work {
	struct owner_labels labels;
	bool has_includes[NR_FILTER_KINDS], has_excludes[NR_FILTER_KINDS];
	/*
	 * The samples' values of each filter kind: (text, 0), (number, 0), or (id,
	 * name) for containers. (text "", ...) and (0, 0) stand for samples without a
	 * value.
	 */
	struct tally subjects[NR_FILTER_KINDS]; /* tag: enum subject_tag */
};

static inline bool filter_kind_is_number(enum filter_kind kind)
{
	return kind == FILTER_PID || kind == FILTER_THREAD;
}

/** Does it stand for samples without a value of the kind? */
static inline bool subject_is_none(enum filter_kind kind, const struct tally_item *item)
{
	return filter_kind_is_number(kind) ? !item->a : !*tally_string(item->a);
}

/* ---- does a filter match this container, unit, process...? ---- */

/* Pod uids in systemd's cgroup paths have "_", because "-" separates slices there. */
static enum match match_pod(const char *value, const char *uid)
{
	size_t i = 0;

	for (; value[i]; i++)
		if (uid[i] != value[i] && !(uid[i] == '-' && value[i] == '_'))
			return MATCH_NONE;
	return uid[i] ? MATCH_WEAK : MATCH_EXACT;
}

/* "/sys/fs/cgroup/a/b/", "a/b" and "/a/b" name the same cgroup. */
static bool is_cgroup_above(const char *value, const char *path)
{
	static const char mount[] = "/sys/fs/cgroup";
	char clean[PATH_MAX];

	if (match_path_above(mount, value))
		value += strlen(mount);
	return !match_clean_path(value, clean, sizeof(clean)) &&
	       match_path_above(clean, path);
}

static enum match exact(bool is_equal)
{
	return is_equal ? MATCH_EXACT : MATCH_NONE;
}

/** Returns how well it matches, 0: not at all; only a filter's best matches count. */
static enum match filter_strength(const struct profile_filter *f,
				  const struct tally_item *subject)
{
	const char *value = f->value, *text;

	if (!strcmp(value, "-") || subject_is_none(f->kind, subject))
		return exact(!strcmp(value, "-") && subject_is_none(f->kind, subject));
	if (filter_kind_is_number(f->kind))
		return exact(strtoull(value, NULL, 10) == subject->a);
	text = tally_string(subject->a);
	switch (f->kind) {
	case FILTER_CONTAINER:
		return match_container(value, text, tally_string(subject->b),
				       MATCH_START_ANY);
	case FILTER_UNIT:
		return match_unit(value, text);
	case FILTER_POD:
		return match_pod(value, text);
	case FILTER_COMM: /* a pattern, but a thread's name may be "[x]" */
		return exact(!strcmp(value, text) || !fnmatch(value, text, FNM_NOESCAPE));
	case FILTER_CGROUP:
		return exact(is_cgroup_above(value, text));
	default:
		return exact(!strcmp(value, text));
	}
}

/*
 * The message if no sample is left:
 *
 * no sample is of container "wb"; there is "web" (3f2a8c9d0e1f)
 */

struct sentence {
	char text[900];
};

#define SAY(words, ...) text_append((words)->text, sizeof((words)->text), __VA_ARGS__)

static unsigned int item_likeness(const struct profile_filter *f,
				  const struct tally_item *item)
{
	unsigned int best, by_name;

	if (!strcmp(f->value, "-")) /* selects samples without a name */
		return LIKENESS_NONE;
	best = likeness(f->value, tally_string(item->a));
	if (f->kind != FILTER_CONTAINER)
		return best;
	by_name = likeness(f->value, tally_string(item->b));
	return by_name < best ? by_name : best;
}

static size_t find_similar(const struct filter_work *w, const struct filtered *n,
			   enum filter_kind kind, struct likely best[SUGGESTIONS_SHOWN])
{
	const struct tally *subjects = &w->subjects[kind];
	size_t nr = 0;

	for (size_t m = 0; m < n->nr_matches && !filter_kind_is_number(kind); m++) {
		const struct profile_filter *f = &n->matches[m].filter;

		if (f->kind != kind || f->exclude)
			continue;
		for (size_t i = 0; i < subjects->nr; i++) {
			const struct tally_item *item = &subjects->items[i];
			struct weight self = item->self;

			if (subject_is_none(kind, item))
				continue;
			nr = likely_keep(best, nr,
					 (struct likely){item, item_likeness(f, item),
							 self.cpu_ns ? self.cpu_ns
								     : self.samples});
		}
	}
	return nr;
}

/* container "web" or "db" */
static void say_values(struct sentence *words, const struct filtered *n,
		       enum filter_kind kind, bool exclude)
{
	bool begun = false;

	for (size_t i = 0; i < n->nr_matches; i++) {
		const struct profile_filter *f = &n->matches[i].filter;

		if (f->kind != kind || f->exclude != exclude)
			continue;
		if (!begun)
			SAY(words, "%s", filter_kind_names[kind]);
		SAY(words, "%s \"%.200s\"", begun ? " or" : "", f->value);
		begun = true;
	}
}

static void say_similar(struct sentence *words, const struct tally_item *item,
			enum filter_kind kind)
{
	const char *name = kind == FILTER_CONTAINER ? tally_string(item->b) : "";

	if (*name)
		SAY(words, "\"%.200s\" (%.12s)", name, tally_string(item->a));
	else
		SAY(words, "\"%.200s\"", tally_string(item->a));
}

static bool has_any(const struct filter_work *w, enum filter_kind kind)
{
	for (size_t i = 0; i < w->subjects[kind].nr; i++)
		if (!subject_is_none(kind, &w->subjects[kind].items[i]))
			return true;
	return false;
}

/* Adds that no filter of this kind matches anything. */
static void say_unmatched(struct sentence *words, const struct filter_work *w,
			  const struct filtered *n, enum filter_kind kind)
{
	struct likely similar[SUGGESTIONS_SHOWN];
	size_t nr = find_similar(w, n, kind, similar);

	SAY(words, "no sample is of ");
	say_values(words, n, kind, false);
	if (!has_any(w, kind)) {
		SAY(words, "; no sample of this profile has a known %s%s",
		    filter_kind_names[kind],
		    kind == FILTER_THREAD ? ": record with --tid" : "");
		return;
	}
	if (!nr)
		SAY(words, "; \"lineburn report --by %s\" lists what there is",
		    kind == FILTER_PID ? "process" : filter_kind_names[kind]);
	for (size_t i = 0; i < nr; i++) {
		SAY(words, "%s", !i ? "; there is " : i + 1 < nr ? ", " : " and ");
		say_similar(words, similar[i].item, kind);
	}
}

static bool matches_nothing(const struct filter_work *w, const struct filtered *n,
			    enum filter_kind kind)
{
	for (size_t i = 0; i < n->nr_matches; i++) {
		const struct filter_match *m = &n->matches[i];

		if (m->filter.kind == kind && !m->filter.exclude && m->nr)
			return false;
	}
	return w->has_includes[kind];
}

/* Adds that each filter matches something, but no sample matches all. */
static void say_nothing_left(struct sentence *words, const struct filter_work *w,
			     const struct filtered *n)
{
	const char *joint = "no sample is of ";
	bool has_excludes = false;

	for (size_t k = 0; k < NR_FILTER_KINDS; k++) {
		has_excludes |= w->has_excludes[k];
		if (!w->has_includes[k])
			continue;
		SAY(words, "%s", joint);
		say_values(words, n, (enum filter_kind)k, false);
		joint = " and of ";
	}
	if (!has_excludes)
		return;
	joint = *words->text ? " without being of " : "every sample is of ";
	for (size_t k = 0; k < NR_FILTER_KINDS; k++) {
		if (!w->has_excludes[k])
			continue;
		SAY(words, "%s", joint);
		say_values(words, n, (enum filter_kind)k, true);
		joint = " or of ";
	}
	SAY(words, ", which is excluded");
}

/**
 * Sets @err to a message that says why no sample is left and suggests similar names.
 */
static int filter_explain(const struct filter_work *w, const struct filtered *n,
			  struct error *err)
{
	struct sentence words = {""};

	for (size_t k = 0; k < NR_FILTER_KINDS && !*words.text; k++)
		if (matches_nothing(w, n, (enum filter_kind)k))
			say_unmatched(&words, w, n, (enum filter_kind)k);
	if (!*words.text)
		say_nothing_left(&words, w, n);
	return error_set_exit(err, EXIT_NO_SAMPLES, -ENODATA, "%s", words.text);
}

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
		struct weight weight = weigher_weigh(&weigher, &p->samples[i]);

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
	enum match best = MATCH_WEAK;

	for (size_t i = 0; i < subjects->nr; i++) {
		enum match strength = filter_strength(&m->filter, &subjects->items[i]);

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
		subject = subject_of(w, (enum filter_kind)k, &o); /* exists: not added */
		tag = w->subjects[k].items[subject].tag;
		if (tag & SUBJECT_EXCLUDED ||
		    (w->has_includes[k] && !(tag & SUBJECT_INCLUDED)))
			return false;
	}
	return true;
}

/* @kept  set to the index of each remaining sample. Return: their number */
static size_t choose(struct filter_work *w, const struct profile *p, uint32_t *kept,
		     struct filtered *n)
{
	struct weigher weigher = weigher_of(p);
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_samples; i++) {
		if (!is_kept(w, &p->samples[i]))
			continue;
		weight_add(&n->left, weigher_weigh(&weigher, &p->samples[i]));
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
	if (weight_is_zero(&n->left) && !weight_is_zero(&n->all))
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
	struct filter_work w = {.labels = owner_labels_of(p, NULL)};
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
