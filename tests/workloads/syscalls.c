// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nearly all CPU is the kernel's, below one line.
 * usage: syscalls THOUSANDS   (of reads of 64 KB from /dev/zero)
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static char buffer[65536];

int main(int argc, char **argv)
{
	unsigned long n = (argc > 1 ? strtoul(argv[1], NULL, 10) : 100) * 1000;
	int fd = open("/dev/zero", O_RDONLY);

	for (unsigned long i = 0; i < n; i++)
		if (read(fd, buffer, sizeof(buffer)) < 0) /* HOT read */
			return 1;
	return 0;
}
