// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Empties the caches between two samples: below functions with frames of different sizes,
 * reads 64 MB again and again. With those of the C library, the stack has 20 frames.
 * usage: cold SECONDS
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES ((size_t)64 << 20)
#define LINE  64

static volatile unsigned char *memory;
static time_t end;

__attribute__((noinline)) static unsigned long read_all(void)
{
	unsigned long sum = 0;

	while (time(NULL) < end)
		for (size_t at = 0; at < BYTES; at += LINE)
			sum += memory[at];
	return sum;
}

/* The array is used after the call, so it stays in the frame. */
#define FUNCTION(name, callee, words)                             \
	__attribute__((noinline)) static unsigned long name(void) \
	{                                                         \
		volatile unsigned long frame[words] = {1};        \
                                                                  \
		return callee() + frame[0];                       \
	}
FUNCTION(f01, read_all, 1)
FUNCTION(f02, f01, 2)
FUNCTION(f03, f02, 3)
FUNCTION(f04, f03, 4)
FUNCTION(f05, f04, 5)
FUNCTION(f06, f05, 6)
FUNCTION(f07, f06, 7)
FUNCTION(f08, f07, 8)
FUNCTION(f09, f08, 1)
FUNCTION(f10, f09, 2)
FUNCTION(f11, f10, 3)
FUNCTION(f12, f11, 4)
FUNCTION(f13, f12, 5)
FUNCTION(f14, f13, 6)
FUNCTION(f15, f14, 7)

int main(int argc, char **argv)
{
	unsigned char *bytes = malloc(BYTES);

	if (argc < 2 || !bytes)
		return 2;
	memset(bytes, 1, BYTES); /* else all pages would be the zero page */
	memory = bytes;
	end = time(NULL) + atoi(argv[1]);
	return f15() == 42;
}
