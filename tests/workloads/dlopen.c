// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Uses some CPU, then loads a library and uses CPU in it.
 * usage: dlopen LIBRARY MILLIONS   (of loop iterations in the library)
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned long (*plugin_burn)(unsigned long n);
	unsigned long x = 1;
	void *library;

	if (argc < 3)
		return 2;
	for (unsigned long i = 0; i < 300000000; i++) x = x * 6364136223846793005UL + i; /* HOT before */
	usleep(200000);
	library = dlopen(argv[1], RTLD_NOW);
	if (!library)
		return 1;
	*(void **)&plugin_burn = dlsym(library, "plugin_burn");
	if (!plugin_burn)
		return 1;
	x += plugin_burn(strtoul(argv[2], NULL, 10) * 1000000); /* HOT call */
	return x == 42;
}
