// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Function A (a.src:10), then function B (b.src:20), at the same address and with equal
 * instructions: only the times in the jitdump distinguish them.
 * usage: jit-reuse DIRECTORY SECONDS [garbage|truncated|swapped]   (CPU of each function)
 *   swapped: the mapping that tells profilers of the dump is one of the file behind its
 *            standard input half of the time
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "jit-code.h"

struct prefix {
	uint32_t id, total_size;
	uint64_t time_ns;
};

static FILE *dump;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void put(const void *data, size_t len)
{
	if (fwrite(data, 1, len, dump) != len)
		exit(1);
}

static void put_header(void)
{
	struct {
		uint32_t magic, version, total_size, machine, pad, pid;
		uint64_t time_ns, flags;
	} h = {0x4a695444, 1, sizeof(h), 0, 0, (uint32_t)getpid(), now_ns(), 0};

	put(&h, sizeof(h));
}

static void put_line(const uint8_t *page, const char *file, uint32_t line)
{
	size_t name_len = strlen(file) + 1;
	struct prefix p = {2, (uint32_t)(sizeof(p) + 16 + 16 + name_len), now_ns()};
	uint64_t head[3] = {(uintptr_t)page, 1, (uintptr_t)page};
	uint32_t where[2] = {line, 0};

	put(&p, sizeof(p));
	put(head, sizeof(head));
	put(where, sizeof(where));
	put(file, name_len);
}

static void put_load(const uint8_t *page, const char *name, uint64_t index)
{
	size_t name_len = strlen(name) + 1;
	struct prefix p = {0, (uint32_t)(sizeof(p) + 40 + name_len + sizeof(countdown)),
			   now_ns()};
	uint32_t who[2] = {(uint32_t)getpid(), (uint32_t)getpid()};
	uint64_t where[4] = {(uintptr_t)page, (uintptr_t)page, sizeof(countdown), index};

	put(&p, sizeof(p));
	put(who, sizeof(who));
	put(where, sizeof(where));
	put(name, name_len);
	put(countdown, sizeof(countdown));
}

static void compile(uint8_t *page, const char *name, const char *file, uint32_t line,
		    uint64_t index)
{
	jit_write(page);
	put_line(page, file, line);
	put_load(page, name, index);
	fflush(dump);
}

/* Maps the dump and the file of the standard input in turn, at one address. */
static void *swap_mappings(void *where)
{
	for (unsigned int i = 0;; i++) {
		if (mmap(where, JIT_PAGE_BYTES, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, i % 2 ? fileno(dump) : STDIN_FILENO,
			 0) == MAP_FAILED)
			exit(1);
		usleep(1000);
	}
}

static void put_garbage(void)
{
	uint32_t x = 1;

	for (int i = 0; i < 100000; i++) {
		x = x * 1103515245 + 12345;
		put(&x, sizeof(x));
	}
	fflush(dump);
}

int main(int argc, char **argv)
{
	uint8_t *page = jit_page();
	const char *how = argc > 3 ? argv[3] : "";
	char path[4096];
	pthread_t thread;
	double seconds;
	void *mapped;

	if (argc < 3 || !page)
		return 2;
	seconds = strtod(argv[2], NULL);
	snprintf(path, sizeof(path), "%s/jit-%d.dump", argv[1], getpid());
	dump = fopen(path, "w+");
	if (!dump)
		return 1;
	put_header();
	fflush(dump);
	/* The mapping tells profilers where the file is. */
	mapped = mmap(NULL, JIT_PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE,
		      fileno(dump), 0);
	if (mapped == MAP_FAILED)
		return 1;
	if (!strcmp(how, "swapped") &&
	    pthread_create(&thread, NULL, swap_mappings, mapped))
		return 1;
	if (!strcmp(how, "garbage")) {
		jit_write(page);
		put_garbage();
		jit_run(page, seconds);
		return 0;
	}
	compile(page, "A", "a.src", 10, 0);
	jit_run(page, seconds); /* HOT A */
	compile(page, "B", "b.src", 20, 1);
	if (!strcmp(how, "truncated") && ftruncate(fileno(dump), ftell(dump) - 5))
		return 1;
	jit_run(page, seconds); /* HOT B */
	return 0;
}
