// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function, a file and a mapping are compared with each expression once. Each has a
 * byte with a bit for each kind of filter that matches.
 */
#include "analyze/frame_filter.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>

#include "analyze/tally.h"

const char *const frame_filter_names[] = {
	[FRAME_FOCUS] = "focus",
	[FRAME_IGNORE] = "ignore",
	[FRAME_HIDE] = "hide",
};
_Static_assert(ARRAY_SIZE(frame_filter_names) == NR_FRAME_FILTER_KINDS, "one name each");

struct frame_work {
	struct profile *p;
	const struct frame_filter *filters;
	regex_t *compiled; /* of each filter */
	size_t nr, nr_compiled;
	uint8_t *functions, *mappings; /* by number: bits of enum frame_filter_kind */
	uint8_t *locations; /* same; without FRAME_HIDE */
	bool has_focus, has_hide;
};

static void frame_work_deinit(struct frame_work *w)
{
	for (size_t i = 0; i < w->nr_compiled; i++)
		regfree(&w->compiled[i]);
	free(w->compiled);
	free(w->functions);
	free(w->mappings);
	free(w->locations);
}

int frame_filter_check(const char *regex, const char *option, struct error *err)
{
	regex_t compiled;
	char why[128];
	int rc = regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB);

	if (!rc) {
		regfree(&compiled);
		return 0;
	}
	regerror(rc, &compiled, why, sizeof(why));
	return error_set_exit(err, EXIT_USAGE, -EINVAL,
			      "--%s takes a regular expression, not \"%s\": %s", option,
			      regex, why);
}

/* Returns the bits of the filters that match the text. */
static uint8_t bits_of(const struct frame_work *w, const char *text)
{
	uint8_t bits = 0;

	for (size_t i = 0; *text && i < w->nr; i++)
		if (!(bits & 1U << w->filters[i].kind) &&
		    !regexec(&w->compiled[i], text, 0, NULL, 0))
			bits |= (uint8_t)(1U << w->filters[i].kind);
	return bits;
}

/* A file has many functions, but is compared once. */
static int match_functions(struct frame_work *w)
{
	const struct profile *p = w->p;
	struct tally files = {0};
	int r = 0;

	for (size_t i = 0; i < p->nr_functions && !r; i++) {
		const struct profile_function *f = &p->functions[i];
		size_t nr = files.nr;
		uint32_t file = tally_number(&files, tally_key(f->filename), 0);

		if (file == PROFILE_NONE) {
			r = -ENOMEM;
			break;
		}
		if (file == nr)
			files.items[file].tag = bits_of(w, f->filename);
		w->functions[i] = (uint8_t)(bits_of(w, f->name) | files.items[file].tag);
	}
	tally_deinit(&files);
	return r;
}

/* Matches the frames of a location, and takes those to hide out of it. */
static void match_location(struct frame_work *w, size_t index)
{
	struct profile *p = w->p;
	struct profile_location *l = &p->locations[index];
	uint8_t mapping = l->mapping == PROFILE_NONE ? 0 : w->mappings[l->mapping];
	uint8_t all = l->nr_lines ? 0 : mapping;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->nr_lines; i++) {
		struct profile_line line = p->lines[l->first_line + i];
		uint8_t bits = mapping;

		if (line.function != PROFILE_NONE)
			bits |= w->functions[line.function];
		all |= bits;
		if (!(bits & 1U << FRAME_HIDE))
			p->lines[l->first_line + kept++] = line;
	}
	/* Hidden as a whole only if nothing is left of it. */
	if (kept)
		all &= (uint8_t) ~(1U << FRAME_HIDE);
	l->nr_lines = kept;
	w->locations[index] = all;
}

static int frame_work_init(struct frame_work *w)
{
	const struct profile *p = w->p;

	w->compiled = calloc(w->nr, sizeof(*w->compiled));
	w->functions = calloc(p->nr_functions + 1, 1);
	w->mappings = calloc(p->nr_mappings + 1, 1);
	w->locations = calloc(p->nr_locations + 1, 1);
	if (!w->compiled || !w->functions || !w->mappings || !w->locations)
		return -ENOMEM;
	for (size_t i = 0; i < w->nr; i++) {
		/* frame_filter_check() accepted it: only memory can lack. */
		if (regcomp(&w->compiled[i], w->filters[i].regex,
			    REG_EXTENDED | REG_NOSUB))
			return -ENOMEM;
		w->nr_compiled++;
		w->has_focus |= w->filters[i].kind == FRAME_FOCUS;
		w->has_hide |= w->filters[i].kind == FRAME_HIDE;
	}
	for (size_t i = 0; i < p->nr_mappings; i++)
		w->mappings[i] = bits_of(w, p->mappings[i].filename);
	return match_functions(w);
}

