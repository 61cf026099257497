// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts of /proc/PID: stat, status and uid_map. A process chooses its name freely. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc_dir.h"
#include "lib/cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct cost_bound cost_bound = {.fixed = 2000, .per_byte = 20};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct proc_status status;
	struct proc_stat stat;
	uid_t uid;
	int rc;

	assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	memset(&stat, 0xff, sizeof(stat));
	rc = proc_stat_parse(text, &stat);
	assert(!rc || rc == -EBADMSG);
	assert(rc || strnlen(stat.comm, sizeof(stat.comm)) < sizeof(stat.comm));
	assert(!rc || stat.start_ticks == UINT64_MAX); /* unchanged */
	memset(&status, 0xff, sizeof(status));
	rc = proc_status_parse(text, &status);
	assert(!rc || (rc == -EBADMSG && status.tgid == UINT32_MAX));
	rc = proc_uid_map_parse(text, &uid);
	assert(!rc || rc == -ENOENT);
	free(text);
	return 0;
}
