/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collector side: opens what the ELF decoder asks for (need.h). The question is
 * hostile. Names lead nowhere but into the target's root, with the target's own
 * rights; in our root only build ids and base names are used, under debug_dir.
 */
#ifndef LB_SYMBOLIZE_DEBUGFILE_H
#define LB_SYMBOLIZE_DEBUGFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "decode/need.h"

/* Where to look for what belongs to one binary. Set up by its user. */
struct debugfile_search {
	int own_root_fd; /* O_PATH on our "/"; -1: not searched */
	int own_debug_fd; /* O_PATH on debug_dir; -1: not searched */
	const char *debug_dir; /* absolute */
	int target_root_fd; /* O_PATH; -1: not searched */
	uid_t uid, root_uid; /* of the target; uid (uid_t)-1: its root is not searched */
	gid_t gid;
	const char *binary_path; /* absolute in the target's root; "" if it has none */

	/* What was opened last, for questions that go on from there. Zeroes at first. */
	uint64_t last_question; /* hash */
	unsigned int next_candidate;
	char origin[PATH_MAX]; /* path of the debug file; "": the binary itself */
	bool origin_is_own; /* it is in our root */
};

#define DEBUGFILE_MAX_BYTES (64ULL << 30)

/**
 * A worker_need_fn with a struct debugfile_search as @ctx. Asking the same
 * question for a debug file again opens the next candidate.
 * Return: a descriptor the caller closes, or -1.
 */
int debugfile_open(void *ctx, const void *what, size_t len);

#endif
