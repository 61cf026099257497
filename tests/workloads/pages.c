// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Touches new pages on order: each is one page fault on a known line.
 * usage: pages [ORDER...]   (without orders they are read from stdin, one a line)
 *
 *   touch N    N pages on one line, 2 N on a second, N + 2 N (two callers) on a third
 *   child N    the same in a child
 *   thread N   the same in a thread called "toucher"
 *   exec N     the same in this program after exec, which then reads further orders
 *   name NAME  sets the name of this thread
 *   user UID   sets the effective uid
 *   clear N    the C library touches N pages, called from one line
 *   clock N    the vdso touches N pages, called by the C library from one line
 *   map N      makes N executable mappings of a page each
 *   through N PATH
 *              the library at PATH (through.S) calls the line that touches each of N pages. The
 *              library of the last such order is closed before, and PATH takes its addresses.
 *              "through 0 PATH" only opens it.
 *              With jit-load.c PATH is a linked program, and the code is registered as a JIT's
 *
 * After each order it prints "done PID TID".
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096UL

static char *fresh(unsigned long nr)
{
	char *pages = mmap(NULL, nr * PAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || madvise(pages, nr * PAGE_BYTES, MADV_NOHUGEPAGE))
		exit(3);
	return pages;
}

__attribute__((noinline)) static void one(char *p, unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		*(volatile char *)(p + i * PAGE_BYTES) = 1; /* HOT one */
}

__attribute__((noinline)) static void two(char *p, unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		*(volatile char *)(p + i * PAGE_BYTES) = 2; /* HOT two */
}

__attribute__((noinline)) static void three(char *p, unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		*(volatile char *)(p + i * PAGE_BYTES) = 3; /* HOT three */
}

__attribute__((noinline)) static void touch(unsigned long nr)
{
	char *p = fresh(6 * nr);

	one(p, nr);
	two(p + nr * PAGE_BYTES, 2 * nr);
	three(p + 3 * nr * PAGE_BYTES, nr); /* HOT by-one */
	three(p + 4 * nr * PAGE_BYTES, 2 * nr); /* HOT by-two */
	munmap(p, 6 * nr * PAGE_BYTES);
}

__attribute__((noinline)) static void clear(unsigned long nr)
{
	char *p = fresh(nr);

	memset(p, 1, nr * PAGE_BYTES); /* HOT clear */
	munmap(p, nr * PAGE_BYTES);
}

__attribute__((noinline)) static void read_clock(unsigned long nr)
{
	char *p = fresh(nr), *end = p + nr * PAGE_BYTES;

	for (char *page = p; page < end; page += PAGE_BYTES)
		clock_gettime(CLOCK_REALTIME, (void *)page); /* HOT clock */
	munmap(p, nr * PAGE_BYTES);
}

/* Leaves gaps between the mappings, which would be merged otherwise. */
static void map_code(unsigned long nr)
{
	char *p = mmap(NULL, 2 * nr * PAGE_BYTES, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(6);
	for (unsigned long i = 0; i < nr; i++)
		if (munmap(p + (2 * i + 1) * PAGE_BYTES, PAGE_BYTES))
			exit(6);
}

/* Its address is where a library's frame has nothing but it: nobody calls it. */
__attribute__((noinline)) static void decoy(void) /* HOT decoy */
{
	exit(8);
}

/* jit-load.c, if it is linked */
__attribute__((weak)) void *jit_load(const char *path);

static void *load(const char *path)
{
	static void *library;

	if (jit_load)
		return jit_load(path);
	if (library)
		dlclose(library);
	library = dlopen(path, RTLD_NOW);
	return library ? dlsym(library, "through") : NULL;
}

static char *next_page;

__attribute__((noinline)) static void touch_next(void)
{
	*(volatile char *)next_page = 4; /* HOT through */
	next_page += PAGE_BYTES;
}

__attribute__((noinline)) static void through(unsigned long nr, const char *path)
{
	static void (*call)(void (*touch)(void), const void *fill);
	static char opened[128];
	void (*before)(void (*touch)(void), const void *fill) = call;

	if (strcmp(opened, path) != 0) {
		*(void **)&call = load(path);
		if (!call || (before && call != before))
			exit(7);
		snprintf(opened, sizeof(opened), "%s", path);
	}
	if (!nr)
		return;
	next_page = fresh(nr);
	for (unsigned long i = 0; i < nr; i++)
		call(touch_next, (const char *)decoy + 1); /* HOT by-through */
	munmap(next_page - nr * PAGE_BYTES, nr * PAGE_BYTES);
}

static void *in_thread(void *nr)
{
	prctl(PR_SET_NAME, "toucher");
	touch((uintptr_t)nr);
	printf("done %d %ld\n", getpid(), syscall(SYS_gettid));
	return NULL;
}

static void done(void)
{
	printf("done %d %ld\n", getpid(), syscall(SYS_gettid));
	fflush(stdout);
}

static void obey(char *order)
{
	char *word = strtok(order, " \n"), *argument = strtok(NULL, " \n");
	char *path = argument ? strtok(NULL, " \n") : NULL;
	unsigned long nr = argument ? strtoul(argument, NULL, 10) : 0;
	pthread_t thread;
	pid_t child;

	if (!word || !argument)
		exit(2);
	if (!strcmp(word, "touch")) {
		touch(nr);
	} else if (!strcmp(word, "child")) {
		child = fork();
		if (!child) {
			touch(nr);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	} else if (!strcmp(word, "thread")) {
		pthread_create(&thread, NULL, in_thread, (void *)(uintptr_t)nr);
		pthread_join(thread, NULL);
		fflush(stdout);
		return;
	} else if (!strcmp(word, "exec")) {
		execl("/proc/self/exe", "pages", "-", argument, (char *)NULL);
		exit(4);
	} else if (!strcmp(word, "name")) {
		prctl(PR_SET_NAME, argument);
	} else if (!strcmp(word, "user")) {
		if (seteuid(0) || seteuid((uid_t)nr))
			exit(5);
	} else if (!strcmp(word, "clear")) {
		clear(nr);
	} else if (!strcmp(word, "clock")) {
		read_clock(nr);
	} else if (!strcmp(word, "map")) {
		map_code(nr);
	} else if (!strcmp(word, "through") && path) {
		through(nr, path);
	} else {
		exit(2);
	}
	done();
}

int main(int argc, char **argv)
{
	char line[128];

	if (argc > 2 && !strcmp(argv[1], "-")) {
		touch(strtoul(argv[2], NULL, 10));
		done();
	} else if (argc > 1) {
		for (int i = 1; i < argc; i++) {
			snprintf(line, sizeof(line), "%s", argv[i]);
			obey(line);
		}
		return 0;
	}
	/* Unbuffered: input after an exec order is left for the new program. */
	setvbuf(stdin, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin))
		obey(line);
	return 0;
}
