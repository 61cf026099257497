// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbolize/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/tool.h"

#define MAX_BUILD_ID 64

bool debuginfod_is_wanted(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && urls[strspn(urls, " ")];
}

int debuginfod_fetch(const uint8_t *build_id, size_t len, int timeout_ms, int *ret_fd)
{
	_cleanup_free_ char *path = NULL;
	char hex[2 * MAX_BUILD_ID + 1];
	const char *const argv[] = {"debuginfod-find", "debuginfo", hex, NULL};
	int rc;

	if (!len || len > MAX_BUILD_ID)
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", build_id[i]);
	rc = tool_read(&(struct tool){.argv = argv,
				      .timeout_ms = timeout_ms,
				      .max_bytes = PATH_MAX},
		       &path);
	if (rc)
		return rc;
	path[strcspn(path, "\n")] = '\0';
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}
