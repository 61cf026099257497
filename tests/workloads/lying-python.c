// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks like a CPython 3.13 (link it with not-python.c, as "python3.13"), and touches new pages
 * while its lists of frames lie. x86-64 only.
 * usage: python3.13   (reads orders "LIE NR NAME" from stdin, one a line, and obeys them in a
 *                      thread called NAME; prints "done" after each)
 *
 * Two threads have a stack of frames each, as CPython makes them: inner() called by outer(),
 * in one C call of evaluate(). The frames of the main thread, which waits, are theirs_inner()
 * and theirs_outer(). A third thread waits, too; its stack is below that of the second.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PAGE_BYTES 4096UL

/* ---- objects of an interpreter whose offsets are at _PyRuntime ---- */

struct str {
	uint64_t refs, type, length;
	uint32_t state, pad;
	char ascii[24];
};

struct bytes {
	uint64_t refs, type, size, hash;
	uint8_t data[8];
};

struct code {
	uint64_t refs, type, size;
	uint32_t stack_size, first_line;
	struct str *file, *name, *qualname;
	struct bytes *lines;
	void *local_names, *local_kinds;
	uint16_t units[16];
};

#ifndef SPARE
#define SPARE 0 /* words; programs with other numbers have other layouts */
#endif

struct frame {
	struct code *code;
	struct frame *previous;
	uint64_t spare[SPARE % 2 + 1];
	void *ip;
	uint64_t owner;
};

struct state {
	struct state *prev, *next;
	void *interpreter;
	uint64_t spare[SPARE / 2 + 1];
	struct frame *frame;
	uint64_t thread;
};

static struct interpreter {
	void *next;
	struct state *threads;
} interpreter;

extern char _PyRuntime[];

#define OWNED_BY_C 3 /* enum _frameowner */

/* Words of _Py_DebugOffsets of 3.13 (Include/internal/pycore_runtime.h). */
static void write_offsets(void)
{
	uint64_t *words = (uint64_t *)(void *)_PyRuntime;

	memcpy(words, "xdebugpy", 8);
	words[1] = 0x030d00f0;
	words[5] = 1024; /* of the first interpreter's address in _PyRuntime */
	words[8] = offsetof(struct interpreter, next);
	words[9] = offsetof(struct interpreter, threads);
	words[20] = offsetof(struct state, prev);
	words[21] = offsetof(struct state, next);
	words[22] = offsetof(struct state, interpreter);
	words[23] = offsetof(struct state, frame);
	words[24] = offsetof(struct state, thread);
	words[29] = offsetof(struct frame, previous);
	words[30] = offsetof(struct frame, code);
	words[31] = offsetof(struct frame, ip);
	words[33] = offsetof(struct frame, owner);
	words[35] = offsetof(struct code, file);
	words[36] = offsetof(struct code, name);
	words[37] = offsetof(struct code, qualname);
	words[38] = offsetof(struct code, lines);
	words[39] = offsetof(struct code, first_line);
	words[41] = offsetof(struct code, local_names);
	words[42] = offsetof(struct code, local_kinds);
	words[43] = offsetof(struct code, units);
	words[65] = offsetof(struct bytes, size);
	words[66] = offsetof(struct bytes, data);
	words[68] = offsetof(struct str, state);
	words[69] = offsetof(struct str, length);
	words[70] = offsetof(struct str, ascii);
	words[128] = (uint64_t)(uintptr_t)&interpreter;
}

#define ASCII (1 << 2 | 1 << 5 | 1 << 6) /* state of a str: kind 1, compact, ascii */
#define STR(text)                                                         \
	{                                                                 \
		.length = sizeof(text) - 1, .state = ASCII, .ascii = text \
	}

static struct str file = STR("/x/lie.py");
static struct bytes no_lines = {.size = 0};

enum {
	INNER,
	OUTER,
	THEIR_INNER,
	THEIR_OUTER,
	NR_CODES
};

static struct str names[NR_CODES] = {STR("inner"), STR("outer"), STR("theirs_inner"),
				     STR("theirs_outer")};
static struct code codes[NR_CODES];

static void write_codes(void)
{
	for (int i = 0; i < NR_CODES; i++)
		codes[i] = (struct code){.size = 16,
					 .first_line = 7,
					 .file = &file,
					 .name = &names[i],
					 .qualname = &names[i],
					 .lines = &no_lines};
}

/* ---- threads ---- */

static pthread_key_t key; /* of the thread's state */
static struct state states[3];
static struct frame inner[3], outer[3];

/* Writes the frames of a thread; @entry is in the C frame of evaluate(). */
static void write_frames(int thread, struct frame *entry)
{
	int code = thread ? INNER : THEIR_INNER;

	*entry = (struct frame){.owner = OWNED_BY_C};
	outer[thread] = (struct frame){.code = &codes[code + 1],
				       .previous = entry,
				       .ip = codes[code + 1].units};
	inner[thread] = (struct frame){.code = &codes[code],
				       .previous = &outer[thread],
				       .ip = codes[code].units};
	states[thread].frame = &inner[thread];
}

