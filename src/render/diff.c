// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What changed as a whole, then which lines and functions; never what chance explains:
 *
 * lineburn: CPU of a recording: 4.212 s before, 3.121 s after: -1.091 s ...
 *           before: before.pb.gz, 4208 samples; after: after.pb.gz, 3118 samples
 *
 * Lines that differ, self in s
 *  before    after   change           interval  line
 *   1.803    0.212   -1.591   -1.710 to -1.472  /srv/dither.py:25 was 24
 *         dither_slow
 *         - new = np.round(old / 255.0) * 255
 *         + new = 255 if old > 127 else 0
 */
#include "render/diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/path.h"
#include "render/listing.h"
#include "render/text.h"

#define TITLE         "lineburn: "
#define TITLE_COLUMN  (sizeof(TITLE) - 1)
#define DETAIL_COLUMN 8
#define LOST_TOO_MANY 0.01 /* share of lost samples that is worth a warning */
#define RATES_TOO_FAR 1.5 /* ratio of two rates that is worth one */

/* Prints one sentence below the first line. */
#define SAY(l, ...) listing_sentence(l, TITLE_COLUMN, TITLE_COLUMN, __VA_ARGS__)

/* ---- figures and words ---- */

static struct diff_unit unit_of_time(double largest_ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(units) && largest_ns < units[i].ns)
		i++;
	return (struct diff_unit){1 / units[i].ns, 3, units[i].name, units[i].name};
}

struct diff_unit diff_unit_of(const struct profile_diff *d)
{
	double largest =
		fmax(d->whole.of[DIFF_BEFORE].value, d->whole.of[DIFF_AFTER].value);
	struct diff_unit unit = {1, 3, "", ""};

	if (d->per == DIFF_PER_SAMPLE)
		return (struct diff_unit){100, 2, "%", "points"};
	if (d->has_cpu)
		unit = d->per == DIFF_PER_SECOND
			       ? (struct diff_unit){1e-7, 2, "%", "points"}
			       : unit_of_time(largest);
	largest *= unit.scale;
	for (double limit = 100; largest >= limit && unit.digits; limit *= 10)
		unit.digits--;
	return unit;
}

struct figure diff_value(const struct diff_unit *unit, double value)
{
	struct figure f;

	snprintf(f.text, sizeof(f.text), "%.*f", unit->digits, value * unit->scale);
	return f;
}

struct figure diff_difference(const struct diff_unit *unit, double value)
{
	struct figure f;

	snprintf(f.text, sizeof(f.text), "%+.*f", unit->digits, value * unit->scale);
	return f;
}

struct figure diff_growth(const struct change *c)
{
	double before = c->of[DIFF_BEFORE].value;
	struct figure f;

	if (before > 0)
		snprintf(f.text, sizeof(f.text), "%+.1f %%",
			 100 * c->difference / before);
	else
		snprintf(f.text, sizeof(f.text), "new");
	return f;
}

static const char *what_is_counted(const struct profile_diff *d)
{
	return d->has_cpu || !strcmp(d->counted.unit, "count") ? d->counted.type : "";
}

const char *diff_measure(const struct profile_diff *d, char buf[DIFF_WORDS_BYTES])
{
	static const char *const per[NR_DIFF_PERS] = {
		[DIFF_PER_RUN] = "of a recording",
		[DIFF_PER_SECOND] = "of a second",
		[DIFF_PER_WORK] = "of a unit of work",
	};
	const char *what = d->has_cpu ? "CPU" : what_is_counted(d);

	if (d->per == DIFF_PER_SAMPLE)
		snprintf(buf, DIFF_WORDS_BYTES, "shares of all %.100s", what);
	else if (d->per == DIFF_PER_SECOND && d->has_cpu)
		snprintf(buf, DIFF_WORDS_BYTES, "CPU, 100 %% is one CPU");
	else
		snprintf(buf, DIFF_WORDS_BYTES, "%.100s %s", what, per[d->per]);
	return buf;
}

