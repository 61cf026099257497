// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/filtered.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "render/figure.h"
#include "render/groups.h"

struct filter_text {
	char text[1500];
};

static void say(struct filter_text *w, const char *text)
{
	text_append(w->text, sizeof(w->text), "%s", text);
}

/* "web (3f2a8c9d0e1f)", "3f2 (2 containers)", "wbe (matches nothing)" */
static void say_match(struct filter_text *w, const struct filter_match *m)
{
	bool is_container = m->filter.kind == FILTER_CONTAINER;
	bool is_id = is_container || m->filter.kind == FILTER_POD;
	char what[600];

	snprintf(what, sizeof(what), "%.250s", m->filter.value);
	if (!strcmp(what, "-"))
		snprintf(what, sizeof(what), "(none)");
	else if (m->nr == 1 && is_container)
		snprintf(what, sizeof(what), "%.250s%s%.250s%s",
			 *m->name ? m->name : container_short_id(m->id).text,
			 *m->name ? " (" : "",
			 *m->name ? container_short_id(m->id).text : "",
			 *m->name ? ")" : "");
	say(w, what);
	if (!m->nr)
		say(w, " (matches nothing)");
	if (m->nr < 2 || !is_id)
		return;
	snprintf(what, sizeof(what), " (%" PRIu32 " %ss)", m->nr,
		 filter_kind_names[m->filter.kind]);
	say(w, what);
}

/* "only container web or db, comm nginx*": of each kind, one filter or another. */
static void say_matches(struct filter_text *w, const struct filtered *n, bool exclude,
			const char *first, const char *next)
{
	const struct filter_match *last = NULL;

	for (size_t i = 0; i < n->nr_matches; i++) {
		const struct filter_match *m = &n->matches[i];

		if (m->filter.exclude != exclude)
			continue;
		if (last && last->filter.kind == m->filter.kind) {
			say(w, " or ");
		} else {
			say(w, last ? next : first);
			say(w, filter_kind_names[m->filter.kind]);
			say(w, " ");
		}
		say_match(w, m);
		last = m;
	}
}

static double share_left(const struct filtered *n)
{
	if (n->all.cpu_ns)
		return (double)n->left.cpu_ns / (double)n->all.cpu_ns;
	return n->all.samples ? (double)n->left.samples / (double)n->all.samples : 0;
}

void filtered_print(const struct listing *l, unsigned int margin)
{
	const struct filtered *n = l->in->filtered;
	struct filter_text words = {""};
	struct figure share;

	if (!n)
		return;
	share = figure_percent(share_left(n));
	say_matches(&words, n, false, "only ", " and ");
	say_matches(&words, n, true, *words.text ? ", without " : "without ", " and ");
	listing_sentence(l, margin, margin, "%s: %s %% of %s", words.text,
			 *share.text ? share.text : "0.0",
			 counts_samples(l->in->attribution)
				 ? figure_count(n->all.samples, "sample", "samples").text
				 : "the profile");
}

json_t *filtered_value(struct json_builder *b, const struct filtered *n)
{
	json_t *object = n ? json_object() : json_null(), *filters;

	if (!n)
		return object;
	filters = json_array();
	for (size_t i = 0; i < n->nr_matches; i++) {
		const struct filter_match *m = &n->matches[i];
		json_t *filter = json_object();

		json_set(b, filter, "kind",
			 json_string(filter_kind_names[m->filter.kind]));
		json_set(b, filter, "value", json_text(m->filter.value));
		json_set(b, filter, "exclude", json_boolean(m->filter.exclude));
		json_set(b, filter, "matches", json_count(m->nr));
		json_add(b, filters, filter);
	}
	json_set(b, object, "filters", filters);
	json_set(b, object, "all_samples", json_count(n->all.samples));
	json_set(b, object, "all_cpu_ns", json_count(n->all.cpu_ns));
	return object;
}
