// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Work in the ratio 1:2:4 on three lines: each iteration takes the same time (hot.c).
 * usage: innocent SECONDS
 */
#include <stdlib.h>
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

int main(int argc, char **argv)
{
	volatile unsigned long x = 1;

	if (argc != 2)
		return 2;
	alarm((unsigned int)atoi(argv[1]));
	for (;;)
		x = four(two(one(x)));
}
