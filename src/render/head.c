// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The head of every listing, three lines at most:
 *
 * lineburn: 5012 samples at 999 Hz: CPU 5.02 s of 5.10 s wall on 2 CPUs; the rest is waiting
 *           command: ./dither --fast in.png; file: lineburn.pb.gz
 *           import 31.2 %, Numba compilation 40.1 %, the program itself 28.7 %
 *
 * A filter takes the place of the second line, a caution that of the third; what they
 * displace is among the last lines of the listing:
 *
 * Samples:
 *   94.1 % have a source line, 4.9 % a function only, 1.0 % neither; 5.0 % in the kernel
 *   0 samples lost, fewer than 12 ticks missed
 */
#include "render/render.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/frame_filter.h"
#include "analyze/phase.h"
#include "base/escape.h"
#include "render/figure.h"
#include "render/groups.h"
#include "render/listing.h"

#define TITLE        "lineburn: "
#define TITLE_COLUMN (sizeof(TITLE) - 1)

/* suggest --skip-compile if the program itself has a smaller share */
#define WORTH_SKIPPING 0.8

/* Prints one sentence below the first line; at the end of the listing. */
#define SAY(l, ...)    listing_sentence(l, TITLE_COLUMN, TITLE_COLUMN, __VA_ARGS__)
#define FOOT(l, ...)   listing_sentence(l, 2, 4, __VA_ARGS__)
#define SENTENCE_BYTES 2600

static void say_if(const struct listing *l, unsigned int first, unsigned int next,
		   const char *sentence)
{
	if (*sentence)
		listing_sentence(l, first, next, "%s", sentence);
}
#define SAY_IF(l, sentence)  say_if(l, TITLE_COLUMN, TITLE_COLUMN, sentence)
#define FOOT_IF(l, sentence) say_if(l, 2, 4, sentence)

static struct weight phases_sum(const struct phases *phases)
{
	struct weight sum = {0};

	for (size_t i = 0; i < NR_PHASES; i++) {
		weight_add(&sum, phases->of[i]);
	}
	return sum;
}

static double phase_share(const struct phases *phases, enum phase phase)
{
	struct weight all = phases_sum(phases);

	return weight_share(&phases->of[phase], &all);
}

/* Were samples of phases dropped? */
static bool is_left_out(const struct render_input *in)
{
	return in->phases && in->phases->left_out && phases_are_split(in->phases);
}

/*
 * "CPU 5.02 s of 5.10 s wall on 2 CPUs; the rest is waiting": describes what the
 * profile cannot show.
 */
static void describe_time(char *buf, size_t size, const struct render_input *in,
			  const struct summary *s)
{
	const struct profile_extra *extra = &in->profile->extra;
	uint64_t cpu_ns = in->attribution->all.cpu_ns;
	struct figure cpu = figure_time(cpu_ns), wall = figure_time(s->wall_ns);
	char cpus[48] = "";

	if (!cpu_ns) {
		snprintf(buf, size, "their CPU time is not known");
		return;
	}
	if (is_left_out(in) || in->filtered) {
		snprintf(buf, size, "CPU %s of %s", cpu.text,
			 figure_time(in->filtered ? in->filtered->all.cpu_ns
						  : phases_sum(in->phases).cpu_ns)
				 .text);
		return;
	}
	if (!s->wall_ns) {
		snprintf(buf, size, "CPU %s; waiting is not sampled", cpu.text);
		return;
	}
	if (extra->nr_cpus)
		snprintf(cpus, sizeof(cpus), " on %s",
			 figure_count(extra->nr_cpus, "CPU", "CPUs").text);
	if (extra->nr_cpus && extra->target && !strcmp(extra->target, "-a"))
		snprintf(buf, size, "CPU %s of %s (%s for %s); the rest is idle",
			 cpu.text, figure_time(s->wall_ns * extra->nr_cpus).text,
			 cpus + strlen(" on "), wall.text);
	else if (cpu_ns < s->wall_ns)
		snprintf(buf, size, "CPU %s of %s wall%s; the rest is waiting", cpu.text,
			 wall.text, cpus);
	else
		snprintf(buf, size, "CPU %s in %s wall%s; waiting is not sampled",
			 cpu.text, wall.text, cpus);
}

/* ---- the filters ---- */

/* "only container web (3f2a8c9d0e1f): 34.9 % of 12000 samples" */
#define FILTERS_BYTES 1500

