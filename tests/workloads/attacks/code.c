// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process whose code is in NR files in memory, each a different one, which all run.
 * usage: code SECONDS NR
 * Prints "held" when all have run once.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES 4096UL

/* Counts a register down from its argument, so that it runs for some time. */
#if defined(__x86_64__)
static const unsigned char code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
#else
static const unsigned char code[] = {0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff,
				     0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6};
#endif

typedef void code_fn(unsigned long turns);

static code_fn *make(void)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	void *at;

	if (fd < 0 || write(fd, code, sizeof(code)) != sizeof(code))
		return NULL;
	at = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : (code_fn *)at;
}

int main(int argc, char **argv)
{
	unsigned long nr = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	code_fn **all = calloc(nr, sizeof(*all));

	if (!nr || !all)
		return 2;
	alarm((unsigned int)atoi(argv[1]));
	for (unsigned long i = 0; i < nr; i++) {
		all[i] = make();
		if (!all[i])
			return 1;
	}
	for (unsigned long round = 0;; round++) {
		for (unsigned long i = 0; i < nr; i++)
			all[i](1000000);
		if (!round) {
			puts("held");
			fflush(stdout);
		}
	}
}
