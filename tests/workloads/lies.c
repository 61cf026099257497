// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Touches new pages in functions of lies.S, each with a lie. x86-64 only.
 * usage: lies   (reads orders "FUNCTION LIE NR NAME" from stdin, one a line, and obeys them
 * in a thread called NAME; prints "done" after each)
 *
 * Each page is one page fault. No function returns by way of a lie: it restores its
 * registers before. Its caller is tell(), in a thread whose stack is below that of main().
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE_BYTES 4096UL

typedef void lie_fn(char *pages, unsigned long nr, uint64_t lie);

lie_fn stack_pointer, base_pointer, frame_pointer, start, bare_stack_pointer;
lie_fn cfa_is_stack_pointer, cfa_is_below, cfa_is_odd, cfa_is_far, cfa_is_too_far;
lie_fn return_address_is_far, return_address_is_a_register, outermost;
lie_fn cfa_is_an_expression, return_address_is_an_expression, cfa_is_callees;
lie_fn returns_to, one_rule_returns_to, cfa_is_stored, repeats, one_signal, other_signal;

static uint64_t data[4] = {1, 2, 3, 4};
static uint64_t *heap, *unreadable;
static uint64_t frame_of_main;

/* Calls nobody, and nobody calls it. */
__attribute__((noinline)) void decoy(void)
{
	exit(8);
}

/* Called by cfa_is_callees. */
__attribute__((noinline)) void touch_for(char *pages, unsigned long nr)
{
	for (unsigned long i = 0; i < nr; i++)
		*(volatile char *)(pages + i * PAGE_BYTES) = 1;
}

/* ---- frames and contexts that a lie points to ---- */

/* Above the frame of tell(): {caller's frame, return address} each. */
struct frames {
	uint64_t words[8];
	ucontext_t contexts[2];
};

#define AT(x)     ((uint64_t)(uintptr_t)(x))
#define BARE_CODE (AT(frame_pointer) + 12) /* no table is known of it */

static uint64_t circle_of_one(struct frames *f)
{
	f->words[0] = AT(&f->words[0]);
	f->words[1] = BARE_CODE;
	return AT(f->words);
}

static uint64_t circle_of_two(struct frames *f)
{
	f->words[0] = AT(&f->words[2]);
	f->words[2] = AT(&f->words[0]);
	f->words[1] = f->words[3] = BARE_CODE;
	return AT(f->words);
}

static uint64_t frame_returning_to(struct frames *f, uint64_t address)
{
	f->words[0] = AT(&f->words[2]);
	f->words[1] = address;
	return AT(f->words);
}

static void save(ucontext_t *context, lie_fn *code, const ucontext_t *stack)
{
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)AT(code) + 8;
	context->uc_mcontext.gregs[REG_RSP] = (greg_t)AT(stack);
}

static uint64_t signals_in_a_circle(struct frames *f)
{
	save(&f->contexts[0], other_signal, &f->contexts[1]);
	save(&f->contexts[1], one_signal, &f->contexts[0]);
	return AT(&f->contexts[0]);
}

static uint64_t signal_of_itself(struct frames *f)
{
	save(&f->contexts[0], one_signal, &f->contexts[0]);
	return AT(&f->contexts[0]);
}

/* ---- orders ---- */

#define KERNEL        0xffff888000000000UL
#define NOT_CANONICAL (1UL << 55)

/* The words of a lie that are not constants, for this thread's stack. */
static uint64_t value_of(const char *word, struct frames *f)
{
	const struct {
		const char *word;
		uint64_t value;
	} words[] = {
		{"-", 0},
		{"0", 0},
		{"8", 8},
		{"kernel", KERNEL},
		{"not-canonical", NOT_CANONICAL},
		{"unreadable", AT(unreadable)},
		{"data", AT(data)},
		{"heap", AT(heap)},
		{"stack", AT(f->words)},
		{"odd", AT(f->words) + 3},
		{"below", AT(f->words) - 0x10000},
		{"text", AT(decoy) & ~7UL},
		{"function", AT(decoy)},
		{"in-function", AT(decoy) + 1},
		{"main", frame_of_main},
		{"200", 200},
		{"2000", 2000},
	};

	if (!strcmp(word, "circle-of-one"))
		return circle_of_one(f);
	if (!strcmp(word, "circle-of-two"))
		return circle_of_two(f);
	if (!strcmp(word, "signal-at-0"))
		return AT(&f->contexts[0]);
	if (!strcmp(word, "signal-of-itself"))
		return signal_of_itself(f);
	if (!strcmp(word, "signals-in-a-circle"))
		return signals_in_a_circle(f);
	if (!strncmp(word, "frame:", 6))
		return frame_returning_to(f, value_of(word + 6, f));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i].word))
			return words[i].value;
	exit(4);
}

static lie_fn *function_of(const char *name)
{
#define NAMED(function)             \
	{                           \
#function, function \
	}
	static const struct {
		const char *name;
		lie_fn *function;
	} functions[] = {
		NAMED(stack_pointer),
		NAMED(base_pointer),
		NAMED(frame_pointer),
		NAMED(start),
		NAMED(bare_stack_pointer),
		NAMED(cfa_is_stack_pointer),
		NAMED(cfa_is_below),
		NAMED(cfa_is_odd),
		NAMED(cfa_is_far),
		NAMED(cfa_is_too_far),
		NAMED(return_address_is_far),
		NAMED(return_address_is_a_register),
		NAMED(outermost),
		NAMED(cfa_is_an_expression),
		NAMED(return_address_is_an_expression),
		NAMED(cfa_is_callees),
		NAMED(returns_to),
		NAMED(one_rule_returns_to),
		NAMED(cfa_is_stored),
		NAMED(repeats),
		NAMED(one_signal),
		NAMED(other_signal),
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(name, functions[i].name))
			return functions[i].function;
	exit(5);
}

static void *mapped(unsigned long bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED || madvise(p, bytes, MADV_NOHUGEPAGE))
		exit(3);
	return p;
}

__attribute__((noinline)) static void tell(lie_fn *f, char *pages, unsigned long nr,
					   const char *word)
{
	struct frames frames = {.words = {0}};

	f(pages, nr, value_of(word, &frames));
	/* Not a tail call. */
	__asm__ volatile("" ::"r"(&frames) : "memory");
}

__attribute__((noinline)) static void obey(char *order)
{
	char *name = strtok(order, " \n"), *word = strtok(NULL, " \n");
	char *number = word ? strtok(NULL, " \n") : NULL;
	char *called = number ? strtok(NULL, " \n") : NULL;
	unsigned long nr = called ? strtoul(number, NULL, 10) : 0;
	char *pages;

	if (!nr || prctl(PR_SET_NAME, called))
		exit(2);
	pages = mapped(nr * PAGE_BYTES);
	tell(function_of(name), pages, nr, word);
	munmap(pages, nr * PAGE_BYTES);
}

/* All orders are obeyed in one thread. */
static void *thread(void *unused)
{
	char line[128];

	while (fgets(line, sizeof(line), stdin)) {
		obey(line);
		puts("done");
		fflush(stdout);
	}
	return unused;
}

int main(void)
{
	pthread_t reader;

	frame_of_main = AT(__builtin_frame_address(0));
	heap = malloc(64);
	/* Above the thread's stack, because it is mapped before. */
	unreadable = mapped(2 * PAGE_BYTES);
	if (mprotect(unreadable, 2 * PAGE_BYTES, PROT_NONE))
		exit(6);
	unreadable += PAGE_BYTES / sizeof(*unreadable);
	pthread_create(&reader, NULL, thread, NULL);
	return pthread_join(reader, NULL);
}
