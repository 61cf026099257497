// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measures the run time of a loaded BPF program with the kernel's statistics. An empty
 * program runs beside it on its own event on each CPU: its run time is the cost of the
 * statistics themselves.
 * usage: filter OBJECT PROGRAM_ID HZ SECONDS
 * prints: nanoseconds of the program, nanoseconds of the empty program, and runs of the
 * program; the times are medians of the means of each second
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_SECONDS 60

struct runs {
	double ns, nr;
};

static int open_event(int cpu, unsigned long hz)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1000000000UL / hz};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

static struct runs runs_of(int prog_fd)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return (struct runs){0};
	return (struct runs){(double)info.run_time_ns, (double)info.run_cnt};
}

static double mean_since(struct runs before, struct runs now)
{
	return now.nr > before.nr ? (now.ns - before.ns) / (now.nr - before.nr) : -1;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double middle(double *values, int nr)
{
	qsort(values, (size_t)nr, sizeof(*values), compare);
	return values[nr / 2];
}

static int attach(const struct bpf_program *program, unsigned long hz)
{
	int nr_cpus = (int)sysconf(_SC_NPROCESSORS_CONF), nr = 0;

	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		int fd = open_event(cpu, hz);

		nr += fd >= 0 && bpf_program__attach_perf_event(program, fd);
	}
	return nr;
}

int main(int argc, char **argv)
{
	double ns[MAX_SECONDS], nothing_ns[MAX_SECONDS];
	struct bpf_program *nothing;
	struct bpf_object *object;
	struct runs first, before, nothing_before;
	int prog_fd, seconds;

	if (argc < 5)
		return 2;
	seconds = atoi(argv[4]);
	object = bpf_object__open_file(argv[1], NULL);
	prog_fd = bpf_prog_get_fd_by_id((__u32)strtoul(argv[2], NULL, 10));
	if (seconds < 1 || seconds > MAX_SECONDS || prog_fd < 0 || !object ||
	    bpf_object__load(object) || bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		return 1;
	nothing = bpf_object__find_program_by_name(object, "nothing");
	if (!nothing || !attach(nothing, strtoul(argv[3], NULL, 10)))
		return 1;
	first = before = runs_of(prog_fd);
	nothing_before = runs_of(bpf_program__fd(nothing));
	for (int i = 0; i < seconds; i++) {
		struct runs now, nothing_now;

		sleep(1);
		now = runs_of(prog_fd);
		nothing_now = runs_of(bpf_program__fd(nothing));
		ns[i] = mean_since(before, now);
		nothing_ns[i] = mean_since(nothing_before, nothing_now);
		before = now;
		nothing_before = nothing_now;
	}
	printf("%.0f %.0f %.0f\n", middle(ns, seconds), middle(nothing_ns, seconds),
	       before.nr - first.nr);
	return 0;
}
