// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The head of every listing, three rows at most:
 *
 * lineburn: 5012 samples at 999 Hz: CPU 5.02 s of 5.10 s wall on 2 CPUs; the rest is waiting
 *           command: ./dither --fast in.png; file: lineburn.pb.gz
 *           import 31.2 %, Numba compilation 40.1 %, the program itself 28.7 %
 *
 * A filter takes the place of the second row, a caution that of the third. What they
 * displace, and what is too long for a row, is among the last lines of the listing:
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
#include "render/text.h"

#define TITLE        "lineburn: "
#define TITLE_COLUMN (sizeof(TITLE) - 1)

/* suggest --skip-compile if the program itself has a smaller share */
#define WORTH_SKIPPING 0.8

/* Prints one sentence at the end of the listing. */
#define FOOT(l, ...)   listing_sentence(l, 2, 4, __VA_ARGS__)
#define SENTENCE_BYTES 2600
#define COMMAND_BYTES  2048
#define FULL_WIDTH     80 /* sentences wrap on a narrower terminal */

/*
 * Sentences of the head, each short enough for a row, and of the foot; "": there is none.
 */
struct sentences {
	char title[SENTENCE_BYTES], filters[SENTENCE_BYTES], origin[SENTENCE_BYTES];
	char phases[SENTENCE_BYTES], caution[SENTENCE_BYTES];
	bool caution_first; /* the head has the caution, the foot the phases */
	/* Only in the foot: what the sentences above are too short for. */
	char time[SENTENCE_BYTES], all_filters[SENTENCE_BYTES], file[SENTENCE_BYTES];
	char hint[SENTENCE_BYTES], doubt[SENTENCE_BYTES];
};

/* Returns how many columns a sentence of the head may have. */
static size_t head_room(const struct listing *l, size_t indent)
{
	unsigned int width = l->opts->width;

	if (!width)
		return SIZE_MAX;
	return (width > FULL_WIDTH ? width : FULL_WIDTH) - indent;
}

/* Appends @part if it fits the row. Only for ASCII. Return: whether it fits. */
static bool append_fitting(char *sentence, const char *part, size_t room)
{
	if (strlen(sentence) + strlen(part) > room)
		return false;
	return text_append(sentence, SENTENCE_BYTES, "%s", part);
}

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

/* "CPU 5.02 s of 5.10 s wall", " on 2 CPUs", "; the rest is waiting" */
struct time_words {
	char cpu[128], cpus[96];
	const char *rest; /* what the profile cannot show */
};

