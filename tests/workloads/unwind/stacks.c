// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Deep stacks without frame pointers, of all kinds that C programs have.
 * usage: stacks HOW ROUNDS   (of about 2 ms each)
 *
 * Each round calls through "plain", "with_array", "realigned" and "below", 20 of each,
 * and works at the bottom in "burn". Debuggers find the callers of the first and last
 * by the stack pointer, of the second by the frame pointer, of the third by an address
 * in the frame. HOW:
 *   deep      nothing else
 *   signal    halfway down a signal arrives; its handler has an alternate stack, goes
 *             down the other half and works there
 *   longjmp   jumps from the work to the top, past all returns
 *   context   on a coroutine's stack (makecontext), whose outermost function is not
 *             main; not with musl
 *   fork      forks a child at the bottom, which works there
 *   threads   64 threads, with ROUNDS each
 *   exec      executes itself after half of the rounds, to do the rest
 *   plt       no depth: calls a library's function again and again
 *   vdso      no depth: reads the clock
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif

#define DEPTH       60 /* three at each turn */
#define NR_THREADS  64
#define STACK_BYTES (256 * 1024)
#define LOOP_TURNS  1500000ul
#define NOT_CHANGED __attribute__((noinline, noipa)) /* called as it is written */

struct way {
	void (*at_depth)(const struct way *w, unsigned long left);
	unsigned long interrupt_at; /* where a signal is to come; 0: nowhere */
};

static volatile unsigned long sink;
static sigjmp_buf top;

/* Prevents tail calls. */
#define STAYS() __asm__ volatile("" ::: "memory")

NOT_CHANGED static void burn(void)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < LOOP_TURNS; i++) x = x * 6364136223846793005UL + i; /* HOT burn */
	sink = x;
}

NOT_CHANGED static void plain(const struct way *w, unsigned long left);

NOT_CHANGED static void below(const struct way *w, unsigned long left)
{
	if (left == w->interrupt_at && left)
		raise(SIGUSR1);
	else if (left)
		plain(w, left);
	else
		w->at_depth(w, left);
	STAYS();
}

NOT_CHANGED static void realigned(const struct way *w, unsigned long left)
{
	alignas(64) volatile char lines[128];
	volatile char *more = alloca(left * 8 + 1);

	lines[0] = more[0] = 1;
	below(w, left - 1);
	STAYS();
	sink += (unsigned long)lines[0];
}

NOT_CHANGED static void with_array(const struct way *w, unsigned long left)
{
	volatile char array[left * 16 + 1];

	array[0] = 1;
	realigned(w, left - 1);
	STAYS();
	sink += (unsigned long)array[0];
}

NOT_CHANGED static void plain(const struct way *w, unsigned long left)
{
	with_array(w, left - 1);
	STAYS();
}

static void work(const struct way *w, unsigned long left)
{
	(void)w, (void)left;
	burn();
	STAYS();
}

/* ---- deep ---- */

static const struct way straight = {.at_depth = work};

static void deep(unsigned long rounds)
{
	while (rounds--) plain(&straight, DEPTH); /* HOT deep */
}

/* ---- signal ---- */

static void handler(int signal)
{
	(void)signal;
	plain(&straight, DEPTH / 2);
	STAYS();
}

static void interrupted(unsigned long rounds)
{
	static const struct way way = {.at_depth = work, .interrupt_at = DEPTH / 2};
	stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	if (!stack.ss_sp || sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		exit(1);
	while (rounds--) plain(&way, DEPTH); /* HOT interrupted */
}

/* ---- longjmp ---- */

static void jump(const struct way *w, unsigned long left)
{
	work(w, left);
	siglongjmp(top, 1);
}

static void jumping(unsigned long rounds)
{
	static const struct way way = {.at_depth = jump};
	volatile unsigned long left = rounds;

	sigsetjmp(top, 0);
	if (left-- > 0) plain(&way, DEPTH); /* HOT jumping */
}

/* ---- context ---- */

#ifdef __GLIBC__
static ucontext_t outside, inside;
static unsigned long context_rounds;

static void coroutine(void)
{
	while (context_rounds--) {
		plain(&straight, DEPTH); /* HOT coroutine */
		swapcontext(&inside, &outside);
	}
}

static void swapping(unsigned long rounds)
{
	volatile unsigned long left = rounds;

	context_rounds = rounds;
	getcontext(&inside);
	inside.uc_stack.ss_sp = malloc(STACK_BYTES);
	inside.uc_stack.ss_size = STACK_BYTES;
	inside.uc_link = &outside;
	if (!inside.uc_stack.ss_sp)
		exit(1);
	makecontext(&inside, coroutine, 0);
	while (left-- > 0)
		swapcontext(&outside, &inside);
}
#endif

/* ---- fork ---- */

static unsigned long child_rounds;

static void fork_here(const struct way *w, unsigned long left)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with us */
		while (child_rounds--)
			work(w, left);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(1);
}

static void forking(unsigned long rounds)
{
	static const struct way way = {.at_depth = fork_here};

	child_rounds = rounds;
	plain(&way, DEPTH); /* HOT forking */
}

/* ---- threads ---- */

static void *thread(void *arg)
{
	deep(*(unsigned long *)arg);
	STAYS();
	return NULL;
}

static void threading(unsigned long rounds)
{
	pthread_t threads[NR_THREADS];

	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, &rounds))
			exit(1);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- exec ---- */

static void executing(unsigned long rounds)
{
	char number[32];

	snprintf(number, sizeof(number), "%lu", rounds / 2);
	deep(rounds / 2);
	execl("/proc/self/exe", "stacks", "deep", number, (char *)NULL);
	exit(1);
}

/* ---- plt and vdso ---- */

static void calling(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds * 500000; i++) sink += (unsigned long)ffsl((long)i); /* HOT calling */
}

static void reading(unsigned long rounds)
{
	struct timespec now;

	for (unsigned long i = 0; i < rounds * 40000; i++) clock_gettime(CLOCK_MONOTONIC, &now); /* HOT reading */
}

static const struct {
	const char *name;
	void (*run)(unsigned long rounds);
} ways[] = {
	{"deep", deep},    {"signal", interrupted}, {"longjmp", jumping}, {"fork", forking},
	{"exec", executing}, {"threads", threading}, {"plt", calling},   {"vdso", reading},
#ifdef __GLIBC__
	{"context", swapping},
#endif
};

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(ways[i].name, argv[1])) {
			ways[i].run(strtoul(argv[2], NULL, 10));
			return 0;
		}
	return 2;
}
