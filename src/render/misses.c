// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The closing lines of every listing: what could not be shown, and the remedy.
 *
 * Samples without a source line:
 *   4.9 %  a symbol was found, but no line table: libopenblas.so, libm.so.6.
 *          Remedy: build with -g, install the debug package, ...
 * Losses and limits:
 *   45 ticks (0.9 %) never ran, because interrupts were off. A lower -F misses fewer.
 */
#include "render/render.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "render/figure.h"
#include "render/listing.h"

/* A section that prints its heading before its first sentence. */
struct section {
	const struct listing *l;
	const char *heading;
	unsigned int first, next; /* margins */
	bool begun;
};

static void section_begin(struct section *s)
{
	if (s->begun)
		return;
	s->begun = true;
	fputc('\n', s->l->out);
	paint_print(s->l, PAINT_BOLD, "%s", s->heading);
	fputc('\n', s->l->out);
}

/* Prints one sentence of the section. */
#define SAY(s, ...) \
	(section_begin(s), listing_sentence((s)->l, (s)->first, (s)->next, __VA_ARGS__))

static void append_objects(char *buf, size_t size, const struct attribution_miss *m)
{
	buf[0] = '\0';
	for (size_t i = 0; i < m->nr_objects; i++)
		text_append(buf, size, "%s%s", i ? ", " : ": ", m->objects[i]);
}

static void print_miss(struct section *section, const struct attribution *a,
		       const struct attribution_miss *m)
{
	const char *remedy = miss_remedy(m->miss);
	char objects[1400];

	append_objects(objects, sizeof(objects), m);
	SAY(section, "  %5s %%  %s%s.%s%s%s",
	    figure_percent(share_of(a, &m->weight)).text, miss_text(m->miss), objects,
	    *remedy ? " Remedy: " : "", remedy, *remedy ? "." : "");
}

static void print_share(struct section *section, const struct attribution *a,
			const struct weight *weight, const char *lead, const char *text,
			const char *remedy)
{
	if (!weight->samples)
		return;
	SAY(section, "  %5s %%  %s%s. Remedy: %s.",
	    figure_percent(share_of(a, weight)).text, lead, text, remedy);
}

/* Prints samples whose own line is missing, but could be made available. */
static void print_jit(struct section *section, const struct attribution *a)
{
	print_share(section, a, &a->jit_without_lines,
		    "charged to the line that calls it: code of a JIT, of which ",
		    miss_text(MISS_JIT_NO_LINES), miss_remedy(MISS_JIT_NO_LINES));
}

/* A loss that is a plain counter: what happened, and the remedy. */
struct loss_text {
	size_t offset; /* of its uint64_t in struct profile_losses */
	const char *singular, *plural; /* of the counted things */
	const char *text;
};

#define LOSS(member, one, many, words)                                    \
	{                                                                 \
		offsetof(struct profile_losses, member), one, many, words \
	}

