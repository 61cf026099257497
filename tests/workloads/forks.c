// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forks children that use CPU without exec, while the parent waits.
 * usage: forks CHILDREN MILLIONS   (of loop iterations, in each child)
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned long burn(unsigned long n)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < n; i++) x = x * 6364136223846793005UL + i; /* HOT burn */
	return x;
}

int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 4;
	unsigned long millions = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;

	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(burn(millions * 1000000) == 42);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}
