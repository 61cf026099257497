// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Uses CPU time, and writes the quarter of its work that it is in at the end of each
 * thread's name: "busy-quarters", "busy-quarters2", ...
 * usage: busy-quarters loop THOUSANDS               one thread
 *        busy-quarters storm THOUSANDS PROCESSES    one process after the other
 *        busy-quarters pipe ROUNDS NR_CPUS          two threads; on one CPU, or on two
 *        busy-quarters threads THOUSANDS NR         that many threads on two CPUs
 *        busy-quarters measure                      prints turns of the loop in 1 ms
 * THOUSANDS: of turns of the loop, of each thread or process
 */
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 256

static void enter_quarter(unsigned int quarter)
{
	char name[] = "busy-quarters?";

	name[sizeof(name) - 2] = (char)('1' + quarter);
	prctl(PR_SET_NAME, name);
}

/* Enters the quarter that begins with step @i of @nr, if one does. */
static void enter_if_due(unsigned long i, unsigned long nr)
{
	for (unsigned int quarter = 0; quarter < 4; quarter++)
		if (i == nr * quarter / 4)
			enter_quarter(quarter);
}

static unsigned long turn(unsigned long thousands)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < thousands * 1000; i++) {
		x = x * 6364136223846793005UL + i;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static void work(unsigned long thousands)
{
	for (unsigned int quarter = 0; quarter < 4; quarter++) {
		enter_quarter(quarter);
		turn(thousands / 4);
	}
}

static void *work_thread(void *thousands)
{
	work((uintptr_t)thousands);
	return NULL;
}

static void stay_on(int first_cpu, int nr_cpus)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (int i = 0; i < nr_cpus; i++)
		CPU_SET((size_t)(first_cpu + i), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus)) {
		perror("busy-quarters: sched_setaffinity");
		exit(1);
	}
}

static int storm(const char *self, char *thousands, unsigned long nr)
{
	char loop[] = "loop", *none[] = {NULL};
	char *command[] = {(char *)self, loop, thousands, NULL};

	for (unsigned long i = 0; i < nr; i++) {
		int status;
		pid_t pid;

		enter_if_due(i, nr);
		if (posix_spawn(&pid, self, NULL, NULL, command, none) ||
		    waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}

struct player {
	int in, out, cpu;
	unsigned long rounds;
	int is_first;
};

static void *play(void *data)
{
	const struct player *p = data;
	char ball = 0;

	stay_on(p->cpu, 1);
	for (unsigned long i = 0; i < p->rounds; i++) {
		enter_if_due(i, p->rounds);
		if ((p->is_first && write(p->out, &ball, 1) != 1) ||
		    read(p->in, &ball, 1) != 1 ||
		    (!p->is_first && write(p->out, &ball, 1) != 1))
			exit(1);
	}
	return NULL;
}

static int play_both(unsigned long rounds, int nr_cpus)
{
	struct player one, other;
	int there[2], back[2];
	pthread_t thread;

	if (pipe(there) || pipe(back))
		return 1;
	one = (struct player){back[0], there[1], 0, rounds, 1};
	other = (struct player){there[0], back[1], nr_cpus - 1, rounds, 0};
	if (pthread_create(&thread, NULL, play, &other))
		return 1;
	play(&one);
	return pthread_join(thread, NULL);
}

static int work_threads(unsigned long thousands, unsigned long nr)
{
	pthread_t threads[MAX_THREADS];

	if (nr > MAX_THREADS)
		return 2;
	stay_on(0, 2);
	for (unsigned long i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, work_thread,
				   (void *)(uintptr_t)thousands))
			return 1;
	for (unsigned long i = 0; i < nr; i++)
		if (pthread_join(threads[i], NULL))
			return 1;
	return 0;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The best of many, because other load only makes it slower. */
static void measure(void)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < 50; i++) {
		uint64_t begin_ns = cpu_ns(), ns;

		turn(1000);
		ns = cpu_ns() - begin_ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	printf("%llu\n", (unsigned long long)(1000000ULL * 1000000 / best_ns));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long amount = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned long nr = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;

	if (!strcmp(what, "measure"))
		measure();
	else if (!strcmp(what, "loop"))
		work(amount);
	else if (!strcmp(what, "storm"))
		return storm(argv[0], argv[2], nr);
	else if (!strcmp(what, "pipe"))
		return play_both(amount, (int)nr);
	else if (!strcmp(what, "threads"))
		return work_threads(amount, nr);
	else
		return 2;
	return 0;
}
