// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void scratch_make(char path[SCRATCH_BYTES], mode_t mode)
{
	strcpy(path, "/tmp/lineburn-test-XXXXXX");
	if (!mkdtemp(path) || chmod(path, mode)) {
		perror(path);
		abort();
	}
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

void scratch_remove(const char *path)
{
	/* Neither follows links nor enters other file systems. */
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT))
		perror(path);
}
