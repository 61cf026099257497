// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The library that dlopen.c loads. Compilers give its leaf function no frame, which
 * hides the leaf's caller from a walk by frame pointers. So the direct caller is not
 * the function that the test checks.
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