const char *diff_words(const struct diff_unit *unit, const struct change *c,
		       char buf[DIFF_WORDS_BYTES])
{
	const char *space = *unit->name ? " " : "";
	struct figure before = diff_value(unit, c->of[DIFF_BEFORE].value);
	struct figure after = diff_value(unit, c->of[DIFF_AFTER].value);
	struct figure low = diff_difference(unit, c->low);
	struct figure high = diff_difference(unit, c->high);

	snprintf(buf, DIFF_WORDS_BYTES,
		 "%s%s%s before, %s%s%s after: %s%s%s (%s), interval %s to %s%s%s",
		 before.text, space, unit->name, after.text, space, unit->name,
		 diff_difference(unit, c->difference).text, space, unit->of_differences,
		 diff_growth(c).text, low.text, high.text, space, unit->of_differences);
	return buf;
}

uint32_t diff_line_number(const struct diff_line *l)
{
	return l->line[DIFF_AFTER] ? l->line[DIFF_AFTER] : l->line[DIFF_BEFORE];
}

/* ---- the head ---- */

static void print_whole(const struct listing *l, const struct diff_unit *unit)
{
	const struct profile_diff *d = l->in->diff;
	char measure[DIFF_WORDS_BYTES], words[DIFF_WORDS_BYTES];

	diff_measure(d, measure);
	diff_words(unit, &d->whole, words);
	paint_begin(l, PAINT_BOLD);
	if (!d->whole.is_compared)
		listing_sentence(l, 0, TITLE_COLUMN,
				 TITLE "%s; as a whole both are 100 %%", measure);
	else if (d->whole.is_significant)
		listing_sentence(l, 0, TITLE_COLUMN, TITLE "%s: %s", measure, words);
	else
		listing_sentence(l, 0, TITLE_COLUMN,
				 TITLE "%s, as a whole no more than chance: %s", measure,
				 words);
	paint_end(l, PAINT_BOLD);
}

/* "before.pb.gz and 4 more, 21034 samples" */
static void describe_side(const struct profile_diff *d, enum diff_side s, char *buf,
			  size_t size)
{
	uint32_t nr = d->comparison.sides[s].nr_recordings;
	uint64_t samples = 0;

	for (uint32_t i = 0; i < nr; i++)
		samples += d->recordings[s][i].samples;
	snprintf(buf, size, "%.1000s", d->recordings[s][0].name);
	if (nr > 1)
		text_append(buf, size, " and %" PRIu32 " more", nr - 1);
	text_append(buf, size, ", %s", figure_count(samples, "sample", "samples").text);
}

static void print_noise(const struct listing *l)
{
	const struct comparison *c = &l->in->diff->comparison;
	uint32_t nr_before = c->sides[DIFF_BEFORE].nr_recordings;
	uint32_t nr_after = c->sides[DIFF_AFTER].nr_recordings;

	if (nr_before > 1 || nr_after > 1)
		SAY(l,
		    "The noise is what the recordings of a side (%" PRIu32 " before, "
		    "%" PRIu32 " after) differ by.",
		    nr_before, nr_after);
	else if (c->noise > 0)
		SAY(l,
		    "One recording each does not tell by how much runs of one program "
		    "differ: %.3g %% is assumed (--noise). Several of each (--after) "
		    "measure it.",
		    100 * c->noise);
	else
		SAY(l, "The intervals leave out by how much runs of one program differ; "
		       "several recordings of each side (--after) measure it.");
}

#define WARN(l, ...)                           \
	do {                                   \
		paint_begin(l, PAINT_WARNING); \
		SAY(l, __VA_ARGS__);           \
		paint_end(l, PAINT_WARNING);   \
	} while (0)

