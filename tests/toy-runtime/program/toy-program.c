// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The toy interpreter, and a program that it runs for argument 1 milliseconds. The
 * lines are those of program.toy, whose source does not exist: "start" calls "outer" on
 * line 2. "outer" calls itself once on line 11, then "five" on line 12 for five parts
 * of the time and "two" on line 13 for two. These work on line 21 and line 31.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../toy.h"

#define PART_MS 1

static struct toy_interpreter state = {.version = TOY_VERSION};
struct toy_interpreter *toy_interpreter = &state;

enum opcode {
	END,
	CALL,
	WORK
};

struct op {
	enum opcode code;
	uint32_t line, argument; /* of CALL: a function; of WORK: parts */
};

enum function {
	START,
	OUTER,
	INNER,
	FIVE,
	TWO
};

struct function_code {
	const char *name;
	uint32_t first_line;
	struct op ops[3];
};

static const struct function_code codes[] = {
	[START] = {"start", 1, {{CALL, 2, OUTER}}},
	[OUTER] = {"outer", 10, {{CALL, 11, INNER}}},
	/* The recursive call of outer. */
	[INNER] = {"outer", 10, {{CALL, 12, FIVE}, {CALL, 13, TWO}}},
	[FIVE] = {"five", 20, {{WORK, 21, 5}}},
	[TWO] = {"two", 30, {{WORK, 31, 2}}},
};
#define NR_FUNCTIONS (sizeof(codes) / sizeof(codes[0]))

static struct toy_function functions[NR_FUNCTIONS];

/* Makes the function objects, as an interpreter does when it compiles a program. */
static void load(void)
{
	const char *file = strdup("/toy/program.toy");

	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		functions[i] = (struct toy_function){strdup(codes[i].name), file,
						     codes[i].first_line, 0};
}

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void work(uint32_t parts)
{
	int64_t end = cpu_ns() + parts * PART_MS * INT64_C(1000000);

	while (cpu_ns() < end)
		for (volatile int i = 0; i < 10000; i++)
			;
}

/* Each call of the program is one C call. */
__attribute__((noinline)) static void evaluate(enum function which)
{
	struct toy_frame frame = {.caller = state.innermost,
				  .function = &functions[which]};

	*(struct toy_frame *volatile *)&state.innermost = &frame;
	for (const struct op *op = codes[which].ops; op->code != END; op++) {
		*(volatile uint32_t *)&frame.line = op->line;
		if (op->code == CALL)
			evaluate(op->argument);
		else
			work(op->argument);
	}
	*(struct toy_frame *volatile *)&state.innermost = frame.caller;
}

int main(int argc, char **argv)
{
	int64_t end = cpu_ns() + (argc > 1 ? atoi(argv[1]) : 1000) * INT64_C(1000000);

	load();
	while (cpu_ns() < end)
		evaluate(START);
	return 0;
}
