// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a storm is made of: burns a little, then exits. Linked statically, so that its life
 * is exec, this loop and exit. usage: brief [THOUSANDS]   (of loop turns; default 200)
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
