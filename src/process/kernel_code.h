/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that the kernel generates while it runs, and when it was there: BPF programs,
 * trampolines, probes. Its addresses are used again, so a name needs a time.
 */
#ifndef LB_PROCESS_KERNEL_CODE_H
#define LB_PROCESS_KERNEL_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/task_event.h"

/* A function, there for from_ns <= time < until_ns. */
struct kernel_function {
	uint64_t start, end; /* [start, end), run-time addresses */
	uint64_t from_ns; /* CLOCK_MONOTONIC; 0: since before we looked */
	uint64_t until_ns; /* UINT64_MAX: still there */
	char *name; /* heap; NULL: that of the kernel symbol at start */
};

/* Begins as {.must_list = true}. */
struct kernel_code {
	struct kernel_function *items; /* in order of start, then as they were added */
	size_t nr, cap;
	uint64_t longest; /* bytes, of all functions ever */
	uint64_t nr_changes; /* functions added or ended, ever */
	/* Functions from before that time are known only if a list had them; 0: start. */
	uint64_t known_from_ns;
	bool must_list; /* a list of the functions that are there is needed */
	uint64_t nr_lists; /* such lists until now */
};

#define KERNEL_CODE_MAX 262144 /* functions; more are not known */

void kernel_code_deinit(struct kernel_code *k);

/**
 * Takes the events KERNEL_CODE, KERNEL_CODE_END and LOST, in order of time; ignores
 * others. One without a name is from a list of the functions that are there. After LOST,
 * which functions are there is not known: must_list is set.
 */
void kernel_code_event(struct kernel_code *k, const struct task_event *ev);

/** All functions of the list were passed to kernel_code_event(). */
void kernel_code_is_listed(struct kernel_code *k);

/** Drops functions that ended by @before_ns. */
void kernel_code_forget(struct kernel_code *k, uint64_t before_ns);

enum kernel_code_answer {
	KERNEL_CODE_FOUND,
	KERNEL_CODE_NONE, /* no function is known there in that time */
	KERNEL_CODE_AMBIGUOUS, /* it came, went or was replaced in that time */
};

/**
 * Finds the function at @ip in [first_ns, last_ns]. @ret is written when found; it is
 * valid until @k changes.
 */
enum kernel_code_answer kernel_code_find(const struct kernel_code *k, uint64_t ip,
					 uint64_t first_ns, uint64_t last_ns,
					 const struct kernel_function **ret);

#endif
