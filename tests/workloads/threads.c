// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads, "lb-three" and "lb-one", with work in the ratio 3:1 on separate lines.
 * usage: threads MILLIONS   (of loop iterations in total)
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>

static unsigned long millions;
static volatile unsigned long sink;

static void *three(void *unused)
{
	unsigned long x = 1, n = millions * 750000;

	prctl(PR_SET_NAME, "lb-three");
	for (unsigned long i = 0; i < n; i++) x = x * 6364136223846793005UL + i; /* HOT three */
	sink = x;
	return unused;
}

static void *one(void *unused)
{
	unsigned long x = 1, n = millions * 250000;

	prctl(PR_SET_NAME, "lb-one");
	for (unsigned long i = 0; i < n; i++) x = x * 6364136223846793005UL + i; /* HOT one */
	sink = x;
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	millions = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	if (pthread_create(&a, NULL, three, NULL) || pthread_create(&b, NULL, one, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
