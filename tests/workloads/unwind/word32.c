// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A 32-bit program without a C library: gcc -m32 -nostdlib -static -ffreestanding.
 * Uses one second of CPU time on one line, then exits.
 */
#define NR_EXIT  1 /* asm/unistd_32.h */
#define NR_TIMES 43
#define TICKS    100 /* of USER_HZ */

static long ask(long number, void *argument)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(number), "b"(argument) : "memory");
	return ret;
}

static volatile unsigned int sum;

static __attribute__((noipa)) void work32(unsigned int turns)
{
	while (turns--) sum = 0xfffffff0 / (sum | 1) + turns; /* HOT work */
}

static __attribute__((noipa)) void call32(unsigned int turns)
{
	work32(turns);
	sum++;
}

void _start(void)
{
	struct {
		long user, system, children_user, children_system;
	} used = {0};

	while (used.user + used.system < TICKS) {
		call32(200000);
		ask(NR_TIMES, &used);
	}
	ask(NR_EXIT, 0);
}
