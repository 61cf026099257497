// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process of a storm: uses some CPU, then exits. Linked statically, so that it only
 * does exec, this loop and exit. usage: brief [THOUSANDS]   (of turns; default 200)
 */
#include <stdlib.h>

int main(int argc, char **argv)
{
	unsigned long thousands = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
	volatile unsigned long sink;
	unsigned long x = 1;

	for (unsigned long i = 0; i < thousands * 1000; i++) x = x * 6364136223846793005UL + i; /* HOT brief */
	sink = x;
	return sink == 42;
}
