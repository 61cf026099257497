// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Swaps two names in the current folder as fast as possible: what is a folder at one moment is a
 * link to another at the next.
 * usage: swap NAME OTHER SECONDS
 * Prints "held" after the first swap.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	alarm((unsigned int)atoi(argv[3]));
	for (unsigned long nr = 0;; nr++) {
		if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE)) {
			perror(argv[1]);
			return 1;
		}
		if (!nr) {
			puts("held");
			fflush(stdout);
		}
	}
}
