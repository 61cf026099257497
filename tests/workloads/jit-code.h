/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A page of machine code that counts down, as a JIT compiler would write it. */
#ifndef LB_WORKLOAD_JIT_CODE_H
#define LB_WORKLOAD_JIT_CODE_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__x86_64__)
static const uint8_t countdown[] = {
	0x55,             /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp,%rbp */
	0x48, 0xff, 0xcf, /* dec %rdi */
	0x75, 0xfb,       /* jnz to the dec */
	0x5d,             /* pop %rbp */
	0xc3,             /* ret */
};
#elif defined(__aarch64__)
static const uint8_t countdown[] = {
	0xfd, 0x7b, 0xbf, 0xa9, /* stp x29, x30, [sp, #-16]! */
	0xfd, 0x03, 0x00, 0x91, /* mov x29, sp */
	0x00, 0x04, 0x00, 0xf1, /* subs x0, x0, #1 */
	0xe1, 0xff, 0xff, 0x54, /* b.ne to the subs */
	0xfd, 0x7b, 0xc1, 0xa8, /* ldp x29, x30, [sp], #16 */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
};
#else
#error "no machine code for this processor"
#endif

#define JIT_PAGE_BYTES 4096

/* Return: a page that is writable and executable; NULL: failed. */
static uint8_t *jit_page(void)
{
	void *p = mmap(NULL, JIT_PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void jit_write(uint8_t *page)
{
	memset(page, 0, JIT_PAGE_BYTES);
	memcpy(page, countdown, sizeof(countdown));
	__builtin___clear_cache((char *)page, (char *)page + JIT_PAGE_BYTES);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs the page for @seconds of CPU time. */
static void jit_run(const uint8_t *page, double seconds)
{
	double end = cpu_s() + seconds;
	void (*run)(unsigned long turns);

	memcpy(&run, &page, sizeof(run));
	while (cpu_s() < end)
		run(3000000);
}

#endif
