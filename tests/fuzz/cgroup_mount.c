// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Texts of /proc/PID/mountinfo and /proc/PID/cgroup, with a NUL between them: a container
 * chooses the paths in both. What is found is a path of the first and one of the second.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/cgroup_mount.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 50};

static void check(const struct cgroup_mount *m)
{
	char *below;

	assert(m->path && *m->path == '/' && m->root && *m->root == '/');
	assert(strnlen(m->name, sizeof(m->name)) < sizeof(m->name));
	if (!m->own)
		return;
	assert(*m->own == '/');
	below = cgroup_namespace_to_mount(m->root, m->base, m->own);
	assert(!below || *below == '/');
	free(below);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cgroup_mounts mounts;
	char *text = malloc(size + 2), *second;

	assert(text);
	memcpy(text, data, size);
	text[size] = text[size + 1] = '\0';
	second = text + strlen(text) + 1;
	if (!cgroup_mounts_parse(text, second, &mounts)) {
		assert(mounts.nr <= CGROUP_MOUNTS_MAX);
		for (size_t i = 0; i < mounts.nr; i++)
			check(&mounts.at[i]);
		cgroup_mounts_only_v2(&mounts);
		cgroup_mounts_deinit(&mounts);
	}
	free(text);
	return 0;
}
