// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts the cost of each input. The linker (--wrap, see the Makefile) leads the compiler's
 * calls at edges, and calls of libc, through this file. FUZZ_COSTS=1 prints each input's.
 */
#include "lib/cost.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define BYTES_PER_UNIT 16
#define NR_LEVELS      64 /* of dearness */
#define PER_DOUBLING   8
#define MAX_BLOCK      (128u << 10)

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t cost;
static struct {
	uint64_t cost, bound;
	size_t size;
} dearest;

/*
 * libFuzzer takes these for more edges: it keeps an input that uses more of its bound than
 * those before.
 */
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t levels[NR_LEVELS];

static void note(uint64_t bound, size_t size)
{
	double level = NR_LEVELS - 1;

	if (cost < bound)
		level += PER_DOUBLING * log2(((double)cost + 1) / (double)bound);
	levels[level > 0 ? (size_t)level : 0] = 1;
	if (!dearest.bound ||
	    (double)cost / (double)bound > (double)dearest.cost / (double)dearest.bound) {
		dearest.cost = cost;
		dearest.bound = bound;
		dearest.size = size;
	}
}

__attribute__((destructor)) static void tell(void)
{
	if (dearest.bound)
		fprintf(stderr,
			"cost: the dearest input used %.1f %% of its bound: %llu of %llu "
			"for "
			"%zu bytes\n",
			100.0 * (double)dearest.cost / (double)dearest.bound,
			(unsigned long long)dearest.cost,
			(unsigned long long)dearest.bound, dearest.size);
}

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t bound = cost_bound.fixed + cost_bound.per_byte * size;
	int result;

	cost = 0;
	result = __real_LLVMFuzzerTestOneInput(data, size);
	note(bound, size);
	if (getenv("FUZZ_COSTS"))
		fprintf(stderr, "cost: %zu bytes %llu\n", size, (unsigned long long)cost);
	if (cost <= bound)
		return result;
	fprintf(stderr, "cost: an input of %zu bytes costs %llu, and may cost %llu\n",
		size, (unsigned long long)cost, (unsigned long long)bound);
	abort();
}

/* ---- edges ---- */

void __wrap___sanitizer_cov_trace_pc_guard(uint32_t *guard);
void __wrap___sanitizer_cov_trace_pc_guard(uint32_t *guard)
{
	(void)guard;
	cost++;
}

void __wrap___sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
void __wrap___sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop)
{
	(void)start;
	(void)stop;
}

/* ---- libc ---- */

static void pay(size_t bytes)
{
	cost += bytes / BYTES_PER_UNIT;
}

/* Larger blocks are pages of their own, which the kernel clears, or moves, when touched. */
static size_t block(size_t bytes)
{
	return bytes < MAX_BLOCK ? bytes : MAX_BLOCK;
}

/* WRAP(TYPE, NAME, PARAMETERS, ARGUMENTS, BYTES): the bytes that one call touches */
#define WRAP(type, name, parameters, arguments, bytes) \
	type __real_##name parameters;                 \
	type __wrap_##name parameters;                 \
	type __wrap_##name parameters                  \
	{                                              \
		type result = __real_##name arguments; \
                                                       \
		pay(bytes);                            \
		return result;                         \
	}

/* How far a search went: to what it found, else to the end. */
#define UP_TO(start, len) \
	(result ? (size_t)((const char *)result - (const char *)(start)) : (len))

WRAP(void *, __asan_memcpy, (void *to, const void *from, size_t n), (to, from, n), n)
WRAP(void *, __asan_memmove, (void *to, const void *from, size_t n), (to, from, n), n)
WRAP(void *, __asan_memset, (void *to, int c, size_t n), (to, c, n), n)
WRAP(void *, calloc, (size_t nr, size_t size), (nr, size), block(nr *size))
WRAP(void *, realloc, (void *old, size_t size), (old, size), block(size))
WRAP(void *, memchr, (const void *s, int c, size_t n), (s, c, n), UP_TO(s, n))
WRAP(void *, memrchr, (const void *s, int c, size_t n), (s, c, n), n)
WRAP(void *, memmem, (const void *s, size_t n, const void *what, size_t len),
     (s, n, what, len), UP_TO(s, n))
WRAP(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n), n)
WRAP(size_t, strlen, (const char *s), (s), result)
WRAP(size_t, strnlen, (const char *s, size_t max), (s, max), result)
WRAP(char *, strchr, (const char *s, int c), (s, c), UP_TO(s, strlen(s)))
WRAP(char *, strrchr, (const char *s, int c), (s, c), strlen(s))
WRAP(char *, strstr, (const char *s, const char *what), (s, what), UP_TO(s, strlen(s)))
WRAP(size_t, strspn, (const char *s, const char *set), (s, set), result)
WRAP(size_t, strcspn, (const char *s, const char *set), (s, set), result)
WRAP(char *, strdup, (const char *s), (s), strlen(s))
WRAP(char *, strndup, (const char *s, size_t n), (s, n), strnlen(s, n))

/* It looks for the end of the text first, however little of it is wanted. */
int __wrap___isoc99_sscanf(const char *text, const char *format, ...);
int __wrap___isoc99_sscanf(const char *text, const char *format, ...)
{
	va_list args;
	int result;

	pay(strlen(text));
	va_start(args, format);
	result = vsscanf(text, format, args);
	va_end(args);
	return result;
}

/* The secret of hash tables is always the same, so that their costs are. */
ssize_t __wrap_getrandom(void *buf, size_t len, unsigned int flags);
ssize_t __wrap_getrandom(void *buf, size_t len, unsigned int flags)
{
	(void)flags;
	memset(buf, 0x5a, len);
	return (ssize_t)len;
}
