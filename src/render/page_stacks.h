/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a profile as a tree of frames, for a page that sums them up itself. A
 * sample is a node, and the frame that is charged is one of the node's ancestors or the
 * node itself. Frames have a line where it counts (attribution.h), so sums over the tree
 * are those of the attribution. Frames of an interpreter inside of any line are left
 * out, as they only run that line.
 */
#ifndef LB_RENDER_PAGE_STACKS_H
#define LB_RENDER_PAGE_STACKS_H

#include "analyze/attribution.h"
#include "profile/profile.h"

/* Whose code it is; in the order of the page's colours. */
enum page_kind {
	PAGE_YOURS,
	PAGE_LIBRARY,
	PAGE_PYTHON,
	PAGE_JIT,
	PAGE_KERNEL,
};

struct page_function {
	const char *name; /* "": code without a name */
	const char *object;
	uint32_t file; /* in page_stacks.paths; PROFILE_NONE */
	uint32_t start_line; /* 0 not known */
	enum page_kind kind;
	bool is_library; /* of Python or a JIT, too */
	/* Its self belongs to its caller: the kernel, an interpreter. */
	bool is_passive;
	bool is_start; /* the same if it calls anything: start code */
};

struct page_frame {
	uint32_t function;
	uint32_t line; /* 0: none that counts */
	bool is_inlined; /* its code is within that of its caller */
};

struct page_node {
	uint32_t parent; /* an earlier node; PROFILE_NONE: an outermost frame */
	uint32_t frame;
};

struct page_sample {
	uint32_t node;
	/* node of the charged frame; PROFILE_NONE: no line is charged */
	uint32_t charged;
	uint32_t labels; /* as in page_stacks_options */
	uint32_t bucket; /* of page_stacks.bucket_ns since the start, + 1; 0: not known */
	struct weight weight;
};

struct page_stacks {
	/* Those of attribution.files in their order, then further ones of functions. */
	const char **paths;
	size_t nr_paths;
	struct page_function *functions;
	size_t nr_functions, cap_functions;
	struct page_frame *frames; /* different from each other */
	size_t nr_frames, cap_frames;
	struct page_node *nodes;
	size_t nr_nodes, cap_nodes;
	/* Different in node, charge, labels or bucket; in this order. */
	struct page_sample *samples;
	size_t nr_samples, cap_samples;
	uint64_t bucket_ns; /* 0: times are not known */
	struct weight cut; /* of samples that lost their callers */
	struct weight dropped; /* of those that lost their line, too */
};

struct page_stacks_options {
	const uint32_t *labels; /* a number for each sample of the profile */
	/*
	 * The heaviest samples keep their callers, as long as the tree has fewer nodes than
	 * this. Of the others the charged frame stays, called by PAGE_CUT.
	 */
	size_t max_nodes;
	/*
	 * Once there are this many different frames, the lighter samples lose their line,
	 * too; PAGE_DROPPED stands for it.
	 */
	size_t max_frames;
	/*
	 * Buckets become longer until no more samples than this differ from the one before
	 * only in their bucket.
	 */
	size_t max_repeats;
};

/* The functions that stand for callers and for lines that are left out. */
#define PAGE_CUT     "[callers left out]"
#define PAGE_DROPPED "[lines left out]"

/** Does @s differ from the sample before only in its bucket? */
bool page_sample_repeats(const struct page_stacks *s, size_t sample);

/** Return: 0 or -ENOMEM. */
int page_stacks_new(const struct profile *p, const struct attribution *a,
		    const struct page_stacks_options *options, struct page_stacks **ret);
void page_stacks_free(struct page_stacks *s);
DEFINE_CLEANUP(struct page_stacks, page_stacks_free);

#endif
