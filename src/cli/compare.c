// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code_query.h"
#include "analyze/phase.h"
#include "base/escape.h"
#include "base/match.h"
#include "base/vec.h"
#include "render/render.h"

/* Reports an error of the command line. */
#define usage(err, ...) error_set_exit(err, EXIT_USAGE, -EINVAL, __VA_ARGS__)

/* ---- the command line ---- */

int comparing_add(struct comparing *c, const char *path, struct error *err)
{
	struct comparing_side *side =
		&c->sides[c->after_given ? DIFF_AFTER : DIFF_BEFORE];

	if (vec_grow(&side->files, &side->cap_files, side->nr_files + 1,
		     sizeof(*side->files), DIFF_MAX_RECORDINGS))
		return usage(err,
			     "diff takes %d recordings of a side, the next one was "
			     "\"%s\"",
			     DIFF_MAX_RECORDINGS, path);
	side->files[side->nr_files++] = path;
	return 0;
}

/* Parses "255", or "255+260": of each recording. Return: the end; NULL: neither. */
static const char *read_works(const char *text, struct comparing_side *side)
{
	side->nr_works = 0;
	for (;; text++) {
		size_t len = strspn(text, "0123456789.");
		double work = strtod(text, NULL);

		if (!len || len > 32 || !(work > 0) ||
		    vec_grow(&side->works, &side->cap_works, side->nr_works + 1,
			     sizeof(*side->works), DIFF_MAX_RECORDINGS))
			return NULL;
		side->works[side->nr_works++] = work;
		text += len;
		if (*text != '+')
			return text;
	}
}

int comparing_set_per(struct comparing *c, const char *arg)
{
	static const char *const begins[NR_DIFF_SIDES] = {"before=", "after="};

	for (int per = DIFF_PER_RUN; per <= DIFF_PER_SAMPLE; per++)
		if (!strcmp(arg, diff_per_names[per])) {
			c->per = (enum diff_per)per;
			return 0;
		}
	for (int s = 0; s < NR_DIFF_SIDES; s++) {
		if (!match_starts(arg, begins[s]))
			return -EINVAL;
		arg = read_works(arg + strlen(begins[s]), &c->sides[s]);
		if (!arg || *arg != (s == DIFF_BEFORE ? ',' : '\0'))
			return -EINVAL;
		arg++;
	}
	c->per = DIFF_PER_WORK;
	return 0;
}

/* Without --after there is one recording of each side. */
static int check_sides(struct comparing *c, struct error *err)
{
	struct comparing_side *before = &c->sides[DIFF_BEFORE];
	struct comparing_side *after = &c->sides[DIFF_AFTER];

	if (!c->after_given && before->nr_files == 2) {
		c->after_given = true;
		return comparing_add(c, before->files[--before->nr_files], err);
	}
	if (!c->after_given && before->nr_files > 2)
		return usage(err, "diff takes two recordings; put --after between more "
				  "of them: diff BEFORE... --after AFTER...");
	if (!before->nr_files || !after->nr_files)
		return usage(err, "diff needs a recording of each side: diff BEFORE "
				  "AFTER");
	return 0;
}

int comparing_check(struct comparing *c, struct error *err)
{
	size_t nr_stdin = 0;

	if (check_sides(c, err))
		return -EINVAL;
	for (int s = 0; s < NR_DIFF_SIDES; s++) {
		const struct comparing_side *side = &c->sides[s];

		for (size_t i = 0; i < side->nr_files; i++)
			nr_stdin += !strcmp(side->files[i], "-");
		if (side->nr_works > 1 && side->nr_works != side->nr_files)
			return usage(err,
				     "--per has the work of %zu recordings %s, but there "
				     "%s %zu; a single number is for each of them",
				     side->nr_works,
				     s == DIFF_BEFORE ? "before" : "after",
				     side->nr_files == 1 ? "is" : "are", side->nr_files);
	}
	if (nr_stdin > 1)
		return usage(err, "stdin (\"-\") can be one of the recordings only");
	return 0;
}

