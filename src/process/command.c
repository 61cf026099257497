// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <unistd.h>

#include "base/io.h"
#include "process/table.h"

#define MAX_COMMAND_BYTES 16384
#define MAX_PATH_BYTES    4096

void process_read_command(struct process_table *t, struct process *p)
{
	const struct image *img = t->images[p->id];
	_cleanup_close_ int dir = -1;
	_cleanup_close_ int fd = -1;
	char text[MAX_COMMAND_BYTES], cwd[MAX_PATH_BYTES];
	ssize_t n;

	if (p->command || !img->is_newest)
		return;
	dir = image_open_dir(t, img);
	if (dir < 0)
		return;
	n = readlinkat(dir, "cwd", cwd, sizeof(cwd));
	if (n > 0 && (size_t)n < sizeof(cwd) && *cwd == '/')
		p->cwd = strpool_add_n(t->pool, cwd, (size_t)n);
	fd = openat(dir, "cmdline", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (n <= 0)
		return;
	/* One string: an argument that holds the separator is cut there, which no path is. */
	for (ssize_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = '\n';
	p->command = strpool_add_n(t->pool, text, (size_t)n);
}
