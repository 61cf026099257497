// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process with as many mappings of code as the kernel allows, which maps and unmaps some
 * more all the time.
 * usage: mappings SECONDS
 * Prints "held" when it has them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES 4096UL
#define STORM      64 /* at once */

int main(int argc, char **argv)
{
	char *storm[STORM] = {NULL};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	unsigned long nr = 0;

	if (argc != 2 || fd < 0)
		return 2;
	alarm((unsigned int)atoi(argv[1]));
	/* The same page again and again: neighbours are not merged. */
	while (mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED)
		nr++;
	/* Room for the storm. */
	for (int i = 0; i < STORM; i++) {
		storm[i] = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (storm[i] == MAP_FAILED)
			storm[i] = NULL;
	}
	printf("held %lu\n", nr);
	fflush(stdout);
	for (unsigned long i = 0;; i++) {
		char **at = &storm[i % STORM];

		if (*at)
			munmap(*at, PAGE_BYTES);
		*at = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (*at == MAP_FAILED)
			*at = NULL;
	}
}