void comparing_deinit(struct comparing *c)
{
	for (int s = 0; s < NR_DIFF_SIDES; s++) {
		free(c->sides[s].files);
		free(c->sides[s].works);
	}
	for (size_t i = 0; i < c->nr_rules; i++)
		free(c->rules[i].subject);
	free(c->rules);
}

/* ---- the comparison ---- */

int compare_new(const struct comparing *c, const struct viewing *v, struct strpool *pool,
		struct profile_diff **ret, struct error *err)
{
	struct diff_options options = {
		.per = c->per,
		.noise = c->noise,
		.moved = v->source_paths,
		.nr_moved = v->nr_source_paths,
		.is_filtered = has_filters(v),
		.skips_compile = v->skip_compile,
		.keeps_stacks = render_format_find("diff", v->format)->needs &
				RENDER_STACKS,
	};

	for (int s = 0; s < NR_DIFF_SIDES; s++)
		options.sides[s] = (struct diff_side_options){
			.nr_recordings = (uint32_t)c->sides[s].nr_files,
			.work = c->sides[s].works,
			.nr_works = (uint32_t)c->sides[s].nr_works,
		};
	if (diff_new(&options, pool, ret))
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

int compare_add(struct profile_diff *d, enum diff_side side, const struct viewing *v,
		struct profile *p, const char *name, struct error *err)
{
	_cleanup_(attribution_freep) struct attribution *a = NULL;
	_cleanup_(filtered_freep) struct filtered *filtered = NULL;
	struct phases phases;
	int rc = apply_filters(v, p, &filtered, err);

	if (rc)
		return rc;
	if (v->skip_compile)
		rc = phases_of(p, true, &phases);
	if (v->show_types)
		type_names_apply(p);
	if (!rc)
		rc = attribution_new(p, &v->attribution, &a);
	if (rc)
		return error_set(err, rc, "out of memory");
	return diff_add(d, side, p, a, name, err);
}

int compare_refuse(const struct diff_verdicts *v, struct error *err)
{
	char words[800] = "";
	size_t nr_named = 0;

	if (!v->nr_exceeded)
		return 0;
	for (size_t i = 0; i < v->nr; i++) {
		const struct diff_verdict *verdict = &v->items[i];

		if (!verdict->is_exceeded || nr_named == 3)
			continue;
		text_append(words, sizeof(words), "%s%.100s%s%.100s ",
			    nr_named++ ? "; " : "", verdict->rule->subject,
			    verdict->is_function ? ", total of " : "",
			    verdict->is_function ? verdict->function : "");
		if (isinf(verdict->growth))
			text_append(words, sizeof(words), "is new");
		else
			text_append(words, sizeof(words), "grew by %.1f %%",
				    100 * verdict->growth);
		text_append(words, sizeof(words), ", limit %.3g %%",
			    100 * verdict->rule->growth);
	}
	if (v->nr_exceeded > nr_named)
		text_append(words, sizeof(words), "; and %zu more",
			    v->nr_exceeded - nr_named);
	return error_set_exit(err, EXIT_GREW, -ERANGE, "--fail-if: %s", words);
}

static int print(const struct profile_diff *d, const struct diff_verdicts *verdicts,
		 const struct comparing *c, const struct viewing *v, FILE *out,
		 struct error *err)
{
	struct render_options opts = viewing_options(v);
	struct render_input in = {.diff = d, .verdicts = verdicts};
	int rc;

	/* A program reads all lines, a person the largest differences. */
	opts.limit = c->limit_given               ? c->limit
		     : !strcmp(v->format, "text") ? COMPARE_DEFAULT_LIMIT
						  : 0;
	rc = render_format_find("diff", v->format)->write(&in, &opts, out);
	if (rc && rc != -EPIPE) {
		errno = -rc;
		return error_set(err, rc, "cannot write the listing: %m");
	}
	return 0;
}

int compare_show(struct profile_diff *d, const struct comparing *c,
		 const struct viewing *v, FILE *out, struct diff_verdicts *ret,
		 struct error *err)
{
	int rc = diff_compare(d, err);

	if (!rc)
		rc = diff_judge(d, c->rules, c->nr_rules, ret, err);
	return rc ? rc : print(d, ret, c, v, out, err);
}
