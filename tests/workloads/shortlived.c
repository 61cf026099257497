// SPDX-License-Identifier: GPL-2.0-or-later
/* About 10 ms of CPU, then exits before lineburn drains. usage: shortlived */
int main(void)
{
	volatile unsigned long sink;
	unsigned long x = 1;

	for (unsigned long i = 0; i < 10000000; i++) x = x * 6364136223846793005UL + i; /* HOT short */
	sink = x;
	return sink == 42;
}
