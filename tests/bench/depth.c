// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs the programs of depth.bpf.c on the clock ticks of one process, while a profiler
 * may sample it too. Prints the mean run time of each as the kernel measured it.
 * usage: depth OBJECT PID HZ SECONDS
 * prints: nanoseconds of the frame pointer walk, nanoseconds of the empty program, mean
 * number of frames
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(int pid, unsigned long hz)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1000000000UL / hz};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

static double mean_ns(const struct bpf_program *program)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len) ||
	    !info.run_cnt)
		return -1;
	return (double)info.run_time_ns / (double)info.run_cnt;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"by_frame_pointers", "nothing"};
	struct bpf_program *programs[2];
	struct bpf_object *object;
	struct bpf_map *data;
	unsigned long long counts[2] = {0, 0};
	__u32 zero = 0;

	if (argc < 5)
		return 2;
	object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object) ||
	    bpf_enable_stats(BPF_STATS_RUN_TIME) < 0)
		return 1;
	for (int i = 0; i < 2; i++) {
		int fd = open_event(atoi(argv[2]), strtoul(argv[3], NULL, 10));

		programs[i] = bpf_object__find_program_by_name(object, names[i]);
		if (fd < 0 || !programs[i] ||
		    !bpf_program__attach_perf_event(programs[i], fd))
			return 1;
	}
	usleep((unsigned int)(atof(argv[4]) * 1e6));
	data = bpf_object__find_map_by_name(object, ".bss");
	if (!data || bpf_map_lookup_elem(bpf_map__fd(data), &zero, counts))
		return 1;
	printf("%.0f %.0f %.1f\n", mean_ns(programs[0]), mean_ns(programs[1]),
	       counts[1] ? (double)counts[0] / (double)counts[1] : 0);
	return 0;
}