/* "web (3f2a8c9d0e1f)", "3f2 (2 containers)", "wbe (matches nothing)" */
static void say_match(char *words, const struct filter_match *m)
{
	bool is_container = m->filter.kind == FILTER_CONTAINER;
	struct group_name id = container_short_id(m->id);

	if (!strcmp(m->filter.value, "-"))
		text_append(words, FILTERS_BYTES, "(none)");
	else if (m->nr == 1 && is_container && *m->name)
		text_append(words, FILTERS_BYTES, "%.250s (%.250s)", m->name, id.text);
	else
		text_append(words, FILTERS_BYTES, "%.250s",
			    m->nr == 1 && is_container ? id.text : m->filter.value);
	if (!m->nr)
		text_append(words, FILTERS_BYTES, " (matches nothing)");
	if (m->nr >= 2 && (is_container || m->filter.kind == FILTER_POD))
		text_append(words, FILTERS_BYTES, " (%" PRIu32 " %ss)", m->nr,
			    filter_kind_names[m->filter.kind]);
}

/* "only container web or db, comm nginx*": filters of one kind are joined by "or". */
static void say_matches(char *words, const struct filtered *n, bool exclude,
			const char *first, const char *next)
{
	const struct filter_match *last = NULL;

	for (size_t i = 0; i < n->nr_matches; i++) {
		const struct filter_match *m = &n->matches[i];

		if (m->filter.exclude != exclude)
			continue;
		if (last && last->filter.kind == m->filter.kind)
			text_append(words, FILTERS_BYTES, " or ");
		else
			text_append(words, FILTERS_BYTES, "%s%s ", last ? next : first,
				    filter_kind_names[m->filter.kind]);
		say_match(words, m);
		last = m;
	}
}

static void describe_filters(char *buf, const struct listing *l)
{
	const struct filtered *n = l->in->filtered;
	char words[FILTERS_BYTES] = "";
	struct figure share;

	if (!n)
		return;
	share = figure_percent(weight_share(&n->left, &n->all));
	say_matches(words, n, false, "only ", " and ");
	say_matches(words, n, true, *words ? ", without " : "without ", " and ");
	for (size_t i = 0; i < n->nr_frames; i++)
		text_append(words, FILTERS_BYTES, "%s%s \"%.250s\"", *words ? ", " : "",
			    frame_filter_names[n->frames[i].kind], n->frames[i].regex);
	if (n->time)
		text_append(words, FILTERS_BYTES, "%stime %.100s s", *words ? ", " : "",
			    n->time);
	text_append(buf, SENTENCE_BYTES, "%s: %s %% of %s", words,
		    *share.text ? share.text : "0.0",
		    counts_samples(l->in->attribution)
			    ? figure_count(n->all.samples, "sample", "samples").text
			    : "the profile");
}

static void print_first_line(const struct listing *l, const struct summary *s)
{
	const struct attribution *a = l->in->attribution;
	char rate[48] = "", time[192];

	if (s->lowest_hz > 0)
		snprintf(rate, sizeof(rate), " at %.3g to %.0f Hz", s->lowest_hz,
			 s->freq_hz);
	else if (s->freq_hz > 0)
		snprintf(rate, sizeof(rate), " at %.*f Hz", s->freq_hz < 10 ? 1 : 0,
			 s->freq_hz);
	describe_time(time, sizeof(time), l->in, s);

	paint_begin(l, PAINT_BOLD);
	if (counts_time(a) && a->all.cpu_ns)
		listing_sentence(l, 0, TITLE_COLUMN, TITLE "samples not known: %s", time);
	else if (counts_time(a))
		listing_sentence(l, 0, TITLE_COLUMN, TITLE "samples not known: %s of %s",
				 figure_time(a->all.samples).text, a->counted.type);
	else if (!counts_samples(a) && !strcmp(a->counted.unit, "count"))
		listing_sentence(l, 0, TITLE_COLUMN, TITLE "%" PRIu64 " %s",
				 a->all.samples, a->counted.type);
	else if (counts_samples(a))
		listing_sentence(l, 0, TITLE_COLUMN, TITLE "%s%s: %s",
				 figure_count(a->all.samples, "sample", "samples").text,
				 rate, time);
	else
		listing_sentence(l, 0, TITLE_COLUMN, TITLE "%" PRIu64 " %s of %s",
				 a->all.samples, a->counted.unit, a->counted.type);
	paint_end(l, PAINT_BOLD);
}

/*
 * Writes ", fewer than 12 ticks missed". A number above the error has a sentence of its
 * own among the losses.
 */
