// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A storm of processes: starts a program (vfork, exec) again and again.
 * usage: storm RATE SECONDS PROGRAM [ARGUMENT...]
 *
 * RATE: processes a second; 0: as fast as possible. At most one per CPU runs at once.
 * Prints: processes, seconds, their CPU seconds (user, system).
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void sleep_until(double when_s)
{
	struct timespec ts = {.tv_sec = (time_t)when_s,
			      .tv_nsec = (long)((when_s - (double)(time_t)when_s) * 1e9)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static int reap(int flags)
{
	int status;
	pid_t pid = waitpid(-1, &status, flags);

	if (pid > 0 && status) {
		fprintf(stderr, "storm: a process ended with status %#x\n",
			(unsigned int)status);
		exit(1);
	}
	return pid > 0;
}

int main(int argc, char **argv)
{
	double rate = argc > 3 ? atof(argv[1]) : 0, begin = now_s(), end;
	long at_once = sysconf(_SC_NPROCESSORS_ONLN), running = 0;
	unsigned long nr = 0;
	struct rusage used;

	if (argc < 4)
		return 2;
	end = begin + atof(argv[2]);
	while (now_s() < end) {
		char *none[] = {NULL};
		pid_t pid;

		while (running && reap(WNOHANG))
			running--;
		if (running >= at_once)
			running -= reap(0);
		/* After a delay it catches up. */
		if (rate > 0)
			sleep_until(begin + (double)nr / rate);
		if (posix_spawn(&pid, argv[3], NULL, NULL, argv + 3, none)) {
			perror("storm: posix_spawn");
			return 1;
		}
		nr++;
		running++;
	}
	while (running)
		running -= reap(0);
	end = now_s();
	getrusage(RUSAGE_CHILDREN, &used);
	printf("%lu %.3f %.3f %.3f\n", nr, end - begin, seconds(&used.ru_utime),
	       seconds(&used.ru_stime));
	return 0;
}
