// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Many idle processes. Prints how many there are, waits until its input is closed, then
 * kills them. usage: idle NUMBER
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int wanted = argc > 1 ? atoi(argv[1]) : 10000, nr = 0;
	pid_t *pids = calloc((size_t)wanted + 1, sizeof(*pids));
	char byte;

	if (!pids)
		return 1;
	for (; nr < wanted; nr++) {
		pids[nr] = fork();
		if (pids[nr] < 0)
			break;
		if (!pids[nr]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	printf("%d\n", nr);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	for (int i = 0; i < nr; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return nr == wanted ? 0 : 1;
}
