// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a recording of a big machine costs in user space: the recorder runs on the machine
 * of tests/fake/, whose sampler delivers synthetic rows.
 *
 *	scale STACKS PROCESSES [HZ [SECONDS [FILE]]]
 *
 * 512 CPUs are sampled at HZ (99) for SECONDS (60). PROCESSES processes run 50 programs;
 * STACKS distinct stacks of 30 user frames, a third of them with 10 kernel frames, are
 * each in one of them.
 * Prints CPU time and memory as a row of a table. Exit status 1: a sample is missing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "fake/machine.h"
#include "record/recorder.h"

#define NR_CPUS          512
#define NR_PROGRAMS      50
#define NR_USER          30
#define NR_KERN          10
#define INNER_FRAMES     20 /* they differ from stack to stack */
#define PROGRAM_AT       0x400000
#define LIBRARY_AT       0x7f0000000000
#define PLACES_A_PROGRAM 4000
#define KERNEL_PLACES    2000
#define KERNEL_AT        0xffffffff81000000
#define MIB              (1024.0 * 1024)

static struct load {
	uint64_t nr_stacks, nr_processes, rows_a_drain, next;
	/* The rows of a drain, made before they are delivered. */
	struct sample *samples;
	__u64 (*frames)[NR_USER + NR_KERN];
	char (*comms)[LB_COMM_LEN + 1];
	uint64_t cpu_ns, most_cpu_ns; /* of their delivery: in all, and of one drain */
	uint64_t own_cpu_ns; /* of making the rows */
	uint64_t begin_cpu_ns; /* CPU time when the recorder began */
	uint64_t nr_rows, nr_drains;
	uint64_t before_bytes, most_bytes; /* resident: before it began, and at a drain */
} load;

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15 + b * 0xbf58476d1ce4e5b9;

	x ^= x >> 29;
	x *= 0x94d049bb133111eb;
	return x ^ x >> 32;
}

/* Outer frames are those of the program; inner ones depend on the stack, too. */
static __u64 user_frame(uint64_t stack, uint64_t program, unsigned int depth)
{
	uint64_t place = depth < INNER_FRAMES ? mix(stack, depth) : mix(program, depth);
	uint64_t base = depth < 3 ? LIBRARY_AT : PROGRAM_AT;

	return base + 16 * (place % PLACES_A_PROGRAM);
}

static struct fake_image image_of(uint64_t process)
{
	return (struct fake_image){.tgid = FAKE_FIRST_PID + (uint32_t)process,
				   .exec_id = 1};
}

static void make_row(size_t i, uint64_t stack, uint64_t count)
{
	uint64_t process = stack % load.nr_processes, program = process % NR_PROGRAMS;
	struct fake_image image = image_of(process);
	struct sample *s = &load.samples[i];
	__u64 *user = load.frames[i], *kern = user + NR_USER;

	for (unsigned int k = 0; k < NR_USER; k++)
		user[k] = user_frame(stack, program, k);
	for (unsigned int k = 0; k < NR_KERN; k++)
		kern[k] = KERNEL_AT + 4096 * (mix(stack % 500, k) % KERNEL_PLACES);
	snprintf(load.comms[i], sizeof(load.comms[i]), "program%" PRIu64, program);
	*s = (struct sample){
		.start_boottime_ns = FAKE_BEGIN_NS,
		.tgid = image.tgid,
		.exec_id = image.exec_id,
		.count = count,
		.values = {count * 10000000},
		.first_ns = fake.now_ns,
		.last_ns = fake.now_ns,
		.comm = load.comms[i],
		.user_hash = mix(stack, 1000),
		.user_ips = user,
		.nr_user = NR_USER,
	};
	if (stack % 3)
		return;
	s->kern_hash = mix(stack % 500, 2000);
	s->kern_ips = kern;
	s->nr_kern = NR_KERN;
}

