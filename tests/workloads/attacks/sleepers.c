// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Uses CPU time until SIGUSR1, so that it has samples. Then forks children that sleep.
 * usage: sleepers SECONDS NUMBER
 * Prints "spins" and "forked". The children end with it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile sig_atomic_t is_told;

static void tell(int signal)
{
	(void)signal;
	is_told = 1;
}

int main(int argc, char **argv)
{
	long nr = argc > 2 ? atol(argv[2]) : 0;

	if (!nr)
		return 2;
	alarm((unsigned int)atoi(argv[1]));
	signal(SIGUSR1, tell);
	puts("spins");
	fflush(stdout);
	while (!is_told)
		;
	for (long i = 0; i < nr; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("sleepers: fork");
			return 1;
		}
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	puts("forked");
	fflush(stdout);
	for (;;)
		pause();
}