static void begin_thread(int thread)
{
	states[thread].thread = (uint64_t)pthread_self();
	states[thread].interpreter = &interpreter;
	states[thread].next = interpreter.threads;
	if (interpreter.threads)
		interpreter.threads->prev = &states[thread];
	interpreter.threads = &states[thread];
	pthread_setspecific(key, &states[thread]);
}

/* ---- lies ---- */

static void *unreadable;
static struct code zeros;

/* The lie is undone by write_frames() and pthread_setspecific() before the next one. */
static void tell(const char *lie, struct frame *entry)
{
	struct frame *mine = &inner[1];

	if (!strcmp(lie, "none"))
		return;
	if (!strcmp(lie, "circle-of-one"))
		mine->previous = mine;
	else if (!strcmp(lie, "circle-of-two"))
		outer[1].previous = mine;
	else if (!strcmp(lie, "circle-of-runs"))
		entry->previous = mine;
	else if (!strcmp(lie, "previous-unreadable"))
		outer[1].previous = unreadable;
	else if (!strcmp(lie, "previous-of-third"))
		outer[1].previous = &inner[2];
	else if (!strcmp(lie, "previous-of-main"))
		outer[1].previous = &inner[0];
	else if (!strcmp(lie, "frame-of-main"))
		states[1].frame = &inner[0];
	else if (!strcmp(lie, "frame-of-third"))
		states[1].frame = &inner[2];
	else if (!strcmp(lie, "state-of-main"))
		pthread_setspecific(key, &states[0]);
	else if (!strcmp(lie, "state-of-third"))
		pthread_setspecific(key, &states[2]);
	else if (!strcmp(lie, "state-unreadable"))
		pthread_setspecific(key, unreadable);
	else if (!strcmp(lie, "thread-of-main"))
		states[1].thread = states[0].thread;
	else if (!strcmp(lie, "code-unreadable"))
		mine->code = unreadable;
	else if (!strcmp(lie, "code-in-kernel"))
		mine->code = (struct code *)0xffff888000000000;
	else if (!strcmp(lie, "code-of-zeros"))
		mine->code = &zeros;
	else if (!strcmp(lie, "code-is-text"))
		mine->code = (struct code *)(uintptr_t)write_codes;
	else
		exit(4);
}

static void undo(struct frame *entry)
{
	pthread_setspecific(key, &states[1]);
	states[1].thread = (uint64_t)pthread_self();
	write_frames(1, entry);
}

static void *mapped(unsigned long bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED || madvise(p, bytes, MADV_NOHUGEPAGE))
		exit(3);
	return p;
}

__attribute__((noinline)) static void touch(char *pages, unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		*(volatile char *)(pages + i * PAGE_BYTES) = 1;
}

/* The C call in which the interpreter evaluates inner() and outer(). */
__attribute__((noinline)) static void evaluate(const char *lie, char *pages,
					       unsigned long nr)
{
	struct frame entry;

	write_frames(1, &entry);
	tell(lie, &entry);
	touch(pages, nr);
	undo(&entry);
}

__attribute__((noinline)) static void obey(char *order)
{
	char *lie = strtok(order, " \n"), *number = strtok(NULL, " \n");
	char *called = number ? strtok(NULL, " \n") : NULL;
	unsigned long nr = called ? strtoul(number, NULL, 10) : 0;
	void *pages;

	if (!nr || prctl(PR_SET_NAME, called))
		exit(2);
	pages = mapped(nr * PAGE_BYTES);
	evaluate(lie, pages, nr);
	munmap(pages, nr * PAGE_BYTES);
}

static void *third(void *has_begun)
{
	struct frame entry;

	begin_thread(2);
	write_frames(2, &entry);
	inner[2].code = &codes[THEIR_INNER];
	outer[2].code = &codes[THEIR_OUTER];
	pthread_barrier_wait(has_begun);
	pause();
	return NULL;
}

__attribute__((noinline)) static void *second(void *unused)
{
	pthread_barrier_t has_begun;
	pthread_t waiting;
	char line[128];

	begin_thread(1);
	/* Its stack is mapped later, below this one. */
	if (pthread_barrier_init(&has_begun, NULL, 2) ||
	    pthread_create(&waiting, NULL, third, &has_begun))
		exit(6);
	pthread_barrier_wait(&has_begun);
	while (fgets(line, sizeof(line), stdin)) {
		obey(line);
		puts("done");
		fflush(stdout);
	}
	return unused;
}

int main(void)
{
	struct frame entry;
	pthread_t reader;

	write_codes();
	write_offsets();
	unreadable = mapped(PAGE_BYTES);
	if (mprotect(unreadable, PAGE_BYTES, PROT_NONE) || pthread_key_create(&key, NULL))
		exit(5);
	begin_thread(0);
	write_frames(0, &entry);
	pthread_create(&reader, NULL, second, NULL);
	pthread_join(reader, NULL);
	return 0;
}
