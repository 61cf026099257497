// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Swaps two names as fast as possible: what is a folder at one moment is a link to another at the
 * next.
 * usage: swap SECONDS NAME OTHER [NAME OTHER]...
 * Prints "held" after the first swap of all.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 4 || argc % 2)
		return 2;
	alarm((unsigned int)atoi(argv[1]));
	for (unsigned long nr = 0;; nr++) {
		for (int i = 2; i < argc; i += 2) {
			if (renameat2(AT_FDCWD, argv[i], AT_FDCWD, argv[i + 1],
				      RENAME_EXCHANGE)) {
				perror(argv[i]);
				return 1;
			}
		}
		if (!nr) {
			puts("held");
			fflush(stdout);
		}
	}
}