static const struct loss_text losses[] = {
	LOSS(lost_counts_full, "sample", "samples",
	     "lost: the kernel table of distinct stacks was full. Record at a lower -F, "
	     "or fewer processes with -p"),
	LOSS(lost_drain, "sample", "samples",
	     "lost while the kernel tables were emptied. Record at a lower -F"),
	LOSS(lost_internal, "sample", "samples",
	     "lost: a look-up failed that should never fail. Please report this"),
	LOSS(kern_truncated, "kernel stack", "kernel stacks",
	     "longer than 127 frames, or than the sysctl kernel.perf_event_max_stack "
	     "allows: their outermost callers are missing"),
	LOSS(kern_failed, "kernel stack", "kernel stacks",
	     "not given by the kernel: those samples show user code only"),
	LOSS(first_dropped, "notice", "notices",
	     "of a new program dropped by the kernel: a program that ended at once may "
	     "have no names. Record at a lower -F"),
	LOSS(lost_events, "process event", "process events",
	     "dropped by the kernel: some code may be named after the wrong file or not "
	     "at all, and the first second of a program's children may be missing. "
	     "Record fewer processes with -p"),
	LOSS(processes_dropped, "process or cgroup", "processes or cgroups",
	     "over the limit of a table: their samples have no names, or options that "
	     "choose by cgroup do not find them. Record fewer processes with -p"),
	LOSS(files_dropped, "file", "files",
	     "not opened, because too many were open: their code has no names. Record "
	     "fewer processes with -p"),
	LOSS(mappings_dropped, "mapping", "mappings",
	     "over the limit of a process or of all processes: code there has no names. "
	     "Record fewer processes with -p"),
	LOSS(names_dropped, "name", "names",
	     "over the memory limit for names, shown as [too many names]. Record for a "
	     "shorter time"),
	LOSS(addresses_dropped, "address", "addresses",
	     "over the limit of the address table: not looked up. Record for a shorter "
	     "time"),
	LOSS(rows_dropped, "sample", "samples",
	     "lost: there was no memory to keep them. Record for a shorter time"),
	LOSS(decoder_deaths, "crash", "crashes",
	     "of a process that reads files or the memory of programs: what it was "
	     "reading has no names. Run again with -vv and report the file or program"),
	LOSS(jit_objects_lost, "piece", "pieces",
	     "of generated code registered, but not caught: too many at once, too large, "
	     "or over the memory limit. Those functions have no names"),
	LOSS(jit_objects_foreign, "piece", "pieces",
	     "of generated code registered in a format of the runtime's own: names come "
	     "from its perf map or jitdump, if it writes one"),
	LOSS(unwind_requests_dropped, "request", "requests",
	     "for unwind tables dropped: stacks were cut for longer. Record at a lower "
	     "-F"),
	LOSS(unwind_pages_evicted, "page", "pages",
	     "of unwind tables evicted to make room for others: stacks are cut until "
	     "they are back. Record with a higher --unwind-memory"),
	LOSS(unwind_pages_refused, "page", "pages",
	     "of unwind tables found no room: stacks are cut there. Record with a higher "
	     "--unwind-memory, or fewer processes with -p"),
	LOSS(unwind_rules_refused, "unwind rule", "unwind rules",
	     "over the limit of 16,384: stacks are cut there. Record fewer processes "
	     "with -p"),
	LOSS(unwind_segments_refused, "time", "times",
	     "the mappings of a process were too many for the unwind tables: its stacks "
	     "are "
	     "cut. Record fewer processes with -p"),
	LOSS(unwind_processes_refused, "time", "times",
	     "there was no room for a process in the unwind tables: its stacks are cut. "
	     "Record fewer processes with -p"),
	LOSS(unwind_files_failed, "file", "files",
	     "or generated functions whose unwind tables could not be read: stacks are "
	     "cut "
	     "there. Run again with -v and report the file"),
	LOSS(pythons_unknown, "process", "processes",
	     "with a Python that is not understood: its stacks have no Python functions"),
	LOSS(python_stale, "time", "times",
	     "the place of Python functions in the stack was not found: they are "
	     "missing"),
	LOSS(python_faults, "time", "times",
	     "the memory of a Python could not be read, or its list of frames led in a "
	     "circle: its functions are missing"),
	LOSS(python_codes_lost, "Python function", "Python functions",
	     "not kept: no room, or too many at once. They have no names. Record at a "
	     "lower "
	     "-F, or for a shorter time"),
	LOSS(targets_late, "time", "times",
	     "a process, a file of one, or a folder of cgroups did not answer: it has no "
	     "names, or is not chosen. A file system that does not respond, or a process "
	     "that blocks its readers; -v tells which"),
	LOSS(targets_refused, "time", "times",
	     "a process or a folder of cgroups was not looked at, because too many of "
	     "its "
	     "user did not answer, or were slow: it has no names, or is not chosen"),
	LOSS(decoder_put_off, "time", "times",
	     "a file had to wait until it was opened or decoded, or has no names or no "
	     "lines of definitions, because those of its user or container took too "
	     "much of the time"),
	LOSS(decoder_deadlines, "time-out", "time-outs",
	     "of a process that reads files or the memory of programs: what it was "
	     "reading has no names. Run again with -vv and report the file or program"),
};

/*
 * Prints stolen time if it may have shifted shares, because the kernel's CPU times
 * exclude it.
 */
static void print_stolen(struct section *section, const struct summary *s,
			 const struct profile_extra *extra)
{
	double of_ns = (double)s->wall_ns * extra->nr_cpus;
	double share = of_ns > 0 ? (double)extra->losses.stolen_ns / of_ns : 0;

	if (share < 0.01)
		return;
	SAY(section,
	    "%s (%s %% of the CPUs' time) were taken by a hypervisor (steal): up to one "
	    "tick of each pause is charged to what ran, so CPU time may be above that of "
	    "top or cpu.stat; the rest are ticks that never ran.",
	    figure_time(extra->losses.stolen_ns).text, figure_percent(share).text);
}

