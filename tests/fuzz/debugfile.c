// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The debug files that a decoder asks for, and so a target's file: pieces of u16 bytes and
 * these bytes (need.h), each asked for until there is no other candidate. No path leaves its
 * root: in the target's, as its owner, any; in ours only below the folder of debug files.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/file.h"
#include "symbolize/debugfile.h"
#include "lib/cost.h"
#include "lib/pieces.h"

#define DEBUG_DIR      "/usr/lib/debug"
#define MAX_CANDIDATES 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 5000, .per_byte = 400};

enum {
	OWN_ROOT = 1000,
	OWN_DEBUG,
	TARGET_ROOT,
};

static bool has_dot_dot(const char *path)
{
	const char *at = path;

	while ((at = strstr(at, "/..")) && at[3] && at[3] != '/')
		at += 3;
	return at != NULL;
}

/* In place of process/file.c. Every second path is there. */
int safe_open(const struct safe_open *how, struct look_facts *ret)
{
	size_t len = strnlen(how->path, PATH_MAX);

	assert(!ret && len < PATH_MAX && how->path[0] == '/');
	switch (how->root_fd) {
	case TARGET_ROOT:
		assert(how->flags == LOOK_AS_OWNER && how->uid == 1000);
		break;
	case OWN_ROOT:
		assert(!strncmp(how->path, DEBUG_DIR "/", strlen(DEBUG_DIR "/")));
		assert(!has_dot_dot(how->path));
		break;
	default:
		assert(how->root_fd == OWN_DEBUG);
	}
	return len % 2 ? fcntl(0, F_DUPFD_CLOEXEC, 3) : -ENOENT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct debugfile_search *search = calloc(1, sizeof(*search));
	struct pieces pieces = {data, size};
	uint16_t bytes;
	void *question;

	assert(search);
	*search = (struct debugfile_search){.own_root_fd = OWN_ROOT,
					    .own_debug_fd = OWN_DEBUG,
					    .debug_dir = DEBUG_DIR,
					    .target_root_fd = TARGET_ROOT,
					    .uid = 1000,
					    .binary_path = "/opt/a/bin/prog"};
	while ((question = pieces_take(&pieces, &bytes))) {
		for (int i = 0, fd = 0; i < MAX_CANDIDATES && fd >= 0; i++) {
			fd = debugfile_open(search, question, bytes);
			if (fd >= 0)
				close(fd);
		}
		free(question);
	}
	free(search);
	return 0;
}
