// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One callee, inlined into two lines that do work in the ratio 3:1 in it.
 * usage: inline ROUNDS   (of 100 million loop iterations, about 0.1 s each)
 */
#include <stdlib.h>

__attribute__((always_inline)) static inline unsigned long spin(unsigned long x, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) x = x * 6364136223846793005UL + i; /* HOT spin */
	return x;
}

__attribute__((noinline)) static unsigned long both(unsigned long x)
{
	x = spin(x, 75000000); /* HOT three */
	x = spin(x ^ 1, 25000000); /* HOT one */
	return x;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	unsigned long x = 1;

	for (unsigned long i = 0; i < rounds; i++)
		x = both(x);
	return x == 42;
}