/* Interrupts slow a program down: a second at 4,999 Hz may cost it a tenth and more. */
static void warn_of_rates(const struct listing *l)
{
	const struct profile_diff *d = l->in->diff;
	const struct diff_recording *low = NULL, *high = NULL;

	for (int s = 0; s < NR_DIFF_SIDES; s++)
		for (uint32_t i = 0; i < d->comparison.sides[s].nr_recordings; i++) {
			const struct diff_recording *r = &d->recordings[s][i];

			if (!r->freq_hz)
				continue;
			if (!low || r->freq_hz < low->freq_hz)
				low = r;
			if (!high || r->freq_hz > high->freq_hz)
				high = r;
		}
	if (low && high->freq_hz > RATES_TOO_FAR * low->freq_hz)
		WARN(l,
		     "%s was sampled at %" PRIu32 " Hz and %s at %" PRIu32
		     " Hz. Samples slow a program down, so record both at one rate.",
		     low->name, low->freq_hz, high->name, high->freq_hz);
}

static void print_warnings(const struct listing *l)
{
	const struct profile_diff *d = l->in->diff;

	warn_of_rates(l);
	for (int s = 0; s < NR_DIFF_SIDES; s++)
		for (uint32_t i = 0; i < d->comparison.sides[s].nr_recordings; i++) {
			const struct diff_recording *r = &d->recordings[s][i];
			double lost = (double)r->lost /
				      ((double)r->lost + (double)r->samples);

			if (lost > LOST_TOO_MANY)
				WARN(l,
				     "%s lost %.1f %% of its samples, so its figures are "
				     "too low by about that.",
				     r->name, 100 * lost);
		}
	if (d->mixed_path)
		WARN(l,
		     "One side has several versions of %s: its lines are compared by "
		     "their numbers.",
		     d->mixed_path);
}

void diff_print_head(const struct listing *l)
{
	struct diff_unit unit = diff_unit_of(l->in->diff);
	char before[1200], after[1200];

	print_whole(l, &unit);
	describe_side(l->in->diff, DIFF_BEFORE, before, sizeof(before));
	describe_side(l->in->diff, DIFF_AFTER, after, sizeof(after));
	SAY(l, "before: %s; after: %s", before, after);
	if (l->in->diff->is_filtered || l->in->diff->skips_compile)
		SAY(l, "These are%s%s.",
		    l->in->diff->is_filtered ? " those that the filters select" : " all",
		    l->in->diff->skips_compile ? ", without imports and Numba's compiler"
					       : "");
	print_noise(l);
	print_warnings(l);
}

/* ---- tables ---- */

/* Columns of a value; of a difference one more, for its sign. */
static int value_columns(const struct profile_diff *d, const struct diff_unit *unit)
{
	double largest = 1;
	size_t len;

	if (!d->comparison.are_shares)
		largest = fmax(d->whole.of[DIFF_BEFORE].value,
			       d->whole.of[DIFF_AFTER].value);
	len = strlen(diff_value(unit, largest).text);
	return len < 6 ? 6 : (int)len;
}

/* Columns of all figures, with the gap behind them; as print_figures() prints. */
static size_t figures_columns(int width)
{
	size_t value = (size_t)width, difference = value + 1, gap = 2;

	return 2 * (value + gap) + difference + gap + 2 * difference + strlen(" to ") +
	       gap;
}

static void print_table_head(const struct listing *l, const struct diff_unit *unit,
			     int width, const char *what)
{
	fputc('\n', l->out);
	paint_print(l, PAINT_BOLD, "%s that differ, self%s%s\n", what,
		    *unit->name ? " in " : "", unit->name);
	paint_print(l, PAINT_DIM, "%*s  %*s  %*s  %*s  %s\n", width, "before", width,
		    "after", width + 1, "change", 2 * (width + 1) + (int)strlen(" to "),
		    "interval", *what == 'L' ? "line" : "function");
}