static struct time_words time_words_of(const struct render_input *in,
				       const struct summary *s)
{
	const struct profile_extra *extra = &in->profile->extra;
	uint64_t cpu_ns = in->attribution->all.cpu_ns;
	struct figure cpu = figure_time(cpu_ns), wall = figure_time(s->wall_ns);
	struct figure cpus = figure_count(extra->nr_cpus, "CPU", "CPUs");
	struct time_words w = {.rest = ""};

	if (!cpu_ns) {
		snprintf(w.cpu, sizeof(w.cpu), "their CPU time is not known");
		return w;
	}
	if (is_left_out(in) || in->filtered) {
		snprintf(w.cpu, sizeof(w.cpu), "CPU %s of the recording's %s", cpu.text,
			 figure_time(in->filtered ? in->filtered->all.cpu_ns
						  : phases_sum(in->phases).cpu_ns)
				 .text);
		return w;
	}
	w.rest = "; waiting is not sampled";
	if (!s->wall_ns) {
		snprintf(w.cpu, sizeof(w.cpu), "CPU %s", cpu.text);
		return w;
	}
	if (extra->nr_cpus && extra->target && !strcmp(extra->target, "-a")) {
		snprintf(w.cpu, sizeof(w.cpu), "CPU %s of %s", cpu.text,
			 figure_time(s->wall_ns * extra->nr_cpus).text);
		snprintf(w.cpus, sizeof(w.cpus), " (%s for %s)", cpus.text, wall.text);
		w.rest = "; the rest is idle";
		return w;
	}
	snprintf(w.cpu, sizeof(w.cpu), "CPU %s %s %s wall", cpu.text,
		 cpu_ns < s->wall_ns ? "of" : "in", wall.text);
	if (extra->nr_cpus)
		snprintf(w.cpus, sizeof(w.cpus), " on %s", cpus.text);
	if (cpu_ns < s->wall_ns)
		w.rest = "; the rest is waiting";
	return w;
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

static void describe_filters(struct sentences *to, const struct listing *l)
{
	const struct filtered *n = l->in->filtered;
	char words[FILTERS_BYTES] = "", part[96];
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
	snprintf(part, sizeof(part), ": %s %% of %s", *share.text ? share.text : "0.0",
		 counts_samples(l->in->attribution)
			 ? figure_count(n->all.samples, "sample", "samples").text
			 : "the profile");
	snprintf(to->all_filters, SENTENCE_BYTES, "%s%s", words, part);
	if (!text_cut(words, sizeof(words), head_room(l, TITLE_COLUMN) - strlen(part)))
		*to->all_filters = '\0';
	snprintf(to->filters, SENTENCE_BYTES, "%s%s", words, part);
}

/* "5012 samples at 999 Hz", "1003 page-faults" */
static void describe_amount(char *buf, size_t size, const struct attribution *a,
			    const struct summary *s)
{
	char rate[48] = "";

	if (s->lowest_hz > 0)
		snprintf(rate, sizeof(rate), " at %.3g to %.0f Hz", s->lowest_hz,
			 s->freq_hz);
	else if (s->freq_hz > 0)
		snprintf(rate, sizeof(rate), " at %.*f Hz", s->freq_hz < 10 ? 1 : 0,
			 s->freq_hz);
	if (counts_time(a) && a->all.cpu_ns)
		text_append(buf, size, "samples not known");
	else if (counts_time(a))
		text_append(buf, size, "samples not known: %s of %s",
			    figure_time(a->all.samples).text, a->counted.type);
	else if (counts_samples(a))
		text_append(buf, size, "%s%s",
			    figure_count(a->all.samples, "sample", "samples").text, rate);
	else if (!strcmp(a->counted.unit, "count"))
		text_append(buf, size, "%" PRIu64 " %s", a->all.samples, a->counted.type);
	else
		text_append(buf, size, "%" PRIu64 " %s of %s", a->all.samples,
			    a->counted.unit, a->counted.type);
}

static void describe_whole(struct sentences *to, const struct listing *l,
			   const struct summary *s)
{
	const struct attribution *a = l->in->attribution;
	size_t room = head_room(l, 0);
	struct time_words time = time_words_of(l->in, s);
	bool is_whole;

	text_append(to->title, SENTENCE_BYTES, TITLE);
	describe_amount(to->title, SENTENCE_BYTES, a, s);
	if (counts_samples(a) || (counts_time(a) && a->all.cpu_ns)) {
		text_append(to->title, SENTENCE_BYTES, ": %s", time.cpu);
		is_whole = append_fitting(to->title, time.cpus, room);
		if (!append_fitting(to->title, time.rest, room) || !is_whole)
			text_append(to->time, SENTENCE_BYTES, "%s%s%s", time.cpu,
				    time.cpus, time.rest);
	}
	text_cut(to->title, SENTENCE_BYTES, room);
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
static void describe_phases(struct sentences *to, const struct listing *l)
{
	const struct phases *phases = l->in->phases;
	const char *target = l->in->profile->extra.target;
	bool is_machine = target && !strcmp(target, "-a");
	const char *what = is_machine ? "everything else" : phase_words[PHASE_REST];
	char spent[128];
	double rest;

	if (!phases || (!phases_are_split(phases) && !phases->left_out))
		return;
	list_phases(spent, sizeof(spent), phases);
	rest = phase_share(phases, PHASE_REST);
	if (phases->left_out) {
		text_append(to->phases, SENTENCE_BYTES, "left out: %s",
			    *spent ? spent
				   : "nothing: no import, no compilation by Numba");
		return;
	}
	text_append(to->phases, SENTENCE_BYTES, "%s, %s %.1f %%", spent, what,
		    100 * rest);
	if (rest < WORTH_SKIPPING &&
	    !append_fitting(to->phases, "; --skip-compile shows that alone",
			    head_room(l, TITLE_COLUMN)))
		text_append(to->hint, SENTENCE_BYTES, "--skip-compile shows %s alone",
			    what);
}

/* Describes the command or the requested target, and the profile's file. */
static void describe_origin(struct sentences *to, const struct listing *l)
{
	const struct profile_extra *extra = &l->in->profile->extra;
	size_t room = head_room(l, TITLE_COLUMN);
	char both[SENTENCE_BYTES] = "";
	bool is_whole = true;

	if (extra->command && *extra->command)
		text_append(to->origin, SENTENCE_BYTES, "command:");
	else if (extra->target && *extra->target)
		text_append(to->origin, SENTENCE_BYTES, "recorded: %.500s",
			    extra->target);
	for (const char **arg = extra->command; arg && *arg && is_whole; arg++) {
		bool quote = !**arg || strpbrk(*arg, " '\"$;&|<>*?");

		is_whole = text_append(to->origin, COMMAND_BYTES, quote ? " '%s'" : " %s",
				       *arg);
	}
	if (!is_whole)
		text_append(to->origin, SENTENCE_BYTES, "...");
	if (l->in->file_name)
		text_append(to->file, SENTENCE_BYTES, "file: %.500s", l->in->file_name);
	text_append(both, sizeof(both), "%s%s%s", to->origin,
		    *to->origin && *to->file ? "; " : "", to->file);
	if (text_cut(both, sizeof(both), room)) {
		text_cut(to->origin, SENTENCE_BYTES, room);
		return;
	}
	snprintf(to->origin, SENTENCE_BYTES, "%s", both);
	*to->file = '\0';
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

static void describe_few_samples(struct sentences *to, const struct attribution *a)
{
	const struct attribution_line *hottest = hottest_line(a);

	text_append(to->caution, SENTENCE_BYTES,
		    "Only %s: shares are rough. Record longer, or with a higher -F.",
		    figure_count(a->all.samples, "sample", "samples").text);
	if (hottest)
		text_append(to->doubt, SENTENCE_BYTES,
			    "The %.1f %% of the hottest line may in truth be anything "
			    "from %.0f %% to %.0f %%.",
			    100 * share_of(a, &hottest->self), 100 * hottest->ci95_low,
			    100 * hottest->ci95_high);
}

/* Describes why the figures may mislead. */
static void describe_caution(struct sentences *to, const struct listing *l,
			     const struct summary *s)
{
	const struct attribution *a = l->in->attribution;
	const struct profile_losses *losses = &l->in->profile->extra.losses;
	double lost = (double)s->lost / (double)(s->lost + losses->counted + 1);
	double missed = losses->due ? (double)losses->missed / (double)losses->due : 0;

	if (counts_samples(a) && a->all.samples && a->all.samples < RENDER_FEW_SAMPLES)
		describe_few_samples(to, a);
	else if (lost >= MANY_LOST || missed >= MANY_MISSED)
		text_append(to->caution, SENTENCE_BYTES,
			    "%.1f %% of samples lost, %.1f %% of ticks never ran: see "
			    "the end.",
			    100 * lost, 100 * missed);
	to->caution_first = *to->caution && !is_left_out(l->in);
}

/* ---- the head and the foot ---- */

static bool is_empty(const struct attribution *a)
{
	return !a->all.samples && !a->all.cpu_ns;
}

/* Describes why there are no samples. */
static void describe_nothing(struct sentences *to, const struct listing *l,
			     const struct summary *s)
{
	bool left_out = is_left_out(l->in);

	text_append(to->title, SENTENCE_BYTES, TITLE "no samples%s%s%s",
		    s->wall_ns ? " in " : "",
		    s->wall_ns ? figure_time(s->wall_ns).text : "",
		    left_out ? " except those that --skip-compile leaves out" : "");
	if (left_out)
		return;
	*to->phases = '\0';
	if (!l->in->profile->extra.present) {
		text_append(to->phases, SENTENCE_BYTES,
			    "Its tool recorded nothing, or it is a difference "
			    "without growth.");
		return;
	}
	text_append(to->phases, SENTENCE_BYTES,
		    "The target used no CPU, or less than a tick; waiting is not "
		    "sampled.");
	text_append(to->doubt, SENTENCE_BYTES, "Record for longer, or with a higher -F.");
}

static void describe(struct sentences *ret, const struct listing *l,
		     const struct summary *s)
{
	*ret = (struct sentences){.title = ""};
	describe_filters(ret, l);
	describe_origin(ret, l);
	describe_phases(ret, l);
	if (is_empty(l->in->attribution)) {
		describe_nothing(ret, l, s);
		return;
	}
	describe_whole(ret, l, s);
	describe_caution(ret, l, s);
}

static void say_in_head(const struct listing *l, enum paint paint, unsigned int indent,
			const char *sentence)
{
	if (!*sentence)
		return;
	paint_begin(l, paint);
	listing_sentence(l, indent, TITLE_COLUMN, "%s", sentence);
	paint_end(l, paint);
}

void render_head(const struct listing *l)
{
	struct summary s = summary_of(l->in->profile);
	struct sentences text;

	describe(&text, l, &s);
	say_in_head(l, PAINT_BOLD, 0, text.title);
	say_in_head(l, PAINT_PLAIN, TITLE_COLUMN,
		    *text.filters ? text.filters : text.origin);
	if (text.caution_first)
		say_in_head(l, PAINT_WARNING, TITLE_COLUMN, text.caution);
	else
		say_in_head(l, PAINT_PLAIN, TITLE_COLUMN, text.phases);
}

void render_samples(const struct listing *l)
{
	struct summary s = summary_of(l->in->profile);
	bool empty = is_empty(l->in->attribution), has_rest = false;
	struct sentences text;
	const char *const rest[] = {text.all_filters, text.time,   text.origin,
				    text.file,        text.phases, text.caution,
				    text.hint,        text.doubt};

	describe(&text, l, &s);
	/* The head has these. */
	if (!*text.filters)
		*text.origin = '\0';
	*(text.caution_first ? text.caution : text.phases) = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(rest); i++)
		has_rest |= *rest[i];
	if (empty && !has_rest)
		return;
	fputc('\n', l->out);
	paint_print(l, PAINT_BOLD, "Samples:\n");
	if (!empty)
		print_shares(l, &s);
	for (size_t i = 0; i < ARRAY_SIZE(rest); i++)
		if (*rest[i])
			FOOT(l, "%s", rest[i]);
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

	/* With few samples the foot explains it in more detail. */
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
