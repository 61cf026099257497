// SPDX-License-Identifier: GPL-2.0-or-later
/* Maps the code of f0, f1, ... beside its own file, as served.c has them, and spins. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int open_file(unsigned int i)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 16);

	if (len < 0)
		return -1;
	path[len] = '\0';
	sprintf(strrchr(path, '/'), "/f%u", i);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int main(void)
{
	int fd;

	for (unsigned int i = 0; (fd = open_file(i)) >= 0; i++) {
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
		    MAP_FAILED)
			return 1;
		close(fd);
	}
	for (volatile unsigned long i = 0;; i++)
		;
}
