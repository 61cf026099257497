// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines without machine code of their own, among hot ones.
 * usage: bare ROUNDS   (of 50 million loop iterations, about 0.1 s each)
 */
#include <stdlib.h>

#define TWICE(x) ((x) + (x)) /* HOT definition */
static int table[1024];

static inline int helper(int a)
{
	int unused = a * 3; /* HOT unused */
	(void)unused;
	return a ^ (a >> 3); /* HOT helper */
}

/* HOT comment */
__attribute__((noinline)) static int work(int n, int seed)
{
	int dead = seed * 17; /* HOT dead */
	int sum = 0;

	for (int i = 0; i < n; i++) {
		int again, same = table[i & 1023] * seed; /* HOT same */
		again = table[i & 1023] * seed; /* HOT merged */
		dead = sum; /* HOT store */
		if (0)
			sum += 1000; /* HOT never */
		sum += helper(same); /* HOT call */
		sum += TWICE(again); /* HOT macro */
		table[(i + 1) & 1023] = sum; /* HOT write */
	} /* HOT bracket */
	return sum;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	int x = 1;

	for (unsigned long i = 0; i < rounds; i++)
		x = work(50000000, x | 1);
	return x == 42;
}
