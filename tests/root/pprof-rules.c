// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: pprof-rules [--push] FILE...
 * Prints "FILE: problem" for each profile that a reader of pprof files could refuse
 * (tests/lib/pprof_rules.h). --push: that a server could refuse. Exit status: 1 if there
 * is one.
 */
#include "lib/pprof_rules.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"

#define MAX_BYTES (1u << 30)

int main(int argc, char **argv)
{
	bool is_pushed = argc > 1 && !strcmp(argv[1], "--push");
	int status = 0;

	for (int i = 1 + is_pushed; i < argc; i++) {
		_cleanup_close_ int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		_cleanup_free_ char *data = NULL;
		char text[256] = "it cannot be read";
		size_t len;

		if (fd >= 0 && !io_read_all(fd, MAX_BYTES, &data, &len) &&
		    (is_pushed ? pprof_push_rules_hold
			       : pprof_rules_hold)(data, len, text, sizeof(text)))
			continue;
		printf("%s: %s\n", argv[i], text);
		status = 1;
	}
	return status;
}