static void print_figures(const struct listing *l, const struct diff_unit *unit,
			  int width, const struct change *c)
{
	struct figure low = diff_difference(unit, c->low);
	struct figure high = diff_difference(unit, c->high);

	fprintf(l->out, "%*s  %*s  ", width,
		diff_value(unit, c->of[DIFF_BEFORE].value).text, width,
		diff_value(unit, c->of[DIFF_AFTER].value).text);
	/* The sign says it, too. */
	paint_print(l, c->difference > 0 ? PAINT_HEAT_4 : PAINT_NAME, "%*s", width + 1,
		    diff_difference(unit, c->difference).text);
	fprintf(l->out, "  %*s to %*s  ", width + 1, low.text, width + 1, high.text);
}

static void print_place(const struct listing *l, const struct diff_line *line,
			size_t column)
{
	uint32_t before = line->line[DIFF_BEFORE], after = line->line[DIFF_AFTER];
	size_t room = listing_room(l, column);
	char number[32], note[32] = "";
	_cleanup_free_ char *place = NULL;

	snprintf(number, sizeof(number), ":%" PRIu32, diff_line_number(line));
	if (line->is_new)
		snprintf(note, sizeof(note), " new");
	else if (line->is_gone)
		snprintf(note, sizeof(note), " gone");
	else if (before && after && before != after)
		snprintf(note, sizeof(note), " was %" PRIu32, before);
	if (asprintf(&place, "%s%s%s", line->path, number, note) < 0)
		return;
	text_cell_tail(l->out, place, room);
}

static void print_text(const struct listing *l, const char *sign, const char *text)
{
	size_t column = DETAIL_COLUMN + strlen(sign);

	text_spaces(l->out, DETAIL_COLUMN);
	fputs(sign, l->out);
	text_cell(l->out, text + strspn(text, " \t"), listing_room(l, column));
	fputc('\n', l->out);
}

static void print_line(const struct listing *l, const struct diff_unit *unit, int width,
		       const struct diff_line *line)
{
	const char *before = line->text[DIFF_BEFORE], *after = line->text[DIFF_AFTER];

	print_figures(l, unit, width, &line->self);
	print_place(l, line, figures_columns(width));
	fputc('\n', l->out);
	if (*line->function) {
		text_spaces(l->out, DETAIL_COLUMN);
		paint_cell(l, PAINT_NAME, line->function, listing_room(l, DETAIL_COLUMN));
		fputc('\n', l->out);
	}
	if (before && after && strcmp(before, after) != 0) {
		print_text(l, "- ", before);
		print_text(l, "+ ", after);
	} else if (after || before) {
		print_text(l, "", after ? after : before);
	}
}

static void print_function(const struct listing *l, const struct diff_unit *unit,
			   int width, const struct diff_function *f)
{
	_cleanup_free_ char *name = NULL;

	if (asprintf(&name, "%s%s%s%s", *f->name ? f->name : "[no name]",
		     *f->object ? " (" : "", f->object, *f->object ? ")" : "") < 0)
		return;
	print_figures(l, unit, width, &f->self);
	text_cell(l->out, name, listing_room(l, figures_columns(width)));
	fputc('\n', l->out);
}

static size_t nr_shown(const struct listing *l, size_t nr)
{
	return l->opts->limit && l->opts->limit < nr ? l->opts->limit : nr;
}

static void print_left_out(const struct listing *l, size_t nr, const char *singular,
			   const char *plural)
{
	size_t left_out = nr - nr_shown(l, nr);

	if (left_out)
		paint_print(l, PAINT_DIM, "and %s; --limit 0 lists all\n",
			    figure_count(left_out, singular, plural).text);
}

static void print_lines(const struct listing *l, const struct diff_unit *unit, int width)
{
	const struct profile_diff *d = l->in->diff;

	if (!d->nr_significant_lines)
		return;
	print_table_head(l, unit, width, "Lines");
	for (size_t i = 0; i < nr_shown(l, d->nr_significant_lines); i++)
		print_line(l, unit, width, &d->lines[i]);
	print_left_out(l, d->nr_significant_lines, "more line that differs",
		       "more lines that differ");
}

