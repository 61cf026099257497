// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measures what the probe costs a thread that registers code: microseconds of each call
 * of __jit_debug_register_code, by the caller's own clock. A child registers objects of
 * 5 KB. This process probes it in some rounds and not in others, and reads the events
 * as lineburn does: when woken, and every 100 ms.
 *
 * usage: register RATE ROUNDS CALLS     (RATE: calls a second; 0: as fast as possible)
 */
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/jit_probe.h"
#include "collect/sampler.h"

#define OBJECT_BYTES 5000
#define MAX_CALLS    100000

struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const void *symfile_addr;
	uint64_t symfile_size;
};

struct jit_descriptor {
	uint32_t version, action_flag;
	struct jit_code_entry *relevant, *first;
};

extern struct jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code(void);

struct jit_descriptor __jit_debug_descriptor = {.version = 1};

__attribute__((noinline)) void __jit_debug_register_code(void)
{
	__asm__ volatile("");
}

enum way {
	PLAIN,
	STRANGER, /* probed, but the process is no target */
	PROBED,
	NR_WAYS,
};

static const char *const way_names[NR_WAYS] = {
	"not probed",
	"probed, not a target",
	"probed, object copied",
};

/* In memory that both processes share. */
struct shared {
	uint64_t call_ns[MAX_CALLS];
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
			     .tv_nsec = (long)(ns % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* The child: runs a round for each byte read from @in, then writes a byte to @out. */
static void register_rounds(struct shared *shared, int in, int out, unsigned long rate,
			    unsigned long calls)
{
	static uint8_t object[OBJECT_BYTES];
	struct jit_code_entry entry = {.symfile_addr = object,
				       .symfile_size = sizeof(object)};
	char go;

	while (read(in, &go, 1) == 1) {
		uint64_t start = now_ns();

		for (unsigned long i = 0; i < calls; i++) {
			uint64_t begin;

			if (rate)
				sleep_until(start + i * 1000000000 / rate);
			memset(object, (int)i, sizeof(object));
			memcpy(object, "\177ELF", 4);
			__jit_debug_descriptor.relevant = &entry;
			__jit_debug_descriptor.action_flag = 1;
			begin = now_ns();
			__jit_debug_register_code();
			shared->call_ns[i] = now_ns() - begin;
		}
		if (write(out, &go, 1) != 1)
			break;
	}
	_exit(0);
}

static int find_offset(struct dl_phdr_info *info, size_t size, void *data)
{
	uint64_t vaddr = (uintptr_t)__jit_debug_register_code - info->dlpi_addr;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr &&
		    vaddr < p->p_vaddr + p->p_filesz)
			*(uint64_t *)data = vaddr - p->p_vaddr + p->p_offset;
	}
	return 1;
}

static void count_whole(void *ctx, const struct jit_event *ev)
{
	*(uint64_t *)ctx += ev->object != NULL;
}

struct result {
	uint64_t medians[64], p99[64]; /* one value a round */
	size_t nr_rounds;
	uint64_t calls, whole, probe_ns;
};

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median(uint64_t *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), by_value);
	return values[nr / 2];
}

/* Return: a probe on this program. The child is a target only if @sampler has it. */
static struct jit_probe *probe_self(struct sampler *sampler)
{
	struct jit_probe_config config = {.may_attach = true};
	struct jit_probe *probe = NULL;
	struct error err = {0};
	uint64_t offset = 0;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), rc;

	dl_iterate_phdr(find_offset, &offset);
	if (jit_probe_new(&config, sampler, &probe, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	rc = jit_probe_attach(probe, fd, offset,
			      (int64_t)((uintptr_t)&__jit_debug_descriptor -
					(uintptr_t)__jit_debug_register_code));
	close(fd);
	if (!rc)
		jit_probe_settle(probe, -1, &rc);
	if (rc) {
		fprintf(stderr, "cannot probe: %s\n", strerror(-rc));
		exit(1);
	}
	return probe;
}

static void play_round(struct jit_probe *probe, int out, int in, struct result *ret)
{
	struct pollfd fds[] = {
		{.fd = in, .events = POLLIN},
		{.fd = probe ? jit_probe_poll_fd(probe) : -1, .events = POLLIN}};
	char go = 1;

	if (write(out, &go, 1) != 1)
		exit(1);
	do {
		poll(fds, 2, 100);
		if (probe)
			jit_probe_read(probe, count_whole, &ret->whole);
	} while (!fds[0].revents);
	if (read(in, &go, 1) != 1)
		exit(1);
	if (probe) {
		struct jit_probe_totals totals;

		jit_probe_read(probe, count_whole, &ret->whole);
		jit_probe_totals(probe, &totals);
		ret->calls += totals.n[LB_JIT_CTR_CALLS];
		ret->probe_ns += totals.n[LB_JIT_CTR_RUN_NS];
	}
}

static void print_row(const char *rate, enum way way, struct result *r)
{
	printf("| %s | %s | %.2f | %.2f |", rate, way_names[way],
	       (double)median(r->medians, r->nr_rounds) / 1000,
	       (double)median(r->p99, r->nr_rounds) / 1000);
	if (r->calls)
		printf(" %.2f | %llu of %llu |\n",
		       (double)r->probe_ns / (double)r->calls / 1000,
		       (unsigned long long)(r->calls - r->whole),
		       (unsigned long long)r->calls);
	else
		printf(" | |\n");
}

int main(int argc, char **argv)
{
	unsigned long rate = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long rounds = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned long calls = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	struct sampler_config config = {.freq_hz = 99, .walk_user = true};
	static struct result results[NR_WAYS];
	struct sampler *with = NULL, *without = NULL;
	struct error err = {0};
	struct shared *shared;
	int to[2], from[2];
	char text[32];
	pid_t pid;

	if (!rounds || rounds > 64 || !calls || calls > MAX_CALLS) {
		fprintf(stderr, "usage: register RATE ROUNDS CALLS\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return 1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, 9);
		close(to[1]);
		close(from[0]);
		register_rounds(shared, to[0], from[1], rate, calls);
	}
	if (sampler_new(&config, &with, &err) || sampler_new(&config, &without, &err) ||
	    sampler_add_target(with, (uint32_t)pid, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (unsigned long i = 0; i < rounds; i++)
		for (enum way way = PLAIN; way < NR_WAYS; way++) {
			struct result *r = &results[way];
			struct jit_probe *probe =
				way == PLAIN ? NULL
					     : probe_self(way == PROBED ? with : without);

			play_round(probe, to[1], from[0], r);
			jit_probe_free(probe);
			r->medians[r->nr_rounds] = median(shared->call_ns, calls);
			r->p99[r->nr_rounds++] = shared->call_ns[calls * 99 / 100];
		}
	snprintf(text, sizeof(text), rate ? "%lu a second" : "as fast as possible", rate);
	for (enum way way = PLAIN; way < NR_WAYS; way++)
		print_row(text, way, &results[way]);
	sampler_free(with);
	sampler_free(without);
	close(to[1]);
	waitpid(pid, NULL, 0);
	return 0;
}
