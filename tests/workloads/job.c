// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Uses 2 ms of CPU. Its debug info names the file SECRET (-D) as its source.
 * usage: job
 */
#include <time.h>
#include <unistd.h>

#define BURN_NS 2000000L
#define ROUNDS  20000

#line 5 SECRET
static long used_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

int main(void)
{
	while (used_ns() < BURN_NS)
		for (volatile int i = 0; i < ROUNDS; i++)
			;
	_exit(0);
}
