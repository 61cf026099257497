// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a command, and counts its samples (task-events.bpf.c) by one of two kinds of clock
 * events: "cpus" opens an event on each CPU, as lineburn does; "task" opens one event on
 * the command's task, which its threads and children inherit. "none" opens no event.
 * usage: task-events OBJECT none|cpus|task HZ COMMAND [ARGUMENT...]
 * prints: CPU time of the command and its children in ns, and the samples of each quarter
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_QUARTERS 4

static int open_event(unsigned long hz, pid_t pid, int cpu, int prog_fd)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1000000000UL / hz,
				       .disabled = pid > 0,
				       .enable_on_exec = pid > 0,
				       .inherit = pid > 0};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1,
			      PERF_FLAG_FD_CLOEXEC);

	return fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd) ? -1 : fd;
}

static int open_events(const char *kind, unsigned long hz, pid_t pid, int prog_fd)
{
	int nr_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

	if (!strcmp(kind, "task"))
		return open_event(hz, pid, -1, prog_fd) < 0 ? -1 : 0;
	for (int cpu = 0; !strcmp(kind, "cpus") && cpu < nr_cpus; cpu++)
		if (open_event(hz, -1, cpu, prog_fd) < 0)
			return -1;
	return 0;
}

/* The child waits until its end of the pipe is closed, then executes the command. */
static pid_t start(char **command, int *go_fd)
{
	int ends[2];
	pid_t pid;
	char byte;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		if (!read(ends[0], &byte, 1))
			execvp(command[0], command);
		_exit(127);
	}
	close(ends[0]);
	*go_fd = ends[1];
	return pid;
}

static uint64_t ns_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

int main(int argc, char **argv)
{
	unsigned long long nr_samples[NR_QUARTERS];
	struct bpf_program *program;
	struct bpf_object *object;
	struct bpf_map *data;
	struct rusage used;
	__u32 zero = 0;
	int go_fd, status;
	pid_t pid;

	if (argc < 5)
		return 2;
	object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object))
		return 1;
	program = bpf_object__find_program_by_name(object, "count_quarter");
	data = bpf_object__find_map_by_name(object, ".bss");
	pid = start(argv + 4, &go_fd);
	if (!program || !data || pid < 0 ||
	    open_events(argv[2], strtoul(argv[3], NULL, 10), pid,
			bpf_program__fd(program))) {
		perror("task-events: cannot sample the command");
		return 1;
	}
	close(go_fd);
	if (waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "task-events: the command failed\n");
		return 1;
	}
	if (getrusage(RUSAGE_CHILDREN, &used) ||
	    bpf_map_lookup_elem(bpf_map__fd(data), &zero, nr_samples))
		return 1;
	printf("%llu %llu %llu %llu %llu\n",
	       (unsigned long long)(ns_of(&used.ru_utime) + ns_of(&used.ru_stime)),
	       nr_samples[0], nr_samples[1], nr_samples[2], nr_samples[3]);
	return 0;
}
