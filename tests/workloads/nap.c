// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Works for 1 ms and sleeps for 9, so that other processes can run beside it.
 * usage: nap ROUNDS
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static long cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

__attribute__((noinline)) static void work(void)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < 100000; i++) x = x * 6364136223846793005UL + i; /* HOT nap */
	sink = x;
}

int main(int argc, char **argv)
{
	for (long rounds = argc > 1 ? atol(argv[1]) : 1; rounds > 0; rounds--) {
		long end = cpu_us() + 1000;

		do
			work();
		while (cpu_us() < end);
		usleep(9000);
	}
	return 0;
}
