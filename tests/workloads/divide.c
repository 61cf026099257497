// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A loop that spends its time in one inlined 64-bit division.
 * usage: divide ROUNDS   (of 10 million divisions)
 */
#include <stdlib.h>

static inline unsigned long quotient(unsigned long a, unsigned long b)
{
	return a / b; /* HOT quotient */
}

__attribute__((noinline)) static unsigned long divide(unsigned long x, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		x = quotient(~x, (x & 15) + 3) ^ i; /* HOT call */
	return x;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	unsigned long x = 1;

	for (unsigned long i = 0; i < rounds; i++)
		x = divide(x, 10000000);
	return x == 42;
}