static void print_losses(struct section *section, const struct attribution *a,
			 const struct profile_losses *l)
{
	if (l->missed && !counts_samples(a)) {
		SAY(section,
		    "%s of the machine's %" PRIu64
		    " (%.1f %%) could not be sampled: they happened while another "
		    "sample was taken on their CPU.",
		    figure_count(l->missed, "event", "events").text, l->due,
		    l->due ? 100.0 * (double)l->missed / (double)l->due : 0.0);
	} else if (l->missed) {
		/* Older files have the ticks due to their target only. */
		SAY(section,
		    "%s of %" PRIu64 " %s (%.1f %s%%) never ran: interrupts were off "
		    "too long, or a hypervisor had the CPU. A lower -F misses fewer.",
		    figure_count(l->missed, "tick", "ticks").text, l->due,
		    l->ran ? "that were due on busy CPUs of the machine" : "due",
		    l->due ? 100.0 * (double)l->missed / (double)l->due : 0.0,
		    figure_due_error(l).text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		uint64_t n;

		memcpy(&n, (const char *)l + losses[i].offset, sizeof(n));
		if (!n)
			continue;
		SAY(section, "%s %s.",
		    figure_count(n, losses[i].singular, losses[i].plural).text,
		    losses[i].text);
	}
}

bool render_is_kernel(const char *object)
{
	return !strcmp(object, CALL_TREE_KERNEL);
}

const char *const render_limit_texts[NR_RENDER_LIMITS] = {
	[RENDER_LIMIT_ARM64] = RENDER_LIMIT_ARM64_TEXT,
	[RENDER_LIMIT_CLOCK] =
		"The clock cannot sample kernel code that runs with interrupts "
		"off: its samples are counted in the function that enables them "
		"again or in the next program on the CPU, or are missing if the "
		"CPU becomes idle. Threads that wake each other all the time may "
		"have half of their samples.",
};

const char *render_limit(const struct render_input *in, enum render_limit limit,
			 bool shows_kernel)
{
	const struct profile_extra *extra = &in->profile->extra;
	bool applies = false;

	switch (limit) {
	case RENDER_LIMIT_ARM64:
		applies = profile_is_of_arm64(extra);
		break;
	case RENDER_LIMIT_CLOCK:
		/* The clocks of other tools may be non-maskable interrupts. */
		applies = shows_kernel && extra->present &&
			  counts_samples(in->attribution);
		break;
	case NR_RENDER_LIMITS:
		break;
	}
	return applies ? render_limit_texts[limit] : NULL;
}

/*
 * Not "self is right": self is of the innermost function that has a line, and may be
 * one of the callers.
 */
#define INNERMOST_RIGHT "the innermost function is right"

/* By enum lb_stack_status; NULL: the stack is complete. */
static const char *const incomplete_texts[] = {
	[LB_STACK_COMPLETE] = NULL,
	[LB_STACK_NO_USER] = NULL,
	[LB_STACK_TRUNCATED] =
		"the user stack was longer than the frames that were walked: totals of "
		"its "
		"outermost callers are too low. Record with a higher --max-frames",
	[LB_STACK_BAD_FP] =
		"code without an unwind table, whose frame pointer led nowhere: its "
		"callers are missing, " INNERMOST_RIGHT ". Build it with "
		"-fasynchronous-unwind-tables or -fno-omit-frame-pointer; let its JIT "
		"keep frame pointers",
	[LB_STACK_FAULT] =
		"the stack could not be read: a page was swapped out, or the program was "
		"just ending and had given up its memory. Totals of callers are too low",
	[LB_STACK_NO_REGS] = "the kernel gave no user registers: no user code is seen",
	[LB_STACK_LEAF_ONLY] =
		"user stacks are not walked on this kernel, so no callers are known. See "
		"lineburn doctor",
	[LB_STACK_NO_BODY] = "the stack store was full: only the innermost address was "
			     "kept. Record at "
			     "a lower -F, or fewer processes with -p",
	[LB_STACK_NO_MAPPING] =
		"a return address lay in no mapping that was known yet, or in none at "
		"all: totals of callers are too low. Some are normal when a program "
		"starts "
		"or loads a library; record for longer",
	[LB_STACK_NO_TABLE] =
		"the unwind table of some code, or the place of an interpreter's frames, "
		"was not known to the kernel side yet: totals of callers are too low. "
		"Some "
		"are normal when code runs for the first time; record for longer",
	[LB_STACK_UNSUPPORTED] = "an unwind rule that is not supported, as in "
				 "hand-written assembly: totals "
				 "of callers are too low",
	[LB_STACK_BAD_CFA] = "the stack is damaged, was switched by hand, or its unwind "
			     "table is wrong: "
			     "totals of callers are too low",
	[LB_STACK_32_BIT] = "the stacks of 32-bit code are not walked: " INNERMOST_RIGHT
			    ", its callers are missing. Build the program for 64 bits to "
			    "see them",
	[LB_STACK_GUESSED] =
		"callers were found by frame pointers, because some code has no unwind "
		"table: they may be wrong or missing, " INNERMOST_RIGHT
		". Build that code with -fasynchronous-unwind-tables; JIT code seldom "
		"has a table",
	[LB_STACK_REPLACED] =
		"code took the addresses of other code (dlclose, then dlopen) before its "
		"unwind table was known: its callers are left out, " INNERMOST_RIGHT,
	[LB_STACK_DERIVED] =
		"callers were found from the machine code of functions without an unwind "
		"table, as LLVM compiles for Numba: they are right if that code keeps "
		"its stack as compilers do; " INNERMOST_RIGHT " in any case",
};
_Static_assert(ARRAY_SIZE(incomplete_texts) == LB_NR_STACK_STATUS, "one row per status");

/* On arm64 an unwind table would not help. */
static const char *incomplete_text(const struct profile_extra *extra, size_t status)
{
	if (profile_is_of_arm64(extra) && status == LB_STACK_GUESSED)
		return "callers were found by frame pointers: they may be wrong or "
		       "missing, " INNERMOST_RIGHT ". Build the program with "
		       "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer";
	if (profile_is_of_arm64(extra) && status == LB_STACK_BAD_FP)
		return "a frame pointer led nowhere: totals of callers are too low. "
		       "Build "
		       "the program with -fno-omit-frame-pointer; let its JIT keep frame "
		       "pointers";
	return incomplete_texts[status];
}

static void print_incomplete(struct section *section, const struct attribution *a,
			     const struct summary *s, const struct profile_extra *extra)
{
	/* If another event is counted, a sample may stand for many. */
	uint64_t nr = counts_samples(a) ? a->all.samples : s->nr_samples;

	for (size_t i = 0; i < LB_NR_STACK_STATUS; i++) {
		double share = nr ? (double)s->by_status[i] / (double)nr : 0;
		const char *text = incomplete_text(extra, i);

		if (!text || !s->by_status[i])
			continue;
		SAY(section, "%s (%s %%): %s.",
		    figure_count(s->by_status[i], "sample", "samples").text,
		    figure_percent(share).text, text);
	}
}

/* "Profiling cost 0.71 us a sample in the kernel (0.1 % of one CPU), 0.21 s ..." */
static void print_cost(const struct listing *l, const struct summary *s)
{
	const struct profile_cost *cost = &l->in->profile->extra.cost;
	uint64_t nr = l->in->profile->extra.losses.sampled;
	char kernel[96] = "";

	if (!cost->collector_cpu_ns && !cost->bpf_ns)
		return;
	if (cost->bpf_ns && nr && s->wall_ns)
		snprintf(kernel, sizeof(kernel),
			 "%.2f us a sample in the kernel (%.2f %% of one CPU), ",
			 (double)cost->bpf_ns / (double)nr / 1e3,
			 100.0 * (double)cost->bpf_ns / (double)s->wall_ns);
	fputc('\n', l->out);
	paint_begin(l, PAINT_DIM);
	listing_sentence(
		l, 0, 2,
		"Profiling itself cost %s%s of CPU in the collector, %s of memory "
		"and %s of kernel memory.%s",
		kernel, figure_time(cost->collector_cpu_ns).text,
		figure_bytes(cost->collector_peak_rss_bytes).text,
		figure_bytes(cost->map_bytes).text,
		*kernel && counts_samples(l->in->attribution)
			? " The interrupts come on top: in a virtual machine about 14 us "
			  "each."
			: "");
	paint_end(l, PAINT_DIM);
}

void render_misses(const struct listing *l)
{
	const struct attribution *a = l->in->attribution;
	const struct profile_extra *extra = &l->in->profile->extra;
	struct summary s = summary_of(l->in->profile);
	struct section section = {l, "Samples without a source line:", 0, 11, false};

	render_samples(l);
	for (size_t i = 0; i < a->nr_misses; i++)
		print_miss(&section, a, &a->misses[i]);

	print_share(&section, a, &a->not_mine, "",
		    "all lines on the stack are of libraries",
		    "--charge=line charges those");
	print_jit(&section, a);

	section = (struct section){l, "Losses and limits:", 2, 4, false};
	if (!extra->present) {
		SAY(&section,
		    "Another tool wrote this file: its command line, losses and "
		    "cost are not known.");
	}
	print_losses(&section, a, &extra->losses);
	if (counts_samples(a))
		print_stolen(&section, &s, extra);
	for (int i = 0; i < NR_RENDER_LIMITS; i++) {
		const char *text =
			render_limit(l->in, (enum render_limit)i, l->shows_kernel);

		if (text)
			SAY(&section, "%s", text);
	}
	print_incomplete(&section, a, &s, extra);
	if (a->nr_negative) {
		SAY(&section,
		    "%s below 0, as in a difference of two profiles: counted as 0.",
		    figure_count(a->nr_negative, "entry", "entries").text);
	}
	for (size_t i = 0; i < extra->nr_warnings; i++) {
		SAY(&section, "%s", extra->warnings[i]);
	}
	print_cost(l, &s);
}
