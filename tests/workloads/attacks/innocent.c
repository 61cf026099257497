// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Work in the ratio 1:2:4 on three lines: each iteration takes the same time (hot.c), if
 * nobody disturbs it. So it measures itself: at its end it prints the percentages of its CPU
 * time that the lines took, in this order.
 * usage: innocent SECONDS   (or until SIGTERM)
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STEP(x, k) ((x) * 6364136223846793005UL + (k))
#define UNIT       2000000UL

__attribute__((noinline)) static unsigned long one(unsigned long x)
{
	for (unsigned long i = 0; i < UNIT; i++) x = STEP(x, i); /* HOT one */
	return x;
}

__attribute__((noinline)) static unsigned long two(unsigned long x)
{
	for (unsigned long i = 0; i < 2 * UNIT; i++) x = STEP(x, i ^ 3); /* HOT two */
	return x;
}

__attribute__((noinline)) static unsigned long four(unsigned long x)
{
	for (unsigned long i = 0; i < 4 * UNIT; i++) x = STEP(x, i ^ 5); /* HOT four */
	return x;
}

static volatile sig_atomic_t is_over;

static void end(int signal)
{
	(void)signal;
	is_over = 1;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static unsigned long (*const works[])(unsigned long) = {one, two, four};
	double took_s[3] = {0}, sum_s = 0, from_s = now_s();
	volatile unsigned long x = 1;

	if (argc != 2)
		return 2;
	signal(SIGALRM, end);
	signal(SIGTERM, end);
	alarm((unsigned int)atoi(argv[1]));
	for (int i = 0; !is_over; i = (i + 1) % 3) {
		double until_s;

		x = works[i](x);
		until_s = now_s();
		took_s[i] += until_s - from_s;
		sum_s += until_s - from_s;
		from_s = until_s;
	}
	printf("%.2f %.2f %.2f\n", took_s[0] * 100 / sum_s, took_s[1] * 100 / sum_s,
	       took_s[2] * 100 / sum_s);
	return 0;
}
