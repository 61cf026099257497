// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unusual processes.
 * usage: lives again ONE TWO ARGUMENT   runs ONE, then TWO with the same pid
 *        lives thread-exec MILLIONS PROGRAM ARGUMENT   a thread burns, then calls exec
 *        lives leader-gone MILLIONS     the main thread ends, another one burns
 *        lives zombies MILLIONS         burns while its ended children are zombies
 * "again" prints the pid and the CPU seconds of both; 3: the pid could not be reused.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES 2000

static unsigned long turns;
static char **program;

__attribute__((noinline)) static unsigned long burn(unsigned long n)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < n; i++) x = x * 6364136223846793005UL + i; /* HOT lives */
	return x;
}

static double wait_for(pid_t pid)
{
	struct rusage used;
	int status;

	if (wait4(pid, &status, 0, &used) != pid || status)
		exit(1);
	return (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6 +
	       (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6;
}

/* Forks a child that reads a byte, then calls exec. @wanted: its pid, unless 0. */
static pid_t begin(pid_t wanted, int *ret_go)
{
	for (int i = 0; i < TRIES; i++) {
		FILE *last = wanted ? fopen("/proc/sys/kernel/ns_last_pid", "w") : NULL;
		int go[2];
		pid_t pid;
		char byte;

		if (pipe(go))
			exit(1);
		if (wanted &&
		    (!last || fprintf(last, "%d", wanted - 1) < 0 || fclose(last)))
			return 0;
		pid = fork();
		if (pid < 0)
			exit(1);
		if (!pid) {
			close(go[1]);
			if (read(go[0], &byte, 1) != 1)
				_exit(0);
			execv(program[0], program);
			_exit(1);
		}
		close(go[0]);
		*ret_go = go[1];
		if (!wanted || pid == wanted)
			return pid;
		close(go[1]);
		waitpid(pid, NULL, 0);
		usleep(1000);
	}
	return 0;
}

static int again(char *one, char *two, char *argument)
{
	char *argv[] = {one, argument, NULL};
	double first, second;
	pid_t pid;
	int go;

	program = argv;
	pid = begin(0, &go);
	if (write(go, "", 1) != 1)
		return 1;
	first = wait_for(pid);
	argv[0] = two;
	pid = begin(pid, &go);
	if (!pid)
		return 3;
	if (write(go, "", 1) != 1)
		return 1;
	second = wait_for(pid);
	printf("%d %.3f %.3f\n", pid, first, second);
	return 0;
}

static void *burn_then_execute(void *arg)
{
	volatile unsigned long sink = burn(turns);

	(void)sink;
	if (program)
		execv(program[0], program);
	exit(program ? 1 : 0);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 5 && !strcmp(argv[1], "again"))
		return again(argv[2], argv[3], argv[4]);
	if (argc < 3)
		return 2;
	turns = strtoul(argv[2], NULL, 10) * 1000000;
	if (!strcmp(argv[1], "zombies")) {
		for (int i = 0; i < 50; i++)
			if (!fork())
				_exit(0);
		return burn(turns) == 42;
	}
	if (!strcmp(argv[1], "thread-exec"))
		program = argv + 3;
	if (pthread_create(&thread, NULL, burn_then_execute, NULL))
		return 1;
	if (!program)
		pthread_exit(NULL);
	for (;;)
		pause();
}
