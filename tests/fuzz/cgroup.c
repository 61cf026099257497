// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of /proc/PID/cgroup: for any input the results are terminated and fit. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "process/cgroup.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each component of a path is compared with 24 patterns, three times. */
const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 1500};

static void check_owner(const struct cgroup_owner *owner, bool tells)
{
	size_t pod = strnlen(owner->pod, sizeof(owner->pod));

	assert(owner->runtime < NR_CONTAINER_RUNTIMES);
	assert(*container_runtime_name(owner->runtime) || !owner->runtime);
	assert(strnlen(owner->container, sizeof(owner->container)) <
	       sizeof(owner->container));
	assert(strnlen(owner->unit, UNIT_BYTES) < UNIT_BYTES);
	if (memchr(owner->pod, '/', pod))
		pod -= (size_t)(strchr(owner->pod, '/') + 1 - owner->pod);
	assert(pod == 0 || pod == 32 || pod == 36);
	assert((owner->runtime != CONTAINER_NONE) == (*owner->container != '\0'));
	assert(tells == (owner->runtime || pod || *owner->unit));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct cgroup_owner owner;
	size_t len;
	uint32_t hierarchy;
	bool tells;
	const char *path = cgroup_path_of(text, size, &len, &hierarchy);

	assert(path >= text && path + len <= text + size);
	assert(!len || (*path == '/' && !memchr(path, '\n', len)));
	tells = cgroup_owner_by_path(path, len, &owner);
	check_owner(&owner, tells);
	tells = cgroup_owner_by_path(text, size, &owner);
	check_owner(&owner, tells);
	return 0;
}