static void print_functions(const struct listing *l, const struct diff_unit *unit,
			    int width)
{
	const struct profile_diff *d = l->in->diff;

	if (!d->nr_significant_functions)
		return;
	print_table_head(l, unit, width, "Functions");
	for (size_t i = 0; i < nr_shown(l, d->nr_significant_functions); i++)
		print_function(l, unit, width, &d->functions[i]);
	print_left_out(l, d->nr_significant_functions, "more function that differs",
		       "more functions that differ");
}

/* ---- below the tables ---- */

/* By the sides that have recordings of arm64: before, and after. */
static const char *const arm64_texts[2][2] = {
	{NULL, RENDER_LIMIT_ARM64_TEXT
	 " This concerns one side, after: totals of callers may differ for that reason."},
	{RENDER_LIMIT_ARM64_TEXT
	 " This concerns one side, before: totals of callers may differ for that reason.",
	 RENDER_LIMIT_ARM64_TEXT " This concerns both sides."},
};

const char *diff_limit(const struct profile_diff *d, enum render_limit limit,
		       size_t nr_functions)
{
	bool is_arm64[NR_DIFF_SIDES] = {false}, is_clock = false, is_kernel = false;

	for (int s = 0; s < NR_DIFF_SIDES; s++)
		for (uint32_t i = 0; i < d->comparison.sides[s].nr_recordings; i++) {
			is_arm64[s] |= d->recordings[s][i].is_of_arm64;
			is_clock |= d->recordings[s][i].freq_hz != 0;
		}
	for (size_t i = 0; i < nr_functions; i++)
		is_kernel |= render_is_kernel(d->functions[i].object);
	switch (limit) {
	case RENDER_LIMIT_ARM64:
		return arm64_texts[is_arm64[DIFF_BEFORE]][is_arm64[DIFF_AFTER]];
	case RENDER_LIMIT_CLOCK:
		return is_clock && is_kernel ? render_limit_texts[limit] : NULL;
	case NR_RENDER_LIMITS:
		break;
	}
	return NULL;
}

static void print_limits(const struct listing *l)
{
	const struct profile_diff *d = l->in->diff;
	size_t nr_functions = nr_shown(l, d->nr_significant_functions);

	for (int i = 0; i < NR_RENDER_LIMITS; i++) {
		const char *text = diff_limit(d, (enum render_limit)i, nr_functions);

		if (text)
			listing_sentence(l, 0, 0, "%s", text);
	}
}

static bool is_only(const struct diff_file *f, enum diff_side s)
{
	return f->nr_significant && f->self[s] > 0 && !(f->self[!s] > 0);
}

static bool has_name(uint32_t file, const void *key, const void *ctx)
{
	const struct diff_file *files = ctx;

	return !strcmp(path_basename(files[file].path), key);
}

static uint64_t hash_name(const char *name)
{
	return hash_bytes(0, name, strlen(name));
}

/* Indexes the files that have CPU only after by name: the first of each. */
static int index_new_files(const struct profile_diff *d, struct hashmap *names)
{
	int rc = 0;

	for (size_t i = 0; i < d->nr_files && !rc; i++) {
		const char *name = path_basename(d->files[i].path);

		if (is_only(&d->files[i], DIFF_AFTER) &&
		    hashmap_get(names, hash_name(name), has_name, name, d->files) ==
			    HASHMAP_NONE)
			rc = hashmap_add(names, hash_name(name), (uint32_t)i);
	}
	return rc;
}