static void describe_missed(char *buf, size_t size, const struct attribution *a,
			    const struct profile_losses *l)
{
	bool is_clock = counts_samples(a);
	uint64_t over = l->due > l->ran ? l->due - l->ran : 0;
	const char *one = is_clock ? "tick" : "event";
	const char *many = is_clock ? "ticks" : "events";

	/* Files of before "ran" do not tell the error of their ticks. */
	if (!l->due || l->missed || (is_clock && !l->due_error))
		return;
	if (!l->due_error)
		snprintf(buf, size, ", no %s missed", one);
	/* In truth as many as the error more may have been due, and a part of a tick. */
	else
		snprintf(buf, size, ", fewer than %s missed",
			 figure_count(over + l->due_error + 1, one, many).text);
}

/* "94.1 % have a source line, ...; 0 samples lost, fewer than 3 ticks missed" */
static void print_shares(const struct listing *l, const struct summary *s)
{
	const struct attribution *a = l->in->attribution;
	const struct profile_extra *extra = &l->in->profile->extra;
	char kernel[64] = "", missed[96] = "";

	if (a->kernel.samples)
		snprintf(kernel, sizeof(kernel), "; %.1f %% in the kernel",
			 100 * share_of(a, &a->kernel));
	FOOT(l, "%.1f %% have a source line, %.1f %% a function only, %.1f %% neither%s",
	     100 * share_of(a, &a->with_line), 100 * share_of(a, &a->function_only),
	     100 * share_of(a, &a->unknown), kernel);
	if (!extra->present)
		return;
	describe_missed(missed, sizeof(missed), a, &extra->losses);
	FOOT(l, "%s lost%s%s", figure_count(s->lost, "sample", "samples").text, missed,
	     l->in->filtered ? ", in the whole recording" : "");
}

/* "import 31.2 %, Numba compilation 40.1 %": lists the phases with samples. */
static void list_phases(char *buf, size_t size, const struct phases *phases)
{
	buf[0] = '\0';
	for (size_t i = PHASE_IMPORT; i < NR_PHASES; i++) {
		double share = phase_share(phases, (enum phase)i);

		if (share > 0)
			text_append(buf, size, "%s%s %s %%", *buf ? ", " : "",
				    phase_words[i], figure_percent(share).text);
	}
}

/* Describes the time that a Python program needs before its own work. */
static void describe_phases(char *buf, const struct listing *l)
{
	const struct phases *phases = l->in->phases;
	const char *target = l->in->profile->extra.target;
	bool is_machine = target && !strcmp(target, "-a");
	char spent[128];
	double rest;

	if (!phases || (!phases_are_split(phases) && !phases->left_out))
		return;
	list_phases(spent, sizeof(spent), phases);
	rest = phase_share(phases, PHASE_REST);
	if (phases->left_out)
		text_append(buf, SENTENCE_BYTES, "left out: %s",
			    *spent ? spent
				   : "nothing: no import, no compilation by Numba");
	else
		text_append(
			buf, SENTENCE_BYTES, "%s, %s %.1f %%%s", spent,
			is_machine ? "everything else" : "the program itself", 100 * rest,
			rest < WORTH_SKIPPING ? "; --skip-compile shows that alone" : "");
}

/*
 * Describes the command or the requested target, and the profile's file. Cuts a command
 * that does not fit a line of the terminal.
 */
static void describe_origin(char *buf, const struct listing *l)
{
	const struct profile_extra *extra = &l->in->profile->extra;
	char command[2048] = "", file[512] = "";
	size_t room = sizeof(command), width = l->opts->width;
	bool fits = true;

	if (l->in->file_name)
		snprintf(file, sizeof(file), "file: %s", l->in->file_name);
	if (width > TITLE_COLUMN + strlen(file) + 40)
		room = width - TITLE_COLUMN - strlen("command:...; ") - strlen(file);
	for (const char **arg = extra->command; arg && *arg && fits; arg++) {
		bool quote = !**arg || strpbrk(*arg, " '\"$;&|<>*?");

		fits = text_append(command, room, quote ? " '%s'" : " %s", *arg);
	}
	if (*command)
		text_append(buf, SENTENCE_BYTES, "command:%s%s", command,
			    fits ? "" : "...");
	else if (extra->target && *extra->target)
		text_append(buf, SENTENCE_BYTES, "recorded: %s", extra->target);
	text_append(buf, SENTENCE_BYTES, "%s%s", *buf && *file ? "; " : "", file);
}

