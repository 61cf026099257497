// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens an event of a CPU, for all processes, as a recording does.
 * Status 0: the kernel allows it; 1: it does not.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = 1000000};

	if (syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC) >= 0)
		return 0;
	perror("perf_event_open");
	return 1;
}