/* Is the sample kept by focus and ignore? */
static bool is_kept(const struct frame_work *w, const struct profile_sample *s)
{
	const uint32_t *stack = profile_stack(w->p, s);
	uint8_t all = 0;

	for (uint32_t i = 0; i < s->nr_locations; i++)
		all |= w->locations[stack[i]];
	return (!w->has_focus || all & 1U << FRAME_FOCUS) && !(all & 1U << FRAME_IGNORE);
}

/*
 * Copies the frames of the sample that are not hidden to @to.
 * Return: false if all were hidden.
 */
static bool hide(const struct frame_work *w, struct profile_sample *s, uint32_t *to,
		 size_t *nr_to)
{
	const uint32_t *stack = profile_stack(w->p, s);
	size_t first = *nr_to;

	for (uint32_t i = 0; i < s->nr_locations; i++)
		if (!(w->locations[stack[i]] & 1U << FRAME_HIDE))
			to[(*nr_to)++] = stack[i];
	if (*nr_to == first && s->nr_locations)
		return false;
	s->first_location = (uint32_t)first;
	s->nr_locations = (uint32_t)(*nr_to - first);
	return true;
}

/* Samples of a hostile file may share their frames: each gets its own copy. */
static int hide_frames(struct frame_work *w)
{
	struct profile *p = w->p;
	size_t nr_frames = 0, nr = 0, kept = 0;
	uint32_t *frames;

	for (size_t i = 0; i < p->nr_samples; i++)
		nr_frames += p->samples[i].nr_locations;
	if (nr_frames > PROFILE_MAX_SAMPLE_LOCATIONS)
		return -ENOMEM;
	frames = calloc(nr_frames + 1, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_samples; i++)
		if (hide(w, &p->samples[i], frames, &nr))
			p->samples[kept++] = p->samples[i];
	p->nr_samples = kept;
	free(p->sample_locations);
	p->sample_locations = frames;
	p->nr_sample_locations = nr;
	p->cap_sample_locations = nr_frames + 1;
	return 0;
}

static int explain(const struct frame_work *w, struct error *err)
{
	const struct frame_filter *f = &w->filters[0];

	if (w->nr > 1)
		return error_set_exit(err, EXIT_NO_SAMPLES, -ENODATA,
				      "no sample passes --focus, --ignore and --hide as "
				      "they are given; \"lineburn report\" lists the "
				      "functions that there are");
	return error_set_exit(
		err, EXIT_NO_SAMPLES, -ENODATA,
		f->kind == FRAME_FOCUS
			? "no stack has a frame that matches --focus \"%s\"; \"lineburn "
			  "report\" lists the functions that there are"
		: f->kind == FRAME_IGNORE
			? "every stack has a frame that matches --ignore \"%s\""
			: "every frame of every stack matches --hide \"%s\"",
		f->regex);
}

static int apply(struct frame_work *w, struct filtered *n, struct error *err)
{
	struct profile *p = w->p;
	int rc = frame_work_init(w);
	size_t kept = 0;

	if (rc)
		return error_set(err, rc, "out of memory");
	for (size_t i = 0; i < p->nr_locations; i++)
		match_location(w, i);
	for (size_t i = 0; i < p->nr_samples; i++)
		if (is_kept(w, &p->samples[i]))
			p->samples[kept++] = p->samples[i];
	p->nr_samples = kept;
	rc = w->has_hide ? hide_frames(w) : 0;
	if (rc)
		return error_set(err, rc, "out of memory");
	n->left = weight_of_profile(p);
	n->frames = w->filters;
	n->nr_frames = w->nr;
	return weight_is_zero(&n->left) && !weight_is_zero(&n->all) ? explain(w, err) : 0;
}

int frame_filter_profile(struct profile *p, const struct frame_filter *filters, size_t nr,
			 struct filtered **ret, struct error *err)
{
	_cleanup_(frame_work_deinit) struct frame_work w = {
		.p = p, .filters = filters, .nr = nr};

	if (!*ret) {
		*ret = calloc(1, sizeof(**ret));
		if (!*ret)
			return error_set(err, -ENOMEM, "out of memory");
		(*ret)->all = weight_of_profile(p);
	}
	return apply(&w, *ret, err);
}
