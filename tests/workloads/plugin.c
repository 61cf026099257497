// SPDX-License-Identifier: GPL-2.0-or-later
/* The library that dlopen.c loads. */
unsigned long plugin_burn(unsigned long n)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < n; i++) x = x * 6364136223846793005UL + i; /* HOT plugin */
	return x;
}
