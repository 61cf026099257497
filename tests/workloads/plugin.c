// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The library that dlopen.c loads. The leaf has no frame of its own whatever the
 * compiler is told, which hides its caller from a walk by frame pointers; so that
 * caller is not the one that is asked for.
 */
__attribute__((noinline)) static unsigned long spin(unsigned long n)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < n; i++) x = x * 6364136223846793005UL + i; /* HOT plugin */
	return x;
}

unsigned long plugin_burn(unsigned long n)
{
	return spin(n) ^ 1;
}