static const struct attribution_line *hottest_line(const struct attribution *a)
{
	const struct attribution_line *best = NULL;

	for (size_t i = 0; i < a->nr_files; i++)
		for (size_t j = 0; j < a->files[i].nr_lines; j++) {
			const struct attribution_line *l = &a->files[i].lines[j];

			if (!best || share_of(a, &l->self) > share_of(a, &best->self))
				best = l;
		}
	return best && share_of(a, &best->self) > 0 ? best : NULL;
}

/* Is so much missing that the figures may mislead? */
#define MANY_LOST   0.01 /* of the samples */
#define MANY_MISSED 0.05 /* of the ticks */

static void describe_few_samples(char *buf, const struct attribution *a)
{
	const struct attribution_line *hottest = hottest_line(a);
	const char *remedy = "Record for longer, or with a higher -F.";

	if (hottest)
		text_append(buf, SENTENCE_BYTES,
			    "Only %s, so shares are rough: the %.1f %% of the hottest "
			    "line may in truth be anything from %.0f %% to %.0f %%. %s",
			    figure_count(a->all.samples, "sample", "samples").text,
			    100 * share_of(a, &hottest->self), 100 * hottest->ci95_low,
			    100 * hottest->ci95_high, remedy);
	else
		text_append(buf, SENTENCE_BYTES, "Only %s, so shares are rough. %s",
			    figure_count(a->all.samples, "sample", "samples").text,
			    remedy);
}

/* Describes why the figures may mislead. */
static void describe_caution(char *buf, const struct listing *l, const struct summary *s)
{
	const struct attribution *a = l->in->attribution;
	const struct profile_losses *losses = &l->in->profile->extra.losses;
	double lost = (double)s->lost / (double)(s->lost + losses->counted + 1);
	double missed = losses->due ? (double)losses->missed / (double)losses->due : 0;

	if (counts_samples(a) && a->all.samples && a->all.samples < RENDER_FEW_SAMPLES)
		describe_few_samples(buf, a);
	else if (lost >= MANY_LOST || missed >= MANY_MISSED)
		text_append(buf, SENTENCE_BYTES,
			    "%.1f %% of the samples are lost, %.1f %% of the ticks never "
			    "ran: see the end.",
			    100 * lost, 100 * missed);
}

/* ---- the head and the foot ---- */

/* Sentences that the head and the foot share; "": there is none. */
struct sentences {
	char filters[SENTENCE_BYTES], origin[SENTENCE_BYTES];
	char phases[SENTENCE_BYTES], caution[SENTENCE_BYTES];
	bool caution_first; /* the head has the caution, the foot the phases */
};

static void describe(struct sentences *ret, const struct listing *l,
		     const struct summary *s)
{
	*ret = (struct sentences){.filters = ""};
	describe_filters(ret->filters, l);
	describe_origin(ret->origin, l);
	describe_phases(ret->phases, l);
	describe_caution(ret->caution, l, s);
	ret->caution_first = *ret->caution && !is_left_out(l->in);
}

static void say_no_samples(const struct listing *l, const struct summary *s,
			   struct sentences *text)
{
	bool left_out = is_left_out(l->in);

	paint_begin(l, PAINT_BOLD);
	listing_sentence(l, 0, TITLE_COLUMN, TITLE "no samples%s%s%s",
			 s->wall_ns ? " in " : "",
			 s->wall_ns ? figure_time(s->wall_ns).text : "",
			 left_out ? " except those left out" : "");
	paint_end(l, PAINT_BOLD);
	SAY_IF(l, text->filters);
	SAY_IF(l, text->phases);
	SAY_IF(l, text->origin);
	if (left_out)
		SAY(l, "Without --skip-compile they are listed.");
	else if (!l->in->profile->extra.present)
		SAY(l, "The profile has no positive values: its tool recorded nothing, "
		       "or it is a difference of two profiles in which nothing grew.");
	else
		SAY(l, "The target used no CPU, or too little to be sampled by a tick: "
		       "waiting is not sampled. Record for longer, or with a higher -F.");
}

static bool is_empty(const struct attribution *a)
{
	return !a->all.samples && !a->all.cpu_ns;
}

void render_head(const struct listing *l)
{
	struct summary s = summary_of(l->in->profile);
	struct sentences text;

	describe(&text, l, &s);
	if (is_empty(l->in->attribution)) {
		say_no_samples(l, &s, &text);
		return;
	}
	print_first_line(l, &s);
	SAY_IF(l, *text.filters ? text.filters : text.origin);
	if (!text.caution_first) {
		SAY_IF(l, text.phases);
		return;
	}
	paint_begin(l, PAINT_WARNING);
	SAY_IF(l, text.caution);
	paint_end(l, PAINT_WARNING);
}