/* Anonymous memory now. The machine replaces private_rss_bytes(). */
static uint64_t resident_bytes(void)
{
	unsigned long long size, resident = 0, shared = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%llu %llu %llu", &size, &resident, &shared) != 3)
		resident = shared = 0;
	if (f)
		fclose(f);
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Delivers what all CPUs sample between two drains: each stack once, in mixed order. */
static uint64_t deliver(void *ctx, const struct sampler_handlers *handlers)
{
	uint64_t nr = load.rows_a_drain, count = 1, begin_ns = fake_cpu_ns(), cpu_ns;
	uint64_t bytes;

	(void)ctx;
	if (fake.is_stopped)
		return 0;
	if (nr > load.nr_stacks) {
		count = nr / load.nr_stacks;
		nr = load.nr_stacks;
	}
	for (size_t i = 0; i < nr; i++)
		make_row(i, load.next++ * 7919 % load.nr_stacks, count);
	cpu_ns = fake_cpu_ns();
	load.own_cpu_ns += cpu_ns - begin_ns;
	begin_ns = cpu_ns;
	for (size_t i = 0; i < nr; i++)
		handlers->sample(handlers->ctx, &load.samples[i]);
	cpu_ns = fake_cpu_ns() - begin_ns;
	load.cpu_ns += cpu_ns;
	if (cpu_ns > load.most_cpu_ns)
		load.most_cpu_ns = cpu_ns;
	bytes = resident_bytes() - load.before_bytes;
	if (bytes > load.most_bytes)
		load.most_bytes = bytes;
	load.nr_rows += nr;
	load.nr_drains++;
	return nr * count;
}

static void start_processes(void)
{
	char path[64];

	for (uint64_t i = 0; i < load.nr_processes; i++) {
		struct fake_image image = image_of(i);

		snprintf(path, sizeof(path), "/opt/program%" PRIu64, i % NR_PROGRAMS);
		fake_fork(0, 1, image.tgid);
		fake_exec(0, image.tgid, "program");
		/* The script borrows the path. */
		fake_map(0, image.tgid, PROGRAM_AT, strdup(path));
		fake_map(0, image.tgid, LIBRARY_AT, "/usr/lib/libc.so.6");
		fake_first_sample(1, &image);
	}
}

static uint64_t peak_bytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss * 1024;
}

static int check_sums(const struct profile_losses *l)
{
	uint64_t lost = l->lost_counts_full + l->lost_internal + l->lost_drain +
			l->rows_dropped;

	if (l->counted + lost == l->sampled)
		return 0;
	fprintf(stderr,
		"scale: %" PRIu64 " counted and %" PRIu64 " lost of %" PRIu64 "\n",
		l->counted, lost, l->sampled);
	return 1;
}

static void print_row(const struct sampling *o, const struct profile_losses *l,
		      uint64_t peak)
{
	uint64_t sampling_ns = fake.stopped_cpu_ns - load.begin_cpu_ns - load.own_cpu_ns;
	uint64_t ending_ns = fake_cpu_ns() - fake.stopped_cpu_ns;
	struct stat st = {0};

	stat(o->output, &st);
	printf("| %" PRIu64 ", %" PRIu64 " | %u Hz, %.0f s | %" PRIu64 " ",
	       load.nr_stacks, load.nr_processes, o->freq_hz, o->duration_s,
	       load.nr_rows);
	printf("| %.1f ms (%.1f) | %.2f s | %.2f s | %.2f s ",
	       (double)load.cpu_ns / 1e6 / (double)load.nr_drains,
	       (double)load.most_cpu_ns / 1e6, (double)(sampling_ns - load.cpu_ns) / 1e9,
	       (double)(ending_ns - fake.write_cpu_ns) / 1e9,
	       (double)fake.write_cpu_ns / 1e9);
	printf("| %.0f, %.0f MB | %.2f MB | %" PRIu64 " of %" PRIu64 " |\n",
	       (double)load.most_bytes / MIB, (double)peak / MIB,
	       (double)st.st_size / MIB, l->sampled - l->counted, l->sampled);
}

static uint64_t number(int argc, char **argv, int i, uint64_t otherwise)
{
	return argc > i ? strtoull(argv[i], NULL, 10) : otherwise;
}

static bool load_init(uint64_t nr_stacks, uint64_t nr_processes, uint64_t hz)
{
	load = (struct load){.nr_stacks = nr_stacks,
			     .nr_processes = nr_processes,
			     .rows_a_drain = NR_CPUS * hz / 10};
	load.samples = calloc(load.rows_a_drain, sizeof(*load.samples));
	load.frames = calloc(load.rows_a_drain, sizeof(*load.frames));
	load.comms = calloc(load.rows_a_drain, sizeof(*load.comms));
	return nr_stacks && nr_processes && load.samples && load.frames && load.comms;
}

int main(int argc, char **argv)
{
	struct sampling o = {
		.target.whole_machine = true,
		.source = &cpu_clock_source,
		.freq_hz = (uint32_t)number(argc, argv, 3, 99),
		.duration_s = (double)number(argc, argv, 4, 60),
		.output = argc > 5 ? argv[5] : "scale.pb.gz",
		.output_given = true,
	};
	const struct profile_losses *losses;
	struct recorder *r = NULL;
	struct error err = {0};
	uint64_t before_bytes;

	if (!load_init(number(argc, argv, 1, 0), number(argc, argv, 2, 0), o.freq_hz)) {
		fprintf(stderr, "usage: scale STACKS PROCESSES [HZ [SECONDS [FILE]]]\n");
		return 2;
	}
	fake_reset();
	fake.rows = deliver;
	start_processes();
	before_bytes = peak_bytes();
	load.before_bytes = resident_bytes();
	load.begin_cpu_ns = fake_cpu_ns();
	if (recorder_new(&o, &r, &err) || recorder_run(r, &err)) {
		fprintf(stderr, "scale: %s\n", err.text);
		return 1;
	}
	losses = &recorder_profile(r)->extra.losses;
	print_row(&o, losses, peak_bytes() - before_bytes);
	return check_sums(losses);
}
