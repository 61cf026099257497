// SPDX-License-Identifier: GPL-2.0-or-later
#include "launch/command_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define MAX_SCRIPTS 4 /* that execute each other: as the kernel allows */
#define LINE_BYTES  256 /* of "#!": BINPRM_BUF_SIZE of linux/binfmts.h */

/* An executable file: a pipe or a device is not opened, which alone may do something. */
static int open_file(const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return -EACCES;
	return io_reopen(fd);
}

static int search(const char *name)
{
	const char *path = getenv("PATH");
	int why = -ENOENT;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/'))
		return open_file(name);
	if (!path)
		path = "/bin:/usr/bin";
	for (;;) {
		size_t len = strcspn(path, ":");
		char file[PATH_MAX];
		int fd;

		/* An empty part is the working directory. */
		snprintf(file, sizeof(file), "%.*s%s%s", (int)(len < PATH_MAX ? len : 0),
			 path, len ? "/" : "./", name);
		fd = open_file(file);
		if (fd >= 0)
			return fd;
		if (fd == -EACCES)
			why = fd;
		if (!path[len])
			return why;
		path += len + 1;
	}
}

static bool is_env(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, "env");
}

/* @line  of LINE_BYTES: the interpreter is left in it. Return: false: it is no script. */
static bool read_interpreter(int fd, char *line)
{
	static const char blank[] = " \t";
	ssize_t n = pread(fd, line, LINE_BYTES - 1, 0);
	char *rest, *word;

	if (n < 2 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	rest = line + 2;
	word = strtok_r(rest, blank, &rest);
	if (word && is_env(word))
		do /* neither its options nor its variables */
			word = strtok_r(NULL, blank, &rest);
		while (word && (*word == '-' || strchr(word, '=')));
	if (!word)
		return false;
	memmove(line, word, strlen(word) + 1);
	return true;
}

int command_file_open(const char *name)
{
	char line[LINE_BYTES];

	for (int i = 0; i <= MAX_SCRIPTS; i++) {
		_cleanup_close_ int fd = search(i ? line : name);

		if (fd < 0 || !read_interpreter(fd, line))
			return take_fd(&fd);
	}
	return -ELOOP;
}
