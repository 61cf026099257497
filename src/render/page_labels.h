/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The labels of samples that a page offers as filters, as readable texts. */
#ifndef LB_RENDER_PAGE_LABELS_H
#define LB_RENDER_PAGE_LABELS_H

#include "analyze/attribution.h"
#include "profile/profile.h"

/* In the order of the page's filters. */
enum page_label {
	PAGE_PROGRAM, /* "python3.11" */
	PAGE_PROCESS, /* "python3.11 (4711)" */
	PAGE_THREAD, /* name, with --tid also the number */
	PAGE_CONTAINER,
	PAGE_POD,
	PAGE_UNIT,
	PAGE_USER,
	PAGE_PHASE,
	NR_PAGE_LABELS,
};

/* "Program", "Process", ... */
extern const char *const page_label_names[NR_PAGE_LABELS];

struct page_label_set {
	const char *text[NR_PAGE_LABELS]; /* interned; "": none */
};

struct page_labels {
	struct page_label_set *sets; /* different from each other */
	size_t nr_sets, cap_sets;
	uint32_t *set_of; /* for each sample of the profile */
};

/* Which labels are told apart. */
enum page_detail {
	PAGE_ALL_LABELS,
	PAGE_NO_PROCESSES, /* nor threads, of which there may be many */
	PAGE_NO_LABELS,
};

/** Return: 0 or -ENOMEM. */
int page_labels_new(const struct profile *p, enum page_detail detail,
		    struct page_labels **ret);
void page_labels_free(struct page_labels *l);
DEFINE_CLEANUP(struct page_labels, page_labels_free);

#endif