void render_samples(const struct listing *l)
{
	struct summary s = summary_of(l->in->profile);
	struct sentences text;

	if (is_empty(l->in->attribution))
		return;
	describe(&text, l, &s);
	fputc('\n', l->out);
	paint_print(l, PAINT_BOLD, "Samples:\n");
	print_shares(l, &s);
	if (*text.filters)
		FOOT_IF(l, text.origin);
	FOOT_IF(l, text.caution_first ? text.phases : text.caution);
}

/* ---- the legend ---- */

/* Printed after the unit: "CPU". */
static const char *const self_texts[] = {
	[CHARGE_LINE] = "on the line itself and in called code without source lines",
	[CHARGE_MINE] = "on the line itself and in the libraries that it calls",
	[CHARGE_LEAF] = "of the line's own instructions, nothing that it calls",
};

/* Describes the code that is charged to its caller even if it has lines. */
static const char *silent_code(const struct attribution_options *o)
{
	if (o->charge != CHARGE_LINE || (o->kernel && o->runtime))
		return "";
	if (o->runtime)
		return " (the kernel counts as such)";
	return o->kernel ? " (the C and C++ runtime and interpreters count as such)"
			 : " (the kernel, the C and C++ runtime and interpreters count "
			   "as such)";
}

/* Returns half the widest 95 % interval: the largest margin of any share. */
static double widest_margin(const struct attribution *a)
{
	double margin = 0;

	for (size_t i = 0; i < a->nr_files; i++)
		for (size_t j = 0; j < a->files[i].nr_lines; j++) {
			const struct attribution_line *line = &a->files[i].lines[j];
			double half = (line->ci95_high - line->ci95_low) / 2;

			margin = half > margin ? half : margin;
		}
	return margin;
}

const char *legend_no_code_sign(const struct render_options *opts)
{
	return opts->utf8 ? "\u00b7" : ".";
}

#define LIMITS_BYTES 300

/* Describes why totals may be wrong: callers are missing, or may be others. */
static void describe_limits(char *buf, size_t size, const struct attribution *a)
{
	struct weight weight = attribution_unproven_stacks(a);
	struct figure incomplete = figure_percent(share_of(a, &a->incomplete_stacks));
	struct figure unproven = figure_percent(share_of(a, &weight));

	buf[0] = '\0';
	if (*incomplete.text)
		text_append(buf, size,
			    "; %s %% of it has an incomplete stack, so totals of callers "
			    "may be that much too low",
			    incomplete.text);
	if (*unproven.text)
		text_append(buf, size,
			    "; %s%s %%%s has callers that were found without unwind "
			    "tables: where they are wrong, totals are too high or too "
			    "low",
			    *incomplete.text ? "a further " : "", unproven.text,
			    *incomplete.text ? "" : " of it");
}

void legend_of_lines(const struct listing *l, bool no_code)
{
	const struct attribution *a = l->in->attribution;
	double margin = widest_margin(a);
	char certainty[64] = "", limits[LIMITS_BYTES];

	/* With few samples the head has explained it in more detail. */
	if (counts_samples(a) && a->all.samples >= RENDER_FEW_SAMPLES && margin > 0)
		snprintf(certainty, sizeof(certainty), "; good to +-%.1f points",
			 100 * margin);
	describe_limits(limits, sizeof(limits), a);
	fputc('\n', l->out);
	paint_begin(l, PAINT_DIM);
	listing_sentence(l, 0, 7, "self:  %s %s%s%s", counted_name(a),
			 self_texts[a->options.charge], silent_code(&a->options),
			 certainty);
	listing_sentence(l, 0, 7, "total: %s while the line is anywhere on the stack%s",
			 counted_name(a), limits);
	if (no_code)
		listing_sentence(
			l, 0, 7,
			"%s      no machine code of its own: a declaration, optimised "
			"away, or merged into another line; that is not 0 %%",
			legend_no_code_sign(l->opts));
	paint_end(l, PAINT_DIM);
}

void legend_of_functions(const struct listing *l)
{
	const struct attribution *a = l->in->attribution;
	char limits[LIMITS_BYTES];

	describe_limits(limits, sizeof(limits), a);
	fputc('\n', l->out);
	paint_begin(l, PAINT_DIM);
	listing_sentence(l, 0, 7, "self:  %s in the function itself%s", counted_name(a),
			 a->options.kernel ? "" : " and in the kernel on its behalf");
	listing_sentence(l, 0, 7,
			 "total: %s while the function is anywhere on the stack%s",
			 counted_name(a), limits);
	paint_end(l, PAINT_DIM);
}
