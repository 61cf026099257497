// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sentence when nothing is left:
 *
 * no sample is of container "wb"; there is "web" (3f2a8c9d0e1f)
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/filter_work.h"
#include "base/likeness.h"

#define MAX_SIMILAR 3

/* A sentence that grows; cut where it is full. */
struct words {
	char text[900];
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *w, const char *fmt,
						      ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(w->text + w->len, sizeof(w->text) - w->len, fmt, args);
	va_end(args);
	if (n > 0)
		w->len += (size_t)n;
	if (w->len >= sizeof(w->text))
		w->len = sizeof(w->text) - 1;
}

struct suggestions {
	const struct tally_item *item;
	unsigned int likeness;
};

static unsigned int item_likeness(const struct profile_filter *f,
				  const struct tally_item *item)
{
	unsigned int best, by_name;

	if (!strcmp(f->value, "-")) /* no name is meant */
		return LIKENESS_NONE;
	best = likeness(f->value, tally_string(item->a));
	if (f->kind != FILTER_CONTAINER)
		return best;
	by_name = likeness(f->value, tally_string(item->b));
	return by_name < best ? by_name : best;
}

/* Puts it among the best so far: the most alike first, then the heaviest. */
static void keep_similar(struct suggestions *best, size_t *nr, struct suggestions one)
{
	size_t at = *nr;

	for (size_t i = 0; i < *nr; i++)
		if (best[i].item == one.item)
			return;
	while (at && (one.likeness < best[at - 1].likeness ||
		      (one.likeness == best[at - 1].likeness &&
		       weight_compare(one.item->self, best[at - 1].item->self) < 0)))
		at--;
	if (at == MAX_SIMILAR)
		return;
	if (*nr < MAX_SIMILAR)
		++*nr;
	memmove(&best[at + 1], &best[at], (*nr - 1 - at) * sizeof(*best));
	best[at] = one;
}

static size_t find_similar(const struct filter_work *w, const struct filtered *n,
			   enum filter_kind kind, struct suggestions best[MAX_SIMILAR])
{
	const struct tally *subjects = &w->subjects[kind];
	size_t nr = 0;

	for (size_t m = 0; m < n->nr_matches && !filter_kind_is_number(kind); m++) {
		const struct profile_filter *f = &n->matches[m].filter;

		if (f->kind != kind || f->exclude)
			continue;
		for (size_t i = 0; i < subjects->nr; i++) {
			struct suggestions one = {.item = &subjects->items[i]};

			if (subject_is_none(kind, one.item))
				continue;
			one.likeness = item_likeness(f, one.item);
			if (one.likeness != LIKENESS_NONE)
				keep_similar(best, &nr, one);
		}
	}
	return nr;
}

/* container "web" or "db" */
static void say_values(struct words *words, const struct filtered *n,
		       enum filter_kind kind, bool exclude)
{
	bool begun = false;

	for (size_t i = 0; i < n->nr_matches; i++) {
		const struct profile_filter *f = &n->matches[i].filter;

		if (f->kind != kind || f->exclude != exclude)
			continue;
		if (!begun)
			say(words, "%s", filter_kind_names[kind]);
		say(words, "%s \"%.200s\"", begun ? " or" : "", f->value);
		begun = true;
	}
}

static void say_similar(struct words *words, const struct tally_item *item,
			enum filter_kind kind)
{
	const char *name = kind == FILTER_CONTAINER ? tally_string(item->b) : "";

	if (*name)
		say(words, "\"%.200s\" (%.12s)", name, tally_string(item->a));
	else
		say(words, "\"%.200s\"", tally_string(item->a));
}

static bool has_any(const struct filter_work *w, enum filter_kind kind)
{
	for (size_t i = 0; i < w->subjects[kind].nr; i++)
		if (!subject_is_none(kind, &w->subjects[kind].items[i]))
			return true;
	return false;
}

/* No filter of this kind matches anything. */
static void say_unmatched(struct words *words, const struct filter_work *w,
			  const struct filtered *n, enum filter_kind kind)
{
	struct suggestions similar[MAX_SIMILAR + 1];
	size_t nr = find_similar(w, n, kind, similar);

	say(words, "no sample is of ");
	say_values(words, n, kind, false);
	if (!has_any(w, kind)) {
		say(words, "; no sample of this profile tells its %s%s",
		    filter_kind_names[kind],
		    kind == FILTER_THREAD ? ", which takes --tid when recording" : "");
		return;
	}
	if (!nr)
		say(words, "; \"lineburn report --by %s\" lists what there is",
		    kind == FILTER_PID ? "process" : filter_kind_names[kind]);
	for (size_t i = 0; i < nr; i++) {
		say(words, "%s", !i ? "; there is " : i + 1 < nr ? ", " : " and ");
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

/* Each matches something, but there is no sample that they all match. */
static void say_nothing_left(struct words *words, const struct filter_work *w,
			     const struct filtered *n)
{
	const char *joint = "no sample is of ";
	bool has_excludes = false;

	for (size_t k = 0; k < NR_FILTER_KINDS; k++) {
		has_excludes |= w->has_excludes[k];
		if (!w->has_includes[k])
			continue;
		say(words, "%s", joint);
		say_values(words, n, (enum filter_kind)k, false);
		joint = " and of ";
	}
	if (!has_excludes)
		return;
	joint = words->len ? " without being of " : "every sample is of ";
	for (size_t k = 0; k < NR_FILTER_KINDS; k++) {
		if (!w->has_excludes[k])
			continue;
		say(words, "%s", joint);
		say_values(words, n, (enum filter_kind)k, true);
		joint = " or of ";
	}
	say(words, ", which is excluded");
}

int filter_explain(const struct filter_work *w, const struct filtered *n,
		   struct error *err)
{
	struct words words = {.len = 0};

	for (size_t k = 0; k < NR_FILTER_KINDS && !words.len; k++)
		if (matches_nothing(w, n, (enum filter_kind)k))
			say_unmatched(&words, w, n, (enum filter_kind)k);
	if (!words.len)
		say_nothing_left(&words, w, n);
	return error_set_exit(err, EXIT_NO_SAMPLES, -ENODATA, "%s", words.text);
}
