// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Work in the ratio 5:3:2 on three lines of three functions.
 * usage: hot ROUNDS   (of 100 million loop iterations, about 0.1 s each)
 *
 * An iteration is a chain of dependent multiplications: iterations of all functions
 * take the same time, whatever the processor can do in parallel.
 */
#include <stdlib.h>

#define STEP(x, k) ((x) * 6364136223846793005UL + (k))

__attribute__((noinline)) static unsigned long five(unsigned long x, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) x = STEP(x, i); /* HOT five */
	return x;
}

__attribute__((noinline)) static unsigned long three(unsigned long x, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) x = STEP(x, i ^ 3); /* HOT three */
	return x;
}

__attribute__((noinline)) static unsigned long two(unsigned long x, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) x = STEP(x, i ^ 5); /* HOT two */
	return x;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	unsigned long x = 1;

	for (unsigned long i = 0; i < rounds; i++) {
		x = five(x, 50000000);
		x = three(x, 30000000);
		x = two(x, 20000000);
	}
	return x == 42;
}
