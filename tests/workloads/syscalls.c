// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Spends nearly all CPU time in the kernel, called from one line.
 * usage: syscalls THOUSANDS   (of reads of 64 KB from /dev/zero)
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>

static char buffer[65536];

/* Not through libc, whose function may have lines or hide the caller. */
#if defined(__x86_64__)
#define READ(fd, n)                                                                 \
	__asm__ volatile("syscall"                                                  \
			 : "=a"(n)                                                  \
			 : "a"(SYS_read), "D"(fd), "S"(buffer), "d"(sizeof(buffer)) \
			 : "rcx", "r11", "memory")
#else
#include <unistd.h>
#define READ(fd, n) ((n) = read(fd, buffer, sizeof(buffer)))
#endif

int main(int argc, char **argv)
{
	unsigned long times = (argc > 1 ? strtoul(argv[1], NULL, 10) : 100) * 1000;
	int fd = open("/dev/zero", O_RDONLY);

	for (unsigned long i = 0; i < times; i++) {
		long n;

		READ(fd, n); /* HOT read */
		if (n < 0)
			return 1;
	}
	return 0;
}
