/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collector side: opens files that the ELF decoder requests (need.h). The request is
 * untrusted. Paths are opened only in the target's root, with the target's privileges.
 * In our root only build ids and base names are used, under debug_dir.
 */
#ifndef LB_SYMBOLIZE_DEBUGFILE_H
#define LB_SYMBOLIZE_DEBUGFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/quota.h"
#include "decode/need.h"

/* Where to search the files of one binary. Set up by the caller. */
struct debugfile_search {
	int own_root_fd; /* O_PATH on our "/"; -1: not searched */
	int own_debug_fd; /* O_PATH on debug_dir; -1: not searched */
	const char *debug_dir; /* absolute */
	int target_root_fd; /* O_PATH; -1: not searched */
	uid_t uid, root_uid; /* of the target; uid (uid_t)-1: do not search its root */
	gid_t gid;
	struct tenant who; /* whose root it is */
	const char *binary_path; /* absolute in the target's root; "" if it has none */
	bool was_denied; /* set if a file may not be opened with these rights */

	/* State of the last request, for repeated requests. Initially zeroed. */
	uint64_t last_question; /* hash */
	unsigned int next_candidate;
	char origin[PATH_MAX]; /* path of the debug file; "": the binary itself */
	bool origin_is_own; /* origin is in our root */
};

/**
 * Call before another request for the same binary: starts again with the first
 * candidate.
 */
void debugfile_search_again(struct debugfile_search *s);

#define DEBUGFILE_MAX_BYTES (64ULL << 30)

/**
 * A worker_need_fn with a struct debugfile_search as @ctx. Repeating a request for a
 * debug file opens the next candidate.
 * Return: a descriptor the caller closes, or -1.
 */
int debugfile_open(void *ctx, const void *what, size_t len);

#endif
