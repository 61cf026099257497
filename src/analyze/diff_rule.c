// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/diff_rule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code_query.h"
#include "base/suggest.h"
#include "base/vec.h"

static const char whole[] = "total";

int diff_rule_parse(const char *text, struct diff_rule *ret)
{
	const char *limit = strrchr(text, ' '), *end = limit;
	double percent;

	while (end && end > text && end[-1] == ' ')
		end--;
	if (!limit || end == text || limit[1] != '+' || !strchr("0123456789.", limit[2]))
		return -EINVAL;
	percent = strtod(limit + 2, (char **)&limit);
	if (strcmp(limit, "%") != 0 || !(percent >= 0 && percent <= 1e6))
		return -EINVAL;
	ret->subject = strndup(text, (size_t)(end - text));
	ret->growth = percent / 100;
	return ret->subject ? 0 : -ENOMEM;
}

/* ---- subjects ---- */

static int add(struct diff_verdicts *v, const struct diff_verdict *verdict)
{
	if (vec_grow(&v->items, &v->cap, v->nr + 1, sizeof(*v->items), 0))
		return -ENOMEM;
	v->items[v->nr++] = *verdict;
	return 0;
}

/* Does @path end in these whole components, and the function's name match? */
static bool matches(const struct diff_function *f, const char *subject,
		    enum name_step step)
{
	if (name_matches(f->name, subject, step))
		return true;
	/* Names have colons, too: try each as the end of the file. */
	for (const char *at = subject; (at = strchr(at, ':')); at++) {
		struct code_place file = {subject, (size_t)(at - subject), 1};

		if (at != subject && at[1] && code_place_is_in(&file, f->file) &&
		    name_matches(f->name, at + 1, step))
			return true;
	}
	return false;
}

static int add_functions(const struct profile_diff *d, const struct diff_rule *rule,
			 struct diff_verdicts *v)
{
	static const enum name_step steps[] = {NAME_WHOLE, NAME_LAST_PART};
	size_t nr_before = v->nr;

	for (size_t s = 0; s < ARRAY_SIZE(steps) && v->nr == nr_before; s++)
		for (size_t i = 0; i < d->nr_functions; i++) {
			const struct diff_function *f = &d->functions[i];
			struct diff_verdict verdict = {
				.rule = rule,
				.path = f->file,
				.function = f->name,
				.line = f->start_line[DIFF_AFTER],
				.is_function = true,
				.change = f->total,
			};

			if (!*f->name || !matches(f, rule->subject, steps[s]))
				continue;
			if (add(v, &verdict))
				return -ENOMEM;
		}
	return 0;
}

/* By the number in AFTER; lines that AFTER does not have, by that in BEFORE. */
static int add_lines(const struct profile_diff *d, const struct diff_rule *rule,
		     const struct code_place *place, struct diff_verdicts *v)
{
	for (size_t i = 0; i < d->nr_lines; i++) {
		const struct diff_line *l = &d->lines[i];
		uint32_t after = l->line[DIFF_AFTER];
		struct diff_verdict verdict = {.rule = rule,
					       .path = l->path,
					       .function = l->function,
					       .line = after,
					       .change = l->total};

		if ((after ? after : l->line[DIFF_BEFORE]) == place->line &&
		    code_place_is_in(place, l->path) && add(v, &verdict))
			return -ENOMEM;
	}
	return 0;
}

static int refuse_subject(const struct profile_diff *d, const char *subject,
			  bool is_place, struct error *err)
{
	struct suggestions known = {0};
	char similar[400];

	for (size_t i = 0; i < d->nr_functions && !is_place; i++)
		suggestions_add(&known, d->functions[i].name);
	for (size_t i = 0; i < d->nr_lines && is_place; i++)
		suggestions_add(&known, d->lines[i].path);
	error_set(err, -EINVAL,
		  is_place ? "--fail-if: neither side has samples on the line %.200s; of "
			     "files %s"
			   : "--fail-if: neither side has a function %.200s; %s",
		  subject, suggestions_say(&known, subject, similar, sizeof(similar)));
	suggestions_deinit(&known);
	return -EINVAL;
}

static int add_subjects(const struct profile_diff *d, const struct diff_rule *rule,
			struct diff_verdicts *v, struct error *err)
{
	const struct diff_verdict all = {
		.rule = rule, .path = "", .function = "", .change = d->whole};
	size_t nr_before = v->nr;
	struct code_place place;
	bool is_place = code_place_parse(rule->subject, &place);
	int rc;

	if (!strcmp(rule->subject, whole) && d->comparison.are_shares)
		return error_set(err, -EINVAL,
				 "--fail-if \"total\" needs CPU times: --per sample "
				 "compares shares, whose total is always 100 %%");
	if (!strcmp(rule->subject, whole))
		rc = add(v, &all);
	else
		rc = is_place ? add_lines(d, rule, &place, v) : add_functions(d, rule, v);
	if (rc)
		return error_set(err, rc, "out of memory");
	return v->nr == nr_before ? refuse_subject(d, rule->subject, is_place, err) : 0;
}

/* ---- verdicts ---- */

static void judge(const struct profile_diff *d, struct diff_verdict *verdict,
		  double level)
{
	struct change *c = &verdict->change;
	double before = c->of[DIFF_BEFORE].value;

	change_judge(&d->comparison, c);
	change_bound(&d->comparison, c, level);
	c->is_compared = true;
	c->is_significant = c->p < level;
	verdict->growth = before > 0          ? c->difference / before
			  : c->difference > 0 ? INFINITY
					      : 0;
	verdict->is_exceeded = c->is_significant && c->difference > 0 &&
			       verdict->growth > verdict->rule->growth;
}

int diff_judge(const struct profile_diff *d, const struct diff_rule *rules, size_t nr,
	       struct diff_verdicts *ret, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < nr && !rc; i++)
		rc = add_subjects(d, &rules[i], ret, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < ret->nr; i++) {
		judge(d, &ret->items[i], DIFF_RULES_ALPHA / (double)ret->nr);
		ret->nr_exceeded += ret->items[i].is_exceeded;
	}
	return 0;
}

void diff_verdicts_deinit(struct diff_verdicts *v)
{
	free(v->items);
	*v = (struct diff_verdicts){0};
}