/* The same file under another path looks like lines that are gone and others that are new. */
static void print_moved(const struct listing *l)
{
	const struct profile_diff *d = l->in->diff;
	_cleanup_(hashmap_deinit) struct hashmap names = {0};
	int rc = index_new_files(d, &names);

	for (size_t i = 0; i < d->nr_files && !rc; i++) {
		const char *before = d->files[i].path, *name = path_basename(before);
		uint32_t after = HASHMAP_NONE;

		if (is_only(&d->files[i], DIFF_BEFORE))
			after = hashmap_get(&names, hash_name(name), has_name, name,
					    d->files);
		if (after == HASHMAP_NONE)
			continue;
		listing_sentence(l, 0, 0,
				 "%s has CPU only before, %s only after. If it is "
				 "the same file, compare with --moved %s=%s.",
				 before, d->files[after].path, before,
				 d->files[after].path);
		return;
	}
}

void diff_print_rest(const struct listing *l)
{
	const struct profile_diff *d = l->in->diff;
	size_t nr_compared = 0;

	for (size_t i = d->nr_significant_lines; i < d->nr_lines; i++)
		nr_compared += d->lines[i].self.is_compared;
	fputc('\n', l->out);
	if (!d->nr_significant_lines && !d->nr_significant_functions)
		listing_sentence(l, 0, 0,
				 "No line and no function differs by more than chance "
				 "explains.");
	print_moved(l);
	paint_begin(l, PAINT_DIM);
	listing_sentence(
		l, 0, 0,
		"Of the other lines %s by no more than chance, %s too few samples to "
		"tell.",
		figure_count(nr_compared, "differs", "differ").text,
		figure_count(d->nr_lines - d->nr_significant_lines - nr_compared, "has",
			     "have")
			.text);
	if (d->visible_growth > 0)
		listing_sentence(l, 0, 0,
				 "A line with a tenth of all samples must grow by about "
				 "%.0f %% to be listed; with more samples, by less.",
				 100 * d->visible_growth);
	listing_sentence(
		l, 0, 0,
		"At most 5 of 100 comparisons of equal programs list anything: "
		"the interval of the whole is one of %.0f %%, those of lines and "
		"functions are corrected for %s.",
		100 * (1 - DIFF_WHOLE_ALPHA),
		figure_count(d->nr_compared, "comparison", "comparisons").text);
	print_limits(l);
	paint_end(l, PAINT_DIM);
}

void diff_print_verdicts(const struct listing *l)
{
	struct diff_unit unit = diff_unit_of(l->in->diff);
	const struct diff_verdicts *v = l->in->verdicts;

	if (!v || !v->nr)
		return;
	fputc('\n', l->out);
	paint_print(l, PAINT_BOLD, "--fail-if\n");
	for (size_t i = 0; i < v->nr; i++) {
		const struct diff_verdict *verdict = &v->items[i];
		char words[DIFF_WORDS_BYTES];

		paint_begin(l, verdict->is_exceeded ? PAINT_WARNING : PAINT_PLAIN);
		listing_sentence(l, 0, 4, "%s: %.500s +%.3g %%: %s%.500s%s%s",
				 verdict->is_exceeded ? "exceeded" : "kept",
				 verdict->rule->subject, 100 * verdict->rule->growth,
				 verdict->is_function ? "total of " : "",
				 verdict->is_function ? verdict->function : "",
				 verdict->is_function ? " " : "",
				 diff_words(&unit, &verdict->change, words));
		paint_end(l, verdict->is_exceeded ? PAINT_WARNING : PAINT_PLAIN);
	}
}

int render_diff(const struct render_input *in, const struct render_options *opts,
		FILE *out)
{
	const struct listing l = {.in = in, .opts = opts, .out = out};
	struct diff_unit unit = diff_unit_of(in->diff);
	int width = value_columns(in->diff, &unit);

	diff_print_head(&l);
	print_lines(&l, &unit, width);
	print_functions(&l, &unit, width);
	diff_print_rest(&l);
	diff_print_verdicts(&l);
	return render_finish(out);
}
